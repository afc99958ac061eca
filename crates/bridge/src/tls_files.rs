//! The door through which files are read that the URIs of shovels and upstreams name (`cacertfile`, `certfile`, `keyfile`).
//!
//! A user that sets a parameter is no operator, and the path may be that of anything: a FIFO whose opening waits for ever, a device that
//! never ends, a file that is no business of the user's. So: only what is a regular file when it has been opened, only below certain
//! directories with all symbolic links followed, only so long; and read on a thread of its own, of which there are a few at a time. What
//! the operator has written into the configuration may be anywhere.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use net::{ClientTls, ClientTlsOptions, TlsSetupError, Trust};
use rustix::fs::{Mode, OFlags};
use tokio::sync::{Semaphore, oneshot};

/// The longest file that is read: authorities of a whole system have a quarter of it.
const FILE_LEN_MAX: u64 = 1 << 20;

/// How many are read at a time. A file system that hangs takes these threads and no others.
const READER_COUNT_MAX: usize = 4;

/// How long what a URI names may take to be read, waiting for a place included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// All that a user without access to the broker's log learns of a file.
pub(crate) const UNUSABLE: &str = "a file in the URI cannot be used; the broker's log contains the reason";

/// The author of a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// Writes the configuration.
    Operator,
    /// Sets parameters.
    User,
}

/// See the module.
#[derive(Clone)]
pub struct TlsFiles {
    directories: Arc<[PathBuf]>,
    places: Arc<Semaphore>,
    timeout: Duration,
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsFiles").field("directories", &self.directories).finish_non_exhaustive()
    }
}

/// Nothing may be read.
impl Default for TlsFiles {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl TlsFiles {
    /// Reads below these directories.
    #[must_use]
    pub fn new(directories: Vec<PathBuf>) -> Self {
        let places = Arc::new(Semaphore::new(READER_COUNT_MAX));
        Self { directories: directories.into(), places, timeout: TIMEOUT }
    }

    /// What a connection with TLS is opened with. The files that it names are read elsewhere.
    pub(crate) async fn client_tls(
        &self,
        options: ClientTlsOptions,
        author: Author,
    ) -> Result<ClientTls, TlsSetupError> {
        if options.trust == Trust::AnyServer && options.identity.is_none() {
            return ClientTls::new(&options);
        }
        let unread = |reason: &str| TlsSetupError::File {
            what: "certificates",
            path: PathBuf::new(),
            reason: reason.to_owned(),
        };
        let reading = async {
            let Ok(place) = self.places.clone().acquire_owned().await else {
                return Err(unread("too many files are being read"));
            };
            let (sender, answer) = oneshot::channel();
            let directories = self.directories.clone();
            let read = move || {
                // As long as it reads, however long that is.
                let _place = place;
                let tls = match author {
                    Author::Operator => ClientTls::reading_by(&options, &read_regular),
                    Author::User => ClientTls::reading_by(&options, &|path| read_below(&directories, path)),
                };
                // The caller may have given up.
                let _ = sender.send(tls);
            };
            let spawned = std::thread::Builder::new().name("link files".to_owned()).spawn(read);
            spawned.map_err(|error| unread(&format!("cannot start a thread to read it: {error}")))?;
            answer.await.unwrap_or_else(|_| Err(unread("the thread that reads it failed")))
        };
        tokio::time::timeout(self.timeout, reading).await.unwrap_or_else(|_| Err(unread("reading it takes too long")))
    }
}

/// Reads a file that is below one of these directories, wherever links lead.
fn read_below(directories: &[PathBuf], path: &Path) -> io::Result<Vec<u8>> {
    let outside = || {
        let text = "it is not in any of the directories of warren.links.tls_directories";
        io::Error::new(io::ErrorKind::PermissionDenied, text)
    };
    if !path.is_absolute() {
        return Err(outside());
    }
    let directories: Vec<PathBuf> =
        directories.iter().filter_map(|directory| fs::canonicalize(directory).ok()).collect();
    let is_inside = |path: &Path| directories.iter().any(|directory| path.starts_with(directory));
    let path = fs::canonicalize(path)?;
    if !is_inside(&path) {
        return Err(outside());
    }
    let file = open_regular(&path)?;
    // A directory on the way may have become a link meanwhile.
    if !is_inside(&fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?) {
        return Err(outside());
    }
    read_bounded(file)
}

/// Reads a file, wherever it is.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    read_bounded(open_regular(&fs::canonicalize(path)?)?)
}

