//! Consumers.

use super::*;

#[test]
fn a_consumer_rate_of_zero_is_no_limit() {
    assert_eq!(consumer("-R 0").rate, None);
    assert_eq!(consumer("-R 5 -Y 2").rate, Some(5.0));
}

#[test]
fn deliveries_are_acked_one_by_one_or_many_at_once() {
    assert_eq!(consumer("").settle, Settle::AckEvery(1));
    assert_eq!(consumer("-A 5 -q 10").settle, Settle::AckEvery(5));
    assert_eq!(consumer("-a -A 5").settle, Settle::AutoAck);
    assert_eq!(consumer("-na -re false -A 5").settle, Settle::NackEvery { count: 5, requeue: false });
    assert_eq!(consumer("-na").settle, Settle::NackEvery { count: 1, requeue: true });
}

#[test]
fn consumer_latency_is_in_microseconds() {
    assert_eq!(consumer("").processing, Processing::None);
    assert_eq!(consumer("-L 50000").processing, Processing::Drawn(Distribution::Fixed(0.05)));
    let expected = Processing::Cycle(vec![(Duration::from_millis(1), Duration::from_secs(60))]);
    assert_eq!(consumer("-vl 1000:60").processing, expected);
}

#[test]
fn polling_waits_between_two_gets() {
    assert_eq!(consumer("-po -pi 100").polling, Some(Duration::from_millis(100)));
    assert_eq!(consumer("-po").polling, Some(Duration::ZERO));
    assert_eq!(consumer("-pi 100").polling, None);
}

#[test]
fn slow_start_is_one_second_apart() {
    assert_eq!(consumer("-S -csd 3").start_gap, Duration::from_secs(1));
    assert_eq!(consumer("-S -csd 3").start_delay, Duration::from_secs(3));
}
