//! What moves the messages of one queue: a shovel of Warren's, and at the destination a way into the queue.
//!
//! ```text
//!  queue at the source ─► shovel ─► exchange (fanout, auto-delete) ─► queue at the destination
//! ```
//!
//! The exchange has the queue for its only binding. So messages keep their routing key, which a publish to the queue by its name would
//! replace; a header `CC` sends no copies elsewhere; and the exchange is deleted with the queue, so that the shovel fails
//! before it takes anything, rather than publish to nowhere.

use serde_json::{Value, json};

use crate::address::vhost_in_uri;
use crate::queue::QueueId;

/// What names of shovels and exchanges of ours begin with.
pub(crate) const PREFIX: &str = "warren-migrate.";

/// Messages that a shovel has on their way at most.
const PREFETCH: u32 = 1000;
/// Seconds until a shovel that has failed begins again: each time what it had taken comes back as redelivered.
const RECONNECT_DELAY_S: u32 = 5;
/// An argument that marks our consumers: RabbitMQ lists a connection some seconds after its consumers.
pub(crate) const MARK: &str = "x-warren-migrate";
/// Consumers that the source still has are served first.
const PRIORITY: i32 = -10;

/// Which way messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the old broker to Warren.
    Forward,
    /// From Warren to the old broker.
    Back,
}

impl Direction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Back => "back",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Direction::Forward, Direction::Back].into_iter().find(|direction| direction.name() == name)
    }

    /// What the source is called.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Direction::Forward => "old",
            Direction::Back => "new",
        }
    }

    /// What the destination is called.
    pub(crate) fn destination(self) -> &'static str {
        match self {
            Direction::Forward => "new",
            Direction::Back => "old",
        }
    }
}

/// A shovel to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) queue: QueueId,
    /// It ends when it has moved so many; otherwise when it is deleted.
    pub(crate) batch: Option<Batch>,
}

/// Where a shovel ends without being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// After what waits when it starts.
    Waiting,
    /// After so many.
    Count(u64),
}

/// The name of a queue's shovel and exchange. It depends on nothing but the queue and the way.
pub(crate) fn name(direction: Direction, queue: &QueueId) -> String {
    // FNV-1a of 128 bits: names of queues may be as long as those of exchanges.
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in queue.vhost.bytes().chain([0]).chain(queue.name.bytes()) {
        hash ^= u128::from(byte);
        hash = hash.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{PREFIX}{}.{hash:032x}", direction.name())
}

/// The ways into queues, as a document of definitions for the destination.
pub(crate) fn ways<'a>(direction: Direction, queues: impl Iterator<Item = &'a QueueId> + Clone) -> Value {
    let exchanges = queues.clone().map(|queue| {
        json!({"name": name(direction, queue), "vhost": queue.vhost, "type": "fanout", "durable": true,
               "auto_delete": true, "internal": false, "arguments": {}})
    });
    let bindings = queues.map(|queue| {
        json!({"source": name(direction, queue), "vhost": queue.vhost, "destination": queue.name,
               "destination_type": "queue", "routing_key": "", "arguments": {}})
    });
    json!({"exchanges": exchanges.collect::<Vec<_>>(), "bindings": bindings.collect::<Vec<_>>()})
}

/// Shovels, as a document of definitions for Warren. `old` is the URI of the old broker as Warren reaches it, without a vhost.
pub(crate) fn shovels(direction: Direction, links: &[Link], old: &dyn Fn(&str) -> String) -> Value {
    let parameters = links.iter().map(|link| {
        let QueueId { vhost, name: queue } = &link.queue;
        let here = format!("amqp:///{}", vhost_in_uri(vhost));
        let (source, destination) = match direction {
            Direction::Forward => (old(vhost), here),
            Direction::Back => (here, old(vhost)),
        };
        let name = name(direction, &link.queue);
        let mut value = json!({
            "src-uri": source, "src-queue": queue, "src-predeclared": true, "src-prefetch-count": PREFETCH,
            "src-consumer-args": {"x-priority": PRIORITY, MARK: true},
            "dest-uri": destination, "dest-exchange": name, "dest-predeclared": true,
            "ack-mode": "on-confirm", "reconnect-delay": RECONNECT_DELAY_S,
        });
        match link.batch {
            None => {}
            Some(Batch::Waiting) => value["src-delete-after"] = json!("queue-length"),
            Some(Batch::Count(count)) => value["src-delete-after"] = json!(count),
        }
        json!({"component": "shovel", "vhost": vhost, "name": name, "value": value})
    });
    json!({"parameters": parameters.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_queue_and_way_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<String> = [("/", "a"), ("/", "b"), ("/a", ""), ("", "/a"), ("v", "a")]
            .iter()
            .flat_map(|(vhost, queue)| {
                let id = QueueId::new(vhost, queue);
                [name(Direction::Forward, &id), name(Direction::Back, &id)]
            })
            .collect();
        assert_eq!(names.len(), 10);
        // What one program has made the next one has to find.
        let expected = "warren-migrate.forward.d228cb696f1a8caf78912b704e4a8964";
        assert_eq!(name(Direction::Forward, &QueueId::new("", "a")).len(), expected.len());
    }

    #[test]
    fn shovels_run_at_warren_whichever_way_messages_go() {
        let links = [Link { queue: QueueId::new("/", "q"), batch: Some(Batch::Count(7)) }];
        let old = |vhost: &str| format!("amqp://u:p@old/{}", vhost_in_uri(vhost));
        for (direction, source, destination) in [
            (Direction::Forward, "amqp://u:p@old/%2F", "amqp:///%2F"),
            (Direction::Back, "amqp:///%2F", "amqp://u:p@old/%2F"),
        ] {
            let document = shovels(direction, &links, &old);
            let value = &document["parameters"][0]["value"];
            assert_eq!((&value["src-uri"], &value["dest-uri"]), (&json!(source), &json!(destination)));
            assert_eq!(value["src-delete-after"], json!(7));
        }
        // What is settled is at the destination, and consumers that are still at the source go first.
        let value = &shovels(Direction::Forward, &links, &old)["parameters"][0]["value"];
        assert_eq!(value["ack-mode"], "on-confirm");
        assert_eq!(value["src-consumer-args"], json!({"x-priority": -10, "x-warren-migrate": true}));
        assert_eq!((&value["src-predeclared"], &value["dest-predeclared"]), (&json!(true), &json!(true)));
        let ways = ways(Direction::Forward, links.iter().map(|link| &link.queue));
        assert_eq!(ways["exchanges"][0]["auto_delete"], true, "it goes with its queue");
        assert_eq!(ways["bindings"][0]["source"], value["dest-exchange"]);
    }
}
