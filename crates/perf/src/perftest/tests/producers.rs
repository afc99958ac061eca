//! Producers.

use super::*;

#[test]
fn rates_are_for_each_channel() {
    // Two connections with two channels each at 10 a second were seen to send 40.
    let producer = producer("-x 2 -X 2 -r 10.5");
    assert_eq!((producer.connections, producer.channels), (2, 2));
    assert_eq!(producer.schedule, Schedule::constant(Rate::Fixed(10.5)));
}

#[test]
fn a_rate_of_zero_publishes_nothing_and_a_negative_one_is_none() {
    assert_eq!(producer("-r 0").schedule, Schedule::constant(Rate::Fixed(0.0)));
    assert_eq!(producer("-r -1").schedule, Schedule::constant(Rate::Unlimited));
    assert_eq!(producer("").schedule, Schedule::constant(Rate::Unlimited));
}

#[test]
fn variable_rates_go_round() {
    let second = Some(Duration::from_secs(1));
    let expected = Schedule {
        segments: vec![
            Segment { rate: Rate::Fixed(10.0), duration: second },
            Segment { rate: Rate::Fixed(0.0), duration: second },
        ],
        repeat: true,
    };
    assert_eq!(producer("-vr 10:1 -vr 0:1 -r 5").schedule, expected);
}

#[test]
fn a_publishing_interval_is_a_rate() {
    assert_eq!(producer("-P 0.5").schedule, Schedule::constant(Rate::Fixed(2.0)));
}

#[test]
fn bodies_are_at_least_12_bytes() {
    assert_eq!(producer("").body, fixed_size(12.0));
    assert_eq!(producer("-s 5").body, fixed_size(12.0));
    assert_eq!(producer("-s 4000").body, fixed_size(4000.0));
    assert_eq!(producer("-vs 100:2").body, Body::Stamped(Sizes::Cycle(vec![(100, Duration::from_secs(2))])));
}

#[test]
fn bodies_may_come_from_files() {
    let producer = producer("-B a.bin,b.bin -T text/plain");
    assert_eq!(producer.body, Body::Given(vec![b"AAA".to_vec(), b"B".to_vec()]));
    assert_eq!(producer.properties.content_type.as_deref(), Some("text/plain"));
}

#[test]
fn bodies_may_be_json() {
    let producer = producer("-jb -s 200 -bc 3 -bfc 10");
    let Body::Given(bodies) = &producer.body else { panic!() };
    assert_eq!(bodies.len(), 3);
    assert_eq!(producer.properties.content_type.as_deref(), Some("application/json"));
}

#[test]
fn what_is_no_property_is_a_header() {
    let properties =
        producer("-mp priority=5,foo=bar,num=7,deliveryMode=2,contentType=text/plain,timestamp=1500").properties;
    assert_eq!(properties.priority, Some(Distribution::Fixed(5.0)));
    assert!(properties.persistent);
    assert_eq!(properties.content_type.as_deref(), Some("text/plain"));
    assert_eq!(properties.timestamp, Some(1));
    assert_eq!(
        properties.headers,
        [("foo".to_owned(), Value::Text("bar".to_owned())), ("num".to_owned(), Value::Int(7)),]
    );
}

#[test]
fn a_timestamp_may_be_a_date() {
    let timestamp = |text: &str| producer(&format!("-mp timestamp={text}")).properties.timestamp;
    assert_eq!(timestamp("2026-07-01T12:00:30Z"), Some(1_782_907_230));
    assert_eq!(timestamp("2026-07-01T14:00:30.999+02:00"), Some(1_782_907_230));
    assert_eq!(timestamp("2026-07-01T05:30:30-06:30"), Some(1_782_907_230));
    assert_eq!(timestamp("2026-07-01T12:00Z"), Some(1_782_907_200));
    assert_eq!(timestamp("2026-07-01t12:00:30z"), Some(1_782_907_230));
}

#[test]
fn a_timestamp_that_is_no_time_is_refused() {
    for text in ["yesterday", "2026-07-01", "2026-13-01T00:00:00Z", "2026-07-01T12:00:30", "2026-07-01T12:00:30+25:00"]
    {
        let refused = run(&format!("-x 1 -mp timestamp={text}"), &[]).unwrap_err().to_string();
        assert!(refused.contains("2026-01-31T12:00:00Z"), "{text}: {refused}");
    }
}

#[test]
fn a_negative_confirm_timeout_is_none() {
    assert_eq!(producer("-c 1 -ct -1").confirm_timeout, None);
    assert_eq!(producer("-c 1").confirm_timeout, Some(Duration::from_secs(30)));
    assert_eq!(producer("-c 1 -ct 5").confirm_timeout, Some(Duration::from_secs(5)));
}

#[test]
fn random_keys_are_new_ones_or_a_few_in_turn() {
    assert_eq!(producer("-K").routing, Routing::Fresh);
    let Routing::InTurn(keys) = producer("-K -rkcs 3").routing else { panic!() };
    assert_eq!(keys.len(), 3);
}

#[test]
fn a_confirm_window_of_zero_is_any_number() {
    assert_eq!(producer("-c 0").confirm_window, Some(u32::MAX));
    assert_eq!(producer("-c 100 -ct 5").confirm_window, Some(100));
    assert_eq!(producer("").confirm_window, None);
}
