//! The store's own threads. Each loops over one of the `…_once` functions; what they decide and do is elsewhere.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::ids::SegmentId;
use sampler::Work;

use crate::group::Lead;
use crate::journal::FailureCause;
use crate::load::Loader;
use crate::shared::Shared;
use crate::work_error::WorkError;
use crate::{QueueOwner, ScrubReport};

/// How nice the threads are that move messages to segments and copy them there: connections, which bring messages in and take them out,
/// come first, in the slices of milliseconds that a processor gives. Should the memory become full meanwhile, publishers wait.
const NICENESS: i32 = 5;
/// The name of the threads that read from segments.
pub const READER_THREAD: &str = "store-read";
/// Threads that read from segments: one may wait for a slow read while the other continues.
const READER_COUNT: usize = 2;
/// How soon is tried again what failed, or what wants space on disk.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How soon is looked again while publishers wait for memory that consumers free.
const MEMORY_DELAY: Duration = Duration::from_millis(10);
/// How soon is looked again when what fills the memory could not be moved.
const PINNED_DELAY: Duration = Duration::from_millis(50);
/// Reclaiming looks at all segments; not more often than this.
const RECLAIM_DELAY: Duration = Duration::from_secs(1);
/// A segment that has ended waits at least so long for a checkpoint that is made anyway.
const REMOVAL_DELAY_MIN: Duration = Duration::from_secs(5);
/// Checkpoints only to remove segments may write so much a second, on average.
const REMOVAL_RATE_PER_S: u64 = 1 << 20;
/// Copying sleeps when it is so much ahead of its rate.
const PACE_MIN: Duration = Duration::from_millis(5);

/// The first scrub waits so long: a start has more urgent things to read.
const SCRUB_DELAY: Duration = Duration::from_secs(600);
/// A scrub reads no slower than this, and rests when it is through.
const SCRUB_RATE_MIN_PER_S: f64 = (1 << 20) as f64;

/// All of them.
pub(crate) struct Threads {
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn start(shared: &Arc<Shared>, owner: &Arc<dyn QueueOwner>) -> Self {
        let spawn = |name: &str, kind: Work, work: fn(&Shared, &dyn QueueOwner)| {
            let (shared, owner) = (shared.clone(), owner.clone());
            let thread = std::thread::Builder::new().name(name.to_owned());
            let work = {
                let name = name.to_owned();
                move || {
                    sampler::does(kind);
                    // A thread that dies takes the journal with it, in clear words, instead of leaving everyone waiting.
                    if catch_unwind(AssertUnwindSafe(|| work(&shared, &*owner))).is_err() {
                        shared.journal.fail(&format!("the thread {name} panicked"));
                    }
                }
            };
            thread.spawn(work).expect("the system has room for a few threads at start")
        };
        let mut handles =
            vec![spawn("store-retire", Work::Compaction, retire), spawn("store-reclaim", Work::Compaction, reclaim)];
        if shared.options.scrub_interval.is_some() {
            handles.push(spawn("store-scrub", Work::Compaction, scrub));
        }
        handles.extend((0..READER_COUNT).map(|_| spawn(READER_THREAD, Work::Reading, read)));
        Threads { handles }
    }

    /// Ends them. `is_closing` is set.
    pub(crate) fn stop(self, shared: &Shared) {
        shared.signals.retire.raise();
        shared.signals.reclaim.raise();
        shared.loads.close();
        let current = std::thread::current().id();
        // The last handle to the store may be dropped by one of these threads.
        for handle in self.handles.into_iter().filter(|handle| handle.thread().id() != current) {
            if handle.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

/// Of this thread alone, as Linux has it.
fn be_nice() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "a thread of the store is as important as all others");
    }
}

fn read(shared: &Shared, owner: &dyn QueueOwner) {
    Loader::new(shared).run(shared, owner);
}

fn retire(shared: &Shared, owner: &dyn QueueOwner) {
    be_nice();
    let mut has_failed = false;
    while !shared.closing.has_begun() {
        match retire_step(shared, owner, &mut has_failed) {
            Rest::None => {}
            Rest::AtLeast(delay) => {
                shared.closing.sleep(delay);
                if !shared.memory.is_awaited() {
                    shared.signals.retire.wait(None);
                }
            }
            Rest::AtMost(delay) => shared.signals.retire.wait(Some(delay)),
            Rest::UntilRaised => shared.signals.retire.wait(None),
        }
    }
}

/// How long a thread does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    None,
    /// So long, whatever happens meanwhile; then until its signal is raised, unless publishers wait for memory.
    AtLeast(Duration),
    /// So long, or until its signal is raised.
    AtMost(Duration),
    UntilRaised,
}

/// Retires once. As long as publishers wait for memory this must be called again without anything happening: a thread that lets go of
/// memory notifies nothing.
pub(crate) fn retire_step(shared: &Shared, owner: &dyn QueueOwner, has_failed: &mut bool) -> Rest {
    let outcome = shared.retire_once(owner);
    refill_reserve(shared);
    shared.memory.wake();
    let is_awaited = shared.memory.is_awaited();
    match outcome {
        Ok(Some(retired)) if retired.has_checkpoint || retired.message_count > 0 => {
            *has_failed = false;
            Rest::None
        }
        // What fills the memory is in use. Looking again at once would find the same.
        Ok(Some(_)) => Rest::AtLeast(PINNED_DELAY),
        Ok(None) if is_awaited => Rest::AtMost(MEMORY_DELAY),
        Ok(None) if shared.reserve.is_wanting() => Rest::AtMost(RETRY_DELAY),
        Ok(None) => Rest::UntilRaised,
        Err(error) => {
            report(shared, &error, "retiring the journal failed", has_failed);
            Rest::AtMost(RETRY_DELAY)
        }
    }
}

