//! Makes a damaged journal one that can be opened, and loses nothing but what is damaged.
//!
//! Where a commit is damaged, commits are written over it that say so, exactly as long in positions and in the file, so
//! that what follows still continues it. Only `fsck` does this, because the operator asked for it.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consensus::LogId;
use crc32c::crc32c;
use model::ids::JournalPosition;

use super::commit::padding;
use super::entry::{CommitKind, EntryHead};
use super::format::{CommitHeader, FILE_HEADER_LEN, FileHeader, FileState, Layout};
use super::options::{FilePlace, OpenError};
use super::record::{LOST_LEN_MIN, lost_batch};
use super::recovery::{EXTENSION, FoundFile, Recovery, commit_header_at};
use crate::chunk::ChunkWriter;
use crate::file::{Disk, File, PAGE_LEN, read_exact_at, write_all_at, write_all_vectored_at};

/// A stretch of the journal that is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Where it began.
    pub place: FilePlace,
    /// The position up to which everything is lost.
    pub end: JournalPosition,
}

/// What a repair of the journal did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repaired {
    /// What is lost.
    pub losses: Vec<Lost>,
    /// Files that were written over: their old contents are no longer in any file.
    pub rewritten: BTreeSet<PathBuf>,
}

/// Repairs the journal of `dir` behind a checkpoint's position. Says what was lost, which each replay from now on will
/// too. An error: it can neither be read nor repaired.
pub fn repair(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    from: JournalPosition,
    generation_min: u64,
    contents: &mut ChunkWriter,
) -> Result<Repaired, OpenError> {
    let mut repaired = Repaired::default();
    loop {
        let mut recovery = match Recovery::open(disk.clone(), dir, from, generation_min) {
            Err(OpenError::Corrupt { place, what }) if place.offset == 0 => {
                let loss = restart(&**disk, dir, from, &place).map_err(OpenError::io("repairing", &place.path))?;
                let Some(loss) = loss else { return Err(OpenError::Corrupt { place, what }) };
                repaired.losses.extend(loss);
                repaired.rewritten.insert(place.path);
                continue;
            }
            opened => opened?,
        };
        let (place, what) = match recovery.replay(contents, &mut |_, _| {}) {
            Err(OpenError::Corrupt { place, what }) => (place, what),
            Err(OpenError::Short { place, .. }) => (place, "the journal ends before it should"),
            result => return result.map(|_| repaired),
        };
        let is_new = repaired.losses.last().is_none_or(|last| last.place.position < place.position);
        let loss =
            if is_new { fill(&recovery, &place).map_err(OpenError::io("repairing", &place.path))? } else { None };
        let Some(loss) = loss else { return Err(OpenError::Corrupt { place, what }) };
        repaired.losses.push(loss);
        repaired.rewritten.insert(place.path);
    }
}

