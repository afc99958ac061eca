//! The engine, its input and what it wants, under one lock: without threads, and without I/O.
//!
//! What comes from outside is a call of [`Core`]: a tick, a message, a commit to propose, what the disk has done, what the owner wants.
//! Each ends with `pump`, which does what the engine wants until it wants nothing more. What has to be done without the lock gathers in
//! parts, and [`Core::take_effects`] says of what there is something: messages, jobs for the disk, a journal that has failed or has more
//! committed.
//!
//! Its parts are `journal_slot` (which owner has the journal), `pending_writes` (what must last before it is acknowledged), `send_queue`,
//! `checkpoint_files`, and `leader_work`.

mod appending;
mod checkpoint_files;
mod hang;
mod jobs;
mod journal_slot;
mod leader_work;
mod pending_writes;
mod restoring;
mod send_queue;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use consensus::{
    Ballot, Body, Engine, Index, Kind, Log, LogId, MemberChange, MemberId, MemberStep, Message, PeerStatus, Proposal,
    RaftEngine, Ready, ReadyNumber, Refusal, Role, Shipment, Status,
};
use model::ids::JournalPosition;
use store::journal::{CommitKind, Journal, SharedCommit};

use self::checkpoint_files::CheckpointFiles;
pub(crate) use self::journal_slot::Ending;
use self::journal_slot::{JournalSlot, Slot};
use self::leader_work::LeaderWork;
use self::pending_writes::PendingWrites;
use self::send_queue::SendQueue;
use crate::notices::{LastReported, Notice, Situation};
use crate::outgoing::Outgoing;
use crate::tail::{Ends, Tail};
use crate::trace_points::{PROPOSE, RECEIVE};
use crate::wanted_ballots::BallotNumber;

/// Commits that members may be sent from memory take so much; the last ones stay, even if all have them.
const TAIL_LEN_MAX: u64 = 8 << 20;
/// Below that the core does not check which member has which commits.
const TAIL_LEN_MIN: u64 = 1 << 20;
/// A leader writes at most so much that is not committed.
pub(crate) const AHEAD_LEN_MAX: u64 = 16 << 20;

pub(crate) struct Core {
    engine: RaftEngine,
    journal: JournalSlot,
    ends: Ends,
    tail: Tail,
    writes: PendingWrites,
    files: CheckpointFiles,
    sending: SendQueue,
    leader_work: LeaderWork,
    failure: Option<Arc<str>>,
    last_reported: LastReported,
    /// Commits that came with the message that is being heard, or are being proposed.
    arrived: Vec<(LogId, Arc<SharedCommit>)>,
    out: Ready,
}

/// What is to be done without the lock, after a call.
pub(crate) struct Effects {
    /// A journal to which nothing more will be written.
    pub(crate) ending: Option<Ending>,
    /// A journal of which more is committed, and up to where.
    pub(crate) committed: Option<(Journal, JournalPosition)>,
    /// The last entry that is known to be committed.
    pub(crate) committed_index: Index,
    /// Messages are to be sent.
    pub(crate) has_outgoing: bool,
    /// There is something for a thread that may wait for a disk.
    pub(crate) has_job: bool,
    /// There is something for the owner to look at that was not there before.
    pub(crate) has_new_notice: bool,
}

impl Core {
    pub(crate) fn new(engine: RaftEngine, ends: Ends) -> Core {
        Core {
            engine,
            journal: JournalSlot::closed(),
            writes: PendingWrites::new(ends.end()),
            ends,
            tail: Tail::default(),
            files: CheckpointFiles::default(),
            sending: SendQueue::default(),
            leader_work: LeaderWork::default(),
            failure: None,
            last_reported: LastReported::default(),
            arrived: Vec::new(),
            out: Ready::default(),
        }
    }

    /// Takes what is to be done without the lock.
    pub(crate) fn take_effects(&mut self) -> Effects {
        let committed = self.journal.take_commit_news().map(|journal| (journal, self.ends.committed().1));
        Effects {
            ending: self.journal.take_ending(),
            committed,
            committed_index: self.ends.committed().0,
            has_outgoing: self.sending.has_outgoing(),
            has_job: self.has_job(),
            has_new_notice: self.note_notice(),
        }
    }

    /// What the owner has to do.
    pub(crate) fn situation(&self) -> Situation {
        if let Some(failure) = &self.failure {
            return Situation::Failed(failure.clone());
        }
        match self.journal.slot() {
            Slot::Lost => Situation::Lost,
            Slot::Opening | Slot::Leading(_) => Situation::Leading,
            Slot::Following(_) if self.is_elected() => Situation::Elected,
            Slot::Following(_) | Slot::Closed => Situation::Following { leader: self.engine.leader() },
        }
    }

