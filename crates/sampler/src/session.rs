//! A session: from its start to its end, on a thread of its own.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::clock;
use crate::modules::Modules;
use crate::ring::{DEPTH_MAX, Mapped};
use crate::signal;
use crate::threads::Threads;
use crate::viewer::{Sample, Viewer, Wish};
use crate::work::{self, Work};

/// How often samples are read and ends are looked for.
const ROUND_TIME: Duration = Duration::from_millis(50);
/// Threads that have come are looked for once in so many rounds: it takes longer than all the rest.
const ROUNDS_PER_REFRESH: u64 = 4;

/// Whether there is a session.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static NEXT_SESSION: AtomicU32 = AtomicU32::new(1);

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Looks at each second of processor time: 1 to 999.
    pub rate_hz: u32,
    /// How long, at most.
    pub time: Duration,
}

/// Why there is no session.
#[derive(Debug)]
pub enum StartError {
    /// There is one.
    Taken,
    /// The system or this processor does not have what is needed.
    Unsupported(&'static str),
    /// The system refused something.
    System(&'static str, io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Taken => f.write_str("a CPU profile is being made already, and there can be one at a time"),
            StartError::Unsupported(what) => write!(f, "CPU profiles cannot be made here: {what}"),
            StartError::System(what, error) => write!(f, "a CPU profile cannot be made: {what}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its time was over.
    Time,
    /// The viewer has stopped it.
    Stopped,
    /// Its viewer wanted no more.
    ViewerGone,
}

/// What a session came to.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    /// Why it ended.
    pub end: End,
    /// How long it was.
    pub time: Duration,
    /// Samples that the viewer got.
    pub sample_count: u64,
    /// Samples that had no room, and those that the viewer did not want before the end.
    pub dropped_count: u64,
    /// Times that a thread could not be looked at.
    pub unseen_thread_count: u64,
    /// Threads that were looked at only at the kernel's ticks, as the process may have no performance events.
    pub coarse_thread_count: u64,
    /// Processor time that the handlers took of the threads that they looked at, in nanoseconds.
    pub handler_ns: u64,
    /// Processor time of the session's own thread.
    pub session_ns: u64,
    /// Processor time of the whole process meanwhile.
    pub process_ns: u64,
}

/// A session that runs. It ends with this.
#[derive(Debug)]
pub struct Session {
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The place for the one session.
struct Place;

impl Place {
    fn take() -> Result<Place, StartError> {
        match IS_TAKEN.swap(true, Acquire) {
            false => Ok(Place),
            true => Err(StartError::Taken),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        IS_TAKEN.store(false, Release);
    }
}

impl Session {
    /// Starts one.
    pub fn start(options: Options, viewer: Box<dyn Viewer>) -> Result<Session, StartError> {
        if !cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
            return Err(StartError::Unsupported("only Linux on 64-bit x86 and ARM is known"));
        }
        let place = Place::take()?;
        let modules = Modules::read().map_err(|error| StartError::System("/proc/self/maps cannot be read", error))?;
        let layout = modules.layout.ok_or(StartError::Unsupported("the program is not in its own memory's map"))?;
        let mapped = Mapped::new().map_err(|error| StartError::System("there is no memory for samples", error))?;
        signal::install().map_err(|error| StartError::System("SIGPROF cannot be handled", error))?;
        let session = NEXT_SESSION.fetch_add(1, Relaxed);
        let period_ns = 1_000_000_000 / u64::from(options.rate_hz.clamp(1, 999));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let mut running = Running {
            threads: Threads::new(session, period_ns),
            mapped,
            modules,
            viewer,
            is_stopped: is_stopped.clone(),
            ends_at: Instant::now() + options.time,
            sample_count: 0,
            place: Some(place),
        };
        signal::open(&running.mapped, session, period_ns, layout);
        let begin = running.begin();
        if let Err(error) = begin {
            running.close();
            return Err(StartError::System("timers cannot be made", error));
        }
        // Should there be no room for a thread, what it was to have is dropped, and that closes it.
        let thread = std::thread::Builder::new().name("profiler".to_owned()).spawn(move || running.run());
        match thread {
            Ok(thread) => Ok(Session { is_stopped, thread: Some(thread) }),
            Err(error) => Err(StartError::System("a thread cannot be started", error)),
        }
    }

    /// Has it end soon, without waiting for that.
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Waits until it has ended.
    pub fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            // What it panicked of is in the log.
            let _ = thread.join();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the session's thread has.
struct Running {
    threads: Threads,
    mapped: Mapped,
    modules: Modules,
    is_stopped: Arc<AtomicBool>,
    ends_at: Instant,
    sample_count: u64,
    /// Given back when timers and handlers have ended, and so before the viewer gets the end: from then on there may be another.
    place: Option<Place>,
    viewer: Box<dyn Viewer>,
}

impl Running {
    fn begin(&mut self) -> io::Result<()> {
        self.viewer.modules(&self.modules.all);
        self.refresh()
    }

    fn refresh(&mut self) -> io::Result<()> {
        for thread in self.threads.refresh()? {
            self.viewer.thread(thread.number, &thread.name);
        }
        Ok(())
    }

    fn run(mut self) {
        work::does(Work::Profiling);
        let (began_at, process_ns) = (Instant::now(), clock::of_process());
        let mut round = 0;
        let end = loop {
            round += 1;
            if round % ROUNDS_PER_REFRESH == 0 {
                // A thread that is not found now may be found next time.
                let _ = self.refresh();
            }
            let wish = self.read();
            self.viewer.flush();
            match () {
                () if wish == Wish::Nothing => break End::ViewerGone,
                () if self.is_stopped.load(Relaxed) => break End::Stopped,
                () if Instant::now() >= self.ends_at => break End::Time,
                () => {}
            }
            std::thread::park_timeout(ROUND_TIME.min(self.ends_at.saturating_duration_since(Instant::now())));
        };
        self.close();
        self.read();
        let unread_count = self.mapped.count_rest();
        let summary = Summary {
            end,
            time: began_at.elapsed(),
            sample_count: self.sample_count,
            dropped_count: self.mapped.ring().dropped() + unread_count,
            unseen_thread_count: self.threads.without,
            coarse_thread_count: self.threads.coarse,
            handler_ns: self.mapped.ring().handler_ns.load(Relaxed),
            session_ns: clock::of_thread(),
            process_ns: clock::of_process().saturating_sub(process_ns),
        };
        self.viewer.ended(&summary);
    }

    /// Hands the viewer samples as long as there are some and it wants them.
    fn read(&mut self) -> Wish {
        let (mut addresses, mut stack) = (Vec::new(), Vec::new());
        loop {
            let wish = self.viewer.wish();
            if wish != Wish::More {
                return wish;
            }
            let Some(head) = self.mapped.read(&mut addresses) else { return wish };
            stack.clear();
            // A return address is behind the call, which may be the last instruction of a function.
            let called_at = addresses.iter().enumerate().map(|(place, address)| address - u64::from(place > 0));
            stack.extend(called_at.map(|address| self.modules.find(address)));
            self.sample_count += 1;
            self.viewer.sample(&Sample {
                thread: head.thread,
                work: Work::of_number(head.work),
                count: head.count,
                stack: &stack,
                is_cut: stack.len() >= DEPTH_MAX,
            });
        }
    }

    /// Ends timers and handlers, once: those of the next session are not its own.
    fn close(&mut self) {
        if let Some(place) = self.place.take() {
            self.threads.clear();
            signal::close();
            drop(place);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Before the ring's memory is unmapped.
        self.close();
    }
}
