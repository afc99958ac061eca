//! The members of a group, and changes of them.

use crate::ids::{LogId, MemberId};
use crate::limits::MEMBERS_MAX;

/// The members of a group at one index. Ids are sorted, each list has at most [`MEMBERS_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// Whose majority decides.
    pub voters: Vec<MemberId>,
    /// While a change of several runs: the voters whose majority has to agree, too. Empty otherwise.
    pub outgoing: Vec<MemberId>,
    /// Members that only follow.
    pub learners: Vec<MemberId>,
    /// Members that are still in `outgoing` and then become learners.
    pub learners_next: Vec<MemberId>,
    /// Whether the leader ends the change itself; set exactly while one runs.
    pub ends_by_itself: bool,
}

impl Members {
    /// A group that has only voters.
    #[must_use]
    pub fn of_voters(voters: impl IntoIterator<Item = MemberId>) -> Self {
        let mut voters: Vec<_> = voters.into_iter().collect();
        voters.sort_unstable();
        voters.dedup();
        Members { voters, ..Members::default() }
    }

    /// Whether it belongs to the group in any way.
    #[must_use]
    pub fn has(&self, member: MemberId) -> bool {
        self.is_voter(member) || self.learners.contains(&member)
    }

    /// Whether it votes, be it only until a change has run.
    #[must_use]
    pub fn is_voter(&self, member: MemberId) -> bool {
        self.voters.contains(&member) || self.outgoing.contains(&member)
    }

    /// Whether a change of several members runs.
    #[must_use]
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether the voters for which `agrees` is true decide.
    pub fn is_majority(&self, agrees: impl Fn(MemberId) -> bool) -> bool {
        let of = |voters: &[MemberId]| voters.iter().filter(|voter| agrees(**voter)).count() > voters.len() / 2;
        of(&self.voters) && (self.outgoing.is_empty() || of(&self.outgoing))
    }

    /// Whether the engine can stand on it: what a peer sends or a file holds is checked by this.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let lists = [&self.voters, &self.outgoing, &self.learners, &self.learners_next];
        let are_sorted = lists.iter().all(|list| list.is_sorted_by(|a, b| a < b) && list.len() <= MEMBERS_MAX);
        let learners_are_no_voters = self.learners.iter().all(|learner| !self.is_voter(*learner));
        let next_are_leaving =
            self.learners_next.iter().all(|next| self.outgoing.contains(next) && !self.voters.contains(next));
        are_sorted
            && !self.voters.is_empty()
            && learners_are_no_voters
            && next_are_leaving
            && self.ends_by_itself == self.is_joint()
    }
}

/// Where a log begins: everything up to that entry is in files, and these were the members then. A new group's first members agree on one
/// with index 1, so that a member that joins later is sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Base {
    /// The last entry before the log; of term and index 0 in a directory that has nothing yet.
    pub id: LogId,
    /// The members as of that entry; none in a directory that has nothing yet.
    pub members: Members,
}

impl Base {
    /// What the first members of a group begin with.
    #[must_use]
    pub fn of_new_group(voters: impl IntoIterator<Item = MemberId>) -> Self {
        Base { id: LogId::new(1, 1), members: Members::of_voters(voters) }
    }
}

/// What becomes of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberStep {
    /// It votes from now on, whether it was a learner or is new.
    AddVoter(MemberId),
    /// It follows without a vote. A voter becomes one, too.
    AddLearner(MemberId),
    /// It is no longer a member.
    Remove(MemberId),
}

impl MemberStep {
    /// The member that it changes.
    #[must_use]
    pub fn member(self) -> MemberId {
        match self {
            MemberStep::AddVoter(member) | MemberStep::AddLearner(member) | MemberStep::Remove(member) => member,
        }
    }
}

/// A change of members. One step takes effect at once when it is committed; several go through joint consensus, and the leader ends that
/// itself, with a change of no steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemberChange {
    /// At most [`MEMBERS_MAX`].
    pub steps: Vec<MemberStep>,
}

impl MemberChange {
    /// A change of one member.
    #[must_use]
    pub fn of(step: MemberStep) -> Self {
        MemberChange { steps: vec![step] }
    }
}
