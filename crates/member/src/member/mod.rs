//! The member, and what its callers share: the engine behind its lock, and what is carried out when that is released.

mod disk_work;
mod files;
mod rebuild;
mod replication;

use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(any(test, feature = "simulation"))]
use consensus::Index;
use consensus::{LogId, MemberChange, MemberId, Members, Message, PeerStatus, Refusal, Shipment, Status};
use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex};
use store::group::{Identity, MemberDir};
#[cfg(any(test, feature = "simulation"))]
use store::journal::EMPTY_METAS;
use store::journal::{EntryReader, Failed, NOT_LEADING, ReceivedCommit, SharedCommit};

use self::disk_work::{DiskThread, DiskWorker};
pub use self::files::Installed;
use crate::core::{Core, Effects, Ending};
use crate::notices::Situation;
use crate::outgoing::Outgoing;
use crate::timings::{Timings, Watch};
use crate::transport::Transport;

/// What one message may name is read back in one go: more than that only if a single commit is longer.
const READ_LEN_MAX: u64 = 2 * consensus::MESSAGE_CONTENTS_LEN_MAX;

/// A member of a group.
pub struct Member {
    // First: it ends before the rest is dropped.
    _disk_thread: Option<DiskThread>,
    shared: Arc<MemberShared>,
}

/// What a member's callers share. Locks, in the order in which they may be taken: `transition`, those of the directory, those of the
/// disk's worker, `sender`, `core`.
pub(crate) struct MemberShared {
    dir: MemberDir,
    is_stepped: bool,
    transport: Arc<dyn Transport>,
    core: Mutex<Core>,
    /// Something has become durable, committed, or otherwise.
    changed: Condvar,
    /// There is something for the owner to do.
    has_notice: Condvar,
    /// Of a leader's commits.
    watch: Mutex<Watch>,
    /// Its holder sends what is in the outbox: one thread at a time, so that messages keep their order.
    sender: Mutex<()>,
    disk_worker: DiskWorker,
    /// Held while the directory passes from one owner to another.
    transition: Mutex<()>,
}

impl Drop for Member {
    fn drop(&mut self) {
        // Here and not when the last that uses it lets go, which may be the journal's own thread. What could not be written is lost, as by
        // a crash.
        self.shared.dir.abandon_journal();
    }
}

impl Member {
    /// What its owner has to do.
    #[must_use]
    pub fn situation(&self) -> Situation {
        self.shared.core.lock().situation()
    }

    /// Whether [`Member::rebuild`] has to be called.
    #[must_use]
    pub fn is_to_be_rebuilt(&self) -> bool {
        self.shared.core.lock().is_to_be_rebuilt()
    }

    /// Waits until the owner has something else to do than when this was last called, for a while at most.
    pub fn wait_for_change(&self, time: Duration) {
        let mut core = self.shared.core.lock();
        if !core.has_unseen_notice() {
            let _ = self.shared.has_notice.wait_for(&mut core, time);
        }
        core.notice_seen();
    }

    /// Time has passed: see [`consensus::Engine::tick`].
    pub fn tick(&self) {
        self.tick_after(self.disk_time(Instant::now()));
    }

    /// How long the disk has been at one thing for which this member's promises wait.
    #[must_use]
    pub fn disk_time(&self, now: Instant) -> Duration {
        self.shared.disk_worker.watch.longest(now)
    }

    /// Time has passed, and the disk has been at one thing for so long. A leader's that hangs costs it the lead.
    pub(crate) fn tick_after(&self, disk_time: Duration) {
        self.shared.with_core(|core| core.tick(disk_time));
    }

    /// A message has arrived, with the commits of the records that it names.
    pub fn receive(&self, message: Message, commits: Vec<Arc<SharedCommit>>) {
        self.shared.with_core(|core| core.receive(message, commits));
    }

    /// What was sent to a peer lately is lost.
    pub fn unreachable(&self, peer: MemberId) {
        self.shared.with_core(|core| core.unreachable(peer));
    }

    /// Whether [`Member::transfer`] would hand over to that one.
    #[must_use]
    pub fn could_lead(&self, member: MemberId) -> bool {
        self.shared.core.lock().could_lead(member)
    }

    /// Hands over to another voter, if this member leads and that one has caught up; says whether it has.
    pub fn transfer(&self, to: MemberId) -> bool {
        self.shared.with_core(|core| core.transfer(to))
    }

    /// Serves no more, if it leads with an open store: nothing that is not committed yet will be durable. What comes next is that the store
    /// is dropped, and [`Member::step_back`].
    pub fn resign(&self) {
        self.shared.with_core(Core::resign);
    }

    /// Has a change of members appended. That it is committed is seen by [`Member::members`].
    ///
    /// # Errors
    ///
    /// This member does not lead with an open store, the change cannot be made now, or would give a vote to one that has not caught up.
    pub fn change(&self, change: &MemberChange) -> Result<(), Refusal> {
        self.shared.core.lock().append_change(change)
    }

    /// The members of the group, as far as that has taken effect here.
    #[must_use]
    pub fn members(&self) -> Members {
        self.shared.core.lock().status().members
    }

