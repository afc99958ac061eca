//! Backups: copies of the data directory, made while the broker keeps working.

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use store::BackupError;

use crate::broker::Broker;
use crate::events::Event;
use crate::identity::Actor;

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupView {
    /// The directory; a broker can be started on it.
    pub dir: PathBuf,
    /// Bytes of all its files.
    pub len: u64,
    /// Those of them that it shares with the broker's own directory: they take no room as long as both have them.
    pub linked_len: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl Broker {
    /// Makes a copy of the data directory, with all that was confirmed before. Blocks the calling thread until the copy is on disk, which
    /// is for as long as reading and writing it takes: not to be called on a thread that serves connections.
    pub fn backup(&self, actor: &Actor, to: &Path) -> Result<BackupView, BackupError> {
        let start = Instant::now();
        let made = self.engine.store.backup(to)?;
        let view = BackupView {
            dir: made.dir,
            len: made.len,
            linked_len: made.linked_len,
            took_ms: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.emit_by(actor, Event::backup_created(&view.dir, view.len));
        Ok(view)
    }
}
