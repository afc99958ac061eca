//! From the configuration to what a node of a cluster begins with.

use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use cluster::formation::Settings;
use cluster::wire::{NodeName, Secret};
use cluster::{Address, Discovery, LEVEL, LinkTls, LinkTlsOptions, Names, NodeSetup};
use model::config::{CLUSTER_PORT, ClusterOptions, ClusterSecret, Config, HostPort};
use store::file::RealDisk;

use crate::{broker_options, machine};

/// How many certificates may stand between a node's and its authority's.
const CERTIFICATE_DEPTH: u8 = 2;

/// Bytes of a secret that is not found by trying.
const SECRET_LEN_ADVISED: usize = 16;

/// What the configuration says.
pub(super) fn of(config: &Config, data_dir: &Path) -> Result<NodeSetup> {
    let own = &config.cluster;
    let name = machine::node_name(config);
    let node_name = NodeName::new(&name).with_context(|| format!("invalid node name '{name}'"))?;
    let prefix = name.split_once('@').map_or(name.as_str(), |(prefix, _)| prefix).to_owned();
    Ok(NodeSetup {
        name: node_name,
        listen: listen(own),
        advertise: own.advertise.as_ref().map(address).transpose()?,
        secret: own.secret.as_ref().map(secret).transpose()?,
        tls: tls(own)?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        level: LEVEL,
        formation: formation(own),
        names: names(own, prefix),
        store: store(config, data_dir)?,
        disk: Arc::new(RealDisk),
        heartbeat: own.heartbeat,
        election_timeout: own.election_timeout,
    })
}

/// As a node alone has it, but for the journal.
fn store(config: &Config, data_dir: &Path) -> Result<store::Options> {
    let mut options = broker_options::store_options(config, data_dir)?;
    options.journal.unretired_len_max = config.store.member_journal_bound;
    Ok(options)
}

fn listen(own: &ClusterOptions) -> SocketAddr {
    // Every address of the host, IPv4's among them where the system does not say otherwise.
    let ip = own.listener.ip.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    SocketAddr::new(ip, own.listener.port)
}

fn address(configured: &HostPort) -> Result<Address> {
    Address::new(&configured.host, configured.port).with_context(|| format!("invalid node address '{configured}'"))
}

fn secret(configured: &ClusterSecret) -> Result<Secret> {
    let text = match configured {
        ClusterSecret::Text(text) => text.clone(),
        ClusterSecret::File(path) => {
            fs::read_to_string(path).with_context(|| format!("cannot read warren.cluster.secret_file, {path}"))?
        }
    };
    if text.trim().len() < SECRET_LEN_ADVISED {
        tracing::warn!(
            "the cluster's secret is shorter than {SECRET_LEN_ADVISED} bytes: an eavesdropper on a connection between nodes can find \
             it by trying. Give all nodes a long random secret (warren.cluster.secret_file)"
        );
    }
    match Secret::new(text.trim().as_bytes()) {
        Some(secret) => Ok(secret),
        None => bail!("the cluster's secret is empty"),
    }
}

fn tls(own: &ClusterOptions) -> Result<Option<Arc<LinkTls>>> {
    let Some(files) = &own.tls else { return Ok(None) };
    let identity =
        net::Identity { chain: PathBuf::from(&files.certfile), key: PathBuf::from(&files.keyfile), password: None };
    let options = LinkTlsOptions { identity, authorities: PathBuf::from(&files.cacertfile), depth: CERTIFICATE_DEPTH };
    let tls = LinkTls::new(options).context("cannot use warren.cluster.tls")?;
    Ok(Some(Arc::new(tls)))
}

fn formation(own: &ClusterOptions) -> Settings {
    match &own.formation {
        None => Settings::alone(),
        Some(formation) => Settings {
            is_configured: true,
            size_hint: formation.target_cluster_size_hint,
            retry_limit: formation.discovery_retry_limit.unwrap_or(u32::MAX),
            interval_ms: formation.discovery_retry_interval.as_millis() as u64,
        },
    }
}

fn names(own: &ClusterOptions, prefix: String) -> Names {
    let options = own.clone();
    let address_of = move |name: &str| {
        let HostPort { host, port } = options.address_of(name)?;
        Address::new(&host, port)
    };
    Names {
        discovery: own.formation.as_ref().map(|formation| match &formation.discovery {
            model::config::Discovery::Listed(names) => Discovery::Listed(names.clone()),
            model::config::Discovery::Dns(host) => Discovery::Dns(host.clone()),
            model::config::Discovery::File(path) => Discovery::File(path.clone()),
        }),
        address_of: Arc::new(address_of),
        prefix,
        port: if own.listener.port == 0 { CLUSTER_PORT } else { own.listener.port },
    }
}
