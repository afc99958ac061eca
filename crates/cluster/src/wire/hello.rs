//! A node's identity, as it reports it.
//!
//! ```text
//!  | cluster u128, 0 none | member u64, 0 none | incarnation u64 | level u32 | clock in ms u64 | lane u8 | name, a text |
//! ```

use std::fmt;
use std::sync::Arc;

use consensus::MemberId;

use crate::wire::error::FrameError;
use crate::wire::lane::Lane;
use crate::wire::limits::NODE_NAME_LEN_MAX;
use crate::wire::reader::{Reader, put_text};

/// The id of a cluster: drawn when it is formed, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterId(u128);

impl ClusterId {
    /// By its number; none has the number 0.
    #[must_use]
    pub fn new(number: u128) -> Option<Self> {
        (number != 0).then_some(ClusterId(number))
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u128 {
        self.0
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:032x}", self.0)
    }
}

/// The name of a node: `rabbit@host`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName(Arc<str>);

impl NodeName {
    /// `None`: it is empty, too long, or has characters that are for no line of a log.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let is_fit = !name.is_empty() && name.len() <= NODE_NAME_LEN_MAX && !name.contains(char::is_control);
        is_fit.then(|| NodeName(name.into()))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

/// A node's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its cluster; none before it is in one.
    pub cluster: Option<ClusterId>,
    /// Its name.
    pub name: NodeName,
    /// Its id in groups; none before it has been given one.
    pub member: Option<MemberId>,
    /// Which of its starts this is.
    pub incarnation: u64,
    /// Up to which level it knows formats.
    pub level: u32,
}

/// What a node says of itself on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Its identity.
    pub identity: Identity,
    /// Its wall clock, in milliseconds since 1970.
    pub clock_ms: u64,
    /// What the connection is for.
    pub lane: Lane,
}

impl Hello {
    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        let Identity { cluster, name, member, incarnation, level } = &self.identity;
        to.extend_from_slice(&cluster.map_or(0, ClusterId::get).to_le_bytes());
        to.extend_from_slice(&member.map_or(0, MemberId::get).to_le_bytes());
        to.extend_from_slice(&incarnation.to_le_bytes());
        to.extend_from_slice(&level.to_le_bytes());
        to.extend_from_slice(&self.clock_ms.to_le_bytes());
        to.push(self.lane.code());
        put_text(to, name.as_str(), NODE_NAME_LEN_MAX);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        let (cluster, member) = (ClusterId::new(reader.u128()?), MemberId::new(reader.u64()?));
        let (incarnation, level, clock_ms) = (reader.u64()?, reader.u32()?, reader.u64()?);
        let lane = Lane::of_code(reader.u8()?).ok_or(FrameError::Impossible("lane"))?;
        let name = reader.name()?;
        reader.end()?;
        Ok(Hello { identity: Identity { cluster, name, member, incarnation, level }, clock_ms, lane })
    }
}

impl Reader<'_> {
    pub(crate) fn name(&mut self) -> Result<NodeName, FrameError> {
        NodeName::new(self.text(NODE_NAME_LEN_MAX)?).ok_or(FrameError::Impossible("name of a node"))
    }
}
