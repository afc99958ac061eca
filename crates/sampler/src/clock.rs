//! Processor time, as the kernel counts it.

/// Nanoseconds of a clock; 0 if there is no such clock. Safe in a signal handler.
#[expect(unsafe_code, reason = "clock_gettime may be called in a signal handler, of which no wrapper says so")]
fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the time, which is ours.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// What this thread has worked.
pub(crate) fn of_thread() -> u64 {
    nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What all threads of this process have worked.
pub(crate) fn of_process() -> u64 {
    nanoseconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}
