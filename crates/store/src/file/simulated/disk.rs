//! What a program does with the disk.

use std::io;
use std::path::Path;

use super::super::operations::{Disk, File, Lock};
use super::SimDisk;
use super::handles::SimLock;
use super::inode::Inode;
use super::state::{cut, split};

impl Disk for SimDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let state = self.state.lock();
        state.check_power()?;
        Ok(self.handle(state.find(path)?, state.epoch))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
        state.check_changeable()?;
        let (dir, name) = split(path)?;
        if state.find(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.inodes.len();
        let number = state.operation_count;
        state.dir(dir)?.change(number, name, Some(inode));
        state.inodes.push(Inode { link_count: 1, ..Inode::default() });
        if is_cut { Err(cut()) } else { Ok(self.handle(inode, state.epoch)) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
        state.check_changeable()?;
        let (dir, name) = split(path)?;
        let inode = state.find(path)?;
        let number = state.operation_count;
        state.dir(dir)?.change(number, name, None);
        state.inodes[inode].link_count -= 1;
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
        state.check_changeable()?;
        let ((from_dir, from_name), (to_dir, to_name)) = (split(from)?, split(to)?);
        let inode = state.find(from)?;
        if let Ok(replaced) = state.find(to) {
            state.inodes[replaced].link_count -= 1;
        }
        let number = state.operation_count;
        state.dir(to_dir)?.change(number, to_name, Some(inode));
        state.dir(from_dir)?.change(number, from_name, None);
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
        if state.mount_of(from) != state.mount_of(to) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let (dir, name) = split(to)?;
        let inode = state.find(from)?;
        if state.find(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let number = state.operation_count;
        state.dir(dir)?.change(number, name, Some(inode));
        state.inodes[inode].link_count += 1;
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn is_empty_dir(&self, dir: &Path) -> io::Result<bool> {
        let mut state = self.state.lock();
        state.check_power()?;
        let has_dirs = state.dirs.keys().any(|other| other != dir && other.starts_with(dir));
        Ok(state.dir(dir)?.cached.is_empty() && !has_dirs)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut state = self.state.lock();
        state.check_power()?;
        Ok(state.dir(dir)?.cached.keys().cloned().collect())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.check_power()?;
        for dir in dir.ancestors() {
            state.dirs.entry(dir.to_owned()).or_default();
        }
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        if !self.is_empty_dir(dir)? {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
        state.dirs.remove(dir);
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
        state.dir(from)?;
        if state.dirs.contains_key(to) || state.find(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.move_dirs(from, to);
        state.unsynced_dirs.push((from.to_owned(), to.to_owned()));
        if is_cut { Err(cut()) } else { Ok(()) }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.operation()? {
            return Err(cut());
        }
        let synced = state.dir(dir)?;
        synced.durable = synced.cached.clone();
        synced.unsynced.clear();
        state.unsynced_dirs.retain(|(_, to)| to.parent() != Some(dir));
        Ok(())
    }

    fn free_space(&self, _dir: &Path) -> io::Result<u64> {
        let state = self.state.lock();
        state.check_power()?;
        Ok(state.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(state.used())))
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        if self.open(path).is_err() {
            self.create(path)?;
        }
        let mut state = self.state.lock();
        if !state.locks.insert(path.to_owned()) {
            return Ok(None);
        }
        let (inode, epoch) = (state.find(path)?, state.epoch);
        Ok(Some(Box::new(SimLock { state: self.state.clone(), path: path.to_owned(), inode, epoch })))
    }
}
