//! The last events, for operators who ask what has happened: the beginning of the audit log that needs no file.
//!
//! Not among them is what is no deed but comes with one or with traffic, in numbers that would push everything else out: what happens to
//! channels and consumers, and queues for which another policy holds because a policy was set.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::events::Event;
use crate::limits::{RECENT_EVENT_COUNT_MAX, RECENT_EVENT_LEN_MAX};

/// What an event takes besides its fields, about.
const EVENT_LEN: usize = 192;

const LEFT_OUT: [&str; 3] = ["channel.", "consumer.", "queue.policy."];

/// Whether events of this name are kept.
pub fn is_kept(name: &str) -> bool {
    LEFT_OUT.iter().all(|prefix| !name.starts_with(prefix))
}

#[derive(Debug, Default)]
struct StoredContent {
    /// The oldest first.
    events: VecDeque<Arc<Event>>,
    len: usize,
    last_id: u64,
}

/// The last events.
#[derive(Debug, Default)]
pub(crate) struct RecentEvents(Mutex<StoredContent>);

fn len_of(event: &Event) -> usize {
    EVENT_LEN + event.fields.as_table().as_bytes().len() + event.user.as_ref().map_or(0, |user| user.len())
}

impl RecentEvents {
    /// Numbers an event, and keeps it if it is one of those that are kept.
    pub(crate) fn push(&self, mut event: Event) -> Arc<Event> {
        let is_kept = is_kept(event.name);
        let mut kept = self.0.lock();
        kept.last_id += 1;
        event.id = kept.last_id;
        if is_kept {
            // Tables that are built grow by doubling.
            event.fields.shrink();
        }
        let event = Arc::new(event);
        if is_kept {
            kept.len += len_of(&event);
            kept.events.push_back(event.clone());
            while kept.events.len() > RECENT_EVENT_COUNT_MAX || kept.len > RECENT_EVENT_LEN_MAX {
                let Some(oldest) = kept.events.pop_front() else { break };
                kept.len -= len_of(&oldest);
            }
        }
        event
    }

    /// All of them, the newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Event>> {
        self.0.lock().events.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recent: &RecentEvents) -> Vec<(u64, &'static str)> {
        recent.all().iter().map(|event| (event.id, event.name)).collect()
    }

    #[test]
    fn the_newest_come_first_and_traffic_is_left_out() {
        let recent = RecentEvents::default();
        for name in ["queue.created", "channel.created", "consumer.created", "queue.policy.updated", "queue.deleted"] {
            recent.push(Event::new(name));
        }
        assert_eq!(names(&recent), [(5, "queue.deleted"), (1, "queue.created")]);
    }

    #[test]
    fn the_oldest_make_room() {
        let recent = RecentEvents::default();
        (0..=RECENT_EVENT_COUNT_MAX).for_each(|_| drop(recent.push(Event::new("queue.created"))));
        assert_eq!((recent.all().len(), names(&recent).last().unwrap().0), (RECENT_EVENT_COUNT_MAX, 2));
        let large = "x".repeat(RECENT_EVENT_LEN_MAX / 4);
        (0..4).for_each(|_| drop(recent.push(Event::new("queue.created").with_text("name", &large))));
        assert_eq!(recent.all().len(), 3);
        recent.push(Event::new("queue.created").with_text("name", &"x".repeat(RECENT_EVENT_LEN_MAX)));
        assert!(recent.all().is_empty(), "what is larger than all is not kept");
    }
}
