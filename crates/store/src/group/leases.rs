//! Files that others fetch, which a leader would remove because a newer checkpoint no longer names them. Under load that happens
//! faster than they are fetched: a member that is far behind would begin again and again. So they stay, for a while.
//!
//! A fetching member begins with the checkpoint: the lease begins then, of it and of all segments that it names. Each piece that is
//! read of these prolongs it. It costs space and nothing else; where there is no more of that, the lease is what gives way, and the member
//! begins again with the newest checkpoint and the segments it has by then.

use std::time::{Duration, Instant};

use model::ids::SegmentId;

use super::announcement::FileName;

/// A file that is not read for so long is no longer being fetched.
const LEASE_TIME: Duration = Duration::from_secs(60);
/// No lease lasts longer, once a newer checkpoint is in force.
const LEASE_TIME_MAX: Duration = Duration::from_secs(600);
/// More than there are members that fetch at a time.
const LEASES_MAX: usize = 8;

/// What a checkpoint needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NamedFiles {
    checkpoint: u64,
    /// Sorted.
    segments: Vec<SegmentId>,
}

impl NamedFiles {
    pub(crate) fn new(checkpoint: u64, segments: impl IntoIterator<Item = SegmentId>) -> NamedFiles {
        let mut segments: Vec<_> = segments.into_iter().collect();
        segments.sort_unstable();
        NamedFiles { checkpoint, segments }
    }

    pub(crate) fn has(&self, name: FileName) -> bool {
        match name {
            FileName::Checkpoint(number) => number == self.checkpoint,
            FileName::Segment(id) => self.segments.binary_search(&id).is_ok(),
        }
    }
}

#[derive(Debug)]
struct Lease {
    files: NamedFiles,
    until: Instant,
    /// It ends then, even if it is still read.
    last: Instant,
}

/// What a leader keeps for others.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    in_force: Option<NamedFiles>,
    leases: Vec<Lease>,
}

impl Leases {
    /// This checkpoint has come into force. `None`: this member does not lead, and removes nothing.
    pub(crate) fn set_in_force(&mut self, files: Option<NamedFiles>) {
        self.in_force = files;
    }

    /// A piece of that file is about to be read for another member.
    pub(crate) fn touch(&mut self, name: FileName, now: Instant) {
        let in_force = self.in_force.as_ref().filter(|files| files.has(name));
        for lease in self.leases.iter_mut().filter(|lease| lease.files.has(name)) {
            if in_force == Some(&lease.files) {
                lease.last = now + LEASE_TIME_MAX;
            }
            lease.until = lease.last.min(now + LEASE_TIME);
        }
        if let (Some(files), FileName::Checkpoint(_)) = (in_force, name)
            && !self.leases.iter().any(|lease| lease.files == *files)
        {
            if self.leases.len() == LEASES_MAX {
                self.leases.remove(0);
            }
            let files = files.clone();
            self.leases.push(Lease { files, until: now + LEASE_TIME, last: now + LEASE_TIME_MAX });
        }
    }

    /// What must not be removed yet.
    pub(crate) fn kept(&mut self, now: Instant) -> Vec<NamedFiles> {
        self.leases.retain(|lease| lease.until > now);
        self.leases.iter().map(|lease| lease.files.clone()).collect()
    }

    /// When something may be removed that must not be yet.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.leases.iter().map(|lease| lease.until).min()
    }

    /// There is no room for them.
    pub(crate) fn give_way(&mut self) {
        self.leases.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(checkpoint: u64, segments: &[u32]) -> NamedFiles {
        NamedFiles::new(checkpoint, segments.iter().map(|id| SegmentId(*id)))
    }

    fn segment(id: u32) -> FileName {
        FileName::Segment(SegmentId(id))
    }

    #[test]
    fn what_is_fetched_stays_as_long_as_it_is_read_and_not_for_ever() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let mut leases = Leases::default();
        leases.touch(FileName::Checkpoint(1), at(0));
        assert!(leases.kept(at(0)).is_empty(), "who does not lead removes nothing");
        leases.set_in_force(Some(files(1, &[3, 1])));
        leases.touch(segment(1), at(0));
        assert!(leases.kept(at(0)).is_empty(), "a fetch begins with the checkpoint");
        leases.touch(FileName::Checkpoint(1), at(0));
        leases.touch(FileName::Checkpoint(1), at(10));
        leases.set_in_force(Some(files(2, &[3, 4])));
        leases.touch(FileName::Checkpoint(1), at(20));
        assert_eq!((leases.kept(at(79)), leases.next_end()), (vec![files(1, &[1, 3])], Some(at(80))));
        for secs in 3..70 {
            leases.touch(segment(3), at(secs * 10));
            let is_kept = leases.kept(at(secs * 10)).iter().any(|kept| kept.has(segment(1)));
            assert_eq!(is_kept, secs < 61, "{secs}");
        }
        assert_eq!(leases.next_end(), None);
    }

    #[test]
    fn there_are_not_very_many() {
        let start = Instant::now();
        let mut leases = Leases::default();
        for number in 1..30 {
            leases.set_in_force(Some(files(number, &[number as u32])));
            leases.touch(FileName::Checkpoint(number), start);
        }
        let kept = leases.kept(start);
        assert!(kept.len() == LEASES_MAX && kept.iter().all(|files| files.checkpoint >= 22));
        leases.give_way();
        assert!(leases.kept(start).is_empty());
    }
}
