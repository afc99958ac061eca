//! The configuration as the broker and its store take it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use broker::statistics::{self, Rates, Retention, Retentions};
use broker::{AuthStep, EventSink, LockoutOptions};
use model::config::{
    Config, ConfirmAfter, DiskFreeLimit, MemoryWatermark, RatesMode, SampleRetention, StatisticsOptions,
};

use crate::machine;

/// The RabbitMQ version whose behaviour we follow.
pub(crate) const COMPATIBLE_VERSION: &str = "4.3.0";

/// How much memory there is for limits to be a part of.
pub(crate) fn memory_len(config: &Config) -> u64 {
    config.total_memory_available_override_value.unwrap_or_else(machine::memory_len)
}

pub(crate) fn store_options(config: &Config, data_dir: &Path) -> Result<store::Options> {
    let mut salt = [0; 8];
    getrandom::fill(&mut salt).map_err(|error| anyhow::anyhow!("cannot draw random numbers: {error}"))?;
    let mut options = store::Options::new(data_dir.to_owned());
    options.chunk_len_max = config.store.chunk_bound;
    options.scrub_interval = config.store.scrub_interval;
    options.message_len_max = config.max_message_size;
    options.journal.unretired_len_max = config.store.journal_bound;
    options.journal.file_len = config.store.journal_file_len;
    options.journal.confirm_after = match config.store.confirm_after {
        ConfirmAfter::Fsync => store::journal::ConfirmAfter::Sync,
        ConfirmAfter::Write => store::journal::ConfirmAfter::Write,
    };
    options.journal.salt = u64::from_ne_bytes(salt);
    Ok(options)
}

fn statistics_options(config: &StatisticsOptions) -> statistics::Options {
    let usual = Retentions::default();
    let kept = |configured: &Option<Vec<SampleRetention>>, usual| match configured {
        None => usual,
        Some(kept) => {
            let retention =
                |kept: &SampleRetention| Retention { age_ms: kept.age_s * 1000, interval_ms: kept.interval_s * 1000 };
            kept.iter().map(retention).collect()
        }
    };
    statistics::Options {
        interval: config.interval,
        rates: match config.rates_mode {
            RatesMode::None => Rates::None,
            RatesMode::Basic => Rates::Basic,
            RatesMode::Detailed => Rates::Detailed,
        },
        retentions: Retentions {
            global: kept(&config.global, usual.global),
            basic: kept(&config.basic, usual.basic),
            detailed: kept(&config.detailed, usual.detailed),
        },
        has_histograms: config.histograms,
    }
}

pub(crate) fn broker_options(
    config: &Config,
    event_sink: Option<Arc<dyn EventSink>>,
    auth_steps: Vec<AuthStep>,
) -> broker::Options {
    let memory_len = memory_len(config);
    let part = |factor: f64| (memory_len as f64 * factor) as u64;
    broker::Options {
        process_started_at: Instant::now(),
        frame_len_max: config.frame_max,
        initial_frame_len_max: config.initial_frame_max,
        channel_max: config.channel_max,
        heartbeat_s: config.heartbeat,
        handshake_timeout: config.handshake_timeout,
        connection_max: config.connection_max.map(|max| max as usize),
        consumer_max_per_channel: config.consumer_max_per_channel.map(|max| max as usize),
        message_len_max: config.max_message_size,
        mechanisms: config.auth_mechanisms.clone(),
        certificate_login: config.ssl_cert_login_from,
        anonymous_login: config.anonymous_login.clone(),
        loopback_users: config.loopback_users.clone(),
        default_user: config.default_user.clone(),
        imports_definitions: config.load_definitions.is_some(),
        vhost_defaults: config.vhost_defaults.clone(),
        credential_validator: config.credential_validator.clone(),
        memory_limit_len: match config.vm_memory_high_watermark {
            MemoryWatermark::Relative(factor) => part(factor),
            MemoryWatermark::Absolute(len) => len,
        },
        release_memory: machine::release_memory,
        fill_random: broker::fill_random,
        disk_free_limit_len: match config.disk_free_limit {
            DiskFreeLimit::Absolute(len) => len,
            DiskFreeLimit::MemoryRelative(factor) => part(factor),
        },
        compatible_version: COMPATIBLE_VERSION.to_owned(),
        product: config.product_name.clone(),
        product_version: config.product_version.clone().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
        cluster_name: config.cluster_name.clone().unwrap_or_else(|| machine::node_name(config)),
        auth_steps,
        lockout: LockoutOptions {
            user_failure_max: config.lockout.user_failures,
            address_failure_max: config.lockout.address_failures,
            duration: config.lockout.duration,
        },
        event_sink,
        statistics: statistics_options(&config.statistics),
        watched_queues: config.statistics.watched_queues.clone(),
        node: machine::node_name(config),
        permits_global_qos: config.deprecated_features.permits("global_qos"),
        permits_local_random_exchanges: config.local_random_exchanges,
        parameter_limits: config.parameter_limits.clone(),
        returns_every_delayed: config.returns_every_delayed,
        answers_definitions_at_once: config.answers_definitions_at_once,
        permits_transient_nonexclusive_queues: config.deprecated_features.permits("transient_nonexcl_queues"),
        default_queue_type: config.default_queue_type,
        consumer_timeout: config.consumer_timeout,
        permits_quorum_queues_declared_as_classic: config.permits_quorum_queues_declared_as_classic,
    }
}
