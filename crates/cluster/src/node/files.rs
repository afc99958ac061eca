//! What a node keeps of its cluster beside its store, in `DIR/cluster`.
//!
//! ```text
//!  node     see `starts`
//!  consent  see `formation`
//!  roster   see `roster`
//!  memory   see `memory`
//!  seal     see `seal`
//!  lost     why its peers have found it to have lost what it promised, as a sentence: it never runs as a member again
//!  time     | "WRTIME01" | milliseconds i64 | CRC-32C of all before |   how far the cluster's time is ahead of this machine's clock
//! ```
//!
//! Each file but the seal is written anew, synced, renamed, and its name is synced: it is there whole or as before.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom as _, SystemRandom};

use super::memory::Promises;
use super::seal::{self, Seal};
use super::starts::{self, EarlierStarts, OwnId, draw_member, next_incarnation};
use crate::formation::Consent;
use crate::roster::Roster;

const TIME_MAGIC: &[u8; 8] = b"WRTIME01";

/// The names and addresses of a cluster's nodes are not for others to read.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// The files.
#[derive(Debug, Clone)]
pub(super) struct NodeFiles {
    dir: PathBuf,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what} {} failed: {error}", .path.display())]
pub struct FileError {
    what: &'static str,
    path: PathBuf,
    #[source]
    error: io::Error,
}

impl NodeFiles {
    /// Those of a data directory.
    pub(super) fn open(data_dir: &Path) -> Result<Self, FileError> {
        let dir = data_dir.join("cluster");
        let failed = |error| FileError { what: "creating", path: dir.clone(), error };
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(&dir).map_err(failed)?;
        close_to_others(&dir).map_err(failed)?;
        sync_dir(data_dir).map_err(failed)?;
        Ok(NodeFiles { dir })
    }

    /// Begins another start of this directory; a new directory is given an id.
    pub(super) fn begin(&self) -> Result<(OwnId, EarlierStarts), FileError> {
        let (own, earlier) = match self.read("node", starts::decode)? {
            Some((OwnId { member, incarnation }, earlier)) => {
                (OwnId { member, incarnation: next_incarnation(incarnation)? }, earlier.and(incarnation))
            }
            None => (OwnId { member: draw_member()?, incarnation: next_incarnation(0)? }, EarlierStarts::default()),
        };
        self.write_own(own, &earlier)?;
        Ok((own, earlier))
    }

    pub(super) fn write_own(&self, own: OwnId, earlier: &EarlierStarts) -> Result<(), FileError> {
        self.write("node", &starts::encode(own, earlier))
    }

    pub(super) fn consent(&self) -> Result<Consent, FileError> {
        Ok(self.read("consent", Consent::decode)?.unwrap_or_default())
    }

    pub(super) fn write_consent(&self, consent: &Consent) -> Result<(), FileError> {
        self.write("consent", &consent.encode())
    }

    pub(super) fn roster(&self) -> Result<Option<Roster>, FileError> {
        self.read("roster", |bytes| Roster::decode(bytes).ok())
    }

    pub(super) fn write_roster(&self, roster: &Roster) -> Result<(), FileError> {
        self.write("roster", &roster.encode())
    }

    /// How far the cluster's time was last ahead of this machine's clock, in milliseconds.
    pub(super) fn ahead(&self) -> Result<Option<i64>, FileError> {
        self.read("time", |bytes| {
            let (covered, checksum) = bytes.split_last_chunk::<4>()?;
            let is_whole = crc32c::crc32c(covered) == u32::from_le_bytes(*checksum);
            let ahead_ms = covered.strip_prefix(TIME_MAGIC)?.try_into().ok().map(i64::from_le_bytes);
            ahead_ms.filter(|_| is_whole)
        })
    }

