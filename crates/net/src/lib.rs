//! Sockets: listeners, outgoing connections, TLS, proxies' headers, WebSockets, streams, and the process's limit of open files.
//!
//! Knows nothing of AMQP. What travels over a stream is up to the caller; how a connection comes to be (address,
//! options, what happens when files run out) is decided here, once, for every protocol.

mod address_limiter;
mod admission;
mod bind_error;
mod dial;
mod gate;
mod listener;
mod open_files;
pub mod proxy_protocol;
mod replay;
mod splice;
mod stream;
mod tcp_info;
mod tls;
mod unix;
pub mod websocket;

pub use address_limiter::{AddressLimiter, AddressPermit};
pub use admission::{Admission, AdmitError};
pub use bind_error::BindError;
pub use dial::{DialError, DialOptions, dial, start_tls};
pub use gate::Gate;
pub use listener::{Listener, ListenerAddress, SharedListener, SocketOptions};
pub use open_files::{OpenFiles, raise_open_files_limit};
pub use replay::Replay;
pub use splice::splice;
pub use stream::{DetachedStream, ForwardedStream, Liveness, ProxiedStream, Stream, TlsStream};
pub use tcp_info::TcpInfo;
pub use tls::{
    AlternativeName, CertificateFile, CertificateUse, ClientTls, ClientTlsOptions, ClientVerification, Identity,
    PeerCertificate, Reload, ServerTls, ServerTlsOptions, SniIdentity, TlsInfo, TlsSetupError, TlsVersion, Trust,
    known_cipher_suites, parse_cipher_suite,
};
pub use unix::PeerCredentials;
