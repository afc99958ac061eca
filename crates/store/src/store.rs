//! The store as its owner sees it: opened, started, closed; appended to, settled and loaded from.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Instant;

use model::ids::{JournalPosition, Place, QueueId};
use parking_lot::Mutex;
use queue::{Load, MovedMessage, PagedRange};
use thiserror::Error;

use crate::backup::{self, Backup, BackupError};
use crate::catalog::{Catalog, Segment};
use crate::checkpoint_delta::CheckpointDelta;
use crate::checkpointer::{CheckpointSources, Checkpointer};
use crate::closing::Closing;
use crate::content_memory::ContentMemory;
use crate::damages::{DamagedSegment, Damages};
use crate::directory::DataDir;
use crate::file::Disk;
use crate::group::{Lead, NamedFiles, ReplicatedLog};
use crate::handles::Handles;
use crate::journal::{self, Failed, FailureCause, OnEvent, Replication, SyncCounts};
use crate::loads::Loads;
use crate::options::Options;
use crate::paths::Paths;
use crate::recovery::{self, OpenError, RecoveredStore, StartupState, attempting};
use crate::reserve::Reserve;
use crate::rest::Rest;
use crate::segment_ids::SegmentIds;
use crate::shared::{Shared, SteppedJournal};
use crate::signals::Signals;
use crate::store_dir::StoreDir;
use crate::threads::Threads;
use crate::wake::DurableWaiter;
use crate::{ChunkBudget, ChunkWriter, QueueOwner, RecordBatch};

/// So much is reserved for a checkpoint at least.
const CHECKPOINT_LEN_MIN: u64 = 64 << 10;

/// What a writer's contents are for. Each kind has chunks of its own, because they live differently long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// At least one of a message's queues journals it.
    Journaled,
    /// None does.
    Transient,
}

/// Why a store was not closed cleanly. Nothing that was durable is lost; the next start replays.
#[derive(Debug, Error)]
#[error("closing the store failed: {0}")]
pub struct CloseError(#[from] Failed);

impl CloseError {
    /// Whether that is only because another node leads by now: what this one had not made durable before is no longer its business.
    #[must_use]
    pub fn is_leadership_lost(&self) -> bool {
        self.0.cause == FailureCause::LeadershipLost
    }
}

/// Numbers about a store, for monitoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Bytes of journal files in use.
    pub journal_unretired_len: u64,
    /// Memory of all chunks.
    pub chunk_len: u64,
    /// Memory that is kept for chunks to come.
    pub spare_chunk_len: u64,
    /// Memory of what is known of segments.
    pub catalog_len: u64,
    /// Segments that last.
    pub segment_count: u64,
    /// Their bytes.
    pub segment_len: u64,
    /// Segments of messages that need not last.
    pub transient_segment_count: u64,
    /// Their bytes.
    pub transient_segment_len: u64,
    /// Messages in segments that are not settled.
    pub segment_message_count: u64,
    /// Loads that wait for a reader.
    pub waiting_load_count: u64,
}

/// Content is coming into memory at once: see [`Store::admit`].
#[must_use]
pub struct Admission {
    shared: Arc<Shared>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.shared.memory.end_coming();
    }
}

/// The store.
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    threads: Mutex<Option<Threads>>,
    journal_threads: Mutex<Option<journal::Threads>>,
}

impl Store {
    /// Opens the data directory and reads what is in it. A corruption is an error; what a crash left half-done is not.
    pub fn open(options: Options, disk: Arc<dyn Disk>) -> Result<(Arc<Store>, RecoveredStore), OpenError> {
        StoreBuilder::read(options, disk)?.finish(false)
    }

    /// Opens a store whose journal is written only by [`Store::step_journal`], and by what must wait for it.
    #[cfg(any(test, feature = "simulation"))]
    pub fn open_stepped(options: Options, disk: Arc<dyn Disk>) -> Result<(Arc<Store>, RecoveredStore), OpenError> {
        StoreBuilder::read(options, disk)?.finish(true)
    }

    /// Whether a majority of nodes has what is durable: it is the store of a group's leader.
    #[must_use]
    pub fn is_replicated(&self) -> bool {
        self.shared.lead.is_some()
    }

