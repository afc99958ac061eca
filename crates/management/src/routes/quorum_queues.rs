//! What only quorum queues have to tell.

use broker::view::QueueView;
use model::features::{BackOff, DelayedRetry, QueueFeatures, RetryOf};

use crate::json::Cell;

fn features(queue: &QueueView) -> QueueFeatures {
    QueueFeatures::of(&queue.definition().arguments, &queue.policy())
}

/// How often a message may fail. Where there is no limit RabbitMQ says so in words among the counts, and in a number elsewhere.
pub(super) fn put_delivery_limit(queue: &QueueView, is_among_counts: bool, cell: Cell<'_>) {
    match features(queue).delivery_limit {
        Some(limit) => cell.int(limit.into()),
        None if is_among_counts => cell.text("unlimited"),
        None => cell.signed(-1),
    }
}

/// How messages wait that came back: `failed (min: 100ms, max: 500ms)`.
pub(super) fn delayed_retry(queue: &QueueView) -> String {
    features(queue).retry.map_or_else(|| "disabled".to_owned(), shown_retry)
}

fn shown_retry(retry: DelayedRetry) -> String {
    let kind = match retry.applies_to {
        RetryOf::All => "all",
        RetryOf::Failed => "failed",
        RetryOf::Returned => "returned",
    };
    let max = retry.max_ms.map_or_else(String::new, |max| format!(", max: {max}ms"));
    let back_off = match retry.back_off {
        BackOff::Linear => "",
        BackOff::Exponential => ", exponential",
    };
    format!("{kind} (min: {}ms{max}{back_off})", retry.min_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_told_as_rabbitmq_tells_it() {
        let retry =
            DelayedRetry { applies_to: RetryOf::Failed, min_ms: 100, max_ms: Some(500), back_off: BackOff::Linear };
        assert_eq!(shown_retry(retry), "failed (min: 100ms, max: 500ms)");
        let ours = DelayedRetry { applies_to: RetryOf::All, max_ms: None, back_off: BackOff::Exponential, ..retry };
        assert_eq!(shown_retry(ours), "all (min: 100ms, exponential)");
    }
}
