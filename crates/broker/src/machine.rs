//! What the operating system knows of this process, and of its disk. None where it does not say.

use std::path::Path;
use std::time::Duration;

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

/// What of it is of files: the program, in bytes.
#[must_use]
pub fn files_len() -> Option<u64> {
    Some(status_of("RssFile:")? << 10)
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

/// How many threads the process's user may have: all that the system can have, where there is no other limit.
#[must_use]
pub fn thread_max() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max processes"))?;
    let of_user = limit.split_ascii_whitespace().next()?.parse().ok();
    let of_system = || std::fs::read_to_string("/proc/sys/kernel/threads-max").ok()?.trim().parse().ok();
    of_user.or_else(of_system)
}

/// Processor time that the process has taken, in seconds.
#[must_use]
pub fn processor_seconds() -> Option<f64> {
    processor_seconds_in(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// What the kernel counts processor time in for programs, on every machine that we know.
const TICKS_PER_SECOND: f64 = 100.0;

/// How the process came by processors since it started, or since its machine did: what grows between two looks is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessorTimes {
    /// How long its threads ran.
    pub used: Duration,
    /// How long they could have run, and had no processor.
    pub waited: Duration,
    /// How long its control group had no processor, because it had used up what it may have.
    pub throttled: Duration,
    /// How long the machine's processors were others', of the same hypervisor.
    pub stolen: Duration,
}

/// How the process came by processors. Threads that have ended are not in it.
#[must_use]
pub fn processor_times() -> ProcessorTimes {
    let mut times = ProcessorTimes::default();
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let (used, waited) = schedstat(&text);
        times.used += used;
        times.waited += waited;
    }
    times.throttled = throttled().unwrap_or_default();
    let machine = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    times.stolen = stolen(&machine);
    times
}

/// Of the process's own control group, version 2.
fn throttled() -> Option<Duration> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let text = std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(path).join("cpu.stat")).ok()?;
    named(&text, "throttled_usec").map(Duration::from_micros)
}

/// `used waited slices`, in nanoseconds.
fn schedstat(text: &str) -> (Duration, Duration) {
    let mut numbers = text.split_ascii_whitespace().map(|number| number.parse().unwrap_or(0));
    let mut next = || Duration::from_nanos(numbers.next().unwrap_or(0));
    (next(), next())
}

/// The value of a line `name value`.
fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Of the line of all processors, the eighth number.
fn stolen(stat: &str) -> Duration {
    let of_all = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    let ticks: Option<f64> = of_all.and_then(|line| line.split_ascii_whitespace().nth(7)?.parse().ok());
    Duration::from_secs_f64(ticks.unwrap_or(0.0).max(0.0) / TICKS_PER_SECOND)
}

fn processor_seconds_in(stat: &str) -> Option<f64> {
    // The second field, between parentheses, is the program's name, which may contain anything.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let user: f64 = fields.nth(11)?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0 20 0 9 0 100 1 2";
        assert_eq!(processor_seconds_in(stat), Some(1.75));
        assert_eq!(processor_seconds_in("7 (a"), None);
    }

    #[test]
    fn what_processors_gave_is_read_of_what_the_kernel_says() {
        assert_eq!(schedstat("1500 2500 7\n"), (Duration::from_nanos(1500), Duration::from_nanos(2500)));
        assert_eq!(schedstat(""), (Duration::ZERO, Duration::ZERO));
        let group = "usage_usec 5\nnr_throttled 2\nthrottled_usec 70\n";
        assert_eq!((named(group, "throttled_usec"), named(group, "throttled")), (Some(70), None));
        assert_eq!(stolen("cpu  1 2 3 4 5 6 7 250 9 0\ncpu0 1 1 1 1 1 1 1 1\n"), Duration::from_millis(2500));
        assert_eq!(stolen("cpu  1 2\n"), Duration::ZERO);
        let times = processor_times();
        assert!(times.used > Duration::ZERO, "{times:?}");
    }

    #[test]
    fn this_process_is_known() {
        assert!(open_file_count().unwrap() > 0 && thread_count().unwrap() > 0);
        assert!(thread_max().unwrap() >= thread_count().unwrap());
        assert!(processor_seconds().unwrap() >= 0.0);
    }
}
