//! The nodes of the cluster: names, ids, addresses, and what each node said of itself when it was last heard.
//!
//! A name has one member id. The same name with a new id is a node whose directory was replaced: it is let in only when the old one is not
//! connected, and then the old id is removed first and the new one added after it.
//!
//! As a file, which is written anew each time and renamed:
//!
//! ```text
//!  | "WRROST01" | cluster u128 | count u32 | nodes, by name | CRC-32C of all before |
//!
//!  node  | member u64 | incarnation u64 | level u32 | last seen u64, ms since 1970, 0 never | name | address | version |
//! ```

use std::collections::BTreeMap;
use std::fmt;

use consensus::MemberId;

use crate::address::Address;
use crate::formation::VERSION_LEN_MAX;
use crate::wire::reader::{Reader, put_text};
use crate::wire::{ClusterId, FrameError, Identity, NODE_NAME_LEN_MAX, NodeName, Recognition};

const MAGIC: &[u8; 8] = b"WRROST01";

/// Nodes in a roster: more than a group has members, since some are on their way in or out.
pub const NODES_MAX: usize = 2 * consensus::MEMBERS_MAX;

/// What is known of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub member: MemberId,
    /// Where its peers reach it.
    pub address: Address,
    /// Which of its starts was heard last; 0 before any was.
    pub incarnation: u64,
    /// Up to which level it knows formats; 0 before it said so.
    pub level: u32,
    /// Which Warren it is; empty before it said so.
    pub version: String,
    /// When it was heard last, in milliseconds since 1970; 0 never.
    pub last_seen_ms: u64,
}

/// What a hello has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RosterUpdate {
    /// Nothing that a file would have to keep.
    Unchanged,
    /// Something: the roster is to be written.
    Changed,
}

/// Why a node is not the one that the roster has. Each is one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stranger {
    /// It belongs to another cluster, or to none.
    Cluster {
        /// The node.
        name: NodeName,
        /// Its cluster.
        cluster: Option<ClusterId>,
    },
    /// Nothing is known of it.
    Unknown(NodeName),
    /// Its name is another member's, which is connected.
    Taken {
        /// The name.
        name: NodeName,
        /// Whose it is.
        known: MemberId,
        /// The member that claims it.
        claimed: MemberId,
    },
    /// Its name is another member's, which is not connected: its directory was replaced, and `replace` makes it that.
    Replaced {
        /// The name.
        name: NodeName,
        /// The one to be removed.
        old: MemberId,
        /// The one to be added.
        new: MemberId,
    },
    /// Its id belongs to another name.
    OtherName {
        /// The id.
        member: MemberId,
        /// Whose it is.
        known: NodeName,
        /// The node that claims it.
        claimed: NodeName,
    },
    /// There are too many.
    Full,
}

impl fmt::Display for Stranger {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stranger::Cluster { name, cluster: Some(cluster) } => {
                write!(to, "{name} belongs to cluster {cluster}, which is another one")
            }
            Stranger::Cluster { name, cluster: None } => write!(to, "{name} belongs to no cluster"),
            Stranger::Unknown(name) => write!(to, "{name} does not belong to this cluster"),
            Stranger::Taken { name, known, claimed } => write!(
                to,
                "there are two nodes of the name {name}: member {}, which is connected, and member {}",
                known.get(),
                claimed.get()
            ),
            Stranger::Replaced { name, old, new } => write!(
                to,
                "{name} has come with another directory: member {} is to be removed, and member {} to be added",
                old.get(),
                new.get()
            ),
            Stranger::OtherName { member, known, claimed } => {
                write!(to, "{claimed} reports that it is member {}, which is {known}", member.get())
            }
            Stranger::Full => write!(to, "a cluster knows at most {NODES_MAX} nodes"),
        }
    }
}

impl std::error::Error for Stranger {}

/// All nodes of a cluster, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    cluster: ClusterId,
    nodes: BTreeMap<NodeName, Node>,
}

impl Roster {
    /// Of a new cluster: without nodes yet.
    #[must_use]
    pub fn new(cluster: ClusterId) -> Self {
        Roster { cluster, nodes: BTreeMap::new() }
    }

