//! Opening a member's journal, and opening it anew: after entries were replaced, when shipped files come into force, and when a store that
//! was open on it has been dropped.

use std::sync::Arc;

use consensus::{Entry, GroupId, Kind, Log, LogId, MemberId, Opening, RaftEngine};
use parking_lot::{Condvar, Mutex};
use store::file::Disk;
use store::group::{FoundLog, MemberDir, OpenedStore, ReplicatedLog};
use store::{OpenError, RecoveredStore, Store};

use super::disk_work::{DiskThread, DiskWorker};
use super::{Member, MemberShared};
use crate::core::Core;
use crate::error::MemberError;
use crate::found_entry::FoundEntry;
use crate::options::Options;
use crate::tail::Ends;
use crate::transport::Transport;

/// The one group there is.
const GROUP: GroupId = GroupId(1);

/// A journal that was read.
struct FoundJournal {
    log: FoundLog,
    entries: Vec<FoundEntry>,
}

impl FoundJournal {
    fn read(dir: &MemberDir) -> Result<FoundJournal, OpenError> {
        let mut entries = Vec::new();
        let log = dir.read(&mut |found| entries.push(FoundEntry::of(&found)))?;
        Ok(FoundJournal { log, entries })
    }
}

impl Member {
    /// Makes a directory the first member of a new group: see [`MemberDir::found`].
    ///
    /// # Errors
    ///
    /// It cannot be opened, or belongs to a group already.
    pub fn found(
        options: store::Options,
        disk: &Arc<dyn Disk>,
        cluster: u128,
        member: MemberId,
        name: String,
    ) -> Result<(), MemberError> {
        Ok(MemberDir::found(options, disk, cluster, member, name)?)
    }

    /// Makes a directory a member that is to receive all from its leader: see [`MemberDir::join`].
    ///
    /// # Errors
    ///
    /// It cannot be opened, is not empty, or belongs to a group already.
    pub fn join(
        options: store::Options,
        disk: &Arc<dyn Disk>,
        cluster: u128,
        member: MemberId,
        name: String,
    ) -> Result<(), MemberError> {
        Ok(MemberDir::join(options, disk, cluster, member, name)?)
    }

    /// Opens a member where it was.
    ///
    /// # Errors
    ///
    /// The directory is no member's, is damaged, or has lost what it promised.
    pub fn open(options: Options, disk: Arc<dyn Disk>, transport: Arc<dyn Transport>) -> Result<Member, MemberError> {
        let Options { store, timing, seed, is_stepped } = options;
        let dir = MemberDir::open(store, disk, is_stepped)?;
        let found = FoundJournal::read(&dir)?;
        let (log, ends) = log_of(&found)?;
        let (ballots, ballot) = dir.open_ballots()?;
        let opening = Opening {
            group: GROUP,
            member: dir.identity().member,
            ballot,
            checkpoint: log.base().id.index,
            log,
            timing,
            seed,
        };
        let engine = RaftEngine::open(opening)?;
        let core = Core::new(engine, ends);
        let disk_worker = DiskWorker::new(ballots, !is_stepped);
        let shared = Arc::new(MemberShared {
            dir,
            is_stepped,
            transport,
            core: Mutex::new(core),
            changed: Condvar::new(),
            has_notice: Condvar::new(),
            watch: Mutex::default(),
            sender: Mutex::new(()),
            disk_worker,
            transition: Mutex::default(),
        });
        let disk_thread = (!is_stepped).then(|| DiskThread::start(&shared)).transpose()?;
        shared.start_journal(found)?;
        Ok(Member { _disk_thread: disk_thread, shared })
    }

    /// Opens the journal anew, if it has to be: after what the leader does not have was cut off, or shipped files have come into force.
    ///
    /// # Errors
    ///
    /// It cannot be opened. The member has failed.
    pub fn rebuild(&self) -> Result<(), MemberError> {
        let _alone = self.shared.transition.lock();
        if !self.is_to_be_rebuilt() {
            return Ok(());
        }
        self.shared.rebuild().inspect_err(|error| self.shared.with_core(|core| core.fail(&error.to_string())))
    }

    /// This member was elected: opens its directory as a store, on which a broker is to be started. Messages are heard meanwhile.
    ///
    /// # Errors
    ///
    /// It no longer leads, or the directory cannot be opened: then the member has failed.
    pub fn take_over(&self) -> Result<(Arc<Store>, RecoveredStore), MemberError> {
        self.shared.clone().take_over()
    }

