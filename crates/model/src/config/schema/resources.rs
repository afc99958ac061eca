//! Memory, disk and other limits.

use super::{Key, Section, Type, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Memory, disk and limits", keys: KEYS };

const ERLANG_MEMORY: &str = "there is no Erlang memory to manage";

const KEYS: &[Key] = &[
    effective(
        "vm_memory_high_watermark.relative",
        Type::Float(0.0, 1000.0),
        "0.6",
        "Publishers are stopped when the broker uses more than this fraction of the memory that it may use.",
    ),
    effective(
        "vm_memory_high_watermark.absolute",
        Type::ANY_SIZE,
        "",
        "The same in bytes; it goes before the relative one.",
    ),
    effective(
        "total_memory_available_override_value",
        Type::ANY_SIZE,
        "",
        "The memory that the fraction is of; unset: what the host or the container has.",
    ),
    effective(
        "disk_free_limit.absolute",
        Type::ANY_SIZE,
        "50MB",
        "Publishers are stopped when less than this is free on the data directory's disk. It goes before the relative one.",
    ),
    effective("disk_free_limit.relative", Type::Float(0.0, 1000.0), "", "The same as a multiple of the memory."),
    no_effect(
        "vm_memory_high_watermark_paging_ratio",
        Type::Float(0.0, 1.0),
        "messages leave memory by warren.chunks.bound",
    ),
    no_effect("memory_monitor_interval", Type::ANY_DURATION, "the interval is fixed"),
    no_effect(
        "vm_memory_calculation_strategy",
        Type::OneOf(&["rss", "erlang", "allocated", "legacy"]),
        "it is always rss",
    )
    .unless(&["rss"]),
    not_built("vhost_max", Type::Unbounded(0), "vhosts are not limited").unless(&["infinity"]),
    not_built(
        "{cluster_queue_limit,cluster_exchange_limit}",
        Type::Unbounded(1),
        "queues and exchanges are not limited",
    )
    .unless(&["infinity"]),
    not_built("{session_max_per_connection,link_max_per_session}", Type::COUNT, "AMQP 1.0 is not spoken"),
    effective(
        "runtime_parameters.limits.$category",
        Type::COUNT,
        "",
        "The most parameters of this component (`shovel`, `federation-upstream`, `federation-upstream-set`) in all vhosts together.",
    ),
    no_effect("background_gc_enabled", Type::Bool, ERLANG_MEMORY),
    no_effect("background_gc_target_interval", Type::ANY_DURATION, ERLANG_MEMORY),
];
