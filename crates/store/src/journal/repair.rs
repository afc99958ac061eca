//! Makes a damaged journal one that can be opened, and loses nothing but what is damaged.
//!
//! Where a commit is damaged, commits are written over it that say so, exactly as long in positions and in the file, so
//! that what follows still continues it. Only `fsck` does this, because somebody asked for it.

use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;

use crc32c::crc32c;
use model::ids::JournalPosition;

use super::commit::padding;
use super::format::{CommitHeader, FILE_HEADER_LEN, disk_len};
use super::options::{FilePlace, OpenError};
use super::record::{LOST_LEN_MIN, lost_batch};
use super::recovery::{FoundFile, Recovery, commit_header_at};
use crate::chunk::ChunkWriter;
use crate::file::{Disk, PAGE_LEN, write_all_vectored_at};

/// A stretch of the journal that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Where it began.
    pub place: FilePlace,
    /// The position up to which everything is gone.
    pub end: JournalPosition,
}

/// Repairs the journal of `dir` behind a checkpoint's position. Says what was lost, which each replay from now on will
/// too. An error: it can neither be read nor repaired.
pub fn repair(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    from: JournalPosition,
    contents: &mut ChunkWriter,
) -> Result<Vec<Lost>, OpenError> {
    let mut losses: Vec<Lost> = Vec::new();
    loop {
        let mut recovery = Recovery::open(disk.clone(), dir, from)?;
        let (place, what) = match recovery.replay(contents, &mut |_, _| {}) {
            Err(OpenError::Corrupt { place, what }) => (place, what),
            result => return result.map(|_| losses),
        };
        let is_new = losses.last().is_none_or(|last| last.place.position < place.position);
        let loss =
            if is_new { fill(&recovery, &place).map_err(OpenError::io("repairing", &place.path))? } else { None };
        losses.push(loss.ok_or(OpenError::Corrupt { place, what })?);
    }
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
            None => (file.header.synced.max(recovery.from), None),
        },
    };
    let len = end.0.saturating_sub(place.position.0);
    let Some(lens) = split(len, page_count) else { return Ok(None) };
    let mut commit = FilePlace::clone(place);
    for len in lens {
        let metas = lost_batch(len as usize);
        let header = CommitHeader {
            payload_crc: crc32c(&metas),
            generation: file.header.generation,
            salt: file.header.salt,
            first: commit.position,
            synced: file.header.first,
            metas_len: len,
            contents_len: 0,
        };
        let encoded = header.encode();
        let mut slices = [IoSlice::new(&encoded), IoSlice::new(&metas), padding(len)];
        write_all_vectored_at(file.file.as_ref(), &mut slices, commit.offset)?;
        (commit.position, commit.offset) = (header.end(), commit.offset + header.disk_len());
    }
    file.file.fdatasync()?;
    Ok(Some(Lost { place: place.clone(), end }))
}

/// The first commit behind the damaged place that is of the same use of the file.
fn next_in_file(file: &FoundFile, place: &FilePlace) -> io::Result<Option<(u64, CommitHeader)>> {
    let mut offset = place.offset + PAGE_LEN as u64;
    while offset + PAGE_LEN as u64 <= file.len {
        let header = commit_header_at(file.file.as_ref(), offset)?.filter(|header| {
            (header.generation, header.salt) == (file.header.generation, file.header.salt)
                && header.first > place.position
        });
        if let Some(header) = header {
            return Ok(Some((offset, header)));
        }
        offset += PAGE_LEN as u64;
    }
    Ok(None)
}

/// The lengths of commits that together have this length and take exactly so many pages, if that matters: short ones of a
/// page each, then one with all the rest. `None`: impossible.
fn split(len: u64, page_count: Option<u64>) -> Option<Vec<u64>> {
    let short = LOST_LEN_MIN as u64;
    let pages = |len: u64| disk_len(len) / PAGE_LEN as u64;
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
        assert_eq!(split(len, page_count).as_deref(), expected);
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
