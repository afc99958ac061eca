//! What publishers without confirms say while their upstream is away: kept on disk, and sent on in order when it is back.
//!
//! ```text
//!  switchboards ── keep ──► queue of a user and vhost ──► store: journal, then segments
//!                              │ take              ▲ settle, put back
//!                              ▼                   │
//!                           service::forwarder ──► an upstream, with confirms
//! ```
//!
//! - **A queue** is a queue of whole publishes, as their frames came. Those of one user and vhost, of all threads, are in the order in
//!   which they were kept. While a queue has something, what comes for it is put behind.
//! - **It is the broker's store** that keeps them: a kill of the process loses what came within some milliseconds, a power cut what came
//!   within a fifth of a second, and memory stays flat however much there is.
//! - **Secrets are never written.** What was kept is sent on with the secret by which an upstream has let in that user last; after a
//!   restart that is when one of its clients has come.
//! - **What is sent on may come twice**, if a connection is lost before its confirm. Nothing leaves a queue but confirmed, refused by the
//!   upstream, too old, or dropped by an operator.

mod drop_messages;
mod forwarding;
mod logins;
mod report;
mod residents;
mod spool_queue;
mod stored_message;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use model::ids::{QueueId, QueueSeq};
use parking_lot::Mutex;
use store::file::Disk;
use store::journal::ConfirmAfter;
use store::{ChunkWriter, CloseError, Content, Kind, OpenError, RecordBatch, Store};
use tokio::sync::watch;

pub use self::drop_messages::{First, NotNow};
pub(crate) use self::forwarding::Window;
use self::logins::Logins;
pub use self::report::{Counters, Report, SpoolQueueReport};
use self::residents::SpoolResidents;
use self::spool_queue::{SpoolQueue, definition, name_of};
use self::stored_message::KEPT_AT_LEN;
use crate::limits::{
    SPOOL_CAREFUL_LOST_COUNT, SPOOL_CHUNKS_LEN, SPOOL_FEW_COUNT, SPOOL_FEW_LEN, SPOOL_JOURNAL_LEN_MAX, SPOOL_MOVING_MS,
    SPOOL_RETRY_DOUBLINGS_MAX, SPOOL_RETRY_MS, SPOOL_SEGMENT_LEN,
};

/// What operators set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where it is kept: a folder of the spool's own.
    pub dir: PathBuf,
    /// Bytes that are kept at most.
    pub len_max: u64,
    /// After what time, in milliseconds, what could not be sent on is dropped; `None`: never.
    pub age_max_ms: Option<u64>,
    /// For how long a login that an upstream has accepted is believed while none can be asked, in milliseconds.
    pub login_fresh_ms: u64,
}

/// What was kept of a user and vhost, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// Nothing.
    Nothing,
    /// So little, and it is being sent on: it is worth waiting for.
    Little,
    /// More, or it cannot be sent on now.
    Much,
}

/// Why the spool cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Its files cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another program's files are there.
    #[error("it holds a broker's data")]
    Foreign,
}

/// There is no room: too much is kept, or it cannot be written as fast as it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the spool is full")]
pub struct Full;

/// What is next on a queue.
#[derive(Debug)]
pub enum NextPublish {
    /// A publish: its frames.
    Publish(QueueSeq, Publish),
    /// It is being read; [`Spool::changes`] signals when to ask again.
    Loading,
    /// Nothing that is not under way.
    Nothing,
}

/// A publish that was kept.
#[derive(Debug, Clone)]
pub struct Publish(Content);

impl Publish {
    /// Its frames, as they came.
    pub fn frames(&self) -> &[u8] {
        &self.0.bytes()[KEPT_AT_LEN..]
    }
}

/// A queue that a forwarder is to send on.
pub struct Job {
    /// Which.
    pub spool_queue: QueueId,
    /// In whose name.
    pub user: Arc<str>,
    /// By what they log in.
    pub secret: Arc<[u8]>,
    /// Where to.
    pub vhost: Arc<str>,
    /// Whether it has failed again and again: then it is sent one by one, so that the one to blame is found.
    pub is_careful: bool,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("spool_queue", &self.spool_queue).field("user", &self.user).finish_non_exhaustive()
    }
}

