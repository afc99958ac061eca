//! Queues, exchanges, messages, definitions.

use std::time::Duration;

use super::{Key, Row, Section, Type, alias, effective, no_effect, not_built, refused};

pub(super) const SECTION: Section = Section { title: "Queues and definitions", keys: KEYS };

const ONE_NODE: &str = "all queues are on one node, the leader";
const NO_STREAMS: &str = "streams are not supported";
const NO_MIRRORS: &str = "mirrored queues are not supported";

pub(crate) const DEFAULT_QUEUE_TYPE: Key<String> = Key::text(
    "default_queue_type",
    Type::OneOf(&["classic", "quorum", "rabbit_classic_queue", "rabbit_quorum_queue"]),
    "classic",
    "The type of queues that are declared without a type, in vhosts without a default type. See [queues](queues.md).",
);
pub(crate) const RELAXED_CHECKS_ON_REDECLARATION: Key<bool> = Key::bool(
    "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration",
    "false",
    "Whether a client may redeclare an existing quorum queue as a classic queue. Properties that only one of the two types has are \
         then not compared.",
);
pub(crate) const LOAD_DEFINITIONS: Key<String> = Key::text(
    "load_definitions",
    Type::Text,
    "",
    "A file of definitions, or a directory of such files. The broker imports it at every start, before it listens.",
);
pub(crate) const CONSUMER_TIMEOUT: Key<Duration> = Key::duration(
    "consumer_timeout",
    Type::ANY_DURATION,
    "1800000",
    "How long a consumer of a quorum queue may hold a message, unless the queue or the consumer has its own timeout.",
);
pub(crate) const LOCAL_RANDOM_ENABLED: Key<bool> = Key::bool(
    "exchange_types.local_random.enabled",
    "true",
    "Whether exchanges of the type `x-local-random` may be declared. Existing exchanges are not affected.",
);

const KEYS: &[Row] = &[
    effective(
        "deprecated_features.permit.{global_qos,transient_nonexcl_queues}",
        Type::Bool,
        "",
        "Whether features that RabbitMQ deprecates are permitted: a prefetch for a whole channel, and queues that are neither durable \
         nor exclusive. Both are, unless the key is `false`.",
    ),
    no_effect(
        "deprecated_features.permit.{amqp_address_v1,amqp_filter_set_bug,classic_queue_mirroring,management_metrics_collection,\
         queue_master_locator,ram_node_type}",
        Type::Bool,
        "Warren does not have this feature",
    ),
    DEFAULT_QUEUE_TYPE.row,
    RELAXED_CHECKS_ON_REDECLARATION.row,
    LOAD_DEFINITIONS.row,
    alias("definitions.local.path", "load_definitions", Type::Text),
    alias("definitions.skip_unsupported", "management.load_definitions_skip_unsupported", Type::Bool),
    refused("definitions.import_backend", Type::Text, "definitions are imported from local files only")
        .unless(&["local_filesystem", "local"]),
    refused("definitions.{https,tls}.**", Type::Secret, "definitions are imported from local files only"),
    no_effect("definitions.skip_if_unchanged", Type::Bool, "importing unchanged definitions changes nothing"),
    no_effect("definitions.hashing.algorithm", Type::Text, "definitions are imported at every start"),
    effective(
        "default_policies.operator.$id.vhost_pattern",
        Type::Pattern,
        "",
        "The new vhosts that get this operator policy. Unset: all.",
    ),
    effective(
        "default_policies.operator.$id.queue_pattern",
        Type::Pattern,
        "",
        "The names that it applies to. Unset: all.",
    ),
    effective(
        "default_policies.operator.$id.apply_to",
        Type::OneOf(&["all", "exchanges", "queues", "classic_queues", "quorum_queues", "streams"]),
        "",
        "The objects that it applies to. Default: all.",
    ),
    effective(
        "default_policies.operator.$id.expires",
        Type::DurationMs(1, 315_360_000_000),
        "",
        "The value that it sets. See [policies](policies.md).",
    ),
    effective("default_policies.operator.$id.message_ttl", Type::DurationMs(0, 315_360_000_000), "", "The same."),
    effective(
        "default_policies.operator.$id.{max_length,max_in_memory_length}",
        Type::Integer(0, i64::MAX),
        "",
        "The same.",
    ),
    effective(
        "default_policies.operator.$id.{max_length_bytes,max_in_memory_bytes}",
        Type::Size(0, u64::MAX >> 1),
        "",
        "The same. As in RabbitMQ, `kB`, `MB` and `GB` are powers of 1024 here.",
    ),
    effective("default_policies.operator.$id.delivery_limit", Type::Integer(-1, i64::MAX), "", "The same."),
    no_effect("default_policies.operator.$id.classic_queues.**", Type::Text, NO_MIRRORS),
    CONSUMER_TIMEOUT.row,
    not_built(
        "consumer_timeout_response",
        Type::OneOf(&["notify_consumer", "close_channel"]),
        "consumers are notified; if a client does not support the notification, its channel is closed",
    )
    .unless(&["notify_consumer"]),
    no_effect("consumer_disconnected_timeout", Type::ANY_DURATION, ONE_NODE),
    not_built("queue_types.stream.enabled", Type::Bool, "streams are not supported").unless(&["false"]),
    not_built("queue_types.{classic,quorum}.enabled", Type::Bool, "both types are always enabled").unless(&["true"]),
    LOCAL_RANDOM_ENABLED.row,
    not_built(
        "channel_interceptor.priorities.$name",
        Type::Integer(i64::MIN, i64::MAX),
        "interceptors are not supported",
    ),
    not_built("message_interceptors.**", Type::Text, "interceptors are not supported"),
    no_effect("classic_queue.default_version", Type::Integer(1, 2), "all queues have the same storage"),
    no_effect("queue_index_embed_msgs_below", Type::ANY_SIZE, "all messages have the same storage"),
    no_effect("message_store_shutdown_timeout", Type::ANY_DURATION, "use warren.shutdown_timeout"),
    no_effect("{queue_master_locator,queue_leader_locator}", Type::Text, ONE_NODE),
    no_effect("quorum_queue.**", Type::Text, "quorum queues have the same storage as other queues"),
    no_effect("{mirroring_sync_batch_size,mirroring_sync_max_throughput}", Type::Text, NO_MIRRORS),
    no_effect("stream.**", Type::Text, NO_STREAMS),
    no_effect(
        "vhost_restart_strategy",
        Type::OneOf(&["stop_node", "continue", "transient", "persistent"]),
        "a single vhost cannot fail",
    ),
    no_effect("default_worker_pool_size", Type::COUNT, "use warren.worker_threads"),
];
