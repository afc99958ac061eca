//! What brings things to a receiver that may fail, one after the other: the loop of webhooks, InfluxDB and servers of spans.
//! What waits, and when it may be tried, is in the crate `outbox`.

use std::time::Duration;

use outbox::NextStep;
use tokio::sync::Notify;

/// What is sent to one receiver, and how.
pub(crate) trait Sender {
    /// What is sent at a time.
    type Item;

    /// What is to be done now; None: the queue has ended.
    fn next(&mut self) -> Option<NextStep<Self::Item>>;

    /// Sends it once, and settles what has come of it.
    async fn send(&mut self, item: Self::Item);

    /// What time it is, by the outbox's clock.
    fn now_ms(&self) -> u64;

    /// There may be something to send, another receiver, or the end.
    fn news(&self) -> &Notify;
}

/// Sends all that comes, until the end.
pub(crate) async fn send_all(sender: &mut impl Sender) {
    while let Some(next) = sender.next() {
        match next {
            NextStep::Nothing => sender.news().notified().await,
            NextStep::NotBefore(at_ms) => {
                let wait = Duration::from_millis(at_ms.saturating_sub(sender.now_ms()));
                // News may come first.
                let _ = tokio::time::timeout(wait, sender.news().notified()).await;
            }
            NextStep::Send(item) => sender.send(item).await,
        }
    }
}
