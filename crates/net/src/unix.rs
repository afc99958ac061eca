//! Unix-domain sockets: a path that is a listener, and the process on the other side.
//!
//! The socket is its owner's alone (mode 0600). One that a dead process left behind is replaced; one that answers is not. It is removed
//! with its listener, unless another one is in its place.

use std::fs::{self, Metadata};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::UnixListener;

use crate::bind_error::BindError;

/// The address given to clients of a Unix-domain socket: this host, and no port.
pub(crate) const UNIX_PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A listening socket at a path, which is removed with it.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    pub(crate) listener: UnixListener,
    pub(crate) path: PathBuf,
    /// Device and inode of our own socket.
    file: (u64, u64),
}

/// The process on the other side of a Unix-domain socket, as the system reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// The user that the process runs as.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The process, where the system reports it.
    pub pid: Option<i32>,
}

impl UnixSocket {
    pub(crate) fn bind(path: &Path, backlog: u32) -> Result<Self, BindError> {
        let refused = |source| BindError::UnixRefused { path: path.to_owned(), source };
        if let Ok(found) = fs::symlink_metadata(path) {
            make_room(path, &found)?;
        }
        let socket = open(path, backlog).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::UnixTaken { path: path.to_owned() },
            _ => refused(source),
        })?;
        let file = fs::symlink_metadata(path).map_err(refused)?;
        let listener = UnixListener::from_std(socket.into()).map_err(refused)?;
        Ok(Self { listener, path: path.to_owned(), file: (file.dev(), file.ino()) })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|file| (file.dev(), file.ino()) == self.file);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes a socket that no process listens on.
fn make_room(path: &Path, found: &Metadata) -> Result<(), BindError> {
    let refused = |source| BindError::UnixRefused { path: path.to_owned(), source };
    if !found.file_type().is_socket() {
        return Err(refused(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket exists")));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(refused),
        // Also one that does not let us in: a process has it.
        _ => Err(BindError::UnixTaken { path: path.to_owned() }),
    }
}

fn open(path: &Path, backlog: u32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // Linux gives the file this mode from its first moment on; other systems only after the fact.
    let _ = fchmod(&socket, Mode::RUSR | Mode::WUSR);
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    socket.listen(backlog.try_into().unwrap_or(i32::MAX))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Listener, Stream};

    /// A directory that is removed after the test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(test: &str) -> Self {
            let path = std::env::temp_dir().join(format!("warren-net-{test}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[tokio::test]
    async fn its_owner_connects_and_is_known() {
        let directory = Directory::new("known");
        let path = directory.0.join("socket");
        let mut listener = Listener::bind_unix(&path, 128).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let _client = tokio::net::UnixStream::connect(&path).await.unwrap();
        let (stream, _) = listener.accept(|_| ()).await;
        let credentials = stream.peer_credentials().unwrap();
        assert_eq!(credentials.uid, rustix::process::geteuid().as_raw());
        assert_eq!(credentials.pid, Some(i32::try_from(std::process::id()).unwrap()));
        assert!(stream.peer_addr().unwrap().ip().is_loopback(), "it is as near as can be");
        assert!(matches!(stream, Stream::Unix(_)));
    }

    #[tokio::test]
    async fn a_live_socket_is_not_taken_over() {
        let directory = Directory::new("live");
        let path = directory.0.join("socket");
        let _first = Listener::bind_unix(&path, 128).unwrap();
        let error = Listener::bind_unix(&path, 128).unwrap_err();
        let expected = format!("cannot listen on {}: another process listens on this socket already", path.display());
        assert_eq!(error.to_string(), expected);
        tokio::net::UnixStream::connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn the_socket_of_a_dead_process_is_replaced() {
        let directory = Directory::new("dead");
        let path = directory.0.join("socket");
        // The standard library's listener leaves its file behind, as a killed process does.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let _listener = Listener::bind_unix(&path, 128).unwrap();
        tokio::net::UnixStream::connect(&path).await.unwrap();
    }

    #[tokio::test]
    async fn the_socket_goes_with_its_listener_but_not_with_anothers() {
        let directory = Directory::new("gone");
        let path = directory.0.join("socket");
        let listener = Listener::bind_unix(&path, 128).unwrap();
        drop(listener);
        assert!(!path.exists());
        let first = Listener::bind_unix(&path, 128).unwrap();
        fs::remove_file(&path).unwrap();
        let _second = Listener::bind_unix(&path, 128).unwrap();
        drop(first);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn other_files_stay() {
        let directory = Directory::new("file");
        let path = directory.0.join("file");
        fs::write(&path, "precious").unwrap();
        let error = Listener::bind_unix(&path, 128).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot listen on {}: a file that is not a socket exists", path.display())
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let nowhere = directory.0.join("none").join("socket");
        assert!(matches!(Listener::bind_unix(&nowhere, 128).unwrap_err(), BindError::UnixRefused { .. }));
    }
}
