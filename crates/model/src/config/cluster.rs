//! What the configuration says of the cluster: how a node finds its peers, where they reach it, and what keeps strangers out.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use super::key::Key;
use super::remark::Origin;
use super::schema as keys;
use super::value::{Kind, ListenAddress};
use super::values::Values;

/// Where nodes listen for each other, unless the configuration says otherwise: RabbitMQ's port for the same.
pub const CLUSTER_PORT: u16 = 25_672;

/// So many heartbeats must fit into an election timeout: one that is late is no reason for an election.
const HEARTBEATS_PER_ELECTION_MIN: u32 = 4;

/// The cluster's keys. A node that has none of them has no listener, thread or file for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterOptions {
    /// How it finds its peers; None: an operator has it join, or others join it.
    pub formation: Option<FormationOptions>,
    /// Where it listens for peers, once it is in a cluster or forms one.
    pub listener: ListenAddress,
    /// Where its peers reach it; None: the host of its name, and the listener's port.
    pub advertise: Option<HostPort>,
    /// What all its nodes know.
    pub secret: Option<ClusterSecret>,
    /// TLS between nodes.
    pub tls: Option<ClusterTls>,
    /// Where peers are whose names do not say it, by name.
    pub peers: Vec<(String, HostPort)>,
    /// Between a leader's heartbeats.
    pub heartbeat: Duration,
    /// Without a leader until an election.
    pub election_timeout: Duration,
}

/// How a node finds its peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormationOptions {
    /// Where their names are.
    pub discovery: Discovery,
    /// A majority is one of so many, if fewer are found; 0: of those that are found.
    pub target_cluster_size_hint: usize,
    /// So often in a row may it fail to find names out; None: for ever.
    pub discovery_retry_limit: Option<u32>,
    /// Between two tries.
    pub discovery_retry_interval: Duration,
}

/// Where peers' names are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discovery {
    /// In the configuration: names of nodes.
    Listed(Vec<String>),
    /// In the DNS: the addresses of this name, whose own names are the hosts of nodes.
    Dns(String),
    /// In this file: a node's name a line.
    File(String),
}

/// What all nodes of a cluster know.
#[derive(Clone, PartialEq, Eq)]
pub enum ClusterSecret {
    /// This text.
    Text(String),
    /// What is in this file, without white space around it.
    File(String),
}

impl fmt::Debug for ClusterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterSecret::Text(_) => f.write_str("Text"),
            ClusterSecret::File(file) => f.debug_tuple("File").field(file).finish(),
        }
    }
}

/// Files of TLS between nodes: each is the client of some connections and the server of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterTls {
    /// The authority whose certificates all nodes have, and nothing else has.
    pub cacertfile: String,
    /// This node's chain.
    pub certfile: String,
    /// Its key.
    pub keyfile: String,
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// A name, or an address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl ClusterOptions {
    /// What they come to for the node of this name: one that knows no node but itself, and has nothing that keeps strangers out, is alone;
    /// one that knows another needs that.
    pub fn for_node(&self, name: &str) -> Result<Self, String> {
        let Some(FormationOptions { discovery: Discovery::Listed(names), .. }) = &self.formation else {
            return Ok(self.clone());
        };
        if self.secret.is_some() || self.tls.is_some() {
            return Ok(self.clone());
        }
        match names.iter().all(|listed| listed == name) {
            true => Ok(Self { formation: None, ..self.clone() }),
            false => Err(unguarded("cluster_formation.classic_config.nodes")),
        }
    }

    /// Whether this node may become one of several.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.formation.is_some() || self.secret.is_some() || self.tls.is_some()
    }

    /// Where a node is, by its name: as `warren.cluster.peers` says, or at its host.
    #[must_use]
    pub fn address_of(&self, name: &str) -> Option<HostPort> {
        let listed = self.peers.iter().find(|(peer, _)| peer == name).map(|(_, address)| address.clone());
        listed.or_else(|| Some(HostPort { host: name.split_once('@')?.1.to_owned(), port: CLUSTER_PORT }))
    }
}

/// Where peers' names may be.
pub(super) const BACKEND: Kind = Kind {
    what: "one of classic_config, dns, file",
    refusal: |text| match text {
        "classic_config" | "rabbit_peer_discovery_classic_config" | "dns" | "rabbit_peer_discovery_dns" | "file" => {
            None
        }
        _ => Some(foreign_backend(text)),
    },
    shown: str::to_owned,
};

