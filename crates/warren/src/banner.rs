//! What a person sees when the broker is up.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::broker_options::COMPATIBLE_VERSION;
use crate::listener_summary::ListenerSummary;

/// What the banner shows.
pub(crate) struct Banner<'a> {
    pub(crate) data_dir: &'a Path,
    pub(crate) listeners: &'a [ListenerSummary],
    /// How long the start took.
    pub(crate) ready_after: Duration,
    /// Clients are served from now on; else when the node has found its cluster.
    pub(crate) is_serving: bool,
}

impl Banner<'_> {
    /// Prints it to stdout. A closed pipe is no reason to stop a broker.
    pub(crate) fn print(&self) {
        let _ = self.write(&mut io::stdout().lock());
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        writeln!(out, "Warren {version} (compatible with RabbitMQ {COMPATIBLE_VERSION})")?;
        writeln!(out, "  data       {}", self.data_dir.display())?;
        for listener in self.listeners {
            writeln!(out, "  listening  {listener}")?;
        }
        let ms = self.ready_after.as_millis();
        match self.is_serving {
            true => writeln!(out, "  ready in {ms} ms")?,
            false => writeln!(out, "  started in {ms} ms; clients are served as soon as the cluster is ready")?,
        }
        out.flush()
    }
}
