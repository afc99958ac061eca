//! The commits at a journal's end that nothing says were synced, written again to a file of their own.

use std::io::{self, IoSlice};

use crc32c::crc32c;

use super::commit::padding;
use super::format::{CommitHeader, FILE_HEADER_LEN, FileHeader};
use super::options::OpenError;
use super::recovery::FoundFile;
use crate::file::{File, read_exact_at, write_all_at, write_all_vectored_at};

/// Commits as they were read. They were perhaps only in the page cache of a kernel that has failed to write them; so they are not durable
/// before they are written again.
pub(super) struct Tail {
    commits: Vec<(CommitHeader, Vec<u8>)>,
}

impl Tail {
    /// Reads commits of the journal's last file, whose places are given.
    pub(super) fn read<'a>(
        last: Option<&FoundFile>,
        places: impl IntoIterator<Item = &'a (u64, CommitHeader)>,
    ) -> Result<Tail, OpenError> {
        let Some(last) = last else { return Ok(Tail { commits: Vec::new() }) };
        let read = |(offset, header): &(u64, CommitHeader)| {
            let payload = read_payload(last.file.as_ref(), *offset, header);
            Ok((*header, payload.map_err(OpenError::io("reading", &last.path))?))
        };
        Ok(Tail { commits: places.into_iter().map(read).collect::<Result<_, _>>()? })
    }

    pub(super) fn first(&self) -> Option<&CommitHeader> {
        self.commits.first().map(|(header, _)| header)
    }

    pub(super) fn last(&self) -> Option<&CommitHeader> {
        self.commits.last().map(|(header, _)| header)
    }

    /// How much of a file it takes.
    pub(super) fn disk_len(&self) -> u64 {
        self.commits.iter().map(|(header, _)| header.disk_len()).sum()
    }

    /// Writes it to a file of the same layout. Only when all of it is synced the file gets its header, and counts. Commits keep their place
    /// in the group's log. Returns where the file's next commit is to be written.
    pub(super) fn write(
        &self,
        file: &dyn File,
        header: &FileHeader,
        before_header: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<u64> {
        let mut offset = FILE_HEADER_LEN;
        for (commit, payload) in &self.commits {
            let commit =
                CommitHeader { generation: header.generation, salt: header.salt, synced: header.first, ..*commit };
            let encoded = commit.encode();
            let padding = padding(commit.layout(), commit.payload_len());
            write_all_vectored_at(file, &mut [IoSlice::new(&encoded), IoSlice::new(payload), padding], offset)?;
            offset += commit.disk_len();
        }
        file.fdatasync()?;
        before_header()?;
        write_all_at(file, &header.encode(), 0)?;
        file.fdatasync()?;
        Ok(offset)
    }
}

/// What a commit says, metas before contents. An error of kind `InvalidData`: it differs from what was written.
pub(super) fn read_payload(file: &dyn File, offset: u64, header: &CommitHeader) -> io::Result<Vec<u8>> {
    let mut payload = vec![0; header.payload_len() as usize];
    read_exact_at(file, &mut payload, offset + header.len())?;
    if crc32c(&payload) == header.payload_crc { Ok(payload) } else { Err(io::ErrorKind::InvalidData.into()) }
}