    /// Starts the threads that retire, reclaim and read.
    pub fn start(&self, owner: Arc<dyn QueueOwner>) {
        let mut threads = self.threads.lock();
        assert!(threads.is_none(), "a store is started once");
        *threads = Some(Threads::start(&self.shared, &owner));
    }

    /// Makes a copy of the data directory as it is now, while everything continues: a directory that [`Store::open`] takes, with all that
    /// was durable when this was called. Blocks this thread until all of it would survive a power cut; `to` comes to be at the
    /// end, whole.
    pub fn backup(&self, to: &Path) -> Result<Backup, BackupError> {
        backup::run(&self.shared, to)
    }

    /// Stops the threads, makes all that was appended durable, and marks the stop as clean. The owner has appended the closed watermarks
    /// and appends nothing more.
    pub fn close(&self) -> Result<(), CloseError> {
        self.shared.closing.begin();
        // Else a thread that makes a checkpoint, and then this one, would wait for as long as the disk is full.
        self.shared.journal.set_closing();
        if let Some(threads) = self.threads.lock().take() {
            threads.stop(&self.shared);
        }
        let mut batch = RecordBatch::new();
        batch.clean_shutdown();
        let end = self.append(&mut batch);
        self.shared.wait_synced(end)?;
        let checked = self.shared.check_place(self.shared.checkpointer.lock().manifest());
        let stopped = self.journal_threads.lock().take().map_or(Ok(()), journal::Threads::stop);
        // Exactly: the next start misses it if anything is lost.
        self.shared.journal.record_synced();
        // A backup gives up at its next step, and takes away what it has made.
        drop(self.shared.backup.lock());
        Ok(checked.and(stopped)?)
    }

    /// A writer for contents. One for each thread and kind.
    #[must_use]
    pub fn chunk_writer(&self, _kind: Kind) -> ChunkWriter {
        ChunkWriter::new(self.shared.memory.budget().clone())
    }

    /// Takes what is in the batch into the journal, and returns the position at which all of it is durable. Called under the locks of
    /// the shards whose state the records describe: the journal's order is theirs.
    pub fn append(&self, batch: &mut RecordBatch) -> JournalPosition {
        let position = self.shared.checkpoint_delta.append(&self.shared.journal, batch);
        self.relieve_memory();
        if self.shared.checkpoint_delta.has_dropped() {
            self.shared.signals.reclaim.raise();
        }
        position
    }

    /// The end of all that was appended; after an open, the end of what was recovered.
    #[must_use]
    pub fn appended(&self) -> JournalPosition {
        self.shared.journal.appended()
    }

    /// The end of all that was handed to the operating system.
    #[must_use]
    pub fn written(&self) -> JournalPosition {
        self.shared.journal.written()
    }

    /// The end of all that confirms may leave for.
    #[must_use]
    #[inline]
    pub fn durable(&self) -> JournalPosition {
        self.shared.journal.durable()
    }

    /// Since when confirms may leave for all before `position`; none if that is not so, or only just now.
    #[must_use]
    pub fn durable_since(&self, position: JournalPosition) -> Option<Instant> {
        self.shared.journal.durable_since(position)
    }

    /// In a group, since when all before `position` is on this disk; none if that is not so, or only just now.
    #[must_use]
    pub fn flushed_since(&self, position: JournalPosition) -> Option<Instant> {
        self.shared.journal.flushed_since(position)
    }

    /// How often the journal was synced since the store was opened, and how long that took.
    #[must_use]
    pub fn sync_counts(&self) -> SyncCounts {
        self.shared.journal.sync_counts()
    }

    /// Wakes a task once when all before `position` is durable or never will be; at once if so.
    pub fn when_durable(&self, position: JournalPosition, task: Arc<dyn DurableWaiter>) {
        self.shared.journal.when_durable(position, task);
    }

    /// From now on tasks that wait for the journal are not woken on its threads: `notify` is called there when some are to be, and then
    /// [`Store::wake_due_tasks`] has to be called elsewhere. `notify` must be quick.
    pub fn relay_wakes(&self, notify: impl Fn() + Send + Sync + 'static) {
        self.shared.journal.relay().start(Arc::new(notify));
    }

