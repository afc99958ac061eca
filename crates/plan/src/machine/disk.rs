//! What a disk does, by a short run: writes that are synced every few megabytes, as files of messages are; then single pages, each
//! synced, as commits of the journal are. The file has no name from the start, so nothing is left of it however the run ends.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

/// What the run may take.
pub(super) struct Bounds {
    /// Bytes written, at most.
    pub(super) len: u64,
    /// Time for large writes, and the same for small ones; one that has begun is waited for.
    pub(super) time: Duration,
    /// Small writes, at most.
    pub(super) sync_count: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { len: 256 << 20, time: Duration::from_secs(2), sync_count: 1_000 }
    }
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Measured {
    /// What was free before.
    pub(super) free_bytes: f64,
    pub(super) write_bytes_per_s: f64,
    /// The median of a write of a page and its sync.
    pub(super) sync_us: f64,
}

/// What is written and synced at a time.
const PIECE_LEN: usize = 8 << 20;
/// What a commit is at least.
const PAGE_LEN: usize = 4096;
/// How much of what is free the run may take: another program may need it at this moment.
const FREE_PART: u64 = 4;

/// Measures the disk that a directory is on.
pub(super) fn measure(dir: &Path, bounds: &Bounds) -> Result<Measured, String> {
    let shown = dir.display();
    let about = |error: io::Error| format!("cannot measure the disk of {shown}: {error}");
    let disk = statvfs(dir).map_err(|error| about(error.into()))?;
    let free = disk.f_bavail * disk.f_frsize;
    let len = bounds.len.min(free / FREE_PART);
    // Half of it at least is for what is written in large pieces; small writes take the same place again.
    let piece = noise(PIECE_LEN);
    if len < (PIECE_LEN + bounds.sync_count * PAGE_LEN) as u64 {
        return Err(format!("cannot measure the disk of {shown}: it has too little free space"));
    }
    let file = nameless(dir).map_err(about)?;
    let for_pieces = len - (bounds.sync_count * PAGE_LEN) as u64;
    let (written, taken) = write_pieces(&file, &piece, for_pieces, bounds.time).map_err(about)?;
    let mut times = sync_pages(&file, &piece[..PAGE_LEN], written, bounds).map_err(about)?;
    times.sort_unstable();
    Ok(Measured {
        free_bytes: free as f64,
        write_bytes_per_s: written as f64 / taken.as_secs_f64().max(1e-6),
        sync_us: (times[times.len() / 2].as_secs_f64() * 1e6).max(1.0),
    })
}

/// A file that only this process knows.
fn nameless(dir: &Path) -> io::Result<File> {
    let path = dir.join(format!(".warren-plan.{}.tmp", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Writes pieces until there is no room or time for another one; how much that was, and how long it took.
fn write_pieces(file: &File, piece: &[u8], len: u64, time: Duration) -> io::Result<(u64, Duration)> {
    let (started, mut written) = (Instant::now(), 0);
    while written + piece.len() as u64 <= len && (written == 0 || started.elapsed() < time) {
        file.write_all_at(piece, written)?;
        file.sync_data()?;
        written += piece.len() as u64;
    }
    Ok((written, started.elapsed()))
}

/// Writes and syncs one page after the other, in what has been written; how long each took.
fn sync_pages(file: &File, page: &[u8], len: u64, bounds: &Bounds) -> io::Result<Vec<Duration>> {
    let (started, mut times) = (Instant::now(), Vec::with_capacity(bounds.sync_count));
    while times.is_empty() || times.len() < bounds.sync_count && started.elapsed() < bounds.time {
        let at = (times.len() * page.len()) as u64 % len;
        let began = Instant::now();
        file.write_all_at(page, at)?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    Ok(times)
}

/// Bytes that no file system can make smaller.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_soon_and_leaves_nothing() {
        let dir = std::env::temp_dir().join(format!("warren-plan-disk-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let bounds = Bounds { len: 16 << 20, time: Duration::from_millis(50), sync_count: 20 };
        let measured = measure(&dir, &bounds).unwrap();
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "a file is left");
        fs::remove_dir_all(&dir).unwrap();
        assert!(
            measured.write_bytes_per_s > 0.0 && measured.sync_us >= 1.0 && measured.free_bytes > 0.0,
            "{measured:?}"
        );
    }

    #[test]
    fn no_more_is_written_than_may_be() {
        let dir = std::env::temp_dir();
        let (file, piece) = (nameless(&dir).unwrap(), noise(1 << 16));
        let (written, _) = write_pieces(&file, &piece, (5 << 16) + 1, Duration::from_secs(60)).unwrap();
        assert_eq!(written, 5 << 16);
        let bounds = Bounds { len: 0, time: Duration::from_secs(60), sync_count: 3 };
        assert_eq!(sync_pages(&file, &piece[..PAGE_LEN], written, &bounds).unwrap().len(), 3);
        assert_eq!(file.metadata().unwrap().len(), written, "pages are written where something was");
        let (written, _) = write_pieces(&file, &piece, u64::MAX, Duration::ZERO).unwrap();
        assert_eq!(written, 1 << 16, "without time it is one piece");
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let error = measure(Path::new("/no/such/dir"), &Bounds::default()).unwrap_err();
        assert!(error.starts_with("cannot measure the disk of /no/such/dir: "), "{error}");
    }
}
