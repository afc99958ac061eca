//! What a workload is described by: one table, from which options, files, help and documentation are made.

use crate::quantity::Unit;

/// A thing that is said about a workload or a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs, reason = "SETTINGS says what each is")]
pub enum Key {
    Rate,
    Throughput,
    Body,
    Properties,
    ExchangeName,
    RoutingKey,
    Copies,
    AckEvery,
    Confirms,
    Persistent,
    Peak,
    Outage,
    Delayed,
    Delay,
    Connections,
    Channels,
    Queues,
    Replicas,
    Nodes,
    LoadBalancers,
    Headroom,
    FrameMax,
    Tls,
    CpuUs,
    SyncUs,
    RttUs,
    Network,
    LbNetwork,
    Cpus,
    Memory,
    Files,
    DiskWrite,
    DiskSpace,
}

/// A row of the table.
#[derive(Debug)]
pub struct Setting {
    /// Which one it is.
    pub key: Key,
    /// The option without its dashes. In files it has `_` for `-`.
    pub name: &'static str,
    /// What people call it in a formula.
    pub title: &'static str,
    /// What it is given in.
    pub unit: Unit,
    /// What stands for it if nothing is said, as it would be written. None: it follows from others, or is not known.
    pub default: Option<&'static str>,
    /// The least that makes sense.
    pub least: f64,
    /// The most that makes sense.
    pub most: f64,
    /// Whether it has to be a whole number.
    pub is_whole: bool,
    /// What it is, for help and documentation.
    pub help: &'static str,
}

/// More than any of them can be: what is worked out of such numbers is still a number.
const MOST: f64 = 1e15;

const fn setting(key: Key, name: &'static str, title: &'static str, unit: Unit, help: &'static str) -> Setting {
    Setting { key, name, title, unit, default: None, least: 0.0, most: MOST, is_whole: false, help }
}

impl Setting {
    const fn or(self, default: &'static str) -> Self {
        Setting { default: Some(default), ..self }
    }

    const fn within(self, least: f64, most: f64) -> Self {
        Setting { least, most, ..self }
    }

    const fn whole(self) -> Self {
        Setting { is_whole: true, ..self }
    }
}

