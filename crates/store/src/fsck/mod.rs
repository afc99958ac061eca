//! Checks the files of a stopped store, and repairs them: damaged parts are taken out, and what they referred to is put back together as
//! far as the intact parts allow. Whatever the bytes are, this ends with a report.
//!
//! - `forgiving`: what cannot be read is taken for zeros.
//! - `rehearsal`: where a repair is tried first, so that its losses are known before anything is changed.
//! - `scan`: one segment, message by message, with its footer or without.
//! - `repair`: writes what is left of damaged segments to new ones, then a new checkpoint and manifest, and only then moves damaged
//!   files to `quarantine/`. The journal's files, the manifest and `format` are written anew in their place: the report names them.
//!   Broken off at any point, it can be started again.
//!
//! A repair never makes a message that was lost; it may bring back some that were settled, where what said so is damaged.

mod forgiving;
mod rehearsal;
mod repair;
mod report;
mod scan;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::ids::JournalPosition;
use thiserror::Error;

use crate::ChunkBudget;
use crate::ChunkWriter;
use crate::checkpoint::{Checkpoint, SegmentState};
use crate::directory::{DirError, FORMAT, format_text, parse_format};
use crate::file::{Disk, Lock, read_exact_at};
use crate::journal::{self, Record, SyncedContent, read_synced};
use crate::manifest::{self, CheckpointFile, Manifest};
use crate::paths::Paths;
use crate::recovery::read_checkpoint;

use forgiving::ForgivingDisk;
use rehearsal::Rehearsal;
pub use report::{FileReport, Report, Verdict};
use scan::Scan;

/// Why nothing could be checked.
#[derive(Debug, Error)]
pub enum FsckError {
    /// The directory cannot be used by this process.
    #[error(transparent)]
    Directory(#[from] DirError),
    /// There is nothing of ours in the directory, or it does not exist.
    #[error("{} is not a Warren data directory", .dir.display())]
    NoDataDir {
        /// The directory.
        dir: std::path::PathBuf,
    },
    /// What is left of it is not for a cluster to count on, and a healthy member has all of it.
    #[error(
        "{} belongs to a cluster: a damaged member is not repaired; move the directory away, and let the node join the cluster again",
        .dir.display()
    )]
    OfMember {
        /// The directory.
        dir: std::path::PathBuf,
    },
    /// The disk said no.
    #[error("{attempt} {} failed: {error}", .path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// On which file.
        path: std::path::PathBuf,
        /// What it said.
        #[source]
        error: io::Error,
    },
}

fn attempting(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FsckError {
    move |error| FsckError::Io { attempt, path: path.to_owned(), error }
}

/// Checks the data directory of a broker that does not run. Changes nothing.
pub fn check(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Report, FsckError> {
    let _lock = lock(&**disk, dir, MissingLock::Left)?;
    Ok(Examination::new(&ForgivingDisk::new(disk.clone()), dir)?.report)
}

/// Whether a repair may lose what cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is to change nothing then, and to say what it would lose.
    Refused,
    /// What is left is worth more.
    Accepted,
}

/// Checks, and repairs what is damaged. The report says what was found and what was done about it, or if that is more loss than is
/// accepted, what would have been done.
pub fn repair(disk: &Arc<dyn Disk>, dir: &Path, loss: Loss) -> Result<Report, FsckError> {
    let _lock = lock(&**disk, dir, MissingLock::Created)?;
    if disk.open(&Paths::new(dir).group()).is_ok() {
        return Err(FsckError::OfMember { dir: dir.to_owned() });
    }
    if loss == Loss::Refused {
        let mut report = repair_on(Rehearsal::new(disk.clone(), Paths::new(dir).segments()), dir)?;
        if !report.losses.is_empty() {
            report.is_refused = true;
            return Ok(report);
        }
    }
    repair_on(disk.clone(), dir)
}

fn repair_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<Report, FsckError> {
    let forgiving = ForgivingDisk::new(disk);
    let examination = Examination::new(&forgiving, dir)?;
    if examination.report.is_sound() {
        return Ok(examination.report);
    }
    repair::repair(&forgiving, examination)
}

/// What is done about a lock file that is not there; no process holds it then.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingLock {
    Left,
    Created,
}

