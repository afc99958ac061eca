//! Which of what happens is wanted: a value without a broker, a clock or chance.

use amqp::table::Value;
use broker::tap::{Event, Scope, What, routing_keys};
use message::Header;

use super::topic;

/// What a trace is to report. What is None or empty restricts nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The name of the connection that causes it.
    pub connection: Option<String>,
    /// The user that causes it.
    pub user: Option<String>,
    /// The vhost.
    pub vhost: Option<String>,
    /// The queue that it happens in, or that a message is routed to.
    pub queue: Option<String>,
    /// The exchange that the message was published to.
    pub exchange: Option<String>,
    /// One of the message's routing keys.
    pub routing_key: Option<String>,
    /// Its property of this name.
    pub message_id: Option<String>,
    /// Some of its headers, as text.
    pub headers: Vec<(String, String)>,
    /// One message of so many; 0 and 1: each. All that happens to a message is reported, or nothing.
    pub sample: u32,
}

/// What a filter looks at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// The client that causes it: the connection's name and the user's.
    pub client: Option<(&'a str, &'a str)>,
    /// The vhost.
    pub vhost: &'a str,
    /// The queue that it happens in.
    pub queue: Option<&'a str>,
    /// The queues that the message is routed to.
    pub routed_queues: &'a [&'a str],
    /// The message, where it is at hand.
    pub message: Option<MessageFacts<'a>>,
}

/// What a filter looks at in a message.
#[derive(Debug, Clone, Copy)]
pub struct MessageFacts<'a> {
    /// The exchange that it was published to.
    pub exchange: &'a [u8],
    /// Its routing keys.
    pub routing_keys: &'a [&'a [u8]],
    /// Its properties and headers.
    pub header: Header<'a>,
    /// Its body.
    pub body: &'a [u8],
}

/// What a filter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is wanted.
    Wanted,
    /// It is not.
    Unwanted,
    /// It depends on the message, which is not at hand.
    AskMessage,
}

impl Filter {
    /// Whether the message itself has to be looked at.
    #[must_use]
    pub fn asks_message(&self) -> bool {
        let is_asked = self.exchange.is_some() || self.routing_key.is_some() || self.message_id.is_some();
        is_asked || !self.headers.is_empty() || self.sample > 1
    }

    /// Whether something that happens there may be wanted.
    #[must_use]
    pub fn may_want(&self, scope: &Scope<'_>) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found.is_none_or(|found| found == wanted))
        };
        is(&self.vhost, Some(scope.vhost))
            && is(&self.queue, scope.queue.map(|queue| queue.name()))
            && is(&self.connection, scope.client.map(|client| &*client.connection))
            && is(&self.user, scope.client.map(|client| &*client.user))
            && self
                .exchange
                .as_deref()
                .is_none_or(|wanted| scope.exchange.is_none_or(|exchange| exchange == wanted.as_bytes()))
    }

    /// Whether something that happened is wanted.
    #[must_use]
    pub fn looks_at(&self, event: &Event<'_>) -> Verdict {
        let routed: Vec<&str> = event
            .targets()
            .map(|targets| targets.queues.iter().map(|queue| queue.name()).collect())
            .unwrap_or_default();
        let view = event.message.as_ref().and_then(|message| message.header.view());
        let headers = view.as_ref().and_then(|view| view.headers());
        let keys = event.message.as_ref().map(|message| routing_keys(message, headers)).unwrap_or_default();
        let facts = Facts {
            client: event.client.map(|client| (&*client.connection, &*client.user)),
            vhost: event.vhost,
            queue: event.queue.map(|queue| queue.name()),
            routed_queues: &routed,
            message: event.message.as_ref().map(|message| MessageFacts {
                exchange: message.exchange,
                routing_keys: &keys,
                header: message.header,
                body: message.body,
            }),
        };
        match event.what {
            // A purge has no message, so a filter of messages does not want it.
            What::Purged(_) if self.asks_message() => Verdict::Unwanted,
            _ => self.decide(&facts),
        }
    }

    /// Whether something is wanted of which this is known.
    #[must_use]
    pub fn decide(&self, facts: &Facts<'_>) -> Verdict {
        let is =
            |wanted: &Option<String>, found: Option<&str>| wanted.as_deref().is_none_or(|wanted| found == Some(wanted));
        let is_in_place = is(&self.vhost, Some(facts.vhost))
            && is(&self.connection, facts.client.map(|(connection, _)| connection))
            && is(&self.user, facts.client.map(|(_, user)| user))
            && self
                .queue
                .as_deref()
                .is_none_or(|wanted| facts.queue == Some(wanted) || facts.routed_queues.contains(&wanted));
        match facts.message {
            _ if !is_in_place => Verdict::Unwanted,
            _ if !self.asks_message() => Verdict::Wanted,
            None => Verdict::AskMessage,
            Some(message) if self.fits(&message) => Verdict::Wanted,
            Some(_) => Verdict::Unwanted,
        }
    }

    fn fits(&self, message: &MessageFacts<'_>) -> bool {
        let Some(view) = message.header.view() else { return false };
        let has_header =
            |(name, wanted): &(String, String)| view.header(name).is_some_and(|found| shows_as(&found, wanted));
        self.exchange.as_deref().is_none_or(|wanted| message.exchange == wanted.as_bytes())
            && self.message_id.as_deref().is_none_or(|wanted| view.message_id() == Some(wanted.as_bytes()))
            && self
                .routing_key
                .as_deref()
                .is_none_or(|pattern| message.routing_keys.iter().any(|key| topic::fits(pattern.as_bytes(), key)))
            && self.headers.iter().all(has_header)
            && self.takes_sample(view.message_id(), message.body)
    }

    /// One message of so many, by what does not change on its way.
    fn takes_sample(&self, message_id: Option<&[u8]>, body: &[u8]) -> bool {
        self.sample <= 1 || hash(message_id.unwrap_or(body)).is_multiple_of(u64::from(self.sample))
    }
}