    pub(super) fn write_ahead(&self, ahead_ms: i64) -> Result<(), FileError> {
        let mut bytes = TIME_MAGIC.to_vec();
        bytes.extend_from_slice(&ahead_ms.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        self.write("time", &bytes)
    }

    pub(super) fn promises(&self) -> Result<Option<Promises>, FileError> {
        self.read("memory", Promises::decode)
    }

    pub(super) fn write_promises(&self, bytes: &[u8]) -> Result<(), FileError> {
        self.write("memory", bytes)
    }

    /// Seals the directory of a member, which is this one from now on, and no copy of it.
    pub(super) fn seal(&self) -> Result<(), FileError> {
        let path = self.dir.join("seal");
        seal::make(&path).map_err(|error| FileError { what: "writing", path, error })
    }

    /// Whether the directory of a member is the one that it ran in. One that has no seal yet is given one.
    pub(super) fn is_original(&self) -> Result<bool, FileError> {
        let path = self.dir.join("seal");
        match seal::look(&path).map_err(|error| FileError { what: "reading", path, error })? {
            Seal::Missing => self.seal().map(|()| true),
            found => Ok(found == Seal::Whole),
        }
    }

    /// The member works: see `seal`. Nothing depends on it but the noticing.
    pub(super) fn touch_seal(&self, count: u64) {
        if let Err(error) = seal::touch(&self.dir.join("seal"), count) {
            tracing::debug!(%error, "the seal was not written");
        }
    }

    /// Why the directory has lost what it promised, if its peers have found that.
    pub(super) fn lost(&self) -> Result<Option<String>, FileError> {
        self.read("lost", |bytes| Some(String::from_utf8_lossy(bytes).into_owned()))
    }

    pub(super) fn write_lost(&self, why: &str) -> Result<(), FileError> {
        self.write("lost", why.as_bytes())
    }

    /// The directory has been emptied: it is another one from now on. What it has agreed to about the founder is kept where it will look
    /// for the same peers again.
    pub(super) fn forget(&self, keeps_consent: bool) -> Result<(), FileError> {
        let names = ["roster", "memory", "seal", "lost", "time"];
        let consent = (!keeps_consent).then_some("consent");
        names.into_iter().chain(consent).try_for_each(|name| self.remove(name))
    }

    /// The directory is a node's alone from now on: another one than before, with all its data.
    pub(super) fn forget_all(&self) -> Result<(), FileError> {
        self.forget(false)?;
        self.remove("node")
    }

    fn remove(&self, name: &str) -> Result<(), FileError> {
        let path = self.dir.join(name);
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed.and_then(|()| sync_dir(&self.dir)),
        };
        removed.map_err(|error| FileError { what: "removing", path, error })
    }

    fn read<T>(&self, name: &str, decode: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, FileError> {
        let path = self.dir.join(name);
        let failed = |error| FileError { what: "reading", path: path.clone(), error };
        match fs::read(&path) {
            Ok(bytes) => {
                let damaged = || failed(io::Error::new(io::ErrorKind::InvalidData, "it is damaged"));
                decode(&bytes).ok_or_else(damaged).map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let (path, new) = (self.dir.join(name), self.dir.join(format!("{name}.new")));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(FILE_MODE)
            .open(&new)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| sync_dir(&self.dir));
        written.map_err(|error| FileError { what: "writing", path, error })
    }
}

/// Takes away what others than the owner may do with existing files: earlier versions gave them more.
fn close_to_others(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(DIR_MODE))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::set_permissions(entry.path(), Permissions::from_mode(FILE_MODE))?;
        }
    }
    Ok(())
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Random bytes.
pub(super) fn draw<const LEN: usize>() -> Result<[u8; LEN], FileError> {
    let mut bytes = [0; LEN];
    let failed = |_| FileError {
        what: "reading",
        path: PathBuf::from("/dev/urandom"),
        error: io::Error::other("the system gives no random numbers"),
    };
    SystemRandom::new().fill(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::starts::start_count;

    #[test]
    fn what_time_it_is_is_kept_until_all_is_forgotten() {
        let dir = std::env::temp_dir().join(format!("warren-node-time-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let files = NodeFiles::open(&dir).unwrap();
        assert_eq!(files.ahead().unwrap(), None);
        files.write_ahead(-300_000).unwrap();
        assert_eq!(files.ahead().unwrap(), Some(-300_000));
        fs::write(dir.join("cluster/time"), b"WRTIME01damaged?").unwrap();
        assert!(files.ahead().is_err());
        files.forget(false).unwrap();
        assert_eq!(files.ahead().unwrap(), None);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn each_start_of_a_directory_has_the_next_number() {
        let dir = std::env::temp_dir().join(format!("warren-node-files-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let files = NodeFiles::open(&dir).unwrap();
        let first = files.begin().unwrap();
        let second = NodeFiles::open(&dir).unwrap().begin().unwrap();
        let counts = [&first, &second].map(|(own, _)| start_count(own.incarnation));
        assert_eq!((counts, second.0.member), ([1, 2], first.0.member));
        assert_eq!((first.1.0, second.1.0), (vec![], vec![first.0.incarnation]));
        let path = dir.join("cluster/node");
        let mut bytes = fs::read(&path).unwrap();
        bytes[9] ^= 1;
        fs::write(&path, bytes).unwrap();
        let error = files.begin().unwrap_err().to_string();
        assert_eq!(error, format!("reading {} failed: it is damaged", path.display()));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn nothing_is_for_others_to_read_whoever_has_made_it() {
        let dir = std::env::temp_dir().join(format!("warren-node-modes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("cluster")).unwrap();
        // As an earlier version has left them.
        fs::write(dir.join("cluster/roster"), "x").unwrap();
        for (path, mode) in [("cluster", 0o755), ("cluster/roster", 0o644)] {
            fs::set_permissions(dir.join(path), Permissions::from_mode(mode)).unwrap();
        }
        NodeFiles::open(&dir).unwrap().begin().unwrap();
        let mode = |path: &str| fs::metadata(dir.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(["cluster", "cluster/roster", "cluster/node"].map(mode), [0o700, 0o600, 0o600]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
