//! The engine and all that it is told and wants, under one lock: without threads, and without I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use consensus::{
    Body, Engine, Entry, Index, Kind, LogId, MemberChange, MemberId, MemberStep, Message, Proposal, RaftEngine, Ready,
    ReadyNumber, Refusal, Role, Shipment, Status,
};
use model::ids::JournalPosition;

use super::Outgoing;
use super::announcement::Announcement;
use super::ballots::{BallotNumber, WantedBallots};
use super::notices::LastReported;
use super::pull::Pulled;
use super::tail::{Ends, Tail};
use crate::journal::{CommitKind, EMPTY_METAS, EntryHead, Journal, ReceivedCommit, SharedCommit};
use crate::trace_points::{PROPOSE, RECEIVE};

/// Commits that members may be sent from memory take so much; the last ones stay, even if all have them.
const TAIL_LEN_MAX: u64 = 8 << 20;
/// Below that it is not looked who has which.
const TAIL_LEN_MIN: u64 = 1 << 20;

/// What the journal is just now.
pub(crate) enum Slot {
    /// Closed, or about to be: `rebuild` opens it. What is to be written gathers meanwhile.
    Closed,
    /// It takes what the leader sends.
    Following(Journal),
    /// A store is being opened on it, or is open. `None`: it is not there yet.
    Leading(Option<Journal>),
    /// The store on it is to be dropped: this member does not lead any more.
    Lost,
}

/// Entries that are to be durable before a number is acknowledged, and a ballot before them.
struct Write {
    number: ReadyNumber,
    ballot: BallotNumber,
    entries: VecDeque<PendingEntry>,
}

pub(crate) struct PendingEntry {
    pub(crate) entry: Entry,
    pub(crate) commit: Arc<SharedCommit>,
}

/// The files of a checkpoint that are to come into force in place of all that is here.
pub(crate) struct Restore {
    number: ReadyNumber,
    pub(crate) pulled: Arc<Pulled>,
}

pub(crate) struct Core {
    pub(crate) engine: RaftEngine,
    pub(crate) slot: Slot,
    pub(crate) ends: Ends,
    tail: Tail,
    pub(super) ballots: WantedBallots,
    writes: VecDeque<Write>,
    /// Everything before is on this disk.
    flushed: JournalPosition,
    /// What the journal says of positions from here on is of entries that the log does not have any more.
    flush_limit: JournalPosition,
    /// More is committed than the journal knows.
    is_commit_untold: bool,
    /// A journal on which nothing will be written any more, and does not know it yet; and why, unless it is that this member does not
    /// lead.
    ending: Option<(Journal, Option<Arc<str>>)>,
    pub(crate) restore: Option<Restore>,
    /// What was fetched, whole, for the engine to restore.
    pub(crate) pulled: Option<Arc<Pulled>>,
    /// Counts how often files that nothing names were removed: what was fetched before may be among them.
    pub(crate) sweeps: u64,
    /// Commits that came with the message that is being heard.
    arrived: Vec<(LogId, Arc<SharedCommit>)>,
    pub(crate) outbox: VecDeque<Outgoing>,
    /// Messages that name commits which have to be read from files, and those to the same members after them.
    pub(super) to_read: VecDeque<Outgoing>,
    /// To whom the one is that is being read for.
    pub(super) reading_for: Option<MemberId>,
    /// It leads, and its disk has hung for so long that others are to elect another: nothing leaves.
    pub(super) is_silent: bool,
    pub(crate) shipments: Vec<Shipment>,
    pub(crate) is_checkpoint_wanted: bool,
    /// The checkpoint that is in force.
    pub(crate) announcement: Option<Announcement>,
    /// A change of members is in the journal's queue, and not in the log yet.
    has_queued_change: bool,
    pub(crate) failure: Option<Arc<str>>,
    pub(super) last_reported: LastReported,
    out: Ready,
}

impl Core {
    pub(crate) fn new(engine: RaftEngine, ends: Ends) -> Core {
        let flushed = ends.end();
        Core {
            engine,
            slot: Slot::Closed,
            ends,
            tail: Tail::default(),
            ballots: WantedBallots::default(),
            writes: VecDeque::new(),
            flushed,
            flush_limit: JournalPosition::MAX,
            is_commit_untold: false,
            ending: None,
            restore: None,
            pulled: None,
            sweeps: 0,
            arrived: Vec::new(),
            outbox: VecDeque::new(),
            to_read: VecDeque::new(),
            reading_for: None,
            is_silent: false,
            shipments: Vec::new(),
            is_checkpoint_wanted: false,
            announcement: None,
            has_queued_change: false,
            failure: None,
            last_reported: LastReported::default(),
            out: Ready::default(),
        }
    }

