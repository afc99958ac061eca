//! How much of its time a queue can hand out messages at once.

use broker::view::QueueView;

/// `consumer_capacity` as it is shown everywhere: what comes close to 0 has no end of digits.
#[must_use]
pub fn shown_capacity(queue: &QueueView) -> f64 {
    thousandths(queue.consumer_capacity())
}

fn thousandths(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capacity_has_three_decimals() {
        for (share, expected) in [(6.08e-120, 0.0), (0.0006, 0.001), (0.123_456, 0.123), (0.9999, 1.0)] {
            assert_eq!(thousandths(share).to_string(), f64::to_string(&expected));
        }
    }
}
