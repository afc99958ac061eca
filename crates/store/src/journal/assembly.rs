//! From a journal as it was found to one that is written.

use std::io;
use std::path::Path;
use std::sync::Arc;

use model::ids::JournalPosition;

use super::files::{ClosedFile, Files, PreparedFile};
use super::format::{CommitHeader, FILE_HEADER_LEN, Layout};
use super::handle::Journal;
use super::journal_dir::JournalDir;
use super::marks::Marks;
use super::options::{ConfirmAfter, OnEvent, OpenError, Options};
use super::preallocator::{self, FilePreallocator, Preallocation};
use super::recovery::{ChainEnd, FoundFile, Recovery};
use super::replication::{Replication, Replicator};
use super::shared::Shared;
use super::synced::{self, SyncedFile};
use super::tail::Tail;
use super::writer::{CurrentFile, Writer, file_header};
use crate::file::{File, PAGE_LEN, read_exact_at, write_all_at};
use crate::reserve::is_full;

/// The pages of a file's header and of its first commit's.
const SCRUBBED_LEN: usize = FILE_HEADER_LEN as usize + PAGE_LEN;

/// Goes on where a replayed journal ends. The caller runs [`Writer::commit_once`] and [`FilePreallocator::prepare_once`] itself. With a
/// replication the journal is one of a group: what it had is committed, unless [`Recovery::set_committed`] has said less.
///
/// # Panics
/// If the recovery has not been replayed.
pub fn assemble(
    recovery: Recovery,
    options: Options,
    on_event: OnEvent,
    replication: Option<Arc<dyn Replication>>,
) -> Result<(Journal, Writer, FilePreallocator), OpenError> {
    options.check();
    remove_void(&recovery)?;
    let Recovery { disk, dir, from, files: found, spares, generation_max, number_max, end, committed, .. } = recovery;
    let end = end.expect("a journal is replayed before it goes on");
    // What a dead process created or removed may not be on disk yet.
    disk.create_dir(&dir).map_err(OpenError::io("creating", &dir))?;
    disk.sync_dir(&dir).map_err(OpenError::io("syncing", &dir))?;
    let mut files = Files::new(&dir, &options, generation_max + 1, number_max + 1);
    for spare in spares {
        if spare.len == options.file_len {
            scrub(spare.file.as_ref()).map_err(OpenError::io("clearing", &spare.path))?;
            files.add_prepared(PreparedFile { path: spare.path, file: spare.file.into(), len: spare.len });
        } else {
            disk.remove(&spare.path).map_err(OpenError::io("removing", &spare.path))?;
        }
    }
    let tail = Tail::read(found.last(), &end.unproven)?;
    let last = found.last().map(|last| last.path.clone());
    close_all(&mut files, found, &end);
    let synced_file = SyncedFile::open(&*disk, &synced::path_of(&dir));
    let marks = match replication {
        Some(_) => Marks::new(end.position, committed.unwrap_or(end.position), true),
        None => Marks::new(end.position, JournalPosition::MAX, options.confirm_after == ConfirmAfter::Write),
    };
    let (replicator, journal_dir) = (Replicator::new(replication), JournalDir::new(disk, dir.clone()));
    let shared = Arc::new(Shared::new(options, journal_dir, marks, files, synced_file, replicator, on_event));
    shared.retire(from);
    let mut preallocator = FilePreallocator::new(shared.clone());
    if tail.first().is_some() {
        // Retired files first: on a full disk they are the only ones.
        while preallocator.prepare_once() == Preallocation::Done {}
    }
    let current = match (write_tail(&shared, &end, &tail), last) {
        (Err(error), Some(path)) if is_full(&error) => {
            sync_tail(&shared, &path, &end, &tail).map_err(OpenError::io("syncing", &path))?;
            None
        }
        (written, _) => written.map_err(OpenError::io("writing the journal's tail again in", &dir))?,
    };
    if let Some(current) = &current {
        shared.grow_unretired(current.offset);
        shared.anchor(current.anchored());
    }
    shared.retire_rewritten();
    // Now all of it is. A new file, whatever the one before has been through.
    shared.synced_record.renew(&shared.dir, &shared.positions);
    Ok((Journal::new(shared.clone()), Writer::new(shared, current), preallocator))
}

