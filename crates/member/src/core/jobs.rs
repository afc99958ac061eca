//! Handing out what takes a disk, and taking its outcome.

use consensus::Engine;

use super::Core;
use crate::disk_job::DiskJob;

impl Core {
    /// What a thread that may wait for a disk has to do: a ballot, before anything else.
    pub(crate) fn next_job(&mut self) -> Option<DiskJob> {
        if self.failure.is_some() {
            return None;
        }
        if let Some((number, ballot)) = self.writes.next_ballot() {
            return Some(DiskJob::Ballot(number, ballot));
        }
        self.sending.next_to_read().map(DiskJob::Read)
    }

    pub(crate) fn has_job(&self) -> bool {
        self.failure.is_none() && (self.writes.next_ballot().is_some() || self.sending.has_to_read())
    }

    /// A message that commits were read for has left, or never will.
    pub(crate) fn read_for(&mut self, is_sent: bool) {
        if let Some(to) = self.sending.end_reading()
            && !is_sent
            && self.failure.is_none()
        {
            self.engine.unreachable(to);
            self.pump();
        }
    }
}