/// Whether a header's value is written so.
fn shows_as(value: &Value<'_>, text: &str) -> bool {
    match value {
        Value::LongStr(bytes) | Value::Binary(bytes) => *bytes == text.as_bytes(),
        value => {
            let shown = model::json::from_value(value).to_string();
            shown == text
        }
    }
}

/// FNV-1a, and mixed: neighbours differ in all bits.
fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut mixed = bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold);
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use amqp::content::Properties;
    use amqp::table::TableBuf;
    use message::{HeaderBuf, View};
    use proptest::prelude::*;

    use super::*;

    fn header(message_id: &str, priority: i64) -> HeaderBuf {
        let headers = TableBuf::new().with("tenant", Value::LongStr(b"blue")).with("try", Value::I64(priority));
        let properties = Properties {
            message_id: Some(message_id.as_bytes()),
            headers: Some(headers.as_table()),
            ..Properties::default()
        };
        View::of(properties, 1).encode()
    }

    fn decide(filter: &Filter, has_message: bool) -> Verdict {
        let header = header("4711", 3);
        let (header, routing_keys): (_, &[&[u8]]) = (header.as_header(), &[b"eu.new", b"copy"]);
        let message = MessageFacts { exchange: b"orders", routing_keys, header, body: b"x" };
        let facts = Facts {
            client: Some(("1.2.3.4:5 -> 6.7.8.9:5672", "ann")),
            vhost: "/",
            queue: None,
            routed_queues: &["q1", "q2"],
            message: has_message.then_some(message),
        };
        filter.decide(&facts)
    }

    #[test]
    fn each_part_restricts() {
        let text = |text: &str| Some(text.to_owned());
        let none = Filter::default();
        for (filter, expected) in [
            (none.clone(), true),
            (Filter { user: text("ann"), ..none.clone() }, true),
            (Filter { user: text("bob"), ..none.clone() }, false),
            (Filter { connection: text("1.2.3.4:5 -> 6.7.8.9:5672"), ..none.clone() }, true),
            (Filter { connection: text("x"), ..none.clone() }, false),
            (Filter { vhost: text("v"), ..none.clone() }, false),
            (Filter { queue: text("q2"), ..none.clone() }, true),
            (Filter { queue: text("q3"), ..none.clone() }, false),
            (Filter { exchange: text("orders"), ..none.clone() }, true),
            (Filter { exchange: text(""), ..none.clone() }, false),
            (Filter { routing_key: text("eu.*"), ..none.clone() }, true),
            (Filter { routing_key: text("copy"), ..none.clone() }, true),
            (Filter { routing_key: text("us.#"), ..none.clone() }, false),
            (Filter { message_id: text("4711"), ..none.clone() }, true),
            (Filter { message_id: text("4712"), ..none.clone() }, false),
            (
                Filter { headers: vec![("tenant".into(), "blue".into()), ("try".into(), "3".into())], ..none.clone() },
                true,
            ),
            (Filter { headers: vec![("tenant".into(), "red".into())], ..none.clone() }, false),
            (Filter { headers: vec![("none".into(), String::new())], ..none }, false),
        ] {
            let verdict = decide(&filter, true);
            assert_eq!(verdict == Verdict::Wanted, expected, "{filter:?}");
            let without = decide(&filter, false);
            let asks = filter.asks_message();
            assert_eq!(without == Verdict::AskMessage, asks, "{filter:?}: {without:?}");
        }
    }

    proptest! {
        /// Of many messages about one in so many is taken, and each always or never.
        #[test]
        fn samples_are_steady_and_of_their_size(sample in 2_u32..50, salt in 0_u32..1000) {
            let filter = Filter { sample, ..Filter::default() };
            let taken = (0..5000_u32)
                .filter(|number| {
                    let id = format!("{salt}-{number}");
                    let is_taken = filter.takes_sample(Some(id.as_bytes()), b"");
                    assert_eq!(is_taken, filter.takes_sample(Some(id.as_bytes()), b"another body"));
                    is_taken
                })
                .count() as f64;
            let expected = 5000.0 / f64::from(sample);
            prop_assert!((taken - expected).abs() < 6.0 * expected.sqrt() + 5.0, "{} of {}", taken, expected);
        }

        /// Another restriction never makes more wanted.
        #[test]
        fn restrictions_only_take_away(
            user in proptest::option::of("ann|bob"),
            queue in proptest::option::of("q1|q3"),
            routing_key in proptest::option::of("#|eu.*|x"),
            message_id in proptest::option::of("4711|4712"),
            has_message in any::<bool>(),
        ) {
            let all = Filter { user, queue, routing_key, message_id, ..Filter::default() };
            let fewer = [
                Filter { user: None, ..all.clone() },
                Filter { queue: None, ..all.clone() },
                Filter { routing_key: None, ..all.clone() },
                Filter { message_id: None, ..all.clone() },
            ];
            if decide(&all, has_message) == Verdict::Wanted {
                for filter in fewer {
                    prop_assert_eq!(decide(&filter, has_message), Verdict::Wanted);
                }
            }
        }
    }
}
