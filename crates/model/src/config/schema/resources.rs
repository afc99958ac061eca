//! Memory, disk and other limits.

use super::{Key, Row, Section, Type, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Memory, disk and limits", keys: KEYS };

const ERLANG_MEMORY: &str = "Warren has no Erlang memory";

pub(crate) const MEMORY_WATERMARK_RELATIVE: Key<f64> = Key::float(
    "vm_memory_high_watermark.relative",
    Type::Float(0.0, 1000.0),
    "0.6",
    "Publishers are blocked when the broker uses more than this fraction of the available memory.",
);
pub(crate) const MEMORY_WATERMARK_ABSOLUTE: Key<u64> = Key::size(
    "vm_memory_high_watermark.absolute",
    Type::ANY_SIZE,
    "",
    "The same in bytes. It takes precedence over the relative limit.",
);
pub(crate) const TOTAL_MEMORY_AVAILABLE: Key<u64> = Key::size(
    "total_memory_available_override_value",
    Type::ANY_SIZE,
    "",
    "The available memory. Unset: the memory of the host or the container.",
);
pub(crate) const DISK_FREE_LIMIT_ABSOLUTE: Key<u64> = Key::size(
    "disk_free_limit.absolute",
    Type::ANY_SIZE,
    "50MB",
    "Publishers are blocked when less than this is free on the disk of the data directory. It takes precedence over the relative \
         limit.",
);
pub(crate) const DISK_FREE_LIMIT_RELATIVE: Key<f64> = Key::float(
    "disk_free_limit.relative",
    Type::Float(0.0, 1000.0),
    "",
    "The same as a multiple of the available memory.",
);

const KEYS: &[Row] = &[
    MEMORY_WATERMARK_RELATIVE.row,
    MEMORY_WATERMARK_ABSOLUTE.row,
    TOTAL_MEMORY_AVAILABLE.row,
    DISK_FREE_LIMIT_ABSOLUTE.row,
    DISK_FREE_LIMIT_RELATIVE.row,
    no_effect(
        "vm_memory_high_watermark_paging_ratio",
        Type::Float(0.0, 1.0),
        "warren.chunks.bound limits the memory for messages",
    ),
    no_effect("memory_monitor_interval", Type::ANY_DURATION, "the interval is fixed"),
    no_effect(
        "vm_memory_calculation_strategy",
        Type::OneOf(&["rss", "erlang", "allocated", "legacy"]),
        "the strategy is always rss",
    )
    .unless(&["rss"]),
    not_built("vhost_max", Type::Unbounded(0), "the number of vhosts is not limited").unless(&["infinity"]),
    not_built(
        "{cluster_queue_limit,cluster_exchange_limit}",
        Type::Unbounded(1),
        "the numbers of queues and exchanges are not limited",
    )
    .unless(&["infinity"]),
    not_built("{session_max_per_connection,link_max_per_session}", Type::COUNT, "AMQP 1.0 is not supported"),
    effective(
        "runtime_parameters.limits.$category",
        Type::COUNT,
        "",
        "The maximum number of parameters of this component (`shovel`, `federation-upstream`, `federation-upstream-set`) in all vhosts \
         together.",
    ),
    no_effect("background_gc_enabled", Type::Bool, ERLANG_MEMORY),
    no_effect("background_gc_target_interval", Type::ANY_DURATION, ERLANG_MEMORY),
];
