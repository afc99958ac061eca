//! What nodes of a cluster report to each other, ask and order, as the payloads of calls.
//!
//! ```text
//!  report  | member u64 | incarnation u64 | number u64 | level u32 | flags u8 | applied u64 | last u64 | end u64
//!          | name | address | version |, texts | starts_count u16 | earlier starts, u64 each
//!          flags: 1 takes no clients, 2 no members have been reported to it, 4 is short of memory, 8 is short of disk
//!
//!  call "node"   report ─► 1 report roster, or 2 and a sentence: a stranger, or 3 and a sentence: it must not go on
//!  call "join"   report ─► 1 roster, or 2 and a sentence: later, or 3 and a sentence: never, or 4 name address: ask that one
//!  call "order"  kind u8, text ─► 1 and a text, or 2 and a kind of error u8 and a sentence
//! ```

use consensus::MemberId;

use super::alarms::NodeAlarms;
use super::starts::STARTS_MAX;
use crate::address::Address;
use crate::control::{ControlError, ErrorKind};
use crate::formation::VERSION_LEN_MAX;
use crate::roster::Roster;
use crate::wire::reader::{Reader, put_text};
use crate::wire::{FrameError, NODE_NAME_LEN_MAX, NodeName};

/// Two nodes report to each other.
pub(super) const CALL_NODE: &str = "node";
/// A node asks to be let in.
pub(super) const CALL_JOIN: &str = "join";
/// An operator's order, for the node that can carry it out.
pub(super) const CALL_ORDER: &str = "order";

/// Bytes of a sentence.
const SENTENCE_LEN_MAX: usize = 4096;

/// What a node reports of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) name: NodeName,
    pub(super) member: MemberId,
    pub(super) address: Address,
    pub(super) version: String,
    pub(super) level: u32,
    pub(super) incarnation: u64,
    /// The starts before, as far as its directory knows.
    pub(super) earlier: Vec<u64>,
    /// Which report of this start it is: they may arrive in another order.
    pub(super) number: u64,
    pub(super) is_draining: bool,
    /// No members have ever been reported to it: it is new.
    pub(super) is_new: bool,
    pub(super) alarms: NodeAlarms,
    /// Up to there it has all that is committed, on its disk.
    pub(super) applied: u64,
    /// Where its log ends.
    pub(super) last: u64,
    /// The same in bytes.
    pub(super) end: u64,
}

impl Report {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        self.put(&mut to);
        to
    }

    fn put(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.member.get().to_le_bytes());
        to.extend_from_slice(&self.incarnation.to_le_bytes());
        to.extend_from_slice(&self.number.to_le_bytes());
        to.extend_from_slice(&self.level.to_le_bytes());
        let alarms = u8::from(self.alarms.is_memory_low) << 2 | u8::from(self.alarms.is_disk_low) << 3;
        to.push(u8::from(self.is_draining) | u8::from(self.is_new) << 1 | alarms);
        to.extend_from_slice(&self.applied.to_le_bytes());
        to.extend_from_slice(&self.last.to_le_bytes());
        to.extend_from_slice(&self.end.to_le_bytes());
        put_text(to, self.name.as_str(), NODE_NAME_LEN_MAX);
        self.address.encode(to);
        put_text(to, &self.version, VERSION_LEN_MAX);
        to.extend_from_slice(&(self.earlier.len() as u16).to_le_bytes());
        self.earlier.iter().for_each(|start| to.extend_from_slice(&start.to_le_bytes()));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, FrameError> {
        let member = MemberId::new(reader.u64()?).ok_or(FrameError::Impossible("member"))?;
        let (incarnation, number) = (reader.u64()?, reader.u64()?);
        let (level, flags) = (reader.u32()?, reader.u8()?);
        let (applied, last, end) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let (name, address) = (reader.name()?, Address::decode(reader)?);
        let version = reader.text(VERSION_LEN_MAX)?.to_owned();
        let earlier_count = usize::from(reader.u16()?);
        if earlier_count > STARTS_MAX {
            return Err(FrameError::Impossible("count of starts"));
        }
        let earlier = (0..earlier_count).map(|_| reader.u64()).collect::<Result<_, _>>()?;
        let (is_draining, is_new) = (flags & 1 != 0, flags & 2 != 0);
        let alarms = NodeAlarms { is_memory_low: flags & 4 != 0, is_disk_low: flags & 8 != 0 };
        Ok(Report {
            name,
            member,
            address,
            version,
            level,
            incarnation,
            earlier,
            number,
            is_draining,
            is_new,
            alarms,
            applied,
            last,
            end,
        })
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        let report = Report::read(&mut reader)?;
        reader.end()?;
        Ok(report)
    }
}

