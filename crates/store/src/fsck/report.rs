//! What a check found, file by file, as a value and as text.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// What is said of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is what was written.
    Good,
    /// A crash left it, nothing refers to it; the next start deletes it.
    Leftover,
    /// What would say whether it is needed is damaged.
    Unknown,
    /// It should be there.
    Missing,
    /// It is not what was written.
    Damaged,
    /// It was damaged or missing; what was left of it has been put in its place.
    Repaired,
}

impl Verdict {
    pub(crate) fn is_sound(self) -> bool {
        !matches!(self, Verdict::Missing | Verdict::Damaged)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Good => "good",
            Verdict::Leftover => "left by a crash, not needed",
            Verdict::Unknown => "cannot be judged",
            Verdict::Missing => "MISSING",
            Verdict::Damaged => "DAMAGED",
            Verdict::Repaired => "repaired",
        })
    }
}

/// One file, or the journal as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Which file.
    pub path: PathBuf,
    /// In a word.
    pub verdict: Verdict,
    /// What is in it, what is wrong with it, what was done.
    pub details: Vec<String>,
}

/// What a check found, and a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The data directory.
    pub dir: PathBuf,
    /// Its files.
    pub files: Vec<FileReport>,
    /// Messages that are no longer in any readable file, as far as they can be counted.
    pub lost_count: u64,
    /// What a repair gives up, in words: nothing of it can be put together again.
    pub losses: Vec<String>,
    /// This is the report of a repair.
    pub is_repair: bool,
    /// The repair was not made, because of the losses: the report says what it would have done.
    pub is_refused: bool,
    /// Damaged files that a repair has moved out of the way: where they are now.
    pub moved: Vec<PathBuf>,
    /// Files that a repair has written anew in their place: their old contents are lost.
    pub rewritten: BTreeSet<PathBuf>,
}

impl Report {
    pub(super) fn new(dir: &Path) -> Self {
        Report {
            dir: dir.to_owned(),
            files: Vec::new(),
            lost_count: 0,
            losses: Vec::new(),
            is_repair: false,
            is_refused: false,
            moved: Vec::new(),
            rewritten: BTreeSet::new(),
        }
    }

    /// Whether the store can be opened and has lost nothing.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.is_refused && self.files.iter().all(|file| file.verdict.is_sound())
    }

    pub(super) fn add(&mut self, path: &Path, verdict: Verdict, details: impl IntoIterator<Item = String>) {
        self.files.push(FileReport { path: path.to_owned(), verdict, details: details.into_iter().collect() });
    }

    /// A repair gives this up.
    pub(super) fn give_up(&mut self, path: &Path, what: &str) {
        let text = format!("{}: {what}", self.name_of(path));
        self.losses.push(text);
    }

    pub(super) fn lose(&mut self, count: u64) {
        self.lost_count += count;
    }

    /// Something more is wrong with a file.
    pub(super) fn damaged(&mut self, path: &Path, what: String) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            file.verdict = Verdict::Damaged;
            file.details.push(what);
            return;
        }
        self.add(path, Verdict::Damaged, [what]);
    }

    /// Where what was damaged is now, in sentences that follow another one.
    fn whereabouts(&self) -> String {
        let mut text = String::new();
        let are_moved = match self.moved.len() {
            0 => None,
            1 => Some("1 damaged file was".to_owned()),
            count => Some(format!("{count} damaged files were")),
        };
        if let (Some(are_moved), Some(to)) = (are_moved, self.moved.first().and_then(|path| path.parent())) {
            text += &format!(" {are_moved} moved to {}.", to.display());
        }
        if !self.rewritten.is_empty() {
            let names: Vec<String> = self.rewritten.iter().map(|path| self.name_of(path)).collect();
            text += &format!(" Rewritten in place, the previous contents are lost: {}.", names.join(", "));
        }
        text
    }

    fn name_of(&self, path: &Path) -> String {
        path.strip_prefix(&self.dir).unwrap_or(path).display().to_string()
    }

    /// A file that was damaged is repaired.
    pub(super) fn repaired(&mut self, path: &Path, what: String) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            file.verdict = Verdict::Repaired;
            file.details.push(what);
            return;
        }
        self.add(path, Verdict::Repaired, [what]);
    }
}

impl Report {
    fn fmt_refused(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} was not repaired, and nothing in it was changed. A repair would lose:", self.dir.display())?;
        self.losses.iter().try_for_each(|loss| writeln!(f, "    {loss}"))?;
        writeln!(f, "Copy the directory; then `warren fsck --repair --accept-loss` repairs it at this cost.")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_refused {
            return self.fmt_refused(f);
        }
        for FileReport { path, verdict, details } in &self.files {
            write!(f, "{}: {verdict}", self.name_of(path))?;
            match details.as_slice() {
                [] => writeln!(f)?,
                [only] => writeln!(f, "; {only}")?,
                [first, rest @ ..] => {
                    writeln!(f, "; {first}")?;
                    rest.iter().try_for_each(|detail| writeln!(f, "    {detail}"))?;
                }
            }
        }
        let damaged = self.files.iter().filter(|file| !file.verdict.is_sound()).count();
        let lost = match self.lost_count {
            0 => String::new(),
            count => format!(" At least {count} messages are lost."),
        };
        match (damaged, self.is_repair) {
            (0, false) => writeln!(f, "{} is sound.", self.dir.display()),
            (0, true) => writeln!(f, "{} has been repaired.{lost}{}", self.dir.display(), self.whereabouts()),
            (1, false) => writeln!(
                f,
                "1 file is damaged.{lost} `warren fsck --repair` repairs it, or first reports what would be lost."
            ),
            (count, false) => writeln!(
                f,
                "{count} files are damaged.{lost} `warren fsck --repair` repairs them, or first reports what would be lost."
            ),
            (count, true) => writeln!(f, "{count} files could not be repaired.{lost}{}", self.whereabouts()),
        }
    }
}
