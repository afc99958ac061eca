//! Opening a member's journal, and opening it anew: after entries were replaced, when shipped files come into force, and when a store that
//! was open on it has been dropped.

use std::io;
use std::sync::Arc;

use consensus::{Ballot, Base, GroupId, Index, Log, LogId, MemberId, Opening, RaftEngine};
use model::ids::JournalPosition;
use parking_lot::{Condvar, Mutex};

use super::announcement::Announcement;
use super::ballots::Ballots;
use super::core::Core;
use super::disk_work::{DiskThread, DiskWorker};
use super::found_entry::FoundEntry;
use super::identity::{Founding, Identity};
use super::tail::Ends;
use super::{JournalThreads, Member, MemberError, MemberShared, Options, Transport, entry_kind};
use crate::directory::DataDir;
use crate::file::Disk;
use crate::journal::{self, OnEvent, Recovery};
use crate::manifest::{Manifest, ManifestFile};
use crate::paths::Paths;
use crate::recovery::{self, OpenError, RecoveredStore, attempting};
use crate::{Store, store};

/// The one group there is.
const GROUP: GroupId = GroupId(1);

/// A journal that was read.
struct FoundJournal {
    recovery: Recovery,
    entries: Vec<FoundEntry>,
    end: JournalPosition,
}

impl Member {
    /// Makes a directory the first member of a new group, with all that is in it. It must not be open.
    ///
    /// # Errors
    ///
    /// It cannot be opened, or belongs to a group already.
    pub fn found(
        options: crate::Options,
        disk: &Arc<dyn Disk>,
        cluster: u128,
        member: MemberId,
        name: String,
    ) -> Result<(), MemberError> {
        let paths = Paths::new(&options.dir);
        refuse_members(&**disk, &paths)?;
        // Once as a store: whatever of the journal's end may not be on disk is then.
        let (store, _) = Store::open(options, disk.clone())?;
        let position = store.appended();
        drop(store);
        let founding = Founding { position, base: founding_base(disk, &paths, member)? };
        found_ballot(&**disk, &paths, member, founding.base.id.term, founding.base.id.index)?;
        let identity = Identity { cluster, member, name, founding: Some(founding) };
        identity.write(&**disk, &paths.group()).map_err(attempting("writing", &paths.group()))?;
        Ok(())
    }

    /// Makes a directory a member that has nothing yet, and is to receive all from its leader.
    ///
    /// # Errors
    ///
    /// It cannot be opened, is not empty, or belongs to a group already.
    pub fn join(
        options: crate::Options,
        disk: &Arc<dyn Disk>,
        cluster: u128,
        member: MemberId,
        name: String,
    ) -> Result<(), MemberError> {
        let paths = Paths::new(&options.dir);
        refuse_members(&**disk, &paths)?;
        let (store, found) = Store::open(options, disk.clone())?;
        if store.appended() > JournalPosition::START || !found.definitions.is_empty() {
            return Err(MemberError::NotEmpty { dir: paths.dir().to_owned() });
        }
        drop(store);
        forget_ballot(&**disk, &paths)?;
        let identity = Identity { cluster, member, name, founding: None };
        identity.write(&**disk, &paths.group()).map_err(attempting("writing", &paths.group()))?;
        Ok(())
    }

