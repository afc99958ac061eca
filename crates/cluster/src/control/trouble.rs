//! What is out of order in a cluster, as one of its nodes knows it: said once, for all that show it.

use super::view::{ClusterView, MemberView, Role};

/// For so long a node may be silent, which is asked once a second.
const SILENT_MS: u64 = 5_000;
/// For so long an entry may wait for a node.
const UNACKNOWLEDGED_MS: u64 = 5_000;
/// So many bytes a node may be behind: a quarter of what its leader keeps in memory for it.
const LAG_LEN: u64 = 16 << 20;
/// So far two clocks may be apart.
const CLOCK_MS: u64 = 30_000;

/// What sort of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroubleKind {
    /// There is no majority, or no leader.
    NoLeader,
    /// A node does not run, or cannot be reached.
    Down,
    /// A node is linked and does not answer.
    Silent,
    /// A node does not keep up.
    Lagging,
    /// A node's clock is another one than this node's.
    Clock,
}

impl TroubleKind {
    /// In a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TroubleKind::NoLeader => "no-leader",
            TroubleKind::Down => "down",
            TroubleKind::Silent => "silent",
            TroubleKind::Lagging => "lagging",
            TroubleKind::Clock => "clock",
        }
    }

    /// Whether something does not work, or one more loss would be too many; else it is near that.
    #[must_use]
    pub fn is_problem(self) -> bool {
        matches!(self, TroubleKind::NoLeader | TroubleKind::Down | TroubleKind::Silent)
    }
}

/// Something that is out of order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What sort.
    pub kind: TroubleKind,
    /// With which node; None: with the cluster.
    pub node: Option<String>,
    /// A sentence.
    pub text: String,
}

impl ClusterView {
    /// What is out of order, what matters most first. Nothing is where there is no cluster.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        if self.cluster.is_none() {
            return Vec::new();
        }
        let mut found: Vec<Trouble> = self.without_leader().into_iter().collect();
        let others = self.members.iter().filter(|member| member.name != self.own);
        found.extend(others.flat_map(|member| self.troubles_of(member)));
        found.sort_by_key(|trouble| trouble.kind);
        found
    }

    fn without_leader(&self) -> Option<Trouble> {
        let (voters, running) = self.voter_count();
        let text = match (self.has_majority, &self.leader) {
            (false, _) => format!(
                "{} reaches {running} of {voters} nodes, itself included, which is no majority: it serves nothing.",
                self.own
            ),
            (true, None) => "No node leads the cluster at the moment.".to_owned(),
            (true, Some(_)) => return None,
        };
        Some(Trouble { kind: TroubleKind::NoLeader, node: None, text })
    }

    fn troubles_of(&self, member: &MemberView) -> Vec<Trouble> {
        let name = &member.name;
        let trouble = |kind, text| Trouble { kind, node: Some(name.to_string()), text };
        if !member.is_running {
            let text = format!("{name} does not run, or cannot be reached{}.", self.left_over(member));
            return vec![trouble(TroubleKind::Down, text)];
        }
        let mut found = Vec::new();
        if let Some(ms) = member.silent_ms.filter(|ms| *ms >= SILENT_MS) {
            let text = format!(
                "{name} is connected and has not answered for {} s: it is stopped, hangs, or is cut off{}.",
                ms / 1000,
                self.left_over(member)
            );
            found.push(trouble(TroubleKind::Silent, text));
        } else if let Some(text) = lag(member) {
            found.push(trouble(TroubleKind::Lagging, text));
        }
        if let Some(ms) = member.clock_ahead_ms.filter(|ms| ms.unsigned_abs() >= CLOCK_MS) {
            let way = if ms > 0 { "ahead of" } else { "behind" };
            let text = format!("The clock of {name} is {} {way} that of {}.", time(ms.unsigned_abs()), self.own);
            found.push(trouble(TroubleKind::Clock, text));
        }
        found
    }

    /// How many more may be lost, where that matters.
    fn left_over(&self, member: &MemberView) -> String {
        let silent = |voter: &&MemberView| {
            voter.is_running && voter.silent_ms.is_none_or(|ms| ms < SILENT_MS) && voter.role != Role::Learner
        };
        let (voters, well) = (self.voter_count().0, self.members.iter().filter(silent).count());
        if member.role == Role::Learner || well > voters / 2 + 1 {
            return String::new();
        }
        format!("; {well} of {voters} nodes are well, and {} are needed", voters / 2 + 1)
    }
}

/// That a member does not keep up, if it does not.
fn lag(member: &MemberView) -> Option<String> {
    let (name, log) = (&member.name, member.log?);
    let waits = log.unacknowledged_ms.filter(|ms| *ms >= UNACKNOWLEDGED_MS);
    if waits.is_none() && log.lag_bytes < LAG_LEN {
        return None;
    }
    let behind = format!("{name} is {} entries ({} MiB) behind the leader", log.lag_entries, log.lag_bytes >> 20);
    Some(match waits {
        Some(ms) => format!("{behind}, and has taken nothing for {} s: is its disk well?", ms / 1000),
        None => format!("{behind}."),
    })
}

/// `45 s`, `60 min`.
fn time(ms: u64) -> String {
    match ms / 1000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}
