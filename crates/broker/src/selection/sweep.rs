//! A walk over the ready messages of a queue, piece by piece, up to where one request may look.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use model::ids::QueueSeq;
use queue::{Look, Message, Position, SeenMessage};

use super::MessageFilter;
use super::limits::{ATTEMPT_COUNT_MAX, LOOK_COUNT, LOOK_LEN, LOOKED_AT_COUNT_MAX, LOOKED_AT_LEN_MAX};
use crate::broker::Broker;
use engine::queue_handle::QueueHandle;
use engine::queued_message::QueuedMessage;
use message::Parts;
use model::refusal::{self, Outcome};

/// By which a message is found again in its queue: where it stands there. Written as its priority and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId(pub(crate) Position);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0.priority, self.0.seq.0)
    }
}

impl FromStr for MessageId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (priority, seq) = text.split_once('-').ok_or(())?;
        let (Ok(priority), Ok(seq)) = (priority.parse(), seq.parse()) else { return Err(()) };
        // No seq is higher than this; the next one must be one, too.
        if seq > i64::MAX.cast_unsigned() {
            return Err(());
        }
        Ok(Self(Position { priority, seq: QueueSeq(seq) }))
    }
}

/// Messages that something is to be done with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// These.
    Ids(Vec<MessageId>),
    /// Those that a filter means, from a place on, so many at most.
    Filter {
        /// Which.
        filter: MessageFilter,
        /// From here on.
        from: Option<MessageId>,
        /// So many at most.
        count_max: u64,
    },
}

/// A walk over the ready messages of a queue.
pub(super) struct Sweep<'a> {
    broker: &'a Broker,
    queue: &'a QueueHandle,
    /// Where to go on; `None`: the end has been reached.
    pub(super) at: Option<Position>,
    looked_at_count: usize,
    looked_at_len: u64,
}

impl<'a> Sweep<'a> {
    pub(super) fn new(broker: &'a Broker, queue: &'a QueueHandle, from: Position) -> Self {
        Self { broker, queue, at: Some(from), looked_at_count: 0, looked_at_len: 0 }
    }

    /// The next messages. `None`: there are none, or it would be too much for one request.
    pub(super) async fn next(&mut self) -> Outcome<Option<Vec<SeenMessage<QueuedMessage>>>> {
        while let Some(at) = self.at {
            if self.looked_at_count >= LOOKED_AT_COUNT_MAX || self.looked_at_len >= LOOKED_AT_LEN_MAX {
                return Ok(None);
            }
            let (seen, next) = self.look(at, LOOK_COUNT, LOOK_LEN).await?;
            self.at = next;
            self.looked_at_count += seen.len();
            self.looked_at_len += seen.iter().map(|seen| u64::from(seen.message.len())).sum::<u64>();
            if !seen.is_empty() {
                return Ok(Some(seen));
            }
            // It was a way over deleted messages.
            self.looked_at_count += 1;
        }
        Ok(None)
    }

    /// The message of exactly this position.
    pub(super) async fn find(&self, position: Position) -> Outcome<Option<SeenMessage<QueuedMessage>>> {
        let (seen, _) = self.look(position, 1, 1).await?;
        Ok(seen.into_iter().next().filter(|seen| seen.position == position))
    }

    async fn look(
        &self,
        at: Position,
        count_max: usize,
        len_max: u32,
    ) -> Outcome<(Vec<SeenMessage<QueuedMessage>>, Option<Position>)> {
        for _ in 0..ATTEMPT_COUNT_MAX {
            let look =
                self.broker.engine.shards.with_queue(self.queue, |entry| entry.queue.look(at, count_max, len_max));
            let Some(look) = look else {
                return refusal::not_found(format!("no {}", self.queue.definition.resource()));
            };
            let Some(mut look) = look else { return Ok((Vec::new(), None)) };
            if self.read(&mut look).await {
                let looked = look.end();
                return Ok((looked.messages, looked.next));
            }
        }
        refusal::internal(format!("messages of {} could not be read from disk", self.queue.definition.resource()))
    }

