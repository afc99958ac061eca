//! Consensus: one member of one group decides, with its peers, which entries are in the group's log and which member leads.
//!
//! ```text
//!   tick, step(message), propose(len), change(members) ─► Engine ─► Ready: write ballot, restore, append ─► persisted(number)
//!                                                                         send messages, ship files
//!                                                                         committed up to, leadership, members
//! ```
//!
//! - `engine`: the trait, the only door; `raft_engine`: it over raft-rs, with `storage` and `translate` between its structs and ours.
//! - `log`: where entries stand, in memory; `mark`: how far they may be called committed; `ballot`: what was promised, as two sectors;
//!   `members`: which members a group has.
//! - `message`: what members say; `wire`: as bytes. `ready`: what is to be done. `limits`: every number.
//!
//! **Contents never come in here.** An entry is its term, index, kind and length; its bytes are a commit of the journal. The sender of an
//! `Append` puts the bytes behind it, the receiver that appends has them from the message before: see `message`.
//!
//! Deliberately absent: clocks, threads, files, sockets, groups (their number is for panics only), and reads that need no leader's disk.
//! `docs/dev/cluster.md` has the rules for an engine's driver.

mod ballot;
mod engine;
mod entry;
mod ids;
mod limits;
mod log;
mod mark;
mod members;
mod message;
mod raft_engine;
mod random;
mod ready;
mod storage;
mod translate;
mod wire;

pub use ballot::{Ballot, BallotFile, NumberedBallot, SECTOR_LEN, Sector};
pub use engine::{Engine, PeerStatus, Refusal, Status};
pub use entry::{Entry, Kind, Proposal};
pub use ids::{GroupId, Index, LogId, MemberId, Term};
pub use limits::{
    CAUGHT_UP_ENTRIES, ENTRIES_PER_MESSAGE_MAX, MEMBERS_MAX, MESSAGE_CONTENTS_LEN_MAX, MESSAGE_LEN_MAX,
    MESSAGES_UNDER_WAY_MAX,
};
pub use log::{Log, LogError};
pub use members::{Base, MemberChange, MemberStep, Members};
pub use message::{Body, Message, Round};
pub use raft_engine::{OpenError, Opening, RaftEngine, Timing};
pub use ready::{Leadership, Ready, ReadyNumber, Role, Shipment};
pub use wire::DecodeError;
