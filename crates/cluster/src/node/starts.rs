//! Which directory this is, and which start of it runs: how a copy of a directory is distinguished from the original.
//!
//! ```text
//!  DIR/cluster/node | "WRNODE02" | member u64 | incarnation u64 | earlier starts, u64 each | CRC-32C of all before |
//!                   earlier versions wrote "WRNODE01" and no earlier starts
//! ```

use consensus::MemberId;

use super::files::{FileError, draw};
use crate::wire::reader::Reader;

const MAGIC: &[u8; 8] = b"WRNODE02";
const MAGIC_WITHOUT_STARTS: &[u8; 8] = b"WRNODE01";
/// So many earlier starts a directory knows. A node that knows of no more than these is believed by their count.
pub(super) const STARTS_MAX: usize = 32;

/// Which directory this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnId {
    /// Drawn for each directory that has nothing yet.
    pub(super) member: MemberId,
    /// Which start this is, from 1 on.
    pub(super) incarnation: u64,
}

/// The last starts of a directory before the one that runs, the oldest first. A copy knows none that came after it was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct EarlierStarts(pub(super) Vec<u64>);

impl EarlierStarts {
    pub(super) fn and(mut self, start: u64) -> Self {
        self.0.push(start);
        let surplus = self.0.len().saturating_sub(STARTS_MAX);
        self.0.drain(..surplus);
        self
    }
}

pub(super) fn encode(own: OwnId, earlier: &EarlierStarts) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&own.member.get().to_le_bytes());
    bytes.extend_from_slice(&own.incarnation.to_le_bytes());
    earlier.0.iter().for_each(|start| bytes.extend_from_slice(&start.to_le_bytes()));
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Option<(OwnId, EarlierStarts)> {
    let (covered, checksum) = bytes.split_last_chunk::<4>()?;
    if crc32c::crc32c(covered) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut reader = Reader(covered.strip_prefix(MAGIC).or_else(|| covered.strip_prefix(MAGIC_WITHOUT_STARTS))?);
    let own = OwnId { member: MemberId::new(reader.u64().ok()?)?, incarnation: reader.u64().ok()? };
    let mut earlier = EarlierStarts::default();
    while reader.end().is_err() {
        earlier.0.push(reader.u64().ok()?);
    }
    (earlier.0.len() <= STARTS_MAX).then_some((own, earlier))
}

/// A member id that no other directory has.
pub(super) fn draw_member() -> Result<MemberId, FileError> {
    loop {
        if let Some(member) = MemberId::new(u64::from_le_bytes(draw()?)) {
            return Ok(member);
        }
    }
}

/// Bits of an incarnation that are drawn. Above them is how often the directory was started.
const DRAWN_BITS: u32 = 20;

/// What a process is that starts a directory whose last start was `previous`; 0 for a new one. Two starts of one directory, and of a copy
/// of it, have the same count, and differ in what is drawn.
pub(super) fn next_incarnation(previous: u64) -> Result<u64, FileError> {
    let drawn = u64::from_le_bytes(draw()?) >> (64 - DRAWN_BITS);
    Ok(((start_count(previous) + 1) << DRAWN_BITS) | drawn)
}

/// How often the directory was started.
pub(super) fn start_count(incarnation: u64) -> u64 {
    incarnation >> DRAWN_BITS
}

/// Whether a process is one of an older directory: a start of this member was seen of which it does not know, though it knows others that
/// came as early. However often a copy is started, it never comes to know of that one.
pub(super) fn is_older_start(incarnation: u64, earlier: &[u64], known: u64) -> bool {
    let oldest = start_count(earlier.first().copied().unwrap_or(incarnation));
    known != incarnation && !earlier.contains(&known) && start_count(known) >= oldest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_directory_is_another_start_and_an_older_one() {
        let last = next_incarnation(0).unwrap();
        let (original, copy) = (next_incarnation(last).unwrap(), next_incarnation(last).unwrap());
        assert_ne!(original, copy);
        assert!(is_older_start(copy, &[last], original) && is_older_start(last, &[], original));
        assert!(!is_older_start(original, &[last], original) && !is_older_start(original, &[last], last));
        assert!(!is_older_start(last, &[], 0), "none was known");
    }

    #[test]
    fn a_copy_stays_older_however_often_it_is_started() {
        let start = |previous: u64| next_incarnation(previous).unwrap();
        let copied = start(0);
        let seen = start(copied);
        let mut earlier = EarlierStarts::default().and(copied);
        let mut last = start(copied);
        for _ in 0..STARTS_MAX - 2 {
            assert!(is_older_start(last, &earlier.0, seen), "{}", start_count(last));
            (earlier, last) = (earlier.and(last), start(last));
        }
        // Of the original, which no peer has heard for long, more starts are believed than it knows.
        let mut earlier = EarlierStarts::default().and(copied);
        last = seen;
        for _ in 0..3 * STARTS_MAX {
            (earlier, last) = (earlier.and(last), start(last));
            assert!(!is_older_start(last, &earlier.0, seen), "{}", start_count(last));
        }
        assert_eq!(earlier.0.len(), STARTS_MAX);
    }
}
