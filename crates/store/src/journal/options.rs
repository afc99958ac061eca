//! What can be chosen about a journal, what it reports to its owner, and how it fails.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use consensus::LogId;
use model::ids::JournalPosition;

use super::format::FILE_HEADER_LEN;
use crate::file::PAGE_LEN;

/// When a confirm may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConfirmAfter {
    /// When the record is synced: it survives a power cut.
    #[default]
    Sync,
    /// When the record is handed to the operating system: it survives the end of the process. Synced soon after.
    Write,
}

/// What can be chosen.
#[derive(Debug, Clone)]
pub struct Options {
    /// Length of a journal file. A single larger batch gets a larger file of its own.
    pub file_len: u64,
    /// Journal in use beyond which [`Journal::is_congested`](super::Journal::is_congested).
    pub unretired_len_max: u64,
    /// Bytes not yet synced beyond which [`Journal::is_congested`](super::Journal::is_congested). Never more than half a file:
    /// when the disk is full, what has gathered by then must fit one.
    pub pending_len_max: u64,
    /// Batches gather into a commit up to this length, or a quarter of a file if that is less.
    pub commit_len_max: u64,
    /// When a confirm may leave.
    pub confirm_after: ConfirmAfter,
    /// With [`ConfirmAfter::Write`]: how long something may be written before a sync of it begins.
    pub sync_delay: Duration,
    /// A random number, another one at each start. No client may know it.
    pub salt: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            file_len: 8 << 20,
            unretired_len_max: 256 << 20,
            pending_len_max: u64::MAX,
            commit_len_max: 4 << 20,
            confirm_after: ConfirmAfter::Sync,
            sync_delay: Duration::from_millis(200),
            salt: 0,
        }
    }
}

impl Options {
    /// With [`ConfirmAfter::Write`], so much is synced without waiting for the delay.
    pub(crate) fn unsynced_len_max(&self) -> u64 {
        // What is written and not synced is pending: half of it must be synced before publishers go on.
        self.pending_len_max() / 2
    }

    /// The bound that holds.
    pub(crate) fn pending_len_max(&self) -> u64 {
        self.pending_len_max.min(self.file_len / 2)
    }

    /// How long a commit of several batches gets: less than a file, for on a full disk no longer one can be had.
    pub(crate) fn commit_len_max(&self) -> u64 {
        self.commit_len_max.min(self.file_len / 4)
    }

    /// A batch that only takes messages out is divided from this length on, so that it needs no file of its own.
    pub(crate) fn divided_len_min(&self) -> u64 {
        self.file_len / 2
    }

    pub(crate) fn check(&self) {
        assert!(self.file_len.is_multiple_of(PAGE_LEN as u64), "a journal file is whole pages: {self:?}");
        assert!(self.file_len >= 2 * FILE_HEADER_LEN, "a journal file holds a header and a commit: {self:?}");
        assert!(self.commit_len_max > 0, "a commit holds something: {self:?}");
    }
}

/// What the journal reports to its owner, from threads of its own, holding no lock. The owner must not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A file is full: time to think about retiring.
    FileClosed,
    /// No further file can be prepared. What is left is the reserve: publishers must wait, the disk alarm is raised.
    ReserveEntered,
    /// Files can be prepared again.
    ReserveLeft,
    /// Nothing will ever be durable again; see [`Journal::failure`](super::Journal::failure). The broker must stop.
    Failed,
}

/// Receives [`Event`]s.
pub type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;

/// The journal could not make durable what was appended. It never will: its users must stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} after position {durable}: {reason}", cause.event())]
pub struct Failed {
    /// Up to here all is durable.
    pub durable: JournalPosition,
    /// What was attempted and what went wrong.
    pub reason: Arc<str>,
    /// What is to be done about it.
    pub cause: FailureCause,
}

/// What a journal's failure asks of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// A disk, or a defect of ours: the process must stop and start again.
    Broken,
    /// Another node leads: an ordinary event. The broker must stop, and the process may go on.
    LeadershipLost,
}

impl FailureCause {
    fn event(self) -> &'static str {
        match self {
            FailureCause::Broken => "journal failed",
            FailureCause::LeadershipLost => "leadership was lost",
        }
    }
}

/// The last stretch of journal that a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSpan {
    /// Where it begins.
    pub first: JournalPosition,
    /// Where it ends, and the next file begins.
    pub end: JournalPosition,
    /// Bytes of the file that are in use.
    pub used_len: u64,
    /// The last entry in it; nothing in what a node alone has written.
    pub last: Option<LogId>,
}

/// Where in the journal's files something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// The file.
    pub path: PathBuf,
    /// The byte in it.
    pub offset: u64,
    /// The journal's position there, as far as it is known.
    pub position: JournalPosition,
}

impl FilePlace {
    pub(crate) fn new(path: &Path, offset: u64, position: JournalPosition) -> FilePlace {
        FilePlace { path: path.to_owned(), offset, position }
    }
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} (journal position {})", self.path.display(), self.offset, self.position)
    }
}

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Something that had been synced is no longer there.
    #[error("journal is damaged in {place}: {what}; `warren fsck` shows what can be saved")]
    Corrupt {
        /// Where.
        place: FilePlace,
        /// What was expected.
        what: &'static str,
    },
    /// It had been synced further than it reaches.
    #[error(
        "journal ends in {place}, and had been synced up to position {synced}: its last file is damaged, cut off or missing; `warren \
         fsck` shows what can be saved"
    )]
    Short {
        /// Where it ends.
        place: FilePlace,
        /// Where it should end, or later.
        synced: JournalPosition,
    },
    /// No file holds the position that the checkpoint continues from, or that had been synced.
    #[error("journal in {} has no file with position {position}: {what}; `warren fsck` shows what can be saved", dir.display())]
    Missing {
        /// The journal's directory.
        dir: PathBuf,
        /// The position.
        position: JournalPosition,
        /// What there is instead.
        what: &'static str,
    },
    /// A file has a layout that this program does not know.
    #[error("journal file {} has format {version}; this program knows up to {known}", path.display(), known = super::format::VERSION)]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// A record says something that this program does not know.
    #[error("journal has a record of unknown kind {kind} in {place}: a newer version wrote it")]
    UnknownRecord {
        /// Where its commit is.
        place: FilePlace,
        /// Its kind.
        kind: u8,
    },
    /// The operating system failed.
    #[error("{attempt} {} failed: {error}", path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        error: io::Error,
    },
}

impl OpenError {
    /// For `map_err`.
    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
        move |error| OpenError::Io { attempt, path: path.to_owned(), error }
    }
}
