//! A queue as a broker's HTTP API reports it, and whether its messages can be moved.

use std::fmt;

use serde_json::Value;

/// Which queue, at either broker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueId {
    pub(crate) vhost: String,
    pub(crate) name: String,
}

impl QueueId {
    pub(crate) fn new(vhost: &str, name: &str) -> Self {
        QueueId { vhost: vhost.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue '{}' in '{}'", self.name, self.vhost)
    }
}

/// Columns that [`Queue::read`] looks at.
pub(crate) const COLUMNS: &str = "vhost,name,type,durable,auto_delete,exclusive,owner_pid_details,arguments,\
     effective_policy_definition,messages_ready,messages_unacknowledged,messages,message_bytes,consumers,\
     message_stats.get,message_stats.get_no_ack,message_stats.deliver,message_stats.deliver_no_ack";

/// What a queue does to messages by its arguments and policies, as far as a move has to mind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// How many messages it keeps.
    pub(crate) length_max: Option<u64>,
    /// How many bytes of them.
    pub(crate) bytes_max: Option<u64>,
    /// It expires when nothing has consumed from it for a while.
    pub(crate) expires: bool,
    /// Its messages expire after a while.
    pub(crate) drops_by_age: bool,
}

impl Rules {
    /// Whether messages may go without a consumer.
    pub(crate) fn may_drop(&self) -> bool {
        *self != Rules::default()
    }

    fn read(queue: &Value) -> Self {
        let number = |name: &str| {
            let argument = queue["arguments"][format!("x-{name}")].as_u64();
            let policy = queue["effective_policy_definition"][name].as_u64();
            [argument, policy].into_iter().flatten().min()
        };
        Rules {
            length_max: number("max-length"),
            bytes_max: number("max-length-bytes"),
            expires: number("expires").is_some(),
            drops_by_age: number("message-ttl").is_some(),
        }
    }
}

/// Why the messages of a queue are not moved, whatever happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stays {
    /// It belongs to a connection.
    Exclusive,
    /// It is deleted with its last consumer, and a shovel that breaks off would be that.
    AutoDelete,
    /// It is not consumed, but read.
    Stream,
    /// Messages wait in it for a federation link of another broker.
    Link,
}

impl Stays {
    /// A reason, as the end of a sentence.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Stays::Exclusive => "exclusive: it is deleted with its connection",
            Stays::AutoDelete => "auto-delete: it is deleted with its last consumer",
            Stays::Stream => "a stream: Warren does not support streams",
            Stays::Link => "a queue of a federation link: the link creates its own at its upstream",
        }
    }
}

/// A queue at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) kind: String,
    pub(crate) is_exclusive: bool,
    pub(crate) is_auto_delete: bool,
    /// A federation link of another broker has made it.
    pub(crate) is_of_link: bool,
    pub(crate) rules: Rules,
    pub(crate) ready: u64,
    pub(crate) unacked: u64,
    pub(crate) bytes: u64,
    /// All of them, shovels too.
    pub(crate) consumers: u64,
    /// Messages that were fetched one by one, since its node started.
    pub(crate) fetched: u64,
    /// Messages that consumers were given.
    pub(crate) delivered: u64,
}

impl Queue {
    /// Reads an entry of `GET /api/queues`. What a broker has no number of yet is taken for 0.
    pub(crate) fn read(value: &Value) -> Option<(QueueId, Queue)> {
        let id = QueueId::new(value["vhost"].as_str()?, value["name"].as_str()?);
        let number = |name: &str| value[name].as_u64().unwrap_or(0);
        let is = |name: &str| value[name].as_bool().unwrap_or(false);
        let count = |name: &str| value["message_stats"][name].as_u64().unwrap_or(0);
        let argument = value["arguments"]["x-queue-type"].as_str();
        let (ready, unacked) = (number("messages_ready"), number("messages_unacknowledged"));
        let queue = Queue {
            kind: value["type"].as_str().or(argument).unwrap_or("classic").to_owned(),
            is_exclusive: is("exclusive") || value["owner_pid_details"].is_object(),
            is_auto_delete: is("auto_delete"),
            is_of_link: value["arguments"]["x-internal-purpose"] == "federation",
            rules: Rules::read(value),
            ready: if ready + unacked == 0 { number("messages") } else { ready },
            unacked,
            bytes: number("message_bytes"),
            consumers: number("consumers"),
            fetched: count("get") + count("get_no_ack"),
            delivered: count("deliver") + count("deliver_no_ack"),
        };
        Some((id, queue))
    }

