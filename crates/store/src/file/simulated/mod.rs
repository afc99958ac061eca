//! A disk in memory that behaves as badly as real ones may: for tests. One seed, one behaviour.
//!
//! It keeps what a program sees (the page cache) apart from what would survive a power cut. A cut keeps what was
//! synced; of the rest each 4 KiB page survives in any version it had since, or torn in the middle, each name in a
//! directory or not, each in any order.
//!
//! Operations that change something or sync are counted, so that a test can cut the power at each of them in turn.

mod directory;
mod disk;
mod handles;
mod inode;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
#[cfg(test)]
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

use self::handles::SimFile;
use self::state::State;
use super::operations::File;
use crate::Random;

/// What goes wrong, and how often. Nothing by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Of one hundred writes, how many write only a part.
    pub short_write_percent: u64,
    /// Of one hundred writes and reads, how many are interrupted by a signal.
    pub interrupt_percent: u64,
    /// Of one hundred writes, how many fail, having written any part.
    pub write_failure_percent: u64,
    /// Of one hundred `fdatasync`s, how many fail.
    pub sync_failure_percent: u64,
    /// How many bytes all files together may have.
    pub capacity: Option<u64>,
    /// Whether directories can no longer be changed, as on a disk that has become read-only.
    pub is_read_only: bool,
}

/// The disk; a handle, clones are the same disk.
#[derive(Debug, Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    /// A sync reads this first.
    hanging: Arc<RwLock<()>>,
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new(seed: u64) -> SimDisk {
        let state = State {
            random: Random::new(seed),
            faults: Faults::default(),
            operation_count: 0,
            cut_at: None,
            is_cut: false,
            epoch: 0,
            sync_failures: VecDeque::new(),
            inodes: Vec::new(),
            dirs: BTreeMap::new(),
            unsynced_dirs: Vec::new(),
            mounts: BTreeSet::new(),
            locks: BTreeSet::new(),
        };
        SimDisk { state: Arc::new(Mutex::new(state)), hanging: Arc::default() }
    }

    /// Another disk that is as this one is now.
    #[must_use]
    pub fn fork(&self) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(self.state.lock().clone())), hanging: Arc::default() }
    }

    /// Until this is dropped no file is synced: a caller that syncs waits.
    pub fn hang(&self) -> RwLockWriteGuard<'_, ()> {
        self.hanging.write()
    }

    /// How many operations have changed or synced something so far.
    #[must_use]
    pub fn operation_count(&self) -> u64 {
        self.state.lock().operation_count
    }

    /// Cuts the power in the middle of the operation with this number (counted from 0). It and all later ones fail.
    pub fn cut_power_at(&self, operation: u64) {
        self.state.lock().cut_at = Some(operation);
    }

    /// Cuts the power now.
    pub fn cut_power(&self) {
        self.state.lock().is_cut = true;
    }

    /// Whether the power is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.state.lock().is_cut
    }

    /// Ends the process that uses the disk, with what survives a power cut, and gives power back. Handles from before are dead.
    pub fn restart(&self) {
        let state = &mut *self.state.lock();
        let coin = state.random.next();
        state.rename_survivors();
        for dir in state.dirs.values_mut() {
            dir.survive(coin);
        }
        for inode in &mut state.inodes {
            inode.survive(&mut state.random);
        }
        state.count_links();
        state.end_process();
    }

    /// Ends the process that uses the disk, not the disk: all it wrote is still in the page cache.
    pub fn kill_process(&self) {
        self.state.lock().end_process();
    }

    /// The faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state.lock().faults = faults;
    }

    /// The next so many `fdatasync`s fail. The kernel then may have written any of the dirty pages, and forgets that the
    /// others are dirty or not.
    pub fn fail_syncs(&self, count: u32) {
        self.state.lock().sync_failures = (0..count).map(|_| true).collect();
    }

    /// Whether each of the next `fdatasync`s fails.
    #[cfg(test)]
    pub(crate) fn fail_sync_pattern(&self, failures: &[bool]) {
        self.state.lock().sync_failures = failures.iter().copied().collect();
    }

    /// Flips one bit of a file, on the disk and in the page cache.
    ///
    /// # Panics
    /// If there is no such file or byte.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) {
        let mut state = self.state.lock();
        let inode = state.find(path).expect("the file to damage exists");
        let inode = &mut state.inodes[inode];
        for image in [&mut inode.cached, &mut inode.durable] {
            if let Some(byte) = image.get_mut(offset as usize) {
                *byte ^= 1 << bit;
            }
        }
    }

    /// Reads that touch these bytes of a file fail.
    ///
    /// # Panics
    /// If there is no such file.
    #[cfg(test)]
    pub(crate) fn fail_reads(&self, path: &Path, range: Range<u64>) {
        let mut state = self.state.lock();
        let inode = state.find(path).expect("the file to damage exists");
        state.inodes[inode].unreadable.push(range);
    }

    /// From now on what is below `dir` is on another file system: no file has names on both.
    #[cfg(test)]
    pub(crate) fn mount(&self, dir: &Path) {
        self.state.lock().mounts.insert(dir.to_owned());
    }

    /// Bytes of all files, those with several names once.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    fn handle(&self, inode: usize, epoch: u64) -> Box<dyn File> {
        Box::new(SimFile { state: self.state.clone(), hanging: self.hanging.clone(), inode, epoch })
    }
}