/// Writes a file anew whose header and first commit are damaged, from the first of its commits that is whole: a header, a mark for what is
/// lost before that commit, and all that follows as it is. `None`: it has no such commit; else what was lost, if anything.
fn restart(disk: &dyn Disk, dir: &Path, from: JournalPosition, place: &FilePlace) -> io::Result<Option<Option<Lost>>> {
    let path = &place.path;
    let file = disk.open(path)?;
    let file_len = file.len()?;
    let mut page = [0; PAGE_LEN];
    read_exact_at(&*file, &mut page, 0)?;
    if FileHeader::decode(&page) != FileState::Damaged {
        return Ok(None); // it contradicts another file's
    }
    let found = commits(&*file, file_len)?;
    // Behind the file's commits there may be those of its uses before, with lower generations.
    let Some(generation) = found.iter().map(|(_, header)| header.generation).max() else { return Ok(None) };
    let mut of_use = found.into_iter().filter(|(_, header)| header.generation == generation);
    let Some((start, header)) = of_use.next() else { return Ok(None) };
    let end = of_use.next_back().map(|(offset, header)| offset + header.disk_len());
    let end = end.unwrap_or(start + header.disk_len()).min(file_len);

    let before = end_before(disk, dir, path, generation)?.unwrap_or(from);
    // What is between is lost; if nothing is, the file before has it.
    let layout = header.layout();
    let first = if before.0 + mark_len_min(layout) <= header.first.0 { before } else { header.first };
    let lost_len = header.first.0 - first.0;
    let mark_len = if lost_len == 0 { 0 } else { layout.disk_len(lost_len) };
    let len = (FILE_HEADER_LEN + mark_len + (end - start)).max(file_len);
    let file_header = FileHeader { layout, generation, salt: header.salt, first, synced: first, file_len: len };

    let new_path = path.with_extension("new");
    match disk.remove(&new_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let new = disk.create(&new_path)?;
    new.allocate(len)?;
    write_all_at(&*new, &file_header.encode(), 0)?;
    if lost_len > 0 {
        write_mark(&*new, FILE_HEADER_LEN, &file_header, first, lost_len)?;
    }
    let mut piece = vec![0; PAGE_LEN * 256];
    let (mut at, mut to) = (start, FILE_HEADER_LEN + mark_len);
    while at < end {
        let len = piece.len().min((end - at) as usize);
        read_exact_at(&*file, &mut piece[..len], at)?;
        write_all_at(&*new, &piece[..len], to)?;
        (at, to) = (at + len as u64, to + len as u64);
    }
    new.fdatasync()?;
    disk.rename(&new_path, path)?;
    disk.sync_dir(dir)?;
    let lost_place = FilePlace::new(path, 0, first);
    Ok(Some((first < header.first).then_some(Lost { place: lost_place, end: header.first })))
}

/// All commit headers behind the file's first page, of whatever use.
fn commits(file: &dyn File, len: u64) -> io::Result<Vec<(u64, CommitHeader)>> {
    let mut found = Vec::new();
    let mut offset = FILE_HEADER_LEN;
    while offset + PAGE_LEN as u64 <= len {
        found.extend(commit_header_at(file, offset)?.map(|header| (offset, header)));
        offset += PAGE_LEN as u64;
    }
    Ok(found)
}

/// Where the commits of the file before this generation end.
fn end_before(disk: &dyn Disk, dir: &Path, path: &Path, generation: u64) -> io::Result<Option<JournalPosition>> {
    let mut before: Option<(FileHeader, JournalPosition)> = None;
    for name in disk.list(dir)?.iter().filter(|name| name.ends_with(EXTENSION)) {
        let other = dir.join(name);
        let file = disk.open(&other)?;
        let len = file.len()?;
        if other == path || len < FILE_HEADER_LEN {
            continue;
        }
        let mut page = [0; PAGE_LEN];
        read_exact_at(&*file, &mut page, 0)?;
        let FileState::InUse(header) = FileHeader::decode(&page) else { continue };
        let is_closer = before.is_none_or(|(known, _)| known.generation < header.generation);
        if header.generation < generation && is_closer {
            let of_use = commits(&*file, len)?.into_iter().map(|(_, commit)| commit);
            let of_use = of_use.filter(|commit| commit.is_of(&header));
            before = Some((header, of_use.map(|commit| commit.end()).max().unwrap_or(header.first)));
        }
    }
    Ok(before.map(|(_, end)| end))
}

/// How much at least has to be lost for a commit to say so. A replicated journal has commits that hold nothing and are shorter than any
/// record.
fn mark_len_min(layout: Layout) -> u64 {
    match layout {
        Layout::Alone => LOST_LEN_MIN as u64,
        Layout::Replicated => 1,
    }
}

/// Writes a commit that says that so many bytes are lost.
fn write_mark(
    file: &dyn File,
    offset: u64,
    file_header: &FileHeader,
    first: JournalPosition,
    len: u64,
) -> io::Result<CommitHeader> {
    let (kind, metas) = if len < LOST_LEN_MIN as u64 {
        (CommitKind::Empty, vec![0; len as usize])
    } else {
        (CommitKind::Records, lost_batch(len as usize))
    };
    let layout = file_header.layout;
    let header = CommitHeader {
        payload_crc: crc32c(&metas),
        generation: file_header.generation,
        salt: file_header.salt,
        first,
        synced: file_header.first,
        metas_len: len,
        contents_len: 0,
        // No entry has the index 0: a journal with such a commit is no longer a member's.
        head: (layout == Layout::Replicated).then(|| EntryHead { id: LogId::default(), kind }),
    };
    let encoded = header.encode();
    let mut slices = [IoSlice::new(&encoded), IoSlice::new(&metas), padding(layout, len)];
    write_all_vectored_at(file, &mut slices, offset)?;
    Ok(header)
}

/// Writes over what is damaged. `None`: nothing that follows says how much that is.
fn fill(recovery: &Recovery, place: &FilePlace) -> io::Result<Option<Lost>> {
    let Some(index) = recovery.files.iter().position(|file| file.path == place.path) else { return Ok(None) };
    let file = &recovery.files[index];
    if place.offset < FILE_HEADER_LEN {
        return Ok(None);
    }
    let (end, page_count) = match next_in_file(file, place)? {
        Some((offset, header)) => (header.first, Some((offset - place.offset) / PAGE_LEN as u64)),
        None => match recovery.files.get(index + 1) {
            Some(next) => (next.header.first, None),
            None => (file.header.synced.max(recovery.from).max(recovery.synced), None),
        },
    };
    let len = end.0.saturating_sub(place.position.0);
    let Some(lens) = split(file.header.layout, len, page_count) else { return Ok(None) };
    let mut commit = FilePlace::clone(place);
    for len in lens {
        let header = write_mark(file.file.as_ref(), commit.offset, &file.header, commit.position, len)?;
        (commit.position, commit.offset) = (header.end(), commit.offset + header.disk_len());
    }
    file.file.fdatasync()?;
    Ok(Some(Lost { place: place.clone(), end }))
}

/// The first commit behind the damaged place that is of the same use of the file.
fn next_in_file(file: &FoundFile, place: &FilePlace) -> io::Result<Option<(u64, CommitHeader)>> {
    let mut offset = place.offset + PAGE_LEN as u64;
    while offset + PAGE_LEN as u64 <= file.len {
        let header = commit_header_at(file.file.as_ref(), offset)?
            .filter(|header| header.is_of(&file.header) && header.first > place.position);
        if let Some(header) = header {
            return Ok(Some((offset, header)));
        }
        offset += PAGE_LEN as u64;
    }
    Ok(None)
}

/// The lengths of commits that together have this length and take exactly so many pages, if that matters: short ones of a
/// page each, then one with all the rest. `None`: impossible.
fn split(layout: Layout, len: u64, page_count: Option<u64>) -> Option<Vec<u64>> {
    let short = mark_len_min(layout);
    let pages = |len: u64| layout.disk_len(len) / PAGE_LEN as u64;
    let mut lens = Vec::new();
    let mut rest = len;
    if let Some(page_count) = page_count {
        while rest >= 2 * short && (lens.len() as u64) + pages(rest) < page_count {
            lens.push(short);
            rest -= short;
        }
        if lens.len() as u64 + pages(rest) != page_count {
            return None;
        }
    }
    lens.push(rest);
    (rest >= short).then_some(lens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_split(len: u64, page_count: Option<u64>, expected: Option<&[u64]>) {
        assert_eq!(split(Layout::Alone, len, page_count).as_deref(), expected);
    }

    #[test]
    fn lost_commits_that_held_nothing_can_be_said_too() {
        let check = |len, page_count, expected: Option<&[u64]>| {
            assert_eq!(split(Layout::Replicated, len, page_count).as_deref(), expected);
        };
        check(8, Some(1), Some(&[8]));
        check(16, Some(2), Some(&[1, 15]));
        check(5000, Some(4), Some(&[1, 1, 4998]));
        check(0, None, None);
    }

    #[test]
    fn lost_commits_take_exactly_the_room_there_is() {
        check_split(100, None, Some(&[100]));
        check_split(100, Some(1), Some(&[100]));
        check_split(100, Some(3), Some(&[24, 24, 52]));
        check_split(5000, Some(2), Some(&[5000]));
        check_split(5000, Some(4), Some(&[24, 24, 4952]));
        check_split(4050, Some(3), Some(&[24, 24, 4002])); // the last one comes to need a page less
        check_split(5000, Some(1), None);
        check_split(23, None, None);
        check_split(48, Some(3), None);
    }
}