    /// Nothing more is said or written: what this member has promised may be lost.
    pub(crate) fn fail(&mut self, reason: &str) {
        if self.failure.is_none() {
            tracing::error!(reason, "this member of the group has failed");
            self.failure = Some(reason.into());
            self.outbox.clear();
            self.to_read.clear();
            if let Slot::Following(journal) | Slot::Leading(Some(journal)) = &self.slot {
                self.ending = Some((journal.clone(), self.failure.clone()));
            }
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
        if matches!(message.body, Body::Restore { .. })
            && !self.pulled.as_ref().is_some_and(|pulled| self.is_there(pulled))
        {
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
        if self.failure.is_some() || !matches!(self.slot, Slot::Leading(_)) {
            return None;
        }
        let _call = PROPOSE.enter(|arguments| {
            arguments.number("bytes", commit.len());
        });
        let id = match commit.kind {
            CommitKind::Records => self.engine.propose(Proposal { len: u32::try_from(commit.len()).ok()? }),
            CommitKind::Members => {
                self.has_queued_change = false;
                let change = MemberChange::decode(&commit.to_payload()).ok()?;
                self.engine.change(&change)
            }
            CommitKind::Empty => return None,
        };
        let id = match id {
            Ok(id) => id,
            Err(refusal) => {
                tracing::info!(%refusal, "this node cannot append to its group's log");
                // The writer takes this for an answer: the journal fails.
                self.slot = Slot::Lost;
                return None;
            }
        };
        self.arrived.push((id, commit));
        self.pump();
        self.arrived.clear();
        Some(id)
    }

    /// A change of members is about to be put into the journal's queue, if it can be made.
    pub(crate) fn queue_change(&mut self, change: &MemberChange) -> Result<(), Refusal> {
        self.engine.check_change(change)?;
        if !change.steps.iter().all(|step| self.may_vote(*step)) {
            return Err(Refusal::NotCaughtUp);
        }
        if std::mem::replace(&mut self.has_queued_change, true) { Err(Refusal::ChangeRuns) } else { Ok(()) }
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

    /// Whether this member could hand over to that one: it need not be told much before. Nothing is appended meanwhile.
    pub(crate) fn could_lead(&self, member: MemberId) -> bool {
        let committed = self.engine.status().committed;
        self.engine.peers().iter().any(|peer| peer.member == member && peer.has_caught_up(committed))
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
        self.flushed = self.flushed.max(position.min(self.flush_limit));
        if self.failure.is_none() && self.acknowledge() {
            self.pump();
        }
    }

    /// Does what the engine wants, until it wants nothing more.
    pub(crate) fn pump(&mut self) {
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
        if self.has_queued_change {
            return false;
        }
        let Some(mark) = self.engine.wanted_mark() else { return false };
        match &self.slot {
            // As a leader's first entry, before there is a store: it is written when the journal takes what the leader has.
            Slot::Following(_) | Slot::Closed => self.engine.change(&mark).is_ok(),
            Slot::Leading(Some(journal)) => {
                let mut payload = Vec::new();
                mark.encode(&mut payload);
                self.has_queued_change = true;
                journal.append_members(&payload);
                false
            }
            Slot::Leading(None) | Slot::Lost => false,
        }
    }

    fn take(&mut self, out: &mut Ready) {
        if let Some(ballot) = out.ballot {
            self.ballots.want(ballot);
        }
        let is_leader = out.leadership.is_none_or(|leadership| leadership.role == Role::Leader);
        self.is_silent &= is_leader;
        if let Some(number) = out.number {
            if let Some(base) = out.restore.take() {
                self.begin_restore(number, &base.id);
            }
            self.note_append(number, &mut out.append);
        }
        if self.is_silent {
            out.send.clear();
        }
        for message in out.send.drain(..) {
            self.put_out(message);
        }
        self.shipments.append(&mut out.ship);
        self.is_checkpoint_wanted |= out.is_checkpoint_wanted;
        self.is_commit_untold |= self.ends.commit(out.committed);
        if !is_leader {
            self.lose();
        }
    }

    /// The owner wants the store to end, whether another leads or not.
    pub(crate) fn resign(&mut self) {
        if matches!(self.slot, Slot::Leading(Some(_))) {
            self.lose();
        }
    }

    /// A message is to leave. What names commits that are in files only waits until they have been read, and what follows it does, too: out
    /// of order it would be refused.
    fn put_out(&mut self, message: Message) {
        let commits = self.commits_of(&message);
        let is_behind =
            || self.reading_for == Some(message.to) || self.to_read.iter().any(|other| other.message.to == message.to);
        let is_append = matches!(message.body, Body::Append { .. });
        let must_wait = is_append && (commits.iter().any(Option::is_none) || is_behind());
        let outgoing = Outgoing { message, commits };
        if must_wait { self.to_read.push_back(outgoing) } else { self.outbox.push_back(outgoing) }
    }

    /// This member does not lead any more: what has a store on it fails, in words that its owner understands.
    fn lose(&mut self) {
        (self.is_checkpoint_wanted, self.has_queued_change) = (false, false);
        self.shipments.clear();
        self.to_read.clear();
        match std::mem::replace(&mut self.slot, Slot::Closed) {
            Slot::Leading(Some(journal)) => {
                self.ending = Some((journal, None));
                self.slot = Slot::Lost;
            }
            // The store is being opened: who does that sees it.
            Slot::Leading(None) => {}
            slot => self.slot = slot,
        }
    }

    fn begin_restore(&mut self, number: ReadyNumber, id: &LogId) {
        let Some(pulled) = self.pulled.take().filter(|pulled| pulled.base().id == *id) else {
            return self.fail("it was instructed to start with files that it does not have");
        };
        // Nothing that was to be written before matters any more.
        self.writes.clear();
        self.tail.clear();
        self.ends = Ends::new(id.index, pulled.position());
        (self.flushed, self.flush_limit) = (pulled.position(), pulled.position());
        self.restore = Some(Restore { number, pulled });
        self.close();
    }

    /// Whether what was fetched is still here.
    pub(crate) fn is_there(&self, pulled: &Pulled) -> bool {
        pulled.sweeps() == self.sweeps
    }

    /// The journal has to be opened anew.
    fn close(&mut self) {
        match &self.slot {
            Slot::Following(_) => self.slot = Slot::Closed,
            Slot::Leading(_) => self.lose(),
            Slot::Closed | Slot::Lost => {}
        }
    }

    fn note_append(&mut self, number: ReadyNumber, entries: &mut Vec<Entry>) {
        if let Some(first) = entries.first()
            && first.id.index <= self.ends.last()
        {
            self.replace_from(first.id.index);
        }
        let mut pending = VecDeque::with_capacity(entries.len());
        for entry in entries.drain(..) {
            let Some(commit) = self.commit_of(&entry) else {
                return self.fail(&format!("the commit of entry {} is missing", entry.id));
            };
            if commit.first != self.ends.end() || commit.len() != len_of(&entry, &commit) {
                return self.fail(&format!(
                    "entry {} begins at {}, and the one before ends at {}: the two journals differ",
                    entry.id,
                    commit.first,
                    self.ends.end()
                ));
            }
            self.ends.push(commit.end());
            if entry.kind == Kind::Records {
                self.tail.push(entry.id, commit.clone());
            }
            // Before its ballot none of a term's entries lasts: else this member could not open again.
            if let Slot::Following(journal) = &self.slot
                && self.ballots.next().is_none()
                && let Err(error) = receive(journal, entry.id, &commit)
            {
                return self.fail(&error);
            }
            pending.push_back(PendingEntry { entry, commit });
        }
        self.writes.push_back(Write { number, ballot: self.ballots.number(), entries: pending });
    }

    /// Hands to the journal what it lacks of what should be durable.
    pub(super) fn hand_to(&self, journal: &Journal) -> Result<(), String> {
        let end = journal.appended();
        let pending = self.writes.iter().flat_map(|write| &write.entries);
        let mut lacking = pending.filter(|pending| pending.commit.first >= end);
        lacking.try_for_each(|pending| receive(journal, pending.entry.id, &pending.commit))
    }

    /// The leader has other entries from this one on. What is in the journal is taken back: it is opened anew.
    fn replace_from(&mut self, index: Index) {
        self.ends.truncate(index);
        self.tail.truncate(index);
        for write in &mut self.writes {
            write.entries.retain(|pending| pending.entry.id.index < index);
        }
        self.flushed = self.flushed.min(self.ends.end());
        self.flush_limit = self.flush_limit.min(self.ends.end());
        self.close();
    }

    /// The bytes of an entry that is appended: they came with the message, were proposed here, or are known by its kind.
    fn commit_of(&mut self, entry: &Entry) -> Option<Arc<SharedCommit>> {
        let first = self.ends.end();
        let made = |kind, payload: Vec<u8>| {
            let len = payload.len() as u64;
            Arc::new(SharedCommit::of_payload(kind, first, len, payload))
        };
        let arrived = self.arrived.iter().find(|(id, _)| *id == entry.id).map(|(_, commit)| commit.clone());
        arrived.or_else(|| match &entry.kind {
            Kind::Records => None,
            Kind::Empty => Some(made(CommitKind::Empty, EMPTY_METAS.to_vec())),
            Kind::Members(change) => {
                let mut payload = Vec::new();
                change.encode(&mut payload);
                Some(made(CommitKind::Members, payload))
            }
        })
    }

    fn commits_of(&self, message: &Message) -> Vec<Option<Arc<SharedCommit>>> {
        let Body::Append { entries, .. } = &message.body else { return Vec::new() };
        let records = entries.iter().filter(|entry| entry.kind == Kind::Records);
        records.map(|entry| self.tail.get(entry.id)).collect()
    }

    /// Tells the engine what is durable by now. Says whether something is.
    pub(super) fn acknowledge(&mut self) -> bool {
        let mut done = None;
        if self.restore.is_some() {
            return false; // nothing else is durable before
        }
        while let Some(write) = self.writes.front_mut().filter(|write| self.ballots.has_written(write.ballot)) {
            let flushed = self.flushed;
            while write.entries.pop_front_if(|pending| pending.commit.end() <= flushed).is_some() {}
            if !write.entries.is_empty() {
                break;
            }
            done = self.writes.pop_front().map(|write| write.number);
        }
        if let Some(number) = done {
            self.engine.persisted(number);
        }
        done.is_some()
    }

    /// The files that were restored are in force.
    pub(crate) fn restored(&mut self) {
        if let Some(restore) = self.restore.take() {
            self.engine.persisted(restore.number);
            let index = restore.pulled.base().id.index;
            self.engine.checkpointed(index);
        }
    }

    /// The first entry that the journal, with these, does not have as the log does; `None`: it has what it has right, as far as it goes.
    pub(crate) fn first_difference(&self, found: &[FoundEntry]) -> Option<FoundEntry> {
        let log = self.engine.log();
        let is_other =
            |entry: &&FoundEntry| entry.id.index >= log.first() && log.term(entry.id.index) != Some(entry.id.term);
        found.iter().find(is_other).cloned()
    }

    /// The journal is open and takes what the leader sends; first of all what it lacks of what should be durable.
    pub(crate) fn follow(&mut self, journal: Journal) {
        (self.flushed, self.flush_limit) = (journal.appended(), JournalPosition::MAX);
        if let Err(error) = self.hand_to(&journal) {
            return self.fail(&error);
        }
        if journal.appended() != self.ends.end() {
            return self.fail(&format!(
                "its journal ends at {}, and its log at {}: something that was acknowledged is lost",
                journal.appended(),
                self.ends.end()
            ));
        }
        self.is_commit_untold = true;
        self.slot = Slot::Following(journal);
        self.acknowledge();
        self.pump();
    }

    /// Whether this member leads, and everything in its log is committed: its store can be opened. It may have led in this term before,
    /// and have left more behind than its first entry.
    pub(crate) fn is_elected(&self) -> bool {
        let status = self.engine.status();
        let is_of_own_term = self.engine.log().term(status.committed) == Some(status.term());
        status.role == Role::Leader && is_of_own_term && status.committed == status.last.index
    }

    /// Up to where all is on a majority's disks, whether it may be called committed or not.
    pub(crate) fn agreed_end(&self) -> JournalPosition {
        self.ends.of(self.engine.status().committed).unwrap_or(self.ends.committed().1)
    }

    /// The store is open on its journal.
    pub(crate) fn lead(&mut self, journal: &Journal) -> Result<(), &'static str> {
        if self.failure.is_some() || !matches!(self.slot, Slot::Leading(None)) {
            return Err("this node is no longer the leader");
        }
        if journal.appended() != self.ends.end() {
            self.fail("its store does not end where its log does");
            return Err("its store does not end where its log does");
        }
        self.is_commit_untold = true;
        self.slot = Slot::Leading(Some(journal.clone()));
        self.pump();
        Ok(())
    }

    /// A journal that is to be told that it has failed; without the lock, since it tells others.
    pub(crate) fn take_ending(&mut self) -> Option<(Journal, Option<Arc<str>>)> {
        self.ending.take()
    }

    /// The journal has failed by itself: this member cannot promise anything any more.
    pub(crate) fn journal_failed(&mut self) {
        let (Slot::Following(journal) | Slot::Leading(Some(journal))) = &self.slot else { return };
        if let Some(failed) = journal.failure() {
            self.fail(&failed.to_string());
        }
    }

    /// The journal, and up to where it is committed, if that is news to it. Told without the lock: who waits for it may do much.
    pub(crate) fn take_committed(&mut self) -> Option<(Journal, JournalPosition)> {
        let (Slot::Following(journal) | Slot::Leading(Some(journal))) = &self.slot else { return None };
        std::mem::take(&mut self.is_commit_untold).then(|| (journal.clone(), self.ends.committed().1))
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

/// An entry as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    pub(crate) id: LogId,
    pub(crate) first: JournalPosition,
    pub(crate) end: JournalPosition,
    /// `None`: it cannot be read.
    pub(crate) kind: Option<Kind>,
}

/// Hands a commit that was looked at to the journal of a follower.
fn receive(journal: &Journal, id: LogId, commit: &SharedCommit) -> Result<(), String> {
    let head = EntryHead { id, kind: commit.kind };
    let (first, metas_len, payload) = (commit.first, commit.metas_len(), commit.to_payload());
    let received = journal.receive(ReceivedCommit { head, first, metas_len, payload });
    received.map(drop).map_err(|error| error.to_string())
}

/// How long the commit of an entry must be.
fn len_of(entry: &Entry, commit: &SharedCommit) -> u64 {
    if entry.kind == Kind::Records { u64::from(entry.len) } else { commit.len() }
}

#[cfg(test)]
mod tests {
    use consensus::{BallotFile, Base, GroupId, Log, MemberId, Opening, Term, Timing};

    use super::*;

    fn member(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    /// The second of three, whose journal is not open.
    fn core() -> Core {
        let base = Base::of_new_group([1, 2, 3].map(member));
        let opening = Opening {
            group: GroupId(1),
            member: member(2),
            ballot: BallotFile::Fresh,
            checkpoint: base.id.index,
            log: Log::new(base),
            timing: Timing { heartbeat_ticks: 2, election_ticks: 10 },
            seed: 1,
        };
        Core::new(RaftEngine::open(opening).unwrap(), Ends::new(Index(1), JournalPosition(100)))
    }

    /// A leader sends entries behind the first, of so many bytes each.
    fn append(core: &mut Core, from: u64, term: u64, lens: &[u32]) {
        let (mut entries, mut commits, mut end) = (Vec::new(), Vec::new(), JournalPosition(100));
        for (len, index) in lens.iter().zip(2..) {
            entries.push(Entry { id: LogId::new(term, index), kind: Kind::Records, len: *len });
            let payload = vec![0; *len as usize];
            let commit = SharedCommit::of_payload(CommitKind::Records, end, u64::from(*len), payload);
            end = commit.end();
            commits.push(Arc::new(commit));
        }
        let body = Body::Append { previous: LogId::new(1, 1), committed: Index(1), entries };
        core.receive(Message { from: member(from), to: member(2), term: Term(term), body }, commits);
    }

    fn write_ballot(core: &mut Core) {
        let (number, _) = core.wanted_ballot().expect("the term is new");
        core.ballot_written(number);
    }

    #[test]
    fn nothing_counts_before_the_ballot_of_its_term_lasts() {
        let mut core = core();
        append(&mut core, 1, 2, &[10, 10, 10]);
        core.flushed(JournalPosition(130));
        assert!(core.outbox.is_empty());
        assert_eq!(core.engine.status().persisted, Index(1));
        write_ballot(&mut core);
        assert!(!core.outbox.is_empty());
        assert_eq!(core.engine.status().persisted, Index(4));
    }

    #[test]
    fn what_an_old_journal_syncs_of_replaced_entries_acknowledges_nothing() {
        let of_three = |core: &mut Core| {
            append(core, 1, 2, &[10, 10, 10]);
            write_ballot(core);
        };
        let mut undisturbed = core();
        of_three(&mut undisturbed);
        undisturbed.flushed(JournalPosition(130));
        assert_eq!(undisturbed.engine.status().persisted, Index(4));

        let mut core = core();
        of_three(&mut core);
        core.flushed(JournalPosition(120));
        // Another leader has other entries from the second on. The journal that has the old ones is still open, and syncs them.
        append(&mut core, 3, 3, &[5, 5]);
        write_ballot(&mut core);
        assert_eq!(core.ends.end(), JournalPosition(110));
        core.flushed(JournalPosition(130));
        assert_eq!(core.engine.status().persisted, Index(1));
    }
}