    /// The store that was open is dropped: follows again.
    ///
    /// # Errors
    ///
    /// As of [`Member::rebuild`].
    pub fn step_back(&self) -> Result<(), MemberError> {
        self.shared.core.lock().step_back();
        self.rebuild()
    }
}

impl MemberShared {
    fn rebuild(self: &Arc<Self>) -> Result<(), MemberError> {
        self.watch.lock().clear();
        // What it could not write is written again below.
        let _ = self.dir.close_journal();
        self.restore_files()?;
        loop {
            let found = FoundJournal::read(&self.dir)?;
            let difference = self.core.lock().first_difference(&found.entries);
            let Some(difference) = difference else { return self.start_journal(found) };
            drop(found);
            tracing::info!(entry = %difference.id, position = difference.first.0, "takes back what was not committed");
            self.dir.truncate(difference.first)?;
        }
    }

    /// Puts files that were shipped in force, if the engine wants that.
    fn restore_files(&self) -> Result<(), MemberError> {
        let pulled = self.core.lock().restoring().cloned();
        let Some(pulled) = pulled else { return Ok(()) };
        self.dir.restore(&pulled, || self.note_sweep())?;
        // The engine has wanted nothing else since.
        self.write_ballots()?;
        self.core.lock().restored();
        Ok(())
    }

    /// Has the journal written, by what the leader sends.
    fn start_journal(self: &Arc<Self>, found: FoundJournal) -> Result<(), MemberError> {
        let FoundJournal { log, entries } = found;
        let this: Arc<dyn ReplicatedLog> = self.clone();
        let (journal, announcement) = self.dir.start_journal(log, &this)?;
        loop {
            // What the journal is to be given came after it.
            self.write_ballots()?;
            let is_done = self.with_core(|core| {
                let is_written = core.wanted_ballot().is_none();
                // Meanwhile other files may have been shipped, which the engine's log begins with, or entries replaced that were found:
                // then it stays closed, and is opened anew.
                let is_the_logs = core.restoring().is_none() && core.first_difference(&entries).is_none();
                if is_written && is_the_logs {
                    core.set_announcement(announcement.clone());
                    core.follow(journal.clone());
                }
                is_written
            });
            if is_done {
                return Ok(());
            }
        }
    }

    fn take_over(self: Arc<Self>) -> Result<(Arc<Store>, RecoveredStore), MemberError> {
        let _alone = self.transition.lock();
        if !self.core.lock().begin_opening() {
            return Err(MemberError::NotLeader);
        }
        let opened = self.open_store();
        match opened {
            Ok(opened) => Ok(opened),
            Err(MemberError::NotLeader) => Err(MemberError::NotLeader),
            Err(error) => {
                self.with_core(|core| core.fail(&error.to_string()));
                Err(error)
            }
        }
    }

    fn open_store(self: &Arc<Self>) -> Result<(Arc<Store>, RecoveredStore), MemberError> {
        self.dir.close_journal()?;
        // What was fetched and is not in force is removed, as at any start.
        self.note_sweep();
        let OpenedStore { store, recovered, journal } = self.dir.open_store(self.clone())?;
        let led = self.with_core(|core| core.lead(&journal));
        // Nothing was appended to it: dropping it leaves all as it is.
        led.map_err(|_| MemberError::NotLeader)?;
        Ok((store, recovered))
    }
}

/// The log that a directory has, and where its entries end.
fn log_of(found: &FoundJournal) -> Result<(Log, Ends), MemberError> {
    let damaged = |id: LogId, what: &str| MemberError::Log { what: format!("entry {id} of its journal {what}") };
    let FoundLog { base, start, end, .. } = &found.log;
    let mut ends = Ends::new(base.id.index, *start);
    let mut log = Log::new(base.clone());
    for entry in &found.entries {
        let kind = entry.kind.clone().ok_or_else(|| damaged(entry.id, "cannot be read"))?;
        if entry.first != ends.end() {
            return Err(damaged(entry.id, "does not begin where the one before ends"));
        }
        let len = if kind == Kind::Records { (entry.end.0 - entry.first.0) as u32 } else { 0 };
        log.append(&Entry { id: entry.id, kind, len }).map_err(|error| damaged(entry.id, &error.to_string()))?;
        ends.push(entry.end);
    }
    if ends.end() != *end {
        return Err(MemberError::Log { what: format!("its journal ends at {end}, its log at {}", ends.end()) });
    }
    Ok((log, ends))
}
