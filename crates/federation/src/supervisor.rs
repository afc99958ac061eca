//! Which links run: those that policies want, each with a task of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::host::Host;
use crate::status::{Board, LinkId, LinkState, LinkStatus};

/// The links of a process.
pub struct Links {
    host: Arc<dyn Host>,
    #[expect(dead_code, reason = "their tasks come next")]
    runtime: Handle,
    running: Mutex<BTreeMap<LinkId, Running>>,
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("count", &self.running.lock().len()).finish_non_exhaustive()
    }
}

/// A link that has been started.
struct Running {
    board: Arc<Board>,
}

impl Links {
    /// None yet. They will run on this runtime.
    #[must_use]
    pub fn new(host: Arc<dyn Host>, runtime: Handle) -> Self {
        Links { host, runtime, running: Mutex::new(BTreeMap::new()) }
    }

    /// All of them as they are now, by vhost, kind, name and upstream.
    #[must_use]
    pub fn statuses(&self) -> Vec<LinkStatus> {
        self.running.lock().values().map(|entry| entry.board.status()).collect()
    }

    /// Has the links of this key ([`LinkId::key`]) in a vhost connect anew. Says whether there is one.
    pub fn restart(&self, vhost: &str, key: &str) -> bool {
        let running = self.running.lock();
        let mut is_found = false;
        for (_, entry) in running.iter().filter(|(id, _)| id.vhost.as_str() == vhost && id.key() == key) {
            is_found = true;
            entry.board.set_state(LinkState::Starting);
            self.host.state_changed(&entry.board.status());
        }
        is_found
    }

    /// Ends all of them, for good. What is under way is settled for so long.
    pub async fn stop(&self, _patience: Duration) {
        let _ended = std::mem::take(&mut *self.running.lock());
    }
}
