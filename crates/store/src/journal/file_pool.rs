//! The journal's files under their lock, and the two threads that wait at it: the preallocator for something to do, the writer for a file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::files::{Files, PreparedFile};

/// [`Files`] under their lock, and how much of them is in use.
pub(crate) struct FilePool {
    files: Mutex<Files>,
    /// Bytes in use; seen without the lock.
    unretired_len: AtomicU64,
    /// The preallocator waits here, with `files`.
    job_added: Condvar,
    /// The writer waits here for a file, with `files`.
    file_added: Condvar,
}

impl FilePool {
    pub(crate) fn new(files: Files) -> FilePool {
        let unretired_len = files.spans().iter().map(|span| span.used_len).sum();
        FilePool {
            files: Mutex::new(files),
            unretired_len: AtomicU64::new(unretired_len),
            job_added: Condvar::new(),
            file_added: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock()
    }

    /// A file in which a commit of this length fits; `None`: the preallocator has to make one.
    pub(crate) fn take_prepared(&self, disk_len: u64) -> Option<PreparedFile> {
        let mut files = self.files.lock();
        let file = files.take_prepared(disk_len);
        if file.is_none() {
            files.want(disk_len);
        }
        file
    }

    /// As [`FilePool::take_prepared`], for the writer that makes a file itself if there is none: it waits for no other.
    pub(crate) fn take_prepared_if_any(&self, disk_len: u64) -> Option<PreparedFile> {
        let mut files = self.files.lock();
        let file = files.take_prepared(disk_len);
        files.want_none();
        file
    }

    /// Bytes in use.
    pub(crate) fn unretired_len(&self) -> u64 {
        self.unretired_len.load(Ordering::SeqCst)
    }

    /// So many more bytes are in use.
    pub(crate) fn grow_unretired(&self, len: u64) {
        self.unretired_len.fetch_add(len, Ordering::SeqCst);
    }

    /// So many bytes are in use no longer.
    pub(crate) fn shrink_unretired(&self, len: u64) {
        self.unretired_len.fetch_sub(len, Ordering::SeqCst);
    }

    /// There may be something to do for the preallocator.
    pub(crate) fn wake_preallocator(&self) {
        self.job_added.notify_one();
    }

    /// The preallocator ends with what it is doing.
    pub(crate) fn stop_preallocator(&self) {
        self.files.lock().stop();
        self.job_added.notify_one();
    }

    /// There may be a file for the writer, or a reason to wait for none.
    pub(crate) fn wake_writer(&self) {
        // Under the lock, so that the writer is not between asking and waiting.
        drop(self.files.lock());
        self.file_added.notify_one();
    }

    /// The preallocator waits until there is something to do, or for a while.
    pub(crate) fn wait_for_job(&self, files: &mut MutexGuard<'_, Files>, time: Option<Duration>) {
        match time {
            None => self.job_added.wait(files),
            Some(time) => drop(self.job_added.wait_for(files, time)),
        }
    }

    /// The writer waits until there may be a file for it.
    pub(crate) fn wait_for_file(&self, files: &mut MutexGuard<'_, Files>) {
        self.file_added.wait(files);
    }
}
