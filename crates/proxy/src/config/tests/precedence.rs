//! Of several values of a key, the right one counts.

use super::*;

#[test]
fn the_command_line_beats_variables_which_beat_files() {
    let file =
        "proxy.upstream_connections.idle_timeout = 1s\nproxy.term_client_close_timeout = 1s\nproxy.heartbeat = 1";
    let env = [("IDLE_CONNECTION_TIMEOUT", "2"), ("TERM_CLIENT_CLOSE_TIMEOUT", "2")];
    let config = config(file, &env, &["-t", "3", "amqp://b"]);
    assert_eq!(config.switchboard.upstream_idle_ms, 3_000);
    assert_eq!(config.term_client_close_timeout, Duration::from_secs(2));
    assert_eq!(config.switchboard.client_heartbeat_s, 1);
}

#[test]
fn a_later_file_beats_an_earlier_one_whatever_their_formats() {
    let ini = Source { name: "amqproxy.ini".to_owned(), text: "[main]\nidle_connection_timeout = 7".to_owned() };
    let ours = source("proxy.upstream_connections.idle_timeout = 8s");
    for (sources, expected) in [([ini.clone(), ours.clone()], 8_000), ([ours, ini], 7_000)] {
        let (config, _) = Config::parse(&sources, &[], &command_line(&["amqp://b"])).unwrap();
        assert_eq!(config.switchboard.upstream_idle_ms, expected);
    }
}

#[test]
fn of_two_options_the_later_counts() {
    assert_eq!(
        config("", &[], &["-t3", "--set", "proxy.upstream_connections.idle_timeout=4s", "amqp://b"])
            .switchboard
            .upstream_idle_ms,
        4_000
    );
    assert_eq!(
        config("", &[], &["--set=proxy.upstream_connections.idle_timeout=4s", "-t3", "amqp://b"])
            .switchboard
            .upstream_idle_ms,
        3_000
    );
}

#[test]
fn empty_variables_count_as_unset() {
    assert_eq!(
        in_force(&config("", &[("LISTEN_PORT", ""), ("AMQP_URL", "")], &["amqp://b"]), "proxy.listeners.tcp.default"),
        "localhost:5673"
    );
}

#[test]
fn address_and_port_may_come_from_different_places() {
    let listener = |file: &str, env: &[(&str, &str)], given: &[&str]| {
        let config = config(file, env, &[given, &["amqp://b"]].concat());
        (in_force(&config, "proxy.listeners.tcp.default"), in_force(&config, "proxy.http.listener"))
    };
    let pair = |first: &str, second: &str| (first.to_owned(), second.to_owned());
    assert_eq!(
        listener("[listen]\nport = 1\n", &[("LISTEN_ADDRESS", "0.0.0.0")], &["-b", "2"]),
        pair("0.0.0.0:1", "0.0.0.0:2")
    );
    assert_eq!(
        listener("proxy.listeners.tcp.default = 10.0.0.1:5672", &[("LISTEN_PORT", "1")], &[]),
        pair("10.0.0.1:1", "localhost:15673")
    );
    assert_eq!(listener("", &[], &["-l", "::1", "-p", "1"]), pair("[::1]:1", "[::1]:15673"));
}

#[test]
fn an_address_is_not_https_where_the_file_says_where_that_is() {
    let http = |file: &str, given: &[&str]| {
        in_force(&config(file, &[], &[given, &["amqp://b"]].concat()), "proxy.http.listener")
    };
    assert_eq!(http("proxy.http.listener = 127.0.0.1:1", &["-l", "0.0.0.0"]), "127.0.0.1:1");
    assert_eq!(http("proxy.http.listener = none", &["-l", "0.0.0.0"]), "none");
    assert_eq!(http("", &["--set", "proxy.http.listener=127.0.0.1:1", "-l", "0.0.0.0"]), "127.0.0.1:1");
    assert_eq!(http("", &["-b", "2", "-l", "0.0.0.0", "-l", "::1"]), "[::1]:2");
}

#[test]
fn urls_replace_the_upstreams_of_whatever_counts_less() {
    let file = "proxy.upstreams.a.url = amqp://a\nproxy.upstreams.1.url = amqp://one\nproxy.upstreams.1.weight = 5";
    let env = [("AMQP_URL", "amqp://e1,amqp://e2")];
    let replaced_by = |stronger: &str| {
        let text = format!("proxy.conf:1: upstream 'a' has no effect: those of {stronger} replace it");
        move |(config, warnings): (Config, Vec<Warning>)| {
            assert_eq!(warnings.iter().map(Warning::to_string).collect::<Vec<_>>(), std::slice::from_ref(&text));
            config
        }
    };
    let config = replaced_by("AMQP_URL")(parse(file, &env, &[]).unwrap());
    assert_eq!(urls(&config), ["1=e1:5672", "2=e2:5672"]);
    let config = replaced_by("AMQP_URL")(parse(file, &env, &["amqps://c"]).unwrap());
    assert_eq!((urls(&config), config.upstreams[0].weight), (vec!["1=c:5671".to_owned()], 5));
}

#[test]
fn set_adds_to_the_urls_beside_it() {
    for given in [
        ["--set", "proxy.upstreams.x.url=amqp://x", "amqp://c"],
        ["amqp://c", "--set", "proxy.upstreams.x.url=amqp://x"],
    ] {
        assert_eq!(urls(&config("", &[], &given)), ["1=c:5672", "x=x:5672"]);
    }
}