/// All of them, in the order in which they are shown: the place of each is its key's number.
pub const SETTINGS: &[Setting] = &[
    setting(Key::Rate, "rate", "rate", Unit::PerSecond, "messages published per second, on average").within(0.001, 1e9),
    setting(
        Key::Throughput,
        "throughput",
        "throughput",
        Unit::BitsPerSecond,
        "instead of the rate: the bandwidth of published bodies, such as 5Gbit/s or 600MB/s",
    )
    .within(1e-6, MOST),
    setting(Key::Body, "body", "body", Unit::Bytes, "a body's size").or("1KiB").within(0.0, 536_870_912.0),
    setting(
        Key::Properties,
        "properties",
        "properties",
        Unit::Bytes,
        "encoded size of a message's properties and headers",
    )
    .or("64")
    .within(0.0, 131_072.0),
    setting(Key::ExchangeName, "exchange-name", "exchange name", Unit::Bytes, "length of the exchange's name")
        .or("16")
        .within(0.0, 255.0),
    setting(Key::RoutingKey, "routing-key", "routing key", Unit::Bytes, "length of the routing key")
        .or("24")
        .within(0.0, 255.0),
    setting(
        Key::Copies,
        "copies",
        "copies",
        Unit::Count,
        "queues that a message is routed to, each of which is consumed once",
    )
    .or("1")
    .within(1.0, 1e6),
    setting(
        Key::AckEvery,
        "ack-every",
        "messages per ack",
        Unit::Count,
        "messages that a consumer acknowledges at a time; 0: none (auto-ack)",
    )
    .or("1")
    .within(0.0, 1e6)
    .whole(),
    setting(Key::Confirms, "confirms", "confirms", Unit::Flag, "whether publishers use confirms").or("yes"),
    setting(
        Key::Persistent,
        "persistent",
        "persistent",
        Unit::Flag,
        "whether messages are persistent, in durable queues",
    )
    .or("yes"),
    setting(Key::Peak, "peak", "peak factor", Unit::Count, "the peak rate, as a multiple of the average")
        .or("1")
        .within(1.0, 1e4),
    setting(
        Key::Outage,
        "outage",
        "outage",
        Unit::Seconds,
        "how long consumers may be absent; the backlog of this time must fit",
    )
    .or("1h"),
    setting(Key::Delayed, "delayed", "delayed share", Unit::Share, "the share of messages that are delayed")
        .or("0")
        .within(0.0, 1.0),
    setting(Key::Delay, "delay", "delay", Unit::Seconds, "the average delay"),
    setting(Key::Connections, "connections", "connections", Unit::Count, "open connections of clients")
        .or("100")
        .whole(),
    setting(
        Key::Channels,
        "channels",
        "channels",
        Unit::Count,
        "open channels of all connections; default: one per connection",
    )
    .whole(),
    setting(Key::Queues, "queues", "queues", Unit::Count, "queues").or("100").whole(),
    setting(Key::Replicas, "replicas", "replicas", Unit::Count, "nodes that store each message: 1, 3 or 5")
        .or("1")
        .within(1.0, 5.0)
        .whole(),
    setting(
        Key::Nodes,
        "nodes",
        "nodes",
        Unit::Count,
        "all nodes; more nodes than replicas form several clusters (or brokers) that share the load",
    )
    .within(1.0, 1e4)
    .whole(),
    setting(
        Key::LoadBalancers,
        "load-balancers",
        "load balancers",
        Unit::Count,
        "load balancers or proxies between clients and brokers, all active",
    )
    .or("0")
    .within(0.0, 1e4)
    .whole(),
    setting(Key::Headroom, "headroom", "headroom", Unit::Share, "the share of each machine that stays free")
        .or("30%")
        .within(0.0, 0.99),
    setting(
        Key::FrameMax,
        "frame-max",
        "frame_max",
        Unit::Bytes,
        "the maximum frame size that clients and broker negotiate",
    )
    .or("131072")
    .within(4_096.0, 2_147_483_648.0)
    .whole(),
    setting(Key::Tls, "tls", "TLS", Unit::Flag, "whether clients use TLS").or("no"),
    setting(
        Key::CpuUs,
        "cpu-us",
        "processor time per message",
        Unit::Micros,
        "processor time of the broker per message, in µs, instead of the value in bench/RESULTS.md",
    )
    .within(0.001, 1e6),
    setting(
        Key::SyncUs,
        "sync-us",
        "time of a sync",
        Unit::Micros,
        "duration of a write and a sync of the disk together, in µs; --here measures it",
    )
    .within(1.0, 1e7),
    setting(
        Key::RttUs,
        "rtt-us",
        "round trip between nodes",
        Unit::Micros,
        "duration of a packet from one node of a cluster to another and back, in µs, as reported by ping",
    )
    .or("200")
    .within(1.0, 1e7),
    setting(
        Key::Network,
        "network",
        "network",
        Unit::BitsPerSecond,
        "bandwidth of a node's network in each direction, such as 10Gbit/s",
    )
    .within(1.0, MOST),
    setting(
        Key::LbNetwork,
        "lb-network",
        "network",
        Unit::BitsPerSecond,
        "bandwidth of a load balancer's network in each direction",
    )
    .within(1.0, MOST),
    setting(Key::Cpus, "cpus", "processors", Unit::Cores, "processors of a node").within(0.01, 1e5),
    setting(Key::Memory, "memory", "memory", Unit::Memory, "memory of a node").within(1.0, MOST),
    setting(Key::Files, "files", "open files", Unit::Count, "the maximum number of open files of a node's broker")
        .within(1.0, MOST)
        .whole(),
    setting(
        Key::DiskWrite,
        "disk-write",
        "disk bandwidth",
        Unit::BytesPerSecond,
        "write bandwidth of a node's disk, such as 500MB/s",
    )
    .within(1.0, MOST),
    setting(Key::DiskSpace, "disk-space", "disk space", Unit::Bytes, "free space on a node's disk").within(1.0, MOST),
];

/// The row of a key.
#[must_use]
pub fn setting_of(key: Key) -> &'static Setting {
    &SETTINGS[key as usize]
}

/// The row of a name, with `-` or `_`.
pub(crate) fn find(name: &str) -> Option<&'static Setting> {
    let name = name.replace('_', "-");
    SETTINGS.iter().find(|setting| setting.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value;

    #[test]
    fn each_key_is_at_its_number() {
        for (place, setting) in SETTINGS.iter().enumerate() {
            assert_eq!(setting.key as usize, place, "{}", setting.name);
        }
    }

    #[test]
    fn each_default_can_be_written() {
        for setting in SETTINGS {
            if let Some(default) = setting.default {
                value::parse(setting, default).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    #[test]
    fn names_are_found_with_either_line() {
        assert_eq!(find("cpu_us").map(|setting| setting.key), Some(Key::CpuUs));
        assert_eq!(find("cpu-us").map(|setting| setting.key), Some(Key::CpuUs));
        assert!(find("cpu").is_none());
    }
}
