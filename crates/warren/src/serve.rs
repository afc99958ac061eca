//! `warren serve`: from a configuration to a running broker, and back down.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use model::config::Config;
use store::Store;
use store::file::RealDisk;

use crate::banner::Banner;
use crate::broker_options::store_options;
use crate::logging::LogLevelHandle;
use crate::node::{Node, OpenListeners};
use crate::signals::Signals;
use crate::tls::TlsFiles;
use crate::{ServeArgs, cluster, config_files, logging, machine, service_manager};

/// Runs the broker until a signal stops it.
pub(crate) fn serve(args: &ServeArgs) -> Result<()> {
    let (config, remarks) = config_files::load(args.config.as_deref(), &args.sets)?;
    let data_dir = args.data_dir.clone().unwrap_or_else(|| PathBuf::from(&config.store.data_dir));
    start(config, remarks, &data_dir)
}

/// Runs a broker with this configuration until a signal stops it. `remarks` are what there is to say of where it is from.
pub(crate) fn start(mut config: Config, remarks: Vec<String>, data_dir: &Path) -> Result<()> {
    let started_at = Instant::now();
    // First of all: an operator who starts a process may end it at every moment.
    let signals = Signals::listen_early()?;
    config.cluster = config.cluster.for_node(&machine::node_name(&config)).map_err(|why| anyhow::anyhow!(why))?;
    let config = Arc::new(config);
    let log_level = logging::start(&config.log);
    for remark in remarks {
        // Printed even where the same configuration has switched the log off.
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
    // A caller that is answered, over HTTP or AMQP, may stop it.
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
    let identity = store::group::identity_of(&RealDisk, data_dir)
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

/// How many connections the limit of open files has room for, when the store is to have its own whatever clients do.
fn connection_max(file_limit: Option<u64>) -> usize {
    let Some(limit) = file_limit else { return usize::MAX };
    let reserved = (limit / 4).clamp(STORE_FILES_MIN, STORE_FILES_MAX);
    limit.saturating_sub(reserved).try_into().unwrap_or(usize::MAX)
}

/// Files that are kept for the store and for the process itself.
const STORE_FILES_MIN: u64 = 48;
const STORE_FILES_MAX: u64 = 512;
