//! Followers of events while they happen. An event does not wait for them: what a follower does not take is kept for it up to a bound, then
//! the oldest is dropped and counted.

use std::sync::Arc;
use std::task::Waker;

use parking_lot::RwLock;
use telemetry::{Bound, Mailbox, Overflow, Received};

use crate::events::Event;
use crate::limits::{SUBSCRIPTION_EVENT_COUNT_MAX, SUBSCRIPTION_LEN_MAX};

/// All followers.
#[derive(Debug, Default, Clone)]
pub(crate) struct Subscribers(Arc<RwLock<Vec<Arc<Subscriber>>>>);

/// One follower.
#[derive(Debug)]
struct Subscriber {
    wants: fn(&str) -> bool,
    mailbox: Mailbox<Arc<Event>>,
}

const BOUND: Bound = Bound {
    count_max: SUBSCRIPTION_EVENT_COUNT_MAX,
    len_max: SUBSCRIPTION_LEN_MAX,
    // What happens now is what a follower wants to know.
    overflow: Overflow::DropOldest,
};

/// Events of some names, from the moment on when it was made. Dropping it ends that at once.
#[derive(Debug)]
pub struct Subscription {
    subscribers: Subscribers,
    subscriber: Arc<Subscriber>,
}

/// What a follower gets next.
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

impl From<Received<Arc<Event>>> for Followed {
    fn from(received: Received<Arc<Event>>) -> Self {
        match received {
            Received::Missed(count) => Followed::Missed(count),
            Received::Item(event) => Followed::Event(event),
        }
    }
}

impl Subscribers {
    pub(crate) fn subscribe(&self, wants: fn(&str) -> bool) -> Subscription {
        let subscriber = Arc::new(Subscriber { wants, mailbox: Mailbox::new(BOUND) });
        self.0.write().push(subscriber.clone());
        Subscription { subscribers: self.clone(), subscriber }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    /// Passes an event to all followers.
    pub(crate) fn publish(&self, event: Arc<Event>) {
        if self.is_empty() {
            return;
        }
        let mut wakers = Vec::new();
        for subscriber in self.0.read().iter().filter(|subscriber| (subscriber.wants)(event.name)) {
            wakers.extend(subscriber.mailbox.push_unwoken(event.clone(), len_of(&event)));
        }
        // Without a lock: a waker may do anything.
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Subscription {
    /// What has come and has not been taken, if there is anything.
    #[must_use]
    pub fn take(&self) -> Option<Followed> {
        self.subscriber.mailbox.take().map(Followed::from)
    }

    /// Waits for what comes next.
    pub async fn next(&mut self) -> Followed {
        self.subscriber.mailbox.next().await.into()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.subscribers.0.write().retain(|subscriber| !Arc::ptr_eq(subscriber, &self.subscriber));
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
        let subscribers = Subscribers::default();
        let subscription = subscribers.subscribe(|name| name.starts_with("queue."));
        let count = SUBSCRIPTION_EVENT_COUNT_MAX as i64 + 3;
        (0..count).for_each(|number| subscribers.publish(event(number, 0)));
        assert_eq!(number_of(subscription.take()), "missed 3");
        for number in 3..count {
            assert_eq!(number_of(subscription.take()), number.to_string());
        }
        assert_eq!(number_of(subscription.take()), "none");
    }

    #[test]
    fn large_events_are_bounded_by_their_bytes() {
        let subscribers = Subscribers::default();
        let subscription = subscribers.subscribe(|_| true);
        (0..20).for_each(|number| subscribers.publish(event(number, SUBSCRIPTION_LEN_MAX / 10)));
        assert_eq!(number_of(subscription.take()), "missed 11");
        assert_eq!(number_of(subscription.take()), "11");
    }
}
