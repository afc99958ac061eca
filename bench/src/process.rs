//! What the kernel says about the broker's processes: CPU time and memory.

use std::fs;
use std::io;

/// Ticks a second in /proc; the kernel's interface fixes it at 100 whatever its own clock.
const TICKS_PER_S: f64 = 100.0;

/// CPU seconds, user and system, of these processes with all their threads, those that have ended included.
pub(crate) fn cpu_s(pids: &[u32]) -> io::Result<f64> {
    let mut ticks = 0;
    for pid in pids {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read_to_string(&path).map_err(|error| io::Error::other(format!("{path}: {error}")))?;
        ticks += cpu_ticks(&stat).ok_or_else(|| io::Error::other(format!("{path} is not understood")))?;
    }
    Ok(ticks as f64 / TICKS_PER_S)
}

/// CPU seconds of the whole machine, less this process's own: the broker, the kernel's threads that write for it, and
/// whatever else runs.
pub(crate) fn machine_cpu_s() -> io::Result<f64> {
    Ok(total_cpu_s()? - cpu_s(&[std::process::id()])?)
}

/// CPU seconds of the whole machine.
pub(crate) fn total_cpu_s() -> io::Result<f64> {
    let path = "/proc/stat";
    let stat = fs::read_to_string(path).map_err(|error| io::Error::other(format!("{path}: {error}")))?;
    let ticks = busy_ticks(&stat).ok_or_else(|| io::Error::other(format!("{path} is not understood")))?;
    Ok(ticks as f64 / TICKS_PER_S)
}

/// Anonymous memory that is resident: what the processes hold for themselves, page cache apart.
pub(crate) fn rss_anon_bytes(pids: &[u32]) -> io::Result<u64> {
    status_bytes(pids, "RssAnon:")
}

/// All memory that is resident, with the pages of the program itself.
pub(crate) fn rss_bytes(pids: &[u32]) -> io::Result<u64> {
    status_bytes(pids, "VmRSS:")
}

fn status_bytes(pids: &[u32], name: &str) -> io::Result<u64> {
    let mut kib = 0;
    for pid in pids {
        let path = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&path).map_err(|error| io::Error::other(format!("{path}: {error}")))?;
        kib += status_kib(&status, name).ok_or_else(|| io::Error::other(format!("{path} is not understood")))?;
    }
    Ok(kib * 1024)
}

fn cpu_ticks(stat: &str) -> Option<u64> {
    // The name in parentheses may hold anything; after it `utime` and `stime` are the 12th and 13th words.
    let (_, words) = stat.rsplit_once(')')?;
    let mut words = words.split_whitespace().skip(11);
    let user: u64 = words.next()?.parse().ok()?;
    let system: u64 = words.next()?.parse().ok()?;
    Some(user + system)
}

fn busy_ticks(stat: &str) -> Option<u64> {
    // All processors together come first: user, nice, system, idle, iowait, irq, softirq, and what other guests took.
    let mut ticks = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().map(str::parse::<u64>);
    let mut next = || ticks.next()?.ok();
    let (user, nice, system) = (next()?, next()?, next()?);
    let (_idle, _iowait) = (next()?, next()?);
    Some(user + nice + system + next()? + next()?)
}

fn status_kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 700 30 0 0 20 0 9 0 1 2 3";
        assert_eq!(cpu_ticks(stat), Some(730));
        assert_eq!(cpu_ticks("42 (torn"), None);
    }

    #[test]
    fn the_machine_is_busy_when_it_neither_idles_nor_waits() {
        assert_eq!(busy_ticks("cpu  1 20 300 9 9 4000 50000 9 9 9\ncpu0 7 7 7 7 7 7 7\n"), Some(54321));
        assert_eq!(busy_ticks("intr 1"), None);
    }

    #[test]
    fn memory_is_found() {
        assert_eq!(status_kib("Name:\tx\nRssAnon:\t    1234 kB\nRssFile:\t 5 kB\n", "RssAnon:"), Some(1234));
        assert_eq!(status_kib("Name:\tx\n", "RssAnon:"), None);
    }

    #[test]
    fn this_process_and_machine_have_them() {
        let pid = std::process::id();
        assert!(cpu_s(&[pid]).is_ok() && machine_cpu_s().is_ok());
        assert!(rss_bytes(&[pid]).unwrap() > rss_anon_bytes(&[pid]).unwrap());
    }
}
