//! What a person sees when the broker is up.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// What the banner tells.
pub(crate) struct Banner<'a> {
    pub(crate) data_dir: &'a Path,
    pub(crate) listeners: &'a [SocketAddr],
    pub(crate) ready_after: Duration,
}

impl Banner<'_> {
    /// Prints it to stdout.
    pub(crate) fn print(&self) {
        println!(
            "Warren {} (compatible with RabbitMQ {})",
            env!("CARGO_PKG_VERSION"),
            crate::serve::COMPATIBLE_VERSION
        );
        println!("  data       {}", self.data_dir.display());
        for listener in self.listeners {
            println!("  listening  {listener} (AMQP 0-9-1)");
        }
        println!("  ready in {} ms", self.ready_after.as_millis());
    }
}
