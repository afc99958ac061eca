//! Why one node does not want another. Both say the same sentence: one from what it found, the other from what it was sent.
//!
//! ```text
//!  | code u8 | its facts |
//!
//!  1 secret, 5 the same node, 6 the same name, 9 not ready   nothing
//!  2 cluster    | of the refusing node u128 | of the refused u128 |
//!  3 member     | known u64 | claimed u64 |
//!  4 level      | known u32 | wanted u32 |
//!  7 other name | expected, a text | found, a text |
//!  8 no peer    | lane u8 |
//! ```

use crate::wire::error::FrameError;
use crate::wire::hello::{ClusterId, NodeName};
use crate::wire::lane::Lane;
use crate::wire::limits::NODE_NAME_LEN_MAX;
use crate::wire::reader::{Reader, put_text};

/// Why a node is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It does not have the secret of the node that refuses.
    Secret,
    /// It belongs to another cluster.
    Cluster {
        /// That of the node that refuses.
        refusing: ClusterId,
        /// The other.
        refused: ClusterId,
    },
    /// Its name is known with another member's id: its directory was replaced, or there are two of that name.
    Member {
        /// As known.
        known: u64,
        /// As it says.
        claimed: u64,
    },
    /// It does not know all formats that are in use.
    Level {
        /// What it knows.
        known: u32,
        /// What it would have to know.
        wanted: u32,
    },
    /// It is the node itself.
    Itself,
    /// It is another node of the same name.
    SameName,
    /// It was dialled as another.
    OtherName {
        /// The node that should be at that address.
        expected: NodeName,
        /// The node that is.
        found: NodeName,
    },
    /// It is no known peer, and only known peers may ask.
    NoPeer {
        /// What it wanted instead.
        lane: Lane,
    },
    /// The refusing side is not ready yet. The other may come again.
    NotReady,
}

impl Refusal {
    /// The sentence for the operator, on either side.
    #[must_use]
    pub fn sentence(&self, refusing: &str, refused: &str) -> String {
        let reason = match self {
            Refusal::Secret => "the secrets of the two differ (warren.cluster.secret)".to_owned(),
            Refusal::Cluster { refusing: ours, refused: theirs } => {
                format!("{refused} belongs to cluster {theirs}, {refusing} to cluster {ours}")
            }
            Refusal::Member { known, claimed } => {
                format!("{refused} is known as member {known} and reports that it is member {claimed}")
            }
            Refusal::Level { known, wanted } => {
                format!("{refused} knows formats up to level {known}, and {refusing} uses those of level {wanted}")
            }
            Refusal::Itself => "the two are one node, which has its own address among those of its peers".to_owned(),
            Refusal::SameName => "there are two nodes of this name".to_owned(),
            Refusal::OtherName { expected, found } => {
                format!("{found} is at the address where {expected} should be")
            }
            Refusal::NoPeer { lane } => {
                format!("{refused} is none of the peers of {refusing}, and wants to send on the lane {lane}")
            }
            Refusal::NotReady => format!("{refusing} is not ready yet"),
        };
        format!("{refusing} refuses {refused}: {reason}")
    }

    pub(crate) fn encode(&self, to: &mut Vec<u8>) {
        match self {
            Refusal::Secret => to.push(1),
            Refusal::Cluster { refusing, refused } => {
                to.push(2);
                to.extend_from_slice(&refusing.get().to_le_bytes());
                to.extend_from_slice(&refused.get().to_le_bytes());
            }
            Refusal::Member { known, claimed } => {
                to.push(3);
                to.extend_from_slice(&known.to_le_bytes());
                to.extend_from_slice(&claimed.to_le_bytes());
            }
            Refusal::Level { known, wanted } => {
                to.push(4);
                to.extend_from_slice(&known.to_le_bytes());
                to.extend_from_slice(&wanted.to_le_bytes());
            }
            Refusal::Itself => to.push(5),
            Refusal::SameName => to.push(6),
            Refusal::OtherName { expected, found } => {
                to.push(7);
                put_text(to, expected.as_str(), NODE_NAME_LEN_MAX);
                put_text(to, found.as_str(), NODE_NAME_LEN_MAX);
            }
            Refusal::NoPeer { lane } => to.extend_from_slice(&[8, lane.code()]),
            Refusal::NotReady => to.push(9),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(bytes);
        let cluster = |number| ClusterId::new(number).ok_or(FrameError::Impossible("cluster"));
        let refusal = match reader.u8()? {
            1 => Refusal::Secret,
            2 => Refusal::Cluster { refusing: cluster(reader.u128()?)?, refused: cluster(reader.u128()?)? },
            3 => Refusal::Member { known: reader.u64()?, claimed: reader.u64()? },
            4 => Refusal::Level { known: reader.u32()?, wanted: reader.u32()? },
            5 => Refusal::Itself,
            6 => Refusal::SameName,
            7 => Refusal::OtherName { expected: reader.name()?, found: reader.name()? },
            8 => Refusal::NoPeer { lane: Lane::of_code(reader.u8()?).ok_or(FrameError::Impossible("lane"))? },
            9 => Refusal::NotReady,
            _ => return Err(FrameError::Impossible("refusal")),
        };
        reader.end()?;
        Ok(refusal)
    }
}
