//! Messages that the disk has lost, until an operator has taken note.

use std::path::PathBuf;
use std::time::SystemTime;

use model::ids::QueueId;

use crate::broker::Broker;
use crate::identity::Actor;
use engine::shard_of;

/// A file in which something could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedFile {
    /// Its path.
    pub path: PathBuf,
    /// What was found first.
    pub what: String,
    /// When.
    pub found_at: SystemTime,
    /// The messages that are lost by it.
    pub lost: Vec<Loss>,
}

/// Messages of one queue, or that waited at one exchange, that are lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The vhost and the name; `None`: it has been deleted since.
    pub of: Option<(String, String)>,
    /// Whether they were delayed messages of an exchange.
    pub is_exchange: bool,
    /// How many.
    pub count: u64,
}

impl DamagedFile {
    /// How many messages are lost.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        self.lost.iter().map(|loss| loss.count).sum()
    }
}

impl Broker {
    /// Files in which something could not be read since the start, as far as no operator has taken note.
    #[must_use]
    pub fn data_loss(&self) -> Vec<DamagedFile> {
        self.named(self.engine.store.damaged_segments())
    }

    /// Whether there are such files.
    #[must_use]
    pub fn has_data_loss(&self) -> bool {
        self.engine.store.has_damage()
    }

    /// An operator has taken note of [`Broker::data_loss`]. Answers with what that was.
    pub fn acknowledge_data_loss(&self, actor: &Actor) -> Vec<DamagedFile> {
        let known = self.named(self.engine.store.acknowledge_damage());
        let count = known.iter().map(DamagedFile::lost_count).sum::<u64>();
        tracing::warn!(
            user = actor.identity.name(),
            files = known.len(),
            count,
            "the loss of messages was acknowledged"
        );
        known
    }

    fn named(&self, segments: Vec<store::DamagedSegment>) -> Vec<DamagedFile> {
        let named = |segment: store::DamagedSegment| DamagedFile {
            path: segment.path,
            what: segment.what,
            found_at: segment.found_at,
            lost: segment.lost.into_iter().map(|(id, count)| self.loss(id, count)).collect(),
        };
        segments.into_iter().map(named).collect()
    }

    fn loss(&self, id: QueueId, count: u64) -> Loss {
        if let Some(set) = self.engine.delays.of(id) {
            let of = Some((set.vhost().to_owned(), set.name().into_owned()));
            return Loss { of, is_exchange: true, count };
        }
        let handle = self.engine.shards.with(shard_of(id), |shard| shard.by_id(id).map(|entry| entry.handle.clone()));
        let of = handle.map(|handle| (handle.definition.vhost.as_str().to_owned(), handle.name().to_owned()));
        Loss { of, is_exchange: false, count }
    }
}