fn lock(disk: &dyn Disk, dir: &Path, missing: MissingLock) -> Result<Option<Box<dyn Lock>>, FsckError> {
    let names = list(disk, dir)?;
    let paths = Paths::new(dir);
    let mut is_ours = names.iter().any(|name| name == "format" || name == "manifest");
    for dir in [paths.journal(), paths.segments(), paths.checkpoints()] {
        is_ours |= !list(disk, &dir)?.is_empty();
    }
    if !is_ours {
        return Err(FsckError::NoDataDir { dir: dir.to_owned() });
    }
    if missing == MissingLock::Left && !names.iter().any(|name| name == "lock") {
        return Ok(None);
    }
    let path = dir.join("lock");
    let lock = disk.try_lock(&path).map_err(attempting("locking", &path))?;
    Ok(Some(lock.ok_or_else(|| DirError::Locked { dir: dir.to_owned(), pid: None })?))
}

/// What was found.
struct Examination {
    paths: Paths,
    report: Report,
    has_format: bool,
    /// The manifest in force; `None`: neither slot is valid, and no checkpoint is whole.
    manifest: Option<Manifest>,
    /// It is not what the disk has: that is damaged, and this is what it must have said.
    is_manifest_found: bool,
    /// Of the checkpoint and its copy, what is not there as it should be, and what is.
    checkpoint_to_restore: Option<(PathBuf, PathBuf)>,
    /// What it names; `None`: damaged.
    checkpoint: Option<Checkpoint>,
    /// The segments that the checkpoint names, or if it is damaged, all there are.
    segments: Vec<ExaminedSegment>,
    /// Whether the journal can be replayed.
    is_journal_sound: bool,
}

/// A segment and what the checkpoint says of it.
struct ExaminedSegment {
    /// `None`: the checkpoint is damaged.
    state: Option<SegmentState>,
    /// `None`: there is no such file.
    scan: Option<Scan>,
    /// Messages that it lost, as far as they can be counted.
    lost_count: u64,
}

impl Examination {
    fn new(forgiving: &Arc<ForgivingDisk>, dir: &Path) -> Result<Self, FsckError> {
        let disk: &Arc<dyn Disk> = &(forgiving.clone() as Arc<dyn Disk>);
        let mut examination = Examination {
            paths: Paths::new(dir),
            report: Report::new(dir),
            has_format: false,
            manifest: None,
            is_manifest_found: false,
            checkpoint_to_restore: None,
            checkpoint: None,
            segments: Vec::new(),
            is_journal_sound: false,
        };
        examination.look_at_format(&**disk)?;
        examination.look_at_manifest(&**disk)?;
        examination.look_at_checkpoints(&**disk)?;
        examination.look_at_segments(&**disk)?;
        examination.look_at_journal(disk);
        for (path, count) in forgiving.unreadable() {
            let pages = if count == 1 { "page" } else { "pages" };
            examination.report.damaged(&path, format!("{count} {pages} of 4096 bytes cannot be read"));
        }
        Ok(examination)
    }

    fn look_at_format(&mut self, disk: &dyn Disk) -> Result<(), FsckError> {
        let path = self.paths.dir().join("format");
        let expected = format_text();
        let found = read_start(disk, &path, 256)?;
        let text = found.as_deref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let newer = text.as_deref().and_then(parse_format);
        if let Some(format) = newer.filter(|format| *format > FORMAT) {
            return Err(DirError::NewerFormat { dir: self.paths.dir().to_owned(), format }.into());
        }
        self.has_format = text.as_deref() == Some(&expected);
        let has_manifest = list(disk, self.paths.dir())?.iter().any(|name| name == "manifest");
        let verdict = match found {
            // The next start writes it.
            None | Some(_) if !has_manifest && !self.has_format => Verdict::Leftover,
            None => Verdict::Missing,
            Some(_) if self.has_format => Verdict::Good,
            Some(_) => Verdict::Damaged,
        };
        self.report.add(&path, verdict, []);
        Ok(())
    }

