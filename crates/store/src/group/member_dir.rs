//! The directory of a group's member, open: its journal passes here from one owner to another, and files come into force.
//!
//! ```text
//!             read, start_journal                        open_store
//!  follower ◄───────────────────── closed ────────────────────────────► leader's store
//!   install ─────────────────────►  truncate, restore ◄────────────────
//!                close_journal                            it is dropped
//! ```
//!
//! One of these at a time: the caller sees to that. Files are read for others, and fetched, beside them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consensus::BallotFile;
use model::ids::JournalPosition;
use parking_lot::Mutex;
use thiserror::Error;

use super::announcement::Announcement;
use super::ballots::Ballots;
use super::file_reader::FileReader;
use super::found_log::{FoundLog, log_start, open_manifest};
use super::identity::Identity;
use super::lead::Lead;
use super::leases::Leases;
use super::pull::{Pull, PullError, Pulled};
use super::replicated_log::ReplicatedLog;
use crate::checkpoint_copy;
use crate::directory::DataDir;
use crate::file::Disk;
use crate::journal::{self, Failed, FilePreallocator, FoundEntry, Journal, OnEvent, Progress, Recovery, Writer};
use crate::manifest::{CheckpointFile, Manifest, ManifestFile};
use crate::options::Options;
use crate::paths::Paths;
use crate::recovery::{OpenError, RecoveredStore, attempting};
use crate::store::{self, Store};

/// Why a directory is not, or cannot become, that of a member.
#[derive(Debug, Error)]
pub enum MemberDirError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It belongs to a group already.
    #[error("data directory {} belongs to cluster {cluster:032x} already", dir.display())]
    Member {
        /// The directory.
        dir: PathBuf,
        /// Its group's cluster.
        cluster: u128,
    },
    /// It belongs to no group.
    #[error("this directory belongs to no cluster")]
    NoMember,
    /// A directory that is to join a group has something in it.
    #[error("data directory {} is not empty: its contents would be lost", dir.display())]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
}

/// The directory of a member, locked against other processes. May be used by many threads.
pub struct MemberDir {
    disk: Arc<dyn Disk>,
    paths: Paths,
    lock: Arc<DataDir>,
    options: Options,
    is_stepped: bool,
    identity: Identity,
    /// Absent while a store has the directory, or before it is needed.
    manifest: Mutex<Option<ManifestFile>>,
    threads: Mutex<JournalThreads>,
    leases: Arc<Mutex<Leases>>,
}

/// What writes a follower's journal.
#[derive(Default)]
enum JournalThreads {
    #[default]
    None,
    Running(journal::Threads),
    Stepped(Box<(Writer, FilePreallocator)>),
}

/// A store that is open on the directory of a member that leads.
pub struct OpenedStore {
    /// The store.
    pub store: Arc<Store>,
    /// What was found in it.
    pub recovered: RecoveredStore,
    /// The store's.
    pub journal: Journal,
}

impl MemberDir {
    /// Opens a directory that is a member's. Its journal is closed. With `is_stepped` no threads write journals:
    /// [`MemberDir::step_journal`] does, and the steps of a store.
    ///
    /// # Errors
    ///
    /// The directory cannot be opened, or is no member's.
    pub fn open(options: Options, disk: Arc<dyn Disk>, is_stepped: bool) -> Result<MemberDir, MemberDirError> {
        let paths = Paths::new(&options.dir);
        let lock = Arc::new(DataDir::open(&*disk, &options.dir).map_err(OpenError::from)?);
        let group = paths.group();
        let identity = Identity::read(&*disk, &group).map_err(attempting("reading", &group))?;
        let identity = identity.ok_or(MemberDirError::NoMember)?;
        for dir in [paths.checkpoints(), paths.segments()] {
            disk.create_dir(&dir).map_err(attempting("creating", &dir))?;
        }
        Ok(MemberDir {
            disk,
            paths,
            lock,
            options,
            is_stepped,
            identity,
            manifest: Mutex::default(),
            threads: Mutex::default(),
            leases: Arc::default(),
        })
    }

