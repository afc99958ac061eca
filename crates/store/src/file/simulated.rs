//! A disk in memory that behaves as badly as real ones may: for tests. One seed, one behaviour.
//!
//! It keeps what a program sees (the page cache) apart from what would survive a power cut. A cut keeps what was
//! synced; of the rest each 4 KiB page survives in any version it had since, or torn in the middle, each name in a
//! directory or not, each in any order.
//!
//! Operations that change something or sync are counted, so that a test can cut the power at each of them in turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::{Disk, File, Lock, PAGE_LEN};
use crate::Random;

/// Pages may tear at multiples of this.
const SECTOR_LEN: usize = 512;

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
}

/// The disk; a handle, clones are the same disk.
#[derive(Debug, Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Clone)]
struct State {
    random: Random,
    faults: Faults,
    operation_count: u64,
    cut_at: Option<u64>,
    is_cut: bool,
    /// Counts power cuts and killed processes: handles from before are dead.
    epoch: u64,
    /// Whether the next `fdatasync`s fail, one after the other.
    sync_failures: VecDeque<bool>,
    inodes: Vec<Inode>,
    dirs: BTreeMap<PathBuf, Dir>,
    /// Directories that have another name since the directory they are in was synced.
    unsynced_dirs: Vec<(PathBuf, PathBuf)>,
    /// Where other file systems begin.
    mounts: BTreeSet<PathBuf>,
    locks: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Pages written since the last sync, with each version they had. A page that differs from the durable one and is
    /// not here was dropped by a failed sync: no later sync writes it.
    dirty: BTreeMap<usize, Vec<Vec<u8>>>,
    unreadable: Vec<Range<u64>>,
    /// How many names it has.
    link_count: u32,
}

#[derive(Debug, Clone, Default)]
struct Dir {
    cached: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    unsynced: Vec<Change>,
}

/// A change of a directory. Changes with the same number survive together, unless one was synced alone.
#[derive(Debug, Clone)]
struct Change {
    number: u64,
    name: String,
    /// What the name stands for now; `None`: nothing.
    inode: Option<usize>,
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
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Another disk that is as this one is now.
    #[must_use]
    pub fn fork(&self) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(self.state.lock().clone())) }
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

    /// Ends whoever uses the disk, with what survives a power cut, and gives power back. Handles from before are dead.
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

    /// From now on this goes wrong.
    pub fn set_faults(&self, faults: Faults) {
        self.state.lock().faults = faults;
    }

    /// The next so many `fdatasync`s fail. The kernel then may have written any of the dirty pages, and forgets that the
    /// others are dirty or not.
    pub fn fail_syncs(&self, count: u32) {
        self.state.lock().sync_failures = (0..count).map(|_| true).collect();
    }

    /// Whether each of the next `fdatasync`s fails.
    pub fn fail_sync_pattern(&self, failures: &[bool]) {
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
    pub fn fail_reads(&self, path: &Path, range: Range<u64>) {
        let mut state = self.state.lock();
        let inode = state.find(path).expect("the file to damage exists");
        state.inodes[inode].unreadable.push(range);
    }

    /// From now on what is below `dir` is on another file system: no file has names on both.
    pub fn mount(&self, dir: &Path) {
        self.state.lock().mounts.insert(dir.to_owned());
    }

    /// Bytes of all files, those with several names once.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    fn handle(&self, inode: usize, epoch: u64) -> Box<dyn File> {
        Box::new(SimFile { state: self.state.clone(), inode, epoch })
    }
}

impl State {
    fn end_process(&mut self) {
        self.epoch += 1;
        self.is_cut = false;
        self.cut_at = None;
        self.sync_failures.clear();
        self.locks.clear();
    }

    fn check_power(&self) -> io::Result<()> {
        if self.is_cut { Err(io::Error::other("the power is cut")) } else { Ok(()) }
    }

