//! Every number a reviewer would ask about.

/// Contents that one message with entries names, unless a single entry is longer.
pub const MESSAGE_CONTENTS_LEN_MAX: u64 = 512 * 1024;
/// Messages with entries that a member may leave unanswered. With [`MESSAGE_CONTENTS_LEN_MAX`] it bounds what is under way to one.
pub const MESSAGES_UNDER_WAY_MAX: usize = 64;
/// Entries in one message: the engine counts an entry as at least [`ENTRY_LEN`] bytes, so it never makes more.
pub const ENTRIES_PER_MESSAGE_MAX: usize = 65_535;
/// So many entries may a member be behind the leader's committed ones, to become a voter or the leader: what one round trip may bring.
pub const CAUGHT_UP_ENTRIES: u64 = 4_096;
/// Bytes of an entry in a message, those of a change of members apart.
pub(crate) const ENTRY_LEN: u64 = raft_proto::eraftpb::ENTRY_LEN as u64;
/// Members of each sort in a group, those on their way in or out included.
pub const MEMBERS_MAX: usize = 32;
/// Bytes of an encoded message, contents apart.
pub const MESSAGE_LEN_MAX: usize = 2 * 1024 * 1024;
/// No index or term is higher: so one more never overflows.
pub(crate) const NUMBER_MAX: u64 = u64::MAX / 4;

const _: () = assert!(
    MESSAGE_CONTENTS_LEN_MAX / ENTRY_LEN < ENTRIES_PER_MESSAGE_MAX as u64,
    "the engine must not make what no peer takes"
);
