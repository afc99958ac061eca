//! Finding out the names of peers, and where they are.

use std::fmt;
use std::fs;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use crate::address::Address;
use crate::formation::SeedNode;
use crate::wire::NodeName;

/// Where names are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discovery {
    /// Here.
    Listed(Vec<String>),
    /// They are the names of the addresses of this name.
    Dns(String),
    /// In this file, one on each line; lines that begin with `#` and empty ones say nothing.
    File(String),
}

/// Says where a node is, by its name.
pub type FindAddress = dyn Fn(&str) -> Option<Address> + Send + Sync;

/// Names of nodes.
#[derive(Clone)]
pub struct Names {
    /// Where they are; None: nowhere.
    pub discovery: Option<Discovery>,
    /// Where a node is, by its name.
    pub address_of: Arc<FindAddress>,
    /// What stands before a host in the name of a node: `rabbit`.
    pub prefix: String,
    /// Which port peers listen on whose names come from the DNS.
    pub port: u16,
}

/// Where a node is whose cluster this one is to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JoinTarget {
    /// It is to be this one.
    Node(SeedNode),
    /// Whichever is there.
    At(Address),
}

impl fmt::Display for JoinTarget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinTarget::Node(node) => node.name.fmt(to),
            JoinTarget::At(address) => address.fmt(to),
        }
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Names").field("discovery", &self.discovery).finish_non_exhaustive()
    }
}

impl Names {
    /// Looks them up, which may take seconds. An error is a sentence.
    pub(super) fn look_up(&self) -> Result<Vec<SeedNode>, String> {
        match &self.discovery {
            None => Ok(Vec::new()),
            Some(Discovery::Listed(names)) => names.iter().map(|name| self.listed(name)).collect(),
            Some(Discovery::File(path)) => {
                let text = fs::read_to_string(path).map_err(|error| format!("reading {path} failed: {error}"))?;
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
                let names: Vec<_> = lines.map(|name| self.listed(name)).collect::<Result<_, _>>()?;
                if names.is_empty() { Err(format!("{path} names no node")) } else { Ok(names) }
            }
            Some(Discovery::Dns(host)) => self.look_up_dns(host),
        }
    }

    /// A node by its name: `rabbit@b`, or `rabbit@b=host:port`, or `rabbit@host:port`; or whatever node is at `host:port`.
    pub(super) fn find(&self, text: &str) -> Result<JoinTarget, String> {
        let is_no_name = || {
            format!(
                "'{text}' is neither a node's name, such as rabbit@host, nor an address, such as host:{}",
                self.port
            )
        };
        if !text.contains(['@', '=']) && text.contains(':') {
            return Address::parse(text, self.port).map(JoinTarget::At).ok_or_else(is_no_name);
        }
        self.find_name(text, is_no_name).map(JoinTarget::Node)
    }

