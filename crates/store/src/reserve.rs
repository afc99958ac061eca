//! Room on disk for when it is full: a segment and a checkpoint, written full of zeros ahead. (The journal keeps a file of its own.)
//!
//! A full disk must not stop what frees it: consumers acknowledge, so the journal grows and must be retired, which takes a
//! segment and a checkpoint. When one of these cannot be written, the reserved file takes its name, and its blocks with
//! it. From then until the reserve is whole again the disk counts as full: the broker stops publishers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::file::{Disk, File};
use crate::paths::Paths;

/// What a reserved file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Segment,
    Checkpoint,
}

impl Purpose {
    /// What matters most first: without a checkpoint nothing is let go.
    const ALL: [Purpose; 2] = [Purpose::Checkpoint, Purpose::Segment];

    fn path(self, paths: &Paths) -> PathBuf {
        paths.reserve().join(match self {
            Purpose::Segment => "segment",
            Purpose::Checkpoint => "checkpoint",
        })
    }
}

/// The reserved files.
pub(crate) struct Reserve {
    disk: Arc<dyn Disk>,
    paths: Paths,
    is_kept: bool,
    lens: Mutex<Lens>,
    is_in_use: AtomicBool,
}

/// What is wanted and what there is; 0: none.
#[derive(Debug, Clone, Copy)]
struct Lens {
    segment_wanted: u64,
    checkpoint_wanted: u64,
    segment: u64,
    checkpoint: u64,
    /// Of the last checkpoint that was made.
    last_checkpoint: u64,
}

impl Lens {
    fn wanted(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Segment => self.segment_wanted,
            Purpose::Checkpoint => self.checkpoint_wanted,
        }
    }

    fn present(&mut self, purpose: Purpose) -> &mut u64 {
        match purpose {
            Purpose::Segment => &mut self.segment,
            Purpose::Checkpoint => &mut self.checkpoint,
        }
    }
}

