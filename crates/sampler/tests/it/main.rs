//! Sessions in this process: one at a time, as there can be.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use sampler::{
    End, Module, Options, RING_LEN, Sample, Session, StartError, Summary, Viewer, Wish, Work, does, working_on,
};

static TURN: Mutex<()> = Mutex::new(());

/// Tests run at the same time, sessions do not.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// What was seen.
#[derive(Default)]
struct Seen {
    threads: HashMap<u32, String>,
    /// Ticks by thread and work.
    ticks: HashMap<(u32, &'static str), u64>,
    depths: Vec<usize>,
    modules: Vec<Module>,
    in_no_file: u64,
    summary: Option<Summary>,
    wish: Option<Wish>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Seen>>);

impl Viewer for Shared {
    fn wish(&mut self) -> Wish {
        self.0.lock().wish.unwrap_or(Wish::More)
    }

    fn modules(&mut self, modules: &[Module]) {
        self.0.lock().modules = modules.to_vec();
    }

    fn thread(&mut self, number: u32, name: &str) {
        self.0.lock().threads.insert(number, name.to_owned());
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        let mut seen = self.0.lock();
        assert!(seen.threads.contains_key(&sample.thread));
        *seen.ticks.entry((sample.thread, sample.work.name())).or_default() += u64::from(sample.count);
        seen.depths.push(sample.stack.len());
        seen.in_no_file += u64::from(sample.stack[0].is_none());
    }

    fn flush(&mut self) {}

    fn ended(&mut self, summary: &Summary) {
        self.0.lock().summary = Some(*summary);
    }
}

impl Shared {
    fn start(&self, rate_hz: u32, time: Duration) -> Session {
        self.try_start(rate_hz, time).unwrap()
    }

    fn try_start(&self, rate_hz: u32, time: Duration) -> Result<Session, StartError> {
        Session::start(Options { rate_hz, time }, Box::new(self.clone()))
    }

    fn summary(&self) -> Summary {
        self.0.lock().summary.unwrap()
    }
}

/// Works until it has taken so much processor time, as its own clock says.
#[inline(never)]
fn work_for(time: Duration) -> u64 {
    let ticks = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
    };
    let (start, mut sum) = (ticks(), 0_u64);
    while ticks() - start < time {
        sum = (0..200_000).fold(sum, |sum, number| black_box(sum.wrapping_mul(31).wrapping_add(number)));
    }
    sum
}

/// The mapped memory of this process.
fn mapped_len() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').next().unwrap().parse::<usize>().unwrap() * 4096
}

/// What threads of known work are seen to do, by sessions that this thread starts. Returns how many threads had no events.
fn watch_known_work() -> u64 {
    let mut coarse_thread_count = 0;
    for rate_hz in [99, 999] {
        let seen = Shared::default();
        let session = seen.start(rate_hz, Duration::from_secs(60));
        let worker = std::thread::Builder::new().name("worker".to_owned()).spawn(|| {
            does(Work::Connection);
            work_for(Duration::from_millis(900));
            let _working = working_on(Work::Delivering);
            work_for(Duration::from_millis(300))
        });
        worker.unwrap().join().unwrap();
        session.stop();
        session.join();
        let ticks = |work| {
            let seen = seen.0.lock();
            let of_worker =
                seen.ticks.iter().filter(|((thread, of), _)| seen.threads[thread] == "worker" && *of == work);
            of_worker.map(|(_, ticks)| *ticks).sum::<u64>() as f64
        };
        for (work, seconds) in [("connection", 0.9), ("delivering", 0.3)] {
            let expected = seconds * f64::from(rate_hz);
            // It is found within 200 milliseconds of its start.
            let (min, max) = (expected * 0.75 - 0.2 * f64::from(rate_hz), expected * 1.25 + 2.0);
            assert!(
                (min..max).contains(&ticks(work)),
                "{} ticks of {work} and not {expected}, at {rate_hz} Hz",
                ticks(work)
            );
        }
        let summary = seen.summary();
        assert_eq!((summary.end, summary.dropped_count, summary.unseen_thread_count), (End::Stopped, 0, 0));
        assert!(summary.process_ns > 1_100_000_000 && summary.handler_ns > 0 && summary.session_ns > 0, "{summary:?}");
        assert!(summary.handler_ns < summary.process_ns / 50, "handlers took {} ns", summary.handler_ns);
        coarse_thread_count += summary.coarse_thread_count;
        let seen = seen.0.lock();
        assert!(
            seen.in_no_file * 20 < summary.sample_count,
            "{} of {} in no file",
            seen.in_no_file,
            summary.sample_count
        );
    }
    coarse_thread_count
}

#[test]
fn threads_are_seen_as_often_as_they_work_and_by_what_they_work_on() {
    let _turn = turn();
    watch_known_work();
}

