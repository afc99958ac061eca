//! Checkpoints that were fetched come into force on a follower.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::announcement::{Announcement, FileName, FilePiece};
use super::pull::{Pull, PullError, Pulled};
use super::{Leases, Member, MemberError, MemberShared, NamedFiles};
use crate::checkpoint_copy;
use crate::file::{Disk, read_exact_at};
use crate::manifest::CheckpointFile;
use crate::paths::Paths;
use crate::recovery::{OpenError, attempting};

/// What became of a checkpoint that was fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// It is in force, or never will be: a newer one is, or files of it no longer exist.
    Done,
    /// The journal is not durable or not committed up to where the checkpoint reaches: to be tried again.
    NotYet,
}

impl Member {
    /// The checkpoint that is in force, for others to fetch. `None`: there is none yet, or it is of the time before the group.
    #[must_use]
    pub fn announcement(&self) -> Option<Announcement> {
        self.shared.core.lock().announcement().cloned()
    }

    /// What reads files for others, on whichever thread.
    #[must_use]
    pub fn file_reader(&self) -> FileReader {
        let MemberShared { disk, paths, leases, .. } = &*self.shared;
        FileReader { disk: disk.clone(), paths: paths.clone(), leases: leases.clone() }
    }

    /// As if all fetching members had been away for long.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn end_leases(&self) {
        self.shared.leases.lock().give_way();
    }

    /// Whether a follower would fetch a checkpoint: it is newer than the one in force.
    #[must_use]
    pub fn wants(&self, announcement: &Announcement) -> bool {
        let files = self.shared.files.lock();
        let is_following = self.shared.core.lock().following().is_some();
        is_following && files.as_ref().is_some_and(|manifest| manifest.current().position < announcement.position)
    }

    /// Begins to fetch a checkpoint. What was fetched before and is not in force is given up.
    ///
    /// # Errors
    ///
    /// The disk said no, or what was fetched before is about to come into force.
    pub fn pull(&self, announcement: Announcement) -> Result<Pull, PullError> {
        let sweeps = self.shared.core.lock().begin_pull().ok_or(PullError::Busy)?;
        Pull::begin(self.shared.disk.clone(), self.shared.paths.clone(), announcement, sweeps)
    }

    /// What was fetched is for the engine to begin with, when the leader's message asks for that.
    pub fn offer(&self, pulled: Arc<Pulled>) {
        self.shared.core.lock().offer(pulled);
    }

    /// Puts a checkpoint in force whose records this member has, and retires the journal below it.
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn install(&self, pulled: &Pulled) -> Result<Installed, MemberError> {
        self.shared.install(pulled)
    }
}

/// Reads the files that an announcement names. From the first piece of the checkpoint on they stay, as long as pieces are read; but not
/// for ever.
pub struct FileReader {
    disk: Arc<dyn Disk>,
    paths: Paths,
    leases: Arc<Mutex<Leases>>,
}

impl FileReader {
    /// A part of a file, of at most so many bytes. `None`: the file no longer exists; a newer checkpoint does.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn read(&self, name: FileName, offset: u64, len_max: usize) -> io::Result<Option<FilePiece>> {
        self.leases.lock().touch(name, Instant::now());
        let path = match name {
            FileName::Checkpoint(number) => self.paths.checkpoint(number),
            FileName::Segment(id) if id.is_transient() => return Ok(None),
            FileName::Segment(id) => self.paths.segment(id),
        };
        let file = match self.disk.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let file_len = file.len()?;
        let mut bytes = vec![0; file_len.saturating_sub(offset).min(len_max as u64) as usize];
        read_exact_at(&*file, &mut bytes, offset)?;
        Ok(Some(FilePiece { file_len, bytes }))
    }
}

impl MemberShared {
    /// This checkpoint is in force on a store that is open.
    pub(crate) fn set_in_force(&self, files: NamedFiles) {
        self.leases.lock().set_in_force(Some(files));
    }

    /// What others fetch; none of it where the disk is full.
    pub(crate) fn kept_for_others(&self, is_disk_full: bool) -> Vec<NamedFiles> {
        let mut leases = self.leases.lock();
        if is_disk_full {
            leases.give_way();
        }
        leases.kept(Instant::now())
    }

