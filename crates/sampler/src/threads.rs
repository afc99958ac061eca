//! The threads of this process, and what a session knows of them.

use std::collections::HashMap;
use std::fs;
use std::io;

use crate::event::Event;
use crate::timer::Timer;

/// Threads that have clocks. More are not looked at, and counted.
const THREAD_COUNT_MAX: usize = 4096;

/// Clocks of all threads that were seen.
pub(crate) struct Threads {
    session: u32,
    period_ns: u64,
    known: HashMap<i32, Known>,
    /// Threads that could have none.
    pub(crate) without: u64,
    /// Threads that have timers, as they could have no events.
    pub(crate) coarse: u64,
}

/// What has a thread looked at.
enum Clock {
    Event(#[expect(dead_code, reason = "it is kept")] Event),
    Timer(#[expect(dead_code, reason = "it is kept")] Timer),
}

struct Known {
    _clock: Clock,
    /// The name that the viewer got; None when it has been read twice.
    name: Option<String>,
}

/// A thread that is looked at from now on, or has another name than the viewer knows.
pub(crate) struct NamedThread {
    /// As the kernel has it.
    pub(crate) number: u32,
    pub(crate) name: String,
}

impl Threads {
    pub(crate) fn new(session: u32, period_ns: u64) -> Threads {
        Threads { session, period_ns, known: HashMap::new(), without: 0, coarse: 0 }
    }

    /// Ends all clocks.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }

    /// Starts clocks for threads that have come, and ends those of threads that have ended.
    pub(crate) fn refresh(&mut self) -> io::Result<Vec<NamedThread>> {
        let here = numbers()?;
        self.known.retain(|thread, _| here.contains(thread));
        let mut new = Vec::new();
        for thread in here {
            if let Some(known) = self.known.get_mut(&thread) {
                // It gives itself its name a moment after its start; until then it has the name of the thread that started it.
                if let Some(reported) = known.name.take() {
                    let name = name(thread);
                    new.extend((name != reported && !name.is_empty()).then(|| NamedThread::new(thread, name)));
                }
                continue;
            }
            if self.known.len() >= THREAD_COUNT_MAX {
                self.without += 1;
                continue;
            }
            match self.start(thread) {
                Ok(clock) => {
                    self.coarse += u64::from(matches!(clock, Clock::Timer(_)));
                    let name = name(thread);
                    self.known.insert(thread, Known { _clock: clock, name: Some(name.clone()) });
                    new.push(NamedThread::new(thread, name));
                }
                // It has ended meanwhile.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ESRCH)) => {}
                Err(error) if self.known.is_empty() => return Err(error),
                Err(_) => self.without += 1,
            }
        }
        Ok(new)
    }

    /// An event, or a timer where none may be had.
    fn start(&self, thread: i32) -> io::Result<Clock> {
        if let Ok(event) = Event::start(thread, self.period_ns) {
            return Ok(Clock::Event(event));
        }
        Timer::start(thread, self.period_ns, self.session).map(Clock::Timer)
    }
}

impl NamedThread {
    fn new(thread: i32, name: String) -> NamedThread {
        NamedThread { number: thread.cast_unsigned(), name }
    }
}

fn numbers() -> io::Result<Vec<i32>> {
    let entries = fs::read_dir("/proc/self/task")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn name(thread: i32) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}