    /// Counts an operation; says whether the power goes while it runs.
    fn operation(&mut self) -> io::Result<bool> {
        self.check_power()?;
        self.is_cut = self.cut_at.is_some_and(|at| self.operation_count >= at);
        self.operation_count += 1;
        Ok(self.is_cut)
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        let (dir, name) = split(path)?;
        let dir = self.dirs.get(dir).ok_or(io::ErrorKind::NotFound)?;
        dir.cached.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn dir(&mut self, dir: &Path) -> io::Result<&mut Dir> {
        self.dirs.get_mut(dir).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// New names of directories last in the order in which they were given, up to any of them.
    fn rename_survivors(&mut self) {
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
    fn move_dirs(&mut self, from: &Path, to: &Path) {
        let moved: Vec<_> = self.dirs.keys().filter(|dir| dir.starts_with(from)).cloned().collect();
        for path in moved {
            let below = path.strip_prefix(from).expect("it lies below").to_owned();
            let dir = self.dirs.remove(&path).expect("it was found");
            // Joining nothing would add a slash.
            let path = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
            self.dirs.insert(path, dir);
        }
    }

    fn count_links(&mut self) {
        self.inodes.iter_mut().for_each(|inode| inode.link_count = 0);
        for inode in self.dirs.values().flat_map(|dir| dir.cached.values()) {
            self.inodes[*inode].link_count += 1;
        }
    }

    /// Where the file system begins that this is on.
    fn mount_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.ancestors().find(|dir| self.mounts.contains(*dir))
    }

    fn used(&self) -> u64 {
        self.inodes.iter().filter(|inode| inode.link_count > 0).map(|inode| inode.cached.len() as u64).sum()
    }

    /// Makes room for a file to grow to `len`.
    fn grow(&mut self, inode: usize, len: usize) -> io::Result<()> {
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

fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(io::ErrorKind::InvalidInput)?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

impl Dir {
    fn survive(&mut self, coin: u64) {
        for change in std::mem::take(&mut self.unsynced) {
            if Random::new(coin ^ change.number).percent(50) {
                change.apply(&mut self.durable);
            }
        }
        self.cached = self.durable.clone();
    }

    fn change(&mut self, number: u64, name: &str, inode: Option<usize>) {
        let change = Change { number, name: name.to_owned(), inode };
        change.apply(&mut self.cached);
        self.unsynced.push(change);
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self.inode {
            Some(inode) => names.insert(self.name.clone(), inode),
            None => names.remove(&self.name),
        };
    }
}

impl Inode {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        // A sector that is written anew can be read again.
        let end = (offset + bytes.len()) as u64;
        self.unreadable.retain(|bad| bad.start < offset as u64 || end < bad.end);
        self.cached[offset..offset + bytes.len()].copy_from_slice(bytes);
        for page in offset / PAGE_LEN..(offset + bytes.len()).div_ceil(PAGE_LEN) {
            let end = self.cached.len().min((page + 1) * PAGE_LEN);
            let mut version = self.cached[page * PAGE_LEN..end].to_vec();
            version.resize(PAGE_LEN, 0);
            self.dirty.entry(page).or_default().push(version);
        }
    }

    fn persist(&mut self, page: usize, bytes: &[u8]) {
        let start = page * PAGE_LEN;
        let end = self.durable.len().min(start + PAGE_LEN);
        if start < end {
            self.durable[start..end].copy_from_slice(&bytes[..end - start]);
        }
    }

    fn sync(&mut self) {
        self.durable.resize(self.cached.len(), 0);
        for (page, versions) in std::mem::take(&mut self.dirty) {
            self.persist(page, versions.last().expect("a dirty page was written"));
        }
    }

    /// What the kernel may do when writing back fails: pages written, still dirty, or clean though not written.
    fn fail_sync(&mut self, random: &mut Random) {
        let len = self.durable.len().max(self.cached.len());
        self.durable.resize(len, 0);
        for (page, versions) in std::mem::take(&mut self.dirty) {
            match random.below(3) {
                0 => self.persist(page, versions.last().expect("a dirty page was written")),
                1 => drop(self.dirty.insert(page, versions)),
                _ => {}
            }
        }
    }

    fn survive(&mut self, random: &mut Random) {
        if self.cached.len() != self.durable.len() && random.percent(50) {
            self.durable.resize(self.cached.len(), 0);
        }
        for (page, versions) in std::mem::take(&mut self.dirty) {
            let survivor = random.below(versions.len() as u64 + 1) as usize;
            if survivor == 0 {
                continue;
            }
            self.persist(page, &versions[survivor - 1]);
            if let Some(next) = versions.get(survivor).filter(|_| random.percent(25)) {
                self.tear(page, next, random);
            } else if survivor == 1 && random.percent(10) {
                self.tear(page, &[0; PAGE_LEN], random);
            }
        }
        self.cached = self.durable.clone();
    }

    /// Overwrites some sectors of a page.
    fn tear(&mut self, page: usize, other: &[u8], random: &mut Random) {
        let start = page * PAGE_LEN;
        for offset in (0..PAGE_LEN).step_by(SECTOR_LEN).filter(|_| random.percent(50)) {
            let range = start + offset..start + offset + SECTOR_LEN;
            if let Some(sector) = self.durable.get_mut(range) {
                sector.copy_from_slice(&other[offset..offset + SECTOR_LEN]);
            }
        }
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let state = self.state.lock();
        state.check_power()?;
        Ok(self.handle(state.find(path)?, state.epoch))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let mut state = self.state.lock();
        let is_cut = state.operation()?;
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

fn cut() -> io::Error {
    io::Error::other("the power went")
}

struct SimFile {
    state: Arc<Mutex<State>>,
    inode: usize,
    epoch: u64,
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

struct SimLock {
    state: Arc<Mutex<State>>,
    path: PathBuf,
    inode: usize,
    epoch: u64,
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

#[cfg(test)]
mod tests {
    use super::super::{read_exact_at, write_all_at};
    use super::*;

    const DIR: &str = "/data";

    fn check_disk(seed: u64) -> (SimDisk, PathBuf) {
        let disk = SimDisk::new(seed);
        disk.create_dir(Path::new(DIR)).unwrap();
        (disk, Path::new(DIR).join("a"))
    }

    /// What a file of two pages, "old" synced and "new" not, may hold after a cut.
    fn survivors(seed: u64, sync: bool) -> Option<Vec<u8>> {
        let (disk, path) = check_disk(seed);
        let file = disk.create(&path).unwrap();
        write_all_at(file.as_ref(), &[b'o'; 2 * PAGE_LEN], 0).unwrap();
        file.fdatasync().unwrap();
        disk.sync_dir(Path::new(DIR)).unwrap();
        write_all_at(file.as_ref(), &[b'n'; 2 * PAGE_LEN], 0).unwrap();
        if sync {
            file.fdatasync().unwrap();
        }
        disk.cut_power();
        assert!(file.fdatasync().is_err());
        disk.restart();
        assert!(file.len().is_err(), "handles die with the power");
        let file = disk.open(&path).unwrap();
        let mut bytes = vec![0; 2 * PAGE_LEN];
        read_exact_at(file.as_ref(), &mut bytes, 0).unwrap();
        Some(vec![bytes[0], bytes[PAGE_LEN]])
    }

    #[test]
    fn synced_pages_survive_and_others_in_any_combination() {
        let found: BTreeSet<_> = (0..100).filter_map(|seed| survivors(seed, false)).collect();
        for combination in [b"oo", b"on", b"no", b"nn"] {
            assert!(found.contains(&combination[..]), "{combination:?} never seen");
        }
        assert!((0..100).all(|seed| survivors(seed, true).unwrap() == b"nn"));
    }

    #[test]
    fn one_seed_is_one_behaviour() {
        assert!((0..20).all(|seed| survivors(seed, false) == survivors(seed, false)));
    }

    #[test]
    fn a_name_lasts_after_its_directory_is_synced() {
        let is_there = |seed, sync: bool| {
            let (disk, path) = check_disk(seed);
            disk.create(&path).unwrap();
            if sync {
                disk.sync_dir(Path::new(DIR)).unwrap();
            }
            disk.restart();
            !disk.list(Path::new(DIR)).unwrap().is_empty()
        };
        assert!((0..50).all(|seed| is_there(seed, true)));
        let survived = (0..50).filter(|&seed| is_there(seed, false)).count();
        assert!((1..50).contains(&survived));
    }

    #[test]
    fn a_rename_is_seen_whole_or_not_at_all() {
        for seed in 0..50 {
            let (disk, path) = check_disk(seed);
            let to = path.with_file_name("b");
            for (name, byte) in [(&path, b"a"), (&to, b"b")] {
                let file = disk.create(name).unwrap();
                write_all_at(file.as_ref(), byte, 0).unwrap();
                file.fdatasync().unwrap();
            }
            disk.sync_dir(Path::new(DIR)).unwrap();
            disk.rename(&path, &to).unwrap();
            disk.restart();
            let mut byte = [0];
            read_exact_at(disk.open(&to).unwrap().as_ref(), &mut byte, 0).unwrap();
            assert_eq!(disk.open(&path).is_ok(), byte == *b"b");
        }
    }

    #[test]
    fn after_a_failed_sync_the_next_may_succeed_and_still_lose() {
        let lost = (0..50).filter(|&seed| {
            let (disk, path) = check_disk(seed);
            let file = disk.create(&path).unwrap();
            disk.sync_dir(Path::new(DIR)).unwrap();
            write_all_at(file.as_ref(), b"n", 0).unwrap();
            disk.fail_syncs(1);
            assert!(file.fdatasync().is_err());
            file.fdatasync().unwrap();
            disk.restart();
            let mut byte = [0];
            read_exact_at(disk.open(&path).unwrap().as_ref(), &mut byte, 0).unwrap();
            byte != *b"n"
        });
        assert!((5..45).contains(&lost.count()));
    }

    #[test]
    fn a_full_disk_refuses_and_a_removed_file_makes_room() {
        let (disk, path) = check_disk(0);
        disk.set_faults(Faults { capacity: Some(10_000), ..Faults::default() });
        disk.create(&path).unwrap().allocate(9_000).unwrap();
        let other = disk.create(&path.with_file_name("b")).unwrap();
        assert_eq!(other.allocate(9_000).unwrap_err().kind(), io::ErrorKind::StorageFull);
        disk.remove(&path).unwrap();
        other.allocate(9_000).unwrap();
        assert_eq!(disk.free_space(Path::new(DIR)).unwrap(), 1_000);
    }

    #[test]
    fn a_file_has_room_as_long_as_it_has_a_name() {
        let (disk, path) = check_disk(0);
        disk.create(&path).unwrap().allocate(9_000).unwrap();
        let other = path.with_file_name("b");
        disk.link(&path, &other).unwrap();
        assert_eq!(disk.link(&path, &other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        disk.remove(&path).unwrap();
        assert_eq!((disk.used(), disk.open(&other).unwrap().len().unwrap()), (9_000, 9_000));
        disk.remove(&other).unwrap();
        assert_eq!(disk.used(), 0);
    }

    #[test]
    fn no_file_has_names_on_two_file_systems() {
        let (disk, path) = check_disk(0);
        let mount = Path::new("/data/other");
        disk.mount(mount);
        disk.create_dir(mount).unwrap();
        disk.create(&path).unwrap();
        assert_eq!(disk.link(&path, &mount.join("a")).unwrap_err().kind(), io::ErrorKind::CrossesDevices);
    }

    #[test]
    fn a_directory_has_its_old_name_or_its_new_one_and_after_a_sync_the_new_one() {
        let names = |seed, sync: bool| {
            let (disk, _) = check_disk(seed);
            let (from, to) = (Path::new("/data/from"), Path::new("/data/to"));
            disk.create_dir(&from.join("below")).unwrap();
            disk.create_dir(from).unwrap();
            disk.create(&from.join("below/a")).unwrap();
            disk.sync_dir(&from.join("below")).unwrap();
            disk.rename_dir(from, to).unwrap();
            if sync {
                disk.sync_dir(Path::new(DIR)).unwrap();
            }
            disk.restart();
            [from, to].map(|dir| disk.open(&dir.join("below/a")).is_ok())
        };
        assert!((0..50).all(|seed| names(seed, true) == [false, true]));
        let found: BTreeSet<_> = (0..50).map(|seed| names(seed, false)).collect();
        assert_eq!(found, BTreeSet::from([[false, true], [true, false]]));
    }

    #[test]
    fn a_directory_goes_when_nothing_is_in_it() {
        let (disk, path) = check_disk(0);
        disk.create(&path).unwrap();
        assert_eq!(disk.remove_dir(Path::new(DIR)).unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
        disk.remove(&path).unwrap();
        assert!(disk.is_empty_dir(Path::new(DIR)).unwrap());
        disk.remove_dir(Path::new(DIR)).unwrap();
        assert_eq!(disk.list(Path::new(DIR)).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_power_goes_at_the_chosen_operation() {
        let (disk, path) = check_disk(0);
        disk.cut_power_at(2);
        let file = disk.create(&path).unwrap();
        write_all_at(file.as_ref(), b"a", 0).unwrap();
        assert!(file.fdatasync().is_err());
        assert!(disk.is_cut());
    }

    #[test]
    fn a_lock_goes_with_its_process() {
        let (disk, path) = check_disk(0);
        let lock = disk.try_lock(&path).unwrap();
        assert!(lock.is_some() && disk.try_lock(&path).unwrap().is_none());
        disk.kill_process();
        let next = disk.try_lock(&path).unwrap();
        assert!(next.is_some());
        drop(lock);
        assert!(disk.try_lock(&path).unwrap().is_none(), "the dead process releases nothing");
    }
}
