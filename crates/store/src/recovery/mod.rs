//! From files to state: manifest, checkpoint, then the journal from the checkpoint's position on. Messages of a backlog are not read.
//!
//! The checkpoint is fuzzy, so replay repeats things that are in it already. The rules that make this harmless:
//!
//! - A published message that is in a segment which the checkpoint names is not taken from the journal.
//! - A settlement takes messages out of memory, and sets bits of segments that may be set.
//! - Definitions are put and deleted again, in order; the last one wins. A dropped queue takes all of its messages with it.
//! - The next seq of a queue is above every seq that any record names, so none is ever given out twice.
//!
//! Where a range has holes, only the segment's footer lists which seqs are in it, so what is undecided is kept until the journal has
//! been read, and decided segment by segment: see `resolve`.

mod messages;
mod replay;
mod resolve;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::ids::{QueueId, QueueSeq, SegmentId};
use thiserror::Error;

use crate::bitmap::Bitmap;
use crate::checkpoint::{Checkpoint, SegmentState};
use crate::checkpoint_copy;
use crate::directory::DirError;
use crate::file::Disk;
use crate::journal;
use crate::manifest::{CheckpointFile, ManifestError, ManifestFile};
use crate::paths::Paths;
use crate::queue_owner::{QueueState, RecoveredRange, Returns};
use crate::segment::{Footer, ReadError, SegmentFile};
use crate::{ChunkWriter, Content};
use replay::Replay;

/// Why a store could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory cannot be used by this process.
    #[error(transparent)]
    Directory(#[from] DirError),
    /// A file is not what was written, and was on disk when something relied on it.
    #[error(
        "{} is damaged at byte {offset}: {what}; `warren fsck` reports what is left, `warren fsck --repair` removes it",
        .path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The journal could not be opened.
    #[error(transparent)]
    Journal(#[from] journal::OpenError),
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
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Corrupt { path, offset, what } => OpenError::Corrupt { path, offset, what: what.to_owned() },
            ReadError::Io { path, error } => OpenError::Io { attempt: "reading", path, error },
        }
    }
}

/// For `map_err`: names what was attempted and on which file.
pub(crate) fn attempting(attempt: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> OpenError {
    move |error| OpenError::Io { attempt, path: path.to_owned(), error }
}

/// What a start found.
#[derive(Debug, Default)]
pub struct RecoveredStore {
    /// The definitions, by key.
    pub definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The queues that records, checkpoint or segments name.
    pub queues: HashMap<QueueId, RecoveredQueue>,
    /// The store was closed, and nothing happened since.
    pub was_clean: bool,
}

/// What a start found of one queue.
#[derive(Debug)]
pub struct RecoveredQueue {
    /// The seq that its next message gets.
    pub next_seq: QueueSeq,
    /// No message above has been delivered; `None` if any may have been.
    pub watermark: Option<QueueSeq>,
    /// Messages in segments, by rising seq in each lane.
    pub ranges: Vec<RecoveredRange>,
    /// Messages in memory, by rising seq.
    pub messages: Vec<(QueueSeq, Content)>,
    /// How often messages have been delivered, as far as that was recorded.
    pub returned: Vec<(QueueSeq, Returns)>,
    /// Whether some message in segments may have a time to live of its own.
    pub may_expire: bool,
}

/// All that a start knows when it has read everything.
pub(crate) struct StartupState {
    pub(crate) recovered: RecoveredStore,
    pub(crate) manifest: ManifestFile,
    /// The checkpoint is damaged, and its copy was read.
    pub(crate) is_copy_used: bool,
    pub(crate) journal: journal::Recovery,
    pub(crate) segments: Vec<SegmentState>,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) returned: Vec<(QueueId, QueueSeq, Returns)>,
    pub(crate) next_segment: u32,
    pub(crate) next_checkpoint: u64,
}

