//! What a process gives its shovels.

use std::io;

use net::Stream;

use crate::status::{ShovelId, State};

/// What a shovel is given by the process that it runs in.
pub trait Host: Send + Sync + 'static {
    /// A connection to this process's own broker. With `is_trusted` the broker takes it for its own, whatever login it shows, as
    /// RabbitMQ does with direct connections of no user.
    fn connect(&self, is_trusted: bool) -> io::Result<Stream>;

    /// Whether shovels may connect to this host.
    fn permits(&self, host: &str) -> bool;

    /// What the cluster is called: for `x-shovelled`.
    fn cluster_name(&self) -> String;

    /// A shovel has moved all that it was to move: its definition goes.
    fn finished(&self, id: &ShovelId);

    /// A shovel's state has changed.
    fn state_changed(&self, id: &ShovelId, state: &State);
}