/// What the other reports of itself, or why it does not know this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeReply {
    Known(Box<Report>, Roster),
    Unknown(PeerRejection),
    /// It belongs to no cluster itself, or not yet: it says nothing of another one's.
    NoCluster,
}

/// Why a node cannot be listened to, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PeerRejection {
    /// It does not belong to the cluster.
    Stranger(String),
    /// It must not go on as the member that it was.
    Lost(String),
}

impl NodeReply {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            NodeReply::Known(report, roster) => {
                to.push(1);
                report.put(&mut to);
                to.extend_from_slice(&roster.encode());
            }
            NodeReply::Unknown(PeerRejection::Stranger(sentence)) => {
                to.push(2);
                put_text(&mut to, sentence, SENTENCE_LEN_MAX);
            }
            NodeReply::Unknown(PeerRejection::Lost(sentence)) => {
                to.push(3);
                put_text(&mut to, sentence, SENTENCE_LEN_MAX);
            }
            NodeReply::NoCluster => to.push(4),
        }
        to
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        match reader.u8()? {
            1 => Ok(NodeReply::Known(Box::new(Report::read(&mut reader)?), Roster::decode(reader.rest())?)),
            2 => Ok(NodeReply::Unknown(PeerRejection::Stranger(sentence(&mut reader)?))),
            3 => Ok(NodeReply::Unknown(PeerRejection::Lost(sentence(&mut reader)?))),
            4 => Ok(NodeReply::NoCluster),
            _ => Err(FrameError::Impossible("reply")),
        }
    }
}

/// What becomes of a node that asks to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JoinReply {
    /// It is: these are the nodes, itself among them.
    Open(Roster),
    /// Not yet.
    Later(String),
    /// Not like this.
    Never(String),
    /// By another one.
    Elsewhere(NodeName, Address),
}

impl JoinReply {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            JoinReply::Open(roster) => {
                to.push(1);
                to.extend_from_slice(&roster.encode());
            }
            JoinReply::Later(sentence) => {
                to.push(2);
                put_text(&mut to, sentence, SENTENCE_LEN_MAX);
            }
            JoinReply::Never(sentence) => {
                to.push(3);
                put_text(&mut to, sentence, SENTENCE_LEN_MAX);
            }
            JoinReply::Elsewhere(name, address) => {
                to.push(4);
                put_text(&mut to, name.as_str(), NODE_NAME_LEN_MAX);
                address.encode(&mut to);
            }
        }
        to
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        Ok(match reader.u8()? {
            1 => JoinReply::Open(Roster::decode(reader.rest())?),
            2 => JoinReply::Later(sentence(&mut reader)?),
            3 => JoinReply::Never(sentence(&mut reader)?),
            4 => JoinReply::Elsewhere(reader.name()?, Address::decode(&mut reader)?),
            _ => return Err(FrameError::Impossible("reply")),
        })
    }
}

/// What an operator orders of another node than the one that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemoteOrder {
    /// Of the leader: a node leaves that does not run.
    Forget(String),
    /// Of the leader: the member that asks leaves.
    Leave(MemberId),
    /// Of the leader: another one leads; without a name the one that is best for it.
    Transfer(Option<String>),
    Drain,
    Revive,
    Reset {
        force: bool,
    },
    /// The node serves clients from now on, or does not.
    App {
        runs: bool,
    },
}

impl RemoteOrder {
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, text) = match self {
            RemoteOrder::Forget(name) => (1, name.clone()),
            RemoteOrder::Leave(member) => (2, member.get().to_string()),
            RemoteOrder::Transfer(to) => (3, to.clone().unwrap_or_default()),
            RemoteOrder::Drain => (4, String::new()),
            RemoteOrder::Revive => (5, String::new()),
            RemoteOrder::Reset { force } => (6, u8::from(*force).to_string()),
            RemoteOrder::App { runs } => (7, u8::from(*runs).to_string()),
        };
        let mut to = vec![kind];
        put_text(&mut to, &text, NODE_NAME_LEN_MAX);
        to
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        let (kind, text) = (reader.u8()?, reader.text(NODE_NAME_LEN_MAX)?);
        let order = match kind {
            1 => RemoteOrder::Forget(text.to_owned()),
            2 => {
                let member = text.parse().ok().and_then(MemberId::new);
                RemoteOrder::Leave(member.ok_or(FrameError::Impossible("member"))?)
            }
            3 => RemoteOrder::Transfer((!text.is_empty()).then(|| text.to_owned())),
            4 => RemoteOrder::Drain,
            5 => RemoteOrder::Revive,
            6 => RemoteOrder::Reset { force: text == "1" },
            7 => RemoteOrder::App { runs: text == "1" },
            _ => return Err(FrameError::Impossible("order")),
        };
        reader.end()?;
        Ok(order)
    }
}

