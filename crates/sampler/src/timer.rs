//! A timer that counts one thread's processor time, and signals that thread.

use std::io;

/// A timer. It ends with this.
#[derive(Debug)]
pub(crate) struct Timer {
    id: libc::timer_t,
}

#[expect(unsafe_code, reason = "the kernel's number of a timer, which any thread may use")]
// SAFETY: as said.
unsafe impl Send for Timer {}

impl Timer {
    /// One for a thread of this process, that signals it each time it has worked for so long, at the kernel's next tick.
    #[expect(unsafe_code, reason = "no library has these timers for other threads")]
    pub(crate) fn start(thread: i32, period_ns: u64, session: u32) -> io::Result<Timer> {
        // SAFETY: zeros are an event without a thread.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGPROF;
        event.sigev_notify_thread_id = thread;
        event.sigev_value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(session as usize) };
        let mut id = std::ptr::null_mut();
        // SAFETY: reads the event and writes the number; a thread that has ended is refused.
        if unsafe { libc::timer_create(clock_of(thread), &raw mut event, &raw mut id) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let timer = Timer { id };
        let period = libc::timespec {
            tv_sec: (period_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (period_ns % 1_000_000_000) as libc::c_long,
        };
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: reads the times.
        match unsafe { libc::timer_settime(timer.id, 0, &raw const times, std::ptr::null_mut()) } {
            0 => Ok(timer),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Timer {
    #[expect(unsafe_code, reason = "gives the timer back")]
    fn drop(&mut self) {
        // SAFETY: made by `start`, deleted once.
        unsafe { libc::timer_delete(self.id) };
    }
}

/// The clock of a thread's processor time, as the kernel numbers them: the thread's number, inverted, above three bits of which one says
/// that it is a thread's and one that it is the scheduler's.
fn clock_of(thread: i32) -> libc::clockid_t {
    const OF_THREAD: i32 = 4;
    const SCHEDULED: i32 = 2;
    !thread << 3 | OF_THREAD | SCHEDULED
}