/// Opens what is a regular file, without waiting for its writer. Devices are not even opened: some do something then.
fn open_regular(path: &Path) -> io::Result<File> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(irregular());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

fn read_bounded(file: File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(FILE_LEN_MAX + 1).read_to_end(&mut content)?;
    if content.len() as u64 > FILE_LEN_MAX {
        let text = format!("it is longer than {} KiB", FILE_LEN_MAX >> 10);
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory that is deleted with its test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("warren-tls-files-{test}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("in/deep")).unwrap();
            Self(fs::canonicalize(path).unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn file(&self, name: &str, len: usize) -> PathBuf {
            fs::write(self.path(name), vec![b'x'; len]).unwrap();
            self.path(name)
        }

        /// What is read when only `in` may be read from.
        fn read(&self, path: &Path) -> Result<usize, String> {
            read_below(&[self.path("in")], path).map(|content| content.len()).map_err(|error| error.to_string())
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const OUTSIDE: &str = "it is not in any of the directories of warren.links.tls_directories";

    #[test]
    fn what_leads_out_of_the_directories_is_not_read() {
        let directory = Directory::new("outside");
        let inside = directory.file("in/deep/a", 3);
        let outside = directory.file("secret", 3);
        symlink(&inside, directory.path("in/link")).unwrap();
        symlink(&outside, directory.path("in/escape")).unwrap();
        symlink(&directory.0, directory.path("in/up")).unwrap();
        fs::create_dir(directory.path("in-name-only")).unwrap();
        let neighbour = directory.file("in-name-only/a", 3);
        assert_eq!(directory.read(&inside), Ok(3));
        assert_eq!(directory.read(&directory.path("in/link")), Ok(3));
        assert_eq!(directory.read(&directory.path("in/deep/../deep/a")), Ok(3));
        let escapes =
            ["in/escape", "in/up/secret", "in/../secret", "in/deep/../../secret"].map(|name| directory.path(name));
        for path in escapes.iter().chain([&outside, &neighbour, &PathBuf::from("in/deep/a")]) {
            assert_eq!(directory.read(path), Err(OUTSIDE.to_owned()), "{}", path.display());
        }
    }

    #[test]
    fn only_regular_files_of_bounded_length_are_read() {
        let directory = Directory::new("irregular");
        let fifo = directory.path("in/fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        let longest = usize::try_from(FILE_LEN_MAX).unwrap();
        assert_eq!(directory.read(&directory.file("in/longest", longest)), Ok(longest));
        let too_long = directory.read(&directory.file("in/longer", longest + 1));
        assert_eq!(too_long, Err("it is longer than 1024 KiB".to_owned()));
        let irregular = || "it is not a regular file".to_owned();
        for path in [&fifo, &directory.path("in/deep")] {
            assert_eq!(directory.read(path), Err(irregular()));
        }
        let zero = Path::new("/dev/zero");
        assert_eq!(read_below(&["/dev".into()], zero).unwrap_err().to_string(), irregular());
        assert_eq!(read_regular(zero).unwrap_err().to_string(), irregular());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_place_does_not_wait_for_ever() {
        let files = TlsFiles::new(vec!["/".into()]);
        let _taken = files.places.clone().acquire_many_owned(u32::try_from(READER_COUNT_MAX).unwrap()).await.unwrap();
        let options = ClientTlsOptions::trusting(Trust::File("/nowhere.pem".into()));
        let error = files.client_tls(options, Author::User).await.unwrap_err().to_string();
        assert!(error.ends_with("reading it takes too long"), "{error}");
        // What needs no file needs no place.
        assert!(files.client_tls(ClientTlsOptions::trusting_any_server(), Author::User).await.is_ok());
    }
}
