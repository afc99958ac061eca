//! Reads commits of a replicated journal back by index, beside the writer, for a member that is behind what memory has.

use std::io;

use consensus::Index;

use super::entry::ReceivedCommit;
use super::handle::Journal;

/// Reads entries, and remembers where it stopped: to read on costs no search.
#[derive(Debug, Default)]
pub struct EntryReader {}

impl EntryReader {
    /// One that has read nothing yet.
    #[must_use]
    pub fn new() -> EntryReader {
        EntryReader::default()
    }

    /// The entries from `first` on that are on this disk: at most `count_max`, and not more than `len_max` bytes unless the first alone is
    /// longer. Fewer, or none, at the end of what is on disk. `None`: the files do not have `first` any more.
    pub fn read(
        &mut self,
        _journal: &Journal,
        _first: Index,
        _count_max: usize,
        _len_max: u64,
    ) -> io::Result<Option<Vec<ReceivedCommit>>> {
        #![expect(clippy::unimplemented, reason = "in between")]
        unimplemented!("comes with the next commits")
    }
}
