//! The threads of this process, and what a session knows of them.

use std::collections::HashMap;
use std::fs;
use std::io;

use crate::signal::Mark;
use crate::timer::Timer;

/// Threads that have timers. More are not looked at, and counted.
const THREAD_COUNT_MAX: usize = 4096;

/// Timers of all threads that were seen.
pub(crate) struct Threads {
    session: u32,
    period_ns: u64,
    timers: HashMap<i32, Known>,
    /// Numbers are given once: a sample that waits in the ring is not taken for another thread's.
    next: u32,
    /// Threads that could have none.
    pub(crate) without: u64,
}

struct Known {
    _timer: Timer,
    number: u32,
    /// What it was told to be called; None when it has been read twice.
    name: Option<String>,
}

/// A thread that is looked at from now on, or has another name than was told.
pub(crate) struct NamedThread {
    pub(crate) number: u32,
    pub(crate) name: String,
}

impl Threads {
    pub(crate) fn new(session: u32, period_ns: u64) -> Threads {
        Threads { session, period_ns, timers: HashMap::new(), next: 1, without: 0 }
    }

    /// Ends all timers.
    pub(crate) fn clear(&mut self) {
        self.timers.clear();
    }

    /// Starts timers for threads that have come, and ends those of threads that have gone.
    pub(crate) fn refresh(&mut self) -> io::Result<Vec<NamedThread>> {
        let here = numbers()?;
        self.timers.retain(|thread, _| here.contains(thread));
        let mut new = Vec::new();
        for thread in here {
            if let Some(known) = self.timers.get_mut(&thread) {
                // It gives itself its name a moment after its start; until then it has the name of the thread that started it.
                if let Some(told) = known.name.take() {
                    let (number, name) = (known.number, name(thread));
                    new.extend((name != told && !name.is_empty()).then_some(NamedThread { number, name }));
                }
                continue;
            }
            if self.timers.len() >= THREAD_COUNT_MAX {
                self.without += 1;
                continue;
            }
            let is_main = u32::try_from(thread).is_ok_and(|thread| thread == std::process::id());
            let number = if is_main { 0 } else { self.next };
            match Timer::start(thread, self.period_ns, Mark { session: self.session, thread: number }) {
                Ok(timer) => {
                    self.next += u32::from(!is_main);
                    let name = name(thread);
                    self.timers.insert(thread, Known { _timer: timer, number, name: Some(name.clone()) });
                    new.push(NamedThread { number, name });
                }
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
                Err(error) if self.timers.is_empty() => return Err(error),
                Err(_) => self.without += 1,
            }
        }
        Ok(new)
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
