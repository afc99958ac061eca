//! Frames: what follows the handshake.
//!
//! ```text
//!  | len u32 | body, len bytes | crc32c u32 of len and body |
//! ```
//!
//! The checksum stands last, so that a commit's contents are read once: while they are copied to be sent.

use std::fmt;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};

use crate::wire::error::FrameError;
use crate::wire::lane::Lane;

const LEN_LEN: usize = 4;
const CHECKSUM_LEN: usize = 4;
/// Room that a reader begins with: most connections are idle.
const BEGIN_LEN: usize = 8 << 10;
/// Room that it takes when reads fill what there is.
const READ_LEN: usize = 64 << 10;
/// Room that a reader keeps when it has nothing to read: that of the usual frames with entries.
const KEPT_LEN: usize = 1 << 20;
/// A read has room for at least this much.
const ROOM_LEN_MIN: usize = 4 << 10;

/// Bytes that others keep, such as a commit that the journal is writing: sent without being copied before.
pub trait Payload: Send + Sync {
    /// How many there are. It does not change.
    fn byte_count(&self) -> u64;
    /// Calls with all of them, run by run.
    fn for_each_run(&self, each: &mut dyn FnMut(&[u8]));
}

impl Payload for Vec<u8> {
    fn byte_count(&self) -> u64 {
        self.len() as u64
    }

    fn for_each_run(&self, each: &mut dyn FnMut(&[u8])) {
        each(self);
    }
}

/// A frame to be sent: its length and its body, in parts. Cheap to clone only where it is short.
#[derive(Clone)]
pub struct OutgoingFrame {
    parts: Vec<Part>,
    /// Of all parts.
    len: u64,
}

#[derive(Clone)]
enum Part {
    Own(Vec<u8>),
    Shared(Arc<dyn Payload>),
}

impl OutgoingFrame {
    /// One whose body `write` appends.
    ///
    /// # Panics
    ///
    /// The body is longer than frames of the lane are: callers see to that.
    #[must_use]
    pub fn of(lane: Lane, write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut builder = Builder::new();
        write(builder.own());
        builder.end(lane)
    }

    /// Bytes that it takes on the wire.
    #[must_use]
    pub fn wire_len(&self) -> u64 {
        self.len + CHECKSUM_LEN as u64
    }
}

impl fmt::Debug for OutgoingFrame {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "OutgoingFrame({} bytes)", self.wire_len())
    }
}

/// Puts a frame together from bytes of its own and of others.
pub(crate) struct Builder {
    parts: Vec<Part>,
    own: Vec<u8>,
    shared_len: u64,
    own_len: u64,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Builder { parts: Vec::new(), own: vec![0; LEN_LEN], shared_len: 0, own_len: 0 }
    }

    /// Where to append bytes of its own.
    pub(crate) fn own(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }

    pub(crate) fn share(&mut self, payload: Arc<dyn Payload>) {
        let own = std::mem::take(&mut self.own);
        self.own_len += own.len() as u64;
        self.shared_len += payload.byte_count();
        self.parts.extend([Part::Own(own), Part::Shared(payload)]);
    }

    pub(crate) fn end(mut self, lane: Lane) -> OutgoingFrame {
        let len = self.own_len + self.own.len() as u64 + self.shared_len;
        let body_len = len - LEN_LEN as u64;
        assert!(body_len <= u64::from(lane.frame_len_max()), "a frame of {body_len} bytes for the lane {lane}");
        self.parts.push(Part::Own(self.own));
        if let Some(Part::Own(first)) = self.parts.first_mut() {
            first[..LEN_LEN].copy_from_slice(&(body_len as u32).to_le_bytes());
        }
        OutgoingFrame { parts: self.parts, len }
    }
}

/// How much of one frame has been copied.
#[derive(Debug, Default)]
pub struct FrameWriter {
    part: usize,
    /// Bytes of the part.
    offset: u64,
    checksum: u32,
}

