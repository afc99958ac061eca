//! All that a simulated disk knows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use super::Faults;
use super::directory::Dir;
use super::inode::Inode;
use crate::Random;

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) random: Random,
    pub(super) faults: Faults,
    pub(super) operation_count: u64,
    pub(super) cut_at: Option<u64>,
    pub(super) is_cut: bool,
    /// Counts power cuts and killed processes: handles from before are dead.
    pub(super) epoch: u64,
    /// Whether the next `fdatasync`s fail, one after the other.
    pub(super) sync_failures: VecDeque<bool>,
    pub(super) inodes: Vec<Inode>,
    pub(super) dirs: BTreeMap<PathBuf, Dir>,
    /// Directories that have another name since the directory they are in was synced.
    pub(super) unsynced_dirs: Vec<(PathBuf, PathBuf)>,
    /// Where other file systems begin.
    pub(super) mounts: BTreeSet<PathBuf>,
    pub(super) locks: BTreeSet<PathBuf>,
}

impl State {
    pub(super) fn end_process(&mut self) {
        self.epoch += 1;
        self.is_cut = false;
        self.cut_at = None;
        self.sync_failures.clear();
        self.locks.clear();
    }

    pub(super) fn check_power(&self) -> io::Result<()> {
        if self.is_cut { Err(io::Error::other("the power is cut")) } else { Ok(()) }
    }

    pub(super) fn check_changeable(&self) -> io::Result<()> {
        if self.faults.is_read_only { Err(io::ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }

    /// Counts an operation; returns whether the power fails while it runs.
    pub(super) fn operation(&mut self) -> io::Result<bool> {
        self.check_power()?;
        self.is_cut = self.cut_at.is_some_and(|at| self.operation_count >= at);
        self.operation_count += 1;
        Ok(self.is_cut)
    }

    pub(super) fn find(&self, path: &Path) -> io::Result<usize> {
        let (dir, name) = split(path)?;
        let dir = self.dirs.get(dir).ok_or(io::ErrorKind::NotFound)?;
        dir.cached.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn dir(&mut self, dir: &Path) -> io::Result<&mut Dir> {
        self.dirs.get_mut(dir).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// New names of directories last in the order in which they were given, up to any of them.
    pub(super) fn rename_survivors(&mut self) {
        let renamed = std::mem::take(&mut self.unsynced_dirs);
        if renamed.is_empty() {
            return;
        }
        let survivor_count = self.random.below(renamed.len() as u64 + 1) as usize;
        for (from, to) in renamed.into_iter().skip(survivor_count).rev() {
            self.move_dirs(&to, &from);
        }
    }

    /// Moves a directory with all below it.
    pub(super) fn move_dirs(&mut self, from: &Path, to: &Path) {
        let moved: Vec<_> = self.dirs.keys().filter(|dir| dir.starts_with(from)).cloned().collect();
        for path in moved {
            let below = path.strip_prefix(from).expect("it lies below").to_owned();
            let dir = self.dirs.remove(&path).expect("it was found");
            // Joining nothing would add a slash.
            let path = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
            self.dirs.insert(path, dir);
        }
    }

    pub(super) fn count_links(&mut self) {
        self.inodes.iter_mut().for_each(|inode| inode.link_count = 0);
        for inode in self.dirs.values().flat_map(|dir| dir.cached.values()) {
            self.inodes[*inode].link_count += 1;
        }
    }

    /// Where the file system begins that this is on.
    pub(super) fn mount_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.ancestors().find(|dir| self.mounts.contains(*dir))
    }

    pub(super) fn used(&self) -> u64 {
        self.inodes.iter().filter(|inode| inode.link_count > 0).map(|inode| inode.cached.len() as u64).sum()
    }

    /// Makes room for a file to grow to `len`.
    pub(super) fn grow(&mut self, inode: usize, len: usize) -> io::Result<()> {
        let grown = len.saturating_sub(self.inodes[inode].cached.len());
        if grown == 0 {
            return Ok(());
        }
        if self.faults.capacity.is_some_and(|capacity| self.used() + grown as u64 > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inodes[inode].cached.resize(len, 0);
        Ok(())
    }
}

pub(super) fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(io::ErrorKind::InvalidInput)?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

/// The error of an operation during which the power fails.
pub(super) fn cut() -> io::Error {
    io::Error::other("the power went")
}
