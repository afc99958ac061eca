//! Where clients go while this node does not serve them.

use super::Standing;
use super::shell::{Phase, Shell};
use crate::link::Lane;

impl Shell {
    /// Tells the host, if it is news.
    pub(super) fn stand(&mut self) {
        let standing = match &self.phase {
            Phase::Alone | Phase::Over => return,
            Phase::Forming(_) => match self.waits_for() {
                Some(why) => Standing::Refusing(format!("this node is not in a cluster yet: {why}")),
                None => Standing::Waiting,
            },
            Phase::Member(driver) if driver.is_serving() => {
                self.standing = None;
                return;
            }
            Phase::Member(_) => self.follow(),
        };
        if self.standing.as_ref() != Some(&standing) {
            // Of a node on its way it was told what it waits for.
            if let (Standing::Refusing(why), true) = (&standing, self.driver().is_some()) {
                tracing::warn!("clients are not served: {why}");
            }
            self.host.stand(standing.clone());
            self.standing = Some(standing);
        }
    }

    fn follow(&self) -> Standing {
        match &self.leader {
            Some(leader) if *leader != self.setup.name => Standing::Following(leader.clone()),
            _ if self.driver().is_some_and(|driver| driver.status().leader == Some(self.own.member)) => {
                Standing::Elected
            }
            Some(_) => Standing::Waiting,
            None => {
                if let Some(why) = &self.removed {
                    return Standing::Refusing(why.clone());
                }
                let (reachable, of) = self.reachable_voters();
                let is_majority = reachable > of / 2;
                // An election takes up to twice the time out.
                let patience = self.setup.election_timeout * 2;
                if is_majority || of == 0 || self.leaderless_since.elapsed() < patience {
                    return Standing::Waiting;
                }
                Standing::Refusing(format!(
                    "this node is in a minority: it reaches {reachable} of {of} nodes, itself included, and serves nothing until it \
                     reaches a majority"
                ))
            }
        }
    }

    /// Of the voters, this node included: how many can be reached, and how many there are.
    pub(super) fn reachable_voters(&self) -> (usize, usize) {
        let voters = self.members().voters;
        let statistics = self.links.statistics();
        let is_reachable = |voter: &consensus::MemberId| {
            *voter == self.own.member
                || self.roster.as_ref().and_then(|roster| roster.of_member(*voter)).is_some_and(|(name, _)| {
                    let of_peer = statistics.iter().find(|peer| peer.name == *name);
                    of_peer.is_some_and(|peer| peer.is_connected(Lane::Votes))
                })
        };
        (voters.iter().filter(|voter| is_reachable(voter)).count(), voters.len())
    }
}
