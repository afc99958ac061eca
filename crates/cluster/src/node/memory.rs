//! What a member remembers of others' promises, on its disk: up to which entry each has reported to have what is committed.
//!
//! ```text
//!  cluster/memory | "WRMEMRY1" | { member u64 | entry u64 } … | CRC-32C of all before |                 little-endian
//! ```
//!
//! Which start of each it has listened to last is in the roster. Both outlive its own restarts: so a member that comes back with less than
//! it had promised is refused by any of those that it had promised it to. It is written at most once a second, by a thread of its own, and
//! when the node ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use consensus::MemberId;

use super::files::NodeFiles;
use crate::wire::reader::Reader;

const MAGIC: &[u8; 8] = b"WRMEMRY1";
/// Between two times at which it is written.
const INTERVAL: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Promises(BTreeMap<MemberId, u64>);

impl Promises {
    /// The most that a member has ever reported to have.
    pub(super) fn of(&self, member: MemberId) -> u64 {
        self.0.get(&member).copied().unwrap_or(0)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (member, entry) in &self.0 {
            bytes.extend_from_slice(&member.get().to_le_bytes());
            bytes.extend_from_slice(&entry.to_le_bytes());
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (covered, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(covered) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut reader = Reader(covered.strip_prefix(MAGIC)?);
        let mut promises = Promises::default();
        while reader.end().is_err() {
            promises.0.insert(MemberId::new(reader.u64().ok()?)?, reader.u64().ok()?);
        }
        Some(promises)
    }
}

/// What is remembered, and what of it is on disk.
pub(super) struct Memory {
    files: NodeFiles,
    now: Promises,
    written: Promises,
    next_at: Instant,
    /// A thread writes.
    is_writing: Arc<AtomicBool>,
}

impl Memory {
    /// What an earlier start has left. What cannot be read is logged and begun anew: this node only notices less then.
    pub(super) fn open(files: NodeFiles) -> Self {
        let found = files
            .promises()
            .inspect_err(|error| tracing::warn!(%error, "the memory of others' promises cannot be read"));
        let now = found.ok().flatten().unwrap_or_default();
        Memory { files, written: now.clone(), now, next_at: Instant::now(), is_writing: Arc::default() }
    }

    pub(super) fn of(&self, member: MemberId) -> u64 {
        self.now.of(member)
    }

    /// A member has all that is committed up to there, on its disk, or has reported that.
    pub(super) fn note(&mut self, member: MemberId, entry: u64) {
        let known = self.now.0.entry(member).or_default();
        *known = entry.max(*known);
    }

    /// Those are no longer members.
    pub(super) fn forget(&mut self, members: &[MemberId]) {
        self.now.0.retain(|member, _| !members.contains(member));
    }

    /// It no longer belongs to a cluster.
    pub(super) fn clear(&mut self) {
        (self.now, self.written) = (Promises::default(), Promises::default());
    }

    /// Writes what is new, if it is time to. The disk may hang: then that is no matter of this node's.
    pub(super) fn keep(&mut self) {
        let now = Instant::now();
        if self.now == self.written || now < self.next_at || self.is_writing.swap(true, Ordering::SeqCst) {
            return;
        }
        self.next_at = now + INTERVAL;
        self.written = self.now.clone();
        let (files, bytes, is_writing) = (self.files.clone(), self.now.encode(), self.is_writing.clone());
        let write = move || {
            if let Err(error) = files.write_promises(&bytes) {
                tracing::warn!(%error, "the memory of others' promises was not written");
            }
            is_writing.store(false, Ordering::SeqCst);
        };
        if std::thread::Builder::new().name("cluster memory".to_owned()).spawn(write).is_err() {
            self.is_writing.store(false, Ordering::SeqCst);
        }
    }

    /// Writes what is new, before the node ends.
    pub(super) fn end(&mut self) {
        if self.now != self.written && !self.is_writing.load(Ordering::SeqCst) {
            let _ = self.files.write_promises(&self.now.encode());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_promised_is_read_as_it_was_written() {
        let mut promises = Promises::default();
        assert_eq!(Promises::decode(&promises.encode()), Some(promises.clone()));
        promises.0.extend([(MemberId::new(7).unwrap(), 9), (MemberId::new(8).unwrap(), u64::MAX)]);
        let mut bytes = promises.encode();
        assert_eq!(Promises::decode(&bytes), Some(promises));
        bytes[9] ^= 1;
        assert_eq!(Promises::decode(&bytes), None);
        assert_eq!(Promises::decode(&bytes[..8]), None);
    }
}
