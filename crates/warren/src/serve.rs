//! `warren serve`: from a configuration to a running broker, and back down.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use broker::statistics::{self, Rates, Retention, Retentions};
use broker::{AuthStep, EventSink, LockoutOptions};
use model::config::{
    Config, ConfirmAfter, DiskFreeLimit, MemoryWatermark, RatesMode, SampleRetention, StatisticsOptions,
};
use store::Store;
use store::file::RealDisk;

use crate::banner::Banner;
use crate::logging::LogLevelHandle;
use crate::node::{Node, OpenListeners};
use crate::signals::Signals;
use crate::tls::TlsFiles;
use crate::{ServeArgs, cluster, config_files, logging, machine, service_manager};

/// The RabbitMQ version whose behaviour we follow.
pub(crate) const COMPATIBLE_VERSION: &str = "4.3.0";

/// Runs the broker until it is told to stop.
pub(crate) fn serve(args: &ServeArgs) -> Result<()> {
    let (config, remarks) = config_files::load(args.config.as_deref(), &args.sets)?;
    let data_dir = args.data_dir.clone().unwrap_or_else(|| PathBuf::from(&config.store.data_dir));
    start(config, remarks, &data_dir)
}

/// Runs a broker with this configuration until it is told to stop. `remarks` are what there is to say of where it is from.
pub(crate) fn start(mut config: Config, remarks: Vec<String>, data_dir: &Path) -> Result<()> {
    let started_at = Instant::now();
    // First of all: an operator who starts a process may end it at every moment.
    let signals = Signals::listen_early()?;
    config.cluster = config.cluster.for_node(&machine::node_name(&config)).map_err(|why| anyhow::anyhow!(why))?;
    let config = Arc::new(config);
    let log_level = logging::start(&config.log);
    for remark in remarks {
        // Told even where the same configuration has switched the log off.
        if tracing::enabled!(tracing::Level::WARN) {
            tracing::warn!(warning = %remark, "configuration accepted with a remark");
        } else {
            eprintln!("warren: {}", human::printable(&remark));
        }
    }
    if !config.files.is_empty() {
        tracing::info!(files = ?config.files, "configuration read");
    }
    let files = net::raise_open_files_limit();
    tracing::debug!(limit = files.limit, "limit of open files raised");
    let connection_max = connection_max(files.limit);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.worker_threads.unwrap_or_else(machine::processor_count))
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    if config.cluster.is_wanted() {
        return runtime.block_on(cluster::run(
            config.clone(),
            data_dir,
            connection_max,
            log_level,
            started_at,
            signals,
        ));
    }
    runtime.block_on(run(config.clone(), data_dir, connection_max, log_level, started_at, signals))
}

async fn run(
    config: Arc<Config>,
    data_dir: &Path,
    connection_max: usize,
    log_level: LogLevelHandle,
    started_at: Instant,
    signals: Signals,
) -> Result<()> {
    let starting = signals.end_start();
    // Ports first: a second broker on them should fail before it touches any data.
    let mut tls_files = TlsFiles::default();
    let listeners = OpenListeners::open(&config, &mut tls_files)?;
    refuse_member(data_dir)?;
    let (store, recovered) = Store::open(store_options(&config, data_dir)?, Arc::new(RealDisk))
        .with_context(|| format!("cannot open the data directory {}", data_dir.display()))?;
    let mut node = Node::new(config.clone(), data_dir, listeners, connection_max, log_level.into_control())?;
    node.start_broker(store, recovered).await?;
    // A caller that is answered, over HTTP or AMQP, may tell it to stop.
    let mut signals = starting.ready().await?;
    node.listen();
    let watching = tokio::spawn(tls_files.clone().watch());
    let ready_after = started_at.elapsed();
    Banner { data_dir, listeners: node.listening(), ready_after, is_serving: true }.print();
    for listening in node.listening() {
        tracing::info!(address = %listening.address, tls = listening.tls.is_some(), "listening");
    }
    tracing::info!(ready_after_ms = ready_after.as_millis() as u64, "started");
    service_manager::ready();

    let failed = tokio::select! {
        signal = signals.next(|| tls_files.reload()) => {
            tracing::info!(signal, "stopping");
            None
        }
        // Alone, this node leads for as long as it can: whatever the cause, it is over.
        failed = node.failed() => {
            tracing::error!(%failed, "stopping because data can no longer be made durable");
            Some(failed)
        }
    };
    service_manager::stopping();
    watching.abort();
    let hurry = async {
        let signal = signals.next(|| ()).await;
        tracing::info!(signal, "stopping without waiting longer for clients");
    };
    let closed = node.shut_down(config.shutdown_timeout, hurry).await;
    if let Some(failed) = failed {
        return Err(failed).context("the data directory can no longer be written");
    }
    closed.context("cannot close the store")?;
    tracing::info!("stopped");
    Ok(())
}

/// What belongs to a cluster is not served alone: the others would not know of it, and what it wrote would be lost.
fn refuse_member(data_dir: &Path) -> Result<()> {
    let identity = store::member::identity_of(&RealDisk, data_dir)
        .with_context(|| format!("cannot read {}", data_dir.join("group").display()))?;
    if let Some(identity) = identity {
        bail!(
            "the data directory {} belongs to cluster {:032x} as {}, and the configuration has no cluster keys: set them as before \
             (warren.cluster.secret and so on), or choose another directory",
            data_dir.display(),
            identity.cluster,
            identity.name
        );
    }
    Ok(())
}

/// How much memory there is for limits to be a part of.
pub(crate) fn memory_len(config: &Config) -> u64 {
    config.total_memory_available_override_value.unwrap_or_else(machine::memory_len)
}

/// How many connections the limit of open files has room for, when the store is to have its own whatever clients do.
fn connection_max(file_limit: Option<u64>) -> usize {
    let Some(limit) = file_limit else { return usize::MAX };
    let reserved = (limit / 4).clamp(STORE_FILES_MIN, STORE_FILES_MAX);
    limit.saturating_sub(reserved).try_into().unwrap_or(usize::MAX)
}

/// Files that are kept for the store and for the process itself.
const STORE_FILES_MIN: u64 = 48;
const STORE_FILES_MAX: u64 = 512;

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
