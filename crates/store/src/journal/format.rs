//! The headers of a journal file and of a commit. See the drawing in [`crate::journal`].

use crc32c::crc32c;
use model::ids::JournalPosition;

use crate::file::PAGE_LEN;

/// Where a file's first commit lies: behind the page of its header.
pub(crate) const FILE_HEADER_LEN: u64 = PAGE_LEN as u64;
/// How much of that page the header takes.
const FILE_HEADER_USED_LEN: usize = 64;
/// Length of a commit's header.
pub(crate) const COMMIT_HEADER_LEN: usize = 64;
/// Where both headers have their checksum, over all before it.
const CRC_OFFSET: usize = 60;

const FILE_MAGIC: u64 = u64::from_le_bytes(*b"WarrenJ\n");
const COMMIT_MAGIC: u32 = u32::from_le_bytes(*b"WJC\n");
/// The newest layout, and the one that is written.
pub(crate) const VERSION: u32 = 1;

/// The first page of a file that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// Counts the uses of all files: the order in which they continue each other.
    pub(crate) generation: u64,
    /// A number that no client can guess, in each of the file's commits: no message can pretend to be one.
    pub(crate) salt: u64,
    /// Where the file begins. From here on it replaces what files before it may have.
    pub(crate) first: JournalPosition,
    /// Up to here all was synced when the header was written, whichever file it is in.
    pub(crate) synced: JournalPosition,
    /// The length of the file.
    pub(crate) file_len: u64,
}

/// What the first page of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// Zeros: whatever else is in the file means nothing.
    Spare,
    InUse(FileHeader),
    /// Another version's; its number.
    Unknown(u32),
    Damaged,
}

impl FileHeader {
    pub(crate) fn encode(&self) -> [u8; PAGE_LEN] {
        let mut page = [0; PAGE_LEN];
        page[..8].copy_from_slice(&FILE_MAGIC.to_le_bytes());
        page[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let fields = [self.generation, self.salt, self.first.0, self.synced.0, self.file_len];
        put_fields(&mut page[16..56], &fields);
        seal(&mut page[..FILE_HEADER_USED_LEN]);
        page
    }

    pub(crate) fn decode(page: &[u8; PAGE_LEN]) -> FileState {
        let header = &page[..FILE_HEADER_USED_LEN];
        if header.iter().all(|&byte| byte == 0) {
            return FileState::Spare;
        }
        if !is_sealed(header) || u64_at(header, 0) != FILE_MAGIC {
            return FileState::Damaged;
        }
        match u32_at(header, 8) {
            VERSION => FileState::InUse(FileHeader {
                generation: u64_at(header, 16),
                salt: u64_at(header, 24),
                first: JournalPosition(u64_at(header, 32)),
                synced: JournalPosition(u64_at(header, 40)),
                file_len: u64_at(header, 48),
            }),
            version => FileState::Unknown(version),
        }
    }
}

/// The start of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommitHeader {
    /// Over metas and contents.
    pub(crate) payload_crc: u32,
    /// The file's.
    pub(crate) generation: u64,
    /// The file's.
    pub(crate) salt: u64,
    /// Where its first record batch begins.
    pub(crate) first: JournalPosition,
    /// Up to here all was synced when this was written.
    pub(crate) synced: JournalPosition,
    pub(crate) metas_len: u64,
    pub(crate) contents_len: u64,
}

impl CommitHeader {
    pub(crate) fn encode(&self) -> [u8; COMMIT_HEADER_LEN] {
        let mut header = [0; COMMIT_HEADER_LEN];
        header[..4].copy_from_slice(&COMMIT_MAGIC.to_le_bytes());
        header[4..8].copy_from_slice(&self.payload_crc.to_le_bytes());
        let fields = [self.generation, self.salt, self.first.0, self.synced.0, self.metas_len, self.contents_len];
        put_fields(&mut header[8..56], &fields);
        seal(&mut header);
        header
    }