/// Reads everything that a start needs; changes nothing but a new store's first files.
pub(crate) fn recover(
    disk: &Arc<dyn Disk>,
    paths: &Paths,
    contents: &mut ChunkWriter,
) -> Result<StartupState, OpenError> {
    for dir in [paths.checkpoints(), paths.segments(), paths.transient()] {
        disk.create_dir(&dir).map_err(attempting("creating", &dir))?;
    }
    let manifest = open_manifest(&**disk, paths)?;
    let current = manifest.current();
    let (checkpoint, is_copy_used) = match current.checkpoint {
        Some(file) => read_checkpoint_or_copy(&**disk, paths, file)?,
        None => (Checkpoint::empty(), false),
    };
    let queues = checkpoint.queues.clone();
    let returned = checkpoint.returned.clone();
    let next_segment = next_segment(&**disk, paths, checkpoint.next_segment)?;
    check_segments(&**disk, paths, &checkpoint.segments)?;

    let mut journal =
        journal::Recovery::open(disk.clone(), &paths.journal(), current.position, current.journal_generation_min)?;
    let mut replay = Replay::new(checkpoint);
    let mut thinned = Ok(());
    journal.replay(contents, &mut |_, record| {
        replay.apply(record);
        if thinned.is_ok() {
            thinned = replay.thin_out(&**disk, paths);
        }
    })?;
    thinned?;
    let (recovered, segments) = replay.finish(&**disk, paths)?;
    let next_checkpoint = list(&**disk, &paths.checkpoints())?
        .iter()
        .filter_map(|name| Paths::checkpoint_number(name))
        .chain(current.checkpoint.map(|file| file.number))
        .max()
        .unwrap_or(0)
        + 1;
    Ok(StartupState {
        recovered,
        manifest,
        is_copy_used,
        journal,
        segments,
        queues,
        returned,
        next_segment,
        next_checkpoint,
    })
}

/// Deletes what nothing names: segments and checkpoints of a crash half-way, and transient segments. Files with other names than the
/// store gives are not its own.
pub(crate) fn remove_orphans(disk: &dyn Disk, paths: &Paths, found: &mut StartupState) -> Result<(), OpenError> {
    // Else a power cut could bring back another manifest, whose files would no longer exist.
    found.manifest.write_again(disk, &paths.manifest()).map_err(attempting("writing", &paths.manifest()))?;
    let in_force = found.manifest.current().checkpoint.map(|file| file.number);
    for name in list(disk, &paths.checkpoints())? {
        let number = Paths::checkpoint_number(&name).or_else(|| Paths::copy_number(&name));
        if number.is_some_and(|number| Some(number) != in_force) {
            remove(disk, paths.checkpoints().join(name))?;
        }
    }
    for name in list(disk, &paths.segments())? {
        let Some(id) = Paths::segment_id(&name) else { continue };
        if found.segments.binary_search_by_key(&id, |segment| segment.id).is_err() {
            remove(disk, paths.segments().join(name))?;
        }
    }
    for name in list(disk, &paths.transient())? {
        if Paths::segment_id(&name).is_some() {
            remove(disk, paths.transient().join(name))?;
        }
    }
    Ok(())
}

fn remove(disk: &dyn Disk, path: PathBuf) -> Result<(), OpenError> {
    tracing::debug!(path = %path.display(), "unused files removed");
    disk.remove(&path).map_err(attempting("removing", &path))
}

fn list(disk: &dyn Disk, dir: &std::path::Path) -> Result<Vec<String>, OpenError> {
    disk.list(dir).map_err(attempting("listing", dir))
}

/// Opens the manifest, or makes the first one. One that is invalid beside an empty journal is a first one whose making was cut short.
pub(crate) fn open_manifest(disk: &dyn Disk, paths: &Paths) -> Result<ManifestFile, OpenError> {
    let path = paths.manifest();
    let damaged = match ManifestFile::open(disk, &path) {
        Ok(manifest) => return Ok(manifest),
        Err(ManifestError::Io(error)) => return Err(attempting("reading", &path)(error)),
        Err(damaged) => damaged,
    };
    let has_journal = match disk.list(&paths.journal()) {
        Ok(names) => !names.is_empty(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(attempting("listing", &paths.journal())(error)),
    };
    if has_journal || !list(disk, &paths.segments())?.is_empty() {
        return Err(OpenError::Corrupt { path, offset: 0, what: damaged.to_string() });
    }
    ManifestFile::create(disk, &path).map_err(attempting("creating", &path))
}

/// Sees to it that the checkpoint is there twice. A failure is logged and left: one of the two has been read.
pub(crate) fn mend_checkpoint(disk: &dyn Disk, paths: &Paths, found: &StartupState) {
    let Some(file) = found.manifest.current().checkpoint else { return };
    let mended = if found.is_copy_used {
        checkpoint_copy::restore(disk, paths, file)
    } else if checkpoint_copy::is_there(disk, paths, file) {
        Ok(())
    } else {
        let path = paths.checkpoint_copy(file.number);
        let has_room = disk.free_space(&paths.checkpoints()).is_ok_and(|free| free >= 2 * file.len);
        let room = if has_room { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) };
        room.and_then(|()| checkpoint_copy::make(disk, paths, file))
            .and_then(|()| disk.sync_dir(&paths.checkpoints()))
            .map_err(attempting("writing", &path))
    };
    if let Err(error) = mended {
        tracing::warn!(%error, "the checkpoint is there only once");
    }
}

