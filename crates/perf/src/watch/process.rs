//! CPU, memory, disk and network of processes, from Linux's /proc.

use std::fs;
use std::io;

use super::disks::Disks;
use crate::results::{Machine, Usage};

/// A process that cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch process {pid}: {source}")]
pub(crate) struct ProcessError {
    /// As asked for.
    pub pid: u32,
    /// What the system says.
    pub source: io::Error,
}

/// Processes that are watched together: a broker and what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Processes {
    pids: Vec<u32>,
    last: Usage,
    disks: Disks,
    disks_written: Option<u64>,
}

impl Processes {
    /// Starts to watch. All of them have to be there.
    pub(crate) fn new(pids: Vec<u32>) -> Result<Self, ProcessError> {
        for pid in &pids {
            fs::metadata(format!("/proc/{pid}/stat")).map_err(|source| ProcessError { pid: *pid, source })?;
        }
        Ok(Processes::begin(pids))
    }

    /// This process.
    #[must_use]
    pub(crate) fn own() -> Self {
        Processes::begin(vec![std::process::id()])
    }

    fn begin(pids: Vec<u32>) -> Self {
        let (last, disks) = (totals(&pids), Disks::of(&pids));
        let disks_written = disks.written();
        Processes { pids, last, disks, disks_written }
    }

    /// What was used since the last time; memory is what is in use now. A process that has ended has used nothing.
    pub(crate) fn sample(&mut self) -> Usage {
        let now = totals(&self.pids);
        let last = std::mem::replace(&mut self.last, now);
        let since = |now: Option<u64>, last: Option<u64>| Some(now?.saturating_sub(last?));
        let since_s = |now: Option<f64>, last: Option<f64>| Some((now? - last?).max(0.0));
        let disks_written = self.disks.written();
        let by_disks = since(disks_written, std::mem::replace(&mut self.disks_written, disks_written));
        let by_processes = since(now.disk_written, last.disk_written);
        Usage {
            cpu_s: since_s(now.cpu_s, last.cpu_s),
            waited_s: since_s(now.waited_s, last.waited_s),
            memory: now.memory,
            disk_read: since(now.disk_read, last.disk_read),
            // Each is an upper bound: see `disks`.
            disk_written: by_processes.map(|written| written.min(by_disks.unwrap_or(u64::MAX))),
            network_in: since(now.network_in, last.network_in),
            network_out: since(now.network_out, last.network_out),
        }
    }
}

/// Counters of all processes since they were started. What cannot be read of one, is not known of all.
fn totals(pids: &[u32]) -> Usage {
    let sum = |of: &dyn Fn(u32) -> Option<u64>| pids.iter().map(|pid| of(*pid)).sum::<Option<u64>>();
    let network = pids.first().and_then(|pid| network(*pid));
    Usage {
        cpu_s: pids.iter().map(|pid| cpu_s(*pid)).sum::<Option<f64>>(),
        waited_s: pids.iter().map(|pid| waited_s(*pid)).sum::<Option<f64>>(),
        memory: sum(&memory),
        disk_read: sum(&|pid| field(&format!("/proc/{pid}/io"), "read_bytes:")),
        disk_written: sum(&|pid| {
            let io = format!("/proc/{pid}/io");
            Some(field(&io, "write_bytes:")?.saturating_sub(field(&io, "cancelled_write_bytes:")?))
        }),
        network_in: network.map(|(received, _)| received),
        network_out: network.map(|(_, sent)| sent),
    }
}

/// User and system time of all threads.
fn cpu_s(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name, in parentheses, which may have anything in it.
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// For how long threads that are there now were ready to run, and had no processor.
fn waited_s(pid: u32) -> Option<f64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let waited_ns = threads.filter_map(|thread| {
        // Run, waited, turns. A thread may end meanwhile.
        let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    Some(waited_ns.sum::<u64>() as f64 / 1e9)
}

fn memory(pid: u32) -> Option<u64> {
    field(&format!("/proc/{pid}/status"), "VmRSS:").map(|kib| kib * 1024)
}

/// The first number after a name that a line begins with.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Bytes received and sent by all interfaces that the process can see.
fn network(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/net/dev")).ok()?;
    let interfaces = text.lines().filter_map(|line| line.split_once(':'));
    interfaces
        .map(|(_, counters)| {
            let mut counters = counters.split_ascii_whitespace();
            let received: u64 = counters.next()?.parse().ok()?;
            let sent: u64 = counters.nth(7)?.parse().ok()?;
            Some((received, sent))
        })
        .try_fold((0, 0), |(received, sent), interface| interface.map(|(r, s)| (received + r, sent + s)))
}

/// How many processors this process may use.
#[must_use]
pub(crate) fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// The machine that this runs on.
#[must_use]
pub(crate) fn machine() -> Machine {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    Machine {
        system: format!("{} {}", std::env::consts::OS, release.trim()),
        processor: processor.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        processors: processors(),
        memory: field("/proc/meminfo", "MemTotal:").map_or(0, |kib| kib * 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_work_is_seen() {
        let mut own = Processes::own();
        let mut sum = 0_u64;
        let mut used = 0.0;
        // Counted in hundredths of a second; works until one has passed.
        while used == 0.0 {
            for number in 0..1_000_000_u64 {
                sum = sum.wrapping_add(std::hint::black_box(number));
            }
            used = own.sample().cpu_s.unwrap();
        }
        let sample = own.sample();
        assert!(sample.memory.unwrap() > 100_000, "{sample:?} {sum}");
        assert!(sample.network_in.is_some());
    }

    #[test]
    fn process_that_is_not_there_is_refused() {
        let error = Processes::new(vec![u32::MAX]).unwrap_err();
        assert!(error.to_string().starts_with("cannot watch process 4294967295: "), "{error}");
    }

    #[test]
    fn machine_is_described() {
        let machine = machine();
        assert!(machine.processors > 0 && machine.memory > 0 && !machine.processor.is_empty(), "{machine:?}");
    }
}