    /// `None`: these bytes are not a commit's header, or a damaged one.
    pub(crate) fn decode(header: &[u8; COMMIT_HEADER_LEN]) -> Option<CommitHeader> {
        if u32_at(header, 0) != COMMIT_MAGIC || !is_sealed(header) {
            return None;
        }
        Some(CommitHeader {
            payload_crc: u32_at(header, 4),
            generation: u64_at(header, 8),
            salt: u64_at(header, 16),
            first: JournalPosition(u64_at(header, 24)),
            synced: JournalPosition(u64_at(header, 32)),
            metas_len: u64_at(header, 40),
            contents_len: u64_at(header, 48),
        })
    }

    /// Where its last record batch ends.
    pub(crate) fn end(&self) -> JournalPosition {
        JournalPosition(self.first.0.saturating_add(self.metas_len).saturating_add(self.contents_len))
    }

    /// How much of the file it takes.
    pub(crate) fn disk_len(&self) -> u64 {
        disk_len(self.metas_len.saturating_add(self.contents_len))
    }
}

/// How much of a file a commit with so many bytes of metas and contents takes: whole pages.
pub(crate) fn disk_len(payload_len: u64) -> u64 {
    let len = payload_len.saturating_add(COMMIT_HEADER_LEN as u64);
    len.checked_next_multiple_of(PAGE_LEN as u64).unwrap_or(u64::MAX)
}

fn put_fields(out: &mut [u8], fields: &[u64]) {
    for (out, field) in out.chunks_exact_mut(8).zip(fields) {
        out.copy_from_slice(&field.to_le_bytes());
    }
}

fn seal(header: &mut [u8]) {
    let crc = crc32c(&header[..CRC_OFFSET]);
    header[CRC_OFFSET..CRC_OFFSET + 4].copy_from_slice(&crc.to_le_bytes());
}

fn is_sealed(header: &[u8]) -> bool {
    crc32c(&header[..CRC_OFFSET]) == u32_at(header, CRC_OFFSET)
}

fn u32_at(header: &[u8], offset: usize) -> u32 {
    let bytes = header[offset..].first_chunk().expect("fields lie inside the header");
    u32::from_le_bytes(*bytes)
}

fn u64_at(header: &[u8], offset: usize) -> u64 {
    let bytes = header[offset..].first_chunk().expect("fields lie inside the header");
    u64::from_le_bytes(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileHeader = FileHeader {
        generation: 7,
        salt: 0x1122_3344_5566_7788,
        first: JournalPosition(1000),
        synced: JournalPosition(900),
        file_len: 1 << 20,
    };
    const COMMIT: CommitHeader = CommitHeader {
        payload_crc: 0xabcd_ef01,
        generation: 7,
        salt: 0x1122_3344_5566_7788,
        first: JournalPosition(1000),
        synced: JournalPosition(900),
        metas_len: 4000,
        contents_len: 33,
    };

    #[test]
    fn headers_come_back_as_written() {
        assert_eq!(FileHeader::decode(&FILE.encode()), FileState::InUse(FILE));
        assert_eq!(CommitHeader::decode(&COMMIT.encode()), Some(COMMIT));
    }

    #[test]
    fn a_page_of_zeros_is_a_spare_file() {
        assert_eq!(FileHeader::decode(&[0; PAGE_LEN]), FileState::Spare);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        for bit in 0..64 * 8 {
            let mut page = FILE.encode();
            page[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FileHeader::decode(&page), FileState::Damaged, "bit {bit}");
            let mut header = COMMIT.encode();
            header[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(CommitHeader::decode(&header), None, "bit {bit}");
        }
    }

    #[test]
    fn a_newer_version_is_told_from_damage() {
        let mut page = FILE.encode();
        page[8] = 2;
        seal(&mut page[..FILE_HEADER_USED_LEN]);
        assert_eq!(FileHeader::decode(&page), FileState::Unknown(2));
    }

    #[test]
    fn commits_take_whole_pages() {
        assert_eq!(disk_len(1), 4096);
        assert_eq!(disk_len(4096 - 64), 4096);
        assert_eq!(disk_len(4096 - 63), 8192);
        assert_eq!(COMMIT.disk_len(), 8192);
        assert_eq!(disk_len(u64::MAX), u64::MAX);
    }
}
