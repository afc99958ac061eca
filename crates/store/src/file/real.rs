//! The operating system's files, called plainly.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt as _, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, fdatasync, flock, statvfs};

use super::operations::{Disk, File, Lock, write_all_at};

/// Messages are for the broker's user alone.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;
/// Zeros are written in pieces of this length.
const ZERO_LEN: usize = 1 << 20;

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn File>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn is_empty_dir(&self, dir: &Path) -> io::Result<bool> {
        Ok(fs::read_dir(dir)?.next().transpose()?.is_none())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if dir.is_dir() {
            // Its maker may have died before its name was synced. If the parent is not ours, neither was that.
            return match self.sync_dir(parent) {
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(error),
                _ => Ok(()),
            };
        }
        self.create_dir(parent)?;
        match DirBuilder::new().mode(DIR_MODE).create(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.sync_dir(parent),
        }
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        // One that came to be meanwhile is not replaced, empty as it may be.
        if fs::symlink_metadata(to).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn free_space(&self, dir: &Path) -> io::Result<u64> {
        let stat = statvfs(dir)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn Lock>>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Box::new(RealLock { file }))),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// How much longer each sync takes, for tests of builds that are not released: `WARREN_DEBUG_SYNC_DELAY_MS`.
fn planted_delay() -> Duration {
    static DELAY: OnceLock<Duration> = OnceLock::new();
    *DELAY.get_or_init(|| {
        let ms = std::env::var("WARREN_DEBUG_SYNC_DELAY_MS").ok().and_then(|ms| ms.parse().ok());
        Duration::from_millis(ms.unwrap_or(0))
    })
}

struct RealFile(fs::File);

impl File for RealFile {
    fn pwritev(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pwritev(&self.0, slices, offset)?)
    }

    fn pread_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn fdatasync(&self) -> io::Result<()> {
        if cfg!(debug_assertions) {
            std::thread::sleep(planted_delay());
        }
        Ok(fdatasync(&self.0)?)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let start = self.len()?;
        if start >= len {
            return Ok(());
        }
        // First the blocks, so that a full disk shows before anything is written and the file lies in one piece.
        // File systems that cannot (NFS, some FUSE) get them from the zeros alone.
        match fallocate(&self.0, FallocateFlags::empty(), start, len - start) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        let zeros = vec![0; ZERO_LEN.min((len - start) as usize)];
        let mut offset = start;
        while offset < len {
            let piece = zeros.len().min((len - offset) as usize);
            write_all_at(self, &zeros[..piece], offset)?;
            offset += piece as u64;
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_at(&self.0, path)
    }
}

/// `flock` belongs to the open file and ends with it, however the process ends.
struct RealLock {
    file: fs::File,
}

impl Lock for RealLock {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_at(&self.file, path)
    }
}

fn is_at(file: &fs::File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{read_exact_at, write_all_vectored_at};
    use super::*;

    fn check_dir(name: &str) -> std::path::PathBuf {
        let dir = std::env::temp_dir().join(format!("warren-file-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        RealDisk.create_dir(&dir).unwrap();
        dir
    }

    #[test]
    fn directories_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = check_dir("modes");
        RealDisk.create_dir(&dir.join("a/b")).unwrap();
        for made in [&dir, &dir.join("a"), &dir.join("a/b")] {
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, 0o700, "{}", made.display());
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn more_slices_than_one_call_takes_are_all_written() {
        let dir = check_dir("slices");
        let file = RealDisk.create(&dir.join("a")).unwrap();
        let bytes: Vec<[u8; 3]> = (0..3000u32).map(|i| [i as u8, (i >> 8) as u8, 7]).collect();
        let mut slices: Vec<IoSlice<'_>> = bytes.iter().map(|b| IoSlice::new(b)).collect();
        write_all_vectored_at(file.as_ref(), &mut slices, 5).unwrap();
        let mut read = vec![0; 9000];
        read_exact_at(file.as_ref(), &mut read, 5).unwrap();
        assert_eq!(read, bytes.concat());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn allocated_space_reads_as_zeros_and_keeps_what_was_there() {
        let dir = check_dir("allocate");
        let file = RealDisk.create(&dir.join("a")).unwrap();
        write_all_at(file.as_ref(), b"here", 0).unwrap();
        file.allocate(10_000).unwrap();
        let mut read = vec![1; 10_000];
        read_exact_at(file.as_ref(), &mut read, 0).unwrap();
        assert_eq!(&read[..4], b"here");
        assert!(read[4..].iter().all(|&byte| byte == 0));
        assert!(read_exact_at(file.as_ref(), &mut read, 1).is_err());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_file_knows_whether_it_has_a_name() {
        let dir = check_dir("names");
        let (path, other) = (dir.join("a"), dir.join("b"));
        let file = RealDisk.create(&path).unwrap();
        assert!(file.is_at(&path).unwrap() && !file.is_at(&other).unwrap());
        RealDisk.rename(&path, &other).unwrap();
        RealDisk.create(&path).unwrap();
        assert!(!file.is_at(&path).unwrap() && file.is_at(&other).unwrap());
        fs::remove_dir_all(&dir).unwrap();
        assert!(!file.is_at(&other).unwrap());
    }

    #[test]
    fn a_lock_is_exclusive_until_dropped() {
        let dir = check_dir("lock");
        let lock = RealDisk.try_lock(&dir.join("lock")).unwrap();
        assert!(lock.is_some());
        assert!(RealDisk.try_lock(&dir.join("lock")).unwrap().is_none());
        drop(lock);
        assert!(RealDisk.try_lock(&dir.join("lock")).unwrap().is_some());
        fs::remove_dir_all(dir).unwrap();
    }
}
