//! Chunks: append-only memory for recent content. Queues read from it, the journal writes to disk from it.
//!
//! ```text
//!  | content | content | content | … | not yet written |        CHUNK_LEN bytes, or one large content alone
//!                                    ^ only the one ChunkWriter goes beyond this
//! ```
//!
//! A [`ChunkWriter`] copies contents one after the other into its current chunk and gives out [`Content`]s: an `Arc` of
//! the chunk, an offset and a length, 16 bytes. Contents written one after the other lie side by side, so that the
//! journal can write a run of them as one piece. A chunk is freed as a whole when its last content is dropped; one
//! long-lived content therefore pins a chunk, until the store moves it to a segment.
//!
//! This is the only place in the store with `unsafe`: readers hold `&[u8]` into a chunk while the writer appends to the
//! same allocation, which Rust's references cannot express. The argument why it is sound is at [`Memory`].

use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::ids::JournalPosition;
use parking_lot::Mutex;

/// A chunk's length.
pub(crate) const CHUNK_LEN: usize = 1 << 20;
/// A content longer than this has a chunk of its own, so that at most a quarter of a chunk is wasted at its end.
const SHARED_LEN_MAX: usize = CHUNK_LEN / 4;
/// Chunks kept for reuse: fresh memory costs a page fault every 4 KiB, more than copying the content does. As many as become free at once
/// when old ones are moved to segments.
const SPARE_COUNT_MAX: usize = 64;
/// They take no more than one of so many parts of what contents may take.
const SPARE_SHARE: u64 = 8;
/// Those that are kept though so many have not been needed lately.
const SPARE_COUNT_IDLE: usize = 2;

/// A piece of memory with contents. See the module.
pub struct Chunk {
    memory: Memory,
    number: u64,
    first_position: AtomicU64,
    budget: Arc<ChunkBudget>,
}

impl Chunk {
    /// How many chunks had been created before it, by all writers of one budget.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Where the first record batch that uses the chunk starts in the journal; [`JournalPosition::MAX`] before.
    /// A content of a record that ended at or before `p` is in a chunk whose first position is below `p`.
    #[must_use]
    pub(crate) fn first_position(&self) -> JournalPosition {
        JournalPosition(self.first_position.load(Ordering::Acquire))
    }

    /// A record batch that starts at `position` uses the chunk.
    #[inline]
    pub(crate) fn use_at(&self, position: JournalPosition) {
        if self.first_position.load(Ordering::Relaxed) > position.0 {
            self.first_position.fetch_min(position.0, Ordering::AcqRel);
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.memory.len() as u64, Ordering::Relaxed);
        let mut spare = self.budget.spare.lock();
        if self.memory.len() == CHUNK_LEN && spare.memories.len() < self.budget.spare_count_max {
            spare.memories.push(std::mem::take(&mut self.memory));
        }
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunk").field("number", &self.number).field("len", &self.memory.len()).finish_non_exhaustive()
    }
}

/// Some bytes in a chunk, for as long as anyone holds this.
#[derive(Clone)]
pub struct Content {
    chunk: Arc<Chunk>,
    offset: u32,
    len: u32,
}

const _: () = assert!(size_of::<Content>() == 16, "queues hold one for each message");

impl Content {
    /// The bytes.
    #[must_use]
    #[inline]
    #[allow(unsafe_code, reason = "see Memory")]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: A content is only made by `ChunkWriter::write`, after these bytes were written, or joined from two
        // such; the writer never writes below what it has written.
        unsafe { self.chunk.memory.written(self.offset as usize, self.len as usize) }
    }

    /// How many bytes.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where in its chunk it begins.
    #[must_use]
    pub fn offset(&self) -> u32 {
        self.offset
    }

    /// The chunk that holds it.
    #[must_use]
    #[inline]
    pub fn chunk(&self) -> &Arc<Chunk> {
        &self.chunk
    }

    /// Grows by `next` if that lies directly behind in the same chunk.
    #[inline]
    pub(crate) fn join(&mut self, next: &Content) -> bool {
        let is_adjacent = Arc::ptr_eq(&self.chunk, &next.chunk) && self.offset + self.len == next.offset;
        if is_adjacent {
            self.len += next.len;
        }
        is_adjacent
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({}+{} in chunk {})", self.offset, self.len, self.chunk.number)
    }
}

/// Counts the memory of all chunks alive, and keeps a few free ones for reuse.
#[derive(Debug)]
pub struct ChunkBudget {
    used: AtomicU64,
    /// Chunks that are being written.
    open_count: AtomicU64,
    created: AtomicU64,
    spare: Mutex<Spare>,
    spare_count_max: usize,
}

