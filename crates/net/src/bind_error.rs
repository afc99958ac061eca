//! Why a listener could not be opened.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a listener could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process has the port. The operator stops it or chooses another port.
    #[error("cannot listen on {address}: port {} is already in use by another process", address.port())]
    Taken {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The system refuses for another reason.
    #[error("cannot listen on {address}: {source}")]
    Refused {
        /// The address that was asked for.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process has the Unix-domain socket.
    #[error("cannot listen on {}: another process listens on this socket already", path.display())]
    UnixTaken {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The system refuses the Unix-domain socket for another reason.
    #[error("cannot listen on {}: {source}", path.display())]
    UnixRefused {
        /// The path that was asked for.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}
