//! What a node keeps of its cluster beside its store, in `DIR/cluster`.
//!
//! ```text
//!  node     | "WRNODE01" | member u64 | incarnation u64 | CRC-32C of all before |   who this directory is, and which start of it runs
//!  consent  see `formation`
//!  roster   see `roster`
//! ```
//!
//! Each file is written anew, synced, renamed, and its name is synced: it is there whole or as before.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use consensus::MemberId;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::formation::Consent;
use crate::link::reader::Reader;
use crate::roster::Roster;

const MAGIC: &[u8; 8] = b"WRNODE01";

/// Who belongs to a cluster, and where, is not for others to read.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// Which directory this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnId {
    /// Drawn for each directory that has nothing yet.
    pub(super) member: MemberId,
    /// Which start this is, from 1 on.
    pub(super) incarnation: u64,
}

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
    pub(super) fn begin(&self) -> Result<OwnId, FileError> {
        let own = match self.read("node", decode_own)? {
            Some(OwnId { member, incarnation }) => OwnId { member, incarnation: next_incarnation(incarnation)? },
            None => OwnId { member: draw_member()?, incarnation: next_incarnation(0)? },
        };
        self.write_own(own)?;
        Ok(own)
    }

    pub(super) fn write_own(&self, own: OwnId) -> Result<(), FileError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&own.member.get().to_le_bytes());
        bytes.extend_from_slice(&own.incarnation.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        self.write("node", &bytes)
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

    /// The directory has nothing any more: it is another one from now on.
    pub(super) fn forget(&self) -> Result<(), FileError> {
        for name in ["consent", "roster"] {
            match fs::remove_file(self.dir.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FileError { what: "removing", path: self.dir.join(name), error });
                }
                _ => {}
            }
        }
        Ok(())
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

/// Takes away what others than the owner may do with what is there: earlier versions gave them more.
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

fn decode_own(bytes: &[u8]) -> Option<OwnId> {
    let (covered, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32c::crc32c(covered) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut reader = Reader(covered.strip_prefix(MAGIC)?);
    let own = OwnId { member: MemberId::new(reader.u64().ok()?)?, incarnation: reader.u64().ok()? };
    reader.end().is_ok().then_some(own)
}

/// A member id that no other directory has.
pub(super) fn draw_member() -> Result<MemberId, FileError> {
    loop {
        if let Some(member) = MemberId::new(u64::from_le_bytes(draw()?)) {
            return Ok(member);
        }
    }
}

/// Bits of an incarnation that are drawn. Above them is how often the directory was started.
const DRAWN_BITS: u32 = 20;

/// What a process is that starts a directory whose last start was `previous`; 0 for a new one. Two starts of one directory, and of a copy
/// of it, have the same count, and are told apart by what is drawn.
pub(super) fn next_incarnation(previous: u64) -> Result<u64, FileError> {
    let drawn = u64::from_le_bytes(draw()?) >> (64 - DRAWN_BITS);
    Ok(((start_count(previous) + 1) << DRAWN_BITS) | drawn)
}

/// How often the directory was started.
pub(super) fn start_count(incarnation: u64) -> u64 {
    incarnation >> DRAWN_BITS
}

/// Whether a process is one of an older directory: another one started this directory as often, or more often, before.
pub(super) fn is_older_start(incarnation: u64, known: u64) -> bool {
    incarnation != known && start_count(incarnation) <= start_count(known)
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

    #[test]
    fn a_copy_of_a_directory_is_another_start_and_an_older_one() {
        let last = next_incarnation(0).unwrap();
        let (original, copy) = (next_incarnation(last).unwrap(), next_incarnation(last).unwrap());
        assert_ne!(original, copy);
        assert!(is_older_start(copy, original) && is_older_start(last, original));
        assert!(!is_older_start(original, original) && !is_older_start(original, last));
        assert!(!is_older_start(last, 0), "none was known");
    }

    #[test]
    fn each_start_of_a_directory_has_the_next_number() {
        let dir = std::env::temp_dir().join(format!("warren-node-files-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let files = NodeFiles::open(&dir).unwrap();
        let first = files.begin().unwrap();
        let second = NodeFiles::open(&dir).unwrap().begin().unwrap();
        let counts = [first, second].map(|own| start_count(own.incarnation));
        assert_eq!((counts, second.member), ([1, 2], first.member));
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