/// Memory of freed chunks, for new ones.
#[derive(Debug, Default)]
struct Spare {
    memories: Vec<Memory>,
    /// The fewest that there were since surplus ones were let go.
    fewest: usize,
}

impl ChunkBudget {
    /// A count of nothing yet. It refuses nothing: the store compares it with its bound, and publishers ask the store.
    #[must_use]
    pub fn new() -> Arc<ChunkBudget> {
        Self::sparing(u64::MAX)
    }

    /// The same, for an owner whose contents are to take about `len_max` bytes: the memory kept for reuse is little beside it.
    #[must_use]
    pub(crate) fn sparing(len_max: u64) -> Arc<ChunkBudget> {
        let share = usize::try_from(len_max / SPARE_SHARE / CHUNK_LEN as u64).unwrap_or(usize::MAX);
        Arc::new(ChunkBudget {
            spare_count_max: share.clamp(1, SPARE_COUNT_MAX),
            used: AtomicU64::new(0),
            open_count: AtomicU64::new(0),
            created: AtomicU64::new(0),
            spare: Mutex::default(),
        })
    }

    /// The bytes of all chunks alive.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The bytes that are kept for chunks to come.
    pub(crate) fn spare_len(&self) -> u64 {
        (self.spare.lock().memories.len() * CHUNK_LEN) as u64
    }

    /// The same without the chunks that are being written: these stay however much is moved out of memory, one for each
    /// [`ChunkWriter`]. What is bounded is the rest, so that any number of writers leaves room for contents.
    #[must_use]
    pub(crate) fn movable_len(&self) -> u64 {
        let open_len = self.open_count() * CHUNK_LEN as u64;
        self.used().saturating_sub(open_len)
    }

    /// How many chunks are being written.
    #[must_use]
    pub fn open_count(&self) -> u64 {
        self.open_count.load(Ordering::Relaxed)
    }

    /// The number that the next chunk will have: all that exist have lower ones.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.created.load(Ordering::Relaxed)
    }

    /// Gives memory back that no chunk has needed since this was called last, but for a little.
    pub fn trim(&self) {
        let surplus: Vec<Memory> = {
            let mut spare = self.spare.lock();
            let count = spare.memories.len();
            let surplus_count = spare.fewest.min(count.saturating_sub(SPARE_COUNT_IDLE));
            spare.fewest = count - surplus_count;
            // Those that have lain longest.
            spare.memories.drain(..surplus_count).collect()
        };
        drop(surplus);
    }

    fn chunk(self: &Arc<Self>, len: usize) -> Arc<Chunk> {
        let spare = if len == CHUNK_LEN { self.spare.lock().take() } else { None };
        self.used.fetch_add(len as u64, Ordering::Relaxed);
        Arc::new(Chunk {
            memory: spare.unwrap_or_else(|| Memory::new(len)),
            number: self.created.fetch_add(1, Ordering::Relaxed),
            first_position: AtomicU64::new(u64::MAX),
            budget: self.clone(),
        })
    }
}

impl Spare {
    fn take(&mut self) -> Option<Memory> {
        let memory = self.memories.pop();
        self.fewest = self.fewest.min(self.memories.len());
        memory
    }
}

/// Appends contents to chunks. Each thread has one of its own for each kind of content, so that appending takes no lock.
#[derive(Debug)]
pub struct ChunkWriter {
    budget: Arc<ChunkBudget>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    chunk: Arc<Chunk>,
    used_len: usize,
}

