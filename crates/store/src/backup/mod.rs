//! A copy of the data directory while the store keeps working.
//!
//! What is copied is what a power cut would have left at one moment: the checkpoint that is in force, the segments it names, and the
//! journal
//! up to where it is synced, with zeros behind. So the copy needs no format of its own, and opening it is an ordinary start.
//!
//! 1. Under the checkpointer's lock, for an instant: note the manifest, *pin* the files it names, take a *snapshot* of the journal's files.
//! 2. Link the segments and the checkpoint, which never change, into a directory with a temporary name. What cannot be linked is copied
//!    in (4).
//! 3. Copy the journal, whose files are used again and again; let go of it.
//! 4. Copy what could not be linked; unpin.
//! 5. Write format, how far the journal is synced, and manifest, sync all names, give the directory its final name.
//!
//! What is pinned is not removed, what is kept is not written over; everything else continues: appending, checkpoints, retiring (new
//! journal files are made meanwhile), reclaiming. All of it costs space and nothing else. If the disk runs out of space, the backup gives
//! way.
//!
//! Lock file, reserve, spare journal files and messages that need not last are not copied.

mod copy;
mod error;
mod target;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::ids::{JournalPosition, SegmentId};
use parking_lot::MutexGuard;

use crate::directory::format_text;
use crate::file::{self, Disk, File};
use crate::journal::{SnapshotGuard, synced_file_of};
use crate::manifest::{Manifest, file_of};
use crate::reserve::is_full;
use crate::shared::Shared;
use copy::Copy;
use error::attempting;
use target::Target;

pub use error::BackupError;

/// Copying reads and writes so much at once.
const PIECE_LEN: usize = 1 << 20;
/// So many files are linked in one step.
const LINK_COUNT: usize = 64;
/// Copying sleeps when it is so much ahead of its rate.
const PACE_MIN: Duration = Duration::from_millis(5);
/// Room for format, manifest and directories.
const FIXED_LEN: u64 = 1 << 20;

/// A copy that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The new data directory.
    pub dir: PathBuf,
    /// All that was durable up to here is in it.
    pub end: JournalPosition,
    /// Bytes of all its files.
    pub len: u64,
    /// Those of them that are in files which both directories have, as long as both have them.
    pub linked_len: u64,
    /// How many segments are in it.
    pub segment_count: usize,
}

/// Makes a backup at its rate.
pub(crate) fn run(shared: &Shared, to: &Path) -> Result<Backup, BackupError> {
    let mut making = BackupInProgress::begin(shared, to, PIECE_LEN)?;
    let start = Instant::now();
    let mut copied = 0;
    loop {
        match making.step()? {
            Step::Ended(backup) => return Ok(backup),
            Step::Copied(len) => copied += len,
        }
        let due = Duration::from_secs_f64(copied as f64 / shared.options.backup_rate_per_s.max(1) as f64);
        let ahead = due.saturating_sub(start.elapsed());
        if ahead > PACE_MIN {
            shared.closing.sleep(ahead);
        }
    }
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Wrote so many bytes.
    Copied(u64),
    /// It is there.
    Ended(Backup),
}

/// A file that may be linked.
struct Linkable {
    from: PathBuf,
    to: PathBuf,
    len: u64,
}

/// A backup under way. Dropped before its end, it takes away what it has made.
pub(crate) struct BackupInProgress<'a> {
    shared: &'a Shared,
    manifest: Manifest,
    target: Target<'a>,
    linkable: VecDeque<Linkable>,
    /// What could not be linked.
    unlinked: VecDeque<Linkable>,
    /// The journal's files; present until they have been copied.
    snapshot: Option<SnapshotGuard>,
    /// Journal files to copy, and how much of each; known when linking is over.
    journal: Option<VecDeque<(usize, u64)>>,
    copy: Option<Copy>,
    piece: Vec<u8>,
    backup: Backup,
    // Unpinned after the files above are closed, and free for another backup at last.
    _pins: Pins<'a>,
    _alone: MutexGuard<'a, ()>,
}