/// What to do instead of asking a service that Warren does not ask.
fn foreign_backend(text: &str) -> String {
    let kind = text.strip_prefix("rabbit_peer_discovery_").unwrap_or(text);
    let instead = match kind {
        "k8s" | "kubernetes" => {
            "the pods of a StatefulSet have names: list them, or give dns the name of its headless service"
        }
        "consul" => "use dns with the name under which Consul answers for the service",
        "etcd" => "write the names to a file when they change, and use file",
        "aws" => "use dns with a name of all instances, or write their names to a file and use file",
        _ => return String::new(),
    };
    format!("{kind} is not supported; {instead}")
}

/// A node's name.
pub(super) const NODE: Kind = Kind {
    what: "a node's name such as rabbit@host",
    refusal: |text| (!is_node_name(text)).then(String::new),
    shown: str::to_owned,
};

/// A node's name, whole or in part.
pub(super) const NODE_NAME: Kind = Kind {
    what: "a node's name such as rabbit@host, or the part of it before the @",
    refusal: |text| (!is_node_name(text) && !is_node_name(&format!("{text}@host"))).then(String::new),
    shown: str::to_owned,
};

/// Where a node is reached.
pub(super) const HOST_PORT: Kind = Kind {
    what: "host:port, or a host",
    refusal: |text| parse_host_port(text).is_none().then(String::new),
    shown: str::to_owned,
};

/// A node's name and where it is.
pub(super) const PEER: Kind = Kind {
    what: "a node's name, =, and host:port, such as rabbit@b=10.0.0.2:25672",
    refusal: |text| parse_peer(text).is_none().then(String::new),
    shown: str::to_owned,
};

/// How often something is tried.
pub(super) const RETRY_LIMIT: Kind = Kind {
    what: "an integer from 0, or unlimited",
    refusal: |text| (parse_retry_limit(text).is_none()).then(String::new),
    shown: str::to_owned,
};

/// `name@host`, as RabbitMQ's are.
#[must_use]
pub fn is_node_name(text: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_fit);
    text.len() <= 255
        && text
            .split_once('@')
            .is_some_and(|(name, host)| is_part(name) && (is_part(host) || host.parse::<IpAddr>().is_ok()))
}

pub(super) fn parse_host_port(text: &str) -> Option<HostPort> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']')?;
            host.parse::<IpAddr>().ok()?;
            (host, if behind.is_empty() { None } else { Some(behind.strip_prefix(':')?) })
        }
        None if text.parse::<IpAddr>().is_ok() => (text, None),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_host = host.parse::<IpAddr>().is_ok() || (!host.is_empty() && host.len() <= 253 && host.chars().all(is_fit));
    let port = port.map_or(Some(CLUSTER_PORT), |port| port.parse().ok()).filter(|port| *port != 0)?;
    is_host.then(|| HostPort { host: host.to_owned(), port })
}

fn parse_peer(text: &str) -> Option<(String, HostPort)> {
    let (name, address) = text.split_once('=')?;
    let (name, address) = (name.trim(), parse_host_port(address.trim())?);
    is_node_name(name).then(|| (name.to_owned(), address))
}

pub(super) fn parse_retry_limit(text: &str) -> Option<Option<u32>> {
    match text {
        "unlimited" | "infinity" => Some(None),
        _ => text.parse().ok().map(Some),
    }
}

/// The files of TLS between nodes: all of them, or none.
const TLS: [&Key<String>; 3] =
    [&keys::cluster::TLS_CACERTFILE, &keys::cluster::TLS_CERTFILE, &keys::cluster::TLS_KEYFILE];

