//! A commit's metas and contents, read back.

use std::io;

use crc32c::{crc32c, crc32c_append};
use model::ids::JournalPosition;

use super::format::CommitHeader;
use super::record::{self, BATCH_HEADER_LEN, DecodeError, DecodedRecord, Record};
use crate::chunk::{ChunkWriter, Content};
use crate::file::{File, read_exact_at};

/// Contents are read from the file in pieces of this length; larger ones straight into their chunk.
const BUFFER_LEN: usize = 256 << 10;

/// Why a commit could not be read.
#[derive(Debug)]
pub(crate) enum PayloadError {
    /// It is not what was written: torn, or worse.
    Damaged,
    /// It is what was written, by a newer version.
    UnknownKind(u8),
    /// It is what was written, and contradicts itself.
    Malformed,
    /// It is what was written, and no entry of the group's log that continues the one before.
    NoEntry(&'static str),
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for PayloadError {
    fn from(error: io::Error) -> Self {
        PayloadError::Io(error)
    }
}

impl From<DecodeError> for PayloadError {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::UnknownKind(kind) => PayloadError::UnknownKind(kind),
            DecodeError::Malformed => PayloadError::Malformed,
        }
    }
}

/// Reads payloads; keeps its memory from one to the next.
#[derive(Default)]
pub(crate) struct PayloadReader {
    metas: Vec<u8>,
    contents: Vec<Content>,
    buffer: Vec<u8>,
}

/// A whole commit, checked.
pub(crate) struct Payload<'a> {
    metas: &'a [u8],
    contents: &'a [Content],
}

impl PayloadReader {
    /// Reads the payload that lies at `offset`; its header has been checked and its length fits the file.
    pub(crate) fn read(
        &mut self,
        file: &dyn File,
        offset: u64,
        header: &CommitHeader,
        writer: &mut ChunkWriter,
    ) -> Result<Payload<'_>, PayloadError> {
        self.metas.resize(header.metas_len as usize, 0);
        read_exact_at(file, &mut self.metas, offset)?;
        let offset = offset + header.metas_len;
        let mut source = Source {
            file,
            offset,
            end: offset + header.contents_len,
            buffer: &mut self.buffer,
            filled: 0..0,
            crc: crc32c(&self.metas),
        };
        self.contents.clear();
        // Before the checksum is known the metas may be anything: then the contents are only read for the checksum.
        let checked = check_metas(&self.metas, header.contents_len);
        if checked.is_ok() {
            read_contents(&self.metas, &mut source, writer, &mut self.contents)?;
        }
        source.read_rest()?;
        if source.crc != header.payload_crc {
            self.contents.clear();
            return Err(PayloadError::Damaged);
        }
        checked?;
        Ok(Payload { metas: &self.metas, contents: &self.contents })
    }
}

impl PayloadReader {
    /// Only looks whether the payload that lies at `offset` is what was written.
    pub(crate) fn check(&mut self, file: &dyn File, offset: u64, header: &CommitHeader) -> Result<(), PayloadError> {
        let end = offset + header.payload_len();
        let mut source = Source { file, offset, end, buffer: &mut self.buffer, filled: 0..0, crc: 0 };
        source.read_rest()?;
        if source.crc == header.payload_crc { Ok(()) } else { Err(PayloadError::Damaged) }
    }
}

impl Payload<'_> {
    /// Gives each record with the start and the end of its batch.
    pub(crate) fn for_each(
        &self,
        first: JournalPosition,
        each: &mut dyn FnMut(JournalPosition, JournalPosition, Record<'_>),
    ) {
        let mut contents = self.contents.iter();
        let mut start = first;
        for batch in Batches(self.metas) {
            let batch = batch.expect("metas were checked");
            let end = JournalPosition(start.0 + batch.len());
            let mut records = batch.records;
            while !records.is_empty() {
                let record = match record::decode(&mut records).expect("metas were checked") {
                    DecodedRecord::Publish { targets, .. } => {
                        let content = contents.next().expect("metas were checked").clone();
                        Record::Publish { content, targets }
                    }
                    DecodedRecord::Other(record) => record,
                };
                each(start, end, record);
            }
            start = end;
        }
    }
}

