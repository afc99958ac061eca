//! Makes files ready before they are needed, and gets retired ones ready again.

use std::io;
use std::sync::Arc;

use super::congestion::Cause;
use super::files::{ClosedFile, Job, PreparedFile};
use super::room::make_room;
use super::shared::Shared;
use crate::file::{File, PAGE_LEN, is_out_of_reach, write_all_at};
use crate::reserve::is_full;

/// A new file's zeros are synced after so many bytes.
const FILL_STEP_LEN: u64 = 4 << 20;

/// What [`FilePreallocator::prepare_once`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preallocation {
    /// Nothing is to be done.
    Idle,
    /// One file is ready, or removed.
    Done,
    /// The disk is full, or fails; to be tried again later.
    Stalled,
}

/// The one that prepares files. A thread calls [`FilePreallocator::prepare_once`] when there is something to do; tests call it by hand.
pub struct FilePreallocator {
    shared: Arc<Shared>,
}

impl FilePreallocator {
    pub(crate) fn new(shared: Arc<Shared>) -> FilePreallocator {
        FilePreallocator { shared }
    }

    /// Prepares or recycles one file.
    pub(crate) fn prepare_once(&mut self) -> Preallocation {
        let Some(job) = self.shared.files.lock().take_job() else {
            // The writer may have taken what it waited for, when all else was ready already.
            if self.shared.is_reserve_refilled(&self.shared.files.lock()) {
                self.shared.congestion.remove(Cause::Reserve);
            }
            return Preallocation::Idle;
        };
        let result = match job {
            Job::Create(len) => self.create(len),
            Job::Recycle(file) => self.recycle(file),
        };
        let has_enough = {
            let mut files = self.shared.files.lock();
            files.set_stalled(result.is_err());
            files.has_enough_prepared()
        };
        self.shared.files.wake_writer();
        if let Err(error) = &result
            && is_out_of_reach(error)
        {
            let dir = self.shared.dir.display();
            self.shared.fail(&format!("no more files can be prepared in {dir} ({error})"));
        }
        match result {
            Ok(()) if has_enough => self.shared.congestion.remove(Cause::Reserve),
            Ok(()) => {}
            Err(error) if has_enough => {
                tracing::warn!(%error, "recycling a journal file failed");
                return Preallocation::Stalled;
            }
            Err(error) => {
                if !self.shared.congestion.has(Cause::Reserve) {
                    tracing::error!(%error, dir = %self.shared.dir.display(), "preparing a journal file failed");
                }
                self.shared.congestion.add(Cause::Reserve);
                return Preallocation::Stalled;
            }
        }
        Preallocation::Done
    }

    fn create(&mut self, len: u64) -> io::Result<()> {
        let created = match create(&self.shared, len) {
            Err(error) if is_full(&error) && make_room(&self.shared, len) => create(&self.shared, len),
            created => created,
        };
        self.shared.add_prepared(created?);
        Ok(())
    }

    fn recycle(&mut self, file: ClosedFile) -> io::Result<()> {
        if !self.shared.files.lock().is_recyclable(&file) {
            return self.remove(file);
        }
        // Not synced: a retired file's header is behind all that recovery reads. Without it, the loss of a file that is
        // still needed cannot hide behind an old one.
        if let Err(error) = write_all_at(file.file.as_ref(), &[0; PAGE_LEN], 0) {
            self.shared.files.lock().put_back(ClosedFile { is_trusted: false, ..file });
            return Err(error);
        }
        let ClosedFile { path, file, len, .. } = file;
        self.shared.add_prepared(PreparedFile { path, file, len });
        Ok(())
    }

    fn remove(&mut self, file: ClosedFile) -> io::Result<()> {
        let removed = match self.shared.dir.remove(&file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.shared.dir.sync(),
        };
        if removed.is_err() {
            self.shared.files.lock().put_back(file);
        }
        removed
    }
}

/// A new file of this length, its space taken, its name on disk.
fn create(shared: &Shared, len: u64) -> io::Result<PreparedFile> {
    // Before anything is written: other programs that need room must not find the disk full to its last byte once a second.
    if shared.dir.free_space().is_ok_and(|free| free < len) {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let path = shared.files.lock().take_path();
    let file = shared.dir.create(&path)?;
    if let Err(error) = fill(file.as_ref(), len).and_then(|()| shared.dir.sync()) {
        drop(file);
        // Best effort: a file that is left over is short or has no header, and the next start removes or uses it.
        let _ = shared.dir.remove(&path);
        return Err(error);
    }
    Ok(PreparedFile { path, file: file.into(), len })
}

/// Step by step, so that the writer's syncs never queue behind more than one step's zeros.
fn fill(file: &dyn File, len: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < len {
        filled = len.min(filled + FILL_STEP_LEN);
        file.allocate(filled)?;
        file.fdatasync()?;
    }
    Ok(())
}

/// A file in which commits of this length fit, at once.
pub(crate) fn take_or_create(shared: &Shared, payload_len: u64) -> io::Result<PreparedFile> {
    if let Some(prepared) = shared.take_prepared_if_any(payload_len) {
        return Ok(prepared);
    }
    let len = shared.files.lock().len_for(payload_len);
    create(shared, len)
}
