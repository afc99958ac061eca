//! Memory and disk alarms: when they are on, connections that publish are not read from.
//!
//! RabbitMQ's way: a connection is stopped when it begins to publish while an alarm is on, never before; the client is notified once
//! (`connection.blocked`, if it asked for that), and once more when all alarms are over. That publish is then the first thing to be looked
//! at: none passes meanwhile, but for one whose content was still coming when the alarm began. Consumers go on.

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

/// Alarms of another node of the cluster: they stop publishers on all nodes, as in RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAlarms {
    /// Which node.
    pub node: String,
    /// What it is short of.
    pub alarms: ActiveAlarms,
}

impl ActiveAlarms {
    /// Whether any is on.
    #[must_use]
    pub fn is_any_on(self) -> bool {
        self.is_memory_low || self.is_disk_low
    }

    /// What is short.
    fn names(self) -> impl Iterator<Item = &'static str> {
        [self.is_memory_low.then_some("memory"), self.is_disk_low.then_some("disk")].into_iter().flatten()
    }
}

/// What a process is short of on which no broker runs.
#[must_use]
pub fn look_at_resources(options: &Options, data_dir: &Path) -> ActiveAlarms {
    ActiveAlarms {
        is_memory_low: resident_len().unwrap_or(0) > options.memory_limit_len,
        is_disk_low: free_len(data_dir).unwrap_or(u64::MAX) < options.disk_free_limit_len,
    }
}

/// Which alarms are on, and when they come on.
#[derive(Debug)]
pub(crate) struct Alarms {
    is_on: AtomicBool,
    /// Of other nodes; those without alarms are not in it.
    peers: Mutex<Vec<PeerAlarms>>,
    memory: AtomicBool,
    disk: AtomicBool,
    memory_limit_len: AtomicU64,
    disk_free_limit_len: AtomicU64,
    /// Held during a look: of two looks at once, the one with the older limits could be the last to say what it saw.
    looking: Mutex<()>,
}

impl Alarms {
    /// None is on; the limits are the configuration's.
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            peers: Mutex::default(),
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

    /// The reason that a blocked client gets.
    pub(crate) fn reason(&self) -> String {
        let own = self.view().names().map(str::to_owned);
        let peers = self.peers.lock();
        let of_peers = peers.iter().flat_map(|peer| peer.alarms.names().map(|name| format!("{name} of {}", peer.node)));
        let low: Vec<_> = own.chain(of_peers).collect();
        format!("low on {}", low.join(" & "))
    }

    /// Other nodes' alarms.
    pub(crate) fn peers(&self) -> Vec<PeerAlarms> {
        self.peers.lock().clone()
    }

    /// From now on these are other nodes' alarms. What there was before, if that is something else.
    pub(crate) fn set_peers(&self, mut peers: Vec<PeerAlarms>) -> Option<Vec<PeerAlarms>> {
        peers.retain(|peer| peer.alarms.is_any_on());
        let before = {
            let mut known = self.peers.lock();
            if *known == peers {
                return None;
            }
            std::mem::replace(&mut *known, peers)
        };
        self.is_on.store(self.is_any_on(), Ordering::Relaxed);
        Some(before)
    }

    fn is_any_on(&self) -> bool {
        self.view().is_any_on() || !self.peers.lock().is_empty()
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
        self.is_on.store(self.is_any_on(), Ordering::Relaxed);
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
        self.is_on.store(self.is_any_on(), Ordering::Relaxed);
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
