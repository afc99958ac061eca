//! The directory in which the journal's files lie, and the disk that has it.

use std::io;
use std::path::{Display, Path, PathBuf};
use std::sync::Arc;

use crate::file::{Disk, File};

/// A directory and its disk.
pub(crate) struct JournalDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
}

impl JournalDir {
    pub(crate) fn new(disk: Arc<dyn Disk>, path: PathBuf) -> JournalDir {
        JournalDir { disk, path }
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// For messages.
    pub(crate) fn display(&self) -> Display<'_> {
        self.path.display()
    }

    pub(crate) fn free_space(&self) -> io::Result<u64> {
        self.disk.free_space(&self.path)
    }

    pub(crate) fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        self.disk.create(path)
    }

    /// Removes a file. Its name may come back with a power cut, before [`JournalDir::sync`].
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    /// Has the files' names last as they are now.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.disk.sync_dir(&self.path)
    }
}
