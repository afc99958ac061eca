//! The audit log: who did what, from where, and when, as a JSON object a line.
//!
//! Lines are written by a thread of their own: nothing that is done waits for the log. If the thread cannot keep up,
//! entries are left out, and a line says how many.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Context as _, Result};
use broker::{Event, EventSink};
use management::audit_entry;
use model::config::AuditOptions;
use serde_json::json;

use crate::log_json::escape;

/// Entries that may wait to be written.
const WAITING_MAX: usize = 8192;

/// Events that are no change and no login: there are too many of them to be of use here.
const LEFT_OUT: [&str; 2] = ["channel.", "consumer."];

/// The end of the log where entries are put in.
#[derive(Debug)]
pub(crate) struct AuditLog {
    /// None is the last.
    entries: SyncSender<Option<String>>,
    lost_count: Arc<AtomicU64>,
}

/// The thread that writes.
#[derive(Debug)]
pub(crate) struct AuditWriter {
    entries: SyncSender<Option<String>>,
    thread: JoinHandle<()>,
}

impl AuditLog {
    /// Opens the log's file, which is made if it is not there.
    pub(crate) fn open(options: &AuditOptions) -> Result<(Arc<AuditLog>, AuditWriter)> {
        let path = PathBuf::from(&options.file);
        let target = RotatedFile::open(path.clone(), options.rotation_size, options.rotation_count)
            .with_context(|| format!("cannot open the audit log {}", path.display()))?;
        let (entries, waiting) = sync_channel(WAITING_MAX);
        let lost_count = Arc::new(AtomicU64::new(0));
        let lost = lost_count.clone();
        let thread = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || write_all(target, &waiting, &lost))
            .context("cannot start the audit log's thread")?;
        let writer = AuditWriter { entries: entries.clone(), thread };
        Ok((Arc::new(AuditLog { entries, lost_count }), writer))
    }
}

impl AuditWriter {
    /// Waits until all that has come so far is written. Nothing is written after that.
    pub(crate) fn close(self) {
        // An error means that the thread has ended, which joining it shows, too.
        let _ = self.entries.send(None);
        if self.thread.join().is_err() {
            tracing::error!("audit log thread ended unexpectedly");
        }
    }
}

