//! Clustering.

use super::{Key, Section, Type, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Clustering", keys: KEYS };

const ALONE: &str = "this node stays alone";
const ONE_NODE: &str = "there is one node";

const KEYS: &[Key] = &[
    not_built("cluster_formation.**", Type::Text, ALONE),
    no_effect(
        "cluster_partition_handling",
        Type::OneOf(&["ignore", "pause_minority", "autoheal", "pause_if_all_down"]),
        ONE_NODE,
    ),
    no_effect("cluster_partition_handling.**", Type::Text, ONE_NODE),
    no_effect("cluster_keepalive_interval", Type::ANY_DURATION, ONE_NODE),
    no_effect("delegate_count", Type::COUNT, ONE_NODE),
    no_effect("net_ticktime", Type::COUNT, ONE_NODE),
    no_effect("distribution.listener.**", Type::Text, ONE_NODE),
    no_effect("metadata_store.**", Type::Text, ONE_NODE),
    no_effect("raft.**", Type::Text, ONE_NODE),
    no_effect("{mnesia_table_loading_retry_timeout,mnesia_table_loading_retry_limit}", Type::COUNT, ONE_NODE),
    no_effect("prevent_startup_if_node_was_reset", Type::Bool, ONE_NODE),
];