/// Whether the metas can be decoded, and their contents' lengths add up.
fn check_metas(metas: &[u8], contents_len: u64) -> Result<(), DecodeError> {
    let mut commit_contents_len = 0u64;
    for batch in Batches(metas) {
        let batch = batch?;
        let mut batch_contents_len = 0;
        let mut records = batch.records;
        while !records.is_empty() {
            if let DecodedRecord::Publish { content_len, .. } = record::decode(&mut records)? {
                batch_contents_len += u64::from(content_len);
            }
        }
        if batch_contents_len != batch.contents_len {
            return Err(DecodeError::Malformed);
        }
        commit_contents_len += batch_contents_len;
    }
    if commit_contents_len == contents_len { Ok(()) } else { Err(DecodeError::Malformed) }
}

fn read_contents(
    metas: &[u8],
    source: &mut Source<'_>,
    writer: &mut ChunkWriter,
    contents: &mut Vec<Content>,
) -> io::Result<()> {
    for batch in Batches(metas) {
        let mut records = batch.expect("metas were checked").records;
        while !records.is_empty() {
            if let DecodedRecord::Publish { content_len, .. } =
                record::decode(&mut records).expect("metas were checked")
            {
                let mut result = Ok(());
                let content = writer.write(content_len as usize, |bytes| result = source.take(bytes));
                result?;
                contents.push(content);
            }
        }
    }
    Ok(())
}

/// The record batches in a commit's metas.
struct Batches<'a>(&'a [u8]);

struct Batch<'a> {
    records: &'a [u8],
    contents_len: u64,
}

impl Batch<'_> {
    fn len(&self) -> u64 {
        (BATCH_HEADER_LEN + self.records.len()) as u64 + self.contents_len
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<Batch<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let batch = record::split_batch(&mut self.0).map(|(records, contents_len)| Batch { records, contents_len });
        if batch.is_none() {
            self.0 = &[];
        }
        Some(batch.ok_or(DecodeError::Malformed))
    }
}

/// The contents' bytes in the file, read ahead, with the checksum of all that was taken.
struct Source<'a> {
    file: &'a dyn File,
    offset: u64,
    end: u64,
    buffer: &'a mut Vec<u8>,
    filled: std::ops::Range<usize>,
    crc: u32,
}

impl Source<'_> {
    fn take(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let buffered = self.filled.len().min(bytes.len());
        let (front, rest) = bytes.split_at_mut(buffered);
        front.copy_from_slice(&self.buffer[self.filled.start..self.filled.start + buffered]);
        self.filled.start += buffered;
        if rest.len() >= BUFFER_LEN {
            read_exact_at(self.file, rest, self.offset)?;
            self.offset += rest.len() as u64;
        } else if !rest.is_empty() {
            self.fill()?;
            rest.copy_from_slice(&self.buffer[..rest.len()]);
            self.filled.start = rest.len();
        }
        self.crc = crc32c_append(self.crc, bytes);
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        let len = BUFFER_LEN.min((self.end - self.offset) as usize);
        self.buffer.resize(BUFFER_LEN, 0);
        read_exact_at(self.file, &mut self.buffer[..len], self.offset)?;
        self.offset += len as u64;
        self.filled = 0..len;
        Ok(())
    }

    /// Takes what is left, for the checksum alone.
    fn read_rest(&mut self) -> io::Result<()> {
        loop {
            self.crc = crc32c_append(self.crc, &self.buffer[self.filled.clone()]);
            self.filled = 0..0;
            if self.offset == self.end {
                return Ok(());
            }
            self.fill()?;
        }
    }
}
