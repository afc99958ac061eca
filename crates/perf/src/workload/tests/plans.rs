//! Texts and the plans that they become.

use super::*;
use crate::plan::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_smallest_workload_has_sensible_defaults() {
    let plan = plan_of(
        r#"
        [[queues]]
        name = "q"
        [[publishers]]
        queue = "q"
        [[consumers]]
        queue = "q"
        "#,
    );
    let expected = Plan {
        name: "test".to_owned(),
        seed: 1,
        drain: 10 * SECOND,
        interval: SECOND,
        queues: vec![Queues {
            names: vec!["q".to_owned()],
            durable: true,
            exclusive: false,
            auto_delete: false,
            arguments: Vec::new(),
            passive: false,
            keep_existing: false,
            bindings: Vec::new(),
            is_temporary: true,
        }],
        publishers: vec![Publishers {
            name: "publishers".to_owned(),
            connections: 1,
            channels: 1,
            exchange: String::new(),
            routing: Routing::PerPublisher(vec!["q".to_owned()]),
            body: Body::Stamped(Sizes::Drawn(Distribution::Fixed(12.0))),
            properties: Properties::default(),
            mandatory: false,
            confirm_window: None,
            confirm_timeout: 30 * SECOND,
            tx_size: 0,
            schedule: Schedule::constant(Rate::Unlimited),
            think_time: None,
            message_limit: None,
            start_delay_max: Duration::ZERO,
            messages_per_connection: None,
            messages_per_channel: None,
        }],
        consumers: vec![Consumers {
            name: "consumers".to_owned(),
            connections: 1,
            channels: 1,
            queues: ConsumedQueues::Spread(vec!["q".to_owned()]),
            prefetch: 0,
            channel_prefetch: 0,
            settle: Settle::AckEvery(1),
            tx_size: 0,
            rate: None,
            processing: Processing::None,
            message_limit: None,
            polling: None,
            arguments: Vec::new(),
            exclusive: false,
            start_delay: Duration::ZERO,
            start_gap: Duration::ZERO,
            pauses: Vec::new(),
        }],
        ..Plan::default()
    };
    assert_eq!(plan, expected);
}
