//! What checkpoints are made from, and which files they leave behind; `make_checkpoint` makes them.
//!
//! ```text
//!  file of a checkpoint   begin ──► stale ──switch──► in force ──next switch──► stale ──► removed
//!  segment                in the catalog ──doom──► doomed ──► removed when the checkpoint in force does not name it
//! ```
//!
//! What is pinned, because it is being copied, is not removed meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use consensus::{Base, LogId};
use model::ids::{JournalPosition, QueueId, QueueSeq, SegmentId};

use crate::checkpoint_delta::Changes;
use crate::manifest::{CheckpointFile, Manifest, ManifestFile};
use crate::queue_owner::{QueueState, Returns};

/// What checkpoints are made from, besides the catalog.
pub(crate) struct Checkpointer {
    manifest: ManifestFile,
    sources: CheckpointSources,
    next_number: u64,
    /// Checkpoint files that are not in force, or may not be.
    stale: Vec<u64>,
    /// Segments that are no longer in the catalog; the manifest's checkpoint may still name them.
    doomed: Vec<SegmentId>,
    /// The segments that the manifest's checkpoint names, and their lengths.
    named: Vec<(SegmentId, u64)>,
    pinned: PinnedFiles,
}

/// What a checkpoint says beside where it is and which segments there are.
pub(crate) struct CheckpointSources {
    pub(crate) definitions: BTreeMap<Vec<u8>, Vec<u8>>,
    /// As of the last collection, whose records all lie behind the manifest's position.
    pub(crate) queues: Vec<QueueState>,
    pub(crate) returned: Vec<(QueueId, QueueSeq, Returns)>,
}

/// Files that are being copied: they are not removed, even if nothing names them now.
#[derive(Default)]
struct PinnedFiles {
    checkpoint: Option<u64>,
    /// Sorted.
    segments: Vec<SegmentId>,
}

/// The state of the queues, collected after a position was chosen below which everything is in segments.
pub(crate) struct Collection {
    pub(crate) position: JournalPosition,
    /// Of a member's: the entry that ends there.
    pub(crate) entry: Option<LogId>,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) returned: Vec<(QueueId, QueueSeq, Returns)>,
}

impl Checkpointer {
    /// As a start has found it.
    pub(crate) fn new(
        manifest: ManifestFile,
        sources: CheckpointSources,
        next_number: u64,
        named: Vec<(SegmentId, u64)>,
    ) -> Checkpointer {
        Checkpointer {
            manifest,
            sources,
            next_number,
            stale: Vec::new(),
            doomed: Vec::new(),
            named,
            pinned: PinnedFiles::default(),
        }
    }

    /// What is in force.
    pub(crate) fn current(&self) -> &Manifest {
        self.manifest.current()
    }

    pub(crate) fn manifest(&self) -> &ManifestFile {
        &self.manifest
    }

    pub(crate) fn sources(&self) -> &CheckpointSources {
        &self.sources
    }

    /// Takes a new collection for the next checkpoint. Says up to where that reaches, and after which entry.
    pub(crate) fn take_collection(&mut self, collection: Collection) -> (JournalPosition, Option<LogId>) {
        let position = self.current().position;
        let Collection { position: reached, entry, queues, returned } = collection;
        // Should the checkpoint fail, the next one with the old position may still use these: they are only further on.
        (self.sources.queues, self.sources.returned) = (queues, returned);
        if reached >= position { (reached, entry) } else { (position, None) }
    }

    /// Carries changes out; returns the deleted queues, sorted.
    pub(crate) fn apply(&mut self, changes: Changes) -> Vec<QueueId> {
        let dropped = changes.apply(&mut self.sources.definitions);
        if !dropped.is_empty() {
            self.sources.queues.retain(|state| dropped.binary_search(&state.queue).is_err());
        }
        dropped
    }

    /// The number of a checkpoint that is about to be written: its file is stale until it is in force.
    pub(crate) fn begin(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.stale.push(number);
        number
    }

    /// A checkpoint that no manifest names has been removed.
    pub(crate) fn give_up(&mut self, number: u64) {
        self.stale.retain(|stale| *stale != number);
    }

    /// Switches the manifest to a checkpoint that names these segments.
    pub(crate) fn switch(
        &mut self,
        file: CheckpointFile,
        position: JournalPosition,
        base: Option<Arc<Base>>,
        named: Vec<(SegmentId, u64)>,
    ) -> io::Result<()> {
        self.manifest.switch(file, position, base)?;
        self.named = named;
        Ok(())
    }

    /// A segment is no longer in the catalog: its file is removed when the next checkpoint is in force.
    pub(crate) fn doom(&mut self, id: SegmentId) {
        self.doomed.push(id);
    }