/// Reads the checkpoint that the manifest names, or its copy: which of them says the second value.
fn read_checkpoint_or_copy(
    disk: &dyn Disk,
    paths: &Paths,
    file: CheckpointFile,
) -> Result<(Checkpoint, bool), OpenError> {
    let error = match read_checkpoint(disk, &paths.checkpoint(file.number), file) {
        Ok(checkpoint) => return Ok((checkpoint, false)),
        Err(error) => error,
    };
    let copy = paths.checkpoint_copy(file.number);
    let Ok(checkpoint) = read_checkpoint(disk, &copy, file) else { return Err(error) };
    tracing::error!(%error, copy = %copy.display(), "the checkpoint is damaged, its copy is used");
    Ok((checkpoint, true))
}

/// Reads a file that is to be the checkpoint which the manifest names.
pub(crate) fn read_checkpoint(
    disk: &dyn Disk,
    path: &std::path::Path,
    expected: CheckpointFile,
) -> Result<Checkpoint, OpenError> {
    let bytes = checkpoint_copy::read(disk, path, expected)?;
    let malformed = |_| OpenError::Corrupt { path: path.to_owned(), offset: 0, what: "malformed".to_owned() };
    Checkpoint::decode(&bytes).map_err(malformed)
}

/// Segments that a checkpoint names were on disk before it was. One that is missing, or that is not what was written in length, header or
/// footer, is damage, found now rather than when it is read.
fn check_segments(disk: &dyn Disk, paths: &Paths, segments: &[SegmentState]) -> Result<(), OpenError> {
    segments.iter().try_for_each(|segment| open_segment(disk, paths, segment).map(drop))
}

/// Opens a segment that the checkpoint names.
pub(crate) fn open_segment(disk: &dyn Disk, paths: &Paths, segment: &SegmentState) -> Result<Footer, OpenError> {
    let path = paths.segment(segment.id);
    let corrupt = |offset, what: String| OpenError::Corrupt { path: path.clone(), offset, what };
    let (file, footer) = match SegmentFile::open(disk, &path, segment.id) {
        Ok(opened) => opened,
        Err(ReadError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            return Err(corrupt(0, "the checkpoint names it, and it is missing".to_owned()));
        }
        // What the disk cannot read is as lost as what is not right.
        Err(error) if !error.is_permanent() => return Err(error.into()),
        Err(ReadError::Io { error, .. }) if error.kind() != io::ErrorKind::PermissionDenied => {
            return Err(corrupt(0, format!("it cannot be read: {error}")));
        }
        Err(error) => return Err(error.into()),
    };
    if file.file_len() != segment.file_len {
        let what = format!("it ends here, and should at byte {}", segment.file_len);
        return Err(corrupt(file.file_len(), what));
    }
    if footer.ranges() != segment.ranges.as_slice() {
        return Err(corrupt(0, "another segment than the checkpoint names".to_owned()));
    }
    Ok(footer)
}

/// A number above that of every segment there ever was, as far as files and checkpoint tell.
fn next_segment(disk: &dyn Disk, paths: &Paths, of_checkpoint: u32) -> Result<u32, OpenError> {
    let names = list(disk, &paths.segments())?;
    let largest = names.iter().filter_map(|name| Paths::segment_id(name)).max().unwrap_or(SegmentId(0));
    Ok(of_checkpoint.max(largest.0 + 1))
}

/// The bits of a segment that are not set, if only some are: the first and the end of them.
fn live_extent(settled: &Bitmap, first: u32, end: u32) -> Option<(u32, u32)> {
    Some((settled.next_clear(first, end)?, settled.last_clear(first, end)? + 1))
}