/// All queues; for all threads.
pub struct Spool {
    store: Arc<Store>,
    options: Options,
    /// Messages on all queues.
    count: AtomicU64,
    /// How often a queue was empty and then was not: looked at for each publish.
    filled_count: AtomicU64,
    state: Mutex<State>,
    changed: Arc<ChangeSignal>,
    /// What to add to the callers' time for milliseconds since 1970.
    wall_offset_ms: AtomicU64,
    is_stopping: AtomicBool,
    is_closed: AtomicBool,
}

struct State {
    spool_queues: BTreeMap<QueueId, SpoolQueue>,
    /// Ids of queues, by user and vhost.
    ids: BTreeMap<Arc<str>, BTreeMap<Arc<str>, QueueId>>,
    /// The queue that was claimed last.
    last_claimed: QueueId,
    /// Bytes on all queues.
    len: u64,
    /// Whether a publisher found no room.
    is_room_wanted: bool,
    writer: ChunkWriter,
    batch: RecordBatch,
    logins: Logins,
    counters: Counters,
}

/// Signals to the listeners that something has changed.
#[derive(Debug)]
struct ChangeSignal(watch::Sender<()>);

impl Wake for ChangeSignal {
    fn wake(self: Arc<Self>) {
        self.0.send_replace(());
    }
}

impl std::fmt::Debug for Spool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("options", &self.options).field("count", &self.count).finish_non_exhaustive()
    }
}

impl Spool {
    /// Opens the folder, and finds what was kept before.
    pub fn open(options: Options, disk: Arc<dyn Disk>) -> Result<Arc<Self>, SpoolError> {
        Self::open_as(store_options(&options), options, |of_store| Store::open(of_store, disk))
    }

    fn open_as(
        of_store: store::Options,
        options: Options,
        open: impl FnOnce(store::Options) -> Result<(Arc<Store>, store::RecoveredStore), OpenError>,
    ) -> Result<Arc<Self>, SpoolError> {
        let (store, mut recovered) = open(of_store)?;
        let mut state = State {
            spool_queues: BTreeMap::new(),
            ids: BTreeMap::new(),
            last_claimed: QueueId(0),
            len: 0,
            is_room_wanted: false,
            writer: store.chunk_writer(Kind::Journaled),
            batch: RecordBatch::new(),
            logins: Logins::default(),
            counters: Counters::default(),
        };
        let mut count = 0;
        for (key, value) in &recovered.definitions {
            // Not named in the next checkpoint, messages of other queues would be forgotten.
            let (id, user, vhost) = name_of(key, value).ok_or(SpoolError::Foreign)?;
            let spool_queue = SpoolQueue::restore(id, user, vhost, recovered.queues.remove(&id));
            count += spool_queue.count();
            state.len += spool_queue.len();
            state.insert(spool_queue);
        }
        let changed = Arc::new(ChangeSignal(watch::Sender::new(())));
        let spool = Spool {
            store: store.clone(),
            options,
            count: count.into(),
            filled_count: AtomicU64::new(0),
            state: Mutex::new(state),
            changed,
            wall_offset_ms: AtomicU64::new(0),
            is_stopping: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        };
        Ok(Arc::new(spool))
    }

    /// Starts the threads that move what is kept to segments, and read it from there.
    pub fn start(self: &Arc<Self>) {
        self.store.start(self.residents());
    }

    fn residents(self: &Arc<Self>) -> Arc<SpoolResidents> {
        let weak: Weak<Spool> = Arc::downgrade(self);
        Arc::new(SpoolResidents(weak))
    }

    /// Stops keeping, and makes all that was kept last.
    pub fn close(&self) -> Result<(), CloseError> {
        // A publish that is being kept has been.
        let state = self.state.lock();
        self.is_closed.store(true, Ordering::SeqCst);
        drop(state);
        self.store.close()
    }