    /// Whether the journal is to be opened anew.
    pub(crate) fn is_to_be_rebuilt(&self) -> bool {
        self.failure.is_none() && matches!(self.journal.slot(), Slot::Closed)
    }

    fn note_notice(&mut self) -> bool {
        let has_shipments = self.leader_work.has_shipments();
        self.last_reported.report(Notice::new(self.situation(), self.is_to_be_rebuilt(), has_shipments))
    }

    /// Whether the owner has not looked since there was something new.
    pub(crate) fn has_unseen_notice(&self) -> bool {
        self.last_reported.is_unseen()
    }

    /// The owner looks.
    pub(crate) fn notice_seen(&mut self) {
        self.last_reported.seen();
    }

    /// The next message to send.
    pub(crate) fn next_outgoing(&mut self) -> Option<Outgoing> {
        self.sending.next()
    }

    pub(crate) fn has_outgoing(&self) -> bool {
        self.sending.has_outgoing()
    }

    pub(crate) fn failure(&self) -> Option<&Arc<str>> {
        self.failure.as_ref()
    }

    /// How things stand.
    pub(crate) fn status(&self) -> Status {
        self.engine.status()
    }

    /// How far others are, by a leader's knowledge.
    pub(crate) fn peers(&self) -> Vec<PeerStatus> {
        self.engine.peers()
    }

    pub(crate) fn log(&self) -> &Log {
        self.engine.log()
    }

    /// Where the log's entries end.
    pub(crate) fn ends(&self) -> &Ends {
        &self.ends
    }

    /// The journal, if it is open: a follower's, or that of a leader's store.
    pub(crate) fn open_journal(&self) -> Option<&Journal> {
        self.journal.open()
    }

    /// The journal, if it takes what the leader sends.
    pub(crate) fn following(&self) -> Option<&Journal> {
        self.journal.following()
    }

    /// Whether a store is open on the journal, or being opened, and nothing has failed.
    pub(crate) fn is_leading(&self) -> bool {
        self.failure.is_none() && self.journal.has_store()
    }

    /// Nothing more is said or written: what this member has promised may be lost.
    pub(crate) fn fail(&mut self, reason: &str) {
        if self.failure.is_none() {
            tracing::error!(reason, "this member of the group has failed");
            let reason = reason.into();
            self.sending.clear();
            self.journal.fail(&reason);
            self.failure = Some(reason);
        }
    }

    /// A message has arrived, with the commits of the records that it names.
    pub(crate) fn receive(&mut self, message: Message, commits: Vec<Arc<SharedCommit>>) {
        if self.failure.is_some() {
            return;
        }
        let _call = RECEIVE.enter(|arguments| {
            arguments.number("commits", commits.len());
        });
        if matches!(message.body, Body::Restore { .. }) && !self.files.has_offer() {
            tracing::info!("the fetched files no longer exist, and must be fetched again");
            return;
        }
        if let Body::Append { entries, .. } = &message.body {
            let records = entries.iter().filter(|entry| entry.kind == Kind::Records).map(|entry| entry.id);
            self.arrived = records.zip(commits).collect();
        }
        self.engine.step(message);
        self.pump();
        self.arrived.clear();
    }

    /// The journal's writer is about to write this: its place in the log.
    pub(crate) fn propose(&mut self, commit: Arc<SharedCommit>) -> Option<LogId> {
        if !self.is_leading() {
            return None;
        }
        let _call = PROPOSE.enter(|arguments| {
            arguments.number("bytes", commit.len());
        });
        let id = match commit.kind {
            CommitKind::Records => self.engine.propose(Proposal { len: u32::try_from(commit.len()).ok()? }),
            CommitKind::Members => {
                self.leader_work.change_proposed();
                let change = MemberChange::decode(&commit.to_payload()).ok()?;
                self.engine.change(&change)
            }
            CommitKind::Empty => return None,
        };
        let id = match id {
            Ok(id) => id,
            Err(refusal) => {
                tracing::info!(%refusal, "this node cannot append to its group's log");
                self.journal.refuse();
                return None;
            }
        };
        self.arrived.push((id, commit));
        self.pump();
        self.arrived.clear();
        Some(id)
    }

    /// Has a change of members appended, if it can be made now.
    pub(crate) fn append_change(&mut self, change: &MemberChange) -> Result<(), Refusal> {
        let Some(journal) = self.journal.leading().cloned() else {
            return Err(Refusal::NotLeader { leader: self.engine.status().leader });
        };
        self.queue_change(change)?;
        append_members(&journal, change);
        Ok(())
    }