impl Reserve {
    /// Looks at what there is. Nothing is written before [`Reserve::refill`].
    pub(crate) fn open(disk: Arc<dyn Disk>, paths: Paths, lens: (u64, u64), is_kept: bool) -> io::Result<Self> {
        disk.create_dir(&paths.reserve())?;
        let (segment_wanted, checkpoint_wanted) = lens;
        let mut lens = Lens { segment_wanted, checkpoint_wanted, segment: 0, checkpoint: 0, last_checkpoint: 0 };
        for purpose in Purpose::ALL {
            match disk.open(&purpose.path(&paths)) {
                Ok(file) => *lens.present(purpose) = file.len()?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Reserve { disk, paths, is_kept, lens: Mutex::new(lens), is_in_use: AtomicBool::new(false) })
    }

    /// Creates a file and fills it; if the disk is full, does so in the reserved one, which gets its name.
    pub(crate) fn create<T>(
        &self,
        purpose: Purpose,
        path: &Path,
        fill: &mut dyn FnMut(Box<dyn File>) -> io::Result<T>,
    ) -> io::Result<T> {
        match self.disk.create(path).and_then(&mut *fill) {
            Err(error) if is_full(&error) => {
                let _ = self.disk.remove(path); // it may not have come to exist
                match self.take(purpose, path)? {
                    Some(file) => fill(file),
                    None => Err(error),
                }
            }
            outcome => outcome,
        }
    }

    fn take(&self, purpose: Purpose, path: &Path) -> io::Result<Option<Box<dyn File>>> {
        let mut lens = self.lens.lock();
        self.is_in_use.store(true, Ordering::Release);
        if *lens.present(purpose) == 0 {
            return Ok(None);
        }
        let file = {
            let renamed = self.disk.rename(&purpose.path(&self.paths), path);
            *lens.present(purpose) = 0;
            match renamed {
                // The operator has removed it, to make room.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                renamed => renamed?,
            }
            // Before anything is written: a crash must not leave it two names.
            self.disk.sync_dir(&self.paths.reserve())?;
            self.disk.sync_dir(path.parent().unwrap_or(self.paths.dir()))?;
            self.disk.open(path)?
        };
        tracing::error!(path = %path.display(), "disk is full, the reserve is being used");
        Ok(Some(file))
    }

    /// Whether something was taken that is not there again, or found no room.
    pub(crate) fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::Acquire)
    }

    /// A checkpoint has become so long; the next one may be longer.
    pub(crate) fn note_checkpoint_len(&self, len: u64) {
        let mut lens = self.lens.lock();
        lens.last_checkpoint = len;
        if len > lens.checkpoint_wanted / 2 {
            lens.checkpoint_wanted = len * 4;
        }
    }

    /// Length of the last checkpoint that this process made; 0: none yet.
    pub(crate) fn checkpoint_len(&self) -> u64 {
        self.lens.lock().last_checkpoint
    }

    /// Something for which nothing is reserved found no room: the disk counts as full until there is.
    pub(crate) fn note(&self, error: &io::Error) {
        if is_full(error) {
            self.is_in_use.store(true, Ordering::Release);
        }
    }

    /// Whether [`Reserve::refill`] has something to do.
    pub(crate) fn is_wanting(&self) -> bool {
        let mut lens = *self.lens.lock();
        let is_short = |purpose| *lens.present(purpose) < lens.wanted(purpose);
        self.is_in_use() || (self.is_kept && Purpose::ALL.into_iter().any(is_short))
    }

    /// Makes the reserve whole, as far as there is room; says whether it is.
    pub(crate) fn refill(&self) -> io::Result<bool> {
        for purpose in Purpose::ALL {
            if !self.refill_for(purpose)? {
                return Ok(false);
            }
        }
        if self.is_in_use() {
            let segment_wanted = self.lens.lock().segment_wanted;
            if self.disk.free_space(&self.paths.reserve())? < segment_wanted {
                return Ok(false);
            }
            self.is_in_use.store(false, Ordering::Release);
            tracing::info!("disk has room again, the reserve is whole");
        }
        Ok(true)
    }

    /// As [`Reserve::refill`], for one purpose.
    pub(crate) fn refill_for(&self, purpose: Purpose) -> io::Result<bool> {
        let (wanted, present) = {
            let mut lens = self.lens.lock();
            (lens.wanted(purpose), *lens.present(purpose))
        };
        if !self.is_kept || present >= wanted {
            return Ok(true);
        }
        // A checkpoint's room is the last that may be lacking. For a segment's others need some beside it.
        let room_len = match purpose {
            Purpose::Checkpoint => wanted,
            Purpose::Segment => wanted.saturating_mul(2),
        };
        if self.disk.free_space(&self.paths.reserve())? < room_len {
            return Ok(false);
        }
        self.allocate(purpose, wanted)
    }

    fn allocate(&self, purpose: Purpose, len: u64) -> io::Result<bool> {
        let dir = self.paths.reserve();
        let path = purpose.path(&self.paths);
        let file = match self.disk.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.disk.create(&path)?,
            opened => opened?,
        };
        let allocated = file.allocate(len).and_then(|()| file.fdatasync()).and_then(|()| self.disk.sync_dir(&dir));
        match allocated {
            Err(error) if is_full(&error) => {
                let _ = self.disk.remove(&path); // tried again later
                *self.lens.lock().present(purpose) = 0;
                Ok(false)
            }
            Err(error) => Err(error),
            Ok(()) => {
                *self.lens.lock().present(purpose) = len;
                Ok(true)
            }
        }
    }
}

/// Whether there is no room for what was to be written.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Faults, SimDisk};

    const DIR: &str = "/data";

    fn names(disk: &SimDisk) -> Vec<String> {
        disk.list(&Paths::new(Path::new(DIR)).reserve()).unwrap()
    }

    /// The segment came first and found no room; so neither did the next checkpoint, which would have made some.
    #[test]
    fn a_checkpoint_has_room_again_before_a_segment_has() {
        let disk = SimDisk::new(0);
        disk.set_faults(Faults { capacity: Some(150_000), ..Faults::default() });
        let paths = Paths::new(Path::new(DIR));
        let reserve = Reserve::open(Arc::new(disk.clone()), paths, (100_000, 50_000), true).unwrap();
        assert!(!reserve.refill().unwrap() && reserve.is_wanting());
        assert_eq!(names(&disk), ["checkpoint"]);
        disk.set_faults(Faults::default());
        assert!(reserve.refill().unwrap() && !reserve.is_wanting());
        assert_eq!(names(&disk), ["checkpoint", "segment"]);
    }
}
