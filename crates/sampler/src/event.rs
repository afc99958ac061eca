//! A performance event that counts one thread's processor time, and signals that thread (perf_event_open(2)).
//!
//! The kernel sets an alarm for the moment at which the thread has worked so long, and moves it with the thread's turns: threads that work
//! in short turns are seen as exactly as others. Not every process may have one: `kernel.perf_event_paranoid` above 1 asks for the
//! capability CAP_PERFMON, and containers often forbid the call.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An event. It ends with this.
#[derive(Debug)]
pub(crate) struct Event {
    _file: OwnedFd,
}

/// The first edition of the kernel's `perf_event_attr`, which all kernels take.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    len: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config_1: u64,
}
const _: () = assert!(size_of::<Attributes>() == 64);

const KIND_SOFTWARE: u32 = 1;
/// Nanoseconds that the thread has worked.
const TASK_CLOCK: u64 = 1;
/// Counts nothing until it is enabled.
const IS_DISABLED: u64 = 1;
const FLAG_CLOSE_ON_EXEC: libc::c_ulong = 8;
const IOCTL_ENABLE: libc::Ioctl = 0x2400;
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const OWNER_IS_THREAD: libc::c_int = 0;

/// The kernel's `f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: libc::c_int,
    number: libc::pid_t,
}

impl Event {
    /// One for a thread of this process, that signals it each time it has worked for so long.
    #[expect(unsafe_code, reason = "no library that the project has opens these events")]
    pub(crate) fn start(thread: i32, period_ns: u64) -> io::Result<Event> {
        let attributes = Attributes {
            kind: KIND_SOFTWARE,
            len: size_of::<Attributes>() as u32,
            config: TASK_CLOCK,
            sample_period: period_ns,
            flags: IS_DISABLED,
            wakeup_events: 1,
            ..Attributes::default()
        };
        const EVERY_PROCESSOR: libc::c_int = -1;
        const NO_GROUP: libc::c_int = -1;
        // SAFETY: reads the attributes.
        let number = checked(unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                thread,
                EVERY_PROCESSOR,
                NO_GROUP,
                FLAG_CLOSE_ON_EXEC,
            )
        })? as libc::c_int;
        // SAFETY: the kernel has just opened it for this call.
        let file = unsafe { OwnedFd::from_raw_fd(number) };
        let owner = Owner { kind: OWNER_IS_THREAD, number: thread };
        // SAFETY: the first reads the owner, the others numbers.
        unsafe {
            checked(libc::fcntl(file.as_raw_fd(), F_SETOWN_EX, &raw const owner).into())?;
            checked(libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGPROF).into())?;
            checked(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC).into())?;
            checked(libc::ioctl(file.as_raw_fd(), IOCTL_ENABLE, 0).into())?;
        }
        Ok(Event { _file: file })
    }
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