    pub(crate) fn total(&self) -> u64 {
        self.ready + self.unacked
    }

    /// Why its messages are not moved, if they are not.
    pub(crate) fn stays(&self) -> Option<Stays> {
        match self {
            _ if self.is_exclusive => Some(Stays::Exclusive),
            _ if self.is_auto_delete => Some(Stays::AutoDelete),
            _ if self.kind == "stream" => Some(Stays::Stream),
            _ if self.is_of_link => Some(Stays::Link),
            _ => None,
        }
    }

    /// How many messages of another queue it can take before its own limits drop one; `None`: all.
    pub(crate) fn room_for(&self, source: &Queue) -> Option<u64> {
        let by_length = self.rules.length_max.map(|max| max.saturating_sub(self.total()));
        let by_bytes = self.rules.bytes_max.and_then(|max| {
            let free = max.saturating_sub(self.bytes);
            if source.bytes <= free && source.total() > 0 && source.bytes > 0 {
                return None;
            }
            // Sizes differ: half of what the middle one allows.
            let middle = source.bytes / source.total().max(1);
            Some(free / 2 / middle.max(1))
        });
        [by_length, by_bytes].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_stricter_of_argument_and_policy_counts() {
        let value = json!({"vhost": "/", "name": "q", "arguments": {"x-max-length": 10, "x-message-ttl": 5},
            "effective_policy_definition": {"max-length": 7, "expires": 1000}});
        let (_, queue) = Queue::read(&value).unwrap();
        let expected = Rules { length_max: Some(7), bytes_max: None, expires: true, drops_by_age: true };
        assert_eq!(queue.rules, expected);
        // RabbitMQ says [] where there is no policy.
        let value = json!({"vhost": "/", "name": "q", "arguments": {}, "effective_policy_definition": []});
        assert!(!Queue::read(&value).unwrap().1.rules.may_drop());
    }

    #[test]
    fn a_limited_queue_takes_what_it_has_room_for() {
        let limited = |length_max, bytes_max, ready, bytes| Queue {
            rules: Rules { length_max, bytes_max, ..Rules::default() },
            ready,
            bytes,
            ..Queue::default()
        };
        let source = Queue { ready: 10, bytes: 1000, ..Queue::default() };
        assert_eq!(Queue::default().room_for(&source), None);
        assert_eq!(limited(Some(10), None, 4, 0).room_for(&source), Some(6));
        assert_eq!(limited(Some(10), None, 14, 0).room_for(&source), Some(0));
        assert_eq!(limited(None, Some(1000), 0, 0).room_for(&source), None);
        assert_eq!(limited(None, Some(1000), 1, 200).room_for(&source), Some(4));
        assert_eq!(limited(Some(3), Some(1000), 1, 200).room_for(&source), Some(2));
    }

    #[test]
    fn what_goes_with_its_clients_stays() {
        let stays = |value: Value| Queue::read(&value).unwrap().1.stays();
        assert_eq!(stays(json!({"vhost": "/", "name": "q", "auto_delete": true})), Some(Stays::AutoDelete));
        assert_eq!(stays(json!({"vhost": "/", "name": "q", "exclusive": true})), Some(Stays::Exclusive));
        let stream = json!({"vhost": "/", "name": "q", "arguments": {"x-queue-type": "stream"}});
        assert_eq!(stays(stream), Some(Stays::Stream));
        let of_link = json!({"vhost": "/", "name": "q", "arguments": {"x-internal-purpose": "federation"}});
        assert_eq!(stays(of_link), Some(Stays::Link));
        assert_eq!(stays(json!({"vhost": "/", "name": "q", "type": "quorum", "durable": true})), None);
    }
}
