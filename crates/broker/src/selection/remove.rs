//! Deleting messages out of the middle of a queue.

use model::name::QueueName;
use model::user::Access;
use queue::{SeenMessage, Take};

use super::limits::{ATTEMPT_COUNT_MAX, CARRIED_COUNT_MAX, CARRIED_LEN_MAX};
use super::sweep::Selected;
use super::{MessageId, Selection};
use crate::changed::Changed;
use crate::events::Event;
use crate::vhost_access::VhostAccess;
use engine::queued_message::QueuedMessage;
use engine::shard::QueueEntry;
use engine::work::Work;
use model::refusal::{self, Outcome};

/// What deleting messages came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Removed {
    /// How many have been deleted.
    pub count: u64,
    /// Where there may be more of them: it was too much for one request.
    pub next: Option<MessageId>,
    /// When that is durable.
    pub changed: Changed,
}

impl VhostAccess {
    /// Deletes ready messages of a queue for good.
    pub async fn delete_messages(&self, queue: &QueueName, selection: &Selection) -> Outcome<Removed> {
        let queue = self.retry_until_authorized(|access| access.queue_for(Access::Read, queue)).await?;
        let mut selected = Selected::new(&self.broker, &queue, selection);
        let mut removed = Removed::default();
        while let Some(mut seen) = selected.next(CARRIED_COUNT_MAX, CARRIED_LEN_MAX).await? {
            for _ in 0..ATTEMPT_COUNT_MAX {
                let taken = self
                    .broker
                    .engine
                    .with_queue(&queue, |entry, work| take_all(entry, work, std::mem::take(&mut seen)));
                let Some(((count, unread), position)) = taken else {
                    return refusal::not_found(format!("no {}", queue.definition.resource()));
                };
                removed.count += count;
                removed.changed.position.add(position);
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
fn take_all(
    entry: &mut QueueEntry,
    work: &mut Work<'_>,
    seen: Vec<SeenMessage<QueuedMessage>>,
) -> (u64, Vec<SeenMessage<QueuedMessage>>) {
    let (mut taken, mut unread) = (Vec::new(), Vec::new());
    for seen in seen {
        match work.take_seen(entry, &seen) {
            Take::Taken(held) => {
                work.note_by_operator(&entry.handle, seen.position.seq, &held, None);
                taken.push((seen.position.seq, held));
            }
            Take::Unread(_) => unread.push(seen),
            Take::Missing => {}
        }
    }
    let count = work.let_go(entry, taken);
    work.dispatch(entry);
    (count, unread)
}
