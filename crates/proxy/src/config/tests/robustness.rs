//! No secret is shown, nothing said makes the proxy panic, and reading again changes what it may.

use model::config::table::{Row, State, Type};
use proptest::prelude::*;

use super::super::schema::TABLE;
use super::*;

#[test]
fn passwords_are_shown_nowhere() {
    let file = "proxy.ssl_options.password = topsecret\nproxy.ssl_options.certfile = s.pem\nproxy.ssl_options.keyfile = s.key\n\
                proxy.ssl_options.sni.a.hostname = a\nproxy.ssl_options.sni.a.certfile = a.pem\n\
                proxy.ssl_options.sni.a.keyfile = a.key\nproxy.ssl_options.sni.a.password = topsecret\n\
                proxy.upstreams.b.url = amqp://u:topsecret@b\n";
    let given = ["--set", "proxy.upstreams.c.url=amqp://u:topsecret@c"];
    let (config, warnings) = parse(file, &[], &given).unwrap();
    let line = command_line(&[&given[..], &["amqp://u:topsecret@d"]].concat());
    let shown = format!("{config:?} {:?} {warnings:?} {line:?} {:?}", config.effective(), source(file));
    assert!(!shown.contains("topsecret"), "{shown}");
    assert_eq!(in_force(&config, "proxy.upstreams.b.url"), "amqp://u:***@b");
    assert_eq!(in_force(&config, "proxy.ssl_options.password"), "[hidden]");
}

#[test]
fn passwords_are_in_no_error() {
    for url in [
        "http://u:topsecret@b",
        "u:topsecret@b",
        "amqp://u:topsecret@b/a/b",
        "amqp://u:topsecret@b:x",
        "amqp://u:top/secret@b:0",
    ] {
        let error = parse(&format!("proxy.upstreams.b.url = {url}"), &[], &[]).map(|_| ()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        let error = parse("", &[("AMQP_URL", url)], &[]).map(|_| ()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

/// What is in force after a file was changed to another.
#[track_caller]
fn reloaded(before: &str, after: &str) -> (Config, Vec<String>) {
    let (config, warnings) = of_file(before).reloaded(&of_file(after)).unwrap();
    (config, warnings.iter().map(Warning::to_string).collect())
}

#[test]
fn what_may_change_changes_at_once() {
    let (config, warnings) = reloaded(
        "proxy.heartbeat = 5\nproxy.upstreams.b.url = amqp://b",
        "proxy.heartbeat = 6\nproxy.limits.connections = 7\nproxy.upstreams.c.url = amqp://c",
    );
    assert_eq!(warnings, [""; 0]);
    assert_eq!((config.switchboard.client_heartbeat_s, config.guard.connection_max), (6, 7));
    assert_eq!(urls(&config), ["a=a:5672", "c=c:5672"]);
    assert_eq!(in_force(&config, "proxy.heartbeat"), "6");
}

#[test]
fn what_may_not_change_waits_for_a_restart() {
    let (config, warnings) = reloaded(
        "proxy.listeners.tcp.default = 5673\nproxy.worker_threads = 2",
        "proxy.listeners.tcp.x = 5674\nproxy.worker_threads = 2\nproxy.upstream_connections.wait_timeout = 11s",
    );
    assert_eq!(
        warnings,
        [
            "proxy.conf:2: 'proxy.listeners.tcp.default' has changed, which counts after a restart only",
            "proxy.conf:2: 'proxy.listeners.tcp.x' has changed, which counts after a restart only",
        ]
    );
    assert_eq!(
        (config.listeners[0].address.to_string(), config.switchboard.upstream_wait_ms),
        ("5673".to_owned(), 11_000)
    );
    // A change that waits for a restart is reported again as long as it waits.
    assert_eq!(config.reloaded(&of_file("proxy.worker_threads = 3")).unwrap().1.len(), 2);
}

#[test]
fn both_ends_of_every_range_fit() {
    for row in TABLE.keys().filter(|row| row.state == State::Effective) {
        let ends = match row.kind {
            Type::Integer(first, last) => [first.to_string(), last.to_string()],
            Type::Unbounded(first) => [first.to_string(), "infinity".to_owned()],
            Type::Size(first, last) | Type::DurationMs(first, last) => [first.to_string(), last.to_string()],
            _ => continue,
        };
        for end in ends {
            let key = row.pattern.replace("$name", "a");
            let parsed = parse(&format!("{UPSTREAM}{key} = {end}"), &[], &[]);
            // Two keys must fit each other, too.
            assert!(parsed.is_ok() || key.starts_with("proxy.back_off."), "{key} = {end}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_becomes_a_configuration_or_an_error(
        text in "((proxy\\.)?([a-z_]{1,12}\\.){0,2}[a-z_$]{1,9} ?= ?[a-z0-9:.' #/@]{0,9}\n|\\[(main|listen|x)\\]\n|\\PC{0,9}\n){0,6}"
    ) {
        let _ = parse(&text, &[], &[]);
    }

    #[test]
    fn any_value_of_any_key_is_taken_or_refused(
        row in 0..TABLE.keys().count(),
        value in "[a-z0-9.:-]{1,8}|[0-9]{1,20}[A-Za-z]{0,3}|amqps?://[a-z0-9:@/?%\\[\\]=]{0,12}|none|infinity|\\PC{0,8}",
    ) {
        let row = TABLE.keys().nth(row).unwrap();
        for key in Row::spellings(row) {
            let set = format!("{}={value}", key.replace(['$', '*'], "x"));
            let _ = parse(UPSTREAM, &[], &["--set", &set]);
        }
    }

    #[test]
    fn any_words_and_variables_are_taken_or_refused(
        given in proptest::collection::vec(
            "-[a-z]|-[lpbtc][0-9a-z.:-]{1,6}|\
             --(listen|port|http-port|idle-connection-timeout|max-upstream-channels|term-timeout|set|x)(=\\PC{0,6})?|\
             amqp://\\PC{0,12}|\\PC{0,6}",
            0..6,
        ),
        variables in proptest::collection::vec(
            (
                "LISTEN_ADDRESS|LISTEN_PORT|HTTP_PORT|LOG_LEVEL|IDLE_CONNECTION_TIMEOUT|MAX_UPSTREAM_CHANNELS|TERM_TIMEOUT|\
                 AMQP_URL|UPSTREAM",
                "\\PC{0,8}|amqp://[a-z:@,/]{0,12}|-?[0-9]{1,20}",
            ),
            0..4,
        ),
    ) {
        if let Ok(Invocation::Run(line)) = CommandLine::parse(&given) {
            let _ = Config::parse(&[], &variables, &line);
        }
    }
}
