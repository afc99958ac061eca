//! What is said of workloads that cannot be: the exact words.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// The whole error of a text in which `BASE` may stand for queues, publishers and consumers that are right.
#[track_caller]
fn check(text: &str, expected: &str) {
    let text = text
        .replace("BASE", "[[queues]]\nname='orders'\n[[publishers]]\nqueue='orders'\n[[consumers]]\nqueue='orders'");
    match read(&text, "load.toml", &Overrides::default()) {
        Ok(_) => panic!("nothing wrong with\n{text}"),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

#[test]
fn text_that_is_not_toml_is_refused_where_it_stops_being() {
    check("name = ", "load.toml:1:8: invalid TOML: string values must be quoted, expected literal string");
    check("name = 'a'\nname = 'b'", "load.toml:2:1: invalid TOML: duplicate key");
    check("seed = 99999999999999999999", "load.toml:1:8: the number 99999999999999999999 is too large");
    check("a = 2026-01-01", "load.toml:1:5: expected a string or a number, found the time 2026-01-01");
    check("a = inf", "load.toml:1:5: the number inf is not finite");
}

#[test]
fn a_workload_that_does_nothing_is_refused() {
    check("", "load.toml:1:1: the workload is empty: it has no publishers, consumers, users, churn or probes");
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    check("durations = '5s'", "load.toml:1:1: unknown key \"durations\"; did you mean \"duration\"?");
    check("[publisher]\na = 1", "load.toml:1:2: unknown key \"publisher\"; did you mean \"publishers\"?");
    check(
        "[[queues]]\nname = 'orders'\ndurabel = true",
        "load.toml:3:1: queues[0]: unknown key \"durabel\"; did you mean \"durable\"?",
    );
    check(
        "BASE\n[[exchanges]]\nname = 'x'\n[[probes]]\nlink = 1",
        "load.toml:10:1: probes[0]: unknown key \"link\"; possible: count, every, name, password, path, user",
    );
    check(
        "BASE\n[expect]\nconsumer_latency_p99 = 1",
        "load.toml:8:1: expect: unknown key \"consumer_latency_p99\"; did you mean \"consumer_latency_p99_ms\"?",
    );
    for (key, meant) in [
        ("consumer_latency_p100_ms", "consumer_latency_max_ms"),
        ("confirm_latency_p1000_ms", "confirm_latency_max_ms"),
        ("consumer_latency_p990_ms", "consumer_latency_p99_ms"),
        ("probe_latency_p500_ms", "probe_latency_p50_ms"),
    ] {
        check(
            &format!("BASE\n[expect]\n{key} = 1"),
            &format!("load.toml:8:1: expect: \"{key}\" is not a percentile; did you mean \"{meant}\"?"),
        );
    }
}

#[test]
fn values_of_other_types_are_refused_with_what_was_found() {
    check("name = 5", "load.toml:1:8: name: expected a string, found 5");
    check(
        "duration = 10",
        "load.toml:1:12: duration: expected a time such as \"500ms\", \"10s\", \"2m\" or \"1h30m\", found 10",
    );
    check("publishers = 3", "load.toml:1:14: publishers: expected a list of [[publishers]], found 3");
    check(
        "[[queues]]\nname = 'q'\ndurable = 'yes'",
        "load.toml:3:11: queue \"q\": durable: expected true or false, found \"yes\"",
    );
    check(
        "BASE\nprefetch = 70_000",
        "load.toml:7:12: consumers \"consumers\": prefetch: expected an integer from 0 to 65535, found 70000",
    );
    check(
        "BASE\nprefetch = -1",
        "load.toml:7:12: consumers \"consumers\": prefetch: expected an integer from 0 to 65535, found -1",
    );
    check(
        "BASE\nprefetch = 1.5",
        "load.toml:7:12: consumers \"consumers\": prefetch: expected an integer from 0 to 65535, found 1.5",
    );
    check(
        "BASE\narguments = 'none'",
        "load.toml:7:13: consumers \"consumers\": arguments: expected a table, found \"none\"",
    );
    check(
        "[[queues]]\nname = 'q'\ntype = 'quorums'",
        "load.toml:3:8: queue \"q\": type: expected \"classic\" or \"quorum\" or \"stream\", found \"quorums\"",
    );
    check("exit_when = 'bored'", "load.toml:1:13: exit_when: expected \"empty\" or \"idle\", found \"bored\"");
    check("interval = '1ms'", "load.toml:1:12: interval: expected at least 10ms");
}

#[track_caller]
fn check_publishers(lines: &str, expected: &str) {
    check(&format!("[[queues]]\nname='orders'\n[[publishers]]\n{lines}"), &format!("load.toml:{expected}"));
}

#[test]
fn publishers_are_refused_where_they_cannot_be() {
    check_publishers(
        "rate = 1",
        "3:1: publishers \"publishers\": \"queue\" or \"exchange\" is missing: the destination of publishes",
    );
    check_publishers(
        "queue = 'order'",
        "4:9: publishers \"publishers\": queue: unknown queue \"order\"; did you mean \"orders\"?",
    );
    check_publishers(
        "exchange = 'x'",
        "4:12: publishers \"publishers\": exchange: unknown exchange \"x\"; possible: amq.direct, amq.fanout, amq.headers, \
         amq.match, amq.rabbitmq.trace, amq.topic",
    );
    check_publishers(
        "queue = 'orders'\nkey = 'a'",
        "5:1: publishers \"publishers\": \"queue\" and \"key\" cannot be used together",
    );
    check_publishers(
        "queue = 'orders'\nrate = 'fast'",
        "5:8: publishers \"publishers\": rate: expected a number of messages a second, \"unlimited\", \"paused\", { from, to }, { \
         poisson } or { steps }, found \"fast\"",
    );
    check_publishers(
        "queue = 'orders'\nrate = -5",
        "5:8: publishers \"publishers\": rate: expected a rate of at least 0, found -5",
    );
    check_publishers(
        "queue = 'orders'\nrate = { from = 1 }",
        "5:1: publishers \"publishers\": rate: \"to\" is missing: a ramp has \"from\" and \"to\"",
    );
    check_publishers(
        "queue = 'orders'\nrate = { from = 1, to = 5 }",
        "5:1: publishers \"publishers\": rate: a ramp requires \"over\", a duration of the run, or phases",
    );
    check_publishers(
        "queue = 'orders'\nrate = { poisson = 1, to = 5 }",
        "5:28: publishers \"publishers\": rate.to: \"to\" cannot be used with \"poisson\"",
    );
    check_publishers(
        "queue = 'orders'\nrate = { steps = [] }",
        "5:18: publishers \"publishers\": rate.steps: the list of steps is empty",
    );
    check_publishers(
        "queue = 'orders'\ncount = 0",
        "5:9: publishers \"publishers\": count: expected an integer from 1 to 1000000, found 0",
    );
    check_publishers(
        "queue = 'orders'\ncount = 10\nconnections = 4",
        "6:1: 10 cannot be divided evenly among 4 connections",
    );
    check_publishers(
        "queue = 'orders'\nsize = 'big'",
        "5:8: publishers \"publishers\": size: expected a size in bytes, such as 100, \"10 kB\" or \"2 MiB\", found \"big\"",
    );
    check_publishers(
        "queue = 'orders'\nsize = { uniform = [10, 5] }",
        "5:21: publishers \"publishers\": size.uniform[0]: the lower bound comes first",
    );
    check_publishers(
        "queue = 'orders'\nsize = { evenly = [10, 5] }",
        "5:10: publishers \"publishers\": size: unknown key \"evenly\"; possible: choice, exponential, normal, uniform",
    );
    check_publishers(
        "queue = 'orders'\nsize = 5\nbody = 'a'",
        "6:1: publishers \"publishers\": \"size\" and \"body\" cannot be used together",
    );
    check_publishers(
        "queue = 'orders'\npriority = 300",
        "5:12: publishers \"publishers\": priority: expected an integer from 0 to 255, found 300",
    );
    check_publishers(
        "queue = 'orders'\ntx_size = 5\nconfirm_window = 5",
        "5:1: transactions and confirms cannot be used together",
    );
    check_publishers(
        "exchange = 'amq.direct'\nkey = 'k-%d'",
        "5:7: publishers \"publishers\": key: \"k-%d\" requires a range of numbers: { pattern = \"k-%d\", count = 10 }",
    );
    check_publishers(
        "queue = 'orders'\n[[publishers]]\nqueue = 'orders'",
        "3:1: publishers[0]: \"name\" is missing: several [[publishers]] need a name each",
    );
    check_publishers(
        "name = 'a'\nqueue = 'orders'\n[[publishers]]\nname = 'a'\nqueue = 'orders'",
        "6:1: publishers[1]: duplicate name \"a\"",
    );
}

#[track_caller]
fn check_consumers(lines: &str, expected: &str) {
    check(
        &format!("[[queues]]\nname='orders'\n[[consumers]]\nqueue='orders'\n{lines}"),
        &format!("load.toml:{expected}"),
    );
}

#[test]
fn consumers_are_refused_where_they_cannot_be() {
    check_consumers(
        "auto_ack = true\nack_every = 5",
        "6:1: consumers \"consumers\": \"auto_ack\" and \"ack_every\" cannot be used together",
    );
    check_consumers("prefetch = 10\nack_every = 20", "6:1: \"ack_every\" must not exceed \"prefetch\" (10): found 20");
    check_consumers(
        "nack = 'throw'",
        "5:8: consumers \"consumers\": nack: expected \"requeue\" or \"discard\", found \"throw\"",
    );
    check_consumers(
        "rate = 0",
        "5:8: consumers \"consumers\": rate: expected a number of messages per second above 0, or \"unlimited\", found 0",
    );
    check_consumers(
        "pauses = [['10s', '5s']]",
        "5:11: consumers \"consumers\": pauses[0]: a pause must end after it starts",
    );
    check_consumers(
        "processing = { cycle = [['1ms']] }",
        "5:25: consumers \"consumers\": processing.cycle[0]: expected [value, time]",
    );
}

#[test]
fn names_and_patterns_are_refused_where_they_do_not_fit() {
    check(
        "[[queues]]\ncount = 5",
        "load.toml:1:1: queues[0]: \"name\" is missing: what the queues are called; \"\" lets the broker choose",
    );
    check(
        "[[queues]]\nname = 'q'\ncount = 5",
        "load.toml:2:8: queues[0].name: \"q\" stands for 5 names and requires %d for their number",
    );
    check(
        "[[queues]]\nname = 'q-%d'\nfrom = 5\nto = 1",
        "load.toml:1:1: queue \"q-%d\": \"from\" (5) must not exceed \"to\" (1)",
    );
    check(
        "[[queues]]\nname = 'q-%d'\nfrom = 1\nto = 5\ncount = 4",
        "load.toml:1:1: queue \"q-%d\": \"count\" does not match \"from\" and \"to\": 1 to 5 are 5 numbers",
    );
    check(
        "[[queues]]\nname = 'q-%d'\ncount = 5\n[[queues]]\nname = 'q-3'",
        "load.toml:4:1: queue \"q-3\": the queue \"q-3\" is declared twice",
    );
    check(
        "[[exchanges]]\nname = 'amq.direct'",
        "load.toml:2:8: exchanges[0].name: \"amq.direct\" is predeclared and cannot be declared",
    );
    check(
        "[[exchanges]]\nname = 'x'\ntype = 'x-delayed-message'",
        "load.toml:3:1: an x-delayed-message exchange needs arguments = { x-delayed-type = \"direct\" }, or another type",
    );
    check(
        "[[queues]]\nname = 'q'\ntype = 'quorum'\ndurable = false",
        "load.toml:3:8: queue \"q\": type: a quorum queue must be durable, and neither exclusive nor auto-delete",
    );
    check(
        "[[queues]]\nname = 'q'\nbindings = [{ exchange = 'y' }]\n[[exchanges]]\nname = 'x'",
        "load.toml:3:26: queue \"q\": bindings[0].exchange: unknown exchange \"y\"; did you mean \"x\"?",
    );
}

#[test]
fn phases_are_refused_where_they_do_not_fit() {
    check("[[phases]]\nname = 'a'", "load.toml:1:1: phase \"a\": \"duration\" is missing: how long the phase is");
    check(
        "duration = '5s'\n[[phases]]\nname = 'a'\nduration = '5s'",
        "load.toml:1:1: \"duration\" is only allowed with \"repeat_phases\": phases have their own durations",
    );
    check(
        "repeat_phases = true\n[[phases]]\nname = 'a'\nduration = '5s'",
        "load.toml:1:1: \"repeat_phases\" requires a \"duration\" of the whole run",
    );
    check(
        "[[phases]]\nname = 'a'\nduration = '5s'\nrates = { publisher = 5 }\nBASE",
        "load.toml:4:23: phase \"a\": rates.publisher: unknown publishers \"publisher\"; did you mean \"publishers\"?",
    );
    check(
        "[[phases]]\nname = 'a'\nduration = '5s'\nrates = { consumers = 5 }\nBASE",
        "load.toml:4:23: phase \"a\": rates.consumers: \"consumers\" are consumers: phases cannot change their rate, \
         only pause them with \"pause\"",
    );
    check(
        "[[phases]]\nname = 'a'\nduration = '5s'\npause = ['all']\nBASE",
        "load.toml:4:10: phase \"a\": pause[0]: unknown publishers or consumers \"all\"; possible: consumers, publishers",
    );
    check(
        "[[phases]]\nname = 'a'\nduration = '5s'\nrates = { publishers = { steps = [1, 2, 3], every = '2s' } }\nBASE",
        "load.toml:4:11: phase \"a\": rates.publishers: takes 6s, longer than the 5s of the run or phase",
    );
    check(
        "duration = '5s'\nwarm_up = '5s'\nBASE",
        "load.toml:2:1: warm_up: lasts the whole run, so nothing would be measured",
    );
}

#[test]
fn sweeps_and_variables_are_refused_where_nothing_uses_them() {
    check(
        "BASE\n[sweep]\nconfirm_windows = [1]",
        "load.toml:8:20: sweep.confirm_windows: unknown variable or field \"confirm_windows\"; did you mean \"confirm_window\"?",
    );
    check("BASE\n[sweep]\nconfirm_window = []", "load.toml:8:18: sweep.confirm_window: the list of values is empty");
    check(
        "BASE\n[sweep]\nconfirm_window = [[1]]",
        "load.toml:8:19: sweep.confirm_window[0]: expected a number, a string, true or false, found a list",
    );
    check(
        "BASE\n[sweep]\nconfirm_window = [1, 'all']",
        "load.toml:8:22: publishers \"publishers\": confirm_window: expected an integer from 0 to 1000000, found \"all\"",
    );
    check(
        "name = '$nme'\nBASE\n[variables]\nname = 'a'",
        "load.toml:9:8: unused variable \"name\": use it as \"$name\"",
    );
    check("name = '$nme'\nBASE\n[sweep]\nseed = 1", "load.toml:1:8: unknown variable \"nme\"; none is defined");
    check(
        &format!("BASE\n[sweep]\nconfirm_window = [{0}]\nprefetch = [{0}]", "1,".repeat(40)),
        "load.toml:9:13: the sweep has more than 1000 combinations",
    );
}

#[track_caller]
fn check_steps(steps: &str, expected: &str) {
    check(&format!("[throttles]\nlogin = 5\n[[users]]\nsteps = [\n{steps}\n]"), &format!("load.toml:{expected}"));
}

#[test]
fn scripts_are_refused_where_a_step_cannot_be() {
    check_steps("'conect'", "5:1: users \"users\": steps[0]: unknown step \"conect\"; did you mean \"connect\"?");
    check_steps("'publish'", "5:1: users \"users\": steps[0]: \"publish\" needs to say more: { publish = … }");
    check_steps(
        "{ publish = 'q' }",
        "5:1: users \"users\": steps[0]: the user is not connected here: \"connect\" comes first",
    );
    check_steps(
        "{ sleep = '5s' }",
        "5:1: users \"users\": steps[0]: unknown step \"sleep\"; possible: bind, cancel, connect, consume, consume_until, \
         declare_exchange, declare_queue, delete_queue, disconnect, expect_queue_length, expect_received, expect_variable, http_get, \
         open_channel, publish, repeat, set, think, throttle, wait",
    );
    check_steps(
        "'connect',\n{ publish = 'q', sise = 5 }",
        "6:18: users \"users\": steps[1]: unknown key \"sise\"; did you mean \"size\"?",
    );
    check_steps(
        "'connect',\n{ publish = 'q-{usr}' }",
        "6:13: users \"users\": steps[1].publish: unknown variable \"usr\"; did you mean \"user\"?",
    );
    check_steps(
        "'connect',\n{ publish = 'q-{user' }",
        "6:13: users \"users\": steps[1].publish: \"q-{user\" has a { that no } closes; {{ is a brace itself",
    );
    check_steps(
        "{ throttle = 'logon' }",
        "5:14: users \"users\": steps[0].throttle: [throttles] has no \"logon\"; did you mean \"login\"?",
    );
    check_steps(
        "{ wait = 5 }",
        "5:10: users \"users\": steps[0].wait: expected a time such as \"500ms\", \"10s\", \"2m\" or \"1h30m\", found 5",
    );
    check_steps(
        "'connect',\n{ expect_queue_length = 'q' }",
        "6:25: users \"users\": steps[1].expect_queue_length: needs \"min\", \"max\" or both",
    );
    check_steps(
        "{ repeat = 2, steps = [{ consume_until = 1 }] }",
        "5:24: users \"users\": steps[0].steps[0]: the user is not connected here: \"connect\" comes first",
    );
    check_steps(
        "'connect',\n'disconnect',\n{ publish = 'q' }",
        "7:1: users \"users\": steps[2]: the user is not connected here: \"connect\" comes first",
    );
    check_steps("", "4:9: users \"users\": steps: the list of steps is empty");
}

#[test]
fn expectations_of_what_does_not_exist_are_refused() {
    check(
        "BASE\n[expect]\nprobe_latency_p99_ms = { listing = 5 }",
        "load.toml:8:36: expect.probe_latency_p99_ms.listing: unknown probe \"listing\"; none is defined",
    );
    check(
        "BASE\n[expect]\nlost = 'none'",
        "load.toml:8:8: expect.lost: expected a number of at least 0, found \"none\"",
    );
}

#[test]
fn churn_and_probes_are_refused_where_they_cannot_be() {
    check(
        "[[churn]]\nkind = 'users'",
        "load.toml:2:8: churn \"churn\": kind: expected \"connections\" or \"channels\" or \"queues\" or \"bindings\", found \"users\"",
    );
    check("[[churn]]\nkind = 'channels'\nexchange = 'x'", "load.toml:3:1: \"exchange\" is not allowed for channels");
    check(
        "[[churn]]\nkind = 'bindings'\nexchange = ''",
        "load.toml:3:12: churn \"churn\": exchange: expected one exchange other than the default exchange, found \"\"",
    );
    check(
        "[[probes]]\npath = 'api'\nevery = '1s'",
        "load.toml:2:8: probe \"probes\": path: expected a path below the management URL, starting with /, found \"api\"",
    );
    check("[[probes]]\npath = '/api'\nevery = '0s'", "load.toml:3:9: probe \"probes\": every: must be longer than 0");
    check(
        "[[probes]]\npath = '/api'\nevery = '1s'\nuser = 'ann'",
        "load.toml:1:1: probe \"probes\": \"user\" requires \"password\"",
    );
    check("[[probes]]\npath = '/api'\nevery = '1s'\npassword = 'x'", "load.toml:4:1: \"password\" requires \"user\"");
}

#[test]
fn a_connection_has_no_more_channels_than_it_can() {
    check_publishers(
        "queue = 'orders'\ncount = 100_000\nconnections = 1",
        "6:1: 100000 on 1 connections would exceed 65535 channels per connection",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Whatever is written is read or refused.
    #[test]
    fn nothing_that_is_written_makes_the_reader_panic(
        workload in 0..shipped().len(), line in any::<Index>(), word in any::<Index>(), strange in any::<Index>(),
        scale in prop_oneof![Just(1.0), 1e-6..1e6f64],
    ) {
        const STRANGE: [&str; 14] = [
            "-1", "0", "18446744073709551615", "9223372036854775807", "1e308", "\"\"", "\"%d\"", "\"$x\"", "[]", "{}", "[[]]",
            "\"999999999d\"", "true", "\u{fc}",
        ];
        let mut lines: Vec<String> = shipped()[workload].text.lines().map(str::to_owned).collect();
        let line = line.index(lines.len());
        let mut words: Vec<&str> = lines[line].split(' ').collect();
        let word = word.index(words.len());
        words[word] = STRANGE[strange.index(STRANGE.len())];
        lines[line] = words.join(" ");
        // At most a million names, however many a scale makes of 100,000: those take their time.
        let scale = if shipped()[workload].name == "high-scale" { scale.min(0.1) } else { scale.min(100.0) };
        let _ = read_with(&lines.join("\n"), scale, &[]);
    }
}
