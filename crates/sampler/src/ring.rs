//! Where samples wait for the session's thread: slots of a fixed size in memory that is mapped for a session.
//!
//! ```text
//!  | turn | thread, count, work, depth | address … |   turn 2r: free for round r; 2r+1: filled in round r
//! ```
//!
//! Many threads write, each in a signal handler, and one reads. All fields are atomic, and zeros are a ring that is empty: mapped memory is
//! one.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Frames of a sample. What is deeper is cut, at the outer end.
pub const DEPTH_MAX: usize = 126;
/// Slots, of 1 KiB each. They are read 20 times a second: 40 processors at 999 Hz fill them meanwhile.
const SLOT_COUNT: usize = 2048;
/// Bytes of all that a session maps.
pub const RING_LEN: usize = size_of::<Ring>();
const _: () = assert!(RING_LEN <= 8 << 20, "a session takes at most 8 MiB");

/// Tries to take a slot while others do: then the sample is dropped, so that a handler ends.
const TRY_COUNT: usize = 16;

#[repr(C, align(64))]
struct Slot {
    turn: AtomicU64,
    head: AtomicU64,
    addresses: [AtomicU64; DEPTH_MAX],
}

/// The ring, and what else the handlers share.
#[repr(C, align(64))]
pub(crate) struct Ring {
    next: AtomicU64,
    dropped: AtomicU64,
    /// Processor time that the handlers have taken.
    pub(crate) handler_ns: AtomicU64,
    slots: [Slot; SLOT_COUNT],
}

/// What is known of a sample besides its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The thread's number, as the kernel has it.
    pub(crate) thread: u32,
    /// How many periods it stands for.
    pub(crate) count: u16,
    pub(crate) work: u8,
    /// How many addresses there are.
    pub(crate) depth: u8,
}

impl Head {
    fn packed(self) -> u64 {
        u64::from(self.thread) << 32 | u64::from(self.count) << 16 | u64::from(self.work) << 8 | u64::from(self.depth)
    }

    fn unpacked(word: u64) -> Head {
        Head { thread: (word >> 32) as u32, count: (word >> 16) as u16, work: (word >> 8) as u8, depth: word as u8 }
    }
}

impl Ring {
    /// Has a sample written into a slot: `fill` is given the places of addresses and returns what is known. Waits for nothing.
    pub(crate) fn write(&self, fill: impl FnOnce(&[AtomicU64; DEPTH_MAX]) -> Head) {
        for _ in 0..TRY_COUNT {
            let position = self.next.load(Relaxed);
            let (slot, free) = (self.slot(position), turn(position));
            let turn = slot.turn.load(Acquire);
            if turn < free {
                break;
            }
            let is_ours =
                turn == free && self.next.compare_exchange_weak(position, position + 1, Relaxed, Relaxed).is_ok();
            if is_ours {
                slot.head.store(fill(&slot.addresses).packed(), Relaxed);
                slot.turn.store(free + 1, Release);
                return;
            }
        }
        self.dropped.fetch_add(1, Relaxed);
    }

    fn slot(&self, position: u64) -> &Slot {
        &self.slots[position as usize % SLOT_COUNT]
    }

    /// How many samples had no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

/// The turn of a slot that is free for this position.
fn turn(position: u64) -> u64 {
    position / SLOT_COUNT as u64 * 2
}

/// The one reader of a ring, and its memory.
pub(crate) struct Mapped {
    ring: NonNull<Ring>,
    position: u64,
}

#[expect(unsafe_code, reason = "it is a pointer to atomics, which any thread may use")]
// SAFETY: as said.
unsafe impl Send for Mapped {}

impl Mapped {
    /// An empty ring.
    #[expect(unsafe_code, reason = "maps memory that can be unmapped as a whole, which the allocator's cannot")]
    pub(crate) fn new() -> io::Result<Mapped> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, at no address that was asked for.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), RING_LEN, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ring = NonNull::new(address.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Mapped { ring, position: 0 })
    }

    #[expect(unsafe_code, reason = "follows its pointer")]
    pub(crate) fn ring(&self) -> &Ring {
        // SAFETY: mapped as long as this is there, aligned to a page, and zeros are a ring.
        unsafe { self.ring.as_ref() }
    }

    /// The same without its lifetime, for handlers.
    pub(crate) fn as_ptr(&self) -> *mut Ring {
        self.ring.as_ptr()
    }

    /// The next sample, its addresses in `addresses`.
    pub(crate) fn read(&mut self, addresses: &mut Vec<u64>) -> Option<Head> {
        let (position, free) = (self.position, turn(self.position));
        let slot = self.ring().slot(position);
        if slot.turn.load(Acquire) != free + 1 {
            return None;
        }
        let head = Head::unpacked(slot.head.load(Relaxed));
        addresses.clear();
        addresses.extend(slot.addresses.iter().take(usize::from(head.depth)).map(|address| address.load(Relaxed)));
        slot.turn.store(free + 2, Release);
        self.position += 1;
        Some(head)
    }

    /// How many samples wait. Reads them all.
    pub(crate) fn count_rest(&mut self) -> u64 {
        let mut addresses = Vec::new();
        std::iter::from_fn(|| self.read(&mut addresses)).count() as u64
    }
}

