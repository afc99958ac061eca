//! How a broker stops: nothing of it is left, so that the process may go on and start another one.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::broker::Broker;
use crate::connections::EndNotice;
use crate::limits::CUT_TIMEOUT;
use engine::Positions;

/// The reason that clients get when the process ends.
const SHUTDOWN: &str = "broker forced connection closure with reason 'shutdown'";

/// How often it is looked whether what is waited for has come.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

impl Broker {
    /// Receives nothing more, and waits up to `timeout` until all that has been received is durable and confirmed. Returns whether it is.
    /// [`Broker::stop_saying`] comes next. Between the two nothing is lost if another broker continues with what is in the journal.
    pub async fn pause(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let unheard = Arc::new(());
        self.connections.announce_end(&EndNotice::Pause(unheard.clone()));
        // One is kept for those that come later.
        if !wait_until(until, || Arc::strong_count(&unheard) <= 2).await {
            return false;
        }
        let end = self.write_down_all();
        tokio::time::timeout_at(until, self.until_durable(end)).await.is_ok() && self.engine.store.failure().is_none()
    }

    /// Stops because the process ends.
    pub async fn stop(&self, timeout: Duration) -> Result<(), store::CloseError> {
        self.stop_saying(SHUTDOWN, timeout).await
    }

    /// Stops: sends all clients the reason, waits up to `timeout` for them to leave, ends all connections and threads of its own, and
    /// closes the store so that the next start finds all as it was. The listeners that accept connections have to have stopped before:
    /// later connections are sent away.
    pub async fn stop_saying(&self, reason: &str, timeout: Duration) -> Result<(), store::CloseError> {
        self.connections.announce_end(&EndNotice::Close(reason.into()));
        let until = Instant::now() + timeout;
        wait_until(until, || self.connections.count() == 0).await;
        self.connections.announce_end(&EndNotice::Cut);
        if !wait_until(Instant::now() + CUT_TIMEOUT, || self.served_count() == 0).await {
            tracing::error!(count = self.served_count(), "connections did not end with their broker");
        }
        self.stop_timers();
        self.write_down_all();
        self.engine.store.close()
    }

    /// What the journal does not have yet of what another broker needs to go on exactly where this one is. Says where it will be durable.
    pub(crate) fn write_down_all(&self) -> Positions {
        self.engine.close_watermarks(true);
        self.record_histories();
        self.journal_end()
    }
}

/// Waits until `is_so` returns true, and returns whether it did.
async fn wait_until(until: Instant, is_so: impl Fn() -> bool) -> bool {
    while !is_so() {
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    true
}
