//! Reads commits of a replicated journal back by index, beside the writer, for a member that is behind what memory has.
//!
//! No file is held for that: one that is retired may be used again while it is read. Then generation, salt, index or checksum of what is
//! read are wrong, the file is no longer among those in use, and its entries are lost.

use std::io;

use consensus::Index;
use model::ids::JournalPosition;

use super::entry::ReceivedCommit;
use super::files::EntryFile;
use super::format::{CommitHeader, FILE_HEADER_LEN};
use super::handle::Journal;
use super::recovery::commit_header_at;
use super::tail::read_payload;
use crate::file::PAGE_LEN;

/// Reads entries, and remembers where it stopped: to read on costs no search.
#[derive(Default)]
pub struct EntryReader {
    cursor: Option<Cursor>,
}

/// Where an entry lies.
struct Cursor {
    file: EntryFile,
    offset: u64,
    position: JournalPosition,
    index: Index,
}

/// What is at a place.
enum Found<T> {
    There(T),
    /// It is not on this disk yet.
    NotYet,
    /// It is no longer in any file.
    Gone,
}

impl EntryReader {
    /// One that has read nothing yet.
    #[must_use]
    pub fn new() -> EntryReader {
        EntryReader::default()
    }

    /// The entries from `first` on that are on this disk: at most `count_max`, and not more than `len_max` bytes unless the first alone is
    /// longer. Fewer, or none, at the end of what is on disk. `None`: the files no longer have `first`.
    ///
    /// An error of kind `InvalidData`: a file that is in use is damaged.
    pub fn read(
        &mut self,
        journal: &Journal,
        first: Index,
        count_max: usize,
        len_max: u64,
    ) -> io::Result<Option<Vec<ReceivedCommit>>> {
        // Before files are looked at: what is flushed by now is in one of them.
        let flushed = journal.flushed();
        let (mut commits, mut index, mut room) = (Vec::new(), first, len_max);
        while commits.len() < count_max {
            let room_len = if commits.is_empty() { u64::MAX } else { room };
            let commit = match self.read_one(journal, index, flushed, room_len)? {
                Found::There(Some(commit)) => commit,
                Found::There(None) | Found::NotYet => break,
                Found::Gone if commits.is_empty() => return Ok(None),
                Found::Gone => break,
            };
            room = room.saturating_sub(commit.payload.len() as u64);
            index = index.next();
            commits.push(commit);
        }
        Ok(Some(commits))
    }

    /// Reads an entry, if it is not longer.
    fn read_one(
        &mut self,
        journal: &Journal,
        index: Index,
        flushed: JournalPosition,
        len_max: u64,
    ) -> io::Result<Found<Option<ReceivedCommit>>> {
        // Anything may happen to a file that is retired meanwhile: then it is looked for once more.
        loop {
            let mut cursor = match self.go_on(journal, index) {
                Some(cursor) => cursor,
                None => match search(journal, index, flushed)? {
                    Found::There(cursor) => cursor,
                    Found::NotYet => return Ok(Found::NotYet),
                    Found::Gone => return Ok(Found::Gone),
                },
            };
            match cursor.read(flushed, len_max) {
                Err(error) if is_in_use(journal, &cursor.file) => return Err(error),
                Err(_) => {}
                Ok(found) => {
                    self.cursor = Some(cursor);
                    return Ok(found.map_or(Found::NotYet, Found::There));
                }
            }
        }
    }

    /// Where it stopped, if that is the place and the file is still needed as far.
    fn go_on(&mut self, journal: &Journal, index: Index) -> Option<Cursor> {
        let cursor = self.cursor.take().filter(|cursor| cursor.index == index)?;
        let file = look_up(journal, &cursor.file)?;
        file.end.is_none_or(|end| cursor.position < end).then_some(Cursor { file, ..cursor })
    }
}

impl Cursor {
    /// Reads the entry here and moves to the next, unless it is longer. `None`: it is not on this disk yet.
    fn read(&mut self, flushed: JournalPosition, len_max: u64) -> io::Result<Option<Option<ReceivedCommit>>> {
        let Some(header) = self.header(flushed)? else { return Ok(None) };
        let Some(head) = header.head.filter(|head| head.id.index == self.index) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        if header.payload_len() > len_max {
            return Ok(Some(None));
        }
        let payload = read_payload(&*self.file.file, self.offset, &header)?;
        self.pass(&header);
        Ok(Some(Some(ReceivedCommit { head, first: header.first, metas_len: header.metas_len, payload })))
    }

    /// The header here. `None`: it is not on this disk yet.
    fn header(&self, flushed: JournalPosition) -> io::Result<Option<CommitHeader>> {
        if self.position >= self.file.end.unwrap_or(flushed) {
            return Ok(None);
        }
        let fits = |len: u64| self.file.len.saturating_sub(self.offset) >= len;
        let header = if fits(PAGE_LEN as u64) { commit_header_at(&*self.file.file, self.offset)? } else { None };
        let is_here = |header: &CommitHeader| {
            header.is_of(&self.file.header) && header.first == self.position && fits(header.disk_len())
        };
        Ok(Some(header.filter(is_here).ok_or(io::ErrorKind::InvalidData)?))
    }

    fn pass(&mut self, header: &CommitHeader) {
        self.offset += header.disk_len();
        self.position = header.end();
        self.index = self.index.next();
    }
}

/// Looks for an entry from the beginning of the file that should have it.
fn search(journal: &Journal, index: Index, flushed: JournalPosition) -> io::Result<Found<Cursor>> {
    loop {
        let Some(file) = journal.shared().files.lock().with_entry(index) else { return Ok(Found::NotYet) };
        let position = file.header.first;
        let mut cursor = Cursor { file, offset: FILE_HEADER_LEN, position, index };
        let mut is_first = true;
        while cursor.file.end.is_none_or(|end| cursor.position < end) {
            match cursor.header(flushed) {
                Ok(None) => return Ok(Found::NotYet),
                Ok(Some(header)) => {
                    let found = header.id().map(|id| id.index);
                    if found == Some(index) {
                        return Ok(Found::There(Cursor { index, ..cursor }));
                    }
                    if is_first && found.is_some_and(|found| found > index) {
                        return Ok(Found::Gone);
                    }
                    // What a node alone has written has no entries, and is passed.
                    is_first = false;
                    cursor.pass(&header);
                }
                Err(error) if is_in_use(journal, &cursor.file) => return Err(error),
                Err(_) => break,
            }
        }
        if is_in_use(journal, &cursor.file) {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
}

/// The same use of the same file as it is now, as long as it is needed.
fn look_up(journal: &Journal, file: &EntryFile) -> Option<EntryFile> {
    let found = journal.shared().files.lock().of_generation(file.header.generation)?;
    (found.header.salt == file.header.salt).then_some(found)
}

fn is_in_use(journal: &Journal, file: &EntryFile) -> bool {
    look_up(journal, file).is_some()
}
