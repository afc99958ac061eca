//! Cuts off the end of a replicated journal that is closed: entries that the group's leader does not have.

use std::path::Path;
use std::sync::Arc;

use model::ids::JournalPosition;

use super::options::OpenError;
use crate::file::Disk;

/// Makes the journal of `dir` end at a position: where one of its commits does, or at `from`. When it returns that is so; when it fails, or
/// the power goes, the journal ends there or where it did. No process may have the journal open. `from` and `generation_min` are as for
/// [`Recovery::open`](super::Recovery::open).
pub fn truncate(
    _disk: &Arc<dyn Disk>,
    _dir: &Path,
    _from: JournalPosition,
    _generation_min: u64,
    _to: JournalPosition,
) -> Result<(), OpenError> {
    #![expect(clippy::unimplemented, reason = "in between")]
    unimplemented!("comes with the next commits")
}