/// Removes files that no longer mean anything: nothing else lets go of them. They are not used again, for behind a torn header what they
/// have would seem to be needed.
fn remove_void(recovery: &Recovery) -> Result<(), OpenError> {
    let Recovery { disk, dir, files, void, .. } = recovery;
    if void.is_empty() {
        return Ok(());
    }
    // What says that they are void may be in the page cache only. The same bytes again: nothing can be torn.
    if let Some(last) = files.last() {
        write_all_at(last.file.as_ref(), &last.header.encode(), 0)
            .and_then(|()| last.file.fdatasync())
            .map_err(OpenError::io("writing", &last.path))?;
    }
    for file in void {
        tracing::info!(path = %file.path.display(), "removing an obsolete journal file");
        disk.remove(&file.path).map_err(OpenError::io("removing", &file.path))?;
    }
    disk.sync_dir(dir).map_err(OpenError::io("syncing", dir))
}

/// Takes away a commit that was written and never got its header, or lost it. When the header of the file's next use is
/// damaged, its first commit is asked what it said: that must not be one of a use that never was.
fn scrub(file: &dyn File) -> io::Result<()> {
    let mut start = [0; SCRUBBED_LEN];
    // What cannot be read is written over as well.
    if read_exact_at(file, &mut start, 0).is_ok() && start == [0; SCRUBBED_LEN] {
        return Ok(());
    }
    write_all_at(file, &[0; SCRUBBED_LEN], 0)?;
    file.fdatasync()
}

/// No file that was found is written again: behind the end of the last one something torn may lie that a later commit
/// of the same generation could seem to continue.
fn close_all(files: &mut Files, found: Vec<FoundFile>, end: &ChainEnd) {
    let mut nexts: Vec<_> = found.iter().skip(1).map(|file| file.header.first).collect();
    nexts.push(end.proven.max(found.last().map_or(end.proven, |last| last.header.first)));
    for (file, next) in found.into_iter().zip(nexts) {
        files.close(ClosedFile {
            path: file.path,
            file: file.file.into(),
            len: file.len,
            used_len: file.used_len,
            last: file.last,
            end: next,
            // Another file begins only where all before it was synced, or a commit shows it. A file from which nothing
            // is known to be synced may be there only in the page cache.
            is_anchored: next > file.header.first,
            // One of a replicated journal may have been cut off: what it has behind its end is not to be found in a later use.
            is_trusted: file.header.layout == Layout::Alone,
            header: file.header,
        });
    }
}

/// Writes the tail to a file of its own.
fn write_tail(shared: &Shared, end: &ChainEnd, tail: &Tail) -> io::Result<Option<CurrentFile>> {
    let (Some(first), Some(last)) = (tail.first(), tail.last()) else { return Ok(None) };
    let PreparedFile { path, file, len } = preallocator::take_or_create(shared, tail.disk_len())?;
    let header = file_header(shared, first.layout(), len, first.first, end.position);
    let offset = tail.write(file.as_ref(), &header, || Ok(()))?;
    Ok(Some(CurrentFile { path, file, header, offset, is_anchored: true, last: last.id() }))
}

/// When a full disk has no other file: at least what was found is synced where it is. It is not written again there, for the power may
/// fail, and what was on disk already must not be torn. Nothing is written behind it: the next commit is written to another file.
fn sync_tail(shared: &Shared, path: &Path, end: &ChainEnd, tail: &Tail) -> io::Result<()> {
    tracing::warn!(path = %path.display(), "disk full, the journal's tail stays in its file");
    shared.dir.disk().open(path)?.fdatasync()?;
    shared.files.lock().prove_last(end.position, tail.last().and_then(CommitHeader::id));
    Ok(())
}
