//! The data directory as a whole: one process at a time, and a format that this program knows.
//!
//! ```text
//!  DIR/lock      held with flock as long as the process runs; says which process, for messages only
//!  DIR/format    "warren data directory, format 1\n"
//! ```
//!
//! The format counts how files of all kinds together are laid out. A newer one is refused before anything is touched.

use std::io;
use std::path::{Path, PathBuf};

use crate::file::{self, Disk, Lock, read_exact_at, write_all_at};

/// The format that this program writes, and the newest it reads.
pub const FORMAT: u32 = 1;

const FORMAT_PREFIX: &str = "warren data directory, format ";
/// No format file is longer.
const FORMAT_LEN_MAX: u64 = 256;

/// A data directory that is ours.
pub struct DataDir {
    format: u32,
    lock_path: PathBuf,
    lock: Box<dyn Lock>,
}

impl std::fmt::Debug for DataDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataDir").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirError {
    /// Another process has it.
    #[error("data directory {} is in use by another process{}; stop it or choose another directory", dir.display(), pid_text(*.pid))]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// The process, if its id is known.
        pid: Option<u32>,
    },
    /// A newer version wrote it.
    #[error("data directory {} has format {format}, this program knows up to {FORMAT}; start the newer version", dir.display())]
    NewerFormat {
        /// The directory.
        dir: PathBuf,
        /// Its format.
        format: u32,
    },
    /// The file that says the format is missing or unreadable, and the directory is not empty.
    #[error("data directory {} has no valid format ({what}); is it a Warren data directory?", dir.display())]
    UnknownFormat {
        /// The directory.
        dir: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// The operating system failed.
    #[error("{attempt} {} failed: {error}", path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        error: io::Error,
    },
}

fn pid_text(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

fn io_error(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DirError {
    move |error| DirError::Io { attempt, path: path.to_owned(), error }
}

impl DataDir {
    /// Takes the directory, which is created if need be, until this is dropped.
    pub fn open(disk: &dyn Disk, dir: &Path) -> Result<DataDir, DirError> {
        disk.create_dir(dir).map_err(io_error("creating", dir))?;
        let lock = lock(disk, dir)?;
        let names = disk.list(dir).map_err(io_error("listing", dir))?;
        let has = |name| names.iter().any(|found| found == name);
        if !has("format") {
            if has("manifest") {
                return Err(DirError::UnknownFormat { dir: dir.to_owned(), what: "the file `format` is missing" });
            }
            let path = dir.join("format");
            file::replace(disk, &path, format_text().as_bytes()).map_err(io_error("writing", &path))?;
        }
        let format = read_format(disk, dir)?;
        if format > FORMAT {
            return Err(DirError::NewerFormat { dir: dir.to_owned(), format });
        }
        Ok(DataDir { format, lock_path: lock_path(dir), lock })
    }

    /// Whether the directory is still ours: without the lock's file another process could take it.
    pub(crate) fn is_ours(&self) -> io::Result<bool> {
        self.lock.is_at(&self.lock_path)
    }

    pub(crate) fn lock_path(&self) -> &Path {
        &self.lock_path
    }

    /// The format that was found: that of a new directory, or an older one to migrate.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.format
    }
}

fn lock_path(dir: &Path) -> PathBuf {
    dir.join("lock")
}

fn lock(disk: &dyn Disk, dir: &Path) -> Result<Box<dyn Lock>, DirError> {
    let path = lock_path(dir);
    let Some(lock) = disk.try_lock(&path).map_err(io_error("locking", &path))? else {
        let pid = read_text(disk, &path).ok().and_then(|text| text.trim().parse().ok());
        return Err(DirError::Locked { dir: dir.to_owned(), pid });
    };
    // The owner's id is for messages only: not worth failing for, on a full disk say.
    let _ = disk.open(&path).and_then(|file| {
        file.truncate(0)?;
        write_all_at(file.as_ref(), format!("{}\n", std::process::id()).as_bytes(), 0)
    });
    Ok(lock)
}

/// What the format file says.
pub(crate) fn format_text() -> String {
    format!("{FORMAT_PREFIX}{FORMAT}\n")
}

/// The format that a format file says.
pub(crate) fn parse_format(text: &str) -> Option<u32> {
    text.strip_prefix(FORMAT_PREFIX)?.strip_suffix('\n')?.parse().ok()
}

fn read_format(disk: &dyn Disk, dir: &Path) -> Result<u32, DirError> {
    let path = dir.join("format");
    let text = read_text(disk, &path).map_err(io_error("reading", &path))?;
    parse_format(&text)
        .ok_or_else(|| DirError::UnknownFormat { dir: dir.to_owned(), what: "the file `format` is damaged" })
}

fn read_text(disk: &dyn Disk, path: &Path) -> io::Result<String> {
    let file = disk.open(path)?;
    let mut bytes = vec![0; file.len()?.min(FORMAT_LEN_MAX) as usize];
    read_exact_at(file.as_ref(), &mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::SimDisk;

    const DIR: &str = "/data";

    fn open(disk: &SimDisk) -> Result<DataDir, DirError> {
        DataDir::open(disk, Path::new(DIR))
    }

    fn put(disk: &SimDisk, name: &str, text: &str) {
        disk.create_dir(Path::new(DIR)).unwrap();
        let file = disk.create(&Path::new(DIR).join(name)).unwrap();
        write_all_at(file.as_ref(), text.as_bytes(), 0).unwrap();
    }

    #[test]
    fn a_new_directory_has_this_format_and_keeps_it() {
        let disk = SimDisk::new(0);
        assert_eq!(open(&disk).unwrap().format(), FORMAT);
        assert_eq!(open(&disk).unwrap().format(), FORMAT);
    }

    #[test]
    fn a_second_process_is_told_who_has_it() {
        let disk = SimDisk::new(0);
        let first = open(&disk).unwrap();
        let error = open(&disk).unwrap_err().to_string();
        let pid = std::process::id();
        let expected = format!(
            "data directory /data is in use by another process (process {pid}); stop it or choose another directory"
        );
        assert_eq!(error, expected);
        drop(first);
        assert!(open(&disk).is_ok());
    }

    #[track_caller]
    fn check_refused(name: &str, text: &str, error: &str) {
        let disk = SimDisk::new(0);
        put(&disk, name, text);
        assert_eq!(open(&disk).unwrap_err().to_string(), error);
    }

    #[test]
    fn unknown_formats_are_refused() {
        let damaged =
            "data directory /data has no valid format (the file `format` is damaged); is it a Warren data directory?";
        check_refused("format", "", damaged);
        check_refused("format", "hello", damaged);
        check_refused("format", "warren data directory, format x\n", damaged);
        check_refused(
            "format",
            "warren data directory, format 2\n",
            "data directory /data has format 2, this program knows up to 1; start the newer version",
        );
        check_refused(
            "manifest",
            "",
            "data directory /data has no valid format (the file `format` is missing); is it a Warren data directory?",
        );
    }

    #[test]
    fn a_first_start_that_loses_power_can_be_repeated() {
        for seed in 0..20 {
            for operation in 0.. {
                let disk = SimDisk::new(seed);
                disk.cut_power_at(operation);
                let is_open = open(&disk).is_ok();
                let is_cut = disk.is_cut();
                disk.restart();
                assert!(open(&disk).is_ok(), "seed {seed}, cut at {operation}");
                if is_open && !is_cut {
                    break;
                }
            }
        }
    }
}
