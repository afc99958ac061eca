//! AMQProxy's options, variables and files do what they do there.

use super::*;

/// The same by option, short option, variable and entry of a file.
#[track_caller]
fn check(given: &[&[&str]], env: &[(&str, &str)], entries: &[&str], key: &str, expected: &str) {
    let default = in_force(&config("", &[], &["amqp://b"]), key);
    assert_ne!(default, expected, "{key} is so anyway");
    for words in given {
        assert_eq!(in_force(&config("", &[], &[*words, &["amqp://b"]].concat()), key), expected, "{words:?}");
    }
    for pair in env {
        assert_eq!(in_force(&config("", &[*pair], &["amqp://b"]), key), expected, "{pair:?}");
    }
    for entry in entries {
        assert_eq!(in_force(&config(entry, &[], &["amqp://b"]), key), expected, "{entry:?}");
    }
}

#[test]
fn the_address() {
    let entries = ["[listen]\naddress = 10.0.0.1", "[listen]\nbind = 10.0.0.1"];
    let given: [&[&str]; 4] = [&["-l", "10.0.0.1"], &["-l10.0.0.1"], &["--listen=10.0.0.1"], &["--listen", "10.0.0.1"]];
    check(&given, &[("LISTEN_ADDRESS", "10.0.0.1")], &entries, "proxy.listeners.tcp.default", "10.0.0.1:5673");
    check(&given, &[("LISTEN_ADDRESS", "10.0.0.1")], &entries, "proxy.http.listener", "10.0.0.1:15673");
}

#[test]
fn the_port() {
    let given: [&[&str]; 3] = [&["-p", "1"], &["-p1"], &["--port=1"]];
    check(&given, &[("LISTEN_PORT", "1")], &["[listen]\nport=1"], "proxy.listeners.tcp.default", "localhost:1");
}

#[test]
fn the_port_of_http() {
    let given: [&[&str]; 2] = [&["-b", "1"], &["--http-port=1"]];
    let entries = ["[listen]\nhttp_port = 1", "[main]\nhttp_port = 1"];
    check(&given, &[("HTTP_PORT", "1")], &entries, "proxy.http.listener", "localhost:1");
}

#[test]
fn idle_connections() {
    let given: [&[&str]; 3] = [&["-t", "7"], &["--idle-connection-timeout=7"], &["-t7s"]];
    let entries = ["[main]\nidle_connection_timeout = 7", "idle_connection_timeout=7\n[listen]\n"];
    check(&given, &[("IDLE_CONNECTION_TIMEOUT", "7")], &entries, "proxy.upstream_connections.idle_timeout", "7s");
}

#[test]
fn channels_of_upstream_connections() {
    for (text, expected) in [("9", "9"), ("0", "65535"), ("65535", "65535")] {
        let entry = format!("[main]\nmax_upstream_channels = {text}");
        let given: [&[&str]; 1] = [&["--max-upstream-channels", text]];
        check(
            &given,
            &[("MAX_UPSTREAM_CHANNELS", text)],
            &[&*entry],
            "proxy.upstream_connections.channel_max",
            expected,
        );
    }
}

#[test]
fn time_outs_of_the_end() {
    let given: [&[&str]; 2] = [&["--term-timeout", "8"], &["--term-timeout=8"]];
    check(&given, &[("TERM_TIMEOUT", "8")], &["[main]\nterm_timeout = 8"], "proxy.term_timeout", "8s");
    let given: [&[&str]; 1] = [&["--term-client-close-timeout", "9"]];
    let entries = ["[main]\nterm_client_close_timeout = 9"];
    check(&given, &[("TERM_CLIENT_CLOSE_TIMEOUT", "9")], &entries, "proxy.term_client_close_timeout", "9s");
}

#[test]
fn less_than_no_time_is_for_ever() {
    for given in [["--term-timeout", "-1"], ["--term-timeout", "infinity"]] {
        let line = [&given[..], &["amqp://b"]].concat();
        assert_eq!(config("proxy.term_timeout = 1s", &[], &line).term_timeout, None);
    }
    assert_eq!(config("", &[], &["--term-timeout", "0", "amqp://b"]).term_timeout, Some(Duration::ZERO));
}

#[test]
fn the_level_of_the_log() {
    let entries = ["[main]\nlog_level = debug", "[listen]\nlog_level = Debug", "[main]\nlog_level = trace"];
    let given: [&[&str]; 3] = [&["-d"], &["--debug"], &["--log-level=DEBUG"]];
    check(&given, &[("LOG_LEVEL", "Debug"), ("LOG_LEVEL", "trace")], &entries, "proxy.log.level", "debug");
    for (text, expected) in [("Warn", "warning"), ("FATAL", "critical"), ("None", "none"), ("notice", "notice")] {
        check(&[], &[("LOG_LEVEL", text)], &[], "proxy.log.level", expected);
    }
}