impl<'a> BackupInProgress<'a> {
    /// Looks whether `to` will do, and notes what is to be copied.
    pub(crate) fn begin(shared: &'a Shared, to: &Path, piece_len: usize) -> Result<Self, BackupError> {
        let alone = shared.backup.try_lock().ok_or(BackupError::Busy)?;
        check(shared)?;
        let target = Target::create(shared.dir.disk(), to, shared.dir.paths().dir())?;
        // With confirms after the write, what they were sent for may not be synced yet.
        shared.wait_synced(shared.journal.durable())?;
        let (pins, manifest, snapshot, segments) = Pins::pin(shared);
        let segment_count = segments.len();
        let linkable = linkable(shared, &target, &manifest, segments);
        let backup = Backup { dir: target.dir().to_owned(), end: snapshot.end, len: 0, linked_len: 0, segment_count };
        Ok(BackupInProgress {
            shared,
            manifest,
            target,
            linkable,
            unlinked: VecDeque::new(),
            snapshot: Some(snapshot),
            journal: None,
            copy: None,
            piece: vec![0; piece_len],
            backup,
            _pins: pins,
            _alone: alone,
        })
    }

    /// Does the next bit.
    pub(crate) fn step(&mut self) -> Result<Step, BackupError> {
        check(self.shared)?;
        if !self.linkable.is_empty() {
            return self.link();
        }
        if self.journal.is_none() {
            self.journal = Some(self.measure()?);
        }
        if let Some(copy) = &mut self.copy {
            let copied = copy.step(&mut self.piece);
            match copied.map_err(|error| self.out_of_room(error))? {
                0 => self.copy = None,
                len => return Ok(Step::Copied(len)),
            }
        }
        match self.next_copy()? {
            Some(copy) => {
                self.backup.len += copy.len();
                self.copy = Some(copy);
                Ok(Step::Copied(0))
            }
            None => self.finish(),
        }
    }

    fn disk(&self) -> &'a dyn Disk {
        self.shared.dir.disk()
    }

    fn link(&mut self) -> Result<Step, BackupError> {
        for _ in 0..LINK_COUNT {
            let Some(file) = self.linkable.pop_front() else { break };
            match self.disk().link(&file.from, &file.to) {
                Ok(()) => {
                    self.backup.len += file.len;
                    self.backup.linked_len += file.len;
                }
                Err(error) if may_be_copied(&error) => self.unlinked.push_back(file),
                Err(error) => return Err(attempting("linking", &file.from)(error)),
            }
        }
        Ok(Step::Copied(0))
    }

    /// How much of each journal file is to be copied; an error if there is no room for that and what could not be linked.
    fn measure(&self) -> Result<VecDeque<(usize, u64)>, BackupError> {
        let mut journal = VecDeque::new();
        let mut wanted = FIXED_LEN + self.unlinked.iter().map(|file| file.len).sum::<u64>();
        for (index, kept) in self.snapshot.iter().flat_map(|snapshot| &snapshot.files).enumerate() {
            let used_len = kept.used_len().map_err(attempting("reading", &kept.path))?;
            let used_len = used_len.ok_or_else(|| BackupError::Damaged { path: kept.path.clone() })?;
            journal.push_back((index, used_len));
            wanted += kept.len;
        }
        let free = self.free_space()?;
        if free < wanted {
            return Err(BackupError::NoRoom { dir: self.backup.dir.clone(), wanted, free });
        }
        Ok(journal)
    }

    fn free_space(&self) -> Result<u64, BackupError> {
        let dir = self.target.temporary().dir();
        self.disk().free_space(dir).map_err(attempting("looking for free space in", dir))
    }

    /// The next file to copy: the journal first, so that its files can be used again.
    fn next_copy(&mut self) -> Result<Option<Copy>, BackupError> {
        let next = self.journal.as_mut().and_then(VecDeque::pop_front);
        if let (Some((index, used_len)), Some(snapshot)) = (next, &self.snapshot) {
            let kept = &snapshot.files[index];
            let to = self.target.temporary().journal().join(kept.path.file_name().unwrap_or_default());
            let file = self.create(&to)?;
            return Ok(Some(Copy::new(kept.file.clone(), file, (kept.path.clone(), to), used_len, kept.len)));
        }
        self.snapshot = None;
        let Some(Linkable { from, to, len }) = self.unlinked.pop_front() else { return Ok(None) };
        let source = self.disk().open(&from).map_err(attempting("opening", &from))?;
        let found = source.len().map_err(attempting("reading", &from))?;
        if found != len {
            return Err(BackupError::Damaged { path: from });
        }
        let file = self.create(&to)?;
        Ok(Some(Copy::new(source.into(), file, (from, to), len, len)))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn File>, BackupError> {
        let created = self.disk().create(path).map_err(attempting("creating", path));
        created.map_err(|error| self.out_of_room(error))
    }

    /// Says so if that is what it is.
    fn out_of_room(&self, error: BackupError) -> BackupError {
        match (&error, self.free_space()) {
            (BackupError::Io { error: io, .. }, Ok(free)) if is_full(io) => {
                let rest = self.unlinked.iter().map(|file| file.len).sum::<u64>();
                let wanted = self.copy.as_ref().map_or(0, Copy::rest_len) + rest + FIXED_LEN;
                BackupError::NoRoom { dir: self.backup.dir.clone(), wanted, free }
            }
            _ => error,
        }
    }

    fn finish(&mut self) -> Result<Step, BackupError> {
        let paths = self.target.temporary().clone();
        for dir in [paths.journal(), paths.checkpoints(), paths.segments()] {
            self.disk().sync_dir(&dir).map_err(attempting("syncing", &dir))?;
        }
        // The manifest last: without it, what there is is no data directory.
        let files = [
            (paths.format(), format_text().into_bytes()),
            (paths.synced(), synced_file_of(self.backup.end)),
            (paths.manifest(), file_of(&self.manifest)),
        ];
        for (path, bytes) in files {
            let written = file::replace(self.disk(), &path, &bytes).map_err(attempting("writing", &path));
            written.map_err(|error| self.out_of_room(error))?;
            self.backup.len += bytes.len() as u64;
        }
        self.target.finish()?;
        tracing::info!(dir = %self.backup.dir.display(), len = self.backup.len, end = self.backup.end.0, "backup written");
        Ok(Step::Ended(self.backup.clone()))
    }
}

