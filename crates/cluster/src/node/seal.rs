//! What distinguishes a member's directory from a copy of it, which has less than the member has promised.
//!
//! ```text
//!  cluster/seal | "WRSEAL01" | inode u64 | made_s u64 | made_ns u32 | CRC-32C of all before | count u64          little-endian
//! ```
//!
//! A copy has the same contents and other files: another inode number, and another time at which the file was made, which no program can
//! set. So the seal says of itself which file it is. While the member works it is written in place again and again, the count only: so what
//! brings a directory up to date by what has changed, as rsync does, replaces it. What brings back a whole disk, or writes older contents
//! into the same files, makes no other files: there its peers' memory finds it (`memory`).
//!
//! Device numbers are no part of it, since they change with a restart of the machine; nor is the time of the last change of the inode,
//! which changes where owners are set at each start.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

const MAGIC: &[u8; 8] = b"WRSEAL01";
/// What the checksum covers, and the checksum.
const SEALED_LEN: usize = 32;
/// How often a member that is written to writes so to its seal.
const TOUCH_INTERVAL: Duration = Duration::from_secs(1);

/// When the seal of a member that works is to be written, with the count of its log's entries.
#[derive(Debug)]
pub(super) struct SealClock {
    written_at: Instant,
    count: u64,
}

impl SealClock {
    pub(super) fn new(now: Instant) -> Self {
        SealClock { written_at: now, count: 0 }
    }

    /// Whether the seal is to be written with this count now; then it counts as written.
    pub(super) fn is_due(&mut self, count: u64, now: Instant) -> bool {
        let is_due = self.count != count && now.saturating_duration_since(self.written_at) >= TOUCH_INTERVAL;
        if is_due {
            *self = SealClock { written_at: now, count };
        }
        is_due
    }
}

/// What a seal says of the directory that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seal {
    /// There is none yet.
    Missing,
    /// It was made here.
    Whole,
    /// It was made in another directory.
    OfCopy,
}

/// Looks at a seal.
pub(super) fn look(path: &Path) -> io::Result<Seal> {
    let (bytes, metadata) = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Seal::Missing),
        opened => {
            let file = opened?;
            (fs::read(path)?, file.metadata()?)
        }
    };
    let found = bytes.get(..SEALED_LEN);
    Ok(if found == Some(&sealed(&metadata)[..]) { Seal::Whole } else { Seal::OfCopy })
}

/// Seals anew; lasts when this returns.
pub(super) fn make(path: &Path) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    // The file keeps its number and its age under its next name.
    let mut bytes = sealed(&file.metadata()?);
    bytes.extend_from_slice(&0_u64.to_le_bytes());
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// Writes the count in place. Nothing waits for it to last.
pub(super) fn touch(path: &Path, count: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all_at(&count.to_le_bytes(), SEALED_LEN as u64)
}

fn sealed(metadata: &Metadata) -> Vec<u8> {
    // Some file systems do not say when a file was made.
    let made = metadata.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&metadata.ino().to_le_bytes());
    bytes.extend_from_slice(&made.as_secs().to_le_bytes());
    bytes.extend_from_slice(&made.subsec_nanos().to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(test: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("warren-seal-{}-{test}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_copy_is_distinguished_from_what_was_moved() {
        let dir = dir("copy");
        let seal = dir.join("seal");
        assert_eq!(look(&seal).unwrap(), Seal::Missing);
        make(&seal).unwrap();
        touch(&seal, 7).unwrap();
        assert_eq!(look(&seal).unwrap(), Seal::Whole);
        fs::copy(&seal, dir.join("copy")).unwrap();
        fs::rename(&seal, dir.join("moved")).unwrap();
        assert_eq!(look(&dir.join("moved")).unwrap(), Seal::Whole);
        fs::rename(dir.join("copy"), &seal).unwrap();
        assert_eq!(look(&seal).unwrap(), Seal::OfCopy);
        make(&seal).unwrap();
        assert_eq!(look(&seal).unwrap(), Seal::Whole);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_seal_is_written_once_a_second_and_only_if_something_was_appended() {
        let start = Instant::now();
        let mut clock = SealClock::new(start);
        assert!(!clock.is_due(3, start));
        assert!(clock.is_due(3, start + TOUCH_INTERVAL));
        assert!(!clock.is_due(3, start + 3 * TOUCH_INTERVAL), "nothing was appended since");
        assert!(clock.is_due(4, start + 3 * TOUCH_INTERVAL));
    }

    #[test]
    fn one_that_is_damaged_or_cut_off_is_none() {
        let dir = dir("damaged");
        let seal = dir.join("seal");
        make(&seal).unwrap();
        let bytes = fs::read(&seal).unwrap();
        fs::write(&seal, &bytes[..20]).unwrap();
        assert_eq!(look(&seal).unwrap(), Seal::OfCopy);
        fs::write(&seal, b"").unwrap();
        assert_eq!(look(&seal).unwrap(), Seal::OfCopy);
        fs::remove_dir_all(&dir).unwrap();
    }
}