    /// Wakes when something is different: there is something to be sent on, all is, there is room, something was read.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.0.subscribe()
    }

    /// How often a queue was empty and then was not. While it is the same, a user and vhost of which [nothing](Backlog::Nothing) was kept
    /// still have nothing there.
    #[must_use]
    pub(crate) fn filled_count(&self) -> u64 {
        self.filled_count.load(Ordering::Acquire)
    }

    /// What is kept of this user and vhost.
    pub fn holds(&self, user: &str, vhost: &str, now_ms: u64) -> Backlog {
        if self.count.load(Ordering::Acquire) == 0 {
            return Backlog::Nothing;
        }
        let state = self.state.lock();
        let Some(spool_queue) = state.spool_queue(user, vhost).filter(|spool_queue| spool_queue.count() > 0) else {
            return Backlog::Nothing;
        };
        let is_little = spool_queue.count() <= SPOOL_FEW_COUNT && spool_queue.len() <= SPOOL_FEW_LEN;
        let is_moving = spool_queue.is_sending && now_ms < spool_queue.moved_ms + SPOOL_MOVING_MS;
        if is_little && is_moving { Backlog::Little } else { Backlog::Much }
    }

    /// Whether a message, or one that was kept before it, is there still.
    pub(crate) fn holds_up_to(&self, user: &str, vhost: &str, seq: QueueSeq) -> bool {
        self.count.load(Ordering::Acquire) > 0
            && self.state.lock().spool_queue(user, vhost).and_then(SpoolQueue::first).is_some_and(|first| first <= seq)
    }

    /// Keeps a whole publish, which came in these parts.
    /// Gives its place on the queue.
    pub fn keep(&self, user: &str, vhost: &str, parts: &[&[u8]], now_ms: u64) -> Result<QueueSeq, Full> {
        let len = KEPT_AT_LEN + parts.iter().map(|part| part.len()).sum::<usize>();
        let mut state = self.state.lock();
        let state = &mut *state;
        let is_congested = self.store.is_congested();
        if is_congested || self.has_failed() || state.len + len as u64 > self.options.len_max {
            state.is_room_wanted = true;
            if is_congested {
                self.store.when_uncongested(Waker::from(self.changed.clone()));
            }
            return Err(Full);
        }
        let id = match state.id_of(user, vhost) {
            Some(id) => id,
            None => state.define(user, vhost),
        };
        let Some(spool_queue) = state.spool_queues.get_mut(&id) else { return Err(Full) };
        let kept_at = now_ms.saturating_add(self.wall_offset_ms.load(Ordering::Relaxed)).to_le_bytes();
        let all: Vec<&[u8]> = std::iter::once(&kept_at[..]).chain(parts.iter().copied()).collect();
        let content = state.writer.copy(&all);
        let was_empty = spool_queue.count() == 0;
        let seq = spool_queue.publish(content.clone());
        state.batch.publish(&content, &[(id, seq)]);
        state.len += len as u64;
        state.counters.kept += 1;
        self.count.fetch_add(1, Ordering::AcqRel);
        self.store.append(&mut state.batch);
        if was_empty {
            self.filled_count.fetch_add(1, Ordering::Release);
            self.tell();
        }
        Ok(seq)
    }

    /// A publisher has to wait for room.
    pub(crate) fn note_full(&self) {
        self.state.lock().counters.full += 1;
    }

    fn has_failed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed) || self.store.failure().is_some()
    }

    /// Whether nothing more can be kept now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.has_failed() || self.store.is_congested() || self.state.lock().len >= self.options.len_max
    }

    /// A queue with something on it that can be sent on now. It is the caller's until it is [released](Self::release).
    pub fn claim(&self, now_ms: u64) -> Option<Job> {
        if self.is_stopping() {
            return None;
        }
        let mut state = self.state.lock();
        let State { spool_queues, logins, last_claimed, .. } = &mut *state;
        // They take turns: those behind the last one first.
        let after = last_claimed.0 + 1;
        let ids = spool_queues.range(QueueId(after)..).chain(spool_queues.range(..QueueId(after)));
        let id = *ids.filter(|(_, spool_queue)| spool_queue.is_claimable(now_ms, logins)).map(|(id, _)| id).next()?;
        let spool_queue = spool_queues.get_mut(&id)?;
        let secret = logins.latest(&spool_queue.user, &spool_queue.vhost)?;
        spool_queue.is_claimed = true;
        *last_claimed = id;
        let is_careful = spool_queue.lost_count >= SPOOL_CAREFUL_LOST_COUNT;
        Some(Job {
            spool_queue: id,
            user: spool_queue.user.clone(),
            secret,
            vhost: spool_queue.vhost.clone(),
            is_careful,
        })
    }

    /// Whether there is a queue that no forwarder has and one could send on.
    pub(crate) fn is_any_claimable(&self, now_ms: u64) -> bool {
        let state = self.state.lock();
        state.spool_queues.values().any(|spool_queue| spool_queue.is_claimable(now_ms, &state.logins))
    }

    /// No queue is sent on any longer; forwarders are to end.
    pub(crate) fn stop_sending(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.tell();
    }

    /// Whether forwarders are to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// There is a connection over which a queue that was claimed is sent on.
    pub fn sends(&self, id: QueueId, now_ms: u64) {
        if let Some(spool_queue) = self.state.lock().spool_queues.get_mut(&id) {
            (spool_queue.is_sending, spool_queue.moved_ms, spool_queue.last_error) = (true, now_ms, None);
        }
    }

    /// A forwarder has ended with this queue: all was sent on, or something went wrong. What was under way is next again.
    pub fn release(&self, id: QueueId, result: Result<(), String>, now_ms: u64) {
        let mut state = self.state.lock();
        if let Some(spool_queue) = state.spool_queues.get_mut(&id) {
            let was_lost = spool_queue.is_sending && result.is_err();
            (spool_queue.is_claimed, spool_queue.is_sending) = (false, false);
            spool_queue.lost_count += u32::from(was_lost);
            spool_queue.put_back_all();
            spool_queue.failure_count = if result.is_err() { spool_queue.failure_count + 1 } else { 0 };
            let rest_ms = SPOOL_RETRY_MS << spool_queue.failure_count.saturating_sub(1).min(SPOOL_RETRY_DOUBLINGS_MAX);
            spool_queue.rests_until_ms = if result.is_err() { now_ms + rest_ms } else { 0 };
            spool_queue.last_error = result.err();
        }
        drop(state);
        self.tell();
    }

    /// Takes what is next on a queue. It stays there until it is settled, or put back.
    pub fn take(&self, id: QueueId) -> NextPublish {
        let mut state = self.state.lock();
        let Some(spool_queue) = state.spool_queues.get_mut(&id) else { return NextPublish::Nothing };
        spool_queue.take(&self.store)
    }

    /// These were sent on, or refused.
    pub fn settle(&self, id: QueueId, seqs: &[QueueSeq], is_refused: bool, now_ms: u64) {
        let mut state = self.state.lock();
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        if let Some(spool_queue) = state.spool_queues.get_mut(&id) {
            (spool_queue.moved_ms, spool_queue.failure_count, spool_queue.lost_count) = (now_ms, 0, 0);
        }
        let count = self.drop_from(&mut state, id, |spool_queue, batch| spool_queue.settle(seqs, batch));
        let counter = if is_refused { &mut state.counters.refused } else { &mut state.counters.sent_on };
        *counter += count;
        self.wake_waiters(&mut state, id);
    }

    /// These were not sent on: they are next again.
    pub fn put_back(&self, id: QueueId, seqs: &[QueueSeq]) {
        if let Some(spool_queue) = self.state.lock().spool_queues.get_mut(&id) {
            spool_queue.put_back(seqs);
        }
    }

    /// A queue had so many messages and bytes before.
    fn recount(&self, state: &mut State, id: QueueId, before: (u64, u64)) {
        let Some(spool_queue) = state.spool_queues.get(&id) else { return };
        state.len = (state.len + spool_queue.len()).saturating_sub(before.1);
        self.count.fetch_add(spool_queue.count().wrapping_sub(before.0), Ordering::AcqRel);
    }

    /// Clients that wait for a queue to be empty, or for room, look again.
    fn wake_waiters(&self, state: &mut State, id: QueueId) {
        let is_empty = state.spool_queues.get(&id).is_none_or(|spool_queue| spool_queue.count() == 0);
        if std::mem::take(&mut state.is_room_wanted) || is_empty {
            self.tell();
        }
    }

    fn tell(&self) {
        self.changed.0.send_replace(());
    }

    /// An upstream has let this login into this vhost.
    pub fn accepted(&self, user: &str, secret: &[u8], vhost: &str, now_ms: u64) {
        let is_wanted = {
            let mut state = self.state.lock();
            state.logins.accepted(user, secret, vhost, now_ms);
            let id = state.id_of(user, vhost);
            let spool_queue =
                id.and_then(|id| state.spool_queues.get_mut(&id)).filter(|spool_queue| spool_queue.count() > 0);
            spool_queue.map(|spool_queue| (spool_queue.rests_until_ms, spool_queue.failure_count) = (0, 0)).is_some()
        };
        if is_wanted {
            self.tell();
        }
    }

    /// An upstream does not let this login in; or not into this vhost, if one is named.
    pub fn refused(&self, user: &str, secret: &[u8], vhost: Option<&str>) {
        self.state.lock().logins.refused(user, secret, vhost);
    }

    /// Whether a login was accepted lately enough to be believed while no upstream can be asked; into any vhost, if none is named.
    pub fn believes(&self, user: &str, secret: &[u8], vhost: Option<&str>, now_ms: u64) -> bool {
        let since_ms = now_ms.saturating_sub(self.options.login_fresh_ms);
        self.state.lock().logins.has_accepted(user, secret, vhost, since_ms)
    }

    /// To be said about once a second: forgets what is too old. `wall_ms` is since 1970.
    pub fn tick(&self, now_ms: u64, wall_ms: u64) {
        self.wall_offset_ms.store(wall_ms.saturating_sub(now_ms), Ordering::Relaxed);
        let mut state = self.state.lock();
        let since_ms = now_ms.saturating_sub(self.options.login_fresh_ms);
        let mut logins = std::mem::take(&mut state.logins);
        logins.forget(since_ms, |user, vhost| {
            state.spool_queue(user, vhost).is_some_and(|spool_queue| spool_queue.count() > 0)
        });
        state.logins = logins;
        self.expire(&mut state, wall_ms);
    }

    /// How it is.
    #[must_use]
    pub fn report(&self) -> Report {
        let state = self.state.lock();
        let spool_queues =
            state.spool_queues.values().filter(|spool_queue| spool_queue.count() > 0).map(SpoolQueue::report);
        Report {
            len_max: self.options.len_max,
            unwritten_len: self.store.appended().0.saturating_sub(self.store.written().0),
            failure: self.failure(),
            counters: state.counters,
            spool_queues: spool_queues.collect(),
        }
    }

    fn failure(&self) -> Option<String> {
        match self.store.failure() {
            Some(failed) => Some(failed.to_string()),
            None => self.store.is_disk_full().then(|| "the disk is full".to_owned()),
        }
    }
}

