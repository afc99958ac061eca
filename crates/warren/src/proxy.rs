//! `warren proxy`: from a configuration to a running proxy, and back down.

use std::cell::RefCell;
use std::io;
use std::net::ToSocketAddrs as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use net::{Admission, ClientTls, Listener, OpenFiles, SocketOptions};
use proxy::config::{self, CommandLine, Config, Invocation, ListenAddress, ListenHost, Warning};
use proxy::service::{Callers, Handle, Service, Upstream, client_file_count_max, serve_operations};
use proxy::spool::{self, Spool};

use store::file::RealDisk;

use crate::logging::LogLevelHandle;
use crate::signals::Signals;
use crate::tls::TlsFiles;
use crate::{bind, config_files, in_one_line, logging, machine};

/// Runs the proxy until a signal stops it.
pub(crate) fn main(words: &[String]) -> ExitCode {
    let line = match CommandLine::parse(words) {
        Ok(Invocation::Run(line)) => line,
        Ok(Invocation::Help) => return print(&config::usage()),
        Ok(Invocation::Version) => return print(concat!("warren ", env!("CARGO_PKG_VERSION"), "\n")),
        Err(error) => {
            eprintln!("warren proxy: {}", human::printable(&error.to_string()));
            return ExitCode::from(2);
        }
    };
    match run(&line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("warren proxy: {}", in_one_line(&error));
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str) -> ExitCode {
    use io::Write as _;
    // Its reader may have read enough.
    let _ = io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn run(line: &CommandLine) -> Result<()> {
    let (config, warnings) = load(line)?;
    let log_level = logging::start(&config.log);
    log_warnings(warnings);
    let files = net::raise_open_files_limit();
    tracing::debug!(limit = files.limit, "limit of open files raised");
    log_file_limit(&config, files);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(serve(line, config, &log_level))
}

/// Logs where more clients are permitted than there are files for.
fn log_file_limit(config: &Config, files: OpenFiles) {
    let Some(limit) = files.limit else { return };
    let options = &config.guard;
    let wanted = (!options.is_alarm_only).then_some(options.connection_max).filter(|max| *max > 0);
    let room = client_file_count_max(files.limit);
    if wanted.is_some_and(|wanted| wanted > room as u64) {
        tracing::warn!(
            limit,
            room,
            wanted,
            "the limit of open files has no room for as many clients as proxy.limits.connections permits; raise it (ulimit -n)"
        );
    }
}

fn load(line: &CommandLine) -> Result<(Config, Vec<Warning>)> {
    let mut sources = Vec::new();
    for file in &line.config_files {
        // A folder conf.d beside it is the broker's.
        sources.push(config_files::read(Path::new(file))?);
    }
    Config::parse(&sources, &config_files::environment(), line).map_err(|error| anyhow!("{error}"))
}

fn log_warnings(warnings: Vec<Warning>) {
    for warning in warnings {
        tracing::warn!(%warning, "configuration accepted with a remark");
    }
}

async fn serve(line: &CommandLine, config: Config, log_level: &LogLevelHandle) -> Result<()> {
    let mut signals = Signals::listen()?;
    let mut tls_files = TlsFiles::default();
    let listeners = open_listeners(&config, &mut tls_files)?;
    let operations = match &config.http_listener {
        Some(address) => {
            bind(address, &SocketOptions::default()).context("cannot open the listener proxy.http.listener")?
        }
        None => Vec::new(),
    };
    let spool = config.spool.clone().map(open_spool).transpose()?;
    let worker_count = config.worker_threads.unwrap_or_else(|| machine::processor_count().div_ceil(2));
    let mut service = Service::start(
        listeners,
        upstreams(&config)?,
        config.balance.clone(),
        config.guard.clone(),
        &config.switchboard,
        spool,
        worker_count,
    )?;
    for address in service.addresses() {
        tracing::info!(%address, "listening for AMQP");
    }
    let callers = callers(&config);
    for listener in operations {
        tracing::info!(address = %listener.address()?, "listening for HTTP");
        tokio::spawn(serve_operations(listener, service.handle(), callers.clone()));
    }
    tokio::spawn(tls_files.clone().watch());
    drain_as_configured(&[], &config.upstreams, &service.handle());
    tracing::info!("warren proxy is ready");
    let current = RefCell::new(config);
    let signal = signals
        .next(|| {
            tls_files.reload();
            if let Err(error) = reload(line, &current, &service.handle(), log_level) {
                tracing::error!(
                    error = in_one_line(&error),
                    "reloading the configuration failed; the old one stays in use"
                );
            }
        })
        .await;
    tracing::info!(signal, "stopping");
    let config = current.into_inner();
    service.stop_listening();
    tokio::select! {
        () = async {
            service.wait_for_clients(Some(config.term_client_close_timeout)).await;
            service.close_clients(config.term_timeout).await;
            service.wait_for_confirms().await;
        } => {}
        signal = signals.next(|| ()) => tracing::warn!(signal, "stopping without waiting for clients"),
    }
    service.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// By which names it is asked over HTTP.
fn callers(config: &Config) -> Callers {
    let of_listener = match &config.http_listener {
        Some(ListenAddress { host: ListenHost::Name(name), .. }) => Some(name.clone()),
        _ => None,
    };
    Callers::new(config.http_hosts.iter().cloned().chain(of_listener).chain([machine::host_name()]))
}

fn open_spool(options: spool::Options) -> Result<Arc<Spool>> {
    let dir = options.dir.display().to_string();
    let spool =
        Spool::open(options, Arc::new(RealDisk)).with_context(|| format!("cannot open the spool in '{dir}'"))?;
    let report = spool.report();
    match report.is_empty() {
        true => tracing::info!(dir, "messages that cannot be sent are stored"),
        false => tracing::info!(dir, messages = report.count(), "stored messages found that could not be sent before"),
    }
    Ok(spool)
}

/// Reads the configuration again, and sets what can be set while the proxy runs.
fn reload(line: &CommandLine, current: &RefCell<Config>, handle: &Handle, log_level: &LogLevelHandle) -> Result<()> {
    let (newer, warnings) = load(line)?;
    log_warnings(warnings);
    let (config, warnings) = current.borrow().reloaded(&newer).map_err(|error| anyhow!("{error}"))?;
    log_warnings(warnings);
    handle.configure(upstreams(&config)?, config.balance.clone(), config.guard.clone(), &config.switchboard)?;
    drain_as_configured(&current.borrow().upstreams, &config.upstreams, handle);
    log_level.set(config.log.level);
    *current.borrow_mut() = config;
    tracing::info!("configuration reloaded");
    Ok(())
}

/// Only where a key has changed: what operators said over HTTP since holds.
fn drain_as_configured(before: &[config::Upstream], now: &[config::Upstream], handle: &Handle) {
    for upstream in now {
        let was = before.iter().find(|other| other.name == upstream.name).map(|other| other.is_draining);
        match upstream.is_draining {
            is_draining if was == Some(is_draining) => continue,
            true => handle.drain(&upstream.name),
            false => handle.undrain(&upstream.name),
        };
    }
}

fn open_listeners(config: &Config, tls_files: &mut TlsFiles) -> Result<Vec<(Listener, Admission)>> {
    let handshake_timeout = Duration::from_millis(config.switchboard.handshake_timeout_ms);
    let plain = Admission {
        proxy_protocol: config.proxy_protocol.then_some(handshake_timeout),
        trusted_senders: config.proxy_protocol_trusted_senders.clone().map(Arc::from),
        tls: None,
    };
    let options = bind::socket_options(&config.tcp_listen_options);
    let mut open = Vec::new();
    for listener in &config.listeners {
        let sockets = bind(&listener.address, &options)
            .with_context(|| format!("cannot open the listener proxy.listeners.tcp.{}", listener.name))?;
        open.extend(sockets.into_iter().map(|socket| (socket, plain.clone())));
    }
    if let Some(options_of_tls) = &config.tls {
        let tls = Some((tls_files.open("proxy.ssl_options", options_of_tls)?, config.ssl_handshake_timeout));
        for listener in &config.tls_listeners {
            let sockets = bind(&listener.address, &options)
                .with_context(|| format!("cannot open the listener proxy.listeners.ssl.{}", listener.name))?;
            let admission = Admission { tls: tls.clone(), ..plain.clone() };
            open.extend(sockets.into_iter().map(|socket| (socket, admission.clone())));
        }
    }
    for listener in &config.unix_listeners {
        let socket = Listener::bind_unix(Path::new(&listener.path), options.backlog)
            .with_context(|| format!("cannot open the listener proxy.listeners.unix.{}", listener.name))?;
        open.push((socket, Admission::default()));
    }
    Ok(open)
}

/// Listens on all addresses that are meant.
fn bind(address: &ListenAddress, options: &SocketOptions) -> Result<Vec<Listener>> {
    let port = address.port;
    match &address.host {
        ListenHost::Any => Ok(vec![bind::bind_any(port, options)?]),
        ListenHost::Ip(ip) => Ok(vec![Listener::bind((*ip, port).into(), options.clone())?]),
        ListenHost::Name(name) => {
            let found =
                (name.as_str(), port).to_socket_addrs().with_context(|| format!("cannot find the host '{name}'"))?;
            let mut open = Vec::new();
            let mut refused = None;
            for address in found {
                // A name may have an address of a family that this machine does not have.
                match Listener::bind(address, options.clone()) {
                    Ok(listener) => open.push(listener),
                    Err(error @ net::BindError::Taken { .. }) => return Err(error.into()),
                    Err(error) => refused = Some(error),
                }
            }
            match refused {
                Some(error) if open.is_empty() => Err(error.into()),
                _ => Ok(open),
            }
        }
    }
}

fn upstreams(config: &Config) -> Result<Vec<Upstream>> {
    let of = |upstream: &config::Upstream| {
        let tls = upstream.tls.as_ref().map(ClientTls::new).transpose();
        Ok(Upstream {
            name: upstream.name.clone(),
            host: upstream.host.clone(),
            port: upstream.port,
            tls: tls.with_context(|| format!("cannot use TLS of the upstream '{}'", upstream.name))?,
            proxy_protocol: upstream.proxy_protocol,
            dial_timeout: config.connect_timeout,
            health_login: upstream.health_login.clone(),
            weight: upstream.weight,
            vhosts: upstream.vhosts.clone(),
        })
    };
    config.upstreams.iter().map(of).collect()
}
