//! The signals that end a broker.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT, which end the broker in good order, and SIGHUP, which has files read again.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From here on none of them ends the process by itself.
    pub(crate) fn listen() -> Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?,
            hang_up: signal(SignalKind::hangup()).context("cannot wait for SIGHUP")?,
        })
    }

    /// Waits for the next one that ends the broker, and says its name. `reload` is what SIGHUP does meanwhile.
    pub(crate) async fn next(&mut self, reload: impl Fn()) -> &'static str {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return "SIGTERM",
                _ = self.interrupt.recv() => return "SIGINT",
                _ = self.hang_up.recv() => {
                    tracing::info!("reloading on SIGHUP");
                    reload();
                }
            }
        }
    }
}