/// Takes all capabilities from this thread, and from those that it starts.
#[expect(unsafe_code, reason = "no library of the project has capset(2)")]
fn drop_capabilities() {
    const VERSION_3: u32 = 0x2008_0522;
    const THIS_THREAD: u32 = 0;
    let (header, none) = ([VERSION_3, THIS_THREAD], [0_u32; 6]);
    // SAFETY: reads both.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, &raw const none) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

#[test]
fn without_performance_events_threads_are_seen_as_often() {
    let _turn = turn();
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let may_all = paranoid.is_ok_and(|level| level.trim().parse::<i32>().unwrap() <= 1);
    let watcher = std::thread::spawn(|| {
        drop_capabilities();
        watch_known_work()
    });
    let coarse_thread_count = watcher.join().unwrap();
    assert!(may_all || coarse_thread_count > 0, "timers were not tried");
}

#[test]
fn one_session_is_refused_while_there_is_another() {
    let _turn = turn();
    let (first, second) = (Shared::default(), Shared::default());
    let session = first.start(99, Duration::from_secs(60));
    let refused = second.try_start(99, Duration::from_secs(60)).unwrap_err();
    assert_eq!(refused.to_string(), "a CPU profile is being made already, and there can be one at a time");
    session.stop();
    session.join();
    second.start(99, Duration::from_millis(1)).join();
    assert_eq!(second.summary().end, End::Time);
}

/// Starts the next session when it is notified that its own has ended.
struct Next {
    seen: Shared,
    started: Arc<Mutex<Option<Session>>>,
}

impl Viewer for Next {
    fn wish(&mut self) -> Wish {
        Wish::More
    }

    fn modules(&mut self, _modules: &[Module]) {}

    fn thread(&mut self, _number: u32, _name: &str) {}

    fn sample(&mut self, _sample: &Sample<'_>) {}

    fn flush(&mut self) {}

    fn ended(&mut self, _summary: &Summary) {
        *self.started.lock() = Some(self.seen.start(999, Duration::from_secs(60)));
    }
}

#[test]
fn a_session_that_ends_leaves_the_next_one_alone() {
    let _turn = turn();
    let (seen, started) = (Shared::default(), Arc::new(Mutex::new(None)));
    let viewer = Box::new(Next { seen: seen.clone(), started: started.clone() });
    let options = Options { rate_hz: 99, time: Duration::from_millis(1) };
    Session::start(options, viewer).unwrap().join();
    let session = started.lock().take().unwrap();
    std::thread::spawn(|| work_for(Duration::from_millis(500))).join().unwrap();
    session.stop();
    session.join();
    assert!(seen.summary().sample_count > 0, "{:?}", seen.summary());
}

#[test]
fn a_session_ends_with_its_time_its_viewer_and_its_owner() {
    let _turn = turn();
    let began_at = Instant::now();
    let seen = Shared::default();
    seen.start(99, Duration::from_millis(200)).join();
    assert_eq!(seen.summary().end, End::Time);
    assert!(began_at.elapsed() >= Duration::from_millis(200));

    let seen = Shared::default();
    let session = seen.start(99, Duration::from_secs(60));
    seen.0.lock().wish = Some(Wish::Nothing);
    session.join();
    assert_eq!(seen.summary().end, End::ViewerGone);

    let seen = Shared::default();
    drop(seen.start(99, Duration::from_secs(60)));
    while seen.0.lock().summary.is_none() {
        std::thread::yield_now();
    }
    assert_eq!(seen.summary().end, End::Stopped);
    assert!(began_at.elapsed() < Duration::from_secs(20), "sessions do not end soon");
}

#[test]
fn a_viewer_that_is_late_costs_samples_and_no_more() {
    let _turn = turn();
    let seen = Shared::default();
    seen.0.lock().wish = Some(Wish::Later);
    let session = seen.start(999, Duration::from_secs(60));
    std::thread::spawn(|| work_for(Duration::from_millis(200))).join().unwrap();
    session.stop();
    session.join();
    let summary = seen.summary();
    assert_eq!(summary.sample_count, 0);
    assert!(summary.dropped_count > 0);
}

#[test]
fn memory_is_mapped_while_it_runs_and_gone_after() {
    let _turn = turn();
    let seen = Shared::default();
    // What the first session's thread and lists take, stays with the allocator.
    seen.start(99, Duration::from_millis(1)).join();
    let before = mapped_len();
    let seen = Shared::default();
    let session = seen.start(99, Duration::from_secs(60));
    let meanwhile = mapped_len();
    assert!(meanwhile >= before + RING_LEN, "{before} then {meanwhile}");
    session.stop();
    session.join();
    let after = mapped_len();
    assert!(after < before + RING_LEN / 2, "{before}, {meanwhile}, then {after}");
}

/// Sessions in turn while threads work, come and go, wait in system calls, and use the allocator and locks.
/// `SAMPLER_ROUNDS` says how many.
#[test]
fn sessions_come_and_go_under_load() {
    let _turn = turn();
    let rounds = std::env::var("SAMPLER_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(30);
    let is_over = Arc::new(AtomicBool::new(false));
    let loads: [fn(); 4] = [
        || drop(black_box(vec![black_box(1_u8); 10_000])),
        || std::thread::spawn(|| black_box(work_for(Duration::from_millis(1)))).join().map(drop).unwrap(),
        || std::thread::sleep(Duration::from_micros(50)),
        || {
            let (mut reader, mut writer) = std::io::pipe().unwrap();
            let thread = std::thread::spawn(move || std::io::Read::read_exact(&mut reader, &mut [0; 3]).unwrap());
            std::io::Write::write_all(&mut writer, b"abc").unwrap();
            thread.join().unwrap();
        },
    ];
    let workers = loads.map(|load| {
        let is_over = is_over.clone();
        std::thread::spawn(move || {
            while !is_over.load(Relaxed) {
                load()
            }
        })
    });
    for round in 0..rounds {
        let seen = Shared::default();
        let session = seen.start(999, Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(round % 40));
        if round % 3 != 0 {
            session.stop();
        }
        drop(session);
        while seen.0.lock().summary.is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Its place is given back after its summary.
        while matches!(
            Shared::default().try_start(99, Duration::from_millis(1)).map(Session::join),
            Err(StartError::Taken)
        ) {
            std::thread::yield_now();
        }
    }
    is_over.store(true, Relaxed);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
