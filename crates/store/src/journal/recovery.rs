//! Finds out which files the journal has and how they continue each other. Only reads; `fsck` uses it too.
//!
//! The files in use, in the order of their generations, are a chain: each begins somewhere at or before the end of the
//! one before and replaces what that has from there on. The chain is read from the last file that begins at or before
//! the checkpoint's position. The header alone shows what a file means, see [`super::files`].
//!
//! A file of a replicated journal may begin before earlier ones do: the journal was cut off there, and those no longer mean anything.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consensus::LogId;
use model::ids::JournalPosition;

use super::format::{COMMIT_HEADER_LEN_MAX, CommitHeader, FILE_HEADER_LEN, FileHeader, FileState, Layout};
use super::options::{FilePlace, OpenError};
use super::synced::{self, SyncedContent};
use crate::file::{Disk, File, PAGE_LEN, read_exact_at};

/// How the names of journal files end.
pub(crate) const EXTENSION: &str = ".journal";

/// The journal as it was found.
pub struct Recovery {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    /// Records that end at or before this are in the checkpoint.
    pub(crate) from: JournalPosition,
    /// The journal was synced up to here, by a record elsewhere; it may reach further.
    pub(crate) synced: JournalPosition,
    /// Files in use, by generation.
    pub(crate) files: Vec<FoundFile>,
    /// Which of them is read first.
    pub(crate) start: usize,
    /// Files of which replay finds out whether they have a meaning.
    headless: Vec<HeadlessFile>,
    /// Files without meaning.
    pub(crate) spares: Vec<SpareFile>,
    /// Files that had one once: what they have is not to be found again.
    pub(crate) void: Vec<SpareFile>,
    generation_min: u64,
    /// No file has had a higher generation.
    pub(crate) generation_max: u64,
    /// No file has a name with a higher number.
    pub(crate) number_max: u64,
    /// Set by replay.
    pub(crate) end: Option<ChainEnd>,
    /// Up to here it is known to be committed, if that is less than all.
    pub(crate) committed: Option<JournalPosition>,
}

/// A file in use.
pub(crate) struct FoundFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Box<dyn File>,
    pub(crate) len: u64,
    /// How much of it has been read; set by replay.
    pub(crate) used_len: u64,
    /// The last of its entries that nothing replaces; set by replay.
    pub(crate) last: Option<LogId>,
    pub(crate) header: FileHeader,
}

/// A file that may be used.
pub(crate) struct SpareFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Box<dyn File>,
    pub(crate) len: u64,
}

/// How far the journal reaches.
#[derive(Debug)]
pub(crate) struct ChainEnd {
    /// The end of its last record batch.
    pub(crate) position: JournalPosition,
    /// Up to here some later header or commit says that all was synced.
    pub(crate) proven: JournalPosition,
    /// Offsets and headers of the commits behind that, all in the last file.
    pub(crate) unproven: Vec<(u64, CommitHeader)>,
}

