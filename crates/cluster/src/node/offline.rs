//! What an operator does to the directory of a node that does not run.

use std::io;
use std::path::{Path, PathBuf};

use store::file::Disk;
use store::{DataDir, DirError, OpenError};

use super::files::{FileError, NodeFiles};

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The directory is in use, or its files cannot be used.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The directory is in use, or no data directory.
    #[error(transparent)]
    Directory(#[from] DirError),
    /// A file beside the store.
    #[error(transparent)]
    File(#[from] FileError),
    /// It cannot be read.
    #[error("reading {} failed: {error}", .dir.display())]
    Io {
        /// The directory.
        dir: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// There is nothing to accept.
    #[error("data directory {} belongs to no cluster: a node that runs alone may be copied as it is", .0.display())]
    NoMember(PathBuf),
    /// Its peers know better.
    #[error("{0}")]
    Lost(String),
}

/// Makes a member's directory that of a node alone, with all that its log has. Returns whose it was; `None`: no member's. To be done again
/// where it was cut short.
///
/// # Errors
///
/// A process has it open, it is no data directory, or the disk said no.
pub fn force_boot(disk: &dyn Disk, dir: &Path) -> Result<Option<String>, OfflineError> {
    // First of all what makes it a member's: from then on it is a node's alone, whatever is left.
    let identity = store::group::stand_alone(disk, dir)?;
    NodeFiles::open(dir)?.forget_all()?;
    Ok(identity.map(|identity| identity.name))
}

/// Takes a copy of a member's directory for the original. Returns whose it is.
///
/// # Errors
///
/// A process has it open, it is no member's, its peers have found it to be older, or the disk said no.
pub fn accept_copy(disk: &dyn Disk, dir: &Path) -> Result<String, OfflineError> {
    let failed = |error| OfflineError::Io { dir: dir.to_owned(), error };
    // Before the directory is opened, which makes one that is not there.
    let identity = store::group::identity_of(disk, dir).map_err(failed)?;
    let identity = identity.ok_or_else(|| OfflineError::NoMember(dir.to_owned()))?;
    let _ours = DataDir::open(disk, dir)?;
    let files = NodeFiles::open(dir)?;
    if let Some(why) = files.lost()? {
        return Err(OfflineError::Lost(why));
    }
    files.seal()?;
    Ok(identity.name)
}