impl Current {
    fn open(budget: &Arc<ChunkBudget>) -> Current {
        budget.open_count.fetch_add(1, Ordering::Relaxed);
        Current { chunk: budget.chunk(CHUNK_LEN), used_len: 0 }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.chunk.budget.open_count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ChunkWriter {
    /// A writer that opens its first chunk with its first content.
    #[must_use]
    pub fn new(budget: Arc<ChunkBudget>) -> ChunkWriter {
        ChunkWriter { budget, current: None }
    }

    /// Appends a content of `len` bytes that `fill` writes. The slice it gets holds arbitrary bytes: it must write all.
    ///
    /// # Panics
    /// If `len` is 4 GiB or more.
    // Always, as what it calls: what `fill` has captured is then not written to memory for every message.
    #[inline(always)]
    #[allow(unsafe_code, reason = "see Memory")]
    pub fn write(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Content {
        let fits = matches!(&self.current, Some(current) if CHUNK_LEN - current.used_len >= len);
        if !fits {
            if len > SHARED_LEN_MAX {
                return self.write_alone(len, fill);
            }
            self.current = Some(Current::open(&self.budget));
        }
        let Some(current) = &mut self.current else { unreachable!("a chunk was opened above if there was none") };
        let offset = current.used_len;
        // SAFETY: No content covers these bytes: `used_len` is the end of all contents made. No other writes: the
        // chunk was created for this `Current`, and `&mut self` excludes a second call, also from inside `fill`.
        unsafe { current.chunk.memory.fill_unwritten(offset, len, fill) };
        current.used_len += len;
        Content { chunk: current.chunk.clone(), offset: offset as u32, len: len as u32 }
    }

    /// Appends a content that consists of these parts.
    #[inline]
    pub fn copy(&mut self, parts: &[&[u8]]) -> Content {
        self.write(parts.iter().map(|part| part.len()).sum(), |mut rest| {
            for part in parts {
                let (filled, behind) = rest.split_at_mut(part.len());
                filled.copy_from_slice(part);
                rest = behind;
            }
        })
    }

    #[cold]
    #[allow(unsafe_code, reason = "see Memory")]
    fn write_alone(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Content {
        assert!(u32::try_from(len).is_ok(), "contents are shorter than 4 GiB");
        let chunk = self.budget.chunk(len);
        // SAFETY: The chunk was created above; no other thread knows it yet.
        unsafe { chunk.memory.fill_unwritten(0, len, fill) };
        Content { chunk, offset: 0, len: len as u32 }
    }
}

/// A chunk's bytes, always initialised, shared by one writer and many readers.
///
/// It is sound because the bytes that are written and the bytes that are read never overlap: the writer only gets a
/// slice behind all that it has written, and a content, through which alone bytes are read, is made after its bytes
/// were written and covers nothing else. No reference ever covers the whole allocation. A content reaches another
/// thread by whatever synchronises the two (a mutex, a channel), and that orders the writing before the reading.
struct Memory {
    start: NonNull<u8>,
    len: usize,
}

#[allow(unsafe_code, reason = "readers and the writer share one allocation")]
impl Memory {
    fn new(len: usize) -> Memory {
        let bytes: *mut [u8] = Box::into_raw(vec![0; len].into_boxed_slice());
        Memory { start: NonNull::new(bytes.cast()).expect("a box is not null"), len }
    }

    fn len(&self) -> usize {
        self.len
    }

    /// # Safety
    /// Nothing writes these bytes as long as the slice lives.
    #[inline]
    unsafe fn written(&self, offset: usize, len: usize) -> &[u8] {
        debug_assert!(offset + len <= self.len, "a content lies in its chunk");
        // SAFETY: In bounds of one allocation that lives as long as `self`; initialised in `new`; not written by contract.
        unsafe { slice::from_raw_parts(self.start.as_ptr().add(offset), len) }
    }

    /// # Safety
    /// Nothing else reads or writes these bytes during the call.
    #[inline(always)]
    unsafe fn fill_unwritten(&self, offset: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(len <= self.len && offset <= self.len - len, "a content lies in its chunk");
        // SAFETY: In bounds (just checked) of one allocation that lives as long as `self`; initialised in `new`; exclusive by contract.
        fill(unsafe { slice::from_raw_parts_mut(self.start.as_ptr().add(offset), len) });
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory { start: NonNull::dangling(), len: 0 }
    }
}

#[allow(unsafe_code, reason = "gives back what `new` took")]
impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: From `Box::into_raw` in `new` with this length, or dangling with length 0; no slice outlives `self`.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.len)) });
    }
}

