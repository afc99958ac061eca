//! What PerfTest 2.22.1 does with its options: each test is what was seen when it ran against RabbitMQ 4.3.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::plan::{
    Binding, BindingKeys, Body, ConsumedQueues, Distribution, ExitWhen, Plan, Processing, Publishers, Rate, Routing,
    Schedule, Segment, Settle, Sizes, Value,
};

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(|word| if word == "''" { String::new() } else { word.to_owned() }).collect()
}

fn run(command: &str, environment: &[(&str, &str)]) -> Result<(Options, Vec<String>), ParseError> {
    let variable =
        |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    match parse(&words(command), &variable)? {
        Command::Run { options, warnings } => Ok((*options, warnings)),
        Command::Print(text) => panic!("printed {text}"),
    }
}

#[track_caller]
fn options(command: &str) -> Options {
    run(command, &[]).unwrap().0
}

#[track_caller]
fn plan(command: &str) -> Plan {
    let read = |path: &Path| match path.to_str() {
        Some("queues.txt") => Ok(b"one\n two \n\nthree\n".to_vec()),
        Some("a.bin") => Ok(b"AAA".to_vec()),
        Some("b.bin") => Ok(b"B".to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    options(command).plan("test", 1, &read).unwrap()
}

#[track_caller]
fn producer(command: &str) -> Publishers {
    plan(command).publishers.into_iter().next().unwrap()
}

#[track_caller]
fn consumer(command: &str) -> crate::plan::Consumers {
    plan(command).consumers.into_iter().next().unwrap()
}

#[track_caller]
fn check_error(command: &str, expected: &str) {
    assert_eq!(run(command, &[]).unwrap_err().to_string(), expected);
}

#[track_caller]
fn check_printed(command: &str, beginning: &str) -> String {
    match parse(&words(command), &|_| None).unwrap() {
        Command::Print(text) => {
            assert!(text.starts_with(beginning), "{text}");
            text
        }
        Command::Run { .. } => panic!("would run"),
    }
}

fn fixed_size(size: f64) -> Body {
    Body::Stamped(Sizes::Drawn(Distribution::Fixed(size)))
}

// Words.

#[test]
fn a_value_may_follow_in_five_ways() {
    for command in ["-s 1000", "-s1000", "-s=1000", "--size 1000", "--size=1000", "-size 1000", "-size=1000"] {
        assert_eq!(options(command).producers.size, 1000, "{command}");
    }
}

#[test]
fn short_names_may_have_several_letters() {
    let options = options("-qp q-%d -qpf 1 -qpt 3 -mf compact");
    assert_eq!(options.topology.queues, QueueNames::InTurn(vec!["q-1".into(), "q-2".into(), "q-3".into()]));
    assert_eq!(options.output.format, Format::Compact);
}

#[test]
fn a_long_name_may_be_cut_while_it_is_clear() {
    assert_eq!(options("--pmes 5").producer_messages, Some(5));
    assert_eq!(options("--pmes=5").producer_messages, Some(5));
    check_error(
        "--consumer-a 5 --consumer-l 5 --confirm 3 --conf 5",
        "option '--conf' can be any of: --confirm, --confirm-timeout",
    );
}

#[test]
fn options_of_our_own_change_nothing_for_perftests() {
    // `--json` and `--seed` begin like these.
    assert_eq!(options("--jso").producers.body, BodySource::Json { documents: 100, fields: 1000 });
    check_error("-see", "--size: 'ee' is not a number from 0 to 1073741824");
    assert_eq!(options("-seed 5 --warm 3").seed, Some(5));
    assert_eq!(options("--see 5").seed, Some(5));
}

#[test]
fn quotes_around_a_value_of_its_own_are_taken_away() {
    assert_eq!(options("-u \"q\"").topology.queues, QueueNames::Fixed(vec!["q".into()]));
    assert_eq!(options("--queue=\"q\"").topology.queues, QueueNames::Fixed(vec!["\"q\"".into()]));
}

#[test]
fn short_flags_may_be_put_together() {
    let options = options("-aKx3");
    assert!(options.consumers.is_auto_ack && options.producers.has_random_keys);
    assert_eq!(options.producers.count, 3);
    check_error("-qzz", "--qos: 'zz' is not a number from 0 to 65535");
}

#[test]
fn a_word_with_a_dash_is_a_value_if_no_option_begins_like_it() {
    assert_eq!(options("-c -1").producers.confirm, None);
    assert_eq!(options("-c 0").producers.confirm, Some(0));
    assert_eq!(options("-k -.wild").topology.routing_key.as_deref(), Some("-.wild"));
    check_error("-k -queue", "option '--routing-key' needs a value");
}

#[test]
fn an_option_given_twice_has_its_first_value() {
    assert_eq!(options("-d first -d second").id, Some("first".to_owned()));
}

#[test]
fn flags_may_be_repeated_or_follow_each_other() {
    for command in ["-f persistent -f mandatory", "-f persistent mandatory", "--flag=persistent --flag=mandatory"] {
        let producers = options(command).producers;
        assert!(producers.is_persistent && producers.is_mandatory, "{command}");
    }
}

#[test]
fn words_without_an_option_are_ignored_aloud() {
    let (_, warnings) = run("stray -s 5 more -- -x 7", &[]).unwrap();
    assert_eq!(warnings.len(), 4);
    assert_eq!(warnings[0], "'stray' belongs to no option, and is ignored");
    assert_eq!(options("-- -x 7").producers.count, 1);
}

#[test]
fn an_unknown_option_names_the_closest_one() {
    check_error("--producer-count 5", "unknown option '--producer-count'; the closest known option is '--producers'");
    check_error("--confirms 5", "unknown option '--confirms'; the closest known option is '--confirm'");
    check_error("--size1000", "unknown option '--size1000'; the closest known option is '--size'");
    check_error("-gpf 1", "unknown option '-gpf'; the closest known option is '-qpf'");
}

#[test]
fn a_value_that_is_missing_or_too_much_is_an_error() {
    check_error("-x", "option '--producers' needs a value");
    check_error("-x -y 1", "option '--producers' needs a value");
    check_error("--flag", "option '--flag' needs a value");
    check_error("--autoack=yes", "option '--autoack' takes no value");
}

#[test]
fn a_value_that_makes_no_sense_is_an_error() {
    check_error("-x abc", "--producers: 'abc' is not a number from 0 to 1000000");
    check_error("-ew never", "--exit-when: 'never' is neither 'empty' nor 'idle'");
    check_error("-mf wide", "--metrics-format: 'wide' is neither 'default' nor 'compact'");
    check_error("-vr 10", "--variable-rate: '10' is not VALUE:SECONDS, two whole numbers, the second more than 0");
    check_error("-P 0.05", "--publishing-interval: '0.05' is less than 0.1 seconds");
    check_error("-cri 5-1", "--connection-recovery-interval: '5-1' ends before it begins");
    check_error("-em a=b", "--exposed-metrics: 'a=b' has a value that is no number: 'b'");
    check_error(
        "-qa x-max-length",
        "--queue-args: 'x-max-length' is not key=value, separated by commas: 'x-max-length' has no '='",
    );
    check_error(
        "-mp priority=high",
        "--message-properties: 'priority=high' has a priority that is not a number from 0 to 255",
    );
    check_error("--influx https://there", "--influx: 'https://there' is neither a file nor an http:// URL");
    check_error("-i 0", "--interval: '0' is less than 0.1 seconds");
}

#[test]
fn options_that_do_not_go_together_are_an_error() {
    check_error("-qq -sq", "--quorum-queue and --stream-queue do not go together");
    check_error("-qp q-%d", "--queue-pattern, --queue-pattern-from and --queue-pattern-to go together");
    check_error("-qp q-%d -qpf 5 -qpt 1", "--queue-pattern-from 5 is more than --queue-pattern-to 1");
    check_error("-qf f -u q", "--queue-file, --queue and --queue-pattern do not go together");
    check_error("-A 20 -q 10", "--multi-ack-every 20 is more than --qos 10: no ack would ever be due");
    check_error("-m 5 -c 5", "--ptxsize and --confirm do not go together: a channel has transactions or confirms");
    check_error("-o2uri http://there", "--oauth2-token-endpoint needs --oauth2-client-id");
    check_error("--tls-key k.pem", "--tls-cert and --tls-key go together");
    check_error("-sq -smssb 4gb", "--stream-max-segment-size-bytes is more than 3 GB");
}

#[test]
fn an_option_without_meaning_says_why() {
    let (_, warnings) = run("-niot 4 -mjgc -ei 3", &[]).unwrap();
    assert_eq!(
        warnings,
        [
            "--nio-threads has no effect: connections here share a few threads, see --threads",
            "--metrics-jvm-gc has no effect: there is no JVM here",
            "--expected-instances has no effect: instances here do not find each other over Kubernetes; see --agents",
        ]
    );
}

#[test]
fn options_can_be_left_out_of_a_command() {
    let check = |command: &str, expected: &str| {
        assert_eq!(without_options(&words(command), &["uri", "autoack"]).join(" "), expected);
    };
    check("-x 1 -h amqp://a --size=5 stray", "-x 1 --size=5 stray");
    check("--uri=amqp://a -f persistent mandatory -a -- -a", "-f persistent mandatory -- -a");
    check("-aK -hamqp://a", "-aK");
    check("--nonsense -h amqp://a", "--nonsense -h amqp://a");
}

#[test]
fn values_have_limits() {
    check_error("-qp q-%d -qpf 0 -qpt 1000000", "--queue-pattern names more than 1000000 queues");
    check_error("-jb -bc 1000000 -s 2000", "--body-count documents of --size would take more than 1 GiB of memory");
    check_error("-X 65536", "--producer-channel-count: '65536' is not a number from 0 to 65535");
    check_error("-s 2000000000", "--size: '2000000000' is not a number from 0 to 1073741824");
    check_error("-z 9999999999", "--time: '9999999999' is more than 2147483647 seconds");
    check_error("-st 1e300", "--shutdown-timeout: '1e300' is not a number of seconds");
    check_error("-B ,", "--body names no file");
}

proptest::proptest! {
    /// Whatever is typed, the answer is a command or one line of error.
    #[test]
    fn any_words_are_a_command_or_an_error(
        options in proptest::collection::vec((0..OPTIONS.len(), 0..4, "[-a-z0-9:.,=%dµT\"]{0,8}|[0-9]{1,22}|-?[0-9.e]{1,6}|P[0-9DTHMS]{0,9}"), 0..6),
    ) {
        let words: Vec<String> = options
            .iter()
            .flat_map(|(at, form, value)| {
                let entry = &OPTIONS[*at];
                match form {
                    0 => vec![entry.name(), value.clone()],
                    1 => vec![format!("--{}={value}", entry.long)],
                    2 => vec![format!("-{}{value}", entry.short)],
                    _ => vec![value.clone()],
                }
            })
            .collect();
        match parse(&words, &|_| None) {
            Ok(Command::Run { options, .. }) => {
                // Names of up to a million queues are right, and slow.
                if !matches!(&options.topology.queues, QueueNames::InTurn(names) if names.len() > 100)
                    && options.producers.random_key_count < 100
                    && options.producers.body == BodySource::Stamped
                {
                    let _ = options.plan("test", 1, &|_| Err(io::Error::other("no files")));
                }
            }
            Ok(Command::Print(text)) => assert!(!text.is_empty()),
            Err(error) => assert!(!error.to_string().trim().is_empty()),
        }
        let _ = without_options(&words, &["uri"]);
    }
}

// The environment.

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

// Help.

#[test]
fn help_has_every_option_but_those_about_metrics() {
    let text = check_printed("--help -x nonsense", "usage: warren perf [OPTION...]\n");
    let metrics = check_printed("-mh", "usage: warren perf [OPTION...]\n");
    let names = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.get(..50)?.split("--").nth(1)?.split(' ').next().map(str::to_owned))
            .collect()
    };
    let (text_names, metrics_names) = (names(&text), names(&metrics));
    for entry in OPTIONS {
        let is_metric = entry.group == Group::Metrics;
        assert_eq!(text_names.iter().any(|name| name == entry.long), !is_metric, "{}", entry.long);
        assert_eq!(metrics_names.iter().any(|name| name == entry.long), is_metric, "{}", entry.long);
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn help_can_show_variables() {
    assert!(check_printed("-env", "Each option").contains("\n VARIABLE_RATE "));
    assert!(check_printed("-env -mh", "Each option").contains("\n METRICS_PROMETHEUS_PORT "));
    check_printed("--version", "warren perf ");
}

#[test]
fn names_are_unique() {
    for (at, entry) in OPTIONS.iter().enumerate() {
        for other in &OPTIONS[at + 1..] {
            assert_ne!(entry.long, other.long);
            assert!(entry.short.is_empty() || entry.short != other.short, "-{}", entry.short);
        }
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/perf-options.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text == render_reference(), "run `make docs`");
}

// Exchanges, queues, bindings.

#[test]
fn without_options_each_consumer_has_a_queue_that_the_broker_names() {
    let plan = plan("");
    let [exchange] = &plan.exchanges[..] else { panic!() };
    assert_eq!((exchange.name.as_str(), exchange.kind.as_str()), ("direct", "direct"));
    assert!(exchange.durable && !exchange.auto_delete && !exchange.keep_existing);
    let [queues] = &plan.queues[..] else { panic!() };
    assert_eq!(queues.names, [""]);
    assert!(!queues.durable && !queues.exclusive && queues.auto_delete && !queues.is_temporary);
    assert_eq!(plan.consumers[0].queues, ConsumedQueues::All(vec![String::new()]));
    let Routing::PerPublisher(keys) = &plan.publishers[0].routing else { panic!() };
    assert_eq!(keys[0].len(), 36, "a random key");
    assert_eq!(
        queues.bindings,
        [Binding { exchange: "direct".into(), keys: BindingKeys::All(keys.clone()), arguments: vec![] }]
    );
}

#[test]
fn the_exchange_is_named_like_its_type() {
    let plan = plan("-t fanout");
    assert_eq!((plan.exchanges[0].name.as_str(), plan.exchanges[0].kind.as_str()), ("fanout", "fanout"));
    assert_eq!(plan.publishers[0].exchange, "fanout");
}

#[test]
fn the_brokers_own_exchanges_are_not_declared() {
    assert!(plan("-e amq.topic -t topic").exchanges.is_empty());
    assert_eq!(producer("-e amq.topic").exchange, "amq.topic");
}

#[test]
fn the_default_exchange_is_neither_declared_nor_bound_to() {
    for command in ["-e amq.default -u q -k q", "-e '' -u q -k q", "-u q -k q -e", "-e -u q -k q"] {
        let plan = plan(command);
        assert!(plan.exchanges.is_empty() && plan.queues[0].bindings.is_empty(), "{command}");
        assert_eq!(plan.publishers[0].exchange, "", "{command}");
        assert_eq!(plan.publishers[0].routing, Routing::PerPublisher(vec!["q".into()]), "{command}");
    }
}

#[test]
fn each_consumer_takes_all_queues_that_are_named() {
    let plan = plan("-y 2 -u q1,q2 -k rk");
    assert_eq!(plan.queues[0].names, ["q1", "q2"]);
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::All(vec!["rk".into()]));
    assert_eq!(plan.consumers[0].queues, ConsumedQueues::All(vec!["q1".into(), "q2".into()]));
}

#[test]
fn producers_and_consumers_take_the_queues_of_a_pattern_in_turn() {
    let plan = plan("-x 3 -y 2 -qp q-%d -qpf 1 -qpt 4");
    let names: Vec<String> = (1..=4).map(|number| format!("q-{number}")).collect();
    assert_eq!(plan.queues[0].names, names);
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::QueueName);
    assert_eq!(plan.publishers[0].routing, Routing::PerPublisher(names.clone()));
    assert_eq!(plan.consumers[0].queues, ConsumedQueues::Spread(names));
}

