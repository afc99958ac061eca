//! Options from environment variables.

use super::*;

#[test]
fn each_option_may_come_from_the_environment() {
    let environment = [
        ("PRODUCERS", "3"),
        ("VARIABLE_RATE", "100:60,0:10"),
        ("AUTOACK", "true"),
        ("RANDOM_ROUTING_KEY", "yes"),
        ("NIO_THREADS", "5"),
    ];
    let (options, warnings) = run("", &environment).unwrap();
    assert_eq!(options.producers.count, 3);
    assert_eq!(options.producers.variable_rate.len(), 2);
    assert!(options.consumers.is_auto_ack);
    assert!(!options.producers.has_random_keys, "a flag is on only when it is 'true'");
    assert_eq!(warnings.len(), 1);
}

#[test]
fn the_command_line_counts_before_the_environment() {
    assert_eq!(run("-x 2", &[("PRODUCERS", "3")]).unwrap().0.producers.count, 2);
}

#[test]
fn variables_may_have_a_prefix() {
    let environment = [("RABBITMQ_PERF_TEST_ENV_PREFIX", "PERF"), ("PERF_PRODUCERS", "4"), ("CONSUMERS", "5")];
    let (options, _) = run("", &environment).unwrap();
    assert_eq!((options.producers.count, options.consumers.count), (4, 1));
    let environment = [("RABBITMQ_PERF_TEST_ENV_PREFIX", "PERF_"), ("PERF_PRODUCERS", "four")];
    assert_eq!(
        run("", &environment).unwrap_err().to_string(),
        "PERF_PRODUCERS: 'four' is not a number from 0 to 1000000"
    );
}