    /// When some of that may be removed.
    pub(crate) fn next_lease_end(&self) -> Option<Instant> {
        self.leases.lock().next_end()
    }

    fn install(&self, pulled: &Pulled) -> Result<Installed, MemberError> {
        // No store is opened meanwhile: that removes what is not in force yet.
        let _alone = self.transition.lock();
        let files = self.files.lock();
        let Some(manifest) = &*files else { return Ok(Installed::Done) };
        if manifest.current().position >= pulled.position() {
            return Ok(Installed::Done);
        }
        drop(files);
        let journal = {
            let core = self.core.lock();
            if !core.is_there(pulled) {
                return Ok(Installed::Done);
            }
            // Not if it is another leader's, of entries that this member does not have: its engine will hear of that.
            match core.following().filter(|_| core.has_applied(pulled.base().id)) {
                Some(journal) => journal.clone(),
                None => return Ok(Installed::NotYet),
            }
        };
        if journal.synced() < pulled.announcement().reached {
            return Ok(Installed::NotYet);
        }
        let file = self.put_in_force(pulled, None)?;
        journal.retire(pulled.position());
        self.checkpointed(Announcement { file, ..pulled.announcement().clone() });
        Ok(Installed::Done)
    }

    /// Switches the manifest to files that were fetched, and removes what it does not name. With a generation: the journal's older files no
    /// longer count.
    pub(super) fn put_in_force(
        &self,
        pulled: &Pulled,
        journal_generation_min: Option<u64>,
    ) -> Result<CheckpointFile, OpenError> {
        let Announcement { base, position, file, .. } = pulled.announcement();
        let (disk, paths) = (&*self.disk, &self.paths);
        let (checkpoints, from) = (paths.checkpoints(), paths.arriving_checkpoint());
        let number = 1 + self.list(checkpoints.clone())?.iter().filter_map(|name| number_of(name)).max().unwrap_or(0);
        let file = CheckpointFile { number, ..*file };
        let to = paths.checkpoint(number);
        disk.rename(&from, &to).map_err(attempting("renaming", &from))?;
        match checkpoint_copy::make(disk, paths, file) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(attempting("reading back", &to)(error));
            }
            Err(error) => tracing::warn!(path = %to.display(), %error, "the checkpoint could not be copied"),
            Ok(()) => {}
        }
        disk.sync_dir(&checkpoints).map_err(attempting("syncing", &checkpoints))?;
        let mut files = self.files.lock();
        let manifest = files.as_mut().expect("a member that follows has its manifest open");
        let base = Arc::new(base.clone());
        let switched = match journal_generation_min {
            Some(generation_min) => manifest.restore(file, *position, base, generation_min),
            None => manifest.switch(file, *position, Some(base)),
        };
        switched.map_err(attempting("switching", &paths.manifest()))?;
        drop(files);
        self.remove_unnamed(pulled, number)?;
        Ok(file)
    }

    /// Removes checkpoints and segments that the one in force does not name.
    fn remove_unnamed(&self, pulled: &Pulled, number: u64) -> Result<(), OpenError> {
        self.core.lock().note_sweep();
        for name in self.list(self.paths.checkpoints())? {
            if number_of(&name).is_some_and(|found| found != number) {
                self.remove(self.paths.checkpoints().join(name));
            }
        }
        for name in self.list(self.paths.segments())? {
            if Paths::segment_id(&name).is_some_and(|id| !pulled.names(id)) {
                self.remove(self.paths.segments().join(name));
            }
        }
        Ok(())
    }

    fn list(&self, dir: PathBuf) -> Result<Vec<String>, OpenError> {
        self.disk.list(&dir).map_err(attempting("listing", &dir))
    }

    /// What cannot be removed costs space until it can.
    fn remove(&self, path: PathBuf) {
        if let Err(error) = self.disk.remove(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "removing an unused file failed");
        }
    }
}

fn number_of(name: &str) -> Option<u64> {
    Paths::checkpoint_number(name).or_else(|| Paths::copy_number(name))
}
