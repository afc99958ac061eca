//! The journal's threads: three, or four where confirms do not wait for syncs alone. None wakes up when there is nothing to do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::assembly::assemble;
use super::handle::Journal;
use super::options::{ConfirmAfter, Failed, OnEvent, OpenError, Options};
use super::pending::{POSTPONED, PendingWork, WriterWait};
use super::preallocator::{FilePreallocator, Preallocation};
use super::recovery::Recovery;
use super::replication::Replication;
use super::shared::Shared;
use super::syncer::Syncer;
use super::watch::DiskOperation;
use super::writer::{Progress, Writer};

/// The name of the thread that writes the journal, and alone makes it durable.
const WRITER_THREAD: &str = "journal";
const SYNCER_THREAD: &str = "journal sync";
/// The threads that commits wait for, by their names: the syncer beside the writer, and the writer.
pub const JOURNAL_THREADS: &[&str] = &[SYNCER_THREAD, WRITER_THREAD];

/// How long the writer holds back commits on a full disk before it looks again.
const HELD_DELAY: Duration = Duration::from_millis(10);
/// How long after a file could not be prepared it is tried again. Only then, so a journal that is well costs nothing.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Goes on where a replayed journal ends, with a thread that writes and one that prepares files; as [`assemble`].
///
/// # Panics
/// If the recovery has not been replayed.
pub fn start(
    recovery: Recovery,
    options: Options,
    on_event: OnEvent,
    replication: Option<Arc<dyn Replication>>,
) -> Result<(Journal, Threads), OpenError> {
    let dir = recovery.dir.clone();
    let (journal, mut writer, preallocator) = assemble(recovery, options, on_event, replication)?;
    let shared = writer.shared().clone();
    let is_split = shared.options.confirm_after == ConfirmAfter::Write || shared.replicator.is_leaders();
    let syncer = is_split.then(|| writer.split_syncer());
    let mut threads = Threads { shared, writer: None, preallocator: None, syncer: None, recorder: None };
    let io_error = OpenError::io("starting a thread for the journal in", &dir);
    threads.spawn(writer, preallocator, syncer).map_err(io_error)?;
    Ok((journal, threads))
}

/// The owner of the threads.
pub struct Threads {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    preallocator: Option<JoinHandle<()>>,
    syncer: Option<JoinHandle<()>>,
    recorder: Option<JoinHandle<()>>,
}

impl Threads {
    fn spawn(&mut self, writer: Writer, preallocator: FilePreallocator, syncer: Option<Syncer>) -> std::io::Result<()> {
        // First: the writer waits for it.
        if let Some(syncer) = syncer {
            let shared = self.shared.clone();
            let sync = move || {
                guard(&shared, "syncer", || {
                    while syncer.wait() {
                        syncer.sync_once();
                    }
                });
            };
            self.syncer = Some(thread::Builder::new().name(SYNCER_THREAD.to_owned()).spawn(sync)?);
        }
        let shared = self.shared.clone();
        let write = move || guard(&shared, "writer", || write(writer, &shared));
        self.writer = Some(thread::Builder::new().name(WRITER_THREAD.to_owned()).spawn(write)?);
        let shared = self.shared.clone();
        let prepare = move || guard(&shared, "filer", || prepare(preallocator, &shared));
        self.preallocator = Some(thread::Builder::new().name("journal files".to_owned()).spawn(prepare)?);
        let shared = self.shared.clone();
        let record = move || guard(&shared, "recorder", || record(&shared));
        self.recorder = Some(thread::Builder::new().name("journal synced".to_owned()).spawn(record)?);
        Ok(())
    }

    /// Syncs all that was appended and ends the threads. What is appended later is never written.
    pub fn stop(mut self) -> Result<(), Failed> {
        self.join();
        self.shared.check()
    }

    fn join(&mut self) {
        self.shared.shutdown.stop();
        self.shared.work.wake_writer();
        self.shared.files.wake_writer();
        join_other(self.writer.take());
        self.shared.syncing.stop();
        join_other(self.syncer.take());
        self.shared.files.stop_preallocator();
        join_other(self.preallocator.take());
        self.shared.synced_record.stop();
        join_other(self.recorder.take());
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.join();
    }
}

/// Waits for a thread's end. One of the threads itself may drop the last owner, through what it wakes: it does not wait for its own end.
fn join_other(thread: Option<JoinHandle<()>>) {
    let current = thread::current().id();
    thread.filter(|handle| handle.thread().id() != current).map(JoinHandle::join);
}

/// A thread that dies takes the journal with it, in clear words, instead of leaving everyone waiting.
fn guard(shared: &Shared, name: &str, run: impl FnOnce()) {
    sampler::does(sampler::Work::Journal);
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        shared.fail(&format!("the journal's {name} thread panicked"));
    }
}

