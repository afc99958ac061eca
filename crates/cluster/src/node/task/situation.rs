//! Where clients go while this node does not serve them.

use std::time::Instant;

use super::NodeTask;
use crate::node::Situation;
use crate::node::io;
use crate::node::phase::Phase;
use crate::node::situation::{MemberFacts, Reach, of_forming, of_member};

impl NodeTask {
    /// Gives the host the situation of its clients, if it is news.
    pub(super) fn update_situation(&mut self) {
        let situation = match &self.phase {
            Phase::Alone | Phase::Failed => return,
            Phase::Forming(_) => of_forming(self.formation.waits_for()),
            Phase::Member(driver) if driver.is_serving() => return self.clients.forget_situation(),
            Phase::Member(driver) => {
                let facts = MemberFacts {
                    own: self.own.name(),
                    leader: self.leadership.leader(),
                    is_elected: driver.status().leader == Some(self.own.member()),
                    own_removal: self.membership.own_removal(),
                    leaderless_for: self.leadership.leaderless_for(Instant::now()),
                    // An election takes up to twice the time out.
                    election_time_max: self.own.setup().election_timeout * 2,
                };
                of_member(&facts, || self.reach())
            }
        };
        if !self.clients.set_situation(&situation) {
            return;
        }
        // A node on its way into a cluster has logged what it waits for.
        if let (Situation::Refusing(why), true) = (&situation, self.phase.is_member()) {
            tracing::warn!("clients are not served: {why}");
        }
        self.io.host().set_situation(situation);
    }

    /// How many of the voters can be reached.
    pub(super) fn reach(&self) -> Reach {
        let voters = self.phase.members().voters;
        let statistics = self.io.statistics();
        let is_reachable = |voter: &&consensus::MemberId| {
            let name = self.membership.name_of(**voter);
            **voter == self.own.member() || name.is_some_and(|name| io::is_connected(&statistics, name))
        };
        Reach { reachable: voters.iter().filter(is_reachable).count(), of: voters.len() }
    }
}
