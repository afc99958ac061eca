//! Reads the journal from the checkpoint's position to its end, commit by commit, and distinguishes the torn tail from damage.

use std::path::Path;

use consensus::{Index, LogId};
use model::ids::JournalPosition;

use super::entry::{CommitKind, FoundEntry};
use super::format::{CommitHeader, FILE_HEADER_LEN};
use super::options::{FilePlace, OpenError};
use super::payload::{Payload, PayloadError, PayloadReader};
use super::record::Record;
use super::recovery::{ChainEnd, FoundFile, Recovery, commit_header_at};
use crate::chunk::ChunkWriter;
use crate::file::{File, PAGE_LEN, read_exact_at};

/// Receives the records, each with the end of its record batch.
pub type Each<'a> = &'a mut dyn FnMut(JournalPosition, Record<'_>);

impl Recovery {
    /// Gives all records behind the checkpoint's position in order, contents back in chunks. Returns the journal's end.
    ///
    /// Only reads: call it once, before [`start`](super::start) or alone.
    pub fn replay(&mut self, contents: &mut ChunkWriter, each: Each<'_>) -> Result<JournalPosition, OpenError> {
        let (reader, from) = (PayloadReader::default(), self.from);
        self.walk(&mut Records { reader, contents, from, each })
    }

    /// Gives the entries behind the checkpoint's position in order, without contents. Returns the journal's end. What a node alone has
    /// written is no entry.
    ///
    /// Only reads, and keeps little in memory: call it before [`start`](super::start) or alone.
    pub fn read_entries(&mut self, each: &mut dyn FnMut(FoundEntry)) -> Result<JournalPosition, OpenError> {
        self.walk(&mut Entries { reader: PayloadReader::default(), last: None, each })
    }

    /// Goes from commit to commit, and finds out where the journal ends.
    pub(super) fn walk(&mut self, sink: &mut dyn Sink) -> Result<JournalPosition, OpenError> {
        let mut walk = Walk {
            from: self.from,
            synced: self.synced,
            position: self.chain().first().map_or(self.from, |file| file.header.first),
            offset: FILE_HEADER_LEN,
            proven: JournalPosition::START,
            unproven: Vec::new(),
            last: None,
        };
        for index in self.start..self.files.len() {
            let next = self.files.get(index + 1).map(|next| next.header.first);
            walk.file(&self.files[index], next, sink)?;
            walk.prove(next.unwrap_or(JournalPosition::START));
            (self.files[index].used_len, self.files[index].last) = (walk.offset, walk.last.take());
        }
        if walk.position < self.from {
            let last = self.chain().last().expect("an empty chain begins at the checkpoint");
            let place = FilePlace::new(&last.path, walk.offset, walk.position);
            return Err(OpenError::Corrupt { place, what: "the journal ends before the checkpoint that it continues" });
        }
        let position = walk.position;
        self.check_headless(position)?;
        self.end = Some(ChainEnd { position, proven: walk.proven, unproven: walk.unproven });
        Ok(position)
    }
}

/// What becomes of the commits behind the checkpoint's position.
pub(super) trait Sink {
    /// The commit whose payload lies at `offset`; its header has been checked and its length fits the file.
    fn take(&mut self, file: &dyn File, offset: u64, header: &CommitHeader) -> Result<(), PayloadError>;
}

/// Their records are given.
struct Records<'a> {
    reader: PayloadReader,
    contents: &'a mut ChunkWriter,
    from: JournalPosition,
    each: Each<'a>,
}

impl Sink for Records<'_> {
    fn take(&mut self, file: &dyn File, offset: u64, header: &CommitHeader) -> Result<(), PayloadError> {
        if header.head.is_some_and(|head| head.kind != CommitKind::Records) {
            return self.reader.check(file, offset, header);
        }
        let payload = self.reader.read(file, offset, header, self.contents)?;
        deliver(&payload, header, self.from, self.each);
        Ok(())
    }
}

/// They are given as entries of the group's log.
struct Entries<'a> {
    reader: PayloadReader,
    last: Option<LogId>,
    each: &'a mut dyn FnMut(FoundEntry),
}

impl Sink for Entries<'_> {
    fn take(&mut self, file: &dyn File, offset: u64, header: &CommitHeader) -> Result<(), PayloadError> {
        self.reader.check(file, offset, header)?;
        let Some(head) = header.head else {
            self.last = None;
            return Ok(());
        };
        if head.id.index == Index::default() {
            return Err(PayloadError::NoEntry(
                "a repair has marked lost records, so the journal can no longer be used in a cluster",
            ));
        }
        let follows = |last: LogId| head.id.index == last.index.next() && head.id.term >= last.term;
        if !self.last.is_none_or(follows) {
            return Err(PayloadError::NoEntry("an entry of the log does not follow the one before"));
        }
        self.last = Some(head.id);
        let mut metas = Vec::new();
        if head.kind == CommitKind::Members {
            metas.resize(header.metas_len as usize, 0);
            read_exact_at(file, &mut metas, offset)?;
        }
        (self.each)(FoundEntry { head, first: header.first, end: header.end(), metas });
        Ok(())
    }
}

/// Where reading has got.
struct Walk {
    from: JournalPosition,
    /// How far the journal was synced, by a record elsewhere.
    synced: JournalPosition,
    position: JournalPosition,
    offset: u64,
    proven: JournalPosition,
    unproven: Vec<(u64, CommitHeader)>,
    /// The last entry of the file that is proven.
    last: Option<LogId>,
}

