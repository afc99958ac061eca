//! Every number of the shell.

use std::time::Duration;

/// How long name, connection and TLS of a peer may take.
pub(super) const DIAL_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a handshake may take, TLS included.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The first wait before a peer is dialled again. Before that it is dialled once at once.
pub(super) const BACK_OFF_MIN: Duration = Duration::from_millis(50);
/// The last.
pub(super) const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// A connection that did not last so long is followed by a wait as if it had not been there.
pub(super) const SHORT_LIFE: Duration = Duration::from_secs(1);
/// After so long without a byte the kernel asks whether the other side is there, and gives up after as long again.
pub(super) const IDLE: Duration = Duration::from_secs(5);
/// So long may bytes on the lanes of votes, commits and calls be unacknowledged, or find no room. When a cut network is whole again, a
/// connection that waits for TCP's next attempt may wait for minutes; a new one does not.
pub(super) const UNACKNOWLEDGED: Duration = Duration::from_secs(5);

/// Connections that have not proved anything yet: more than all peers make at a time, and fewer than strangers could take all files with.
pub(super) const UNPROVED_COUNT_MAX: usize = 256;
/// Clients' connections to one peer that are being made; more wait. A thousand clients come at once when their node has ended.
pub(super) const FORWARDS_COUNT_MAX: usize = 32;
/// Connections that the kernel keeps until they are accepted.
pub(super) const BACKLOG: u32 = 1024;
/// Bytes gathered for one write.
pub(super) const WRITE_LEN: usize = 128 << 10;
/// Bytes read from one connection before others have their turn.
pub(super) const TURN_LEN: usize = 512 << 10;

/// Frames that wait on the lane of votes: seconds of heartbeats.
pub(super) const VOTES_COUNT_MAX: usize = 1024;
/// And their bytes.
pub(super) const VOTES_LEN_MAX: u64 = 1 << 20;
/// Frames that wait on the lane of commits: more than the engine leaves unanswered.
pub(super) const COMMITS_COUNT_MAX: usize = 256;
/// And their bytes, but for a single one, which the journal keeps anyway.
pub(super) const COMMITS_LEN_MAX: u64 = 64 << 20;
/// Calls of a peer that are not answered yet; more wait.
pub(super) const CALLS_COUNT_MAX: usize = 64;
/// Files that are fetched from a peer at a time; more wait.
pub(super) const FETCHES_COUNT_MAX: usize = 2;
/// Pieces of a file that wait for their receiver.
pub(super) const PIECES_COUNT_MAX: usize = 4;
/// How long the same sentence about strangers is not logged again.
pub(super) const SILENCE: Duration = Duration::from_secs(60);
/// Strangers' sentences that are remembered.
pub(super) const LOGGED_COUNT_MAX: usize = 64;
/// How far two clocks may be apart without a word.
pub(super) const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(30);

const _: () = assert!(7 * FORWARDS_COUNT_MAX < UNPROVED_COUNT_MAX, "the clients of seven peers take all places");
