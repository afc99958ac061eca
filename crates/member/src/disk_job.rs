//! What takes a disk, and is done without the engine's lock.

use consensus::Ballot;

use super::outgoing::Outgoing;
use super::wanted_ballots::BallotNumber;

/// Something for a thread that may wait for a disk.
pub(crate) enum DiskJob {
    /// To be written, and to last.
    Ballot(BallotNumber, Ballot),
    /// To be sent when the commits that it lacks have been read.
    Read(Outgoing),
}
