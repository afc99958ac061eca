//! The file that lines are appended to: whole ones, whatever happens.
//!
//! ```text
//!  append ─► is it still the file of this name? ─► write ─┬─ all of it
//!               no, it was put aside: open anew           └─ the disk is full: cut off half a line, and report it
//! ```
//!
//! Nothing is kept for later: what cannot be written is lost, and the next lines try anew. The file is only ever appended to, so that
//! others may read it meanwhile, put it aside, or empty it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Its mode: names of queues may be confidential, and the program that reads it is in the broker's group.
const MODE: u32 = 0o640;
/// What ends half a line that is left from before: no reader takes it for a whole one then, not even where it was cut within its time.
const END_OF_HALF_LINE: &[u8] = b" !\n";

/// A file of lines.
#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    /// None: it is to be opened.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    identity: Identity,
}

/// What a file is known by, whatever its name: its device and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64, u64);

impl LineFile {
    /// A file that is opened, and made if it is not there, when there is something to write.
    pub(super) fn new(path: PathBuf) -> Self {
        LineFile { path, open: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends whole lines.
    pub(super) fn append(&mut self, lines: &str) -> io::Result<()> {
        let mut open = match self.open.take() {
            Some(open) if Identity::at(&self.path) == Some(open.identity) => open,
            _ => Open::at(&self.path)?,
        };
        // After an error nothing of it is kept.
        let is_regular = open.file.metadata()?.is_file();
        append(&mut Tail { file: &mut open.file, is_regular }, lines.as_bytes())?;
        self.open = Some(open);
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> io::Result<Open> {
        let mut file = OpenOptions::new().create(true).append(true).mode(MODE).open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() > 0 {
            let mut last = [0];
            File::open(path)?.read_exact_at(&mut last, metadata.len() - 1)?;
            if last != *b"\n" {
                file.write_all(END_OF_HALF_LINE)?;
            }
        }
        Ok(Open { file, identity: Identity::of(&metadata) })
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity(metadata.dev(), metadata.ino())
    }

    fn at(path: &Path) -> Option<Identity> {
        std::fs::metadata(path).ok().map(|metadata| Identity::of(&metadata))
    }
}

/// The end of a file, where lines go.
trait End: Write {
    /// Takes back the last bytes that were written, if they still are the last.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

struct Tail<'a> {
    file: &'a mut File,
    is_regular: bool,
}

impl Write for Tail<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl End for Tail<'_> {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        // What is no file, such as a pipe, has nothing to take back.
        if !self.is_regular {
            return Ok(());
        }
        let now = self.file.metadata()?.len();
        self.file.set_len(now.saturating_sub(len))
    }
}

/// Writes lines; if that fails within one, takes back its beginning.
fn append(end: &mut impl End, lines: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < lines.len() {
        match end.write(&lines[written..]) {
            Ok(0) => return Err(cut_off(end, &lines[..written], io::ErrorKind::WriteZero.into())),
            Ok(len) => written += len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cut_off(end, &lines[..written], error)),
        }
    }
    Ok(())
}

fn cut_off(end: &mut impl End, written: &[u8], error: io::Error) -> io::Error {
    let half_len = written.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    if half_len > 0 {
        // If that fails, too, the half line is ended when the file is opened the next time.
        let _ = end.cut(half_len);
    }
    error
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A folder of its own, removed when it is dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("warren-influxdb-{}-{number}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn file(&self) -> LineFile {
            LineFile::new(self.0.join("lines"))
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.0.join(name)).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn lines_are_appended_to_what_is_there() {
        let folder = Folder::new();
        for line in ["a 1\n", "b 2\n"] {
            folder.file().append(line).unwrap();
        }
        assert_eq!(folder.read("lines"), "a 1\nb 2\n");
        assert_eq!(fs::metadata(folder.0.join("lines")).unwrap().mode() & 0o137, 0, "it is not everybody's to read");
    }

    #[test]
    fn a_file_that_was_put_aside_is_begun_anew() {
        let folder = Folder::new();
        let mut file = folder.file();
        file.append("a 1\n").unwrap();
        file.append("b 2\n").unwrap();
        fs::rename(folder.0.join("lines"), folder.0.join("lines.1")).unwrap();
        file.append("c 3\n").unwrap();
        assert_eq!((folder.read("lines.1"), folder.read("lines")), ("a 1\nb 2\n".to_owned(), "c 3\n".to_owned()));
        fs::remove_file(folder.0.join("lines")).unwrap();
        file.append("d 4\n").unwrap();
        assert_eq!(folder.read("lines"), "d 4\n");
    }

    #[test]
    fn a_file_that_was_emptied_goes_on_from_its_beginning() {
        let folder = Folder::new();
        let mut file = folder.file();
        file.append("a 1\n").unwrap();
        File::create(folder.0.join("lines")).unwrap();
        file.append("b 2\n").unwrap();
        assert_eq!(folder.read("lines"), "b 2\n");
    }

    #[test]
    fn half_a_line_from_before_is_ended_so_that_nobody_takes_it_for_one() {
        let folder = Folder::new();
        fs::write(folder.0.join("lines"), "a 1\nb x=1i 17").unwrap();
        folder.file().append("c 3\n").unwrap();
        assert_eq!(folder.read("lines"), "a 1\nb x=1i 17 !\nc 3\n");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_tried_again() {
        let folder = Folder::new();
        let mut file = LineFile::new(folder.0.join("below/lines"));
        assert_eq!(file.append("a 1\n").unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::create_dir(folder.0.join("below")).unwrap();
        file.append("b 2\n").unwrap();
        assert_eq!(folder.read("below/lines"), "b 2\n");
    }

    #[test]
    fn a_device_without_room_is_an_error() {
        let mut file = LineFile::new(PathBuf::from("/dev/full"));
        for _ in 0..2 {
            assert_eq!(file.append("a 1\n").unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }

    /// A disk with so much room that takes a few bytes at a time.
    struct Disk {
        taken: Vec<u8>,
        room: usize,
        is_interrupted: bool,
    }

    impl Disk {
        fn new(room: usize) -> Disk {
            Disk { taken: Vec::new(), room, is_interrupted: false }
        }
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.is_interrupted = !self.is_interrupted;
            if self.is_interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let len = bytes.len().min(3).min(self.room - self.taken.len());
            if len == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.taken.extend_from_slice(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl End for Disk {
        fn cut(&mut self, len: u64) -> io::Result<()> {
            self.taken.truncate(self.taken.len() - usize::try_from(len).unwrap());
            Ok(())
        }
    }

    #[test]
    fn a_write_that_takes_some_bytes_only_is_continued() {
        let mut disk = Disk::new(100);
        append(&mut disk, b"a x=1i 10\nb x=2i 20\n").unwrap();
        assert_eq!(disk.taken, b"a x=1i 10\nb x=2i 20\n");
    }

    #[test]
    fn a_full_disk_leaves_whole_lines() {
        for room in 0..20 {
            let mut disk = Disk::new(room);
            let error = append(&mut disk, b"a x=1i 10\nb x=2i 20\n").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            let expected: &[u8] = if room < 10 { b"" } else { b"a x=1i 10\n" };
            assert_eq!(disk.taken, expected, "room for {room} bytes");
        }
    }
}