    /// Which member of which group it is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.paths.dir()
    }

    /// Opens the file of this member's ballots, and says what is in it. To be called once.
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn open_ballots(&self) -> Result<(Ballots, BallotFile), OpenError> {
        let path = self.paths.ballot();
        Ballots::open(&self.disk, &path, self.identity.member).map_err(attempting("reading", &path))
    }

    /// Reads the journal, which is closed. `each` gets the entries of the log behind its base, in order.
    ///
    /// # Errors
    ///
    /// Manifest or journal cannot be read, or are damaged.
    pub fn read(&self, each: &mut dyn FnMut(FoundEntry)) -> Result<FoundLog, OpenError> {
        let manifest = self.manifest()?;
        let start = log_start(&manifest, &self.identity);
        FoundLog::read(&self.disk, &self.paths, &manifest, start, each)
    }

    fn manifest(&self) -> Result<Manifest, OpenError> {
        let mut manifest = self.manifest.lock();
        if manifest.is_none() {
            *manifest = Some(open_manifest(&*self.disk, &self.paths)?);
        }
        Ok(manifest.as_ref().expect("it is open").current().clone())
    }

    /// Has the journal written that was read, by what is handed to it from now on. Returns what others may fetch, too: `None` if no
    /// checkpoint is in force, or one of the time before the group.
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn start_journal(
        &self,
        found: FoundLog,
        log: &Arc<dyn ReplicatedLog>,
    ) -> Result<(Journal, Option<Announcement>), OpenError> {
        let FoundLog { mut recovery, base, end, .. } = found;
        recovery.set_committed(log.committed().1.min(end));
        let options = self.options.journal.clone();
        let replication = Some(log.clone().replication(false));
        let (journal, threads) = if self.is_stepped {
            let (journal, writer, preallocator) = journal::assemble(recovery, options, on_event(log), replication)?;
            (journal, JournalThreads::Stepped(Box::new((writer, preallocator))))
        } else {
            let (journal, threads) = journal::start(recovery, options, on_event(log), replication)?;
            (journal, JournalThreads::Running(threads))
        };
        *self.threads.lock() = threads;
        // How far the checkpoint reached is not written down: if it was made here, no further than the journal did.
        let announcement = Announcement::of(&self.manifest()?, journal.appended());
        // One of the time before the group is of no use to its members.
        Ok((journal, announcement.filter(|announcement| announcement.base == base)))
    }

    /// Writes and syncs what a follower's journal has gathered, as much as one step does; of a directory that is stepped.
    ///
    /// # Errors
    ///
    /// The journal has failed.
    pub fn step_journal(&self) -> Result<(), Failed> {
        if let JournalThreads::Stepped(stepped) = &mut *self.threads.lock() {
            stepped.0.commit_once()?;
            stepped.1.prepare_once();
        }
        Ok(())
    }

    /// Closes a follower's journal, with all that was handed to it. Nothing is kept for others any more.
    ///
    /// # Errors
    ///
    /// The journal has failed: what it could not write is lost. It is closed all the same.
    pub fn close_journal(&self) -> Result<(), Failed> {
        self.leases.lock().set_in_force(None);
        match std::mem::take(&mut *self.threads.lock()) {
            JournalThreads::Running(threads) => threads.stop(),
            JournalThreads::Stepped(mut stepped) => {
                while !matches!(stepped.0.commit_once()?, Progress::Idle | Progress::Held) {
                    stepped.1.prepare_once();
                }
                stepped.0.sync_once()
            }
            JournalThreads::None => Ok(()),
        }
    }

    /// Ends the threads of a follower's journal. What they could not write is lost, as by a crash.
    pub fn abandon_journal(&self) {
        if let JournalThreads::Running(threads) = std::mem::take(&mut *self.threads.lock()) {
            let _ = threads.stop();
        }
    }

    /// Cuts off what the journal, which is closed, has from a position on, where one of its entries begins.
    ///
    /// # Errors
    ///
    /// The disk said no, or no entry begins there.
    pub fn truncate(&self, to: JournalPosition) -> Result<(), OpenError> {
        let Manifest { position, journal_generation_min, .. } = self.manifest()?;
        Ok(journal::truncate(&self.disk, &self.paths.journal(), position, journal_generation_min, to)?)
    }

    /// Opens the directory as the store of a leader. The journal is closed. What no checkpoint names is removed, as at any start.
    ///
    /// # Errors
    ///
    /// As of [`Store::open`].
    pub fn open_store(&self, log: Arc<dyn ReplicatedLog>) -> Result<OpenedStore, OpenError> {
        *self.manifest.lock() = None;
        let lead = Lead::new(log, self.leases.clone());
        let (disk, lock) = (self.disk.clone(), self.lock.clone());
        let (store, recovered) = store::open_with_lead(self.options.clone(), disk, lock, lead, self.is_stepped)?;
        let journal = store.shared.journal.clone();
        Ok(OpenedStore { store, recovered, journal })
    }

    /// The position of the checkpoint that is in force on a follower; `None`: it is not known, a store may be open.
    #[must_use]
    pub fn checkpoint_position(&self) -> Option<JournalPosition> {
        self.manifest.lock().as_ref().map(|manifest| manifest.current().position)
    }

    /// What reads files for others, on whichever thread.
    #[must_use]
    pub fn file_reader(&self) -> FileReader {
        FileReader::new(self.disk.clone(), self.paths.clone(), self.leases.clone())
    }

    /// As if all fetching members had been away for long.
    #[cfg(any(test, feature = "simulation"))]
    pub fn end_leases(&self) {
        self.leases.lock().give_way();
    }

    /// Begins to fetch a checkpoint. What was fetched before and is not in force is removed. `sweeps` is how often the caller has seen
    /// files removed that nothing named, see [`Pulled::sweeps`].
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn pull(&self, announcement: Announcement, sweeps: u64) -> Result<Pull, PullError> {
        Pull::begin(self.disk.clone(), self.paths.clone(), announcement, sweeps)
    }

    /// Puts files in force that were fetched, of a checkpoint whose records a follower has. Calls `sweeping` when they are, and what they
    /// do not name is about to be removed. Returns what others may fetch from here.
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn install(&self, pulled: &Pulled, sweeping: impl FnOnce()) -> Result<Announcement, OpenError> {
        let file = self.put_in_force(pulled, None, sweeping)?;
        Ok(Announcement { file, ..pulled.announcement().clone() })
    }

    /// Puts files in force that were fetched, in place of all that is here; the journal, which is closed, is void. `sweeping` as for
    /// [`MemberDir::install`].
    ///
    /// # Errors
    ///
    /// The disk said no.
    pub fn restore(&self, pulled: &Pulled, sweeping: impl FnOnce()) -> Result<(), OpenError> {
        let current = self.manifest()?;
        let recovery =
            Recovery::open(self.disk.clone(), &self.paths.journal(), current.position, current.journal_generation_min)?;
        // It may say more than what is shipped has, of entries that the group does not have.
        let journal_dir = self.paths.journal();
        journal::lower_synced(&*self.disk, &journal_dir, pulled.position())
            .map_err(attempting("writing", &journal_dir))?;
        self.put_in_force(pulled, Some(recovery.generation_max + 1), sweeping).map(drop)
    }

    /// Switches the manifest to files that were fetched, and removes what it does not name. With a generation: the journal's older files no
    /// longer count.
    fn put_in_force(
        &self,
        pulled: &Pulled,
        journal_generation_min: Option<u64>,
        sweeping: impl FnOnce(),
    ) -> Result<CheckpointFile, OpenError> {
        let Announcement { base, position, file, .. } = pulled.announcement();
        let (disk, paths) = (&*self.disk, &self.paths);
        let (checkpoints, from) = (paths.checkpoints(), paths.arriving_checkpoint());
        let number = 1 + self.list(checkpoints.clone())?.iter().filter_map(|name| number_of(name)).max().unwrap_or(0);
        let file = CheckpointFile { number, ..*file };
        let to = paths.checkpoint(number);
        disk.rename(&from, &to).map_err(attempting("renaming", &from))?;
        match checkpoint_copy::make(disk, paths, file) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(attempting("reading back", &to)(error));
            }
            Err(error) => tracing::warn!(path = %to.display(), %error, "the checkpoint could not be copied"),
            Ok(()) => {}
        }
        disk.sync_dir(&checkpoints).map_err(attempting("syncing", &checkpoints))?;
        let mut manifest = self.manifest.lock();
        let open = manifest.as_mut().expect("a member that follows has its manifest open");
        let base = Arc::new(base.clone());
        let switched = match journal_generation_min {
            Some(generation_min) => open.restore(file, *position, base, generation_min),
            None => open.switch(file, *position, Some(base)),
        };
        switched.map_err(attempting("switching", &paths.manifest()))?;
        drop(manifest);
        sweeping();
        self.remove_unnamed(pulled, number)?;
        Ok(file)
    }

    /// Removes checkpoints and segments that the one in force does not name.
    fn remove_unnamed(&self, pulled: &Pulled, number: u64) -> Result<(), OpenError> {
        for name in self.list(self.paths.checkpoints())? {
            if number_of(&name).is_some_and(|found| found != number) {
                self.remove(self.paths.checkpoints().join(name));
            }
        }
        for name in self.list(self.paths.segments())? {
            if Paths::segment_id(&name).is_some_and(|id| !pulled.names(id)) {
                self.remove(self.paths.segments().join(name));
            }
        }
        Ok(())
    }

    fn list(&self, dir: PathBuf) -> Result<Vec<String>, OpenError> {
        self.disk.list(&dir).map_err(attempting("listing", &dir))
    }

    /// What cannot be removed costs space until it can.
    fn remove(&self, path: PathBuf) {
        if let Err(error) = self.disk.remove(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "removing an unused file failed");
        }
    }
}

fn number_of(name: &str) -> Option<u64> {
    Paths::checkpoint_number(name).or_else(|| Paths::copy_number(name))
}

/// Weak: the log keeps the journal.
fn on_event(log: &Arc<dyn ReplicatedLog>) -> OnEvent {
    let log = Arc::downgrade(log);
    Arc::new(move |event| {
        if event == journal::Event::Failed
            && let Some(log) = log.upgrade()
        {
            log.journal_failed();
        }
    })
}