// SAFETY: The pointer owns plain bytes; see the type for why sharing them is no race.
#[allow(unsafe_code, reason = "owns plain bytes")]
unsafe impl Send for Memory {}
// SAFETY: As above.
#[allow(unsafe_code, reason = "owns plain bytes")]
unsafe impl Sync for Memory {}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_chunks(budget: &Arc<ChunkBudget>, used_len: usize) {
        assert_eq!(budget.used(), used_len as u64);
    }

    #[test]
    fn contents_read_back_as_written_and_lie_side_by_side() {
        let mut writer = ChunkWriter::new(ChunkBudget::new());
        let mut first = writer.copy(&[b"one", b"", b"two"]);
        let second = writer.write(3, |bytes| bytes.copy_from_slice(b"six"));
        assert_eq!((first.bytes(), second.bytes()), (&b"onetwo"[..], &b"six"[..]));
        assert!(first.join(&second));
        assert!(!first.join(&second));
        assert_eq!(first.bytes(), b"onetwosix");
    }

    #[test]
    fn readers_on_other_threads_read_while_the_writer_appends() {
        let mut writer = ChunkWriter::new(ChunkBudget::new());
        std::thread::scope(|scope| {
            let (tx, rx) = std::sync::mpsc::channel::<(u8, Content)>();
            scope.spawn(move || {
                let held: Vec<_> = rx.iter().inspect(|(byte, content)| check_bytes(*byte, content)).collect();
                held.iter().for_each(|(byte, content)| check_bytes(*byte, content));
            });
            for byte in 0..40 {
                let content = writer.write(usize::from(byte) + 1, |bytes| bytes.fill(byte));
                tx.send((byte, content.clone())).unwrap();
                check_bytes(byte, &content);
            }
        });
    }

    #[track_caller]
    fn check_bytes(byte: u8, content: &Content) {
        assert_eq!(content.len(), u32::from(byte) + 1);
        assert!(content.bytes().iter().all(|&read| read == byte));
    }

    #[test]
    fn memory_that_nobody_needs_is_given_back_and_a_little_is_kept() {
        let budget = ChunkBudget::new();
        let filled = |count: usize| {
            let mut writer = ChunkWriter::new(budget.clone());
            drop((0..count).map(|_| writer.write(CHUNK_LEN, |_| ())).collect::<Vec<_>>());
        };
        // Each a chunk of its own, for it is longer than those that share one.
        filled(SPARE_COUNT_MAX + 10);
        let spare_count = || budget.spare.lock().memories.len();
        assert_eq!(spare_count(), SPARE_COUNT_MAX);
        budget.trim();
        assert_eq!(spare_count(), SPARE_COUNT_MAX, "they have just come to be");
        filled(40);
        budget.trim();
        assert_eq!(spare_count(), 40, "so many were needed at once");
        budget.trim();
        assert_eq!(spare_count(), SPARE_COUNT_IDLE);
    }

    #[test]
    fn a_chunk_goes_with_its_last_content() {
        let budget = ChunkBudget::new();
        let mut writer = ChunkWriter::new(budget.clone());
        let first = writer.copy(&[b"first"]);
        let rest = writer.write(CHUNK_LEN - 5, |bytes| bytes.fill(1));
        check_chunks(&budget, CHUNK_LEN);
        let second = writer.copy(&[b"second"]);
        assert_eq!((first.chunk().number(), second.chunk().number()), (0, 1));
        check_chunks(&budget, 2 * CHUNK_LEN);
        assert_eq!(budget.movable_len(), CHUNK_LEN as u64);
        drop(rest);
        check_chunks(&budget, 2 * CHUNK_LEN);
        drop(first);
        check_chunks(&budget, CHUNK_LEN);
        drop(writer);
        assert_eq!(second.bytes(), b"second");
        drop(second);
        check_chunks(&budget, 0);
    }

    #[test]
    fn a_large_content_has_a_chunk_of_its_own() {
        let budget = ChunkBudget::new();
        let mut writer = ChunkWriter::new(budget.clone());
        let small = writer.copy(&[b"small"]);
        let large = writer.write(CHUNK_LEN + 1, |bytes| bytes.fill(9));
        let next = writer.copy(&[b"next"]);
        assert!(Arc::ptr_eq(small.chunk(), next.chunk()));
        check_chunks(&budget, 2 * CHUNK_LEN + 1);
        drop(large);
        check_chunks(&budget, CHUNK_LEN);
    }

    #[test]
    fn a_chunk_that_is_being_written_is_not_movable() {
        let budget = ChunkBudget::new();
        let mut writers: Vec<_> = (0..100).map(|_| ChunkWriter::new(budget.clone())).collect();
        let contents: Vec<_> = writers.iter_mut().map(|writer| writer.copy(&[b"small"])).collect();
        check_chunks(&budget, 100 * CHUNK_LEN);
        assert_eq!(budget.movable_len(), 0);
        drop(writers);
        assert_eq!(budget.movable_len(), 100 * CHUNK_LEN as u64);
        drop(contents);
        assert_eq!(budget.movable_len(), 0);
    }

    #[test]
    fn a_chunk_is_used_at_the_lowest_position() {
        let content = ChunkWriter::new(ChunkBudget::new()).copy(&[b"a"]);
        assert_eq!(content.chunk().first_position(), JournalPosition::MAX);
        for (position, first) in [(7, 7), (9, 7), (3, 3)] {
            content.chunk().use_at(JournalPosition(position));
            assert_eq!(content.chunk().first_position(), JournalPosition(first));
        }
    }

    #[test]
    fn a_fill_that_panics_leaves_no_content() {
        let mut writer = ChunkWriter::new(ChunkBudget::new());
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| writer.write(3, |_| panic!("no"))));
        assert!(failed.is_err());
        assert_eq!(writer.copy(&[b"yes"]).offset(), 0);
    }

    #[test]
    fn an_empty_content_is_a_content() {
        let content = ChunkWriter::new(ChunkBudget::new()).copy(&[]);
        assert!(content.is_empty());
        assert_eq!(content.bytes(), b"");
    }
}
