//! How much memory and how many processors this process may use.

use std::fs;

use model::config::Config;

/// Memory in bytes: the machine's, or its cgroup's if that has less.
pub(crate) fn memory_len() -> u64 {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    });
    [of_machine, cgroup_memory_len()].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// The memory limit of the process's control group: version 2 along its path, or version 1.
fn cgroup_memory_len() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let mut limits = Vec::new();
    let mut dir = format!("/sys/fs/cgroup{}", path.trim_end_matches('/'));
    loop {
        limits.extend(limit_in(&format!("{dir}/memory.max")));
        match dir.rfind('/') {
            Some(end) if end >= "/sys/fs/cgroup".len() => dir.truncate(end),
            _ => break,
        }
    }
    limits.extend(limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    limits.into_iter().min()
}

fn limit_in(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// How many processors the process may run on.
pub(crate) fn processor_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The node's name, as RabbitMQ would form it of what is configured.
pub(crate) fn node_name(config: &Config) -> String {
    match config.node_name.as_deref().unwrap_or("rabbit") {
        name if name.contains('@') => name.to_owned(),
        name => format!("{name}@{}", host_name()),
    }
}

/// What the host calls itself.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Has the kernel give this process memory page by page. The allocator asks for huge pages, of which each of many threads and sizes touches
/// a little: they were half of the broker's memory, and made no load faster that we know of.
pub(crate) fn use_small_pages() {
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages are used for memory");
    }
}

/// mimalloc's `mi_option_purge_delay`, which its crate does not name: for how many milliseconds a page that is free stays with the process.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
/// Its default is a second, and time only passes for it when memory is used: what a burst has taken stayed for good. At ten milliseconds
/// throughput is the same.
const PURGE_DELAY_MS: std::ffi::c_long = 10;

/// Has the allocator give back soon what is free, unless the environment variable `MIMALLOC_PURGE_DELAY` says when.
#[expect(unsafe_code, reason = "a call into the allocator, which has no other name in Rust")]
pub(crate) fn purge_memory_soon() {
    // SAFETY: sets a number, at any time, on any thread.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
}

/// Makes the allocator give what is free back to the operating system.
#[expect(unsafe_code, reason = "a call into the allocator, which has no other name in Rust")]
pub(crate) fn release_memory() {
    // SAFETY: `mi_collect` may be called on any thread at any time; it frees nothing that is in use.
    unsafe { libmimalloc_sys::mi_collect(true) };
}

/// How much the allocator has of the system, in bytes.
#[expect(unsafe_code, reason = "a call into the allocator, which has no other name in Rust")]
pub(crate) fn allocated_len() -> u64 {
    let mut committed = 0;
    let null = std::ptr::null_mut();
    // SAFETY: writes one number, to a place that is there; for all others it is given that they are not wanted.
    unsafe { libmimalloc_sys::mi_process_info(null, null, null, null, null, &raw mut committed, null, null) };
    committed as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(unsafe_code, reason = "a call into the allocator, which has no other name in Rust")]
    fn memory_is_purged_after_the_time_that_is_meant() {
        // SAFETY: reads a number.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1000, "mimalloc numbers its options anew, or has another default");
        purge_memory_soon();
        assert_eq!(delay(), PURGE_DELAY_MS);
    }
}
