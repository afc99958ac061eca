//! What operators change of the broker's process while it runs, and the broker itself knows nothing of.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use model::config::LogLevel;
use net::Gate;

use crate::recent_lines::RecentLines;

/// The process's log.
pub struct LogControl {
    /// Has only what is at least so severe be logged.
    pub set_level: Box<dyn Fn(LogLevel) + Send + Sync>,
    /// What was logged last.
    pub recent: RecentLines,
}

impl fmt::Debug for LogControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogControl").finish_non_exhaustive()
    }
}

/// The process. What is changed here holds until it ends.
pub struct Process {
    memory_len: u64,
    log: LogControl,
    gates: Vec<Gate>,
    is_suspended: AtomicBool,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("memory_len", &self.memory_len).finish_non_exhaustive()
    }
}

impl Process {
    /// A process that has `memory_len` bytes of memory. Clients of AMQP come through the listeners of `gates`.
    #[must_use]
    pub fn new(memory_len: u64, log: LogControl, gates: Vec<Gate>) -> Self {
        Self { memory_len, log, gates, is_suspended: AtomicBool::new(false) }
    }

    /// How much memory there is for it, in bytes.
    pub(crate) fn memory_len(&self) -> u64 {
        self.memory_len
    }

    /// Has only what is at least so severe be logged.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        (self.log.set_level)(level);
    }

    /// What was logged last.
    pub(crate) fn recent_lines(&self) -> &RecentLines {
        &self.log.recent
    }

    /// Whether new connections of AMQP are refused, those over WebSockets too.
    pub(crate) fn is_suspended(&self) -> bool {
        self.is_suspended.load(Ordering::Relaxed)
    }

    /// Refuses new connections of AMQP. Those that are open stay. What one listener cannot, the others do.
    pub(crate) fn suspend_listeners(&self) -> io::Result<()> {
        self.is_suspended.store(true, Ordering::Relaxed);
        self.gates.iter().map(Gate::suspend).fold(Ok(()), Result::and)
    }

    /// Takes new connections again. What one listener cannot, the others do.
    pub(crate) fn resume_listeners(&self) -> io::Result<()> {
        self.is_suspended.store(false, Ordering::Relaxed);
        self.gates.iter().map(Gate::resume).fold(Ok(()), Result::and)
    }
}
