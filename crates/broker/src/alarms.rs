//! Memory and disk alarms: when they are on, connections that publish are not read from.
//!
//! RabbitMQ's way: a connection is stopped when it begins to publish while an alarm is on, never before; it is told so once
//! (`connection.blocked`, if it asked for that), and once more when all alarms are over. That publish is the first thing to be looked at
//! then: none goes through meanwhile, but for one whose content was still coming when the alarm began. Consumers go on.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::machine::{free_len, resident_len};
use crate::options::Options;

/// Alarms that are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActiveAlarms {
    /// Memory is short.
    pub is_memory_low: bool,
    /// Disk is short.
    pub is_disk_low: bool,
}

/// Which alarms are on, and when they come on.
#[derive(Debug)]
pub(crate) struct Alarms {
    is_on: AtomicBool,
    memory: AtomicBool,
    disk: AtomicBool,
    memory_limit_len: AtomicU64,
    disk_free_limit_len: AtomicU64,
    /// Held by who looks: of two looks at once, the one with the older limits could be the last to say what it saw.
    looking: Mutex<()>,
}

impl Alarms {
    /// None is on; the limits are the configuration's.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            memory: AtomicBool::new(false),
            disk: AtomicBool::new(false),
            memory_limit_len: AtomicU64::new(options.memory_limit_len),
            disk_free_limit_len: AtomicU64::new(options.disk_free_limit_len),
            looking: Mutex::new(()),
        }
    }

    /// Resident memory above which publishers are blocked, in bytes.
    pub(crate) fn memory_limit_len(&self) -> u64 {
        self.memory_limit_len.load(Ordering::Relaxed)
    }

    /// Free disk below which publishers are blocked, in bytes.
    pub(crate) fn disk_free_limit_len(&self) -> u64 {
        self.disk_free_limit_len.load(Ordering::Relaxed)
    }

    pub(crate) fn set_memory_limit(&self, len: u64) {
        self.memory_limit_len.store(len, Ordering::Relaxed);
    }

    pub(crate) fn set_disk_free_limit(&self, len: u64) {
        self.disk_free_limit_len.store(len, Ordering::Relaxed);
    }

    /// Lets no other look as long as it is held.
    pub(crate) fn begin_look(&self) -> MutexGuard<'_, ()> {
        self.looking.lock()
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// What a blocked client is told.
    pub(crate) fn reason(&self) -> String {
        let memory = self.memory.load(Ordering::Relaxed).then_some("memory");
        let disk = self.disk.load(Ordering::Relaxed).then_some("disk");
        let low: Vec<_> = memory.into_iter().chain(disk).collect();
        format!("low on {}", low.join(" & "))
    }

    /// Which are on.
    pub(crate) fn view(&self) -> ActiveAlarms {
        ActiveAlarms {
            is_memory_low: self.memory.load(Ordering::Relaxed),
            is_disk_low: self.disk.load(Ordering::Relaxed),
        }
    }

    /// Begins or ends an alarm, whatever there is of memory.
    #[cfg(test)]
    pub(crate) fn set_memory(&self, is_low: bool) {
        self.memory.store(is_low, Ordering::Relaxed);
        self.is_on.store(is_low, Ordering::Relaxed);
    }

    /// Looks at memory and disk. True when an alarm has begun or ended.
    pub(crate) fn look(&self, options: &Options, data_dir: &Path, is_reserve_in_use: bool) -> bool {
        if self.memory.load(Ordering::Relaxed) {
            (options.release_memory)();
        }
        let used_len = resident_len().unwrap_or(0);
        let free_len = free_len(data_dir).unwrap_or(u64::MAX);
        let (memory_limit_len, disk_free_limit_len) = (self.memory_limit_len(), self.disk_free_limit_len());
        let is_memory_low = used_len > memory_limit_len;
        let is_disk_low = is_reserve_in_use || free_len < disk_free_limit_len;
        let memory_changed = self.memory.swap(is_memory_low, Ordering::Relaxed) != is_memory_low;
        let disk_changed = self.disk.swap(is_disk_low, Ordering::Relaxed) != is_disk_low;
        self.is_on.store(is_memory_low || is_disk_low, Ordering::Relaxed);
        if memory_changed {
            tracing::warn!(used_len, limit_len = memory_limit_len, is_on = is_memory_low, "memory alarm changed");
        }
        if disk_changed {
            tracing::warn!(
                free_len,
                limit_len = disk_free_limit_len,
                is_on = is_disk_low,
                is_reserve_in_use,
                "disk alarm changed"
            );
        }
        memory_changed || disk_changed
    }
}