#[test]
fn a_routing_key_binds_all_queues_of_a_pattern() {
    let plan = plan("-qp q-%d -qpf 1 -qpt 4 -k rk");
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::All(vec!["rk".into()]));
    assert_eq!(plan.publishers[0].routing, Routing::PerPublisher(vec!["rk".into()]));
}

#[test]
fn queues_may_come_from_a_file() {
    let plan = plan("-qf queues.txt");
    assert_eq!(plan.queues[0].names, ["one", "two", "three"]);
    assert_eq!(plan.queues[0].bindings[0].keys, BindingKeys::QueueName);
    let error = options("-qf missing.txt").plan("test", 1, &|_| Err(io::Error::other("gone"))).unwrap_err();
    assert_eq!(error.to_string(), "--queue-file missing.txt: gone");
}

#[test]
fn without_consumers_only_named_queues_are_declared() {
    assert!(plan("-y 0").queues.is_empty());
    let plan = plan("-y 0 -u q");
    assert_eq!(plan.queues[0].names, ["q"]);
    assert!(plan.consumers.is_empty());
}

#[test]
fn without_producers_queues_are_declared_all_the_same() {
    let plan = plan("-x 0 -u q");
    assert_eq!(plan.queues[0].names, ["q"]);
    assert!(plan.publishers.is_empty());
}

