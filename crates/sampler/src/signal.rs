//! What happens in a thread when it is looked at.
//!
//! The handler is installed with the first session and stays: a signal that comes late must find it. Without a session it returns at once.

use std::io;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use std::{cell::Cell, process};

use crate::clock;
use crate::ring::{DEPTH_MAX, Head, Mapped, Ring};
use crate::walk::{Registers, walk};
use crate::work;

/// The session's ring, null without one. Changed before the handlers that run are waited for.
static RING: AtomicPtr<Ring> = AtomicPtr::new(std::ptr::null_mut());
/// Handlers that may use it.
static RUNNING: AtomicU32 = AtomicU32::new(0);
/// Which session it is: signals of timers of the one before are no samples of this one.
static SESSION: AtomicU32 = AtomicU32::new(0);
/// Processor time from one look to the next.
static PERIOD_NS: AtomicU64 = AtomicU64::new(1);
/// The main thread's number.
static MAIN_THREAD: AtomicU32 = AtomicU32::new(0);
/// The end of the main thread's stack.
static MAIN_STACK_END: AtomicU64 = AtomicU64::new(0);
/// Where the code of the program is.
static CODE_START: AtomicU64 = AtomicU64::new(0);
static CODE_END: AtomicU64 = AtomicU64::new(0);

/// Why the kernel says that it signals for an event: `POLL_IN`, which libc does not name.
const SI_OVERFLOW: libc::c_int = 1;
/// A thread's own stack is not larger. Where it seems to be, the thread is on another one.
const STACK_LEN_MAX: u64 = 1 << 30;

thread_local! {
    // Const and without a destructor: an access is one instruction, and allowed in a signal handler.
    /// The session that has seen this thread last, and up to which processor time of the thread its samples stand.
    static SEEN: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
}

/// Where things are in this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) main_stack_end: u64,
    pub(crate) code_start: u64,
    pub(crate) code_end: u64,
}

