//! Followers of events while they happen. An event does not wait for them: what a follower does not take is kept for it up to a bound, then
//! the oldest is dropped and counted.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, RwLock};

use crate::events::Event;
use crate::limits::{SUBSCRIPTION_EVENT_COUNT_MAX, SUBSCRIPTION_LEN_MAX};

/// All followers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Subscribers(Arc<RwLock<Vec<Arc<Mailbox>>>>);

/// What waits for one follower.
#[derive(Debug)]
struct Mailbox {
    wants: fn(&str) -> bool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Arc<Event>>,
    /// Bytes of their fields.
    len: usize,
    missed_count: u64,
    waker: Option<Waker>,
}

/// Events of some names, from the moment on when it was made. Dropping it ends that at once.
#[derive(Debug)]
pub struct Subscription {
    subscribers: Subscribers,
    mailbox: Arc<Mailbox>,
}

/// What a follower is told next.
#[derive(Debug, Clone)]
pub enum Followed {
    /// So many events were dropped since the last one, because it did not take them.
    Missed(u64),
    /// This has happened.
    Event(Arc<Event>),
}

fn len_of(event: &Event) -> usize {
    event.fields.as_table().as_bytes().len()
}

impl Waiting {
    fn push(&mut self, event: Arc<Event>) {
        self.len += len_of(&event);
        self.events.push_back(event);
        while self.events.len() > SUBSCRIPTION_EVENT_COUNT_MAX || self.len > SUBSCRIPTION_LEN_MAX {
            let Some(oldest) = self.events.pop_front() else { break };
            self.len -= len_of(&oldest);
            self.missed_count += 1;
        }
    }

    fn pop(&mut self) -> Option<Followed> {
        // Only the oldest are dropped, so this comes before all that is left.
        if self.missed_count > 0 {
            return Some(Followed::Missed(std::mem::take(&mut self.missed_count)));
        }
        let event = self.events.pop_front()?;
        self.len -= len_of(&event);
        Some(Followed::Event(event))
    }
}

impl Subscribers {
    pub(crate) fn subscribe(&self, wants: fn(&str) -> bool) -> Subscription {
        let mailbox = Arc::new(Mailbox { wants, waiting: Mutex::default() });
        self.0.write().push(mailbox.clone());
        Subscription { subscribers: self.clone(), mailbox }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    /// Tells all who want to know.
    pub(crate) fn tell(&self, event: Arc<Event>) {
        if self.is_empty() {
            return;
        }
        let mut wakers = Vec::new();
        for mailbox in self.0.read().iter().filter(|mailbox| (mailbox.wants)(event.name)) {
            let mut waiting = mailbox.waiting.lock();
            waiting.push(event.clone());
            wakers.extend(waiting.waker.take());
        }
        // Without a lock: a waker may do anything.
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Subscription {
    /// What has come and has not been taken, if there is anything.
    #[must_use]
    pub fn take(&self) -> Option<Followed> {
        self.mailbox.waiting.lock().pop()
    }

    /// Waits for what comes next.
    pub async fn next(&mut self) -> Followed {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Followed> {
        let mut waiting = self.mailbox.waiting.lock();
        match waiting.pop() {
            Some(followed) => Poll::Ready(followed),
            None => {
                waiting.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscribers.0.write().retain(|mailbox| !Arc::ptr_eq(mailbox, &self.mailbox));
    }
}

#[cfg(test)]
mod tests {
    use amqp::table::Value;

    use super::*;

    fn event(number: i64, len: usize) -> Arc<Event> {
        Arc::new(Event::new("queue.created").with_number("n", number).with("x", Value::LongStr(&vec![0; len])))
    }

    fn number_of(followed: Option<Followed>) -> String {
        match followed {
            None => "none".to_owned(),
            Some(Followed::Missed(count)) => format!("missed {count}"),
            Some(Followed::Event(event)) => match event.fields.as_table().get("n") {
                Some(Value::I64(number)) => number.to_string(),
                other => format!("{other:?}"),
            },
        }
    }

    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let mut waiting = Waiting::default();
        let count = SUBSCRIPTION_EVENT_COUNT_MAX as i64 + 3;
        (0..count).for_each(|number| waiting.push(event(number, 0)));
        assert_eq!(number_of(waiting.pop()), "missed 3");
        for number in 3..count {
            assert_eq!(number_of(waiting.pop()), number.to_string());
        }
        assert_eq!(number_of(waiting.pop()), "none");
        assert_eq!(waiting.len, 0);
    }

    #[test]
    fn large_events_are_bounded_by_their_bytes() {
        let mut waiting = Waiting::default();
        (0..20).for_each(|number| waiting.push(event(number, SUBSCRIPTION_LEN_MAX / 10)));
        assert!(waiting.len <= SUBSCRIPTION_LEN_MAX);
        assert_eq!(number_of(waiting.pop()), "missed 11");
        assert_eq!(number_of(waiting.pop()), "11");
    }
}
