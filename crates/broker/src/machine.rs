//! What the operating system knows of this process, and of its disk. None where it does not say.

use std::path::Path;

/// How many files the process has open.
#[must_use]
pub fn open_file_count() -> Option<u64> {
    let entries = std::fs::read_dir("/proc/self/fd").ok()?;
    // One is the directory itself, while it is read.
    Some((entries.count() as u64).saturating_sub(1))
}

/// Resident memory of this process, in bytes.
#[must_use]
pub fn resident_len() -> Option<u64> {
    // Not `statm`, which counts in pages: asking how long these are is the one thing here that valgrind does not let a process do.
    Some(status_of("VmRSS:")? << 10)
}

/// How many threads this process has.
#[must_use]
pub fn thread_count() -> Option<u64> {
    status_of("Threads:")
}

/// Free disk for an ordinary user at `path`, in bytes.
#[must_use]
pub fn free_len(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}

fn status_of(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}
