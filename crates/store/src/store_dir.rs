//! The data directory of an open store: its disk, the lock on it, and where things lie in it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::directory::DataDir;
use crate::file::Disk;
use crate::paths::Paths;

/// A directory that is ours as long as its lock is where other processes look for it.
pub(crate) struct StoreDir {
    disk: Arc<dyn Disk>,
    paths: Paths,
    lock: Arc<DataDir>,
}

impl StoreDir {
    pub(crate) fn new(disk: Arc<dyn Disk>, paths: Paths, lock: Arc<DataDir>) -> StoreDir {
        StoreDir { disk, paths, lock }
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    pub(crate) fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Whether the lock is still where others look for it, and where that is.
    pub(crate) fn is_ours(&self) -> (io::Result<bool>, &Path) {
        (self.lock.is_ours(), self.lock.lock_path())
    }

    /// Removes a file, which may have been removed already.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        match self.disk.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
