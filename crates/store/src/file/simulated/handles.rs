//! Open files and locks, as long as the process lives.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::super::operations::{File, Lock, PAGE_LEN};
use super::state::{State, cut};

pub(super) struct SimFile {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) hanging: Arc<RwLock<()>>,
    pub(super) inode: usize,
    pub(super) epoch: u64,
}

impl SimFile {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        state.check_power()?;
        if state.epoch == self.epoch { Ok(state) } else { Err(io::Error::other("the process has ended")) }
    }
}

impl File for SimFile {
    fn pwritev(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let mut state = self.state()?;
        let is_cut = state.operation()?;
        let faults = state.faults;
        if !is_cut && state.random.percent(faults.interrupt_percent) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut bytes = Vec::with_capacity(slices.iter().map(|slice| slice.len()).sum());
        slices.iter().for_each(|slice| bytes.extend_from_slice(slice));
        let is_failed = state.random.percent(faults.write_failure_percent);
        if !bytes.is_empty() && (is_failed || state.random.percent(faults.short_write_percent)) {
            let len = 1 + state.random.below(bytes.len() as u64) as usize;
            bytes.truncate(len);
        }
        state.grow(self.inode, offset as usize + bytes.len())?;
        state.inodes[self.inode].write(&bytes, offset as usize);
        match (is_cut, is_failed) {
            (true, _) => Err(cut()),
            (_, true) => Err(io::Error::other("the disk failed to write")),
            _ => Ok(bytes.len()),
        }
    }

    fn pread_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state()?;
        let percent = state.faults.interrupt_percent;
        if state.random.percent(percent) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let inode = &state.inodes[self.inode];
        let end = (inode.cached.len() as u64).min(offset + buffer.len() as u64);
        if inode.unreadable.iter().any(|bad| bad.start < end && offset < bad.end) {
            return Err(io::Error::other("the disk failed to read"));
        }
        let found = inode.cached.get(offset as usize..end as usize).unwrap_or_default();
        buffer[..found.len()].copy_from_slice(found);
        Ok(found.len())
    }

    fn fdatasync(&self) -> io::Result<()> {
        drop(self.hanging.read());
        let state = &mut *self.state()?;
        if state.operation()? {
            return Err(cut());
        }
        let is_failed = state.sync_failures.pop_front().unwrap_or(false);
        if is_failed || state.random.percent(state.faults.sync_failure_percent) {
            state.inodes[self.inode].fail_sync(&mut state.random);
            return Err(io::Error::other("the disk failed to sync"));
        }
        state.inodes[self.inode].sync();
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut state = self.state()?;
        let is_cut = state.operation()?;
        let start = state.inodes[self.inode].cached.len();
        state.grow(self.inode, len as usize)?;
        state.inodes[self.inode].write(&vec![0; (len as usize).saturating_sub(start)], start);
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state()?.inodes[self.inode].cached.len() as u64)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.state()?;
        let is_cut = state.operation()?;
        state.grow(self.inode, len as usize)?;
        let inode = &mut state.inodes[self.inode];
        inode.cached.truncate(len as usize);
        inode.dirty.retain(|page, _| page * PAGE_LEN < len as usize);
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        Ok(self.state()?.find(path).is_ok_and(|inode| inode == self.inode))
    }
}

pub(super) struct SimLock {
    pub(super) state: Arc<Mutex<State>>,
    pub(super) path: PathBuf,
    pub(super) inode: usize,
    pub(super) epoch: u64,
}

impl Lock for SimLock {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let state = self.state.lock();
        state.check_power()?;
        Ok(state.find(path).is_ok_and(|inode| inode == self.inode))
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        if state.epoch == self.epoch {
            state.locks.remove(&self.path);
        }
    }
}
