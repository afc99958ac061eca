//! Cuts off the end of a replicated journal that is closed: entries that the group's leader does not have.
//!
//! A file is begun where the journal is to end. When its header is on disk, it replaces what earlier files have from there on, those
//! that begin behind it as a whole; before, it means nothing. So there is nothing in between, whenever the power fails. The next start
//! removes files that no longer mean anything. How far the journal was synced is said to be less before that.

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::ids::JournalPosition;

use super::files::path_of;
use super::format::{CommitHeader, FILE_HEADER_LEN, FileHeader, Layout};
use super::options::OpenError;
use super::payload::PayloadError;
use super::recovery::Recovery;
use super::replay::Sink;
use super::synced::{self, SyncedFile};
use super::tail::Tail;
use super::writer::mix;
use crate::file::{Disk, File, PAGE_LEN};
use crate::reserve::is_full;

/// Makes the journal of `dir` end at a position: where one of its commits does, or at `from`. When it returns, the journal does; when it
/// fails, or the power does, the journal ends there or where it did. No process may have the journal open. `from` and `generation_min` are
/// as for
/// [`Recovery::open`](super::Recovery::open).
pub fn truncate(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    from: JournalPosition,
    generation_min: u64,
    to: JournalPosition,
) -> Result<(), OpenError> {
    let mut recovery = Recovery::open(disk.clone(), dir, from, generation_min)?;
    let mut borders = Borders { to, is_border: false, is_of_group: true };
    let end = recovery.walk(&mut borders)?;
    let refused = |what| Err(OpenError::Missing { dir: dir.to_owned(), position: to, what });
    let Some(last) = recovery.files.last() else {
        return if to == end { Ok(()) } else { refused("the journal was to be cut off there") };
    };
    if to < from || !(borders.is_border || to == end) {
        return refused("the journal was to be cut off there, and no commit ends there");
    }
    if last.header.layout == Layout::Alone && to == end {
        return Ok(());
    }
    if last.header.layout == Layout::Alone || !borders.is_of_group {
        return refused("the journal should be truncated there, but the group's log starts later");
    }
    // All up to there is synced then, as the new file's header says.
    let unproven = recovery.end.iter().flat_map(|end| &end.unproven);
    let tail = Tail::read(Some(last), unproven.filter(|(_, commit)| commit.end() > from && commit.end() <= to))?;
    lower_synced(&**disk, dir, to).map_err(OpenError::io("writing", &synced::path_of(dir)))?;
    begin_file(&recovery, &tail, to).map_err(OpenError::io("cutting off the journal in", dir))
}

/// Sees to it that no more is said to have been synced of the journal in a directory, before the rest is taken away. No process may have
/// the journal open.
pub fn lower_synced(disk: &dyn Disk, journal_dir: &Path, to: JournalPosition) -> io::Result<()> {
    let mut synced = SyncedFile::open(disk, &synced::path_of(journal_dir));
    if synced.position() > to { synced.write(disk, to) } else { Ok(()) }
}

/// Begins the file that replaces all from `to` on, with the tail before that.
fn begin_file(recovery: &Recovery, tail: &Tail, to: JournalPosition) -> io::Result<()> {
    let Recovery { disk, dir, generation_max, number_max, files, .. } = recovery;
    let generation = generation_max + 1;
    let header = FileHeader {
        layout: Layout::Replicated,
        generation,
        // No client knows that of the file before.
        salt: mix(files.last().map_or(0, |last| last.header.salt) ^ generation),
        first: tail.first().map_or(to, |commit| commit.first),
        synced: to,
        file_len: FILE_HEADER_LEN + tail.disk_len().max(PAGE_LEN as u64),
    };
    let file = match create(&**disk, dir, number_max + 1, header.file_len) {
        // What is ready is the journal's own.
        Err(error) if is_full(&error) && !recovery.spares.is_empty() => {
            disk.remove(&recovery.spares[0].path)?;
            disk.sync_dir(dir)?;
            create(&**disk, dir, number_max + 1, header.file_len)?
        }
        created => created?,
    };
    tail.write(file.as_ref(), &header, || disk.sync_dir(dir))?;
    Ok(())
}

fn create(disk: &dyn Disk, dir: &Path, number: u64, len: u64) -> io::Result<Box<dyn File>> {
    let path = path_of(dir, number);
    let file = disk.create(&path)?;
    file.allocate(len).inspect_err(|_| drop(disk.remove(&path)))?;
    Ok(file)
}

/// Looks for a position among commits.
struct Borders {
    to: JournalPosition,
    is_border: bool,
    /// All behind it are the group's.
    is_of_group: bool,
}

impl Sink for Borders {
    fn take(&mut self, _file: &dyn File, _offset: u64, header: &CommitHeader) -> Result<(), PayloadError> {
        self.is_border |= header.first == self.to || header.end() == self.to;
        self.is_of_group &= header.end() <= self.to || header.layout() == Layout::Replicated;
        Ok(())
    }
}
