//! The journal on disk: a small file that is replaced as a whole, and belongs to one run at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::journal::Journal;

/// The file with the journal.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    /// Locked as long as this run lasts. It is a file beside the journal, which is replaced.
    _lock: File,
    /// What was written last.
    written: Option<Journal>,
}

impl StateFile {
    /// Opens it, for this run alone.
    pub(crate) fn open(path: &Path) -> Result<(Self, Option<Journal>), Failure> {
        let shown = path.display();
        let lock_path = beside(path, "lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.map_err(|error| Failure::stopped(format!("cannot open {}: {error}", lock_path.display())))?;
        if lock.try_lock().is_err() {
            return Err(Failure::stopped(format!("another run uses {shown}: name another file with --state")));
        }
        let journal = match fs::read(path) {
            Ok(bytes) => {
                let value = serde_json::from_slice(&bytes).ok();
                let journal = value.as_ref().and_then(Journal::decode);
                let strange = || Failure::stopped(format!("{shown} is not a migration state of a known version"));
                Some(journal.ok_or_else(strange)?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::stopped(format!("cannot read {shown}: {error}"))),
        };
        Ok((StateFile { path: path.to_owned(), _lock: lock, written: journal.clone() }, journal))
    }

    /// Writes the journal, unless it is there already. Whatever happens, the file is the old one or the new one.
    pub(crate) fn write(&mut self, journal: &Journal) -> Result<(), Failure> {
        if self.written.as_ref() == Some(journal) {
            return Ok(());
        }
        let cannot = |error: io::Error| Failure::stopped(format!("cannot write {}: {error}", self.path.display()));
        let next = beside(&self.path, "next");
        let mut file = File::create(&next).map_err(cannot)?;
        file.write_all(journal.encode().to_string().as_bytes()).map_err(cannot)?;
        file.sync_all().map_err(cannot)?;
        fs::rename(&next, &self.path).map_err(cannot)?;
        self.written = Some(journal.clone());
        Ok(())
    }

    /// What the file contains.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.written.as_ref()
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}