    /// Wakes the tasks whose turn has come.
    pub fn wake_due_tasks(&self) {
        self.shared.journal.relay().wake_due();
    }

    /// From now on tasks are woken on the journal's threads again.
    pub fn end_relay(&self) {
        self.shared.journal.relay().stop();
    }

    /// Whether publishers must wait: too much is not synced or not retired, memory for content is full, or the journal failed.
    #[must_use]
    #[inline]
    pub fn is_congested(&self) -> bool {
        self.shared.journal.is_congested() || self.shared.memory.is_full()
    }

    /// Content has come into memory: has old content moved to segments if there is too much. Called when messages have been put into
    /// queues,
    /// of which nothing may have been appended.
    #[inline]
    pub fn relieve_memory(&self) {
        if self.shared.memory.is_short() {
            self.shared.signals.retire.raise();
        }
    }

    /// So much content is about to come into memory at once, from where it was in memory, too: publishers do not wait until it has been
    /// moved to segments. Changes nothing where memory is full already. It is all there when what this gives is dropped.
    pub fn admit(&self, len: u64) -> Admission {
        let shared = self.shared.clone();
        shared.memory.admit(len);
        Admission { shared }
    }

    /// Whether memory for content is so full that it is being moved to segments. Content that is in no queue should be dropped.
    #[must_use]
    #[inline]
    pub fn is_memory_short(&self) -> bool {
        self.shared.memory.is_short()
    }

    /// Gives back memory of contents that have not been needed since this was called last.
    pub fn trim_memory(&self) {
        self.shared.memory.budget().trim();
    }

    /// Gives back room on disk that the journal does not need while hardly anything is appended. To be called every few seconds: that is
    /// judged by what came since the last time.
    pub fn trim_disk(&self) {
        self.shared.trim_disk();
    }

    /// Wakes once when publishers should look again; at once if they may go on.
    pub fn when_uncongested(&self, waker: Waker) {
        if self.shared.journal.is_congested() {
            self.shared.journal.when_uncongested(waker);
            return;
        }
        self.shared.memory.wait(waker);
        self.shared.memory.wake();
        self.shared.signals.retire.raise();
    }

    /// Members of the group wait for a checkpoint that they can be sent: one is made soon.
    pub fn make_checkpoint_for_members(&self) {
        self.shared.signals.retire.raise();
    }

    /// Nothing more will become durable, because another node leads: what waits for that is notified, and the owner must stop. What is
    /// durable stays so.
    pub fn lose_leadership(&self, reason: &str) {
        self.shared.journal.lose_leadership(reason);
    }

    /// Why nothing will ever be durable again, if the store has failed. The owner must stop.
    #[must_use]
    pub fn failure(&self) -> Option<Failed> {
        self.shared.journal.failure()
    }