impl Drop for Mapped {
    #[expect(unsafe_code, reason = "gives the memory back")]
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; the session, which gave the pointer to handlers, has seen that none still uses it.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), RING_LEN) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(ring: &Ring, thread: u32, addresses: &[u64]) {
        ring.write(|places| {
            places.iter().zip(addresses).for_each(|(place, address)| place.store(*address, Relaxed));
            Head { thread, count: 1, work: 2, depth: addresses.len() as u8 }
        });
    }

    #[test]
    fn samples_are_read_as_they_were_written() {
        let mut mapped = Mapped::new().unwrap();
        let mut addresses = Vec::new();
        for round in 0..3 * SLOT_COUNT as u64 {
            write(mapped.ring(), 7, &[round, round + 1]);
            write(mapped.ring(), u32::MAX, &[]);
            assert_eq!(mapped.read(&mut addresses), Some(Head { thread: 7, count: 1, work: 2, depth: 2 }));
            assert_eq!(addresses, [round, round + 1]);
            assert_eq!(mapped.read(&mut addresses).map(|head| head.thread), Some(u32::MAX));
            assert_eq!(mapped.read(&mut addresses), None);
        }
        assert_eq!(mapped.ring().dropped(), 0);
    }

    #[test]
    fn what_has_no_room_is_counted_and_the_oldest_stay() {
        let mut mapped = Mapped::new().unwrap();
        (0..SLOT_COUNT as u32 + 10).for_each(|thread| write(mapped.ring(), thread, &[1]));
        assert_eq!(mapped.ring().dropped(), 10);
        let mut addresses = Vec::new();
        let read: Vec<u32> = std::iter::from_fn(|| mapped.read(&mut addresses)).map(|head| head.thread).collect();
        assert_eq!(read, (0..SLOT_COUNT as u32).collect::<Vec<_>>());
        write(mapped.ring(), 5, &[1]);
        assert_eq!(mapped.read(&mut addresses).map(|head| head.thread), Some(5));
    }

    #[test]
    fn many_threads_write_at_once_and_nothing_is_torn() {
        let mut mapped = Mapped::new().unwrap();
        const EACH: u64 = 20_000;
        let ring = mapped.as_ptr().expose_provenance();
        let writers: Vec<_> = (0..4_u32)
            .map(|thread| {
                std::thread::spawn(move || {
                    #[expect(unsafe_code, reason = "as the handlers do")]
                    // SAFETY: the ring is dropped when all have been joined.
                    let ring = unsafe { &*std::ptr::with_exposed_provenance::<Ring>(ring) };
                    (0..EACH).for_each(|number| write(ring, thread, &[u64::from(thread), number, number]));
                })
            })
            .collect();
        let (mut addresses, mut seen) = (Vec::new(), 0);
        let mut last = [None; 4];
        while writers.iter().any(|writer| !writer.is_finished()) || seen + mapped.ring().dropped() < 4 * EACH {
            let Some(head) = mapped.read(&mut addresses) else { continue };
            let [thread, number, again] = addresses[..] else { panic!("{addresses:?}") };
            assert_eq!((thread, number), (u64::from(head.thread), again));
            assert!(last[head.thread as usize].is_none_or(|last| last < number), "out of order");
            last[head.thread as usize] = Some(number);
            seen += 1;
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(seen + mapped.ring().dropped(), 4 * EACH);
    }
}