    /// A change of members is about to be put into the journal's queue, if it can be made.
    fn queue_change(&mut self, change: &MemberChange) -> Result<(), Refusal> {
        self.engine.check_change(change)?;
        if !change.steps.iter().all(|step| self.may_vote(*step)) {
            return Err(Refusal::NotCaughtUp);
        }
        self.leader_work.queue_change()
    }

    /// A voter that has nothing is needed for a majority, and may lack the very files that only a later entry would give it: of two voters
    /// neither would ever go on.
    fn may_vote(&self, step: MemberStep) -> bool {
        let MemberStep::AddVoter(member) = step else { return true };
        let Status { members, committed, base, .. } = self.engine.status();
        members.voters.contains(&member)
            || self
                .engine
                .peers()
                .iter()
                .any(|peer| peer.member == member && peer.upto >= base.index && peer.has_caught_up(committed))
    }

    /// Whether this member could hand over to that one: it needs few entries before. Nothing is appended meanwhile.
    pub(crate) fn could_lead(&self, member: MemberId) -> bool {
        let committed = self.engine.status().committed;
        self.engine.peers().iter().any(|peer| peer.member == member && peer.has_caught_up(committed))
    }

    /// What was sent to a member lately is lost.
    pub(crate) fn unreachable(&mut self, peer: MemberId) {
        self.engine.unreachable(peer);
        self.pump();
    }

    /// Hands over, if that member could lead.
    pub(crate) fn transfer(&mut self, to: MemberId) -> bool {
        let may_lead = self.could_lead(to);
        if may_lead {
            self.engine.transfer(to);
            self.pump();
        }
        may_lead
    }

    /// Everything before is on this disk.
    pub(crate) fn flushed(&mut self, position: JournalPosition) {
        self.writes.flushed(position);
        if self.failure.is_none() && self.acknowledge() {
            self.pump();
        }
    }

    /// Does what the engine wants, until it wants nothing more.
    fn pump(&mut self) {
        let mut out = std::mem::take(&mut self.out);
        loop {
            self.engine.ready(&mut out);
            self.take(&mut out);
            let is_marked = self.failure.is_none() && self.mark_members();
            if self.failure.is_some() || !(self.acknowledge() | is_marked) {
                break;
            }
        }
        self.out = out;
        self.release_tail();
    }

    /// The last change of members has no mark yet, and this member leads: it appends one. Says whether the log has it already.
    fn mark_members(&mut self) -> bool {
        if self.leader_work.has_queued_change() {
            return false;
        }
        let Some(mark) = self.engine.wanted_mark() else { return false };
        match self.journal.slot() {
            // As a leader's first entry, before there is a store: it is written when the journal takes what the leader has.
            Slot::Following(_) | Slot::Closed => self.engine.change(&mark).is_ok(),
            Slot::Leading(journal) => {
                if self.leader_work.queue_change().is_ok() {
                    append_members(journal, &mark);
                }
                false
            }
            Slot::Opening | Slot::Lost => false,
        }
    }

    fn take(&mut self, out: &mut Ready) {
        if let Some(ballot) = out.ballot {
            self.writes.want_ballot(ballot);
        }
        let is_leader = out.leadership.is_none_or(|leadership| leadership.role == Role::Leader);
        if is_leader && out.leadership.is_some() {
            self.files.note_elected(self.ends.end());
        }
        if !is_leader {
            self.sending.set_silent(false);
        }
        if let Some(number) = out.number {
            if let Some(base) = out.restore.take() {
                self.begin_restore(number, &base.id);
            }
            self.note_append(number, &mut out.append);
        }
        for message in out.send.drain(..) {
            let commits = self.commits_of(&message);
            self.sending.push(Outgoing { message, commits });
        }
        self.leader_work.add_shipments(&mut out.ship);
        if out.is_checkpoint_wanted {
            self.leader_work.want_checkpoint();
        }
        if self.ends.commit(out.committed) {
            self.journal.note_committed();
        }
        if !is_leader {
            self.lose();
        }
    }

    /// The owner wants the store to end, whether another leads or not.
    pub(crate) fn resign(&mut self) {
        if self.journal.leading().is_some() {
            self.lose();
        }
    }

    /// This member no longer leads.
    fn lose(&mut self) {
        self.leader_work = LeaderWork::default();
        self.sending.clear_to_read();
        self.journal.lose();
    }

    fn begin_restore(&mut self, number: ReadyNumber, id: &LogId) {
        let Some(files) = self.files.restore(number, id) else {
            return self.fail("it was instructed to start with files that it does not have");
        };
        self.tail.clear();
        self.ends = Ends::new(id.index, files.position());
        self.writes.begin_at(files.position());
        self.close();
    }

