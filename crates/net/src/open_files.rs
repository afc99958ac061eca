//! The process's limit of open files: raised at start, and survived when it is reached.

use std::fs::File;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit of open files that the process runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// How many files the process may have open at once; `None` when unlimited.
    pub limit: Option<u64>,
}

/// Raises the soft limit of open files to the hard one, as every server that holds connections has to.
///
/// Never fails: where the system refuses, the limit stays what it was, and that is what is returned.
pub fn raise_open_files_limit() -> OpenFiles {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    OpenFiles { limit: getrlimit(Resource::Nofile).current }
}

/// One file descriptor held back, so that a connection can still be accepted, and closed at once, when all others are
/// in use. Without it the connection would wait in the kernel's queue and its client would hang.
#[derive(Debug)]
pub(crate) struct SpareFile(Option<File>);

impl SpareFile {
    pub(crate) fn hold() -> Self {
        Self(File::open("/dev/null").ok())
    }

    /// Gives the descriptor up for as long as `accept` runs, and takes it back.
    pub(crate) fn lend<T>(&mut self, accept: impl FnOnce() -> T) -> T {
        self.0 = None;
        let result = accept();
        self.0 = File::open("/dev/null").ok();
        result
    }
}

/// Whether an error of `accept` says that the process or the system has no more file descriptors or buffers.
pub(crate) fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        error.raw_os_error().map(Errno::from_raw_os_error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}
