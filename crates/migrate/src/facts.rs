//! What both brokers say at one moment.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::link::{MARK, PREFIX};
use crate::queue::{Queue, QueueId};

/// Both brokers at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Since this program started, in milliseconds.
    pub(crate) now_ms: u64,
    pub(crate) source: BTreeMap<QueueId, Queue>,
    pub(crate) destination: BTreeMap<QueueId, Queue>,
    /// Shovels of ours, by vhost and name.
    pub(crate) shovels: BTreeMap<(String, String), Shovel>,
    /// Exchanges of ours that are left at either broker: at the source, and at the destination. Looked at towards the end only.
    pub(crate) ways: [Vec<(String, String)>; 2],
    /// The clients of the source, but for shovels of ours.
    pub(crate) clients: Vec<Client>,
    /// Consumers at the source by queue, but for shovels of ours.
    pub(crate) source_consumers: BTreeMap<QueueId, u64>,
    /// Whether numbers of the source are those of this moment. Otherwise they may be some seconds old.
    pub(crate) is_exact: bool,
}

impl Facts {
    pub(crate) fn consumers_at_source(&self, id: &QueueId) -> u64 {
        self.source_consumers.get(id).copied().unwrap_or(0)
    }
}

/// A shovel of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shovel {
    /// RabbitMQ's word for what it does; empty: it is defined, and not listed yet.
    pub(crate) state: String,
    pub(crate) reason: String,
    /// Messages since it connected.
    pub(crate) forwarded: u64,
    /// Since when.
    pub(crate) since: String,
}

/// A connection of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// What it calls itself, or where it comes from.
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) vhost: String,
    pub(crate) consumer_count: usize,
    pub(crate) publishes: bool,
}

/// Reads `GET /api/shovels`, and the parameters: one that was just defined is not listed yet, and one that was just deleted may be.
pub(crate) fn shovels(listed: &[Value], defined: &[Value]) -> BTreeMap<(String, String), Shovel> {
    let text = |value: &Value, member: &str| value[member].as_str().unwrap_or_default().to_owned();
    let key = |value: &Value| (text(value, "vhost"), text(value, "name"));
    let ours = |value: &&Value| value["name"].as_str().is_some_and(|name| name.starts_with(PREFIX));
    let mut shovels: BTreeMap<_, _> =
        defined.iter().filter(ours).map(|value| (key(value), Shovel::default())).collect();
    for value in listed.iter().filter(ours) {
        if let Some(shovel) = shovels.get_mut(&key(value)) {
            *shovel = Shovel {
                state: text(value, "state"),
                reason: text(value, "reason"),
                forwarded: value["forwarded"].as_u64().unwrap_or(0),
                since: text(value, "timestamp"),
            };
        }
    }
    shovels
}

/// Reads `GET /api/connections`, `/api/consumers` and `/api/channels` of the source.
pub(crate) fn clients(
    connections: &[Value],
    consumers: &[Value],
    channels: &[Value],
) -> (Vec<Client>, BTreeMap<QueueId, u64>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_ours = |connection: &Value| {
        let own_name = &connection["user_provided_name"];
        let own_name = own_name.as_str().or(connection["client_properties"]["connection_name"].as_str());
        own_name.is_some_and(|name| name.contains(PREFIX) || name == OWN_NAME)
    };
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut ours = Vec::new();
    for connection in connections {
        let name = text(&connection["name"]);
        if is_ours(connection) {
            ours.push(name);
            continue;
        }
        let own_name = connection["user_provided_name"].as_str().filter(|own| !own.is_empty());
        // RabbitMQ's links and shovels use their own broker without a socket.
        let is_direct = connection["protocol"].as_str().is_some_and(|protocol| protocol.starts_with("Direct"));
        let own_name = own_name.or(is_direct.then_some("a link or shovel of this broker itself"));
        let shown = own_name.map_or_else(|| name.clone(), |own| format!("{own} ({name})"));
        let (user, vhost) = (text(&connection["user"]), text(&connection["vhost"]));
        clients.insert(name, Client { name: shown, user, vhost, consumer_count: 0, publishes: false });
    }
    let mut by_queue = BTreeMap::new();
    for consumer in consumers {
        let connection = text(&consumer["channel_details"]["connection_name"]);
        if ours.contains(&connection) || consumer["arguments"][MARK] == true {
            continue;
        }
        let queue = &consumer["queue"];
        *by_queue.entry(QueueId { vhost: text(&queue["vhost"]), name: text(&queue["name"]) }).or_insert(0) += 1;
        if let Some(client) = clients.get_mut(&connection) {
            client.consumer_count += 1;
        }
    }
    for channel in channels {
        let rate = channel["message_stats"]["publish_details"]["rate"].as_f64().unwrap_or(0.0);
        if rate > 0.0
            && let Some(client) = clients.get_mut(&text(&channel["connection_details"]["name"]))
        {
            client.publishes = true;
        }
    }
    (clients.into_values().collect(), by_queue)
}

/// What this program calls its own connections.
pub(crate) const OWN_NAME: &str = "warren migrate";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shovels_of_ours_are_no_clients() {
        let connections = [
            json!({"name": "a:1", "user": "u", "vhost": "/", "user_provided_name": "Shovel warren-migrate.forward.0"}),
            json!({"name": "b:1", "user": "u", "vhost": "/", "user_provided_name": "shop"}),
            json!({"name": "c:1", "user": "u", "vhost": "/"}),
            json!({"name": "<0.1>", "user": "none", "vhost": "/", "protocol": "Direct 0-9-1"}),
            json!({"name": "d:1", "user": "u", "vhost": "/", "client_properties": {"connection_name": "warren migrate"}}),
        ];
        let consumer = |connection: &str| json!({"channel_details": {"connection_name": connection}, "queue": {"vhost": "/", "name": "q"}});
        let channels =
            [json!({"connection_details": {"name": "c:1"}, "message_stats": {"publish_details": {"rate": 0.2}}})];
        // One of a connection that is not listed yet.
        let mut unlisted = consumer("e:1");
        unlisted["arguments"] = json!({"x-priority": -10, "x-warren-migrate": true});
        let (clients, consumers) = clients(&connections, &[consumer("a:1"), consumer("b:1"), unlisted], &channels);
        assert_eq!(consumers, BTreeMap::from([(QueueId::new("/", "q"), 1)]));
        let shown: Vec<_> =
            clients.iter().map(|client| (&*client.name, client.consumer_count, client.publishes)).collect();
        let direct = "a link or shovel of this broker itself (<0.1>)";
        assert_eq!(shown, [(direct, 0, false), ("shop (b:1)", 1, false), ("c:1", 0, true)]);
    }

    #[test]
    fn a_shovel_is_there_as_long_as_it_is_defined() {
        let entry =
            |name: &str| json!({"vhost": "/", "name": name, "state": "running", "forwarded": 7, "timestamp": "t"});
        let listed = [entry("warren-migrate.forward.1"), entry("theirs"), entry("warren-migrate.forward.2")];
        let shovels =
            shovels(&listed, &[entry("warren-migrate.forward.1"), entry("warren-migrate.forward.3"), entry("theirs")]);
        let states: Vec<_> = shovels.iter().map(|((_, name), shovel)| (&**name, shovel.forwarded)).collect();
        assert_eq!(states, [("warren-migrate.forward.1", 7), ("warren-migrate.forward.3", 0)]);
    }
}
