//! The journal: the node's one write-ahead log. All that must last is written here, in one order.
//!
//! # A file
//!
//! ```text
//!  | header, 4096 bytes | commit | commit | … | zeros, or what an earlier use of the file left |
//!
//!  header: | magic "WarrenJ\n" | layout u32 | 0 u32 | generation u64 | salt u64 | first u64 | synced u64 |
//!          | file_len u64 | 0 u32 | crc u32 | zeros …       crc: CRC32C of the 60 bytes before it
//! ```
//!
//! Files are made, filled with zeros and synced before they are needed, and used again after they are retired: so a
//! sync has no metadata to write. A header of zeros: the file is spare, whatever is in it. The header is written with
//! the file's first commit.
//!
//! # A commit
//!
//! What one `pwritev` writes and one `fdatasync` makes durable; it begins on a page and is filled up to one with zeros,
//! so that no synced page is ever written again.
//!
//! ```text
//!  | header, 64 or 96 bytes | metas | contents | zeros |
//!
//!  header: | magic "WJC\n" u32 | payload crc u32 | generation u64 | salt u64 | first u64 | synced u64 |
//!          | metas_len u64 | contents_len u64 | 0 u32 | crc u32 |
//!
//!  in a group: | magic "WJ2\n" u32 | … the same up to contents_len | term u64 | index u64 | kind u32 | 0, 16 bytes | crc u32 |
//! ```
//!
//! Metas are record batches back to back (drawn in `record`), contents the contents of all their publishes, written
//! straight from chunks. `first` is the journal's position at the commit's start; a position counts the bytes of
//! metas and contents, of all commits since the journal was created, not headers or zeros. `synced` is how far all was
//! synced when the commit was written.
//!
//! # A group's journal
//!
//! With a [`Replication`] each commit is an entry of the group's log: its header has term, index and kind, the file's header another
//! number. All commits of a file are laid out alike. The writer has a commit numbered just before it writes it, or another member has, and
//! it was received. What counts as durable waits for a majority, see `marks`. Positions are the same on all members. Without a replication
//! nothing of this is written or done.
//!
//! # Torn tail or corruption?
//!
//! A commit is whole if both checksums are right, generation and salt are its file's, and it begins where the one before
//! ended. One that is not whole is corruption only if it had been synced, and then something written later shows it: a
//! commit of the same file whose `synced` is beyond it, or the header of a later file, because a file is left only when all
//! in it is synced. Otherwise it is the tail and is cut off: it was not said to be durable.
//!
//! What was read but not proven to be synced is written again, to a new file, before anything else; a file that has
//! a tail is never continued, for behind it something may lie that a new commit would seem to precede.
//!
//! How far at least the journal was synced is also recorded in a file beside it, see `synced`: so the loss of its end is noticed, too.
//!
//! # A failed write or sync
//!
//! After it the kernel may have forgotten what is not on disk. So nothing of that file that was not synced is trusted
//! again: it is still in memory, is written to another file under the same positions, and is durable from there. If that
//! fails too, the journal has failed for good.
//!
//! # Which part does what
//!
//! [`Journal`] takes record batches, under one short lock. [`Writer`] writes what has gathered while its last sync
//! ran, when a caller may wait for it (see `pending`); where confirms do not wait for syncs, and where a member leads, a `Syncer` syncs
//! beside it. A leader's commits are begun at a pace, see `threads`; since when the disk is at work is seen by `watch`.
//! [`FilePreallocator`] prepares files. [`Recovery`] reads, [`repair`] puts marks where something is damaged, and [`truncate`] cuts off
//! the end of a group's journal that is closed. [`EntryReader`] reads entries back. What to retire, and what records mean, is not known
//! here.
//!
//! What they share (`shared`) is in parts that know nothing of each other: how far the journal has got and what waits for that
//! (`positions`), what is to be written (`work_queue`), files (`file_pool`), why publishers wait (`congestion`), and the sync beside the
//! writer (`sync_progress`).

mod assembly;
mod commit;
mod congestion;
mod durable_times;
mod entry;
mod entry_reader;
mod file_pool;
mod files;
mod format;
mod handle;
mod journal_dir;
mod marks;
mod options;
mod payload;
mod pending;
mod positions;
mod preallocator;
mod record;
mod recovery;
mod repair;
mod replay;
mod replication;
mod room;
mod shared;
mod shutdown;
mod snapshot_guard;
mod sync_progress;
mod sync_times;
mod synced;
mod syncer;
mod tail;
mod threads;
mod truncate;
mod waiters;
mod watch;
mod work_queue;
mod writer;

pub use assembly::assemble;
pub use entry::{CommitKind, EMPTY_METAS, EntryHead, FoundEntry, ReceiveError, ReceivedCommit, SharedCommit};
pub use entry_reader::EntryReader;
pub(crate) use files::PREPARED_COUNT;
pub use handle::Journal;
pub use options::{ConfirmAfter, Event, Failed, FailureCause, FilePlace, FileSpan, OnEvent, OpenError, Options};
pub use preallocator::{FilePreallocator, Preallocation};
pub use record::{Record, RecordBatch, Targets};
pub(crate) use recovery::EXTENSION;
pub use recovery::Recovery;
pub use repair::{Lost, Repaired, repair};
pub use replay::Each;
pub use replication::Replication;
pub(crate) use snapshot_guard::SnapshotGuard;
pub use sync_times::SyncCounts;
pub(crate) use synced::{SyncedContent, file_of as synced_file_of, read as read_synced};
pub(crate) use syncer::Syncer;
pub use threads::{JOURNAL_THREADS, Threads, start};
pub use truncate::{lower_synced, truncate};
pub use watch::{DiskOperation, DiskWatch, Watched};
pub use writer::{NOT_LEADING, Progress, Writer};

#[cfg(test)]
mod tests;
