//! The one door to consensus.

use thiserror::Error;

use crate::ballot::Ballot;
use crate::entry::Proposal;
use crate::ids::{Index, LogId, MemberId, Term};
use crate::limits::CAUGHT_UP_ENTRIES;
use crate::members::{Base, MemberChange, Members};
use crate::message::Message;
use crate::ready::{Ready, ReadyNumber, Role};

/// One member of one group. It has no clock, thread, file or socket: its driver calls `tick` at a steady pace, hands it what arrives,
/// and after each call or several does what `ready` names.
pub trait Engine: Send {
    /// Some time has passed; [`Timing`](crate::Timing) counts in these.
    fn tick(&mut self);

    /// Appends an entry, if this member leads. Its contents are sent to others only after this.
    ///
    /// # Errors
    ///
    /// It does not lead, or is handing over.
    fn propose(&mut self, proposal: Proposal) -> Result<LogId, Refusal>;

    /// Appends a change of members, if this member leads and no other change runs.
    ///
    /// # Errors
    ///
    /// It does not lead, is handing over, or the change cannot be made.
    fn change(&mut self, change: &MemberChange) -> Result<LogId, Refusal>;

    /// Whether a change of members would be appended now; if not, why.
    ///
    /// # Errors
    ///
    /// As of [`Engine::change`].
    fn check_change(&self, change: &MemberChange) -> Result<(), Refusal>;

    /// The mark of the last change of members, if this member leads, there is none yet, and it can be appended: the driver has it
    /// appended, by [`Engine::change`], before anything else. Until it is committed, `ready` calls nothing committed that is behind
    /// the change.
    fn wanted_mark(&self) -> Option<MemberChange>;

    /// Hands over to another voter, if this member leads. Proposals are refused until that has happened, or until it takes too long.
    fn transfer(&mut self, to: MemberId);

    /// A message has arrived.
    fn step(&mut self, message: Message);

    /// What was sent to this member lately is lost, because its link broke: what it has is asked for anew.
    fn unreachable(&mut self, peer: MemberId);

    /// Writes what is to be done to `out`, which is cleared first. To be called before contents that came with a message are let go.
    fn ready(&mut self, out: &mut Ready);

    /// All that was to be written up to that number is durable.
    fn persisted(&mut self, number: ReadyNumber);

    /// There is a checkpoint that reaches exactly up to that entry: a member that is behind the log will be shipped that. Does nothing for
    /// an entry that is not applied here, or no longer in the log.
    fn checkpointed(&mut self, reached: Index);

    /// The log begins after that entry from now on, or after the checkpoint's if that is earlier. As long as files are shipped, the log
    /// should keep what comes after them: else they are of no use when they arrive.
    fn compact(&mut self, to: Index);

    /// What a manifest says beside the position of that entry, if it has been applied here and is still in the log.
    fn base_at(&self, index: Index) -> Option<Base>;

    /// How things stand.
    fn status(&self) -> Status;

    /// The member that leads, as far as this member knows.
    fn leader(&self) -> Option<MemberId>;

    /// How far each other member is, by a leader's knowledge; empty if this one does not lead.
    fn peers(&self) -> Vec<PeerStatus>;
}

/// Why nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The caller turns to the leader, if one is known.
    #[error("this member does not lead")]
    NotLeader {
        /// The member that does, as far as is known.
        leader: Option<MemberId>,
    },
    /// The caller turns to that member, soon.
    #[error("leadership is being handed over")]
    HandingOver {
        /// The member that will lead.
        to: MemberId,
    },
    /// The caller waits until the change that runs is applied, or until a new leader has committed its first entry.
    #[error("another change of members runs, or may run")]
    ChangeRuns,
    /// The caller hands over first: a leader that leaves by its own change may take with it what only it knows to be committed.
    #[error("the leader cannot remove itself")]
    OfTheLeader,
    /// The caller waits until the member has what is committed: what nearly all lack that have a vote is never committed.
    #[error("a member that has not caught up cannot vote")]
    NotCaughtUp,
    /// The caller corrects it.
    #[error("such a change of members cannot be made")]
    Impossible,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whose this is.
    pub member: MemberId,
    /// What it does.
    pub role: Role,
    /// What it has promised, be it durable or not.
    pub ballot: Ballot,
    /// The member that it follows, or itself.
    pub leader: Option<MemberId>,
    /// Up to where all is committed, as far as it knows.
    pub committed: Index,
    /// Up to where its log is durable.
    pub persisted: Index,
    /// Up to where changes of members have taken effect: committed and durable here.
    pub applied: Index,
    /// Where its log begins.
    pub base: LogId,
    /// Where its log ends.
    pub last: LogId,
    /// The member that it hands over to.
    pub handing_over_to: Option<MemberId>,
    /// The members, as far as applied.
    pub members: Members,
    /// The last change of them is marked, as far as it knows: any majority of them knows itself as one.
    pub is_settled: bool,
}

impl Status {
    /// Its term.
    #[must_use]
    pub fn term(&self) -> Term {
        self.ballot.term
    }
}

/// How a leader sees another member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerStatus {
    /// The member.
    pub member: MemberId,
    /// Up to where its log equals the leader's, durably.
    pub upto: Index,
    /// Whether files are being shipped to it.
    pub is_shipped_to: bool,
    /// Whether it has been heard of in the last election timeout.
    pub is_active: bool,
}

impl PeerStatus {
    /// Whether it has nearly all that is committed, by what it said last. One that has said nothing yet has not, however little there is.
    #[must_use]
    pub fn has_caught_up(&self, committed: Index) -> bool {
        self.upto.0 > 0 && !self.is_shipped_to && self.behind(committed) <= CAUGHT_UP_ENTRIES
    }

    /// How many of the committed entries it lacks, as far as is known.
    #[must_use]
    pub fn behind(&self, committed: Index) -> u64 {
        committed.0.saturating_sub(self.upto.0)
    }
}