    /// The journal has to be opened anew.
    fn close(&mut self) {
        if self.journal.has_store() { self.lose() } else { self.journal.close() }
    }

    /// Tells the engine what is durable by now. Says whether something is.
    fn acknowledge(&mut self) -> bool {
        if self.files.is_restoring() {
            return false; // nothing else is durable before
        }
        let done = self.writes.take_durable();
        if let Some(number) = done {
            self.engine.persisted(number);
        }
        done.is_some()
    }

    /// The ballot that is to be written now, if one is.
    pub(crate) fn wanted_ballot(&self) -> Option<(BallotNumber, Ballot)> {
        self.writes.next_ballot()
    }

    /// A ballot lasts: entries that came after it are handed to the journal.
    pub(crate) fn ballot_written(&mut self, number: BallotNumber) {
        self.writes.ballot_written(number);
        if self.failure.is_some() {
            return;
        }
        if self.writes.next_ballot().is_none()
            && let Some(journal) = self.journal.following()
            && let Err(error) = self.hand_to(journal)
        {
            return self.fail(&error);
        }
        if self.acknowledge() {
            self.pump();
        }
    }

    /// Members that are to be sent the files of the checkpoint that is in force, and then a message.
    pub(crate) fn take_shipments(&mut self) -> Vec<Shipment> {
        self.leader_work.take_shipments()
    }

    /// Whether a checkpoint of all that is committed is wanted, to be shipped.
    pub(crate) fn is_checkpoint_wanted(&self) -> bool {
        self.leader_work.is_checkpoint_wanted()
    }

    /// Whether this member leads, and everything in its log is committed: its store can be opened. It may have led in this term before,
    /// and have left more behind than its first entry.
    fn is_elected(&self) -> bool {
        let status = self.engine.status();
        let is_of_own_term = self.engine.log().term(status.committed) == Some(status.term());
        status.role == Role::Leader && is_of_own_term && status.committed == status.last.index
    }

    /// Up to where all is on a majority's disks, whether it may be called committed or not.
    fn agreed_end(&self) -> JournalPosition {
        self.ends.of(self.engine.status().committed).unwrap_or(self.ends.committed().1)
    }

    /// Whether what is written and not committed is too much: the writer waits.
    pub(crate) fn is_far_ahead(&self) -> bool {
        let is_far_behind = |place: JournalPosition| self.ends.end().0 - place.0 >= AHEAD_LEN_MAX;
        is_far_behind(self.ends.committed().1)
            && self.is_leading()
            // What only waits for the mark of a change of members is on a majority's disks: the mark may come behind it.
            && is_far_behind(self.agreed_end())
    }

    /// A store is about to be opened, if this member was elected; says whether it was.
    pub(crate) fn begin_opening(&mut self) -> bool {
        self.is_elected() && self.journal.begin_opening()
    }

    /// The store is open on its journal.
    pub(crate) fn lead(&mut self, journal: &Journal) -> Result<(), &'static str> {
        if self.failure.is_some() || !matches!(self.journal.slot(), Slot::Opening) {
            return Err("this node is no longer the leader");
        }
        if journal.appended() != self.ends.end() {
            self.fail("its store does not end where its log does");
            return Err("its store does not end where its log does");
        }
        self.journal.lead(journal.clone());
        self.pump();
        Ok(())
    }

    /// The store that was open, if there was one, is dropped.
    pub(crate) fn step_back(&mut self) {
        self.journal.step_back();
    }

    /// The journal has failed: this member can no longer promise anything.
    pub(crate) fn journal_failed(&mut self) {
        if let Some(failed) = self.journal.open().and_then(Journal::failure) {
            self.fail(&failed.to_string());
        }
    }

    /// Memory of commits that are kept for others, without chunks.
    pub(crate) fn tail_memory_len(&self) -> usize {
        self.tail.memory_len()
    }

    fn release_tail(&mut self) {
        if self.tail.len() < TAIL_LEN_MIN {
            return;
        }
        let peers = self.engine.peers();
        let active = peers.iter().filter(|peer| peer.is_active && !peer.is_shipped_to);
        // A follower keeps nothing: it sends nothing.
        let to = active.map(|peer| peer.upto).min().unwrap_or(Index(u64::MAX));
        self.tail.release(to, TAIL_LEN_MAX);
    }
}

/// Puts a change of members into the journal's queue. Under the lock, so that no other change is checked before this one is known of.
fn append_members(journal: &Journal, change: &MemberChange) {
    let mut payload = Vec::new();
    change.encode(&mut payload);
    journal.append_members(&payload);
}
