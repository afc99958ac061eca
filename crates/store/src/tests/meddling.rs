//! A disk that lets clients do something before and after each of the store's writes: as other threads might.

use std::io::{self, IoSlice};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::file::{Disk, File, Lock, SimDisk};
use crate::simulation::Broker;

type Meddler = Arc<Mutex<Weak<Broker>>>;

pub(super) struct Meddling {
    disk: SimDisk,
    meddler: Meddler,
}

impl Meddling {
    pub(super) fn new(disk: SimDisk) -> Arc<Self> {
        Arc::new(Meddling { disk, meddler: Arc::default() })
    }

    pub(super) fn set_broker(&self, broker: Weak<Broker>) {
        *self.meddler.lock() = broker;
    }

    fn file(&self, path: &Path, file: Box<dyn File>) -> Box<dyn File> {
        // The journal is written while the broker appends, and notices nothing of it.
        if path.starts_with("/data/journal") {
            return file;
        }
        Box::new(MeddlingFile { file, meddler: self.meddler.clone() })
    }
}

impl Deref for Meddling {
    type Target = SimDisk;

    fn deref(&self) -> &SimDisk {
        &self.disk
    }
}

fn meddle(meddler: &Meddler) {
    let broker = meddler.lock().upgrade();
    if let Some(broker) = broker {
        broker.meddle();
    }
}

impl Disk for Meddling {
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(self.file(path, self.disk.open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(self.file(path, self.disk.create(path)?))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.link(from, to)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn is_empty_dir(&self, dir: &Path) -> io::Result<bool> {
        self.disk.is_empty_dir(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.remove_dir(dir)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_dir(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        meddle(&self.meddler);
        self.disk.sync_dir(dir)
    }

    fn free_space(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_space(dir)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.try_lock(path)
    }
}

struct MeddlingFile {
    file: Box<dyn File>,
    meddler: Meddler,
}

impl File for MeddlingFile {
    fn pwritev(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        meddle(&self.meddler);
        self.file.pwritev(slices, offset)
    }

    fn pread_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        meddle(&self.meddler);
        self.file.pread_at(buffer, offset)
    }

    fn fdatasync(&self) -> io::Result<()> {
        meddle(&self.meddler);
        self.file.fdatasync()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(path)
    }
}
