//! The headers of a journal file and of a commit. See the drawing in [`crate::journal`].

use consensus::LogId;
use crc32c::crc32c;
use model::ids::JournalPosition;

use super::entry::{CommitKind, EntryHead};
use crate::file::PAGE_LEN;

/// Where a file's first commit lies: behind the page of its header.
pub(crate) const FILE_HEADER_LEN: u64 = PAGE_LEN as u64;
/// How much of that page the header takes.
const FILE_HEADER_USED_LEN: usize = 64;
/// The length of the longest commit header: so much is read of any.
pub(crate) const COMMIT_HEADER_LEN_MAX: usize = 96;
/// How long a header's checksum is, which ends it and covers all before.
const CRC_LEN: usize = 4;

const FILE_MAGIC: u64 = u64::from_le_bytes(*b"WarrenJ\n");
/// The newest layout.
pub(crate) const VERSION: u32 = Layout::Replicated as u32;

/// How a file and its commits are laid out. All commits of a file have its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Of a journal that is this node's alone.
    Alone = 1,
    /// Of a group's: a commit is an entry of its log, and says which.
    Replicated = 2,
}

impl Layout {
    /// Length of a commit's header.
    pub(crate) fn commit_header_len(self) -> usize {
        match self {
            Layout::Alone => 64,
            Layout::Replicated => COMMIT_HEADER_LEN_MAX,
        }
    }

    /// How much of a file a commit with so many bytes of metas and contents takes: whole pages.
    pub(crate) fn disk_len(self, payload_len: u64) -> u64 {
        let len = payload_len.saturating_add(self.commit_header_len() as u64);
        len.checked_next_multiple_of(PAGE_LEN as u64).unwrap_or(u64::MAX)
    }

    fn of_version(version: u32) -> Option<Layout> {
        [Layout::Alone, Layout::Replicated].into_iter().find(|layout| *layout as u32 == version)
    }

    fn commit_magic(self) -> u32 {
        u32::from_le_bytes(match self {
            Layout::Alone => *b"WJC\n",
            Layout::Replicated => *b"WJ2\n",
        })
    }
}

/// The first page of a file that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// How it and its commits are laid out.
    pub(crate) layout: Layout,
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
        page[8..12].copy_from_slice(&(self.layout as u32).to_le_bytes());
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
        let version = u32_at(header, 8);
        match Layout::of_version(version) {
            Some(layout) => FileState::InUse(FileHeader {
                layout,
                generation: u64_at(header, 16),
                salt: u64_at(header, 24),
                first: JournalPosition(u64_at(header, 32)),
                synced: JournalPosition(u64_at(header, 40)),
                file_len: u64_at(header, 48),
            }),
            None => FileState::Unknown(version),
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
    /// Its place in the group's log: there is one exactly in the layout of replicated journals.
    pub(crate) head: Option<EntryHead>,
}

/// A commit's header as bytes.
pub(crate) struct CommitHeaderBytes {
    bytes: [u8; COMMIT_HEADER_LEN_MAX],
    len: usize,
}

impl std::ops::Deref for CommitHeaderBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl CommitHeader {
    pub(crate) fn encode(&self) -> CommitHeaderBytes {
        let layout = self.layout();
        let mut bytes = [0; COMMIT_HEADER_LEN_MAX];
        let len = layout.commit_header_len();
        let header = &mut bytes[..len];
        header[..4].copy_from_slice(&layout.commit_magic().to_le_bytes());
        header[4..8].copy_from_slice(&self.payload_crc.to_le_bytes());
        let fields = [self.generation, self.salt, self.first.0, self.synced.0, self.metas_len, self.contents_len];
        put_fields(&mut header[8..56], &fields);
        if let Some(EntryHead { id, kind }) = self.head {
            put_fields(&mut header[56..80], &[id.term.0, id.index.0, kind as u64]);
        }
        seal(header);
        CommitHeaderBytes { bytes, len }
    }

    /// `None`: these bytes are not a commit's header, or a damaged one.
    pub(crate) fn decode(bytes: &[u8; COMMIT_HEADER_LEN_MAX]) -> Option<CommitHeader> {
        let magic = u32_at(bytes, 0);
        let layout = [Layout::Alone, Layout::Replicated].into_iter().find(|layout| layout.commit_magic() == magic)?;
        let header = &bytes[..layout.commit_header_len()];
        is_sealed(header).then_some(())?;
        let head = match layout {
            Layout::Alone => None,
            // A version with more kinds has another number in the file's header.
            Layout::Replicated => Some(EntryHead {
                id: LogId::new(u64_at(header, 56), u64_at(header, 64)),
                kind: CommitKind::of(u32_at(header, 72))?,
            }),
        };
        Some(CommitHeader {
            payload_crc: u32_at(header, 4),
            generation: u64_at(header, 8),
            salt: u64_at(header, 16),
            first: JournalPosition(u64_at(header, 24)),
            synced: JournalPosition(u64_at(header, 32)),
            metas_len: u64_at(header, 40),
            contents_len: u64_at(header, 48),
            head,
        })
    }

    pub(crate) fn layout(&self) -> Layout {
        if self.head.is_some() { Layout::Replicated } else { Layout::Alone }
    }

