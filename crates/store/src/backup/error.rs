//! Why no backup was made.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::journal::Failed;

/// Why no copy was made. What there was of it has been taken away.
#[derive(Debug, Error)]
pub enum BackupError {
    /// The caller names another directory.
    #[error("cannot write a backup to {}: {what}", .dir.display())]
    Refused {
        /// The directory.
        dir: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The caller waits.
    #[error("another backup is running; wait until it has ended")]
    Busy,
    /// The caller makes room, or names a directory on another file system.
    #[error("a backup needs {wanted} bytes in {} and {free} are free there; make room or choose another file system", .dir.display())]
    NoRoom {
        /// The directory.
        dir: PathBuf,
        /// What has to be written.
        wanted: u64,
        /// What may be written.
        free: u64,
    },
    /// The caller makes room for the broker first.
    #[error("the disk with the data directory is full; make room there before making a backup")]
    DiskFull,
    /// The caller looks after the original.
    #[error("{} is damaged; stop the broker and run `warren fsck`", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The store is being closed.
    #[error("the broker is stopping; make the backup when it runs again, or copy the data directory while it does not")]
    Closing,
    /// The journal is no more.
    #[error(transparent)]
    Journal(#[from] Failed),
    /// The disk said no.
    #[error("{attempt} {} failed, so no backup was made: {error}", .path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On which file.
        path: PathBuf,
        /// What it said.
        #[source]
        error: io::Error,
    },
}

/// For `map_err`: names what was attempted and on which file.
pub(super) fn attempting(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    move |error| BackupError::Io { attempt, path: path.to_owned(), error }
}