/// Installs the handler, if that is still to be done.
#[expect(unsafe_code, reason = "a handler of a signal has no other way in")]
pub(crate) fn install() -> io::Result<()> {
    // SAFETY: zeros are an action without flags and an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_tick as *const () as usize;
    // System calls continue, and no other handler interrupts this one by the same signal.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler calls nothing that a signal may not interrupt.
    match unsafe { libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// From now on samples go into this ring.
pub(crate) fn open(mapped: &Mapped, session: u32, period_ns: u64, layout: Layout) {
    MAIN_STACK_END.store(layout.main_stack_end, Relaxed);
    CODE_START.store(layout.code_start, Relaxed);
    CODE_END.store(layout.code_end, Relaxed);
    SESSION.store(session, Relaxed);
    PERIOD_NS.store(period_ns.max(1), Relaxed);
    MAIN_THREAD.store(process::id(), Relaxed);
    RING.store(mapped.as_ptr(), SeqCst);
}

/// From now on samples go nowhere: when this returns, no handler knows of a ring.
pub(crate) fn close() {
    RING.store(std::ptr::null_mut(), SeqCst);
    // A handler counts itself before it looks for the ring, so those that found one are counted here. They take microseconds.
    while RUNNING.load(SeqCst) > 0 {
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
}

/// The handler. Nothing in here allocates, takes a lock or calls what might.
#[expect(unsafe_code, reason = "the kernel calls it")]
extern "C" fn on_tick(_signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of this thread's errno, which the interrupted code may be about to read.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *errno };
    RUNNING.fetch_add(1, SeqCst);
    let ring = RING.load(SeqCst);
    if !ring.is_null() {
        // SAFETY: the kernel passes both with SA_SIGINFO; the ring stays mapped as long as this handler is counted.
        unsafe { record(&*ring, &*info, &*context.cast::<libc::ucontext_t>()) };
    }
    RUNNING.fetch_sub(1, SeqCst);
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// # Safety
///
/// `info` and `context` are the kernel's, of a signal that interrupted this thread.
#[expect(unsafe_code, reason = "reads what the kernel has written, and the thread's own stack")]
unsafe fn record(ring: &Ring, info: &libc::siginfo_t, context: &libc::ucontext_t) {
    let session = SESSION.load(Relaxed);
    // A signal that neither an event nor a timer of this session sent stands for no time.
    let is_ours = match info.si_code {
        SI_OVERFLOW => true,
        // SAFETY: signals of timers carry what the timer was made with.
        libc::SI_TIMER => unsafe { info.si_value() }.sival_ptr.addr() == session as usize,
        _ => false,
    };
    if !is_ours {
        return;
    }
    let began_at = clock::of_thread();
    // SAFETY: returns a number.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    let registers = registers(context);
    let end = stack_end(thread, registers.stack);
    let code = CODE_START.load(Relaxed)..CODE_END.load(Relaxed);
    let count = periods(session, began_at);
    ring.write(|places| {
        let mut depth = 0;
        let found = |address: u64| {
            places[depth].store(address, Relaxed);
            depth += 1;
            depth < DEPTH_MAX
        };
        // SAFETY: from its stack pointer to the end of its stack, a thread's memory is mapped.
        unsafe { walk(registers, end, code, found) };
        Head { thread, count, work: work::current(), depth: depth as u8 }
    });
    ring.handler_ns.fetch_add(clock::of_thread().saturating_sub(began_at), Relaxed);
}

/// How many periods this thread has worked since it was seen last, rounded, at least one: signals that find one waiting are lost, and a
/// timer's come at the kernel's ticks. What rounding leaves out or adds is made good in the next sample.
fn periods(session: u32, now_ns: u64) -> u16 {
    let period_ns = PERIOD_NS.load(Relaxed);
    let (seen_by, until_ns) = SEEN.get();
    let before_ns = if seen_by == session { until_ns } else { now_ns.saturating_sub(period_ns) };
    let count = (now_ns.saturating_sub(before_ns) + period_ns / 2) / period_ns;
    let count = count.clamp(1, u64::from(u16::MAX)) as u16;
    SEEN.set((session, before_ns + u64::from(count) * period_ns));
    count
}

/// Where the stack of this thread ends. `stack` itself, so that nothing is walked, if that is not known.
///
/// The C library puts what it knows of a thread at the end of its stack, and that is what `pthread_self` returns; a test holds it to that.
/// The main thread is the kernel's.
#[expect(unsafe_code, reason = "pthread_self has no safe name that promises to call nothing else")]
fn stack_end(thread: u32, stack: u64) -> u64 {
    let end = match thread == MAIN_THREAD.load(Relaxed) {
        true => MAIN_STACK_END.load(Relaxed),
        // SAFETY: reads a register.
        false => unsafe { libc::pthread_self() as u64 },
    };
    match end.checked_sub(stack) {
        Some(..STACK_LEN_MAX) => end,
        _ => stack,
    }
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let of = |register: libc::c_int| context.uc_mcontext.gregs[register as usize] as u64;
    Registers { instruction: of(libc::REG_RIP), stack: of(libc::REG_RSP), frame: of(libc::REG_RBP) }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let of = &context.uc_mcontext;
    Registers { instruction: of.pc, stack: of.sp, frame: of.regs[29] }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn registers(_: &libc::ucontext_t) -> Registers {
    Registers { instruction: 0, stack: 0, frame: 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    #[expect(unsafe_code, reason = "asks the C library where the stack is")]
    fn what_pthread_self_returns_is_within_the_stack() {
        for len in [64 << 10, 2 << 20, 16 << 20] {
            let seen = std::thread::Builder::new().stack_size(len).spawn(|| {
                let here = 0_u8;
                let mut start = std::ptr::null_mut();
                let mut len = 0;
                // SAFETY: asks for the attributes of this thread, and gives them back.
                unsafe {
                    let mut attributes = std::mem::zeroed();
                    assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes), 0);
                    assert_eq!(libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut len), 0);
                    libc::pthread_attr_destroy(&raw mut attributes);
                }
                // SAFETY: reads a register.
                let of_thread = unsafe { libc::pthread_self() as u64 };
                let start = start as u64;
                (start, (&raw const here) as u64, of_thread, start + len as u64)
            });
            let (start, here, of_thread, end) = seen.unwrap().join().unwrap();
            assert!(start < here && here < of_thread && of_thread < end, "{start:x} {here:x} {of_thread:x} {end:x}");
            assert!(end - of_thread < 64 << 10, "most of the stack is walked");
        }
    }
}