#[test]
fn predeclared_declares_what_is_missing() {
    let named = plan("-p -u q");
    assert!(named.exchanges[0].keep_existing && named.queues[0].keep_existing);
    assert_eq!(named.queues[0].bindings.len(), 1, "and binds it in any case");
    let unnamed = plan("-p -e amq.direct -k kk");
    assert!(unnamed.queues.is_empty() && unnamed.consumers.is_empty());
}

#[test]
fn queues_may_be_left_unbound() {
    assert!(plan("-sb -u q").queues[0].bindings.is_empty());
}

#[test]
fn persistent_messages_make_durable_queues() {
    let plan = plan("-f persistent -ad false");
    assert!(plan.queues[0].durable && !plan.queues[0].auto_delete && plan.publishers[0].properties.persistent);
}

#[test]
fn quorum_queues_are_durable_and_stay() {
    let plan = plan("-qq -u q -ad true");
    let queues = &plan.queues[0];
    assert!(queues.durable && !queues.auto_delete && plan.publishers[0].properties.persistent);
    assert_eq!(queues.arguments, [("x-queue-type".to_owned(), Value::Text("quorum".to_owned()))]);
}

#[test]
fn streams_have_limits_and_a_prefetch() {
    let plan = plan("-sq -u s");
    assert_eq!(
        plan.queues[0].arguments,
        [
            ("x-queue-type".to_owned(), Value::Text("stream".to_owned())),
            ("x-max-length-bytes".to_owned(), Value::Int(20_000_000_000)),
            ("x-stream-max-segment-size-bytes".to_owned(), Value::Int(500_000_000)),
        ]
    );
    assert_eq!(plan.consumers[0].prefetch, 200);
    let unlimited = super::tests::plan("-sq -u s -mlb 0 -ma PT10M30S -ll balanced -q 10 -sco 2022-06-03T07:45:54Z");
    assert_eq!(
        unlimited.queues[0].arguments,
        [
            ("x-queue-type".to_owned(), Value::Text("stream".to_owned())),
            ("x-stream-max-segment-size-bytes".to_owned(), Value::Int(500_000_000)),
            ("x-max-age".to_owned(), Value::Text("630s".to_owned())),
            ("x-queue-leader-locator".to_owned(), Value::Text("balanced".to_owned())),
        ]
    );
    assert_eq!(unlimited.consumers[0].prefetch, 10);
    assert_eq!(unlimited.consumers[0].arguments, [("x-stream-offset".to_owned(), Value::Timestamp(1_654_242_354))]);
}