impl Walk {
    /// Reads a file up to where the next one begins. The last one ends with the first commit that is not whole.
    fn file(&mut self, file: &FoundFile, next: Option<JournalPosition>, sink: &mut dyn Sink) -> Result<(), OpenError> {
        assert_eq!(self.position, file.header.first, "files are read up to where the next begins");
        self.offset = FILE_HEADER_LEN;
        self.prove(file.header.first);
        while next != Some(self.position) {
            if self.commit(file, sink)? {
                self.check_not_beyond(file, next)?;
                continue;
            }
            if self.skip_unneeded(file)? {
                continue;
            }
            let place = FilePlace::new(&file.path, self.offset, self.position);
            if next.is_some() {
                return Err(OpenError::Corrupt { place, what: "a commit is damaged, and a later file continues it" });
            }
            if self.has_been_synced(file)? {
                return Err(OpenError::Corrupt { place, what: "a commit is damaged that had been synced" });
            }
            if self.synced > self.position {
                return Err(OpenError::Short { place, synced: self.synced });
            }
            break;
        }
        Ok(())
    }

    /// Reads the commit at the current place. False: there is none that is whole.
    fn commit(&mut self, file: &FoundFile, sink: &mut dyn Sink) -> Result<bool, OpenError> {
        let Some(header) = self.header_at(file, self.offset)? else { return Ok(false) };
        if header.first != self.position || header.disk_len() > file.len - self.offset {
            return Ok(false);
        }
        if header.end() > self.from {
            let place = FilePlace::new(&file.path, self.offset, self.position);
            match sink.take(file.file.as_ref(), self.offset + header.len(), &header) {
                Ok(()) => {}
                Err(PayloadError::Damaged) => return Ok(false),
                Err(PayloadError::UnknownKind(kind)) => return Err(OpenError::UnknownRecord { place, kind }),
                Err(PayloadError::Malformed) => {
                    let what = "a commit's checksum is right and its records are not";
                    return Err(OpenError::Corrupt { place, what });
                }
                Err(PayloadError::NoEntry(what)) => return Err(OpenError::Corrupt { place, what }),
                Err(PayloadError::Io(error)) => return Err(OpenError::io("reading", &file.path)(error)),
            }
        }
        self.unproven.push((self.offset, header));
        self.prove(header.synced);
        self.position = header.end();
        self.offset += header.disk_len();
        Ok(true)
    }

    /// All up to here had been synced, headers of files included. What a file's header says of its own file proves less:
    /// perhaps the header itself is only in the page cache.
    fn prove(&mut self, synced: JournalPosition) {
        self.proven = self.proven.max(synced);
        let count = self.unproven.iter().take_while(|(_, header)| header.end() <= self.proven).count();
        if let Some((_, header)) = self.unproven.drain(..count).next_back() {
            self.last = header.id();
        }
    }

    fn check_not_beyond(&self, file: &FoundFile, next: Option<JournalPosition>) -> Result<(), OpenError> {
        if next.is_none_or(|next| self.position <= next) {
            return Ok(());
        }
        let place = FilePlace::new(&file.path, self.offset, self.position);
        Err(OpenError::Corrupt { place, what: "a commit goes beyond where the next file begins" })
    }

    /// A damaged commit that the checkpoint has is not needed: continues at the next whole one, if that begins at or before the
    /// checkpoint's position.
    fn skip_unneeded(&mut self, file: &FoundFile) -> Result<bool, OpenError> {
        if self.position >= self.from {
            return Ok(false);
        }
        let found = self.find_header(file, |header, walk| header.first > walk.position)?;
        let Some((offset, header)) = found.filter(|(_, header)| header.first <= self.from) else { return Ok(false) };
        tracing::warn!(path = %file.path.display(), offset = self.offset, "skipped a damaged commit that a checkpoint has");
        (self.offset, self.position) = (offset, header.first);
        Ok(true)
    }

    /// Whether what should be at the current place had been synced: the file's header or a later commit shows it.
    fn has_been_synced(&self, file: &FoundFile) -> Result<bool, OpenError> {
        let found = self.find_header(file, |header, walk| header.synced > walk.position)?;
        Ok(self.proven.max(file.header.synced) > self.position || found.is_some())
    }

    /// The first header of the file behind the current place that fulfils a condition.
    fn find_header(
        &self,
        file: &FoundFile,
        condition: impl Fn(&CommitHeader, &Walk) -> bool,
    ) -> Result<Option<(u64, CommitHeader)>, OpenError> {
        let mut offset = self.offset + PAGE_LEN as u64;
        while offset + PAGE_LEN as u64 <= file.len {
            if let Some(header) = self.header_at(file, offset)?.filter(|header| condition(header, self)) {
                return Ok(Some((offset, header)));
            }
            offset += PAGE_LEN as u64;
        }
        Ok(None)
    }

    /// The header at this place, if it was written during this use of the file.
    fn header_at(&self, file: &FoundFile, offset: u64) -> Result<Option<CommitHeader>, OpenError> {
        if offset + PAGE_LEN as u64 > file.len {
            return Ok(None);
        }
        let header = commit_header_at(file.file.as_ref(), offset).map_err(read_error(&file.path))?;
        Ok(header.filter(|header| header.is_of(&file.header)))
    }
}

fn read_error(path: &Path) -> impl FnOnce(std::io::Error) -> OpenError {
    OpenError::io("reading", path)
}

fn deliver(payload: &Payload<'_>, header: &CommitHeader, from: JournalPosition, each: Each<'_>) {
    payload.for_each(header.first, &mut |start, end, record| {
        if end <= from {
            return;
        }
        if let Record::Publish { content, .. } = &record {
            content.chunk().use_at(start);
        }
        each(end, record);
    });
}
