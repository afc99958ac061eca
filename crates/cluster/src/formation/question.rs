//! What nodes ask each other before there is a cluster, as the payloads of calls.
//!
//! ```text
//!  question  1 status | 2 may I found | bid |   | 3 agree to | bid | founder |
//!  reply     1 status | member u64 | level u32 | state u8 | cluster u128, of a member only | 0, or 1 and leader: name, address |
//!                     | 0, or 1 and the chosen founder | name | version |
//!            2 promised | bid | 0, or 1 and what it agreed to before |   3 agreed | bid |   4 outbid | bid |
//! ```

use consensus::MemberId;

use super::consent::{Bid, Founder, put_agreed, put_bid, put_founder, read_agreed, read_bid, read_founder};
use crate::address::Address;
use crate::wire::reader::{Reader, put_text};
use crate::wire::{ClusterId, FrameError, NODE_NAME_LEN_MAX, NodeName};

/// Bytes of a version as text.
pub const VERSION_LEN_MAX: usize = 64;

/// The name of the call that carries all of these.
pub const CALL: &str = "formation";

/// What a node's directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeState {
    /// Nothing that could be lost.
    Empty,
    /// Definitions or messages, and no cluster.
    HasData,
    /// A part of that cluster.
    Member(ClusterId),
}

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: NodeName,
    /// The id of its directory.
    pub member: MemberId,
    /// What that holds.
    pub state: NodeState,
    /// The leader of its cluster, and where that is reached, as far as it knows.
    pub leader: Option<(NodeName, Address)>,
    /// The node that founds the cluster, if it knows what was decided.
    pub chosen: Option<Founder>,
    /// Up to which level it knows formats.
    pub level: u32,
    /// Which Warren it is.
    pub version: String,
}

/// What one node asks another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// How do you stand?
    Status,
    /// Will you hear nothing below this bid?
    Promise(Bid),
    /// Do you agree that this one founds the cluster?
    Agree(Bid, Founder),
}

/// What the other says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// This is how I stand. Also the answer of a member to whatever else it is asked.
    Status(Status),
    /// I will hear nothing below that bid, and agreed to this before.
    Promised(Bid, Option<(Bid, Founder)>),
    /// I agree.
    Agreed(Bid),
    /// I have promised a higher one.
    Outbid(Bid),
}

impl Question {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Question::Status => to.push(1),
            Question::Promise(bid) => {
                to.push(2);
                put_bid(&mut to, Some(bid));
            }
            Question::Agree(bid, founder) => {
                to.push(3);
                put_bid(&mut to, Some(bid));
                put_founder(&mut to, founder);
            }
        }
        to
    }

    /// From bytes.
    ///
    /// # Errors
    ///
    /// No node asks that.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        let question = match reader.u8()? {
            1 => Question::Status,
            2 => Question::Promise(some_bid(&mut reader)?),
            3 => Question::Agree(some_bid(&mut reader)?, read_founder(&mut reader)?),
            _ => return Err(FrameError::Impossible("question")),
        };
        reader.end()?;
        Ok(question)
    }
}

impl Reply {
    /// As bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Reply::Status(status) => {
                to.push(1);
                status.encode(&mut to);
            }
            Reply::Promised(bid, agreed) => {
                to.push(2);
                put_bid(&mut to, Some(bid));
                put_agreed(&mut to, agreed.as_ref());
            }
            Reply::Agreed(bid) => {
                to.push(3);
                put_bid(&mut to, Some(bid));
            }
            Reply::Outbid(bid) => {
                to.push(4);
                put_bid(&mut to, Some(bid));
            }
        }
        to
    }

    /// From bytes.
    ///
    /// # Errors
    ///
    /// No node says that.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        let reply = match reader.u8()? {
            1 => Reply::Status(Status::decode(&mut reader)?),
            2 => Reply::Promised(some_bid(&mut reader)?, read_agreed(&mut reader)?),
            3 => Reply::Agreed(some_bid(&mut reader)?),
            4 => Reply::Outbid(some_bid(&mut reader)?),
            _ => return Err(FrameError::Impossible("reply")),
        };
        reader.end()?;
        Ok(reply)
    }
}

impl Status {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.member.get().to_le_bytes());
        to.extend_from_slice(&self.level.to_le_bytes());
        match self.state {
            NodeState::Empty => to.push(1),
            NodeState::HasData => to.push(2),
            NodeState::Member(cluster) => {
                to.push(3);
                to.extend_from_slice(&cluster.get().to_le_bytes());
            }
        }
        to.push(u8::from(self.leader.is_some()));
        if let Some((name, address)) = &self.leader {
            put_text(to, name.as_str(), NODE_NAME_LEN_MAX);
            address.encode(to);
        }
        to.push(u8::from(self.chosen.is_some()));
        if let Some(founder) = &self.chosen {
            put_founder(to, founder);
        }
        put_text(to, self.name.as_str(), NODE_NAME_LEN_MAX);
        put_text(to, &self.version, VERSION_LEN_MAX);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        let member = MemberId::new(reader.u64()?).ok_or(FrameError::Impossible("member"))?;
        let level = reader.u32()?;
        let state = match reader.u8()? {
            1 => NodeState::Empty,
            2 => NodeState::HasData,
            3 => NodeState::Member(ClusterId::new(reader.u128()?).ok_or(FrameError::Impossible("cluster"))?),
            _ => return Err(FrameError::Impossible("state of a node")),
        };
        let leader = match reader.u8()? {
            0 => None,
            _ => Some((reader.name()?, Address::decode(reader)?)),
        };
        let chosen = match reader.u8()? {
            0 => None,
            _ => Some(read_founder(reader)?),
        };
        let name = reader.name()?;
        let version = reader.text(VERSION_LEN_MAX)?;
        if version.contains(char::is_control) {
            return Err(FrameError::Impossible("version"));
        }
        Ok(Status { name, member, state, leader, chosen, level, version: version.to_owned() })
    }
}

fn some_bid(reader: &mut Reader<'_>) -> Result<Bid, FrameError> {
    read_bid(reader)?.ok_or(FrameError::Impossible("bid"))
}
