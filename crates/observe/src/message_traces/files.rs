//! Trace files: a directory of logs, each bounded by its size and its rotation.
//!
//! ```text
//!  orders.log      written now
//!  orders.log.1    what was before; orders.log.2 before that, …
//!  .traces.json    which traces there are: they continue after a restart
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Longest name of a trace, in bytes: a file's name has 255, and a suffix.
const NAME_LEN_MAX: usize = 200;
/// Where it is written which traces there are.
const DEFINITIONS: &str = ".traces.json";

/// Bodies are not for others to read.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// A directory of trace files.
#[derive(Debug, Clone)]
pub struct Directory(PathBuf);

/// A file that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub len: u64,
}

impl Directory {
    /// This one. It is made when something is written.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Directory(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The files in it, by name. A directory that is not there has none.
    pub fn list(&self) -> io::Result<Vec<TraceFile>> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(metadata) if metadata.is_file() && !name.starts_with('.') => {
                    files.push(TraceFile { name, len: metadata.len() });
                }
                _ => {}
            }
        }
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// A file of this name, opened. None: there is none.
    pub fn open(&self, name: &str) -> io::Result<Option<File>> {
        if !is_name(name) {
            return Ok(None);
        }
        match File::open(self.0.join(name)) {
            Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Deletes a file. Says whether it was there.
    pub fn delete(&self, name: &str) -> io::Result<bool> {
        if self.open(name)?.is_none() {
            return Ok(false);
        }
        fs::remove_file(self.0.join(name)).map(|()| true)
    }

    /// Makes it, if it is not there.
    fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(&self.0)
    }

    /// Takes away what others than the owner may do with the directory, and with the list of traces in it: earlier versions gave them more.
    /// For a directory that is the broker's own.
    pub fn close_to_others(&self) -> io::Result<()> {
        for (path, mode) in [(self.0.clone(), DIR_MODE), (self.0.join(DEFINITIONS), FILE_MODE)] {
            match fs::set_permissions(path, Permissions::from_mode(mode)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Deletes files that belong to none of these traces, the oldest first, until those that are left have so many bytes at most. Returns
    /// the names of those that went.
    pub(super) fn keep_within(&self, len_max: u64, running: &[String]) -> io::Result<Vec<String>> {
        let mut ended = Vec::new();
        for file in self.list()?.into_iter().filter(|file| !running.iter().any(|name| is_file_of(&file.name, name))) {
            match fs::metadata(self.0.join(&file.name)) {
                Ok(metadata) => ended.push((metadata.modified()?, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        // Of files of one moment the one with the higher number is the older.
        ended.sort_unstable_by(|(a_at, a), (b_at, b)| a_at.cmp(b_at).then(b.name.cmp(&a.name)));
        let mut len: u64 = ended.iter().map(|(_, file)| file.len).sum();
        let mut deleted = Vec::new();
        for (_, file) in ended {
            if len <= len_max {
                break;
            }
            match fs::remove_file(self.0.join(&file.name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => len -= file.len,
            }
            deleted.push(file.name);
        }
        Ok(deleted)
    }

    /// What was written down of traces. None: nothing.
    pub(super) fn read_definitions(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.0.join(DEFINITIONS)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes down which traces there are, all or nothing.
    pub(super) fn write_definitions(&self, bytes: &[u8]) -> io::Result<()> {
        self.create()?;
        let (path, draft) = (self.0.join(DEFINITIONS), self.0.join(".traces.json.new"));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(draft, path)
    }
}

/// Whether a trace can have this name, and a file with its suffix.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_plain = !name.starts_with('.') && !name.contains(['/', '\0']);
    !name.is_empty() && name.len() <= NAME_LEN_MAX && is_plain
}

/// Whether a file is of the trace of this name: its log, or an older one.
pub(super) fn is_file_of(file: &str, trace: &str) -> bool {
    let rest = file.strip_prefix(trace).and_then(|rest| rest.strip_prefix(".log"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number))
}

/// How long files may be, and how many of a trace there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file.
    pub len_max: u64,
    /// Files of a trace, the one that is written included.
    pub count_max: u32,
    /// Bytes of the files of all traces that have ended.
    pub ended_len_max: u64,
}

/// The log of one trace.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    limits: Limits,
    file: Option<(File, u64)>,
}

impl Log {
    /// Opens it, to write on.
    pub(super) fn open(directory: &Directory, name: &str, limits: Limits) -> io::Result<Self> {
        directory.create()?;
        let mut log = Log { path: directory.0.join(format!("{name}.log")), limits, file: None };
        log.reopen()?;
        Ok(log)
    }

    fn reopen(&mut self) -> io::Result<()> {
        let file = OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(&self.path)?;
        let len = file.metadata()?.len();
        self.file = Some((file, len));
        Ok(())
    }

    /// Whether the file that is open is the one of that name: else it has been deleted, and another begins.
    fn is_there(&self) -> bool {
        let Some((file, _)) = &self.file else { return false };
        let (Ok(open), Ok(named)) = (file.metadata(), fs::metadata(&self.path)) else { return false };
        (open.dev(), open.ino()) == (named.dev(), named.ino())
    }

    /// Appends whole records.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_there() {
            self.reopen()?;
        }
        let len = self.file.as_ref().map_or(0, |(_, len)| *len);
        if len > 0 && len + bytes.len() as u64 > self.limits.len_max {
            self.rotate()?;
        }
        if let Some((file, len)) = &mut self.file {
            file.write_all(bytes)?;
            *len += bytes.len() as u64;
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        let numbered = |number: u32| {
            let mut path = self.path.clone().into_os_string();
            path.push(format!(".{number}"));
            PathBuf::from(path)
        };
        let oldest = self.limits.count_max.saturating_sub(1);
        if oldest == 0 {
            fs::remove_file(&self.path)?;
        }
        for number in (1..oldest).rev() {
            match fs::rename(numbered(number), numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if oldest > 0 {
            fs::rename(&self.path, numbered(1))?;
        }
        self.reopen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("warren-trace-files-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn names(directory: &Directory) -> Vec<(String, u64)> {
        directory.list().unwrap().into_iter().map(|file| (file.name, file.len)).collect()
    }

    fn file(name: &str, len: u64) -> (String, u64) {
        (name.to_owned(), len)
    }

    #[test]
    fn files_are_rotated_by_size_and_the_oldest_go() {
        let scratch = Scratch::new("rotated");
        let directory = Directory::new(scratch.0.clone());
        assert_eq!(names(&directory), []);
        let limits = Limits { len_max: 10, count_max: 3, ended_len_max: 100 };
        let mut log = Log::open(&directory, "t", limits).unwrap();
        for number in 0..5_u8 {
            log.append(&[b'0' + number; 6]).unwrap();
        }
        assert_eq!(names(&directory), [file("t.log", 6), file("t.log.1", 6), file("t.log.2", 6)]);
        assert_eq!(fs::read(directory.path().join("t.log.2")).unwrap(), b"222222");
        // It continues where it was.
        drop(log);
        Log::open(&directory, "t", limits).unwrap().append(b"1234").unwrap();
        assert_eq!(names(&directory)[0], file("t.log", 10));
    }

    #[test]
    fn what_was_deleted_begins_anew() {
        let scratch = Scratch::new("deleted");
        let directory = Directory::new(scratch.0.clone());
        let mut log = Log::open(&directory, "t", Limits { len_max: 100, count_max: 1, ended_len_max: 100 }).unwrap();
        log.append(b"one").unwrap();
        assert!(directory.delete("t.log").unwrap());
        assert!(!directory.delete("t.log").unwrap());
        log.append(b"two!").unwrap();
        assert_eq!(names(&directory), [file("t.log", 4)]);
    }

    #[test]
    fn the_oldest_files_of_ended_traces_go() {
        let scratch = Scratch::new("ended");
        let directory = Directory::new(scratch.0.clone());
        directory.create().unwrap();
        let now = std::time::SystemTime::now();
        let all = ["a.log", "a.log.1", "a.log.x", "b.log", "b.log.1", "c.log"];
        for (age, name) in all.iter().rev().enumerate() {
            fs::write(directory.path().join(name), "0123456789").unwrap();
            let file = File::options().write(true).open(directory.path().join(name)).unwrap();
            file.set_modified(now - std::time::Duration::from_secs(age as u64)).unwrap();
        }
        let running = ["b".to_owned()];
        assert_eq!(directory.keep_within(40, &running).unwrap(), [""; 0]);
        assert_eq!(directory.keep_within(20, &running).unwrap(), ["a.log", "a.log.1"]);
        assert_eq!(directory.keep_within(0, &running).unwrap(), ["a.log.x", "c.log"]);
        assert_eq!(names(&directory), [file("b.log", 10), file("b.log.1", 10)]);
    }

    #[test]
    fn nothing_outside_the_directory_can_be_named() {
        let scratch = Scratch::new("outside");
        let directory = Directory::new(scratch.0.join("traces"));
        fs::create_dir_all(directory.path()).unwrap();
        fs::write(scratch.0.join("secret"), "s").unwrap();
        fs::write(directory.path().join(DEFINITIONS), "[]").unwrap();
        for name in ["../secret", "..", ".", "", "/etc/passwd", DEFINITIONS, "a\0b"] {
            assert!(directory.open(name).unwrap().is_none(), "{name}");
            assert!(!directory.delete(name).unwrap(), "{name}");
        }
        assert_eq!(names(&directory), []);
    }
}
