//! Which node may found the cluster: nodes agree on one, before there is a cluster that could agree on anything.
//!
//! One decision by Paxos: a node that wants to found bids; a majority of the listed names promises to hear no lower bid and reports what it
//! has agreed to before; then that, or the bidder itself, is put to the majority. What a majority has agreed to is never changed, so there
//! is one founder, whatever is delayed, cut off or started again meanwhile. Each node keeps its consent in a file:
//!
//! ```text
//!  | "WRCONS01" | promised bid | 0, or 1 and the bid and the founder it agreed to | CRC-32C of all before |
//!
//!  bid      | round u64, 0 none | name, a text; none without a bid |
//!  founder  | member u64 | cluster u128 | name, a text |
//! ```

use consensus::MemberId;

use crate::wire::reader::{Reader, put_text};
use crate::wire::{ClusterId, FrameError, NODE_NAME_LEN_MAX, NodeName};

const MAGIC: &[u8; 8] = b"WRCONS01";

/// A try to found: of two, the one of the higher round counts, then the one of the higher name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bid {
    /// From 1 on.
    pub round: u64,
    /// The bidder.
    pub name: NodeName,
}

/// The founder, and what it founds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Founder {
    /// Its name.
    pub name: NodeName,
    /// The id of its directory: another directory under that name is not meant.
    pub member: MemberId,
    /// The cluster's id.
    pub cluster: ClusterId,
}

/// What a node has promised and agreed to. It is durable before anything is said that rests on it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Consent {
    /// It hears no lower bid.
    pub promised: Option<Bid>,
    /// What it agreed to last.
    pub agreed: Option<(Bid, Founder)>,
}

impl Consent {
    /// Promises to hear nothing below that bid.
    ///
    /// # Errors
    ///
    /// A higher one has been promised.
    pub(super) fn promise(&mut self, bid: &Bid) -> Result<(), Bid> {
        match &self.promised {
            Some(promised) if promised > bid => Err(promised.clone()),
            _ => {
                self.promised = Some(bid.clone());
                Ok(())
            }
        }
    }

    /// Agrees to that founder.
    ///
    /// # Errors
    ///
    /// A higher bid has been promised.
    pub(super) fn agree(&mut self, bid: &Bid, founder: &Founder) -> Result<(), Bid> {
        self.promise(bid)?;
        self.agreed = Some((bid.clone(), founder.clone()));
        Ok(())
    }

    /// As the bytes of a file.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put_bid(&mut bytes, self.promised.as_ref());
        put_agreed(&mut bytes, self.agreed.as_ref());
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// From the bytes of a file. `None`: they are damaged, and the node must not go on as if it had promised nothing.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (covered, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(covered) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut reader = Reader(covered.strip_prefix(MAGIC)?);
        let promised = read_bid(&mut reader).ok()?;
        let agreed = read_agreed(&mut reader).ok()?;
        reader.end().ok()?;
        Some(Consent { promised, agreed })
    }
}

pub(super) fn put_bid(to: &mut Vec<u8>, bid: Option<&Bid>) {
    to.extend_from_slice(&bid.map_or(0, |bid| bid.round).to_le_bytes());
    if let Some(bid) = bid {
        put_text(to, bid.name.as_str(), NODE_NAME_LEN_MAX);
    }
}

pub(super) fn read_bid(reader: &mut Reader<'_>) -> Result<Option<Bid>, FrameError> {
    match reader.u64()? {
        0 => Ok(None),
        round => Ok(Some(Bid { round, name: reader.name()? })),
    }
}

pub(super) fn put_founder(to: &mut Vec<u8>, founder: &Founder) {
    to.extend_from_slice(&founder.member.get().to_le_bytes());
    to.extend_from_slice(&founder.cluster.get().to_le_bytes());
    put_text(to, founder.name.as_str(), NODE_NAME_LEN_MAX);
}

pub(super) fn read_founder(reader: &mut Reader<'_>) -> Result<Founder, FrameError> {
    let member = MemberId::new(reader.u64()?).ok_or(FrameError::Impossible("member"))?;
    let cluster = ClusterId::new(reader.u128()?).ok_or(FrameError::Impossible("cluster"))?;
    Ok(Founder { name: reader.name()?, member, cluster })
}

pub(super) fn put_agreed(to: &mut Vec<u8>, agreed: Option<&(Bid, Founder)>) {
    to.push(u8::from(agreed.is_some()));
    if let Some((bid, founder)) = agreed {
        put_bid(to, Some(bid));
        put_founder(to, founder);
    }
}

pub(super) fn read_agreed(reader: &mut Reader<'_>) -> Result<Option<(Bid, Founder)>, FrameError> {
    if reader.u8()? == 0 {
        return Ok(None);
    }
    let bid = read_bid(reader)?.ok_or(FrameError::Impossible("bid"))?;
    Ok(Some((bid, read_founder(reader)?)))
}