    /// Reads what a look needs. False: some of it lies elsewhere by now.
    async fn read(&self, look: &mut Look<QueuedMessage>) -> bool {
        let mut has_read = false;
        while let Some(load) = look.next_load() {
            let read = self.broker.engine.pending_reads.read(self.queue, load).await;
            if look.loaded(read.messages, read.next_slot).is_err() {
                return false;
            }
            has_read = true;
        }
        !has_read
            || self.broker.engine.shards.with_queue(self.queue, |entry| entry.queue.is_as_seen(look)).unwrap_or(false)
    }
}

/// The first ready message of this position or behind it, read if it has to be. `None`: there is none, or too many of those there have
/// left.
pub(crate) async fn first_from(broker: &Broker, queue: &QueueHandle, from: Position) -> Option<QueuedMessage> {
    let sweep = Sweep::new(broker, queue, from);
    let mut at = from;
    for _ in 0..ATTEMPT_COUNT_MAX {
        let (seen, next) = sweep.look(at, 1, 1).await.ok()?;
        if let Some(seen) = seen.into_iter().next() {
            return Some(seen.message);
        }
        at = next?;
    }
    None
}

/// Messages that something is to be done with, a few at a time.
pub(super) struct Selected<'a> {
    sweep: Sweep<'a>,
    /// `None`: those with these ids.
    filter: Option<&'a MessageFilter>,
    ids: VecDeque<Position>,
    /// Messages that came after the request are not meant.
    end: QueueSeq,
    rest: VecDeque<SeenMessage<QueuedMessage>>,
    count_left: u64,
}

impl<'a> Selected<'a> {
    pub(super) fn new(broker: &'a Broker, queue: &'a QueueHandle, selection: &'a Selection) -> Self {
        let next_seq = broker.engine.shards.with_queue(queue, |entry| entry.queue.next_seq());
        let (from, filter, ids, count_left) = match selection {
            Selection::Ids(ids) => {
                let mut positions: Vec<Position> = ids.iter().map(|id| id.0).collect();
                positions.sort_by_key(|position| (std::cmp::Reverse(position.priority), position.seq));
                positions.dedup();
                (Position::FIRST, None, positions.into(), u64::MAX)
            }
            Selection::Filter { filter, from, count_max } => {
                (from.map_or(Position::FIRST, |id| id.0), Some(filter), VecDeque::new(), *count_max)
            }
        };
        let sweep = Sweep::new(broker, queue, from);
        let end = next_seq.unwrap_or(QueueSeq::FIRST);
        Self { sweep, filter, ids, end, rest: VecDeque::new(), count_left }
    }

    /// The next ones: so many, and about so many bytes, at most. `None`: that is all for this request.
    pub(super) async fn next(
        &mut self,
        count_max: usize,
        len_max: u64,
    ) -> Outcome<Option<Vec<SeenMessage<QueuedMessage>>>> {
        let (mut found, mut len) = (Vec::new(), 0);
        while found.len() < count_max && len < len_max && self.count_left > 0 {
            let Some(seen) = self.next_one().await? else { break };
            len += u64::from(seen.message.len());
            self.count_left -= 1;
            found.push(seen);
        }
        Ok((!found.is_empty()).then_some(found))
    }

    async fn next_one(&mut self) -> Outcome<Option<SeenMessage<QueuedMessage>>> {
        let Some(filter) = self.filter else {
            while let Some(position) = self.ids.pop_front() {
                if let Some(seen) = self.sweep.find(position).await? {
                    return Ok(Some(seen));
                }
            }
            self.sweep.at = None;
            return Ok(None);
        };
        loop {
            while let Some(seen) = self.rest.pop_front() {
                let parts = Parts::read(seen.message.content().bytes());
                let is_meant = parts.is_some_and(|parts| filter.means(&parts, seen.redelivered));
                if is_meant && seen.position.seq < self.end {
                    return Ok(Some(seen));
                }
            }
            match self.sweep.next().await? {
                Some(seen) => self.rest = seen.into(),
                None => return Ok(None),
            }
        }
    }

    /// Looks at the same message once more: it has been written to a segment meanwhile.
    pub(super) async fn find_again(&self, position: Position) -> Outcome<Option<SeenMessage<QueuedMessage>>> {
        self.sweep.find(position).await
    }

    /// Where another request would go on, if there may be more.
    pub(super) fn next_position(&self) -> Option<MessageId> {
        let at = self.rest.front().map(|seen| seen.position).or(self.sweep.at);
        at.map(MessageId)
    }
}