/// What became of an order, as bytes.
pub(super) fn encode_outcome(outcome: &Result<String, ControlError>) -> Vec<u8> {
    let mut to = Vec::new();
    match outcome {
        Ok(text) => {
            to.push(1);
            put_text(&mut to, text, SENTENCE_LEN_MAX);
        }
        Err(error) => {
            to.push(2);
            to.push(match error.kind() {
                ErrorKind::Wrong => 1,
                ErrorKind::NotFound => 2,
                ErrorKind::Unavailable => 3,
            });
            put_text(&mut to, &error.to_string(), SENTENCE_LEN_MAX);
        }
    }
    to
}

/// The outcome of an order that another node was given. The error is that node's own, or reports that the bytes are not valid.
pub(super) fn decode_outcome(by: &NodeName, bytes: &[u8]) -> Result<String, ControlError> {
    let read = || -> Result<Result<String, ControlError>, FrameError> {
        let mut reader = Reader(bytes);
        Ok(match reader.u8()? {
            1 => Ok(sentence(&mut reader)?),
            _ => {
                let kind = match reader.u8()? {
                    2 => ErrorKind::NotFound,
                    3 => ErrorKind::Unavailable,
                    _ => ErrorKind::Wrong,
                };
                Err(ControlError::Remote { kind, sentence: sentence(&mut reader)? })
            }
        })
    };
    read().unwrap_or_else(|error| Err(ControlError::Refused { by: by.to_string(), why: error.to_string() }))
}

fn sentence(reader: &mut Reader<'_>) -> Result<String, FrameError> {
    let text = reader.text(SENTENCE_LEN_MAX)?;
    Ok(text.chars().filter(|char| !char.is_control()).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wire::ClusterId;

    pub(in crate::node) fn report() -> Report {
        Report {
            name: NodeName::new("rabbit@a").unwrap(),
            member: MemberId::new(7).unwrap(),
            address: Address::new("a.example", 25_672).unwrap(),
            version: "1.0.0".to_owned(),
            level: 1,
            incarnation: 3 << 20,
            earlier: vec![1 << 20, 2 << 20],
            number: 5,
            is_draining: true,
            is_new: false,
            alarms: NodeAlarms { is_memory_low: false, is_disk_low: true },
            applied: 9,
            last: 11,
            end: 1 << 40,
        }
    }

    #[test]
    fn all_is_read_as_it_was_written() {
        let mut roster = Roster::new(ClusterId::new(5).unwrap());
        roster.add(&report().name, report().member, report().address).unwrap();
        assert_eq!(Report::decode(&report().encode()).unwrap(), report());
        for reply in [
            NodeReply::Known(Box::new(report()), roster.clone()),
            NodeReply::Unknown(PeerRejection::Stranger("a".to_owned())),
            NodeReply::Unknown(PeerRejection::Lost("b".to_owned())),
            NodeReply::NoCluster,
        ] {
            assert_eq!(NodeReply::decode(&reply.encode()).unwrap(), reply);
        }
        let elsewhere = JoinReply::Elsewhere(report().name, report().address);
        for reply in
            [JoinReply::Open(roster), JoinReply::Later("a".to_owned()), JoinReply::Never("b".to_owned()), elsewhere]
        {
            assert_eq!(JoinReply::decode(&reply.encode()).unwrap(), reply);
        }
        for order in [
            RemoteOrder::Forget("rabbit@b".to_owned()),
            RemoteOrder::Leave(report().member),
            RemoteOrder::Transfer(None),
            RemoteOrder::Transfer(Some("rabbit@b".to_owned())),
            RemoteOrder::Drain,
            RemoteOrder::Revive,
            RemoteOrder::Reset { force: true },
            RemoteOrder::App { runs: false },
        ] {
            assert_eq!(RemoteOrder::decode(&order.encode()).unwrap(), order);
        }
    }

    #[test]
    fn an_error_keeps_its_kind_and_its_sentence_on_its_way() {
        let error = ControlError::UnknownNode("rabbit@x".to_owned());
        let decoded = decode_outcome(&report().name, &encode_outcome(&Err(error.clone()))).unwrap_err();
        assert_eq!((decoded.kind(), decoded.to_string()), (error.kind(), error.to_string()));
        assert_eq!(decode_outcome(&report().name, &encode_outcome(&Ok("x".to_owned()))).unwrap(), "x");
        let garbage = decode_outcome(&report().name, &[]).unwrap_err();
        assert!(garbage.to_string().starts_with("rabbit@a refuses: "), "{garbage}");
    }
}