fn refill_reserve(shared: &Shared) {
    if shared.reserve.is_wanting() {
        shared.refill_reserve();
    }
}

fn reclaim(shared: &Shared, owner: &dyn QueueOwner) {
    be_nice();
    let mut has_failed = false;
    let mut doomed_since: Option<Instant> = None;
    while !shared.closing.has_begun() {
        let is_idle = match reclaim_all(shared, owner) {
            Ok(()) => {
                has_failed = false;
                true
            }
            Err(error) => {
                report(shared, &error, "reclaiming segments failed", &mut has_failed);
                false
            }
        };
        match doomed_since {
            _ if !shared.has_doomed() => doomed_since = None,
            None => doomed_since = Some(Instant::now()),
            Some(since) if since.elapsed() >= removal_delay(shared) || shared.is_disk_full() => {
                if let Err(error) = shared.checkpoint(None) {
                    report(shared, &error, "making a checkpoint failed", &mut has_failed);
                }
                doomed_since = None;
            }
            Some(_) => {}
        }
        // Not more often than the delay, and not at all while nothing happens.
        if is_idle && doomed_since.is_none() {
            let lease_end = shared.lead.as_ref().and_then(Lead::next_lease_end);
            shared.signals.reclaim.wait(lease_end.map(|end| end.saturating_duration_since(Instant::now())));
        }
        if !shared.closing.has_begun() {
            shared.closing.sleep(RECLAIM_DELAY);
        }
    }
}

fn scrub(shared: &Shared, _: &dyn QueueOwner) {
    be_nice();
    let Some(interval) = shared.options.scrub_interval else { return };
    sleep_until(shared, Instant::now() + SCRUB_DELAY.min(interval));
    while !shared.closing.has_begun() {
        let start = Instant::now();
        let segments = shared.catalog.all();
        let len: u64 = segments.iter().map(|segment| segment.file_len).sum();
        // In half of the time: what is written meanwhile has its turn, too.
        let rate = (2.0 * len as f64 / interval.as_secs_f64().max(1.0)).max(SCRUB_RATE_MIN_PER_S);
        let mut paced = 0u64;
        let mut pace = |len: u64| {
            paced += len;
            sleep_until(shared, start + Duration::from_secs_f64(paced as f64 / rate));
            if shared.closing.has_begun() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // Somewhere: a broker that is started every day comes to all of them, too.
        let number = usize::try_from(RandomState::new().hash_one(0)).unwrap_or(0) % segments.len().max(1);
        let first = segments.get(number).map_or(SegmentId(0), |segment| segment.id);
        drop(segments);
        let ScrubReport { segment_count, lost_count } = shared.scrub(first, &mut pace);
        let took = start.elapsed();
        if lost_count > 0 {
            tracing::error!(
                segments = segment_count,
                lost = lost_count,
                ?took,
                "the scrub found messages that are lost"
            );
        } else if segment_count > 0 {
            tracing::debug!(segments = segment_count, ?took, "the scrub found no new damage");
        }
        sleep_until(shared, start + interval);
    }
}

fn sleep_until(shared: &Shared, until: Instant) {
    while !shared.closing.has_begun() {
        match until.checked_duration_since(Instant::now()) {
            Some(left) if left > Duration::ZERO => shared.closing.sleep(left),
            _ => return,
        }
    }
}

/// How long ended segments wait for a checkpoint. A checkpoint has everything that is alive in it, however little has ended: the
/// longer the last one was, the later comes the next.
fn removal_delay(shared: &Shared) -> Duration {
    REMOVAL_DELAY_MIN.max(Duration::from_secs(shared.reserve.checkpoint_len() / REMOVAL_RATE_PER_S))
}

fn reclaim_all(shared: &Shared, owner: &dyn QueueOwner) -> Result<(), WorkError> {
    let start = Instant::now();
    let mut paced = 0u64;
    let mut pace = |len: u64| {
        paced += len;
        let due = Duration::from_secs_f64(paced as f64 / shared.options.reclaim_rate_per_s.max(1) as f64);
        let ahead = due.saturating_sub(start.elapsed());
        if ahead > PACE_MIN {
            shared.closing.sleep(ahead);
        }
        if shared.closing.has_begun() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    while shared.reclaim_once(owner, &mut pace)?.is_some() {}
    Ok(())
}

/// Says once that something fails, until it works again.
fn report(shared: &Shared, error: &WorkError, what: &'static str, has_failed: &mut bool) {
    // What was begun for a broker that stops, because another node leads, is done by that node.
    let is_over = shared.journal.failure().is_some_and(|failed| failed.cause == FailureCause::LeadershipLost);
    if matches!(error, WorkError::Closing) || is_over {
        return;
    }
    if error.is_out_of_reach() {
        // Nothing can be stored from now on: better said now than when the journal is full.
        shared.journal.fail(&error.to_string());
    }
    if std::mem::replace(has_failed, true) {
        tracing::debug!(%error, what, "background work failed again");
    } else {
        tracing::error!(%error, what, "background work failed");
    }
}
