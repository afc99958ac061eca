//! Where everything lies in the data directory.
//!
//! ```text
//!  DIR/ lock  format  manifest  synced
//!       journal/      see `journal`
//!       checkpoints/  000000000007.checkpoint  000000000007.copy
//!       segments/     000000000042.segment
//!       transient/    000000000003.segment     deleted unread at start
//!       reserve/      segment  checkpoint      space for when the disk is full
//!       quarantine/                            what `fsck --repair` took out
//!
//!  of a member of a group, besides:
//!       group  ballot                          see `member`
//!       arriving/     checkpoint  000000000042.segment   what is being fetched from the leader
//! ```

use std::path::{Path, PathBuf};

use model::ids::SegmentId;

const CHECKPOINT_SUFFIX: &str = ".checkpoint";
const COPY_SUFFIX: &str = ".copy";
const SEGMENT_SUFFIX: &str = ".segment";

/// The names of all files but the journal's.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    dir: PathBuf,
}

impl Paths {
    pub(crate) fn new(dir: &Path) -> Self {
        Paths { dir: dir.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.dir.join("format")
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.dir.join("manifest")
    }

    /// How far the journal is synced: see `journal::synced`.
    pub(crate) fn synced(&self) -> PathBuf {
        self.dir.join("synced")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.dir.join("checkpoints")
    }

    pub(crate) fn checkpoint(&self, number: u64) -> PathBuf {
        self.checkpoints().join(format!("{number:012}{CHECKPOINT_SUFFIX}"))
    }

    /// The same as the checkpoint: see `checkpoint_copy`.
    pub(crate) fn checkpoint_copy(&self, number: u64) -> PathBuf {
        self.checkpoints().join(format!("{number:012}{COPY_SUFFIX}"))
    }

    pub(crate) fn segments(&self) -> PathBuf {
        self.dir.join("segments")
    }

    pub(crate) fn transient(&self) -> PathBuf {
        self.dir.join("transient")
    }

    pub(crate) fn segment(&self, id: SegmentId) -> PathBuf {
        self.dir_of(id).join(format!("{:012}{SEGMENT_SUFFIX}", id.number()))
    }

    /// The directory that holds a segment.
    pub(crate) fn dir_of(&self, id: SegmentId) -> PathBuf {
        if id.is_transient() { self.transient() } else { self.segments() }
    }

    pub(crate) fn reserve(&self) -> PathBuf {
        self.dir.join("reserve")
    }

    /// Which member of which group this is.
    pub(crate) fn group(&self) -> PathBuf {
        self.dir.join("group")
    }

    /// What the member has promised.
    pub(crate) fn ballot(&self) -> PathBuf {
        self.dir.join("ballot")
    }

    pub(crate) fn arriving(&self) -> PathBuf {
        self.dir.join("arriving")
    }

    pub(crate) fn arriving_checkpoint(&self) -> PathBuf {
        self.arriving().join("checkpoint")
    }

    pub(crate) fn arriving_segment(&self, id: SegmentId) -> PathBuf {
        self.arriving().join(format!("{:012}{SEGMENT_SUFFIX}", id.number()))
    }

    pub(crate) fn quarantine(&self) -> PathBuf {
        self.dir.join("quarantine")
    }

    /// The number in the name of a checkpoint file.
    pub(crate) fn checkpoint_number(name: &str) -> Option<u64> {
        name.strip_suffix(CHECKPOINT_SUFFIX)?.parse().ok()
    }

    /// The number in the name of a checkpoint's copy.
    pub(crate) fn copy_number(name: &str) -> Option<u64> {
        name.strip_suffix(COPY_SUFFIX)?.parse().ok()
    }

    /// The id in the name of a file under `segments/`.
    pub(crate) fn segment_id(name: &str) -> Option<SegmentId> {
        let number: u32 = name.strip_suffix(SEGMENT_SUFFIX)?.parse().ok()?;
        (number & SegmentId::TRANSIENT_BIT == 0).then_some(SegmentId(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let paths = Paths::new(Path::new("/data"));
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(Paths::segment_id(&name(paths.segment(SegmentId(42)))), Some(SegmentId(42)));
        assert_eq!(Paths::checkpoint_number(&name(paths.checkpoint(7))), Some(7));
        assert_eq!(Paths::copy_number(&name(paths.checkpoint_copy(7))), Some(7));
        assert_eq!(Paths::checkpoint_number(&name(paths.checkpoint_copy(7))), None);
        assert_eq!(Paths::segment_id("x.segment"), None);
        assert_eq!(Paths::segment_id("4294967295.segment"), None);
        assert!(paths.segment(SegmentId::transient(3)).starts_with("/data/transient"));
    }
}
