//! The signals that end a broker.

use anyhow::{Context, Result};
use terminal::StopSignals;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// SIGTERM and SIGINT, which end the broker in good order, and SIGHUP, which has files read again.
pub(crate) struct Signals {
    stop: StopSignals,
    hang_up: Signal,
}

/// Signals of a process that is not ready yet.
pub(crate) struct StartingSignals {
    ready: oneshot::Sender<()>,
    watching: JoinHandle<Signals>,
}

impl Signals {
    /// From here on none of them alone ends the process.
    pub(crate) fn listen() -> Result<Self> {
        Ok(Signals {
            stop: StopSignals::listen().context("cannot wait for SIGTERM and SIGINT")?,
            hang_up: signal(SignalKind::hangup()).context("cannot wait for SIGHUP")?,
        })
    }

    /// The same before there is a runtime: what comes is kept until there is one.
    pub(crate) fn listen_early() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context("cannot wait for signals")?;
        let _entered = runtime.enter();
        Self::listen()
    }

    /// Has SIGTERM and SIGINT end the process at once, with status 0, until it is ready: it serves no client yet, and what is on the disk
    /// is whole at every moment. A recovery may take long, and blocks the thread that waits for it.
    pub(crate) fn end_start(mut self) -> StartingSignals {
        let (ready, is_ready) = oneshot::channel();
        let watching = tokio::spawn(async move {
            let signal = tokio::select! {
                biased;
                signal = self.stop.next() => signal.name(),
                _ = is_ready => return self,
            };
            tracing::info!(signal, "stopped before the start was complete");
            std::process::exit(0)
        });
        StartingSignals { ready, watching }
    }

    /// Waits for the next one that ends the broker, and says its name. `reload` is what SIGHUP does meanwhile.
    pub(crate) async fn next(&mut self, reload: impl Fn()) -> &'static str {
        loop {
            tokio::select! {
                signal = self.stop.next() => return signal.name(),
                _ = self.hang_up.recv() => {
                    tracing::info!("reloading on SIGHUP");
                    reload();
                }
            }
        }
    }
}

impl StartingSignals {
    /// The process is ready: from here on the caller that waits for signals decides.
    pub(crate) async fn ready(self) -> Result<Signals> {
        // The receiver is dropped only with the process.
        let _ = self.ready.send(());
        self.watching.await.context("cannot wait for signals")
    }
}
