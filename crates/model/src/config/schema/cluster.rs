//! Clustering.

use std::time::Duration;

use super::super::cluster::{
    BACKEND, HOST_PORT, HostPort, NODE, PEER, RETRY_LIMIT, parse_host_port, parse_retry_limit,
};
use super::super::value::{ListenAddress, parse_listener};
use super::{Key, Row, Section, Type, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Clustering", keys: KEYS };

const AGREED: &str = "nodes agree on the one that forms the cluster, without a lock";
const NOT_ASKED: &str = "peers are not looked up in such a service";
const NO_CHOICE: &str =
    "a node that cannot reach a majority stops serving, and continues when it can reach one again (`pause_minority`)";
const OWN_STORE: &str = "Warren has one log, which all nodes store";

pub(crate) const PEER_DISCOVERY_BACKEND: Key<String> = Key::text(
    "cluster_formation.peer_discovery_backend",
    Type::Own(&BACKEND),
    "classic_config",
    "Where the names of the nodes come from: this file (`classic_config`), the DNS (`dns`), or a separate file (`file`, which \
         exists only in Warren). The names of RabbitMQ's modules are accepted. An empty node with such a list joins the cluster of \
         these nodes, or forms one with them.",
);
pub(crate) const DNS_HOSTNAME: Key<String> = Key::text(
    "cluster_formation.dns.hostname",
    Type::Text,
    "",
    "A name that resolves to the addresses of all nodes. Reverse lookups of these addresses return the nodes' host names.",
);
pub(crate) const FILE: Key<String> =
    Key::text("cluster_formation.file", Type::Text, "", "A file with one node name per line.");
pub(crate) const TARGET_CLUSTER_SIZE_HINT: Key<usize> = Key::integer(
    "cluster_formation.target_cluster_size_hint",
    Type::Integer(0, 32),
    "0",
    "The number of nodes that a new cluster is expected to have, if fewer are listed. A majority of this number forms it. 0: as \
         many as are listed.",
);
pub(crate) const DISCOVERY_RETRY_LIMIT: Key<Option<u32>> = Key::new(
    "cluster_formation.discovery_retry_limit",
    Type::Own(&RETRY_LIMIT),
    "10",
    "How often in a row a lookup of names may fail before the start is aborted. For peers that are known but do not answer, a node \
         waits without a limit.",
    parse_retry_limit,
);
pub(crate) const DISCOVERY_RETRY_INTERVAL: Key<Duration> = Key::duration(
    "cluster_formation.discovery_retry_interval",
    Type::DurationMs(10, 3_600_000),
    "500",
    "How long a node waits between lookups.",
);
pub(crate) const LISTENER: Key<ListenAddress> = Key::new(
    "warren.cluster.listener",
    Type::Listener,
    "25672",
    "Where a node that is in a cluster, or forms one, listens for other nodes.",
    parse_listener,
);
pub(crate) const ADVERTISE: Key<HostPort> = Key::new(
    "warren.cluster.advertise",
    Type::Own(&HOST_PORT),
    "",
    "The address under which other nodes reach this one. Unset: the host in its name, and the listener's port.",
    parse_host_port,
);
pub(crate) const SECRET: Key<String> = Key::text(
    "warren.cluster.secret",
    Type::Secret,
    "",
    "The secret of the cluster, the same on all nodes. A cluster needs this, or TLS between the nodes. RabbitMQ's cookie file is \
         not used.",
);
pub(crate) const SECRET_FILE: Key<String> =
    Key::text("warren.cluster.secret_file", Type::Text, "", "A file that contains the secret and nothing else.");
pub(crate) const TLS_CACERTFILE: Key<String> = Key::text(
    "warren.cluster.tls.cacertfile",
    Type::Text,
    "",
    "File of the authority that has signed the certificates of all nodes, and no others. With it, nodes use TLS and authenticate \
         each other.",
);
pub(crate) const TLS_CERTFILE: Key<String> =
    Key::text("warren.cluster.tls.certfile", Type::Text, "", "File of this node's certificate chain.");
pub(crate) const TLS_KEYFILE: Key<String> =
    Key::text("warren.cluster.tls.keyfile", Type::Text, "", "File of this node's private key.");
pub(crate) const HEARTBEAT: Key<Duration> = Key::duration(
    "warren.cluster.heartbeat",
    Type::DurationMs(10, 250),
    "100",
    "How often the leader sends a heartbeat.",
);
pub(crate) const ELECTION_TIMEOUT: Key<Duration> = Key::duration(
    "warren.cluster.election_timeout",
    Type::DurationMs(400, 60_000),
    "1000",
    "How long nodes are without a leader before they elect another: at least this, at most twice as long.",
);

const KEYS: &[Row] = &[
    PEER_DISCOVERY_BACKEND.row,
    effective(
        "cluster_formation.classic_config.nodes.$node",
        Type::Own(&NODE),
        "",
        "The name of a node. The list includes the node itself, and is the same on all nodes.",
    ),
    DNS_HOSTNAME.row,
    FILE.row,
    TARGET_CLUSTER_SIZE_HINT.row,
    DISCOVERY_RETRY_LIMIT.row,
    DISCOVERY_RETRY_INTERVAL.row,
    not_built(
        "cluster_formation.node_cleanup.interval",
        Type::COUNT,
        "only `warren ctl forget_cluster_node` removes nodes",
    ),
    not_built(
        "cluster_formation.node_cleanup.only_log_warning",
        Type::Bool,
        "only `warren ctl forget_cluster_node` removes nodes",
    )
    .unless(&["true"]),
    no_effect(
        "cluster_formation.node_type",
        Type::OneOf(&["disc", "disk", "ram"]),
        "all nodes store durable data on disk",
    )
    .unless(&["disc", "disk"]),
    no_effect("cluster_formation.registration.enabled", Type::Bool, NOT_ASKED),
    no_effect(
        "cluster_formation.{internal_lock_retries,lock_retry_limit,lock_retry_timeout}",
        Type::Unbounded(0),
        AGREED,
    ),
    no_effect("cluster_formation.randomized_startup_delay_range.**", Type::COUNT, AGREED),
    no_effect("cluster_formation.{aws,consul,etcd,k8s,kubernetes,proxy}.**", Type::Secret, NOT_ASKED),
    LISTENER.row,
    ADVERTISE.row,
    effective(
        "warren.cluster.peers.$n",
        Type::Own(&PEER),
        "",
        "The address of another node, if its name does not resolve to it.",
    ),
    SECRET.row,
    SECRET_FILE.row,
    TLS_CACERTFILE.row,
    TLS_CERTFILE.row,
    TLS_KEYFILE.row,
    HEARTBEAT.row,
    ELECTION_TIMEOUT.row,
    no_effect(
        "cluster_partition_handling",
        Type::OneOf(&["ignore", "pause_minority", "autoheal", "pause_if_all_down"]),
        NO_CHOICE,
    )
    .unless(&["pause_minority"]),
    no_effect("cluster_partition_handling.**", Type::Text, NO_CHOICE),
    no_effect("cluster_keepalive_interval", Type::ANY_DURATION, "use `warren.cluster.heartbeat`"),
    no_effect("delegate_count", Type::COUNT, "all queues are on the leader, and nodes do not delegate work"),
    no_effect("net_ticktime", Type::COUNT, "use `warren.cluster.election_timeout`"),
    no_effect("distribution.listener.**", Type::Text, "use `warren.cluster.listener`"),
    no_effect("metadata_store.**", Type::Text, OWN_STORE),
    no_effect("raft.**", Type::Text, OWN_STORE),
    no_effect("{mnesia_table_loading_retry_timeout,mnesia_table_loading_retry_limit}", Type::COUNT, OWN_STORE),
    no_effect("prevent_startup_if_node_was_reset", Type::Bool, "a node that was reset joins as a new member"),
];
