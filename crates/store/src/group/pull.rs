//! Fetching what a checkpoint of the leader names: the file itself, then the segments that are not here.
//!
//! ```text
//!  DIR/arriving/ checkpoint            as the leader has it, until it comes into force
//!                000000000042.segment  until it is whole: then it moves to `segments`
//! ```
//!
//! Without network and threads: its driver asks for what [`Pull::next`] names and hands over what comes. A segment is the same file on
//! all members, so one that is here already is not fetched again; what was fetched and is named by nothing is removed when a checkpoint
//! comes into force.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use consensus::Base;
use model::ids::{JournalPosition, SegmentId};
use thiserror::Error;

use super::announcement::{Announcement, FileName, FilePiece};
use crate::checkpoint::{Checkpoint, SegmentState};
use crate::file::{Disk, File, write_all_at};
use crate::paths::Paths;
use crate::recovery::{OpenError, attempting, open_segment, read_checkpoint};

/// Why a checkpoint was not fetched. It is tried again, with the newest one.
#[derive(Debug, Error)]
pub enum PullError {
    /// What was fetched before is about to come into force.
    #[error("other files are about to be activated")]
    Busy,
    /// What came is not what was announced.
    #[error("{name:?} is not what was announced: {what}")]
    Wrong {
        /// Which file.
        name: FileName,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It cannot be kept.
    #[error(transparent)]
    Disk(#[from] OpenError),
}

/// Files that are whole and durable here, and not in force.
#[derive(Debug)]
pub struct Pulled {
    announcement: Announcement,
    segments: Vec<SegmentId>,
    sweeps: u64,
}

impl Pulled {
    /// Behind which entry the log begins with these.
    #[must_use]
    pub fn base(&self) -> &Base {
        &self.announcement.base
    }

    /// What the leader had announced, with the checkpoint's number there.
    #[must_use]
    pub fn announcement(&self) -> &Announcement {
        &self.announcement
    }

    /// How often files had been removed that nothing named, when the first of these was fetched.
    #[must_use]
    pub fn sweeps(&self) -> u64 {
        self.sweeps
    }

    /// Where in the journal the log begins with these.
    #[must_use]
    pub fn position(&self) -> JournalPosition {
        self.announcement.position
    }

    /// Of a checkpoint that names no segments.
    #[cfg(any(test, feature = "simulation"))]
    #[must_use]
    pub fn empty(id: consensus::LogId, sweeps: u64) -> Pulled {
        let (base, file) =
            (Base { id, ..Base::default() }, crate::manifest::CheckpointFile { number: 1, len: 0, crc: 0 });
        let announcement = Announcement { base, position: JournalPosition(9), reached: JournalPosition(9), file };
        Pulled { announcement, segments: Vec::new(), sweeps }
    }

    /// How many segments the checkpoint names.
    #[cfg(any(test, feature = "simulation"))]
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    pub(crate) fn names(&self, id: SegmentId) -> bool {
        self.segments.binary_search(&id).is_ok()
    }
}

/// A checkpoint that is being fetched.
pub struct Pull {
    disk: Arc<dyn Disk>,
    paths: Paths,
    announcement: Announcement,
    /// What is being fetched.
    current: Option<Arriving>,
    /// Known when the checkpoint is there.
    segments: Option<Vec<SegmentState>>,
    missing: VecDeque<usize>,
    sweeps: u64,
}

/// A file that is not whole yet.
struct Arriving {
    name: FileName,
    path: PathBuf,
    file: Box<dyn File>,
    len: u64,
    expected_len: u64,
}

impl Pull {
    /// Begins. What an earlier one has left unfinished is removed.
    pub(crate) fn begin(
        disk: Arc<dyn Disk>,
        paths: Paths,
        announcement: Announcement,
        sweeps: u64,
    ) -> Result<Pull, PullError> {
        let dir = paths.arriving();
        disk.create_dir(&dir).map_err(attempting("creating", &dir))?;
        for name in disk.list(&dir).map_err(attempting("listing", &dir))? {
            let path = dir.join(name);
            disk.remove(&path).map_err(attempting("removing", &path))?;
        }
        let mut pull =
            Pull { disk, paths, announcement, current: None, segments: None, missing: VecDeque::new(), sweeps };
        let file = pull.announcement.file;
        let path = pull.paths.arriving_checkpoint();
        pull.current = Some(pull.create(FileName::Checkpoint(file.number), path, file.len)?);
        Ok(pull)
    }

    fn create(&self, name: FileName, path: PathBuf, expected_len: u64) -> Result<Arriving, PullError> {
        let file = self.disk.create(&path).map_err(attempting("creating", &path))?;
        Ok(Arriving { name, path, file, len: 0, expected_len })
    }

    /// What to ask the leader for, and from which byte on. `None`: all is here.
    #[must_use]
    pub fn next(&self) -> Option<(FileName, u64)> {
        self.current.as_ref().map(|arriving| (arriving.name, arriving.len))
    }

    /// A piece of what [`Pull::next`] named has come.
    ///
    /// # Errors
    ///
    /// It is not what was announced, or cannot be kept: the pull is over.
    pub fn take(&mut self, piece: &FilePiece) -> Result<(), PullError> {
        let Some(arriving) = &mut self.current else { return Ok(()) };
        let wrong = |what| PullError::Wrong { name: arriving.name, what };
        if piece.file_len != arriving.expected_len {
            return Err(wrong("it has another length"));
        }
        let left = arriving.expected_len - arriving.len;
        if piece.bytes.len() as u64 > left || (piece.bytes.is_empty() && left > 0) {
            return Err(wrong("a piece of it is too long or empty"));
        }
        write_all_at(&*arriving.file, &piece.bytes, arriving.len).map_err(attempting("writing", &arriving.path))?;
        arriving.len += piece.bytes.len() as u64;
        if arriving.len == arriving.expected_len {
            self.complete()?;
        }
        Ok(())
    }

    /// A file is whole: it is synced and looked at, and the next one begun.
    fn complete(&mut self) -> Result<(), PullError> {
        let Some(Arriving { name, path, file, .. }) = self.current.take() else { return Ok(()) };
        file.fdatasync().map_err(attempting("syncing", &path))?;
        drop(file);
        match (name, self.missing.pop_front()) {
            (FileName::Segment(id), Some(at)) => {
                let to = self.paths.segment(id);
                self.disk.rename(&path, &to).map_err(attempting("renaming", &path))?;
                let state = &self.segments.as_ref().expect("it names segments")[at];
                open_segment(&*self.disk, &self.paths, state).inspect_err(|_| drop(self.disk.remove(&to)))?;
            }
            _ => self.look_for_segments(path)?,
        }
        self.begin_next()
    }

    fn look_for_segments(&mut self, path: PathBuf) -> Result<(), PullError> {
        let checkpoint: Checkpoint = read_checkpoint(&*self.disk, &path, self.announcement.file)?;
        let is_here = |state: &SegmentState| open_segment(&*self.disk, &self.paths, state).is_ok();
        let missing = checkpoint.segments.iter().enumerate().filter(|(_, state)| !is_here(state)).map(|(at, _)| at);
        self.missing = missing.collect();
        self.segments = Some(checkpoint.segments);
        Ok(())
    }

    fn begin_next(&mut self) -> Result<(), PullError> {
        let (Some(&at), Some(segments)) = (self.missing.front(), &self.segments) else { return Ok(()) };
        let SegmentState { id, file_len, .. } = segments[at];
        let path = self.paths.arriving_segment(id);
        self.current = Some(self.create(FileName::Segment(id), path, file_len)?);
        Ok(())
    }

    /// Everything is here, and lasts.
    ///
    /// # Errors
    ///
    /// The names of the files could not be synced.
    pub fn finish(self) -> Result<Pulled, PullError> {
        assert!(self.current.is_none(), "a pull is finished when nothing is to be asked for");
        for dir in [self.paths.segments(), self.paths.arriving()] {
            self.disk.sync_dir(&dir).map_err(attempting("syncing", &dir))?;
        }
        let segments = self.segments.into_iter().flatten().map(|state| state.id).collect();
        Ok(Pulled { announcement: self.announcement, segments, sweeps: self.sweeps })
    }
}