impl Recovery {
    /// Looks at the files of `dir`. Records that end at or before `from` are not needed: a checkpoint has them. Files of generations below
    /// `generation_min` hold nothing, whatever is in them.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: &Path,
        from: JournalPosition,
        generation_min: u64,
    ) -> Result<Recovery, OpenError> {
        let mut recovery = Recovery {
            disk,
            dir: dir.to_owned(),
            from,
            synced: JournalPosition::START,
            files: Vec::new(),
            start: 0,
            headless: Vec::new(),
            spares: Vec::new(),
            void: Vec::new(),
            generation_min,
            generation_max: 0,
            number_max: 0,
            end: None,
            committed: None,
        };
        recovery.look()?;
        recovery.ask_how_far();
        recovery.files.sort_by_key(|file| file.header.generation);
        let generation_max = recovery.files.last().map_or(0, |file| file.header.generation);
        recovery.generation_max = generation_max.max(generation_min.saturating_sub(1));
        recovery.set_void_aside();
        recovery.check_order()?;
        recovery.start = recovery.find_start()?;
        Ok(recovery)
    }

    /// The journal is one of a group, and no more than this of it is known to be committed.
    pub fn set_committed(&mut self, position: JournalPosition) {
        self.committed = Some(position);
    }

    fn ask_how_far(&mut self) {
        let path = synced::path_of(&self.dir);
        match synced::read(&*self.disk, &path) {
            SyncedContent::Position(position) => self.synced = position,
            SyncedContent::Missing => {}
            SyncedContent::Damaged => {
                tracing::warn!(path = %path.display(), "damaged: it is unknown whether the journal is complete");
            }
        }
    }

    fn look(&mut self) -> Result<(), OpenError> {
        let names = match self.disk.list(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names.map_err(OpenError::io("listing", &self.dir))?,
        };
        let mut headless = Vec::new();
        for name in names {
            let Some(number) = name.strip_suffix(EXTENSION) else { continue };
            // A name that is no number is looked at too: what counts is the header.
            self.number_max = self.number_max.max(number.parse().unwrap_or(0));
            let path = self.dir.join(&name);
            self.look_at(path, &mut headless)?;
        }
        headless.into_iter().try_for_each(|file| self.judge(file))
    }

    fn look_at(&mut self, path: PathBuf, headless: &mut Vec<HeadlessFile>) -> Result<(), OpenError> {
        let file = self.disk.open(&path).map_err(OpenError::io("opening", &path))?;
        let len = file.len().map_err(OpenError::io("looking at", &path))?;
        match file_state(file.as_ref(), len, &path, self.from)? {
            FileKind::InUse(header) => self.files.push(FoundFile { path, file, len, used_len: 0, last: None, header }),
            FileKind::Spare => self.spares.push(SpareFile { path, file, len }),
            FileKind::Headless(mut commits) => {
                let file = SpareFile { path, file, len };
                commits.retain(|commit| commit.generation >= self.generation_min);
                if commits.is_empty() { self.void.push(file) } else { headless.push(HeadlessFile { file, commits }) }
            }
        }
        Ok(())
    }

    /// Looks at a file without a header when all others are known. A later file that begins behind one of its commits continues it.
    /// Otherwise its commits are left from an earlier use, or were not synced when the power failed; which is seen when all
    /// is read, see [`Recovery::check_headless`].
    fn judge(&mut self, headless: HeadlessFile) -> Result<(), OpenError> {
        let is_continued = |commit: &CommitHeader| {
            let mut later = self.files.iter().filter(|other| other.header.generation > commit.generation).peekable();
            later.peek().is_some() && later.all(|other| other.header.first > commit.first)
        };
        match headless.commits.iter().find(|commit| is_continued(commit)) {
            Some(commit) => Err(headless.corrupt(commit)),
            None => {
                self.headless.push(headless);
                Ok(())
            }
        }
    }

    /// The journal ends here. If a commit in a file without a header says that more had been synced, that file is needed; else it is spare.
    pub(crate) fn check_headless(&mut self, end: JournalPosition) -> Result<(), OpenError> {
        for headless in self.headless.drain(..) {
            if let Some(commit) = headless.commits.iter().find(|commit| commit.synced > end) {
                return Err(headless.corrupt(commit));
            }
            self.spares.push(headless.file);
        }
        Ok(())
    }

    /// Takes out files that no longer mean anything: those of generations that do not count, and those behind the place where a later file
    /// of a replicated journal begins. That is a truncation, see [`truncate`](super::truncate).
    fn set_void_aside(&mut self) {
        let mut end = JournalPosition::MAX;
        for at in (0..self.files.len()).rev() {
            let FileHeader { generation, first, layout, .. } = self.files[at].header;
            if generation < self.generation_min || first > end {
                let FoundFile { path, file, len, .. } = self.files.remove(at);
                self.void.push(SpareFile { path, file, len });
            } else if layout == Layout::Replicated {
                end = end.min(first);
            }
        }
    }

    fn check_order(&self) -> Result<(), OpenError> {
        for pair in self.files.windows(2) {
            let [earlier, later] = pair else { unreachable!("windows of two") };
            let place = FilePlace::new(&later.path, 0, later.header.first);
            if earlier.header.generation == later.header.generation {
                return Err(OpenError::Corrupt { place, what: "another file has the same generation" });
            }
            if earlier.header.first > later.header.first {
                return Err(OpenError::Corrupt { place, what: "an earlier file starts at a later position" });
            }
        }
        Ok(())
    }

    fn find_start(&self) -> Result<usize, OpenError> {
        let position = self.from.max(if self.files.is_empty() { self.synced } else { self.from });
        let missing = |what| OpenError::Missing { dir: self.dir.clone(), position, what };
        match self.files.iter().rposition(|file| file.header.first <= self.from) {
            Some(start) => Ok(start),
            None if !self.files.is_empty() => Err(missing("all files start later")),
            // It begins with files that were fetched, and may have nothing yet.
            None if self.generation_min > 0 && self.synced <= self.from => Ok(0),
            None if position > JournalPosition::START => {
                Err(missing("no file is in use, and it had been synced up to there"))
            }
            None => Ok(0),
        }
    }

    /// The files that are read, in order.
    pub(crate) fn chain(&self) -> &[FoundFile] {
        &self.files[self.start..]
    }
}

