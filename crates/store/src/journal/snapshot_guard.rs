//! The journal as it is at one moment, for a backup that copies it: up to where it is synced, in files that are left alone meanwhile.
//!
//! Writing and retiring continue: only what is retired is not used again before this is dropped, so new files are
//! made instead. What was synced is never written again, so it can be read while the file it is in is being written.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::ids::JournalPosition;

use super::format::{FILE_HEADER_LEN, FileHeader, FileState};
use super::recovery::commit_header_at;
use super::shared::Shared;
use crate::file::{File, PAGE_LEN, read_exact_at};

/// Files that are not used again before this is dropped.
pub(crate) struct SnapshotGuard {
    shared: Arc<Shared>,
    /// Up to here the journal was synced.
    pub(crate) end: JournalPosition,
    /// What has it, in order.
    pub(crate) files: Vec<SnapshotFile>,
}

/// A file with journal that is not used again meanwhile.
pub(crate) struct SnapshotFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) len: u64,
    /// How much of it has been written, or if it ends the journal, to which position it is read.
    extent: Extent,
}

enum Extent {
    Offset(u64),
    Position(JournalPosition),
}

impl SnapshotGuard {
    /// No other snapshot may exist, and nothing may be retired just now.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let mut files = shared.files.lock();
        let (closed, current) = files.in_use();
        // A file to which others were rewritten is known before what it has counts as synced.
        let end =
            shared.positions.flushed().max(current.map_or(JournalPosition::START, |current| current.header.synced));
        let mut kept: Vec<_> = closed
            .iter()
            .filter(|file| file.header.first < file.end)
            .map(|file| SnapshotFile {
                path: file.path.clone(),
                file: file.file.clone(),
                len: file.len,
                extent: Extent::Offset(file.used_len),
            })
            .collect();
        kept.extend(current.map(|current| SnapshotFile {
            path: current.path.clone(),
            file: current.file.clone(),
            len: current.header.file_len,
            extent: Extent::Offset(0),
        }));
        // The others are read up to where the next one begins, whatever may lie behind.
        if let Some(last) = kept.last_mut() {
            last.extent = Extent::Position(end);
        }
        files.set_snapshot_end(end);
        drop(files);
        SnapshotGuard { shared, end, files: kept }
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.shared.files.lock().set_snapshot_end(JournalPosition::START);
        self.shared.files.wake_preallocator();
    }
}

impl SnapshotFile {
    /// How much of the file is journal, from its start. `None`: what was synced no longer exists.
    pub(crate) fn used_len(&self) -> io::Result<Option<u64>> {
        match self.extent {
            Extent::Offset(offset) => Ok(Some(offset)),
            Extent::Position(end) => self.find(end),
        }
    }

    /// Where the commit ends that ends at this position.
    fn find(&self, end: JournalPosition) -> io::Result<Option<u64>> {
        let mut page = [0; PAGE_LEN];
        read_exact_at(self.file.as_ref(), &mut page, 0)?;
        let FileState::InUse(header) = FileHeader::decode(&page) else { return Ok(None) };
        let (mut position, mut offset) = (header.first, FILE_HEADER_LEN);
        while position < end && offset + PAGE_LEN as u64 <= self.len {
            let commit = commit_header_at(self.file.as_ref(), offset)?
                .filter(|commit| commit.is_of(&header) && commit.first == position);
            let Some(commit) = commit else { return Ok(None) };
            (position, offset) = (commit.end(), offset.saturating_add(commit.disk_len()));
        }
        Ok((position == end && offset <= self.len).then_some(offset))
    }
}