    /// Whether only the reserve is left on disk: the disk alarm.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        self.shared.is_disk_full()
    }

    /// Messages in segments have left their queues for good. Called under the shard's lock, after the append of the record that says
    /// so: a checkpoint must not know of it before the journal does.
    pub fn settle_slots(&self, places: &[Place]) {
        if !places.is_empty() {
            self.shared.catalog.settle(places);
            self.shared.signals.reclaim.raise();
        }
    }

    /// As [`Store::settle_slots`], for every slot of these ranges.
    pub fn settle_ranges(&self, ranges: &[PagedRange]) {
        if !ranges.is_empty() {
            let slots = ranges.iter().map(|range| (range.segment, range.first_slot, range.end_slot));
            self.shared.catalog.settle_ranges(slots);
            self.shared.signals.reclaim.raise();
        }
    }

    /// Of messages that were copied from one segment to another, those that were not settled in the old one since. The new slots of the
    /// others are settled by this. For owners of messages that leave from the middle of a range; called in
    /// [`QueueOwner::moved`], under the shard's lock.
    #[must_use]
    pub fn settle_moved(&self, moved: &[MovedMessage]) -> Vec<MovedMessage> {
        let (alive, settled) = self.shared.catalog.split_settled(moved);
        self.settle_slots(&settled);
        alive
    }

    /// Whether there is a message in this slot that is not settled. For a caller that takes messages out of the middle of a range: called
    /// under the shard's lock.
    #[must_use]
    pub fn is_alive(&self, place: Place) -> bool {
        self.shared.catalog.is_alive(place)
    }

    /// Asks for messages in a segment. [`QueueOwner::loaded`] answers, on another thread.
    pub fn load(&self, queue: QueueId, load: Load) {
        self.shared.loads.push(queue, load);
    }

    /// Segments in which something could not be read since the start, as far as no operator has taken note.
    #[must_use]
    pub fn damaged_segments(&self) -> Vec<DamagedSegment> {
        self.shared.damages.open()
    }

    /// Whether there are such segments.
    #[must_use]
    pub fn has_damage(&self) -> bool {
        self.shared.damages.has_open()
    }

    /// Messages that could not be read since the start, whether an operator has taken note or not.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        self.shared.damages.lost_count()
    }

    /// An operator has taken note of [`Store::damaged_segments`]: they are returned, and no longer reported. Later finds are reported.
    pub fn acknowledge_damage(&self) -> Vec<DamagedSegment> {
        self.shared.damages.acknowledge()
    }

    /// Memory of what is on its way to the journal's files, and of commits that are kept for other members, without chunks.
    #[must_use]
    pub fn journal_memory_len(&self) -> u64 {
        let of_tail = self.shared.lead.as_ref().map_or(0, |lead| lead.log().tail_memory_len());
        self.shared.journal.memory_len() + of_tail as u64
    }

    /// Numbers about it, gathered now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            journal_unretired_len: self.shared.journal.unretired_len(),
            chunk_len: self.shared.memory.budget().used(),
            spare_chunk_len: self.shared.memory.budget().spare_len(),
            catalog_len: self.shared.catalog.memory_len(),
            waiting_load_count: self.shared.loads.len() as u64,
            ..Stats::default()
        };
        for segment in self.shared.catalog.all() {
            let (count, len) = match segment.id.is_transient() {
                true => (&mut stats.transient_segment_count, &mut stats.transient_segment_len),
                false => (&mut stats.segment_count, &mut stats.segment_len),
            };
            *count += 1;
            *len += segment.file_len;
            stats.segment_message_count += u64::from(segment.counts().1);
        }
        stats
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.lock().take() {
            self.shared.closing.begin();
            threads.stop(&self.shared);
        }
    }
}

/// Opens the directory of a group's member that leads, which is locked.
pub(crate) fn open_with_lead(
    options: Options,
    disk: Arc<dyn Disk>,
    dir: Arc<DataDir>,
    lead: Lead,
    is_stepped: bool,
) -> Result<(Arc<Store>, RecoveredStore), OpenError> {
    let opening = StoreBuilder::read_in(options, disk, dir)?;
    StoreBuilder { lead: Some(lead), ..opening }.finish(is_stepped)
}

/// A store that has been read and not yet put together.
struct StoreBuilder {
    options: Options,
    disk: Arc<dyn Disk>,
    paths: Paths,
    dir: Arc<DataDir>,
    lead: Option<Lead>,
    budget: Arc<ChunkBudget>,
    found: StartupState,
    signals: Arc<Signals>,
}

type StartedJournal = (journal::Journal, Option<journal::Threads>, Option<SteppedJournal>);

fn start_journal(
    recovery: journal::Recovery,
    options: journal::Options,
    on_event: OnEvent,
    replication: Option<Arc<dyn Replication>>,
    is_stepped: bool,
) -> Result<StartedJournal, journal::OpenError> {
    if is_stepped {
        let is_leaders = replication.as_ref().is_some_and(|replication| replication.is_leaders());
        let (journal, mut writer, preallocator) = journal::assemble(recovery, options, on_event, replication)?;
        let syncer = is_leaders.then(|| writer.split_syncer());
        return Ok((journal, None, Some(SteppedJournal { writer, preallocator, syncer })));
    }
    let (journal, threads) = journal::start(recovery, options, on_event, replication)?;
    Ok((journal, Some(threads), None))
}

impl StoreBuilder {
    fn read(options: Options, disk: Arc<dyn Disk>) -> Result<Self, OpenError> {
        let dir = Arc::new(DataDir::open(&*disk, &options.dir)?);
        Self::read_in(options, disk, dir)
    }

