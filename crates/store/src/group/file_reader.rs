//! Files that other members fetch from this one.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::announcement::{FileName, FilePiece};
use super::leases::Leases;
use crate::file::{Disk, read_exact_at};
use crate::paths::Paths;

/// Reads the files that an announcement names. From the first piece of the checkpoint on they stay, as long as pieces are read; but not
/// for ever.
pub struct FileReader {
    disk: Arc<dyn Disk>,
    paths: Paths,
    leases: Arc<Mutex<Leases>>,
}

impl FileReader {
    pub(crate) fn new(disk: Arc<dyn Disk>, paths: Paths, leases: Arc<Mutex<Leases>>) -> FileReader {
        FileReader { disk, paths, leases }
    }

    /// A part of a file, of at most so many bytes. `None`: the file no longer exists; a newer checkpoint does.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn read(&self, name: FileName, offset: u64, len_max: usize) -> io::Result<Option<FilePiece>> {
        self.leases.lock().touch(name, Instant::now());
        let path = match name {
            FileName::Checkpoint(number) => self.paths.checkpoint(number),
            FileName::Segment(id) if id.is_transient() => return Ok(None),
            FileName::Segment(id) => self.paths.segment(id),
        };
        let file = match self.disk.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let file_len = file.len()?;
        let mut bytes = vec![0; file_len.saturating_sub(offset).min(len_max as u64) as usize];
        read_exact_at(&*file, &mut bytes, offset)?;
        Ok(Some(FilePiece { file_len, bytes }))
    }
}