    /// How things stand.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.core.lock().status()
    }

    /// How far others are, by a leader's knowledge.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.shared.core.lock().peers()
    }

    /// How long commits take, by a leader's knowledge.
    #[must_use]
    pub fn timings(&self) -> Timings {
        self.shared.watch.lock().read(Instant::now())
    }

    /// Where its log ends, in bytes since the journal began: the same place means the same on all members.
    #[must_use]
    pub fn end(&self) -> JournalPosition {
        self.shared.core.lock().ends().end()
    }

    /// Which member this directory is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.shared.dir.identity()
    }

    /// Whether its journal's writer would wait for the others now.
    #[cfg(test)]
    pub(crate) fn is_far_ahead(&self) -> bool {
        self.shared.core.lock().is_far_ahead()
    }

    /// Whether members that are new wait for a checkpoint that knows of them.
    #[must_use]
    pub fn is_checkpoint_wanted(&self) -> bool {
        self.shared.core.lock().is_checkpoint_wanted()
    }

    /// The last entry before those of a term, which begin with an empty one, and where it ends.
    #[cfg(test)]
    pub(crate) fn last_before_term(&self, term: consensus::Term) -> (LogId, JournalPosition) {
        let core = self.shared.core.lock();
        let log = core.log();
        let mut index = log.last().index;
        while index > log.base().id.index && log.term(index).is_some_and(|found| found >= term) {
            index = Index(index.0 - 1);
        }
        let id = LogId { term: log.term(index).unwrap_or_default(), index };
        let end_of_empty = || core.ends().of(index.next()).map(|end| JournalPosition(end.0 - EMPTY_METAS.len() as u64));
        (id, core.ends().of(index).or_else(end_of_empty).unwrap_or(JournalPosition::START))
    }

    /// Where what the leaders up to this term had appended ends, in this member's log: what it has behind that, others appended.
    #[cfg(any(test, feature = "simulation"))]
    #[must_use]
    pub fn end_of_term(&self, term: consensus::Term) -> JournalPosition {
        let core = self.shared.core.lock();
        let (log, mut end) = (core.log(), core.ends().end().0);
        let mut index = log.last().index;
        while let Some(entry) = log.entry(index).filter(|entry| entry.id.term > term) {
            end -= match entry.kind {
                consensus::Kind::Records => u64::from(entry.len),
                consensus::Kind::Empty => EMPTY_METAS.len() as u64,
                consensus::Kind::Members(change) => {
                    let mut payload = Vec::new();
                    change.encode(&mut payload);
                    payload.len() as u64
                }
            };
            index = Index(index.0 - 1);
        }
        JournalPosition(end)
    }

    /// Members that are to be sent the files of the checkpoint that is in force, and then a message.
    #[must_use]
    pub fn take_shipments(&self) -> Vec<Shipment> {
        self.shared.core.lock().take_shipments()
    }

    /// Writes and syncs what a follower's journal has gathered, as much as one step does; of a member that is stepped.
    ///
    /// # Errors
    ///
    /// The journal has failed.
    pub fn step_journal(&self) -> Result<(), Failed> {
        self.shared.dir.step_journal()
    }
}

impl MemberShared {
    /// Does something with the core, and then notifies the journal and other members of the outcome.
    fn with_core<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core.lock();
        let result = act(&mut core);
        let effects = core.take_effects();
        drop(core);
        self.carry_out(effects);
        result
    }

    fn carry_out(&self, effects: Effects) {
        let Effects { ending, committed, committed_index, has_outgoing, has_job, has_new_notice } = effects;
        self.changed.notify_all();
        if has_new_notice {
            self.has_notice.notify_all();
        }
        match ending {
            Some(Ending { journal, failure: Some(reason) }) => journal.fail(&reason),
            Some(Ending { journal, failure: None }) => journal.lose_leadership(NOT_LEADING),
            None => {}
        }
        if let Some((journal, position)) = committed {
            self.watch.lock().committed(committed_index, Instant::now());
            journal.set_committed(position);
        }
        if has_outgoing {
            self.send_all();
        }
        if has_job {
            self.begin_disk_work();
        }
    }

    fn send_all(&self) {
        // The lock's holder sends what is added meanwhile; it looks again after it has let go.
        while let Some(alone) = self.sender.try_lock() {
            while let Some(outgoing) = self.next_outgoing() {
                self.send(outgoing);
            }
            drop(alone);
            if !self.core.lock().has_outgoing() {
                return;
            }
        }
    }

    fn next_outgoing(&self) -> Option<Outgoing> {
        self.core.lock().next_outgoing()
    }

    fn send(&self, outgoing: Outgoing) {
        let Outgoing { message, commits } = outgoing;
        let to = message.to;
        // What has to be read is not in the outbox.
        if !self.transport.send(message, commits.into_iter().flatten().collect()) {
            self.with_core(|core| core.unreachable(to));
        }
    }

    /// All commits of the records that a message names: those that are not in memory are read back.
    fn find_commits(
        &self,
        message: &Message,
        commits: Vec<Option<Arc<SharedCommit>>>,
        reader: &mut EntryReader,
    ) -> Option<Vec<Arc<SharedCommit>>> {
        if commits.iter().all(Option::is_some) {
            return Some(commits.into_iter().flatten().collect());
        }
        let journal = self.core.lock().open_journal()?.clone();
        let consensus::Body::Append { entries, .. } = &message.body else { return None };
        let found = reader.read(&journal, entries.first()?.id.index, entries.len(), READ_LEN_MAX).ok()??;
        let find = |id: LogId| {
            let found = found.iter().find(|found| found.head.id == id)?;
            let ReceivedCommit { head, first, metas_len, payload } = found;
            Some(Arc::new(SharedCommit::of_payload(head.kind, *first, *metas_len, payload.clone())))
        };
        let records = entries.iter().filter(|entry| entry.kind == consensus::Kind::Records);
        records.zip(commits).map(|(entry, commit)| commit.or_else(|| find(entry.id))).collect()
    }
}