/// A file of which neither the header nor the first commit says what it is, with those of its commits that no checkpoint has.
pub(crate) struct HeadlessFile {
    file: SpareFile,
    commits: Vec<CommitHeader>,
}

impl HeadlessFile {
    fn corrupt(&self, commit: &CommitHeader) -> OpenError {
        let place = FilePlace::new(&self.file.path, 0, commit.first);
        OpenError::Corrupt { place, what: "the file's header and first commit are damaged, and later ones are there" }
    }
}

/// What a file is, as far as it says itself.
enum FileKind {
    InUse(FileHeader),
    Spare,
    /// These commits are in it.
    Headless(Vec<CommitHeader>),
}

fn file_state(file: &dyn File, len: u64, path: &Path, from: JournalPosition) -> Result<FileKind, OpenError> {
    if len < FILE_HEADER_LEN {
        return Ok(FileKind::Spare); // its creation was interrupted
    }
    let mut page = [0; PAGE_LEN];
    read_exact_at(file, &mut page, 0).map_err(OpenError::io("reading", path))?;
    match FileHeader::decode(&page) {
        FileState::Spare => Ok(FileKind::Spare),
        FileState::InUse(header) => Ok(FileKind::InUse(header)),
        FileState::Unknown(version) => Err(OpenError::NewerFormat { path: path.to_owned(), version }),
        FileState::Damaged => damaged_file_state(file, len, path, from),
    }
}

/// A header is damaged when the power failed while it was written or taken off, and then nothing in the file is needed
/// that is not whole; or because the disk rots. The first commit says the same as the header did.
fn damaged_file_state(file: &dyn File, len: u64, path: &Path, from: JournalPosition) -> Result<FileKind, OpenError> {
    tracing::warn!(path = %path.display(), "journal file has a damaged header");
    let mut commits = Vec::new();
    let mut offset = FILE_HEADER_LEN;
    while offset + FILE_HEADER_LEN <= len {
        if let Some(commit) = commit_header_at(file, offset).map_err(OpenError::io("reading", path))? {
            if offset == FILE_HEADER_LEN {
                let CommitHeader { generation, salt, first, synced, .. } = commit;
                let layout = commit.layout();
                return Ok(FileKind::InUse(FileHeader { layout, generation, salt, first, synced, file_len: len }));
            }
            if commit.end() > from {
                commits.push(commit);
            }
        }
        offset += PAGE_LEN as u64;
    }
    Ok(if commits.is_empty() { FileKind::Spare } else { FileKind::Headless(commits) })
}

/// The commit header at this place, if one is there, of whatever file.
pub(crate) fn commit_header_at(file: &dyn File, offset: u64) -> io::Result<Option<CommitHeader>> {
    let mut header = [0; COMMIT_HEADER_LEN_MAX];
    read_exact_at(file, &mut header, offset)?;
    Ok(CommitHeader::decode(&header))
}
