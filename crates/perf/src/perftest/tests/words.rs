//! How words become options.

use super::*;

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
fn arguments_of_queues_that_are_true_or_false_are_booleans() {
    use crate::plan::Value;

    let arguments = options("--queue-args x-a=true,x-b=false,x-c=truer,x-d=7").topology.arguments;
    let of = |key: &str| arguments.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    assert_eq!([of("x-a"), of("x-b")], [Some(Value::Bool(true)), Some(Value::Bool(false))]);
    assert_eq!([of("x-c"), of("x-d")], [Some(Value::Text("truer".to_owned())), Some(Value::Int(7))]);
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
    let (_, warnings) = run("amqp://me:hush/x@here", &[]).unwrap();
    assert_eq!(warnings, ["'amqp://me:***@here' belongs to no option, and is ignored"]);
}

#[test]
fn an_unknown_option_names_the_closest_one() {
    check_error("--producer-count 5", "unknown option '--producer-count'; the closest known option is '--producers'");
    check_error("--confirms 5", "unknown option '--confirms'; the closest known option is '--confirm'");
    check_error("--size1000", "unknown option '--size1000'; the closest known option is '--size'");
    check_error("--agent-tokn=hush", "unknown option '--agent-tokn'; the closest known option is '--agent-token'");
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
    check_error("-em a=b", "--exposed-metrics: 'a=b' has a value that is not a number: 'b'");
    check_error(
        "-qa x-max-length",
        "--queue-args: 'x-max-length' is not key=value, separated by commas: 'x-max-length' has no '='",
    );
    check_error(
        "-mp priority=high",
        "--message-properties: 'priority=high' has a priority that is not a number from 0 to 255",
    );
    check_error("--influx ftp://there", "--influx: 'ftp://there' is neither a file nor an http:// or https:// URL");
    assert_eq!(options("--influx https://there").output.influx.as_deref(), Some("https://there"));
    check_error("-i 0", "--interval: '0' is less than 0.1 seconds");
}

#[test]
fn options_that_do_not_go_together_are_an_error() {
    check_error("-qq -sq", "--quorum-queue and --stream-queue exclude each other");
    check_error("-qp q-%d", "--queue-pattern, --queue-pattern-from and --queue-pattern-to must be used together");
    check_error("-qp q-%d -qpf 5 -qpt 1", "--queue-pattern-from 5 is more than --queue-pattern-to 1");
    check_error("-qf f -u q", "--queue-file, --queue and --queue-pattern exclude each other");
    check_error("-A 20 -q 10", "--multi-ack-every 20 is more than --qos 10: no ack would ever be sent");
    check_error("-m 5 -c 5", "--ptxsize and --confirm exclude each other: a channel has transactions or confirms");
    check_error("-o2uri http://there", "--oauth2-token-endpoint needs --oauth2-client-id");
    check_error("--tls-key k.pem", "--tls-cert and --tls-key must be used together");
    check_error("-sq -smssb 4gb", "--stream-max-segment-size-bytes is more than 3 GB");
}

#[test]
fn an_option_without_meaning_says_why() {
    let (_, warnings) = run("-niot 4 -mjgc -ei 3", &[]).unwrap();
    assert_eq!(
        warnings,
        [
            "--nio-threads has no effect: all connections share a few threads, see --threads",
            "--metrics-jvm-gc has no effect: Warren has no JVM",
            "--expected-instances has no effect: instances do not find each other over Kubernetes; see --agents",
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
    check("--nonsense -h amqp://a", "--nonsense");
    check("run a.toml --set x=1 -h amqp://a --scale 2", "run a.toml --set x=1 --scale 2");
}

#[test]
fn values_have_limits() {
    check_error("-qp q-%d -qpf 0 -qpt 1000000", "--queue-pattern names more than 1000000 queues");
    check_error("-jb -bc 1000000 -s 2000", "--body-count documents of --size would take more than 1 GiB of memory");
    check_error("-X 65536", "--producer-channel-count: '65536' is not a number from 0 to 65535");
    check_error("-y 1000 -Y 2000", "--consumers times --consumer-channel-count is more than 1000000");
    check_error("-s 2000000000", "--size: '2000000000' is not a number from 0 to 1073741824");
    check_error("-z 9999999999", "--time: '9999999999' is more than 2147483647 seconds");
    check_error("-st 1e300", "--shutdown-timeout: '1e300' is not a number of seconds");
    check_error("-B ,", "--body is empty");
}

proptest::proptest! {
    /// Whatever is typed, the answer is a command or one line of error.
    #[test]
    fn any_words_are_a_command_or_an_error(
        options in proptest::collection::vec(
            (0..OPTIONS.len(), 0..4, "[-a-z0-9:.,=%dµT\"]{0,8}|[0-9]{1,22}|-?[0-9.e]{1,6}|P[0-9DTHMS]{0,9}"),
            0..6,
        ),
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