#[test]
fn the_upstream() {
    assert_eq!(urls(&config("", &[], &["amqp://c:1"])), ["1=c:1"]);
    assert_eq!(urls(&config("", &[("AMQP_URL", "amqps://c")], &[])), ["1=c:5671"]);
    assert_eq!(urls(&config("", &[("UPSTREAM", "amqp://c")], &[])), ["1=c:5672"]);
    assert_eq!(urls(&config("", &[("UPSTREAM", "amqp://c"), ("AMQP_URL", "amqp://d")], &[])), ["1=d:5672"]);
    assert_eq!(urls(&config("[main]\nupstream = amqp://c\n", &[], &[])), ["1=c:5672"]);
}

#[test]
fn a_file_as_its_own_is_understood() {
    let text = "[main]\nlog_level = debug\nidle_connection_timeout = 55\nterm_timeout = 56\n\
                term_client_close_timeout = 57\nupstream = amqp://localhost:5678\n\n\
                [listen]\nbind = 127.0.0.1\naddress = 127.0.0.2\nport = 5678\nhttp_port = 15678\nlog_level = debug\n";
    let config = config(text, &[], &[]);
    assert_eq!(config.listeners[0].address.to_string(), "127.0.0.2:5678");
    assert_eq!(config.http_listener.as_ref().unwrap().to_string(), "127.0.0.2:15678");
    assert_eq!((config.log.level, config.switchboard.upstream_idle_ms), (LogLevel::Debug, 55_000));
    assert_eq!(config.term_timeout, Some(Duration::from_secs(56)));
    assert_eq!(config.term_client_close_timeout, Duration::from_secs(57));
    assert_eq!(urls(&config), ["1=localhost:5678"]);
}

#[track_caller]
fn check_refused(file: &str, env: &[(&str, &str)], given: &[&str], expected: &str) {
    let error = parse(file, env, &[given, &["amqp://b"]].concat()).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn wrong_values_are_called_by_the_name_that_they_were_given_under() {
    check_refused("", &[("LISTEN_PORT", "70000")], &[], "LISTEN_PORT: expected a port, not '70000'");
    check_refused("", &[], &["-l", "a b"], "--listen: expected an address or a name of this host, not 'a b'");
    check_refused("", &[], &["-b", ""], "--http-port: expected a port, not ''");
    check_refused(
        "",
        &[],
        &["-t", "-1"],
        "--idle-connection-timeout: expected seconds, or a duration such as 10s or 5m, not '-1'",
    );
    check_refused(
        "",
        &[("TERM_TIMEOUT", "x")],
        &[],
        "TERM_TIMEOUT: expected seconds, a duration such as 10s or 5m, or -1 for any time, not 'x'",
    );
    check_refused(
        "",
        &[],
        &["--max-upstream-channels=65536"],
        "--max-upstream-channels: expected a number from 0 to 65535, not '65536'",
    );
    check_refused(
        "",
        &[("LOG_LEVEL", "loud")],
        &[],
        "LOG_LEVEL: expected a level such as debug, info, warn or error, not 'loud'",
    );
    check_refused(
        "[main]\nidle_connection_timeout = 100d",
        &[],
        &[],
        "proxy.conf:2: 'proxy.upstream_connections.idle_timeout' must be milliseconds, or a duration such as 10s or 5m, from 0 to \
         86400000 ms, \
         not '100d'",
    );
    check_refused(
        "",
        &[("AMQP_URL", "http://u:secret@h")],
        &[],
        "AMQP_URL: 'proxy.upstreams.1.url' must be a URL such as amqp://host or amqps://host:5671, not 'http://u:***@h': \
         it has to begin with amqp:// or amqps://, not with http://",
    );
}

#[test]
fn an_entry_that_is_not_known_names_the_closest_one() {
    check_refused(
        "[main]\nidle_conection_timeout = 5",
        &[],
        &[],
        "proxy.conf:2: unknown entry 'main/idle_conection_timeout' of an AMQProxy file; the closest known one is \
         'main/idle_connection_timeout'",
    );
    check_refused("[server]\nx = 1", &[], &[], "proxy.conf:2: unknown entry 'server/x' of an AMQProxy file");
    check_refused(
        "[main]\nrubbish",
        &[],
        &[],
        "proxy.conf:2: expected 'key = value' or '[section]', as in AMQProxy's files",
    );
}
