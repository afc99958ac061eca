//! The directory that a backup is made in: beside its final name, until it is whole.
//!
//! ```text
//!  DIR.unfinished/   lock  journal/  checkpoints/  segments/  format  manifest      lock: held while it is made
//! ```
//!
//! Left behind by a crash, it has no manifest yet, and the next backup of this name takes it away; so it is only as long as something else
//! is in it that the operator has to look.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::{BackupError, attempting};
use crate::file::{Disk, Lock};
use crate::journal::EXTENSION;
use crate::paths::Paths;

const SUFFIX: &str = ".unfinished";

pub(super) struct Target<'a> {
    disk: &'a dyn Disk,
    /// Its final name.
    dir: PathBuf,
    temporary: Paths,
    /// An empty directory had the name.
    is_replacing: bool,
    lock: Option<Box<dyn Lock>>,
    is_finished: bool,
}

impl<'a> Target<'a> {
    /// Makes the directory under its temporary name.
    pub(super) fn create(disk: &'a dyn Disk, to: &Path, data_dir: &Path) -> Result<Self, BackupError> {
        let dir: PathBuf = to.components().collect();
        let refused = |what| BackupError::Refused { dir: dir.clone(), what };
        let Some(name) = dir.file_name().filter(|_| dir.is_absolute()) else {
            return Err(refused("name a directory by its whole path, from / on"));
        };
        if dir.components().any(|component| component == Component::ParentDir) {
            return Err(refused("name it without `..`"));
        }
        if is_within(disk, &dir, data_dir).map_err(attempting("looking for the place of", &dir))? {
            return Err(refused("it is in the broker's own data directory"));
        }
        let is_replacing = match disk.is_empty_dir(&dir) {
            Ok(true) => true,
            Ok(false) => return Err(refused("it exists and is not empty")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(refused("it exists and is not a directory"));
            }
            Err(error) => return Err(attempting("looking at", &dir)(error)),
        };
        let mut temporary_name = OsString::from(name);
        temporary_name.push(SUFFIX);
        let temporary = Paths::new(&dir.with_file_name(temporary_name));
        let mut target = Target { disk, dir, temporary, is_replacing: false, lock: None, is_finished: true };
        target.make(is_replacing)?;
        Ok(target)
    }

    fn make(&mut self, is_replacing: bool) -> Result<(), BackupError> {
        let paths = self.temporary.clone();
        let dir = paths.dir();
        self.disk.create_dir(dir).map_err(attempting("creating", dir))?;
        let lock = self.disk.try_lock(&paths.lock()).map_err(attempting("locking", &paths.lock()))?;
        let busy = || BackupError::Refused { dir: self.dir.clone(), what: "another process is making one there" };
        self.lock = Some(lock.ok_or_else(busy)?);
        // From here on it is ours to take away.
        self.is_finished = false;
        clear(self.disk, &paths).map_err(attempting("removing the rest of another backup in", dir))?;
        if is_replacing {
            // Now rather than at the end: a mounted file system, say, cannot be replaced.
            self.disk.remove_dir(&self.dir).map_err(attempting("replacing", &self.dir))?;
            self.is_replacing = true;
        }
        for dir in [paths.journal(), paths.checkpoints(), paths.segments()] {
            self.disk.create_dir(&dir).map_err(attempting("creating", &dir))?;
        }
        Ok(())
    }

    /// Its final name.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where it is made.
    pub(super) fn temporary(&self) -> &Paths {
        &self.temporary
    }

    /// Gives it its final name. All in it but its own names has been synced.
    pub(super) fn finish(&mut self) -> Result<(), BackupError> {
        let temporary = self.temporary.dir();
        self.lock = None;
        remove(self.disk, &self.temporary.lock()).map_err(attempting("removing", &self.temporary.lock()))?;
        self.disk.sync_dir(temporary).map_err(attempting("syncing", temporary))?;
        self.disk.rename_dir(temporary, &self.dir).map_err(attempting("renaming", temporary))?;
        let parent = self.dir.parent().unwrap_or(Path::new("/"));
        if let Err(error) = self.disk.sync_dir(parent) {
            // It may be there after a power cut or not. Best effort: a backup that counts as failed should not.
            let _ = self.disk.rename_dir(&self.dir, temporary);
            return Err(attempting("syncing", parent)(error));
        }
        self.is_finished = true;
        Ok(())
    }

    fn take_away(&mut self) -> io::Result<()> {
        clear(self.disk, &self.temporary)?;
        self.lock = None;
        remove(self.disk, &self.temporary.lock())?;
        self.disk.remove_dir(self.temporary.dir())?;
        if self.is_replacing {
            self.disk.create_dir(&self.dir)?;
        }
        Ok(())
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if let Err(error) = self.take_away() {
            tracing::warn!(dir = %self.temporary.dir().display(), %error, "removing an unfinished backup failed");
        }
    }
}

/// Whether a directory that may not be there yet is, or would be, in the other or is it, whatever links lead there.
fn is_within(disk: &dyn Disk, dir: &Path, data_dir: &Path) -> io::Result<bool> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let data_dir = disk.canonical(data_dir)?;
    for there in dir.ancestors() {
        match disk.canonical(there) {
            Ok(there) => return Ok(there.starts_with(&data_dir)),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Removes what a backup makes, but for the lock; nothing else.
fn clear(disk: &dyn Disk, paths: &Paths) -> io::Result<()> {
    for path in [paths.manifest(), paths.synced(), paths.format()] {
        remove(disk, &path)?;
        remove(disk, &path.with_extension("new"))?;
    }
    let is_journal: fn(&str) -> bool = |name| name.ends_with(EXTENSION);
    let is_checkpoint: fn(&str) -> bool = |name| Paths::checkpoint_number(name).is_some();
    let is_segment: fn(&str) -> bool = |name| Paths::segment_id(name).is_some();
    let dirs = [(paths.journal(), is_journal), (paths.checkpoints(), is_checkpoint), (paths.segments(), is_segment)];
    for (dir, is_ours) in dirs {
        let names = match disk.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            names => names?,
        };
        for name in names.iter().filter(|name| is_ours(name)) {
            remove(disk, &dir.join(name))?;
        }
        disk.remove_dir(&dir)?;
    }
    Ok(())
}

/// Removes a file that may not be there.
fn remove(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