    fn read_in(options: Options, disk: Arc<dyn Disk>, dir: Arc<DataDir>) -> Result<Self, OpenError> {
        let paths = Paths::new(&options.dir);
        let budget = ChunkBudget::sparing(options.chunk_len_max);
        let found = recovery::recover(&disk, &paths, &mut ChunkWriter::new(budget.clone()))?;
        Ok(StoreBuilder { options, disk, paths, dir, lead: None, budget, found, signals: Arc::default() })
    }

    fn finish(self, is_stepped: bool) -> Result<(Arc<Store>, RecoveredStore), OpenError> {
        let StoreBuilder { options, disk, paths, dir, lead, budget, mut found, signals } = self;
        recovery::remove_orphans(&*disk, &paths, &mut found)?;
        recovery::mend_checkpoint(&*disk, &paths, &found);
        // Both grow with what there is, see `Reserve::want_segment` and `Reserve::note_checkpoint_len`.
        let file_len = options.journal.file_len;
        let found_checkpoint = found.manifest.current().checkpoint;
        let checkpoint_len = found_checkpoint.map_or(0, |file| file.len);
        let reserve_lens = (0, CHECKPOINT_LEN_MIN.max(file_len / 4).max(checkpoint_len * 4));
        let reserve = Reserve::open(disk.clone(), paths.clone(), reserve_lens, options.is_reserve_kept)
            .map_err(attempting("opening", &paths.reserve()))?
            .beside(file_len, checkpoint_len);
        let StartupState {
            mut recovered,
            manifest,
            journal,
            segments,
            queues,
            returned,
            next_segment,
            next_checkpoint,
            ..
        } = found;
        let log = lead.as_ref().map(Lead::log);
        let replication = log.map(|log| log.clone().replication(true));
        let mut journal = journal;
        if let Some(log) = log {
            journal.set_committed(log.committed().1);
        }
        let (journal, journal_threads, stepped) =
            start_journal(journal, options.journal.clone(), on_event(&signals, log), replication, is_stepped)?;
        if let (Some(lead), Some(file)) = (&lead, found_checkpoint) {
            lead.set_in_force(NamedFiles::new(file.number, segments.iter().map(|segment| segment.id)));
        }
        let named = segments.iter().map(|segment| (segment.id, segment.file_len)).collect();
        let catalog = Catalog::default();
        segments.into_iter().for_each(|state| catalog.insert(Arc::new(Segment::recovered(state))));
        let definitions = recovered.definitions.clone();
        let segment_ids = SegmentIds::resume(next_segment, &mut recovered.definitions, lead.is_some());
        let sources = CheckpointSources { definitions, queues, returned };
        let checkpointer = Checkpointer::new(manifest, sources, next_checkpoint, named);
        let shared = Arc::new(Shared {
            handles: Handles::new(disk.clone(), paths.clone()),
            damages: Damages::default(),
            memory: ContentMemory::new(budget, options.chunk_len_max),
            options,
            dir: StoreDir::new(disk, paths, dir),
            journal,
            catalog,
            checkpoint_delta: CheckpointDelta::default(),
            reserve,
            loads: Loads::default(),
            rest: Rest::default(),
            checkpointer: Mutex::new(checkpointer),
            backup: Mutex::new(()),
            segment_ids,
            lead,
            signals,
            closing: Closing::default(),
            stepped: Mutex::new(stepped),
        });
        shared.reserve.want_segment(shared.segment_reserve_len());
        shared.reserve.judge().map_err(attempting("looking for room in", &shared.dir.paths().reserve()))?;
        let journal_threads = Mutex::new(journal_threads);
        Ok((Arc::new(Store { shared, threads: Mutex::new(None), journal_threads }), recovered))
    }
}

/// Each of the journal's events may mean work: a file to retire, a reserve to fill again.
fn on_event(signals: &Arc<Signals>, log: Option<&Arc<dyn ReplicatedLog>>) -> OnEvent {
    let (signals, log) = (signals.clone(), log.map(Arc::downgrade));
    Arc::new(move |event| {
        signals.retire.raise();
        if event == journal::Event::Failed
            && let Some(log) = log.as_ref().and_then(Weak::upgrade)
        {
            log.journal_failed();
        }
    })
}
