//! Deleting messages out of the middle of a queue.

use model::ids::Place;
use model::name::QueueName;
use model::user::Access;
use queue::{Message, Seen, Take};

use super::limits::{ATTEMPT_COUNT_MAX, CARRIED_COUNT_MAX, CARRIED_LEN_MAX};
use super::sweep::Selected;
use super::{MessageId, Selection};
use crate::batch;
use crate::broker::Broker;
use crate::dispatch::Work;
use crate::events::Event;
use crate::inside::{Changed, Inside};
use crate::message::Held;
use crate::refusal::{self, Outcome};
use crate::shard::Cell;

/// What deleting messages came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Removed {
    /// How many have gone.
    pub count: u64,
    /// Where there may be more of them: it was too much for one request.
    pub next: Option<MessageId>,
    /// When that is durable.
    pub changed: Changed,
}

impl Inside {
    /// Deletes ready messages of a queue for good.
    pub async fn delete_messages(&self, queue: &QueueName, selection: &Selection) -> Outcome<Removed> {
        let queue = self.settled(|inside| inside.queue_for(Access::Read, queue)).await?;
        let mut selected = Selected::new(&self.broker, &queue, selection);
        let mut removed = Removed::default();
        while let Some(mut seen) = selected.next(CARRIED_COUNT_MAX, CARRIED_LEN_MAX).await? {
            for _ in 0..ATTEMPT_COUNT_MAX {
                let taken = batch::with_queue(&self.broker, &queue, |cell, work| {
                    take_all(cell, work, &self.broker, std::mem::take(&mut seen))
                });
                let Some(((count, unread), position)) = taken else {
                    return refusal::not_found(format!("no {}", queue.definition.resource()));
                };
                removed.count += count;
                removed.changed.position = removed.changed.position.max(position);
                for unread in unread {
                    seen.extend(selected.find_again(unread.position).await?);
                }
                if seen.is_empty() {
                    break;
                }
            }
        }
        removed.next = selected.next_position();
        if removed.count > 0 {
            self.emit(|| Event::messages_deleted(&queue, removed.count));
        }
        Ok(removed)
    }
}

/// Takes messages out for good. How many there were, and those that lie in a segment by now.
fn take_all(cell: &mut Cell, work: &mut Work, broker: &Broker, seen: Vec<Seen<Held>>) -> (u64, Vec<Seen<Held>>) {
    let from = work.settled.len();
    let mut unread = Vec::new();
    for seen in seen {
        match take(cell, broker, &seen) {
            Take::Taken(held) => work.settled.push((seen.position.seq, held)),
            Take::Unread(_) => unread.push(seen),
            Take::Missing => {}
        }
    }
    work.settled[from..].sort_unstable_by_key(|(seq, _)| *seq);
    let count = work.settled.len() - from;
    work.settle(cell, from);
    work.dispatch(cell, broker);
    (count as u64, unread)
}

/// Takes one message out, as it was seen.
pub(super) fn take(cell: &mut Cell, broker: &Broker, seen: &Seen<Held>) -> Take<Held> {
    let read = seen.message.place().map(|_: Place| &seen.message);
    cell.queue.take(seen.position.seq, read, |place| broker.store.is_alive(place))
}