    /// Its place in the group's log, if it has one.
    pub(crate) fn id(&self) -> Option<LogId> {
        self.head.map(|head| head.id)
    }

    /// How long it is in its file.
    pub(crate) fn len(&self) -> u64 {
        self.layout().commit_header_len() as u64
    }

    /// Bytes of metas and contents.
    pub(crate) fn payload_len(&self) -> u64 {
        self.metas_len.saturating_add(self.contents_len)
    }

    /// Where its last record batch ends.
    pub(crate) fn end(&self) -> JournalPosition {
        JournalPosition(self.first.0.saturating_add(self.payload_len()))
    }

    /// How much of the file it takes.
    pub(crate) fn disk_len(&self) -> u64 {
        self.layout().disk_len(self.payload_len())
    }

    /// Whether it was written during this use of the file.
    pub(crate) fn is_of(&self, file: &FileHeader) -> bool {
        (self.generation, self.salt, self.layout()) == (file.generation, file.salt, file.layout)
    }
}

fn put_fields(out: &mut [u8], fields: &[u64]) {
    for (out, field) in out.chunks_exact_mut(8).zip(fields) {
        out.copy_from_slice(&field.to_le_bytes());
    }
}

fn seal(header: &mut [u8]) {
    let end = header.len() - CRC_LEN;
    let crc = crc32c(&header[..end]);
    header[end..].copy_from_slice(&crc.to_le_bytes());
}

fn is_sealed(header: &[u8]) -> bool {
    let end = header.len() - CRC_LEN;
    crc32c(&header[..end]) == u32_at(header, end)
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
        layout: Layout::Alone,
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
        head: None,
    };

    fn both_layouts() -> [(FileHeader, CommitHeader); 2] {
        let head = EntryHead { id: LogId::new(3, 0x1234_5678_9abc_def0), kind: CommitKind::Members };
        let file = FileHeader { layout: Layout::Replicated, ..FILE };
        [(FILE, COMMIT), (file, CommitHeader { head: Some(head), ..COMMIT })]
    }

    /// The header, with whatever lies behind it in its page.
    fn bytes_of(commit: &CommitHeader) -> [u8; COMMIT_HEADER_LEN_MAX] {
        let mut bytes = [0xee; COMMIT_HEADER_LEN_MAX];
        let header = commit.encode();
        bytes[..header.len()].copy_from_slice(&header);
        bytes
    }

    #[test]
    fn headers_come_back_as_written() {
        for (file, commit) in both_layouts() {
            assert_eq!(FileHeader::decode(&file.encode()), FileState::InUse(file));
            assert_eq!(CommitHeader::decode(&bytes_of(&commit)), Some(commit));
            assert!(commit.is_of(&file));
        }
        let [(alone, _), (_, replicated)] = both_layouts();
        assert!(!replicated.is_of(&alone), "a file has one layout");
    }

    /// What a node alone writes can be read by older versions.
    #[test]
    fn the_layout_of_a_node_alone_is_as_it_was() {
        let header = COMMIT.encode();
        assert_eq!((header.len(), &header[..4], &header[56..60]), (64, &b"WJC\n"[..], &[0; 4][..]));
        assert_eq!(header[60..], crc32c(&header[..60]).to_le_bytes());
        let page = FILE.encode();
        assert_eq!((&page[..16], &page[56..60]), (&b"WarrenJ\n\x01\0\0\0\0\0\0\0"[..], &[0; 4][..]));
        assert_eq!(page[60..64], crc32c(&page[..60]).to_le_bytes());
        assert!(page[64..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_page_of_zeros_is_a_spare_file() {
        assert_eq!(FileHeader::decode(&[0; PAGE_LEN]), FileState::Spare);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        for (file, commit) in both_layouts() {
            for bit in 0..FILE_HEADER_USED_LEN * 8 {
                let mut page = file.encode();
                page[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(FileHeader::decode(&page), FileState::Damaged, "bit {bit}");
            }
            for bit in 0..commit.len() as usize * 8 {
                let mut header = bytes_of(&commit);
                header[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(CommitHeader::decode(&header), None, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_newer_version_is_told_from_damage() {
        let mut page = FILE.encode();
        page[8] = 3;
        seal(&mut page[..FILE_HEADER_USED_LEN]);
        assert_eq!(FileHeader::decode(&page), FileState::Unknown(3));
    }

    #[test]
    fn a_commit_of_no_known_kind_is_none() {
        let [_, (_, commit)] = both_layouts();
        for (kind, is_known) in [(0, false), (1, true), (2, true), (3, true), (4, false)] {
            let mut bytes = bytes_of(&commit);
            bytes[72] = kind;
            seal(&mut bytes);
            assert_eq!(CommitHeader::decode(&bytes).is_some(), is_known, "kind {kind}");
        }
    }

    #[test]
    fn commits_take_whole_pages() {
        for (layout, header_len) in [(Layout::Alone, 64), (Layout::Replicated, 96)] {
            assert_eq!(layout.disk_len(1), 4096);
            assert_eq!(layout.disk_len(4096 - header_len), 4096);
            assert_eq!(layout.disk_len(4096 - header_len + 1), 8192);
            assert_eq!(layout.disk_len(u64::MAX), u64::MAX);
        }
        assert_eq!(COMMIT.disk_len(), 8192);
    }
}