    fn find_name(&self, text: &str, is_no_name: impl Fn() -> String) -> Result<SeedNode, String> {
        if let Some((name, address)) = text.split_once('=') {
            let name = NodeName::new(name.trim()).ok_or_else(&is_no_name)?;
            let address = Address::parse(address.trim(), self.port).ok_or_else(is_no_name)?;
            return Ok(SeedNode { name, address });
        }
        let (_, host) = text.split_once('@').ok_or_else(&is_no_name)?;
        match host.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') && port.parse::<u16>().is_ok() => {
                let address = Address::parse(host, self.port).ok_or_else(&is_no_name)?;
                let name = text.strip_suffix(&format!(":{port}")).and_then(NodeName::new).ok_or_else(is_no_name)?;
                Ok(SeedNode { name, address })
            }
            _ => self.listed(text),
        }
    }

    fn listed(&self, name: &str) -> Result<SeedNode, String> {
        let is_nowhere = || format!("it is not known where {name} is: its name is to be rabbit@host");
        let address = (self.address_of)(name).ok_or_else(is_nowhere)?;
        Ok(SeedNode { name: NodeName::new(name).ok_or_else(is_nowhere)?, address })
    }

    fn look_up_dns(&self, host: &str) -> Result<Vec<SeedNode>, String> {
        let found = (host, self.port).to_socket_addrs().map_err(|error| format!("{host} has no address: {error}"))?;
        let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let mut names: Vec<SeedNode> = Vec::new();
        for address in addresses {
            let name = dns_lookup::lookup_addr(&address)
                .map_err(|error| format!("the address {address} of {host} has no name: {error}"))?;
            let name = format!("{}@{}", self.prefix, name.trim_end_matches('.'));
            // Where the configuration says otherwise, that counts.
            let found = (self.address_of)(&name);
            let address = found.or_else(|| Address::new(&address.to_string(), self.port));
            if let (Some(name), Some(address)) = (NodeName::new(&name), address)
                && names.iter().all(|listed| listed.name != name)
            {
                names.push(SeedNode { name, address });
            }
        }
        if names.is_empty() { Err(format!("{host} has no address")) } else { Ok(names) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(discovery: Discovery) -> Names {
        let address_of = |name: &str| Address::new(name.split_once('@')?.1, 25_672);
        Names {
            discovery: Some(discovery),
            address_of: Arc::new(address_of),
            prefix: "rabbit".to_owned(),
            port: 25_672,
        }
    }

    fn shown(found: Result<Vec<SeedNode>, String>) -> Vec<String> {
        found.unwrap().iter().map(|listed| format!("{} {}", listed.name, listed.address)).collect()
    }

    #[test]
    fn names_are_listed_or_in_a_file() {
        let listed = names(Discovery::Listed(vec!["rabbit@a".to_owned(), "rabbit@b".to_owned()]));
        assert_eq!(shown(listed.look_up()), ["rabbit@a a:25672", "rabbit@b b:25672"]);
        let path = std::env::temp_dir().join(format!("warren-names-{}", std::process::id()));
        fs::write(&path, "# ours\nrabbit@a\n\n  rabbit@b \n").unwrap();
        let in_file = names(Discovery::File(path.to_str().unwrap().to_owned()));
        assert_eq!(shown(in_file.look_up()), ["rabbit@a a:25672", "rabbit@b b:25672"]);
        fs::write(&path, "# nothing\n").unwrap();
        assert_eq!(in_file.look_up().unwrap_err(), format!("{} names no node", path.display()));
        fs::write(&path, "nohost\n").unwrap();
        assert_eq!(in_file.look_up().unwrap_err(), "it is not known where nohost is: its name is to be rabbit@host");
        fs::remove_file(&path).unwrap();
        assert!(in_file.look_up().unwrap_err().contains("No such file"));
    }

    #[test]
    fn names_in_the_dns_are_those_of_addresses() {
        let found = names(Discovery::Dns("localhost".to_owned())).look_up().unwrap();
        assert!(found.iter().all(|listed| listed.name.as_str().starts_with("rabbit@")), "{found:?}");
        let error = names(Discovery::Dns("no.such.host.invalid".to_owned())).look_up().unwrap_err();
        assert!(error.starts_with("no.such.host.invalid has no address: "), "{error}");
    }

    #[test]
    fn operators_may_say_where_a_node_is() {
        let names = names(Discovery::Listed(Vec::new()));
        for (text, expected) in [
            ("rabbit@b", "rabbit@b b:25672"),
            ("rabbit@b:5", "rabbit@b b:5"),
            ("rabbit@b=10.0.0.2:7", "rabbit@b 10.0.0.2:7"),
            ("rabbit@b=10.0.0.2", "rabbit@b 10.0.0.2:25672"),
            ("b:5", "b:5"),
            ("10.0.0.2:25672", "10.0.0.2:25672"),
            ("[fd00::2]:5", "[fd00::2]:5"),
            ("fd00::2", "[fd00::2]:25672"),
        ] {
            let found = match names.find(text).unwrap() {
                JoinTarget::Node(listed) => format!("{} {}", listed.name, listed.address),
                JoinTarget::At(address) => address.to_string(),
            };
            assert_eq!(found, expected, "{text}");
        }
        for text in ["b", "", "b:", "b:0", "rabbit@b=", "=b"] {
            let error = names.find(text).unwrap_err();
            let expected = "is neither a node's name, such as rabbit@host, nor an address, such as host:25672";
            assert_eq!(error, format!("'{text}' {expected}"));
        }
    }
}