    /// Whether segments wait for a checkpoint, apart from those that are kept whatever it says.
    pub(crate) fn has_doomed(&self, is_kept: impl Fn(SegmentId) -> bool) -> bool {
        self.doomed.iter().any(|id| !self.pinned.has_segment(*id) && !is_kept(*id))
    }

    /// Checkpoint files to remove now that the one with this number is in force. Those that `remove` does not remove stay stale.
    pub(crate) fn remove_stale(&mut self, in_force: u64, is_kept: impl Fn(u64) -> bool, remove: impl Fn(u64) -> bool) {
        let pinned = self.pinned.checkpoint;
        self.stale.retain(|stale| *stale == in_force || pinned == Some(*stale) || is_kept(*stale) || !remove(*stale));
    }

    /// Segments to remove now that the checkpoint in force does not name them.
    pub(crate) fn take_doomed(&mut self, is_kept: impl Fn(SegmentId) -> bool) -> Vec<SegmentId> {
        let pinned = &self.pinned;
        self.doomed.extract_if(.., |id| !pinned.has_segment(*id) && !is_kept(*id)).collect()
    }

    /// Has the files of the checkpoint in force stay until [`Checkpointer::unpin`]; says which segments these are, sorted, with their
    /// lengths.
    pub(crate) fn pin(&mut self) -> Vec<(SegmentId, u64)> {
        let mut named = self.named.clone();
        named.sort_unstable();
        self.pinned = PinnedFiles {
            checkpoint: self.current().checkpoint.map(|file| file.number),
            segments: named.iter().map(|(id, _)| *id).collect(),
        };
        named
    }

    pub(crate) fn unpin(&mut self) {
        self.pinned = PinnedFiles::default();
    }
}

impl PinnedFiles {
    fn has_segment(&self, id: SegmentId) -> bool {
        self.segments.binary_search(&id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::Path;

    use super::*;
    use crate::file::{Disk, SimDisk};

    fn checkpointer() -> (SimDisk, Checkpointer) {
        let disk = SimDisk::new(1);
        disk.create_dir(Path::new("/data")).unwrap();
        let manifest = ManifestFile::create(&disk, Path::new("/data/manifest")).unwrap();
        let sources = CheckpointSources { definitions: BTreeMap::new(), queues: Vec::new(), returned: Vec::new() };
        (disk, Checkpointer::new(manifest, sources, 1, Vec::new()))
    }

    /// Makes a checkpoint that names a segment; says its number.
    fn checkpoint(checkpointer: &mut Checkpointer, segment: u32) -> u64 {
        let number = checkpointer.begin();
        let file = CheckpointFile { number, len: 1, crc: 0 };
        let position = JournalPosition(number);
        checkpointer.switch(file, position, None, vec![(SegmentId(segment), 7)]).unwrap();
        number
    }

    /// Which checkpoints are removed when that one has come into force.
    #[track_caller]
    fn check_removed(checkpointer: &mut Checkpointer, in_force: u64, expected: &[u64]) {
        let removed = RefCell::new(Vec::new());
        checkpointer.remove_stale(
            in_force,
            |_| false,
            |number| {
                removed.borrow_mut().push(number);
                true
            },
        );
        assert_eq!(*removed.borrow(), expected);
    }

    #[test]
    fn what_is_not_in_force_is_removed_once() {
        let (_disk, mut checkpointer) = checkpointer();
        let first = checkpoint(&mut checkpointer, 1);
        check_removed(&mut checkpointer, first, &[]);
        // Nothing names this one.
        let failed = checkpointer.begin();
        checkpointer.give_up(failed);
        let second = checkpoint(&mut checkpointer, 2);
        checkpointer.remove_stale(second, |number| number == first, |_| panic!("others fetch it"));
        checkpointer.remove_stale(second, |_| false, |_| false);
        check_removed(&mut checkpointer, second, &[first]);
        check_removed(&mut checkpointer, second, &[]);
    }

    #[test]
    fn what_is_being_copied_stays() {
        let (_disk, mut checkpointer) = checkpointer();
        let first = checkpoint(&mut checkpointer, 1);
        assert_eq!(checkpointer.pin(), [(SegmentId(1), 7)]);
        for id in [1, 2] {
            checkpointer.doom(SegmentId(id));
        }
        assert!(checkpointer.has_doomed(|_| false) && !checkpointer.has_doomed(|id| id == SegmentId(2)));
        let second = checkpoint(&mut checkpointer, 3);
        check_removed(&mut checkpointer, second, &[]);
        assert_eq!(checkpointer.take_doomed(|_| false), [SegmentId(2)]);
        checkpointer.unpin();
        check_removed(&mut checkpointer, second, &[first]);
        assert_eq!(checkpointer.take_doomed(|_| false), [SegmentId(1)]);
    }
}