impl FrameWriter {
    /// Appends what follows of the frame, as long as `to` is shorter than `len_max`. True: that was the rest of it, and the writer begins
    /// with another one.
    pub fn write(&mut self, frame: &OutgoingFrame, to: &mut Vec<u8>, len_max: usize) -> bool {
        while let Some(part) = frame.parts.get(self.part) {
            let room = len_max.saturating_sub(to.len());
            if room == 0 {
                return false;
            }
            let begin = to.len();
            let part_len = match part {
                Part::Own(bytes) => {
                    let rest = &bytes[self.offset as usize..];
                    to.extend_from_slice(&rest[..rest.len().min(room)]);
                    bytes.len() as u64
                }
                Part::Shared(payload) => {
                    let part_len = payload.byte_count();
                    let left = usize::try_from(part_len - self.offset).unwrap_or(usize::MAX);
                    copy(&**payload, self.offset, room.min(left), to);
                    assert!(left == 0 || to.len() > begin, "a payload is shorter than it says");
                    part_len
                }
            };
            self.checksum = crc32c_append(self.checksum, &to[begin..]);
            self.offset += (to.len() - begin) as u64;
            if self.offset == part_len {
                (self.part, self.offset) = (self.part + 1, 0);
            }
        }
        to.extend_from_slice(&self.checksum.to_le_bytes());
        *self = FrameWriter::default();
        true
    }
}

/// Copies at most `room` bytes from `offset` on.
fn copy(payload: &dyn Payload, offset: u64, room: usize, to: &mut Vec<u8>) {
    let (mut skip, mut room) = (offset, room);
    payload.for_each_run(&mut |run| {
        let skipped = skip.min(run.len() as u64);
        skip -= skipped;
        let run = &run[skipped as usize..];
        let taken = run.len().min(room);
        room -= taken;
        to.extend_from_slice(&run[..taken]);
    });
}

/// Bytes that have come, until they are frames.
#[derive(Debug)]
pub struct FrameReader {
    lane: Lane,
    /// `start..end` have come and are not taken.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The last read filled all the room: there is more where it came from.
    is_crowded: bool,
}

impl FrameReader {
    /// For the frames of a lane.
    #[must_use]
    pub fn new(lane: Lane) -> Self {
        FrameReader { lane, bytes: Vec::new(), start: 0, end: 0, is_crowded: false }
    }

    /// Room for the next bytes, never empty. It grows with what has come, not with what is announced.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > KEPT_LEN {
                self.bytes = Vec::new();
            }
        }
        if self.bytes.len() - self.end < ROOM_LEN_MIN {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.bytes.len() - self.end < ROOM_LEN_MIN {
                self.bytes.resize((self.bytes.len() * 2).max(BEGIN_LEN), 0);
            }
        }
        if self.is_crowded && self.bytes.len() < READ_LEN {
            self.bytes.resize(READ_LEN, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// So many bytes of [`space`](Self::space) have come.
    pub fn fill(&mut self, count: usize) {
        self.end += count;
        self.is_crowded = self.end == self.bytes.len();
        assert!(self.end <= self.bytes.len(), "more than there was room for");
    }

    /// The body of the next frame, if it has come whole.
    ///
    /// # Errors
    ///
    /// What came is no frame. Nothing that follows is one, either.
    pub fn take(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let waiting = &self.bytes[self.start..self.end];
        let Some((len, _)) = waiting.split_first_chunk::<LEN_LEN>() else { return Ok(None) };
        let len = u32::from_le_bytes(*len);
        let max = self.lane.frame_len_max();
        if len > max {
            return Err(FrameError::TooLong { len, max });
        }
        let covered_len = LEN_LEN + len as usize;
        let Some((covered, rest)) = waiting.split_at_checked(covered_len) else { return Ok(None) };
        let Some((checksum, _)) = rest.split_first_chunk::<CHECKSUM_LEN>() else { return Ok(None) };
        if crc32c(covered) != u32::from_le_bytes(*checksum) {
            return Err(FrameError::Checksum);
        }
        let start = self.start;
        self.start += covered_len + CHECKSUM_LEN;
        Ok(Some(&self.bytes[start + LEN_LEN..start + covered_len]))
    }

    /// How many bytes the next frame lacks, as far as is known: a read of no more than that takes nothing that follows it.
    #[must_use]
    pub fn lacking(&self) -> usize {
        let waiting = &self.bytes[self.start..self.end];
        let whole = match waiting.first_chunk::<LEN_LEN>() {
            None => LEN_LEN,
            Some(len) => LEN_LEN + u32::from_le_bytes(*len) as usize + CHECKSUM_LEN,
        };
        whole.saturating_sub(waiting.len())
    }

    /// Whether the last frame that came was whole, so that the connection may end here.
    #[must_use]
    pub fn is_between_frames(&self) -> bool {
        self.start == self.end
    }
}