    /// Opens a member where it was.
    ///
    /// # Errors
    ///
    /// The directory is no member's, is damaged, or has lost what it promised.
    pub fn open(options: Options, disk: Arc<dyn Disk>, transport: Arc<dyn Transport>) -> Result<Member, MemberError> {
        let paths = Paths::new(&options.store.dir);
        let dir = Arc::new(DataDir::open(&*disk, &options.store.dir).map_err(OpenError::from)?);
        let group = paths.group();
        let identity = Identity::read(&*disk, &group).map_err(attempting("reading", &group))?;
        let identity = identity.ok_or(MemberError::NoMember)?;
        for dir in [paths.checkpoints(), paths.segments()] {
            disk.create_dir(&dir).map_err(attempting("creating", &dir))?;
        }
        let manifest = open_manifest(&*disk, &paths)?;
        let (base, start) = log_start(manifest.current(), &identity);
        let found = read_journal(&disk, &paths, manifest.current(), base.id.index)?;
        let (log, ends) = log_of(base, start, &found)?;
        let (ballots, ballot) =
            Ballots::open(&*disk, &paths.ballot(), identity.member).map_err(attempting("reading", &paths.ballot()))?;
        let opening = Opening {
            group: GROUP,
            member: identity.member,
            ballot,
            checkpoint: log.base().id.index,
            log,
            timing: options.timing,
            seed: options.seed,
        };
        let engine = RaftEngine::open(opening)?;
        let core = Core::new(engine, ends);
        let disk_worker = DiskWorker::new(ballots, !options.is_stepped);
        let shared = Arc::new(MemberShared {
            disk,
            paths,
            dir,
            options,
            identity,
            transport,
            core: Mutex::new(core),
            changed: Condvar::new(),
            has_notice: Condvar::new(),
            watch: Mutex::default(),
            sender: Mutex::new(()),
            disk_worker,
            files: Mutex::new(Some(manifest)),
            threads: Mutex::default(),
            transition: Mutex::default(),
            leases: Arc::default(),
        });
        let is_threaded = !shared.options.is_stepped;
        let disk_thread = is_threaded.then(|| DiskThread::start(&shared)).transpose()?;
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
    fn stop_journal(&self) -> Result<(), journal::Failed> {
        match std::mem::take(&mut *self.threads.lock()) {
            JournalThreads::Running(threads) => threads.stop(),
            JournalThreads::Stepped(mut stepped) => {
                while !matches!(stepped.0.commit_once()?, journal::Progress::Idle | journal::Progress::Held) {
                    stepped.1.prepare_once();
                }
                stepped.0.sync_once()
            }
            JournalThreads::None => Ok(()),
        }
    }

    fn rebuild(self: &Arc<Self>) -> Result<(), MemberError> {
        self.watch.lock().clear();
        // What it could not write is written again below.
        let _ = self.stop_journal();
        self.leases.lock().set_in_force(None);
        self.restore_files()?;
        loop {
            let current = self.manifest()?;
            let (base, _) = log_start(&current, &self.identity);
            let found = read_journal(&self.disk, &self.paths, &current, base.id.index)?;
            let difference = self.core.lock().first_difference(&found.entries);
            let Some(difference) = difference else { return self.start_journal(found) };
            drop(found);
            tracing::info!(entry = %difference.id, position = difference.first.0, "takes back what was not committed");
            let journal = self.paths.journal();
            journal::truncate(
                &self.disk,
                &journal,
                current.position,
                current.journal_generation_min,
                difference.first,
            )?;
        }
    }

    fn manifest(&self) -> Result<Manifest, MemberError> {
        let mut files = self.files.lock();
        if files.is_none() {
            *files = Some(open_manifest(&*self.disk, &self.paths)?);
        }
        Ok(files.as_ref().expect("it is open").current().clone())
    }

    /// Puts files that were shipped in force, if the engine wants that.
    fn restore_files(&self) -> Result<(), MemberError> {
        let pulled = self.core.lock().restoring().cloned();
        let Some(pulled) = pulled else { return Ok(()) };
        let current = self.manifest()?;
        let recovery =
            Recovery::open(self.disk.clone(), &self.paths.journal(), current.position, current.journal_generation_min)?;
        // It may say more than what is shipped has, of entries that the group does not have.
        let journal_dir = self.paths.journal();
        journal::lower_synced(&*self.disk, &journal_dir, pulled.position())
            .map_err(attempting("writing", &journal_dir))?;
        self.put_in_force(&pulled, Some(recovery.generation_max + 1))?;
        // The engine has wanted nothing else since.
        self.write_ballots()?;
        self.core.lock().restored();
        Ok(())
    }

    /// Has the journal written, by what the leader sends.
    fn start_journal(self: &Arc<Self>, found: FoundJournal) -> Result<(), MemberError> {
        let FoundJournal { mut recovery, entries, end } = found;
        recovery.set_committed(self.committed().1.min(end));
        let options = self.options.store.journal.clone();
        let replication = Some(self.replication(false));
        let (journal, threads) = if self.options.is_stepped {
            let (journal, writer, preallocator) = journal::assemble(recovery, options, self.on_event(), replication)?;
            (journal, JournalThreads::Stepped(Box::new((writer, preallocator))))
        } else {
            let (journal, threads) = journal::start(recovery, options, self.on_event(), replication)?;
            (journal, JournalThreads::Running(threads))
        };
        *self.threads.lock() = threads;
        let manifest = self.manifest()?;
        loop {
            // What the journal is to be given came after it.
            self.write_ballots()?;
            let is_done = self.with_core(|core| {
                let is_written = core.wanted_ballot().is_none();
                // Meanwhile other files may have been shipped, which the engine's log begins with, or entries replaced that were found:
                // then it stays closed, and is opened anew.
                let is_the_logs = core.restoring().is_none() && core.first_difference(&entries).is_none();
                if is_written && is_the_logs {
                    // How far the checkpoint reached is not written down: if it was made here, no further than the journal did.
                    let (base, _) = log_start(&manifest, &self.identity);
                    // One of the time before the group is of no use to its members.
                    let announcement = Announcement::of(&manifest, journal.appended());
                    core.set_announcement(announcement.filter(|announcement| announcement.base == base));
                    core.follow(journal.clone());
                }
                is_written
            });
            if is_done {
                return Ok(());
            }
        }
    }

    fn on_event(self: &Arc<Self>) -> OnEvent {
        let member = Arc::downgrade(self);
        Arc::new(move |event| {
            if event == journal::Event::Failed
                && let Some(member) = member.upgrade()
            {
                member.journal_failed();
            }
        })
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
        self.stop_journal()?;
        *self.files.lock() = None;
        // What was fetched and is not in force is removed, as at any start.
        self.core.lock().note_sweep();
        let (store, recovered) = store::open_of_member(self.options.store.clone(), self, self.options.is_stepped)?;
        let led = self.with_core(|core| core.lead(&store.shared.journal));
        // Nothing was appended to it: dropping it leaves all as it is.
        led.map_err(|_| MemberError::NotLeader)?;
        Ok((store, recovered))
    }
}

fn refuse_members(disk: &dyn Disk, paths: &Paths) -> Result<(), MemberError> {
    match Identity::read(disk, &paths.group()).map_err(attempting("reading", &paths.group()))? {
        Some(identity) => Err(MemberError::Member { dir: paths.dir().to_owned(), cluster: identity.cluster }),
        None => Ok(()),
    }
}

/// Opens the manifest, and makes what it says last: else a power cut could bring back another one, whose files would no longer exist.
fn open_manifest(disk: &dyn Disk, paths: &Paths) -> Result<ManifestFile, OpenError> {
    let mut manifest = recovery::open_manifest(disk, paths)?;
    manifest.write_again(disk, &paths.manifest()).map_err(attempting("writing", &paths.manifest()))?;
    Ok(manifest)
}

/// Where the log begins, and at which position: a founder's, until it has made a checkpoint. What the manifest says may be of a group
/// that the directory belonged to before.
fn log_start(manifest: &Manifest, identity: &Identity) -> (Base, JournalPosition) {
    match (&manifest.base, &identity.founding) {
        (Some(base), Some(founding)) if base.id.index <= founding.base.id.index => {
            (founding.base.clone(), founding.position)
        }
        (Some(base), _) => (Base::clone(base), manifest.position),
        (None, Some(Founding { position, base })) => (base.clone(), *position),
        (None, None) => (Base::default(), JournalPosition::START),
    }
}

/// Where the log of a new group begins: at 1; in a directory that belonged to another group before, where that one's ended, so that all
/// entries of its journal are numbered as they follow each other.
fn founding_base(disk: &Arc<dyn Disk>, paths: &Paths, member: MemberId) -> Result<Base, OpenError> {
    let manifest = open_manifest(&**disk, paths)?;
    let before = manifest.current().base.as_ref().map(|base| base.id).unwrap_or_default();
    let found = read_journal(disk, paths, manifest.current(), before.index)?;
    let last = found.entries.last().map_or(before, |entry| entry.id);
    let base = Base::of_new_group([member]);
    Ok(if last.index > base.id.index { Base { id: last, ..base } } else { base })
}

/// What a founder has promised: nothing but the term in which its log begins. What it had promised another group counts no more.
fn found_ballot(
    disk: &dyn Disk,
    paths: &Paths,
    member: MemberId,
    term: consensus::Term,
    index: Index,
) -> Result<(), OpenError> {
    forget_ballot(disk, paths)?;
    if index.0 <= 1 {
        return Ok(());
    }
    let write = || Ballots::open(disk, &paths.ballot(), member)?.0.write(disk, Ballot { term, vote: None });
    write().map_err(attempting("writing", &paths.ballot()))
}

fn forget_ballot(disk: &dyn Disk, paths: &Paths) -> Result<(), OpenError> {
    match disk.remove(&paths.ballot()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(attempting("removing", &paths.ballot())(error)),
        _ => Ok(()),
    }
}

fn read_journal(
    disk: &Arc<dyn Disk>,
    paths: &Paths,
    manifest: &Manifest,
    base: Index,
) -> Result<FoundJournal, OpenError> {
    let mut recovery =
        Recovery::open(disk.clone(), &paths.journal(), manifest.position, manifest.journal_generation_min)?;
    let mut entries = Vec::new();
    let end = recovery.read_entries(&mut |found| {
        if found.head.id.index > base {
            let kind = entry_kind(found.head.kind, &found.metas);
            entries.push(FoundEntry { id: found.head.id, first: found.first, end: found.end, kind });
        }
    })?;
    Ok(FoundJournal { recovery, entries, end })
}

/// The log that a directory has, and where its entries end.
fn log_of(base: Base, start: JournalPosition, found: &FoundJournal) -> Result<(Log, Ends), MemberError> {
    let damaged = |id: LogId, what: &str| MemberError::Log { what: format!("entry {id} of its journal {what}") };
    let mut ends = Ends::new(base.id.index, start);
    let mut log = Log::new(base);
    for entry in &found.entries {
        let kind = entry.kind.clone().ok_or_else(|| damaged(entry.id, "cannot be read"))?;
        if entry.first != ends.end() {
            return Err(damaged(entry.id, "does not begin where the one before ends"));
        }
        let is_records = kind == consensus::Kind::Records;
        let len = if is_records { (entry.end.0 - entry.first.0) as u32 } else { 0 };
        log.append(&consensus::Entry { id: entry.id, kind, len })
            .map_err(|error| damaged(entry.id, &error.to_string()))?;
        ends.push(entry.end);
    }
    if ends.end() != found.end {
        return Err(MemberError::Log { what: format!("its journal ends at {}, its log at {}", found.end, ends.end()) });
    }
    Ok((log, ends))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::SimDisk;
    use crate::fsck::{self, FsckError, Loss};

    #[test]
    fn a_members_directory_is_checked_and_not_repaired() {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
        let dir = Path::new("/data");
        let member = MemberId::new(1).unwrap();
        let options = crate::Options::small(dir.to_owned(), 1);
        Member::found(options, &disk, 7, member, "rabbit@a".to_owned()).unwrap();
        assert!(fsck::check(&disk, dir).unwrap().is_sound());
        assert!(matches!(fsck::repair(&disk, dir, Loss::Accepted), Err(FsckError::OfMember { .. })));
    }
}