/// Notes what does not fit together.
pub(super) fn check(values: &mut Values) {
    let is_set = |key: &str| values.origin(key) != Origin::Default;
    let has_list = values.has_any_below(&["cluster_formation", "classic_config", "nodes"]);
    let backend_key = keys::cluster::PEER_DISCOVERY_BACKEND.name();
    let backend = backend_of(values);
    let mut problems = Vec::new();
    let wanted = match backend {
        Backend::Dns => Some((keys::cluster::DNS_HOSTNAME.name(), "dns")),
        Backend::File => Some((keys::cluster::FILE.name(), "file")),
        Backend::List => None,
    };
    if let Some((key, backend)) = wanted.filter(|(key, _)| values.text(key).is_none()) {
        problems.push((values.origin(backend_key), format!("'{backend_key}' = {backend} needs '{key}'")));
    }
    let lists_none = backend == Backend::List && is_set(backend_key) && !has_list;
    let is_forming = has_list || backend != Backend::List;
    let tls = TLS.map(|key| key.name());
    let (given, missing): (Vec<&str>, Vec<&str>) = tls.into_iter().partition(|key| is_set(key));
    if let (Some(given), Some(missing)) = (given.first(), missing.first()) {
        problems.push((values.origin(given), format!("'{given}' needs '{missing}'")));
    }
    let secrets = [&keys::cluster::SECRET, &keys::cluster::SECRET_FILE].map(Key::name);
    if secrets.iter().all(|key| is_set(key)) {
        problems.push((values.origin(secrets[1]), format!("'{}' and '{}' are both set", secrets[0], secrets[1])));
    }
    let is_guarded = !given.is_empty() || secrets.iter().any(|key| is_set(key));
    let is_unguarded = is_forming && !is_guarded;
    // The only node may be this one: only its operator knows its name.
    let one_only = is_unguarded && backend == Backend::List && listed(values).len() == 1;
    if is_unguarded && !one_only {
        let key = if is_set(backend_key) { backend_key } else { "cluster_formation.classic_config.nodes" };
        problems.push((first_origin(values, &["cluster_formation"]), unguarded(key)));
    }
    if (is_forming || is_guarded) && values.get(&keys::warren::CONFIRM_AFTER) == "write" {
        let text = "'warren.confirm_after' = write is not supported in a cluster: a node could lose confirmed messages in a power failure; \
             remove it, or remove 'cluster_formation.*' and 'warren.cluster.*'";
        problems.push((values.origin(keys::warren::CONFIRM_AFTER.name()), text.to_owned()));
    }
    let [heartbeat, election] = [&keys::cluster::HEARTBEAT, &keys::cluster::ELECTION_TIMEOUT];
    if values.get(heartbeat).saturating_mul(HEARTBEATS_PER_ELECTION_MIN) > values.get(election) {
        let [heartbeat, election] = [heartbeat.name(), election.name()];
        let origin = if is_set(heartbeat) { heartbeat } else { election };
        let text = format!("'{election}' must be at least {HEARTBEATS_PER_ELECTION_MIN} times '{heartbeat}'");
        problems.push((values.origin(origin), text));
    }
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
    if lists_none {
        let text = format!(
            "'{backend_key}' = classic_config lists no nodes, as 'cluster_formation.classic_config.nodes.1': this one is alone"
        );
        values.warn(values.origin(backend_key), text);
    }
    if one_only {
        let origin = first_origin(values, &["cluster_formation", "classic_config", "nodes"]);
        let text = "'cluster_formation.classic_config.nodes' lists one node only: if it is this one, it is alone, and if not, \
                    'warren.cluster.secret' is missing";
        values.warn(origin, text.to_owned());
    }
    if backend != Backend::List && has_list {
        let origin = first_origin(values, &["cluster_formation", "classic_config", "nodes"]);
        let text = format!("'cluster_formation.classic_config.nodes' has no effect: '{backend_key}' is another one");
        values.warn(origin, text);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backend {
    List,
    Dns,
    File,
}

fn backend_of(values: &Values) -> Backend {
    match &*values.get(&keys::cluster::PEER_DISCOVERY_BACKEND) {
        "dns" | "rabbit_peer_discovery_dns" => Backend::Dns,
        "file" => Backend::File,
        _ => Backend::List,
    }
}

/// Why a node that looks for others does not start.
fn unguarded(key: &str) -> String {
    format!(
        "'{key}' needs 'warren.cluster.secret', which all nodes of the cluster have, or RABBITMQ_ERLANG_COOKIE, or 'warren.cluster.tls.*': \
         without any, strangers could join"
    )
}

/// The names that the configuration lists, each once.
fn listed(values: &Values) -> Vec<String> {
    let mut names: Vec<_> =
        values.family(&["cluster_formation", "classic_config", "nodes"]).map(|(_, name)| name.to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Where the first key below a prefix comes from that was set.
fn first_origin(values: &Values, prefix: &[&str]) -> Origin {
    let set = values.below(prefix).map(|(_, _, origin)| origin).find(|origin| **origin != Origin::Default);
    set.cloned().unwrap_or(Origin::Default)
}

pub(super) fn read(values: &Values) -> ClusterOptions {
    let secret = values.find(&keys::cluster::SECRET).map(ClusterSecret::Text);
    let tls = TLS.map(|key| values.find(key));
    ClusterOptions {
        formation: formation(values),
        listener: values.get(&keys::cluster::LISTENER),
        advertise: values.find(&keys::cluster::ADVERTISE),
        secret: secret.or_else(|| values.find(&keys::cluster::SECRET_FILE).map(ClusterSecret::File)),
        tls: match tls {
            [Some(cacertfile), Some(certfile), Some(keyfile)] => Some(ClusterTls { cacertfile, certfile, keyfile }),
            _ => None,
        },
        peers: values.family(&["warren", "cluster", "peers"]).filter_map(|(_, text)| parse_peer(text)).collect(),
        heartbeat: values.get(&keys::cluster::HEARTBEAT),
        election_timeout: values.get(&keys::cluster::ELECTION_TIMEOUT),
    }
}

fn formation(values: &Values) -> Option<FormationOptions> {
    let discovery = match backend_of(values) {
        Backend::Dns => Discovery::Dns(values.find(&keys::cluster::DNS_HOSTNAME)?),
        Backend::File => Discovery::File(values.find(&keys::cluster::FILE)?),
        Backend::List => Discovery::Listed(Some(listed(values)).filter(|names| !names.is_empty())?),
    };
    Some(FormationOptions {
        discovery,
        target_cluster_size_hint: values.get(&keys::cluster::TARGET_CLUSTER_SIZE_HINT),
        discovery_retry_limit: values.get(&keys::cluster::DISCOVERY_RETRY_LIMIT),
        discovery_retry_interval: values.get(&keys::cluster::DISCOVERY_RETRY_INTERVAL),
    })
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    use super::*;

    fn parse(sets: &[&str]) -> Result<(ClusterOptions, Vec<String>), String> {
        let sets: Vec<_> = sets.iter().map(|set| (*set).to_owned()).collect();
        match Config::parse(&[], &[], &sets) {
            Ok((config, warnings)) => Ok((config.cluster, warnings.iter().map(ToString::to_string).collect())),
            Err(error) => Err(error.to_string()),
        }
    }

    #[track_caller]
    fn check_refused(sets: &[&str], part: &str) {
        let error = parse(sets).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }

    const SECRET: &str = "warren.cluster.secret = s3cret";
    const NODES: [&str; 2] =
        ["cluster_formation.classic_config.nodes.1 = rabbit@b", "cluster_formation.classic_config.nodes.2 = rabbit@a"];

    #[test]
    fn a_node_is_alone_unless_the_configuration_says_otherwise() {
        let options = Config::default().cluster;
        assert!(!options.is_wanted());
        assert_eq!(options.formation, None);
        assert_eq!(options.listener.to_string(), "25672");
    }

    #[test]
    fn names_are_listed() {
        let (options, warnings) = parse(&[SECRET, NODES[0], NODES[1]]).unwrap();
        let formation = options.formation.clone().unwrap();
        assert_eq!(formation.discovery, Discovery::Listed(vec!["rabbit@a".to_owned(), "rabbit@b".to_owned()]));
        assert_eq!(formation.discovery_retry_limit, Some(10));
        assert_eq!(formation.discovery_retry_interval, Duration::from_millis(500));
        assert!(options.is_wanted() && warnings.is_empty(), "{warnings:?}");
        assert!(!format!("{options:?}").contains("s3cret"));
    }

    #[test]
    fn rabbitmqs_modules_are_understood() {
        let backend = |name: &str| format!("cluster_formation.peer_discovery_backend = {name}");
        let [list, dns] = ["rabbit_peer_discovery_classic_config", "rabbit_peer_discovery_dns"].map(backend);
        assert!(parse(&[SECRET, &list, NODES[0]]).is_ok());
        let host = "cluster_formation.dns.hostname = warren.example";
        let (options, _) = parse(&[SECRET, &dns, host]).unwrap();
        assert_eq!(options.formation.unwrap().discovery, Discovery::Dns("warren.example".to_owned()));
        check_refused(&[SECRET, &dns], "needs 'cluster_formation.dns.hostname'");
        check_refused(&[SECRET, &backend("file")], "needs 'cluster_formation.file'");
    }

    #[test]
    fn what_is_not_asked_is_named_with_what_to_do_instead() {
        for (name, part) in [
            ("rabbit_peer_discovery_k8s", "k8s is not supported; the pods"),
            ("kubernetes", "headless service"),
            ("rabbit_peer_discovery_consul", "consul is not supported; use dns"),
            ("etcd", "etcd is not supported; write the names to a file"),
            ("aws", "aws is not supported; use dns"),
            ("other", "must be one of classic_config, dns, file, not 'other'"),
        ] {
            check_refused(&[SECRET, &format!("cluster_formation.peer_discovery_backend = {name}")], part);
        }
    }

    #[test]
    fn a_node_may_have_another_name() {
        let named = |sets: &[String], env: &[(String, String)]| {
            Config::parse(&[], env, sets).map(|(config, _)| config.node_name)
        };
        assert_eq!(named(&[], &[]).unwrap(), None);
        assert_eq!(named(&["warren.node_name = a@h".to_owned()], &[]).unwrap().as_deref(), Some("a@h"));
        let env = [("RABBITMQ_NODENAME".to_owned(), "hare".to_owned())];
        assert_eq!(named(&[], &env).unwrap().as_deref(), Some("hare"));
        assert!(named(&["warren.node_name = a@b@c".to_owned()], &[]).is_err());
    }

    #[test]
    fn one_that_lists_no_other_is_alone() {
        let backend = "cluster_formation.peer_discovery_backend = classic_config";
        let (options, warnings) = parse(&[backend]).unwrap();
        assert!(!options.is_wanted() && warnings[0].contains("this one is alone"), "{warnings:?}");
        let (options, warnings) = parse(&[backend, NODES[0]]).unwrap();
        assert!(warnings[0].contains("one node only"), "{warnings:?}");
        assert!(!options.for_node("rabbit@b").unwrap().is_wanted());
        let error = options.for_node("rabbit@a").unwrap_err();
        assert!(error.contains("needs 'warren.cluster.secret'"), "{error}");
        let (options, _) = parse(&[SECRET, NODES[0]]).unwrap();
        assert!(options.for_node("rabbit@b").unwrap().formation.is_some(), "others may join it");
    }

    #[test]
    fn strangers_are_kept_out() {
        check_refused(&[NODES[0], NODES[1]], "needs 'warren.cluster.secret'");
        let tls = ["cacertfile", "certfile", "keyfile"].map(|name| format!("warren.cluster.tls.{name} = x"));
        let (options, _) = parse(&[NODES[0], &tls[0], &tls[1], &tls[2]]).unwrap();
        assert_eq!(options.tls.unwrap().keyfile, "x");
        check_refused(&[&tls[0], &tls[1]], "needs 'warren.cluster.tls.keyfile'");
        check_refused(&[SECRET, "warren.cluster.secret_file = f"], "both set");
        let (options, _) = parse(&["warren.cluster.secret_file = f"]).unwrap();
        assert_eq!(options.secret, Some(ClusterSecret::File("f".to_owned())));
    }

    #[test]
    fn a_member_confirms_only_what_is_synced() {
        let write = "warren.confirm_after = write";
        assert!(parse(&[write]).is_ok());
        check_refused(&[write, SECRET], "is not supported in a cluster");
    }

    #[test]
    fn peers_may_be_elsewhere_than_their_names_say() {
        let peers = ["warren.cluster.peers.1 = rabbit@b=10.0.0.2:5", "warren.cluster.peers.2 = rabbit@c = [::1]"];
        let (options, _) = parse(&[SECRET, peers[0], peers[1]]).unwrap();
        let address = |name: &str| options.address_of(name).unwrap().to_string();
        assert_eq!(address("rabbit@b"), "10.0.0.2:5");
        assert_eq!(address("rabbit@c"), "[::1]:25672");
        assert_eq!(address("rabbit@d"), "d:25672");
        for bad in ["rabbit@b", "b=10.0.0.2", "rabbit@b=", "rabbit@b=h:0", "rabbit@b=a b:1"] {
            assert!(parse(&[&format!("warren.cluster.peers.1 = {bad}")]).is_err(), "{bad}");
        }
    }

    #[test]
    fn elections_wait_for_several_heartbeats() {
        check_refused(
            &["warren.cluster.heartbeat = 200ms", "warren.cluster.election_timeout = 700ms"],
            "at least 4 times",
        );
        let (options, _) =
            parse(&["warren.cluster.heartbeat = 200ms", "warren.cluster.election_timeout = 2s"]).unwrap();
        assert_eq!((options.heartbeat.as_millis(), options.election_timeout.as_secs()), (200, 2));
    }

    #[test]
    fn how_a_minority_behaves_is_no_choice() {
        let warned = |value: &str| !parse(&[&format!("cluster_partition_handling = {value}")]).unwrap().1.is_empty();
        assert!(!warned("pause_minority"));
        assert!(warned("autoheal") && warned("ignore"));
    }

    #[test]
    fn a_list_beside_another_backend_is_warned_of() {
        let backend = "cluster_formation.peer_discovery_backend = file";
        let (_, warnings) = parse(&[SECRET, backend, "cluster_formation.file = names", NODES[0]]).unwrap();
        assert!(warnings[0].contains("has no effect"), "{warnings:?}");
    }
}