#[test]
fn exclusive_queues_are_those_of_consumers() {
    let plan = plan("-E -y 2 -qp q-%d -qpf 1 -qpt 4");
    assert!(plan.queues[0].exclusive);
    assert_eq!(plan.queues[0].names, ["q-1", "q-2"]);
    assert!(super::tests::plan("-E -y 0 -u q").queues.is_empty());
}

#[test]
fn queue_arguments_add_up() {
    let plan = plan("-qa x-max-length=10,x-queue-version=2 -qa x-max-length=20");
    assert_eq!(
        plan.queues[0].arguments,
        [("x-max-length".to_owned(), Value::Int(20)), ("x-queue-version".to_owned(), Value::Int(2)),]
    );
}

// Producers.

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

// Consumers.

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

// The run.

#[test]
fn limits_are_for_each_channel() {
    let plan = plan("-C 5 -D 3 -z 10 -ew idle -i 2");
    assert_eq!((plan.publishers[0].message_limit, plan.consumers[0].message_limit), (Some(5), Some(3)));
    assert_eq!((plan.duration, plan.interval), (Some(Duration::from_secs(10)), Duration::from_secs(2)));
    assert_eq!(plan.exit_when, Some(ExitWhen::Idle));
}

#[test]
fn no_limit_is_zero() {
    let plan = plan("-C 0 -D 0 -z 0");
    assert_eq!((plan.publishers[0].message_limit, plan.consumers[0].message_limit, plan.duration), (None, None, None));
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    let options = options("-K -rkcs 5 -jb");
    let read = |_: &Path| Err(io::Error::other("no files"));
    assert_eq!(options.plan("a", 5, &read).unwrap(), options.plan("a", 5, &read).unwrap());
    assert_ne!(options.plan("a", 5, &read).unwrap(), options.plan("a", 6, &read).unwrap());
}

