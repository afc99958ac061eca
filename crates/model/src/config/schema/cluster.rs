//! Clustering.

use super::super::cluster::{BACKEND, HOST_PORT, NODE, PEER, RETRY_LIMIT};
use super::{Key, Section, Type, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Clustering", keys: KEYS };

const AGREED: &str = "nodes agree on the one that forms the cluster, and hold no lock";
const NOT_ASKED: &str = "no such service is asked for peers";
const NO_CHOICE: &str =
    "a node that cannot reach a majority does not serve, and goes on by itself when it can (`pause_minority`)";
const OWN_STORE: &str = "there is one log, which all nodes keep";

const KEYS: &[Key] = &[
    effective(
        "cluster_formation.peer_discovery_backend",
        Type::Own(&BACKEND),
        "classic_config",
        "Where the names of peers are: listed here (`classic_config`), in the DNS (`dns`), or in a file (`file`, Warren's own). \
         RabbitMQ's names of modules are understood. An empty node with such names joins a cluster of theirs, or forms one with them.",
    ),
    effective(
        "cluster_formation.classic_config.nodes.$node",
        Type::Own(&NODE),
        "",
        "A node's name, its own among them. All nodes have the same list.",
    ),
    effective(
        "cluster_formation.dns.hostname",
        Type::Text,
        "",
        "A name whose addresses are the nodes'; the names of these addresses are their hosts.",
    ),
    effective("cluster_formation.file", Type::Text, "", "A file with the name of a node on each line."),
    effective(
        "cluster_formation.target_cluster_size_hint",
        Type::Integer(0, 32),
        "0",
        "A new cluster is formed by a majority of so many nodes, if fewer are listed. 0: of those that are.",
    ),
    effective(
        "cluster_formation.discovery_retry_limit",
        Type::Own(&RETRY_LIMIT),
        "10",
        "So often in a row may looking up names fail, before the start ends. For peers that are known and do not answer a node \
         waits as long as it takes.",
    ),
    effective(
        "cluster_formation.discovery_retry_interval",
        Type::DurationMs(10, 3_600_000),
        "500",
        "How long a node waits before it looks again.",
    ),
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
        "all nodes keep what is durable on disk",
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
    effective(
        "warren.cluster.listener",
        Type::Listener,
        "25672",
        "Where a node that is in a cluster, or forms one, listens for its peers.",
    ),
    effective(
        "warren.cluster.advertise",
        Type::Own(&HOST_PORT),
        "",
        "Where its peers reach it; unset: at the host of its name, and the listener's port.",
    ),
    effective("warren.cluster.peers.$n", Type::Own(&PEER), "", "Where a peer is, if its name does not say it."),
    effective(
        "warren.cluster.secret",
        Type::Secret,
        "",
        "What all nodes of the cluster know. Without it, and without TLS between them, there is no cluster. RabbitMQ's cookie file \
         is not used.",
    ),
    effective("warren.cluster.secret_file", Type::Text, "", "A file that has it, and nothing else."),
    effective(
        "warren.cluster.tls.cacertfile",
        Type::Text,
        "",
        "File of the authority of all nodes' certificates, which has signed no others: there is TLS between nodes, and both show one.",
    ),
    effective("warren.cluster.tls.certfile", Type::Text, "", "File of this node's certificate chain."),
    effective("warren.cluster.tls.keyfile", Type::Text, "", "File of its key."),
    effective("warren.cluster.heartbeat", Type::DurationMs(10, 250), "100", "How often a leader says that it leads."),
    effective(
        "warren.cluster.election_timeout",
        Type::DurationMs(400, 60_000),
        "1000",
        "How long nodes wait without a leader, at least, until they elect another; at most twice as long.",
    ),
    no_effect(
        "cluster_partition_handling",
        Type::OneOf(&["ignore", "pause_minority", "autoheal", "pause_if_all_down"]),
        NO_CHOICE,
    )
    .unless(&["pause_minority"]),
    no_effect("cluster_partition_handling.**", Type::Text, NO_CHOICE),
    no_effect("cluster_keepalive_interval", Type::ANY_DURATION, "`warren.cluster.heartbeat` says how often"),
    no_effect("delegate_count", Type::COUNT, "nodes pass nothing on for each other's queues"),
    no_effect("net_ticktime", Type::COUNT, "`warren.cluster.election_timeout` says how soon a node is missed"),
    no_effect("distribution.listener.**", Type::Text, "`warren.cluster.listener` says where"),
    no_effect("metadata_store.**", Type::Text, OWN_STORE),
    no_effect("raft.**", Type::Text, OWN_STORE),
    no_effect("{mnesia_table_loading_retry_timeout,mnesia_table_loading_retry_limit}", Type::COUNT, OWN_STORE),
    no_effect("prevent_startup_if_node_was_reset", Type::Bool, "a node that was reset comes back as a new member"),
];