impl EventSink for AuditLog {
    fn take(&self, event: &Event) {
        if LEFT_OUT.iter().any(|prefix| event.name.starts_with(prefix)) {
            return;
        }
        if self.entries.try_send(Some(escape(&audit_entry(event)))).is_err() {
            self.lost_count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn write_all(mut target: RotatedFile, waiting: &Receiver<Option<String>>, lost_count: &AtomicU64) {
    while let Ok(Some(line)) = waiting.recv() {
        let lost = lost_count.swap(0, Ordering::Relaxed);
        let result = match lost {
            0 => target.write_line(&line),
            lost => target.write_line(&json!({"event": "audit.lost", "count": lost}).to_string()),
        };
        let result = if lost > 0 { result.and_then(|()| target.write_line(&line)) } else { result };
        if let Err(error) = result {
            tracing::error!(path = %target.path.display(), %error, "writing an entry to the audit log failed");
        }
    }
}

/// A file that is put aside when it has grown large: `audit.log` becomes `audit.log.1`, that becomes `audit.log.2`, …
#[derive(Debug)]
struct RotatedFile {
    path: PathBuf,
    file: File,
    len: u64,
    len_max: u64,
    kept_count: u64,
    /// The last attempt to put it aside failed, which was logged.
    is_stuck: bool,
}

impl RotatedFile {
    fn open(path: PathBuf, len_max: u64, kept_count: u64) -> io::Result<Self> {
        let file = open(&path)?;
        let len = file.metadata()?.len();
        Ok(Self { path, file, len, len_max, kept_count, is_stuck: false })
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        let len = line.len() as u64 + 1;
        if self.len > 0 && self.len + len > self.len_max {
            self.rotate();
        }
        self.file.write_all(format!("{line}\n").as_bytes())?;
        self.len += len;
        Ok(())
    }

    /// Goes on in a new file, or in the old one if there can be none: too long a log is better than none.
    fn rotate(&mut self) {
        match self.replace() {
            Ok(file) => {
                (self.file, self.len) = (file, 0);
                self.is_stuck = false;
            }
            Err(error) if !self.is_stuck => {
                self.is_stuck = true;
                tracing::error!(path = %self.path.display(), %error, "rotating the audit log failed, it keeps growing");
            }
            Err(_) => {} // logged already
        }
    }

    /// Opens the new file before any other is touched, and gives it the name last.
    fn replace(&self) -> io::Result<File> {
        let beside = |suffix: &str| {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        let numbered = |number: u64| beside(&format!(".{number}"));
        let new = beside(".new");
        let file = open(&new)?;
        file.set_len(0)?; // of an attempt that did not get further
        if self.kept_count > 0 && self.path.try_exists()? {
            // Up to a gap, which an attempt that failed half-way may have left: each must not move all of them on.
            let mut gap = 1;
            while gap < self.kept_count && numbered(gap).try_exists()? {
                gap += 1;
            }
            for number in (1..gap).rev() {
                std::fs::rename(numbered(number), numbered(number + 1))?;
            }
            std::fs::rename(&self.path, numbered(1))?;
        }
        std::fs::rename(&new, &self.path)?;
        Ok(file)
    }
}

/// Only the broker's user may read it: it has names and addresses.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use serde_json::Value;

    use super::*;

    /// A folder of its own, removed when it is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("warren-audit-{}-{number}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn read(&self, name: &str) -> String {
            std::fs::read_to_string(self.0.join(name)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn event(name: &'static str) -> Event {
        let fields = amqp::table::TableBuf::new()
            .with("name", amqp::table::Value::LongStr(b"q"))
            .with("user_who_performed_action", amqp::table::Value::LongStr(b"ann"));
        let origin = broker::Origin { peer: Some("192.0.2.1:5".parse().unwrap()), interface: broker::Interface::Http };
        Event { name, id: 0, at_ms: 1_700_000_000_123, fields, user: Some("ann".into()), origin: Some(origin) }
    }

    #[test]
    fn an_entry_says_who_did_what_from_where_and_when() {
        let folder = Folder::new();
        let file = folder.0.join("audit.log").to_str().unwrap().to_owned();
        let options = AuditOptions { file, rotation_size: 1 << 20, rotation_count: 3 };
        let (log, writer) = AuditLog::open(&options).unwrap();
        for name in ["queue.deleted", "channel.created", "consumer.deleted"] {
            log.take(&event(name));
        }
        writer.close();
        let expected = json!({
            "at": "2023-11-14T22:13:20.123Z",
            "event": "queue.deleted",
            "user": "ann",
            "via": "http",
            "from": "192.0.2.1:5",
            "about": {"name": "q"},
        });
        let text = folder.read("audit.log");
        assert_eq!(serde_json::from_str::<Value>(text.trim_end()).unwrap(), expected);
    }

    #[test]
    fn no_name_steers_a_terminal_that_shows_the_log() {
        let folder = Folder::new();
        let file = folder.0.join("audit.log").to_str().unwrap().to_owned();
        let (log, writer) = AuditLog::open(&AuditOptions { file, rotation_size: 1 << 20, rotation_count: 3 }).unwrap();
        let user = Some("a\u{9b}31m\n".into());
        log.take(&Event { user, ..event("queue.deleted") });
        writer.close();
        assert!(folder.read("audit.log").contains(r#""user":"a\u009b31m\n""#));
    }

    #[test]
    fn a_file_that_has_grown_large_is_put_aside() {
        let folder = Folder::new();
        let mut file = RotatedFile::open(folder.0.join("a"), 10, 2).unwrap();
        for line in ["one", "two", "three", "four", "five and more", "six"] {
            file.write_line(line).unwrap();
        }
        assert_eq!(
            (folder.read("a"), folder.read("a.1"), folder.read("a.2")),
            ("six\n".to_owned(), "five and more\n".to_owned(), "four\n".to_owned(),)
        );
        assert!(!folder.0.join("a.3").exists());
    }

    #[test]
    fn lines_go_on_in_a_file_that_is_there() {
        let folder = Folder::new();
        for line in ["one", "two"] {
            RotatedFile::open(folder.0.join("a"), 100, 2).unwrap().write_line(line).unwrap();
        }
        assert_eq!(folder.read("a"), "one\ntwo\n");
    }

    /// A folder where a directory is in the way of every new file.
    fn blocked(kept_count: u64) -> (Folder, RotatedFile) {
        let folder = Folder::new();
        let mut file = RotatedFile::open(folder.0.join("a"), 10, kept_count).unwrap();
        for line in ["first line", "second line", "third line"] {
            file.write_line(line).unwrap();
        }
        std::fs::create_dir(folder.0.join("a.new")).unwrap();
        for line in ["four", "five", "six", "seven", "eight"] {
            file.write_line(line).unwrap();
        }
        (folder, file)
    }

    #[test]
    fn what_was_put_aside_stays_when_no_new_file_can_be_opened() {
        let (folder, mut file) = blocked(2);
        assert_eq!(folder.read("a"), "third line\nfour\nfive\nsix\nseven\neight\n");
        assert_eq!((folder.read("a.1"), folder.read("a.2")), ("second line\n".to_owned(), "first line\n".to_owned()));
        std::fs::remove_dir(folder.0.join("a.new")).unwrap();
        file.write_line("nine").unwrap();
        assert_eq!(folder.read("a"), "nine\n");
        assert_eq!(folder.read("a.2"), "second line\n");
        assert!(!folder.0.join("a.new").exists());
    }

    #[test]
    fn without_files_put_aside_lines_are_written_when_no_new_file_can_be_opened() {
        let (folder, mut file) = blocked(0);
        assert_eq!(folder.read("a"), "third line\nfour\nfive\nsix\nseven\neight\n");
        std::fs::remove_dir(folder.0.join("a.new")).unwrap();
        file.write_line("nine").unwrap();
        assert_eq!(folder.read("a"), "nine\n");
    }

    #[test]
    fn an_attempt_that_fails_half_way_moves_nothing_twice() {
        let folder = Folder::new();
        let mut file = RotatedFile::open(folder.0.join("a"), 10, 3).unwrap();
        for (name, text) in [("a.2", "older"), ("a.3", "oldest")] {
            std::fs::write(folder.0.join(name), text).unwrap();
        }
        for line in ["first line", "second line"] {
            file.write_line(line).unwrap();
        }
        assert_eq!((folder.read("a"), folder.read("a.1")), ("second line\n".to_owned(), "first line\n".to_owned()));
        assert_eq!((folder.read("a.2"), folder.read("a.3")), ("older".to_owned(), "oldest".to_owned()));
    }

    #[test]
    fn a_log_that_was_taken_away_is_begun_anew() {
        for kept_count in [0, 2] {
            let folder = Folder::new();
            let mut file = RotatedFile::open(folder.0.join("a"), 10, kept_count).unwrap();
            file.write_line("first line").unwrap();
            std::fs::remove_file(folder.0.join("a")).unwrap();
            file.write_line("second line").unwrap();
            assert_eq!(folder.read("a"), "second line\n");
        }
    }
}
