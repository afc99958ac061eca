//! What a process gives to what joins its broker with others.

use std::io;

use net::Stream;

use crate::tls_files::TlsFiles;

/// A connection to the process's own broker.
#[derive(Debug)]
pub struct OwnConnection {
    /// Our end of it.
    pub stream: Stream,
    /// What the broker calls it.
    pub name: Box<str>,
}

/// What shovels and links are given by the process that they run in.
pub trait Host: Send + Sync + 'static {
    /// A connection to this process's own broker. With `is_trusted` the broker takes it for its own, whatever login it shows, as
    /// RabbitMQ does with direct connections of no user.
    fn connect(&self, is_trusted: bool) -> io::Result<OwnConnection>;

    /// Whether this host may be connected to.
    fn permits(&self, host: &str) -> bool;

    /// How files that URIs name are read.
    fn tls_files(&self) -> &TlsFiles;

    /// What the cluster is called: messages say over which clusters they came.
    fn cluster_name(&self) -> String;
}
