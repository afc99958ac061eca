//! Copies one file, piece by piece.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::{BackupError, attempting};
use crate::file::{File, read_exact_at, write_all_at};

/// A copy is synced after so many bytes, so that the journal's syncs never queue behind more.
const SYNC_LEN: u64 = 4 << 20;

pub(super) struct Copy {
    from: Arc<dyn File>,
    to: Box<dyn File>,
    /// Of the two.
    paths: (PathBuf, PathBuf),
    /// How much of it is copied.
    used_len: u64,
    /// How long the copy becomes: zeros follow.
    len: u64,
    done: u64,
    synced: u64,
}

impl Copy {
    pub(super) fn new(
        from: Arc<dyn File>,
        to: Box<dyn File>,
        paths: (PathBuf, PathBuf),
        used_len: u64,
        len: u64,
    ) -> Self {
        Copy { from, to, paths, used_len, len: len.max(used_len), done: 0, synced: 0 }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn rest_len(&self) -> u64 {
        self.len - self.done
    }

    /// Writes a piece, or syncs the last ones. 0: all of it is on disk.
    pub(super) fn step(&mut self, piece: &mut [u8]) -> Result<u64, BackupError> {
        let (from, to) = &self.paths;
        let mut piece_len = 0;
        if self.done < self.used_len {
            piece_len = (self.used_len - self.done).min(piece.len() as u64);
            let piece = &mut piece[..piece_len as usize];
            read_exact_at(self.from.as_ref(), piece, self.done).map_err(attempting("reading", from))?;
            write_all_at(self.to.as_ref(), piece, self.done).map_err(attempting("writing", to))?;
        } else if self.done < self.len {
            piece_len = (self.len - self.done).min(SYNC_LEN);
            self.to.allocate(self.done + piece_len).map_err(attempting("writing", to))?;
        }
        self.done += piece_len;
        if self.synced < self.done && (self.done - self.synced >= SYNC_LEN || self.done == self.len) {
            self.to.fdatasync().map_err(attempting("syncing", to))?;
            self.synced = self.done;
        }
        Ok(piece_len)
    }
}
