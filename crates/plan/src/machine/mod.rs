//! What this machine has: read from the system, and measured on its disk.

mod disk;

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Resource as Limited, getrlimit};

use crate::limits::{Gaps, Resource};
use crate::setting::Key;
use crate::workload::Description;
use disk::{Bounds, Measured, measure};

/// Where a broker that was started without options keeps its data.
const DEFAULT_DATA_DIR: &str = "warren-data";

/// Where Linux says what network interfaces are.
const INTERFACES: &str = "/sys/class/net";
/// Where it says how much memory there is, and how much of it a container may use.
const MEMORY: &str = "/proc/meminfo";
const MEMORY_OF_GROUP: &str = "/sys/fs/cgroup/memory.max";

/// A process without a limit: more files than any has.
const FILES_WITHOUT_LIMIT: u64 = 1_000_000_000;

/// What was found out, and what could not be.
pub(crate) struct Found {
    pub(crate) description: Description,
    pub(crate) gaps: Gaps,
}

/// Looks at the machine, and measures the disk on which a directory is.
pub(crate) fn look(data_dir: Option<PathBuf>) -> Result<Found, String> {
    let mut found = Found { description: Description::default(), gaps: Gaps::new() };
    found.put(Resource::Network, Key::Network, speed(Path::new(INTERFACES)))?;
    let processors = std::thread::available_parallelism().map(|count| (count.get() as f64, "this machine".to_owned()));
    found.put(
        Resource::Processors,
        Key::Cpus,
        processors.map_err(|error| format!("the system does not report it: {error}")),
    )?;
    let group = fs::read_to_string(MEMORY_OF_GROUP).unwrap_or_default();
    let memory = fs::read_to_string(MEMORY).map_err(|error| format!("cannot read {MEMORY}: {error}"));
    found.put(Resource::Memory, Key::Memory, memory.and_then(|text| memory_of(&text, &group)))?;
    let limit = getrlimit(Limited::Nofile).maximum.unwrap_or(FILES_WITHOUT_LIMIT);
    let place = "the limit of this shell; a service has its own".to_owned();
    found.put(Resource::Files, Key::Files, Ok((limit as f64, place)))?;
    let dir = data_dir.unwrap_or_else(|| {
        let usual = Path::new(DEFAULT_DATA_DIR);
        if usual.is_dir() { usual } else { Path::new(".") }.to_owned()
    });
    found.measure(&dir)?;
    Ok(found)
}

impl Found {
    /// Takes a value with its place, or the reason why there is none.
    fn put(&mut self, resource: Resource, key: Key, value: Result<(f64, String), String>) -> Result<(), String> {
        match value {
            Ok((value, place)) => self.description.note(key, value, &place),
            Err(reason) => {
                self.gaps.push((resource, reason));
                Ok(())
            }
        }
    }

    fn measure(&mut self, dir: &Path) -> Result<(), String> {
        let measured = measure(dir, &Bounds::default());
        let of = |choose: fn(&Measured) -> f64, what: &str| match &measured {
            Ok(measured) => Ok((choose(measured), format!("{what} of {}", dir.display()))),
            Err(reason) => Err(reason.clone()),
        };
        let space = of(|measured| measured.free_bytes, "free on the disk");
        let write = of(|measured| measured.write_bytes_per_s, "measured on the disk");
        let sync = of(|measured| measured.sync_us, "median, measured on the disk");
        self.put(Resource::DiskSpace, Key::DiskSpace, space)?;
        self.put(Resource::DiskWrite, Key::DiskWrite, write)?;
        self.put(Resource::Syncs, Key::SyncUs, sync)
    }
}

/// What the fastest interface carries that is up, in bits a second.
fn speed(interfaces: &Path) -> Result<(f64, String), String> {
    let shown = interfaces.display();
    let entries = fs::read_dir(interfaces).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let read = |path: PathBuf, name: &str| fs::read_to_string(path.join(name)).unwrap_or_default().trim().to_owned();
    let of_one = |path: PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_up = matches!(&*read(path.clone(), "operstate"), "up" | "unknown");
        let megabits: f64 = read(path.clone(), "speed").parse().ok()?;
        // The loopback leads nowhere, and -1 stands for unknown.
        (name != "lo" && is_up && megabits > 0.0).then(|| (megabits * 1e6, format!("{}/speed", path.display())))
    };
    let known = entries.filter_map(|entry| of_one(entry.ok()?.path()));
    known
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .ok_or_else(|| format!("no interface in {shown} reports its speed; set it with --network"))
}

/// The memory there is, and what of it the process may use if it is in a control group.
fn memory_of(meminfo: &str, group: &str) -> Result<(f64, String), String> {
    let total =
        meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    let total = total.map(|kib: f64| kib * 1024.0).ok_or_else(|| format!("{MEMORY} has no MemTotal"))?;
    match group.trim().parse::<f64>() {
        Ok(limit) if limit < total => Ok((limit, MEMORY_OF_GROUP.to_owned())),
        _ => Ok((total, MEMORY.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_groups_if_that_is_less() {
        let meminfo = "MemTotal:       16384 kB\nMemFree:         1000 kB\n";
        assert_eq!(memory_of(meminfo, "max\n"), Ok((16_777_216.0, MEMORY.to_owned())));
        assert_eq!(memory_of(meminfo, "1048576\n"), Ok((1_048_576.0, MEMORY_OF_GROUP.to_owned())));
        assert_eq!(memory_of(meminfo, "9223372036854771712\n"), Ok((16_777_216.0, MEMORY.to_owned())));
        assert!(memory_of("", "max").is_err());
    }

    #[test]
    fn the_fastest_interface_that_is_up_counts() {
        let dir = std::env::temp_dir().join(format!("warren-plan-net-{}", std::process::id()));
        let interface = |name: &str, state: &str, speed: &str| {
            fs::create_dir_all(dir.join(name)).unwrap();
            fs::write(dir.join(name).join("operstate"), state).unwrap();
            fs::write(dir.join(name).join("speed"), speed).unwrap();
        };
        interface("lo", "unknown\n", "100000\n");
        interface("virtual", "up\n", "-1\n");
        let unknown = speed(&dir).unwrap_err();
        assert!(unknown.ends_with("reports its speed; set it with --network"), "{unknown}");
        interface("eth0", "up\n", "1000\n");
        interface("eth1", "up\n", "25000\n");
        interface("eth2", "down\n", "100000\n");
        let (bits, place) = speed(&dir).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(bits, 25e9);
        assert!(place.ends_with("eth1/speed"), "{place}");
    }
}
