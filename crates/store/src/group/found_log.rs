//! The log that a member's directory has: a journal that was read, behind where the manifest or the founding says that the log begins.

use std::sync::Arc;

use consensus::{Base, Index};
use model::ids::JournalPosition;

use super::identity::{Founding, Identity};
use crate::file::Disk;
use crate::journal::{FoundEntry, Recovery};
use crate::manifest::{Manifest, ManifestFile};
use crate::paths::Paths;
use crate::recovery::{self, OpenError, attempting};

/// A journal that was read.
pub struct FoundLog {
    /// The log begins behind this entry.
    pub base: Base,
    /// Where that entry ends.
    pub start: JournalPosition,
    /// Where the journal ends.
    pub end: JournalPosition,
    pub(super) recovery: Recovery,
}

impl FoundLog {
    /// Reads the journal of a directory. `each` gets the entries behind the base, in order.
    pub(super) fn read(
        disk: &Arc<dyn Disk>,
        paths: &Paths,
        manifest: &Manifest,
        (base, start): (Base, JournalPosition),
        each: &mut dyn FnMut(FoundEntry),
    ) -> Result<FoundLog, OpenError> {
        let (recovery, end) = read_journal(disk, paths, manifest, base.id.index, each)?;
        Ok(FoundLog { base, start, end, recovery })
    }
}

/// Reads the journal of a directory, and says where it ends. `each` gets the entries behind that one, in order.
pub(super) fn read_journal(
    disk: &Arc<dyn Disk>,
    paths: &Paths,
    manifest: &Manifest,
    base: Index,
    each: &mut dyn FnMut(FoundEntry),
) -> Result<(Recovery, JournalPosition), OpenError> {
    let mut recovery =
        Recovery::open(disk.clone(), &paths.journal(), manifest.position, manifest.journal_generation_min)?;
    let end = recovery.read_entries(&mut |found| {
        if found.head.id.index > base {
            each(found);
        }
    })?;
    Ok((recovery, end))
}

/// Opens the manifest, and makes what it says last: else a power cut could bring back another one, whose files would no longer exist.
pub(super) fn open_manifest(disk: &dyn Disk, paths: &Paths) -> Result<ManifestFile, OpenError> {
    let mut manifest = recovery::open_manifest(disk, paths)?;
    manifest.write_again(disk, &paths.manifest()).map_err(attempting("writing", &paths.manifest()))?;
    Ok(manifest)
}

/// Where the log begins, and at which position: a founder's, until it has made a checkpoint. What the manifest says may be of a group
/// that the directory belonged to before.
pub(super) fn log_start(manifest: &Manifest, identity: &Identity) -> (Base, JournalPosition) {
    match (&manifest.base, &identity.founding) {
        (Some(base), Some(founding)) if base.id.index <= founding.base.id.index => {
            (founding.base.clone(), founding.position)
        }
        (Some(base), _) => (Base::clone(base), manifest.position),
        (None, Some(Founding { position, base })) => (base.clone(), *position),
        (None, None) => (Base::default(), JournalPosition::START),
    }
}