/// Whether going on makes sense.
fn check(shared: &Shared) -> Result<(), BackupError> {
    if shared.closing.has_begun() {
        return Err(BackupError::Closing);
    }
    if let Some(failed) = shared.journal.failure() {
        return Err(failed.into());
    }
    // What a backup holds is what others need now.
    if shared.is_disk_full() { Err(BackupError::DiskFull) } else { Ok(()) }
}

/// Whether a file that cannot be linked can be copied: it is to be on another file system, or on one without links or with few.
fn may_be_copied(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported)
}

fn linkable(
    shared: &Shared,
    target: &Target<'_>,
    manifest: &Manifest,
    segments: Vec<(SegmentId, u64)>,
) -> VecDeque<Linkable> {
    let (paths, copied) = (shared.dir.paths(), target.temporary());
    let checkpoint = manifest.checkpoint.map(|file| Linkable {
        from: paths.checkpoint(file.number),
        to: copied.checkpoint(file.number),
        len: file.len,
    });
    let segments =
        segments.into_iter().map(|(id, len)| Linkable { from: paths.segment(id), to: copied.segment(id), len });
    checkpoint.into_iter().chain(segments).collect()
}

/// Files that are not removed before this is dropped.
struct Pins<'a> {
    shared: &'a Shared,
}

impl<'a> Pins<'a> {
    /// Pins what the manifest's checkpoint names, and holds the journal that continues it.
    fn pin(shared: &'a Shared) -> (Self, Manifest, SnapshotGuard, Vec<(SegmentId, u64)>) {
        let mut checkpointer = shared.checkpointer.lock();
        let manifest = checkpointer.current().clone();
        let named = checkpointer.pin();
        // Nothing is retired without the lock.
        (Pins { shared }, manifest, shared.journal.snapshot(), named)
    }
}

impl Drop for Pins<'_> {
    fn drop(&mut self) {
        self.shared.checkpointer.lock().unpin();
        // What should have been removed meanwhile is removed now.
        self.shared.signals.reclaim.raise();
    }
}
