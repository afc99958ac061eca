//! What a thread works on: said by the code that does it, read when the thread is looked at.

use std::cell::Cell;
use std::marker::PhantomData;

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Work {
    /// Nothing that was said.
    Other,
    /// Sockets, TLS, frames, methods and routes of clients.
    Connection,
    /// Bringing batches to queues: what was published, and what was settled.
    Queueing,
    /// Handing messages to consumers.
    Delivering,
    /// Time limits, dead letters, delayed messages, alarms.
    Timers,
    /// Requests of the HTTP API.
    Management,
    /// Metrics, alerts and statistics for others.
    Observing,
    /// Writing and syncing the journal.
    Journal,
    /// Reading messages back from disk.
    Reading,
    /// Reclaiming room: copying what is alive, removing files, checkpoints.
    Compaction,
    /// Other nodes of the cluster.
    Cluster,
    /// The sampler's own thread.
    Profiling,
}

impl Work {
    const ALL: [Work; 12] = [
        Work::Other,
        Work::Connection,
        Work::Queueing,
        Work::Delivering,
        Work::Timers,
        Work::Management,
        Work::Observing,
        Work::Journal,
        Work::Reading,
        Work::Compaction,
        Work::Cluster,
        Work::Profiling,
    ];

    /// Its name, in one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Work::Other => "other",
            Work::Connection => "connection",
            Work::Queueing => "queueing",
            Work::Delivering => "delivering",
            Work::Timers => "timers",
            Work::Management => "management",
            Work::Observing => "observing",
            Work::Journal => "journal",
            Work::Reading => "reading",
            Work::Compaction => "compaction",
            Work::Cluster => "cluster",
            Work::Profiling => "profiling",
        }
    }

    pub(crate) fn of_number(number: u8) -> Work {
        Work::ALL.get(usize::from(number)).copied().unwrap_or(Work::Other)
    }
}

thread_local! {
    // Const and without a destructor: an access is one instruction, and allowed in a signal handler.
    static CURRENT: Cell<u8> = const { Cell::new(0) };
}

/// As long as it lives, the thread works on something. What it worked on before is what it works on after.
#[derive(Debug)]
pub struct Working {
    before: u8,
    /// It is about this thread.
    _thread: PhantomData<*const ()>,
}

/// Says what the thread works on until the value is dropped.
#[must_use]
#[inline]
pub fn working_on(work: Work) -> Working {
    Working { before: CURRENT.replace(work as u8), _thread: PhantomData }
}

/// Says what the thread works on whenever it says nothing else.
pub fn does(work: Work) {
    CURRENT.set(work as u8);
}

impl Drop for Working {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// What this thread works on.
#[inline]
pub(crate) fn current() -> u8 {
    CURRENT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_within_work_gives_way_to_it() {
        does(Work::Connection);
        {
            let _outer = working_on(Work::Queueing);
            assert_eq!(Work::of_number(current()), Work::Queueing);
            let inner = working_on(Work::Delivering);
            assert_eq!(Work::of_number(current()), Work::Delivering);
            drop(inner);
            assert_eq!(Work::of_number(current()), Work::Queueing);
        }
        assert_eq!(Work::of_number(current()), Work::Connection);
    }

    #[test]
    fn each_kind_is_read_as_it_was_said() {
        for work in Work::ALL {
            assert_eq!(Work::of_number(work as u8), work);
        }
        assert_eq!(Work::of_number(200), Work::Other);
    }
}
