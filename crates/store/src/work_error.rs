//! Why the store's own work fails.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::file::is_out_of_reach;
use crate::journal::Failed;
use crate::segment::ReadError;

/// Why the store could not do its own work: retire, checkpoint, reclaim.
#[derive(Debug, Error)]
pub enum WorkError {
    /// The disk said no.
    #[error("{attempt} {} failed: {error}", .path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On which file.
        path: PathBuf,
        /// What it said.
        #[source]
        error: io::Error,
    },
    /// A segment could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The journal is no more.
    #[error(transparent)]
    Journal(#[from] Failed),
    /// The store is being closed.
    #[error("the store is being closed")]
    Closing,
}

impl WorkError {
    /// Whether files cannot be created, written or removed in the data directory at all, which waiting does not mend.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        matches!(self, WorkError::Io { error, .. } if is_out_of_reach(error))
    }
}

/// For `map_err`: names what was attempted and on which file.
pub(crate) fn attempting(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkError {
    move |error| WorkError::Io { attempt, path: path.to_owned(), error }
}
