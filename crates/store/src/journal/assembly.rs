//! From a journal as it was found to one that is written.

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use model::ids::JournalPosition;

use super::commit::padding;
use super::filer::{self, FilePreallocator, Filing};
use super::files::{ClosedFile, Files, PreparedFile};
use super::format::{CommitHeader, FILE_HEADER_LEN};
use super::handle::Journal;
use super::marks::Marks;
use super::options::{ConfirmAfter, OnEvent, OpenError, Options};
use super::recovery::{ChainEnd, FoundFile, Recovery};
use super::replication::Replication;
use super::shared::{Owner, Shared};
use super::synced::{self, SyncedFile};
use super::writer::{CurrentFile, Writer, file_header};
use crate::file::{File, PAGE_LEN, read_exact_at, write_all_at, write_all_vectored_at};
use crate::reserve::is_full;

/// The pages of a file's header and of its first commit's.
const SCRUBBED_LEN: usize = FILE_HEADER_LEN as usize + PAGE_LEN;

/// Goes on where a replayed journal ends. The caller runs [`Writer::commit_once`] and [`FilePreallocator::file_once`] itself. With a
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
    let tail = read_tail(found.last(), &end)?;
    let last = found.last().map(|last| last.path.clone());
    close_all(&mut files, found, &end);
    let synced_file = SyncedFile::open(&*disk, &synced::path_of(&dir));
    let marks = match replication {
        Some(_) => Marks::new(end.position, committed.unwrap_or(end.position), true),
        None => Marks::new(end.position, JournalPosition::MAX, options.confirm_after == ConfirmAfter::Write),
    };
    let owner = Owner { on_event, replication };
    let shared = Arc::new(Shared::new(options, disk, dir.clone(), marks, files, synced_file, owner));
    shared.retire(from);
    let mut filer = FilePreallocator::new(shared.clone());
    if !tail.is_empty() {
        // Retired files first: on a full disk they are the only ones.
        while filer.file_once() == Filing::Done {}
    }
    let current = match (write_tail(&shared, &end, &tail), last) {
        (Err(error), Some(path)) if is_full(&error) => {
            sync_tail(&shared, &path, &end).map_err(OpenError::io("syncing", &path))?;
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
    shared.synced_record.renew(&shared);
    Ok((Journal::new(shared.clone()), Writer::new(shared, current), filer))
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
            // Another file begins only where all before it was synced, or a commit says so. A file from which nothing
            // is known to be synced may be there only in the page cache.
            is_anchored: next > file.header.first,
            is_trusted: true,
            header: file.header,
        });
    }
}

/// The commits that nothing says were synced. They were read, but perhaps only from the page cache of a kernel that has
/// failed to write them; so they are not durable before they are written again.
fn read_tail(last: Option<&FoundFile>, end: &ChainEnd) -> Result<Vec<(CommitHeader, Vec<u8>)>, OpenError> {
    let Some(last) = last else { return Ok(Vec::new()) };
    let read = |(offset, header): &(u64, CommitHeader)| {
        read_payload(last.file.as_ref(), *offset, header).map_err(OpenError::io("reading", &last.path))
    };
    end.unproven.iter().map(|commit| Ok((commit.1, read(commit)?))).collect()
}

fn read_payload(file: &dyn File, offset: u64, header: &CommitHeader) -> io::Result<Vec<u8>> {
    let mut payload = vec![0; header.payload_len() as usize];
    read_exact_at(file, &mut payload, offset + header.len())?;
    Ok(payload)
}

/// Writes the tail to a file of its own. Only when all of it is synced the file gets its header, and counts.
fn write_tail(shared: &Shared, end: &ChainEnd, tail: &[(CommitHeader, Vec<u8>)]) -> io::Result<Option<CurrentFile>> {
    let Some((first, _)) = tail.first() else { return Ok(None) };
    let prepared = filer::take_or_create(shared, tail.iter().map(|(header, _)| header.disk_len()).sum())?;
    let layout = first.layout();
    let header = file_header(shared, layout, prepared.len, first.first, end.position);
    let file = prepared.file;
    let mut offset = FILE_HEADER_LEN;
    for (commit, payload) in tail {
        let commit = CommitHeader { generation: header.generation, salt: header.salt, synced: header.first, ..*commit };
        let commit_header = commit.encode();
        let mut slices = [IoSlice::new(&commit_header), IoSlice::new(payload), padding(layout, commit.payload_len())];
        write_all_vectored_at(file.as_ref(), &mut slices, offset)?;
        offset += commit.disk_len();
    }
    file.fdatasync()?;
    write_all_at(file.as_ref(), &header.encode(), 0)?;
    file.fdatasync()?;
    let last = tail.last().and_then(|(commit, _)| commit.id());
    Ok(Some(CurrentFile { path: prepared.path, file, header, offset, is_anchored: true, last }))
}

/// When a full disk has no other file: at least what was found is synced where it is. It is not written again there, for the power may
/// go, and what was on disk already must not be torn. Nothing goes behind it: the next commit goes to another file all the same.
fn sync_tail(shared: &Shared, path: &Path, end: &ChainEnd) -> io::Result<()> {
    tracing::warn!(path = %path.display(), "disk is full, the journal's tail stays in its file");
    shared.disk.open(path)?.fdatasync()?;
    shared.files.lock().prove_last(end.position);
    Ok(())
}
