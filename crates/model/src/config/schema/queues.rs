//! Queues, exchanges, messages, definitions.

use super::{Key, Section, Type, alias, effective, no_effect, not_built, refused};

pub(super) const SECTION: Section = Section { title: "Queues and definitions", keys: KEYS };

const ONE_NODE: &str = "there is one node";
const NO_STREAMS: &str = "there are no streams";
const NO_MIRRORS: &str = "there are no mirrored queues";

const KEYS: &[Key] = &[
    effective(
        "deprecated_features.permit.{global_qos,transient_nonexcl_queues}",
        Type::Bool,
        "",
        "Whether what RabbitMQ phases out is permitted: prefetch for a whole channel, and queues that are neither durable \
         nor exclusive. Both are, unless set to false.",
    ),
    no_effect(
        "deprecated_features.permit.{amqp_address_v1,amqp_filter_set_bug,classic_queue_mirroring,management_metrics_collection,\
         queue_master_locator,ram_node_type}",
        Type::Bool,
        "there is nothing of it to permit or to forbid",
    ),
    effective(
        "default_queue_type",
        Type::OneOf(&["classic", "quorum", "rabbit_classic_queue", "rabbit_quorum_queue"]),
        "classic",
        "The type of queues that are declared without one, in vhosts that have no default of their own: see \
         [queues](queues.md).",
    ),
    effective(
        "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration",
        Type::Bool,
        "false",
        "Whether clients may go on that declare an existing quorum queue as a classic one. What only one of the two types \
         knows is then not compared.",
    ),
    effective(
        "load_definitions",
        Type::Text,
        "",
        "A file of definitions, or a directory of such files, that every start imports before it listens.",
    ),
    alias("definitions.local.path", "load_definitions", Type::Text),
    alias("definitions.skip_unsupported", "management.load_definitions_skip_unsupported", Type::Bool),
    refused("definitions.import_backend", Type::Text, "definitions are imported from local files only")
        .unless(&["local_filesystem", "local"]),
    refused("definitions.{https,tls}.**", Type::Secret, "definitions are imported from local files only"),
    no_effect("definitions.skip_if_unchanged", Type::Bool, "importing what is there already changes nothing"),
    no_effect("definitions.hashing.algorithm", Type::Text, "definitions are imported at every start"),
    effective(
        "default_policies.operator.$id.vhost_pattern",
        Type::Pattern,
        "",
        "New vhosts that get this operator policy; unset: all.",
    ),
    effective(
        "default_policies.operator.$id.queue_pattern",
        Type::Pattern,
        "",
        "The names that it is for; unset: all.",
    ),
    effective(
        "default_policies.operator.$id.apply_to",
        Type::OneOf(&["all", "exchanges", "queues", "classic_queues", "quorum_queues", "streams"]),
        "",
        "What it applies to. Default: all.",
    ),
    effective(
        "default_policies.operator.$id.expires",
        Type::DurationMs(1, 315_360_000_000),
        "",
        "What it sets: see [policies](policies.md).",
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
    effective(
        "consumer_timeout",
        Type::ANY_DURATION,
        "1800000",
        "How long a consumer of a quorum queue may hold a message, unless the queue or the consumer says otherwise.",
    ),
    not_built(
        "consumer_timeout_response",
        Type::OneOf(&["notify_consumer", "close_channel"]),
        "consumers are notified, and channels are closed of clients that do not listen for it",
    )
    .unless(&["notify_consumer"]),
    no_effect("consumer_disconnected_timeout", Type::ANY_DURATION, ONE_NODE),
    not_built("queue_types.stream.enabled", Type::Bool, "there are no streams").unless(&["false"]),
    not_built("queue_types.{classic,quorum}.enabled", Type::Bool, "both types are always enabled").unless(&["true"]),
    effective(
        "exchange_types.local_random.enabled",
        Type::Bool,
        "true",
        "Whether exchanges of the type `x-local-random` may be declared. Those that are there stay.",
    ),
    not_built("channel_interceptor.priorities.$name", Type::Integer(i64::MIN, i64::MAX), "there are no interceptors"),
    not_built("message_interceptors.**", Type::Text, "messages are passed on as they came"),
    no_effect("classic_queue.default_version", Type::Integer(1, 2), "there is one storage for all queues"),
    no_effect("queue_index_embed_msgs_below", Type::ANY_SIZE, "there is one storage for all messages"),
    no_effect("message_store_shutdown_timeout", Type::ANY_DURATION, "use warren.shutdown_timeout"),
    no_effect("{queue_master_locator,queue_leader_locator}", Type::Text, ONE_NODE),
    no_effect("quorum_queue.**", Type::Text, "quorum queues are stored as all queues are, on one node"),
    no_effect("{mirroring_sync_batch_size,mirroring_sync_max_throughput}", Type::Text, NO_MIRRORS),
    no_effect("stream.**", Type::Text, NO_STREAMS),
    no_effect(
        "vhost_restart_strategy",
        Type::OneOf(&["stop_node", "continue", "transient", "persistent"]),
        "vhosts do not fail alone",
    ),
    no_effect("default_worker_pool_size", Type::COUNT, "use warren.worker_threads"),
];