fn write(mut writer: Writer, shared: &Shared) {
    loop {
        let result = match wait_for_work(shared, &writer) {
            Work::Commit => match writer.commit_once() {
                Ok(Progress::Committed | Progress::Idle) => Ok(()),
                Ok(Progress::NeedsFile) => wait_for_file(shared),
                Ok(Progress::Held) => {
                    wait_while_held(shared);
                    Ok(())
                }
                Err(failed) => Err(failed),
            },
            Work::Sync => writer.sync_soon(),
            Work::LookAtSync => writer.look_at_sync(Instant::now()),
            Work::Stop => return drop(writer.sync_once()),
            Work::Wait(..) => Ok(()),
        };
        if result.is_err() {
            return; // all waiters have been woken
        }
    }
}

/// What the writer does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Commit,
    Sync,
    LookAtSync,
    Stop,
    /// Nothing for so long, or until it is woken. While it is only the pace that it waits for, what is appended need not wake it.
    Wait(Option<Duration>, WriterWait),
}

/// What the writer has to do now.
pub(super) fn next_work(shared: &Shared, writer: &Writer, pending: &PendingWork, now: Instant) -> Work {
    let is_stopping = shared.shutdown.is_stopping();
    if writer.has_next() || (is_stopping && !pending.gathering.is_empty()) {
        return Work::Commit;
    }
    let is_due = pending.is_due(now);
    let paced_for = writer.paced_for(now);
    if is_due && paced_for.is_zero() {
        return Work::Commit;
    }
    if shared.syncing.is_done() {
        return Work::LookAtSync;
    }
    let may_sync = writer.has_unsynced() && !writer.is_sync_under_way();
    let sync_due_in = writer.sync_due_in(now).filter(|_| may_sync);
    if sync_due_in == Some(Duration::ZERO) || (may_sync && pending.sync_wanted > shared.positions.flushed()) {
        return Work::Sync;
    }
    if is_stopping {
        return Work::Stop;
    }
    if is_due {
        return Work::Wait(Some(paced_for), WriterWait::No);
    }
    match [pending.due_in(now), sync_due_in].into_iter().flatten().min() {
        None => Work::Wait(None, WriterWait::UntilWoken),
        delay => Work::Wait(delay, WriterWait::ForAWhile),
    }
}

fn wait_for_work(shared: &Shared, writer: &Writer) -> Work {
    // What can wait mostly comes soon after what cannot. A writer that waits no longer than that need not be woken to see how long.
    let mut linger = Some(POSTPONED);
    let mut pending = shared.work.lock();
    loop {
        let (delay, wait) = match next_work(shared, writer, &pending, Instant::now()) {
            Work::Wait(delay, WriterWait::No) => (delay, WriterWait::No),
            Work::Wait(delay, _) => match delay.into_iter().chain(linger).min() {
                None => (None, WriterWait::UntilWoken),
                delay => (delay, WriterWait::ForAWhile),
            },
            work => return work,
        };
        pending.note_wait(wait);
        if shared.work.wait(&mut pending, delay) {
            linger = None;
        }
        pending.note_wait(WriterWait::No);
    }
}

/// Until a checkpoint wants what is held back, or it is time to see whether another file is ready.
fn wait_while_held(shared: &Shared) {
    let mut pending = shared.work.lock();
    if pending.sync_wanted <= shared.positions.flushed() && !shared.shutdown.is_ending() {
        shared.work.wait(&mut pending, Some(HELD_DELAY));
    }
}

fn wait_for_file(shared: &Shared) -> Result<(), Failed> {
    let mut files = shared.files.lock();
    while !files.has_wanted() {
        // A disk that is full does not hang.
        let _watched = if files.is_stalled() { None } else { shared.replicator.watch(DiskOperation::Write) };
        if files.is_stalled() && shared.shutdown.is_ending() {
            drop(files);
            return Err(shared.fail("the disk is full and the broker stops"));
        }
        shared.files.wait_for_file(&mut files);
    }
    Ok(())
}

fn record(shared: &Shared) {
    let mut has_failed = false;
    while shared.synced_record.wait(&shared.positions) {
        shared.check_files();
        has_failed = shared.record_synced(has_failed);
    }
}

fn prepare(mut preallocator: FilePreallocator, shared: &Shared) {
    loop {
        let outcome = preallocator.prepare_once();
        let mut files = shared.files.lock();
        if files.is_stopping() {
            return;
        }
        match outcome {
            Preallocation::Done => {}
            Preallocation::Stalled if files.is_stalled() => shared.files.wait_for_job(&mut files, Some(RETRY_DELAY)),
            Preallocation::Stalled => {}
            Preallocation::Idle if files.has_job() || shared.is_reserve_refilled(&files) => {}
            Preallocation::Idle => shared.files.wait_for_job(&mut files, None),
        }
    }
}
