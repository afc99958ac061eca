//! What a member does with its disk beside the journal: ballots, and reading commits back for members that are far behind.
//!
//! A thread that hears messages or ticks must not wait for a disk that may hang: others would hear nothing of this member, and a leader
//! could not learn that it no longer leads. So the engine's lock is never held meanwhile, and a thread of its own does it. A member
//! that is stepped does it when it has let go of the lock, or by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use consensus::Ballot;
use parking_lot::{Condvar, Mutex};
use store::OpenError;
use store::group::Ballots;
use store::journal::{DiskOperation, DiskWatch, EntryReader};

use super::{Member, MemberShared};
use crate::disk_job::DiskJob;
use crate::error::MemberError;
use crate::outgoing::Outgoing;
use crate::wanted_ballots::BallotNumber;

/// What does it, and when.
pub(crate) struct DiskWorker {
    ballots: Mutex<Ballots>,
    reader: Mutex<EntryReader>,
    /// Since when the disk is at work.
    pub(super) watch: Arc<DiskWatch>,
    /// The thread waits here, with `core`.
    work: Condvar,
    is_threaded: bool,
    /// Of a member that is stepped: only [`Member::step_disk`] does it.
    is_by_hand: AtomicBool,
    is_stopping: AtomicBool,
}

impl DiskWorker {
    pub(super) fn new(ballots: Ballots, is_threaded: bool) -> DiskWorker {
        DiskWorker {
            ballots: Mutex::new(ballots),
            reader: Mutex::new(EntryReader::new()),
            watch: Arc::new(DiskWatch::new(Instant::now())),
            work: Condvar::new(),
            is_threaded,
            is_by_hand: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
        }
    }
}

/// The thread; it ends when this is dropped.
pub(super) struct DiskThread {
    shared: Arc<MemberShared>,
    handle: Option<JoinHandle<()>>,
}

impl DiskThread {
    pub(super) fn start(shared: &Arc<MemberShared>) -> Result<DiskThread, MemberError> {
        let of_thread = shared.clone();
        let run = move || {
            sampler::does(sampler::Work::Journal);
            of_thread.run_disk_work();
        };
        let spawned = std::thread::Builder::new().name("member disk".to_owned()).spawn(run);
        let handle = spawned.map_err(|error| OpenError::Io {
            attempt: "starting a thread for",
            path: shared.dir.path().to_owned(),
            error,
        })?;
        Ok(DiskThread { shared: shared.clone(), handle: Some(handle) })
    }
}

impl Drop for DiskThread {
    fn drop(&mut self) {
        let worker = &self.shared.disk_worker;
        worker.is_stopping.store(true, Ordering::SeqCst);
        // Under the lock, so that the thread is not between asking and waiting.
        drop(self.shared.core.lock());
        worker.work.notify_one();
        if self.handle.take().is_some_and(|handle| handle.join().is_err()) {
            tracing::error!("a thread of the group's member panicked");
        }
    }
}

impl Member {
    /// From now on nothing is done with the disk that [`Member::step_disk`] does not do; of a member that is stepped.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn do_disk_work_by_hand(&self) {
        self.shared.disk_worker.is_by_hand.store(true, Ordering::SeqCst);
    }

    /// Writes a ballot, or sends what had to be read back.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn step_disk(&self) {
        self.shared.do_next_job(&mut self.shared.disk_worker.reader.lock());
    }
}

impl MemberShared {
    /// There is something to be done.
    pub(super) fn begin_disk_work(&self) {
        if self.disk_worker.is_threaded {
            self.disk_worker.work.notify_one();
        } else if !self.disk_worker.is_by_hand.load(Ordering::SeqCst) {
            // Else the caller of this function is doing it.
            while let Some(mut reader) = self.disk_worker.reader.try_lock() {
                if !self.do_next_job(&mut reader) {
                    return;
                }
            }
        }
    }

    fn run_disk_work(&self) {
        let mut reader = self.disk_worker.reader.lock();
        while !self.disk_worker.is_stopping.load(Ordering::SeqCst) {
            if self.do_next_job(&mut reader) {
                continue;
            }
            let mut core = self.core.lock();
            if !core.has_job() && !self.disk_worker.is_stopping.load(Ordering::SeqCst) {
                self.disk_worker.work.wait(&mut core);
            }
        }
    }

    /// Says whether there was one.
    fn do_next_job(&self, reader: &mut EntryReader) -> bool {
        let job = self.core.lock().next_job();
        match job {
            None => return false,
            Some(DiskJob::Ballot(number, ballot)) => self.write_ballot(number, ballot),
            Some(DiskJob::Read(Outgoing { message, commits })) => {
                // If files no longer exist, the engine finds out with the next message, and has others shipped.
                let found = self.find_commits(&message, commits, reader);
                let is_sent = found.is_some_and(|commits| self.transport.send(message, commits));
                self.with_core(|core| core.read_for(is_sent));
            }
        }
        true
    }

    /// Has all that this member has promised last.
    pub(super) fn write_ballots(&self) -> Result<(), MemberError> {
        loop {
            let wanted = {
                let core = self.core.lock();
                if let Some(failure) = core.failure() {
                    return Err(MemberError::Failed(failure.clone()));
                }
                core.wanted_ballot()
            };
            let Some((number, ballot)) = wanted else { return Ok(()) };
            self.write_ballot(number, ballot);
        }
    }

    fn write_ballot(&self, number: BallotNumber, ballot: Ballot) {
        let written = {
            let mut ballots = self.disk_worker.ballots.lock();
            let _watched = self.disk_worker.watch.begin(DiskOperation::Ballot, Instant::now());
            ballots.write(ballot)
        };
        self.with_core(|core| match written {
            Ok(()) => core.ballot_written(number),
            Err(error) => core.fail(&format!("writing its ballot failed: {error}")),
        });
    }
}