impl State {
    fn id_of(&self, user: &str, vhost: &str) -> Option<QueueId> {
        self.ids.get(user)?.get(vhost).copied()
    }

    fn spool_queue(&self, user: &str, vhost: &str) -> Option<&SpoolQueue> {
        self.spool_queues.get(&self.id_of(user, vhost)?)
    }

    fn insert(&mut self, spool_queue: SpoolQueue) {
        self.ids.entry(spool_queue.user.clone()).or_default().insert(spool_queue.vhost.clone(), spool_queue.id);
        self.spool_queues.insert(spool_queue.id, spool_queue);
    }

    /// A queue for a user and vhost that had none. It stays, empty or not: there are no more than users and vhosts.
    fn define(&mut self, user: &str, vhost: &str) -> QueueId {
        let id = QueueId(self.spool_queues.last_key_value().map_or(1, |(id, _)| id.0 + 1));
        let (key, value) = definition(id, user, vhost);
        self.batch.put(&key, &value);
        self.insert(SpoolQueue::new(id, user.into(), vhost.into()));
        id
    }
}

fn store_options(options: &Options) -> store::Options {
    let mut of_store = store::Options::new(options.dir.clone());
    of_store.journal.file_len = SPOOL_JOURNAL_LEN_MAX / 8;
    of_store.journal.unretired_len_max = SPOOL_JOURNAL_LEN_MAX;
    // A publisher that wants to be sure asks for confirms, and is not kept here.
    of_store.journal.confirm_after = ConfirmAfter::Write;
    of_store.journal.salt = fastrand::u64(..);
    of_store.chunk_len_max = SPOOL_CHUNKS_LEN;
    of_store.segment_len = SPOOL_SEGMENT_LEN;
    of_store
}