#[test]
fn an_id_is_the_time_of_day() {
    let now = UNIX_EPOCH + Duration::from_millis(1_654_242_354_042);
    assert_eq!(Options::generated_id(now), "test-074554-042");
    assert_eq!(Options::generated_id(SystemTime::UNIX_EPOCH), "test-000000-000");
}

// Connections and output.

#[test]
fn connections_are_as_perftest_has_them() {
    let connection = options("").connection;
    assert_eq!(connection.uris, ["amqp://localhost"]);
    assert_eq!((connection.send_buffer_len, connection.receive_buffer_len), (Some(65_536), Some(65_536)));
    assert!(connection.has_no_delay);
    assert_eq!(connection.recovery_interval, Some((Duration::from_secs(5), Duration::from_secs(5))));
    assert_eq!((connection.heartbeat, connection.frame_len_max, connection.startup_timeout), (None, None, None));
}

#[test]
fn connections_can_be_told_otherwise() {
    let connection = options(
        "-H amqp://a,amqp://b -cal round-robin -dcr -b 10 -M 4096 -tsbs 0 -tnd false -sst 30 -sul 1 -se -sni x,y \
         --tls-cert c.pem --tls-key k.pem --tls-ca ca.pem -o2uri http://t -o2id me -o2sec pw -o2p a=1 -o2p b=2=3",
    )
    .connection;
    assert_eq!(connection.uris, ["amqp://a", "amqp://b"]);
    assert_eq!(connection.allocation, Allocation::RoundRobin);
    assert_eq!(connection.recovery_interval, None);
    assert_eq!((connection.heartbeat, connection.frame_len_max), (Some(Duration::from_secs(10)), Some(4096)));
    assert_eq!((connection.send_buffer_len, connection.has_no_delay), (None, false));
    assert_eq!((connection.startup_timeout, connection.startup_count), (Some(Duration::from_secs(30)), 1));
    assert!(connection.is_sasl_external);
    assert_eq!(connection.tls.server_name.as_deref(), Some("x"));
    assert_eq!(connection.tls.identity, Some(("c.pem".into(), "k.pem".into())));
    let oauth2 = connection.oauth2.unwrap();
    assert_eq!(oauth2.grant_type, "client_credentials");
    assert_eq!(oauth2.parameters, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2=3".to_owned())]);
}

#[test]
fn metrics_are_served_on_demand() {
    let metrics = options("").output.metrics;
    assert_eq!((metrics.is_served, metrics.port, metrics.path.as_str()), (false, 8080, "/metrics"));
    let metrics =
        options("-mpr -mpp 9090 -mpe stats -mpx my_ -mt env=test,region=eu -em expected_published=50000 -mcla")
            .output
            .metrics;
    assert_eq!((metrics.is_served, metrics.port, metrics.path.as_str()), (true, 9090, "/stats"));
    assert_eq!(metrics.labels.len(), 2);
    assert_eq!(metrics.constants, [("expected_published".to_owned(), 50_000.0)]);
    assert!(metrics.has_command_line);
}

#[test]
fn commands_from_the_documentation_work() {
    for command in [
        "-x 1 -y 2 -u throughput-test-1 -a --id test-1",
        "-x 1 -y 2 -u throughput-test-2 -id test-2",
        "-x1 -y2 -uthroughput-test-3 --id=test3 -f persistent -q 200 -s1000",
        "-x 0 -y 0 -z 30",
        "-H amqp://a,amqp://b,amqp://c --producers 10 --consumers 10 --quorum-queue --queue qq --rate 500 --autoack",
        "--queue-pattern perf-test-%d --queue-pattern-from 1 --queue-pattern-to 10 --producers 100 --consumers 100",
        "--producers 1000 --publishing-interval 60 --producer-random-start-delay 1800 --producer-scheduler-threads 10 --heartbeat-sender-threads 10 --nio-threads 10 --consumers-thread-pools 10",
        "--variable-rate 200:100 --variable-rate 500:60 --variable-size 1000:30 --variable-size 10000:20",
        "-x 1 -y 1 -e amq.fanout -t fanout -f persistent --flag mandatory -c 10 -A 10 -q 20 -m 0 -n 0",
        "--metrics-prometheus --metrics-prometheus-port 8081 --metrics-tags type=publisher,deployment=europe --metrics-command-line-arguments",
        "--body content1.json,content2.json --body-content-type application/json",
        "--message-properties priority=5,header1=value1 --queue-args x-max-length=10,x-dead-letter-exchange=some.exchange",
        "--uris amqps://a --use-default-ssl-context --sasl-external --servers-startup-timeout 30 --servers-up-limit 1",
        "--stream-queue --stream-consumer-offset first --max-length-bytes 10gb --max-age PT15M",
    ] {
        run(command, &[]).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
}
