//! Fetches what a leader has in force.

use std::sync::Arc;
use std::time::{Duration, Instant};

use consensus::Message;
use member::Installed;
use store::group::{Announcement, FilePiece, PullError, Pulled};

use super::calls::{CALL_CHECKPOINT, CALL_NOT_SHIPPED, CALL_SHIPPED};
use super::shared::DriverShared;
use super::transport::GROUP;
use crate::peers::FetchError;
use crate::wire::{FileRequest, NodeName};

/// How often a follower asks for a newer checkpoint.
const ASK_INTERVAL: Duration = Duration::from_secs(1);
/// How long it waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long a checkpoint waits for the journal to reach it before a newer one is asked for.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Before a failure is reported to a leader: it orders at once again to fetch its files.
const FAILURE_PAUSE: Duration = Duration::from_millis(200);
/// How often it is looked whether it has.
const INSTALL_INTERVAL: Duration = Duration::from_millis(20);

/// What a leader has ordered this node to fetch.
pub(super) struct FetchOrder {
    leader: NodeName,
    announcement: Announcement,
    message: Message,
}

impl FetchOrder {
    /// Reads an order. `None`: the bytes are not valid.
    pub(super) fn decode(leader: &NodeName, bytes: &[u8]) -> Option<FetchOrder> {
        let (len, rest) = bytes.split_first_chunk()?;
        let (announcement, message) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let announcement = Announcement::decode(announcement)?;
        Some(FetchOrder { leader: leader.clone(), announcement, message: Message::decode(message).ok()? })
    }
}

/// Why a file did not come.
#[derive(Debug, thiserror::Error)]
enum FetchFailure {
    #[error(transparent)]
    Link(#[from] FetchError),
    #[error(transparent)]
    Pull(#[from] PullError),
    #[error("there are no links")]
    NoLinks,
}

pub(super) fn run(shared: &Arc<DriverShared>) {
    while !shared.is_stopping() {
        if let Some(ordered) = shared.wait_for_order() {
            shared.obey(ordered);
        } else if let Some((leader, announcement)) = shared.ask() {
            shared.keep_up(&leader, announcement);
        }
    }
}

impl DriverShared {
    fn wait_for_order(&self) -> Option<FetchOrder> {
        let mut ordered = self.ordered.lock();
        if ordered.is_none() && !self.is_stopping() {
            self.ordering.wait_for(&mut ordered, ASK_INTERVAL);
        }
        ordered.take()
    }

    fn ask(&self) -> Option<(NodeName, Announcement)> {
        let leader = self.leader()?;
        let answer = self.transport.links()?.call(&leader, CALL_CHECKPOINT, Vec::new(), TIMEOUT).wait().ok()?;
        let announcement = Announcement::decode(&answer)?;
        self.member.wants(&announcement).then_some((leader, announcement))
    }

    /// A checkpoint whose records this member has comes into force here, too.
    fn keep_up(&self, leader: &NodeName, announcement: Announcement) {
        let pulled = match self.pull(leader, announcement) {
            Ok(pulled) => pulled,
            Err(error) => return tracing::debug!(%error, "a checkpoint was not fetched"),
        };
        let since = Instant::now();
        // What it is ordered to fetch is not there for ever.
        while since.elapsed() < INSTALL_TIMEOUT && !self.is_stopping() && self.ordered.lock().is_none() {
            match self.member.install(&pulled) {
                Ok(Installed::Done) => return,
                Ok(Installed::NotYet) => drop(self.sleep(INSTALL_INTERVAL)),
                Err(error) => return tracing::warn!(%error, "a checkpoint could not be put in force"),
            }
        }
    }

    /// This member is to begin with what the leader has.
    fn obey(&self, ordered: FetchOrder) {
        let FetchOrder { leader, announcement, message } = ordered;
        let index = announcement.base.id.index;
        let outcome = match self.pull(&leader, announcement) {
            Ok(pulled) => {
                self.member.offer(Arc::new(pulled));
                self.member.receive(message, Vec::new());
                CALL_SHIPPED
            }
            Err(error) => {
                tracing::info!(%error, "the leader's files could not be fetched");
                let _ = self.sleep(FAILURE_PAUSE);
                CALL_NOT_SHIPPED
            }
        };
        if let Some(links) = self.transport.links() {
            let _ = links.call(&leader, outcome, index.0.to_le_bytes().to_vec(), TIMEOUT).wait();
        }
    }

    fn pull(&self, leader: &NodeName, announcement: Announcement) -> Result<Pulled, FetchFailure> {
        let index = announcement.base.id.index;
        let mut pull = self.member.pull(announcement)?;
        while let Some((name, offset)) = pull.next() {
            let file = match name {
                store::group::FileName::Checkpoint(_) => crate::wire::FileName::Checkpoint { index },
                store::group::FileName::Segment(id) => crate::wire::FileName::Segment { id: id.0 },
            };
            let links = self.transport.links().ok_or(FetchFailure::NoLinks)?;
            let mut fetch = links.fetch(leader, FileRequest { group: GROUP, file, offset });
            let file_len = fetch.begin_blocking()?;
            while let Some(bytes) = fetch.next_blocking()? {
                pull.take(&FilePiece { file_len, bytes })?;
                if self.is_stopping() {
                    return Err(FetchFailure::NoLinks);
                }
            }
        }
        Ok(pull.finish()?)
    }
}
