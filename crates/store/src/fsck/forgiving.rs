//! A disk with sectors that cannot be read, the commonest way in which disks fail: gives zeros instead, and notes where. What was there
//! fails
//! its checksum then, and is treated as any other damage.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::file::{Disk, File, Lock, PAGE_LEN, write_all_at};

/// Offsets of pages that cannot be read, by file.
type Unreadable = Arc<Mutex<BTreeMap<PathBuf, BTreeSet<u64>>>>;

pub(super) struct ForgivingDisk {
    disk: Arc<dyn Disk>,
    unreadable: Unreadable,
}

impl ForgivingDisk {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Arc<Self> {
        Arc::new(ForgivingDisk { disk, unreadable: Unreadable::default() })
    }

    /// The files with pages that could not be read so far, and how many.
    pub(super) fn unreadable(&self) -> Vec<(PathBuf, usize)> {
        self.unreadable.lock().iter().map(|(path, pages)| (path.clone(), pages.len())).collect()
    }

    /// Writes zeros where nothing could be read of a file: the disk puts other sectors in their place. Says of how many pages.
    pub(super) fn fill(&self, path: &Path) -> io::Result<usize> {
        let Some(pages) = self.unreadable.lock().remove(path) else { return Ok(0) };
        let file = self.disk.open(path)?;
        let len = file.len()?;
        for offset in &pages {
            let page_len = (len - offset).min(PAGE_LEN as u64);
            write_all_at(&*file, &[0; PAGE_LEN][..page_len as usize], *offset)?;
        }
        file.fdatasync()?;
        Ok(pages.len())
    }

    fn file(&self, path: &Path, file: Box<dyn File>) -> Box<dyn File> {
        Box::new(ForgivingFile { file, path: path.to_owned(), unreadable: self.unreadable.clone() })
    }
}

impl Disk for ForgivingDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        Ok(self.file(path, self.disk.open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.disk.create(path)
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
        self.disk.sync_dir(dir)
    }

    fn free_space(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_space(dir)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.try_lock(path)
    }
}

struct ForgivingFile {
    file: Box<dyn File>,
    path: PathBuf,
    unreadable: Unreadable,
}

impl ForgivingFile {
    /// Reads at most to the end of the page; zeros if it cannot be read.
    fn read_page(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let page = offset - offset % PAGE_LEN as u64;
        let file_len = self.file.len()?;
        let end = (page + PAGE_LEN as u64).min(file_len).min(offset + buffer.len() as u64);
        let len = end.saturating_sub(offset) as usize;
        match self.file.pread_at(&mut buffer[..len], offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                tracing::warn!(path = %self.path.display(), offset, %error, "unreadable, replaced by zeros");
                self.unreadable.lock().entry(self.path.clone()).or_default().insert(page);
                buffer[..len].fill(0);
                Ok(len)
            }
            read => read,
        }
    }
}

impl File for ForgivingFile {
    fn pwritev(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        self.file.pwritev(slices, offset)
    }

    fn pread_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.file.pread_at(buffer, offset) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => self.read_page(buffer, offset),
            read => read,
        }
    }

    fn fdatasync(&self) -> io::Result<()> {
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