    /// Whose it is.
    #[must_use]
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// All nodes, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeName, &Node)> {
        self.nodes.iter()
    }

    /// By its name.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<&Node> {
        self.nodes.get(name)
    }

    /// By its id.
    #[must_use]
    pub fn of_member(&self, member: MemberId) -> Option<(&NodeName, &Node)> {
        self.nodes.iter().find(|(_, node)| node.member == member)
    }

    /// What a handshake is to make of a name.
    #[must_use]
    pub fn recognize(&self, name: &NodeName) -> Recognition {
        self.nodes.get(name).map_or(Recognition::Unknown, |node| Recognition::Peer(Some(node.member)))
    }

    /// A node joins, or is at another address.
    ///
    /// # Errors
    ///
    /// Its name or its id is another one's, or there are too many.
    pub fn add(&mut self, name: &NodeName, member: MemberId, address: Address) -> Result<RosterUpdate, Stranger> {
        self.check_id(name, member, |_| true)?;
        if let Some(node) = self.nodes.get_mut(name) {
            let is_same = node.address == address;
            node.address = address;
            return Ok(if is_same { RosterUpdate::Unchanged } else { RosterUpdate::Changed });
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(Stranger::Full);
        }
        let node = Node { member, address, incarnation: 0, level: 0, version: String::new(), last_seen_ms: 0 };
        self.nodes.insert(name.clone(), node);
        Ok(RosterUpdate::Changed)
    }

    /// A node has left: by its id, since its name may be another one's by now.
    pub fn remove(&mut self, member: MemberId) -> Option<NodeName> {
        let (name, _) = self.of_member(member)?;
        let name = name.clone();
        self.nodes.remove(&name);
        Some(name)
    }

    /// The name's old id has been removed from the group: the new one takes its place.
    ///
    /// # Errors
    ///
    /// The new id is another name's, or the name is unknown.
    pub fn replace(&mut self, name: &NodeName, new: MemberId) -> Result<(), Stranger> {
        if let Some((known, _)) = self.of_member(new)
            && known != name
        {
            return Err(Stranger::OtherName { member: new, known: known.clone(), claimed: name.clone() });
        }
        let node = self.nodes.get_mut(name).ok_or_else(|| Stranger::Unknown(name.clone()))?;
        (node.member, node.incarnation, node.level, node.last_seen_ms) = (new, 0, 0, 0);
        Ok(())
    }

    /// A node has reported its identity. `is_connected`: whether a link with a member stands.
    ///
    /// # Errors
    ///
    /// It is not the one that is known by that name.
    pub fn update(
        &mut self,
        identity: &Identity,
        version: Option<&str>,
        now_ms: u64,
        is_connected: impl Fn(MemberId) -> bool,
    ) -> Result<RosterUpdate, Stranger> {
        let name = &identity.name;
        if identity.cluster != Some(self.cluster) {
            return Err(Stranger::Cluster { name: name.clone(), cluster: identity.cluster });
        }
        let member = identity.member.ok_or_else(|| Stranger::Unknown(name.clone()))?;
        self.check_id(name, member, is_connected)?;
        let node = self.nodes.get_mut(name).ok_or_else(|| Stranger::Unknown(name.clone()))?;
        let version = version.unwrap_or(&node.version);
        let is_same =
            (node.incarnation, node.level) == (identity.incarnation, identity.level) && node.version == version;
        node.version = version.to_owned();
        (node.incarnation, node.level, node.last_seen_ms) = (identity.incarnation, identity.level, now_ms);
        Ok(if is_same { RosterUpdate::Unchanged } else { RosterUpdate::Changed })
    }

    /// A name has one id, and an id one name.
    fn check_id(
        &self,
        name: &NodeName,
        claimed: MemberId,
        is_connected: impl Fn(MemberId) -> bool,
    ) -> Result<(), Stranger> {
        if let Some((known, _)) = self.of_member(claimed)
            && known != name
        {
            return Err(Stranger::OtherName { member: claimed, known: known.clone(), claimed: name.clone() });
        }
        match self.nodes.get(name) {
            Some(node) if node.member != claimed => {
                let (name, known) = (name.clone(), node.member);
                Err(match is_connected(known) {
                    true => Stranger::Taken { name, known, claimed },
                    false => Stranger::Replaced { name, old: known, new: claimed },
                })
            }
            _ => Ok(()),
        }
    }

    /// The level that all nodes know: what is written may use its formats, and no higher ones. A node that has not said yet what it knows
    /// was let in because it knows that level.
    #[must_use]
    pub fn level(&self) -> u32 {
        self.nodes.values().map(|node| node.level).filter(|level| *level > 0).min().unwrap_or(0)
    }

    /// As the bytes of a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = MAGIC.to_vec();
        to.extend_from_slice(&self.cluster.get().to_le_bytes());
        to.extend_from_slice(&(self.nodes.len() as u32).to_le_bytes());
        for (name, node) in &self.nodes {
            to.extend_from_slice(&node.member.get().to_le_bytes());
            to.extend_from_slice(&node.incarnation.to_le_bytes());
            to.extend_from_slice(&node.level.to_le_bytes());
            to.extend_from_slice(&node.last_seen_ms.to_le_bytes());
            put_text(&mut to, name.as_str(), NODE_NAME_LEN_MAX);
            node.address.encode(&mut to);
            put_text(&mut to, &node.version, VERSION_LEN_MAX);
        }
        let checksum = crc32c::crc32c(&to);
        to.extend_from_slice(&checksum.to_le_bytes());
        to
    }

    /// From the bytes of a file.
    ///
    /// # Errors
    ///
    /// They are damaged, or are no roster.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let (covered, checksum) = bytes.split_last_chunk::<4>().ok_or(FrameError::Short)?;
        if crc32c::crc32c(covered) != u32::from_le_bytes(*checksum) {
            return Err(FrameError::Checksum);
        }
        let mut reader = Reader(covered.strip_prefix(MAGIC).ok_or(FrameError::Impossible("first bytes"))?);
        let cluster = ClusterId::new(reader.u128()?).ok_or(FrameError::Impossible("cluster"))?;
        let mut roster = Roster::new(cluster);
        for _ in 0..reader.u32()? {
            let (name, node) = read_node(&mut reader)?;
            roster
                .add(&name, node.member, node.address.clone())
                .map_err(|_| FrameError::Impossible("pair of nodes"))?;
            roster.nodes.insert(name, node);
        }
        reader.end()?;
        Ok(roster)
    }
}

fn read_node(reader: &mut Reader<'_>) -> Result<(NodeName, Node), FrameError> {
    let member = MemberId::new(reader.u64()?).ok_or(FrameError::Impossible("member"))?;
    let (incarnation, level, last_seen_ms) = (reader.u64()?, reader.u32()?, reader.u64()?);
    let name = reader.name()?;
    let address = Address::decode(reader)?;
    let version = reader.text(VERSION_LEN_MAX)?.to_owned();
    Ok((name, Node { member, address, incarnation, level, version, last_seen_ms }))
}
