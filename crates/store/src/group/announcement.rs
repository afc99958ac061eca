//! What a leader says of the checkpoint that is in force on it, for followers to fetch.

use consensus::Base;
use model::ids::{JournalPosition, SegmentId};

use crate::manifest::{CheckpointFile, Manifest};

/// A checkpoint that members may fetch.
///
/// ```text
///  | version u8, 1 | position u64 | reached u64 | number u64 | len u64 | crc u32 | base … |          little-endian
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Which entry ends at the position, and which the members were then.
    pub base: Base,
    /// Everything before is in the checkpoint and the segments that it names.
    pub position: JournalPosition,
    /// What is in it may be of records up to here.
    pub reached: JournalPosition,
    /// Its file, as the leader numbers it.
    pub(crate) file: CheckpointFile,
}

impl Announcement {
    /// Of what a manifest says; `None`: it names no checkpoint of the group's.
    pub(crate) fn of(manifest: &Manifest, reached: JournalPosition) -> Option<Announcement> {
        let (base, file) = (manifest.base.as_ref()?, manifest.checkpoint?);
        let reached = reached.max(manifest.position);
        Some(Announcement { base: Base::clone(base), position: manifest.position, reached, file })
    }
}

impl Announcement {
    /// Its file.
    #[must_use]
    pub fn name(&self) -> FileName {
        FileName::Checkpoint(self.file.number)
    }
}

/// A file that a member asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileName {
    /// A checkpoint, by its number on the leader.
    Checkpoint(u64),
    /// A segment.
    Segment(SegmentId),
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePiece {
    /// How long the whole file is.
    pub file_len: u64,
    /// What it has from the offset on that was asked for; fewer than were asked for only at its end.
    pub bytes: Vec<u8>,
}

const VERSION: u8 = 1;
const HEAD_LEN: usize = 37;

impl Announcement {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        let numbers = [self.position.0, self.reached.0, self.file.number, self.file.len];
        numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        bytes.extend_from_slice(&self.file.crc.to_le_bytes());
        self.base.encode(&mut bytes);
        bytes
    }

    /// Reads one, which is all that the bytes have. `None`: the bytes are not valid.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Announcement> {
        let (head, base) = bytes.split_at_checked(HEAD_LEN)?;
        let (version, head) = head.split_first()?;
        let (numbers, crc) = head.as_chunks::<8>();
        let [position, reached, number, len] = numbers else { return None };
        let [position, reached, number, len] = [position, reached, number, len].map(|bytes| u64::from_le_bytes(*bytes));
        let file = CheckpointFile { number, len, crc: u32::from_le_bytes(*crc.first_chunk()?) };
        let is_possible = *version == VERSION && number != 0 && position <= reached;
        is_possible.then_some(())?;
        Some(Announcement {
            base: Base::decode(base).ok()?,
            position: JournalPosition(position),
            reached: JournalPosition(reached),
            file,
        })
    }
}

#[cfg(test)]
mod tests {
    use consensus::MemberId;

    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let announcement = Announcement {
            base: Base::of_new_group([1, 2, 3].into_iter().filter_map(MemberId::new)),
            position: JournalPosition(17),
            reached: JournalPosition(18),
            file: CheckpointFile { number: 4, len: 5, crc: 6 },
        };
        let bytes = announcement.encode();
        assert_eq!(Announcement::decode(&bytes), Some(announcement));
        (0..bytes.len()).for_each(|len| assert_eq!(Announcement::decode(&bytes[..len]), None));
    }
}