    fn look_at_manifest(&mut self, disk: &dyn Disk) -> Result<(), FsckError> {
        let path = self.paths.manifest();
        let dirs = [self.paths.journal(), self.paths.segments(), self.paths.checkpoints()];
        let mut is_empty = true;
        for dir in dirs {
            is_empty &= list(disk, &dir)?.is_empty();
        }
        let slots = match disk.open(&path) {
            Ok(file) => manifest::slots(&*file).map_err(attempting("reading", &path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_empty => {
                self.manifest = Some(Manifest::FIRST);
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.report.add(&path, Verdict::Missing, []);
                return Ok(());
            }
            Err(error) => return Err(attempting("opening", &path)(error)),
        };
        self.manifest = slots.into_iter().flatten().max_by_key(|slot| slot.generation);
        match self.manifest {
            None if is_empty => {
                self.report.add(
                    &path,
                    Verdict::Leftover,
                    ["the first start was interrupted, nothing was stored".to_owned()],
                );
                self.manifest = Some(Manifest::FIRST);
            }
            None => self.report.add(&path, Verdict::Damaged, ["neither of its two slots is valid".to_owned()]),
            Some(Manifest { checkpoint: None, .. }) => {
                self.report.add(&path, Verdict::Good, ["no checkpoint has been written yet".to_owned()]);
            }
            Some(Manifest { checkpoint: Some(file), position, .. }) => {
                let text =
                    format!("checkpoint {} is in force, the journal is replayed from position {position}", file.number);
                self.report.add(&path, Verdict::Good, [text]);
            }
        }
        Ok(())
    }

    /// Where the manifest is damaged, or its newer slot, the newest whole checkpoint is the one that was in force: those before are
    /// removed as soon as one is.
    fn find_checkpoint(&mut self, disk: &dyn Disk) -> Result<(), FsckError> {
        let named = self.manifest.as_ref().and_then(|manifest| manifest.checkpoint);
        let is_whole = |file: CheckpointFile| {
            let paths = [self.paths.checkpoint(file.number), self.paths.checkpoint_copy(file.number)];
            paths.iter().any(|path| read_checkpoint(disk, path, file).is_ok())
        };
        if named.is_some_and(is_whole) || (named.is_none() && self.manifest.is_some()) {
            return Ok(());
        }
        let mut numbers = Vec::new();
        for name in list(disk, &self.paths.checkpoints())? {
            numbers.extend(Paths::checkpoint_number(&name).or_else(|| Paths::copy_number(&name)));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers.retain(|number| named.is_none_or(|named| *number > named.number));
        for number in numbers.into_iter().rev() {
            for path in [self.paths.checkpoint(number), self.paths.checkpoint_copy(number)] {
                let Some(bytes) = read_start(disk, &path, u64::MAX)? else { continue };
                let (Ok(checkpoint), Some(crc)) = (Checkpoint::decode(&bytes), bytes.last_chunk()) else { continue };
                let file = CheckpointFile { number, len: bytes.len() as u64, crc: u32::from_le_bytes(*crc) };
                let generation = self.manifest.as_ref().map_or(0, |manifest| manifest.generation) + 1;
                let text = format!("checkpoint {number} is complete, and newer than the one it names");
                self.report.damaged(&self.paths.manifest(), text);
                self.manifest = Some(Manifest::alone(generation, Some(file), checkpoint.position));
                self.is_manifest_found = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn look_at_checkpoints(&mut self, disk: &dyn Disk) -> Result<(), FsckError> {
        self.find_checkpoint(disk)?;
        let in_force = self.manifest.as_ref().and_then(|manifest| manifest.checkpoint);
        for name in list(disk, &self.paths.checkpoints())? {
            let Some(number) = Paths::checkpoint_number(&name).or_else(|| Paths::copy_number(&name)) else { continue };
            if in_force.is_none_or(|file| file.number != number) {
                let verdict = if self.manifest.is_some() { Verdict::Leftover } else { Verdict::Unknown };
                self.report.add(&self.paths.checkpoints().join(name), verdict, []);
            }
        }
        let Some(manifest) = self.manifest.clone() else { return Ok(()) };
        let Some(file) = manifest.checkpoint else {
            self.checkpoint = Some(Checkpoint::empty());
            return Ok(());
        };
        let (path, copy) = (self.paths.checkpoint(file.number), self.paths.checkpoint_copy(file.number));
        let has_copy = list(disk, &self.paths.checkpoints())?.iter().any(|name| copy.ends_with(name));
        let read = [read_checkpoint(disk, &path, file), read_checkpoint(disk, &copy, file)];
        self.checkpoint_to_restore = match &read {
            [Err(_), Ok(_)] => Some((path.clone(), copy.clone())),
            [Ok(_), Err(_)] if has_copy => Some((copy.clone(), path.clone())),
            _ => None,
        };
        for (path, read) in [path, copy].into_iter().zip(read).take(1 + usize::from(has_copy)) {
            match read {
                Ok(checkpoint) => {
                    let text = format!(
                        "{} definitions, {} queues, {} segments",
                        checkpoint.definitions.len(),
                        checkpoint.queues.len(),
                        checkpoint.segments.len()
                    );
                    self.report.add(&path, Verdict::Good, [text]);
                    self.checkpoint = Some(checkpoint);
                }
                Err(error) => self.report.add(&path, Verdict::Damaged, [error.to_string()]),
            }
        }
        Ok(())
    }

    fn look_at_segments(&mut self, disk: &dyn Disk) -> Result<(), FsckError> {
        let names = list(disk, &self.paths.segments())?;
        let mut present: Vec<_> = names.iter().filter_map(|name| Paths::segment_id(name)).collect();
        present.sort_unstable();
        let states = self.checkpoint.as_ref().map(|checkpoint| checkpoint.segments.clone());
        let named = states.as_ref().map(|states| states.iter().map(|state| state.id).collect::<Vec<_>>());
        for id in present.iter().filter(|id| named.as_ref().is_some_and(|named| !named.contains(id))) {
            self.report.add(&self.paths.segment(*id), Verdict::Leftover, []);
        }
        match states {
            Some(states) => {
                for state in states {
                    let is_present = present.binary_search(&state.id).is_ok();
                    self.look_at_segment(disk, state.id, Some(state), is_present)?;
                }
            }
            None => {
                for id in present {
                    self.look_at_segment(disk, id, None, true)?;
                }
            }
        }
        Ok(())
    }

    fn look_at_segment(
        &mut self,
        disk: &dyn Disk,
        id: model::ids::SegmentId,
        state: Option<SegmentState>,
        is_present: bool,
    ) -> Result<(), FsckError> {
        let path = self.paths.segment(id);
        if !is_present {
            let lost = state.as_ref().map(scan::unsettled).unwrap_or_default();
            let lost_count = lost.values().sum::<u64>();
            self.report.lose(lost_count);
            let text = format!("the checkpoint names it, with {lost_count} messages");
            self.report.add(&path, Verdict::Missing, std::iter::once(text).chain(scan::describe(&lost)));
            self.segments.push(ExaminedSegment { state, scan: None, lost_count });
            return Ok(());
        }
        let mut scan = scan::scan(disk, &path, id, state.as_ref()).map_err(attempting("reading", &path))?;
        let text = match &state {
            Some(state) => {
                let live_count = state.settled.slot_count() - state.settled.set_count();
                format!("{} messages, {live_count} of them not settled", state.settled.slot_count())
            }
            None => format!("{} messages", scan.message_count()),
        };
        self.report.lose(scan.lost.values().sum());
        let verdict = if scan.problems.is_empty() { Verdict::Good } else { Verdict::Damaged };
        let details = std::iter::once(text).chain(scan.problems.iter().cloned()).chain(scan::describe(&scan.lost));
        self.report.add(&path, verdict, details);
        if state.is_some() && verdict == Verdict::Good {
            scan.ranges = Vec::new(); // a repair relies on the checkpoint then, and a backlog may have very many messages
        }
        let lost_count = scan.lost.values().sum();
        self.segments.push(ExaminedSegment { state, scan: Some(scan), lost_count });
        Ok(())
    }

    fn look_at_journal(&mut self, disk: &Arc<dyn Disk>) {
        let synced = self.paths.synced();
        match read_synced(&**disk, &synced) {
            SyncedContent::Position(position) => {
                self.report.add(&synced, Verdict::Good, [format!("the journal was synced up to position {position}")]);
            }
            SyncedContent::Damaged => {
                let text = "how far the journal was synced is not known".to_owned();
                self.report.add(&synced, Verdict::Damaged, [text]);
            }
            SyncedContent::Missing => {}
        }
        let position = self.manifest.as_ref().map_or(JournalPosition::START, |manifest| manifest.position);
        let generation_min = self.manifest.as_ref().map_or(0, |manifest| manifest.journal_generation_min);
        let (verdict, text) = match read_journal(disk, &self.paths, position, generation_min) {
            Ok((end, counts)) if counts.lost_len == 0 => {
                self.is_journal_sound = true;
                (Verdict::Good, format!("{} records from position {position} to {end}", counts.record_count))
            }
            Ok((end, counts)) => {
                self.is_journal_sound = true;
                let text = format!(
                    "{} records from position {position} to {end}; {} bytes of records were lost and marked so by a repair",
                    counts.record_count, counts.lost_len
                );
                (Verdict::Good, text)
            }
            // Without a manifest it is not known where to begin; the repair finds out.
            Err(error) if self.manifest.is_none() => (Verdict::Unknown, error.to_string()),
            Err(error) => (Verdict::Damaged, error.to_string()),
        };
        self.report.add(&self.paths.journal(), verdict, [text]);
    }
}

#[derive(Default)]
struct Counts {
    record_count: u64,
    lost_len: u64,
}

fn read_journal(
    disk: &Arc<dyn Disk>,
    paths: &Paths,
    from: JournalPosition,
    generation_min: u64,
) -> Result<(JournalPosition, Counts), journal::OpenError> {
    let mut counts = Counts::default();
    let mut recovery = journal::Recovery::open(disk.clone(), &paths.journal(), from, generation_min)?;
    let mut contents = ChunkWriter::new(ChunkBudget::new());
    let end = recovery.replay(&mut contents, &mut |_, record| {
        counts.record_count += 1;
        if let Record::Lost { len } = record {
            counts.lost_len += len;
        }
    })?;
    Ok((end, counts))
}

/// The names in a directory; none if there is no such directory.
fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, FsckError> {
    match disk.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        names => names.map_err(attempting("listing", dir)),
    }
}

/// The first bytes of a file; `None` if there is none.
fn read_start(disk: &dyn Disk, path: &Path, len_max: u64) -> Result<Option<Vec<u8>>, FsckError> {
    let file = match disk.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(attempting("opening", path))?,
    };
    let len = file.len().map_err(attempting("reading", path))?.min(len_max);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    read_exact_at(&*file, &mut bytes, 0).map_err(attempting("reading", path))?;
    Ok(Some(bytes))
}
