//! The words of the command line.

use super::*;

#[track_caller]
fn check_usage_error(given: &[&str], expected: &str) {
    let error = CommandLine::parse(&words(given)).unwrap_err().to_string();
    assert_eq!(error, format!("{expected}; 'warren proxy --help' lists all options"));
}

#[test]
fn files_are_read_in_their_order() {
    let line = command_line(&["-c", "a.ini", "amqp://b", "--config=b.conf", "-cc.conf"]);
    assert_eq!(line.config_files, ["a.ini", "b.conf", "c.conf"]);
}

#[test]
fn help_and_the_version_go_before_everything() {
    assert_eq!(CommandLine::parse(&words(&["-p", "1", "-h"])), Ok(Invocation::Help));
    assert_eq!(CommandLine::parse(&words(&["--help"])), Ok(Invocation::Help));
    assert_eq!(CommandLine::parse(&words(&["-v"])), Ok(Invocation::Version));
    assert_eq!(CommandLine::parse(&words(&["--version"])), Ok(Invocation::Version));
}

#[test]
fn several_urls_are_several_upstreams() {
    assert_eq!(urls(&config("", &[], &["amqp://a", "-d", "--", "amqps://b"])), ["1=a:5672", "2=b:5671"]);
}

#[test]
fn wrong_words_are_called_by_what_they_are() {
    check_usage_error(&["--prot", "1"], "unknown option '--prot'; the closest known one is '--port'");
    check_usage_error(&["--something=topsecret"], "unknown option '--something'");
    check_usage_error(&["-xtopsecret"], "unknown option '-x'");
    check_usage_error(&["-p"], "option '--port' needs a value: PORT");
    check_usage_error(&["--debug=1"], "option '--debug' takes no value");
    check_usage_error(&["rabbit:5672"], "'rabbit:5672' is no AMQP URI: it has to begin with amqp:// or amqps://");
    check_usage_error(
        &["http://me:topsecret@rabbit"],
        "'http://me:***@rabbit' is no AMQP URI: it has to begin with amqp:// or amqps://, not with http://",
    );
}

#[test]
fn set_says_what_it_wants() {
    let error = parse("", &[], &["--set", "proxy.heartbeat", "amqp://b"]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "--set: expected 'KEY=VALUE', not 'proxy.heartbeat'");
}

#[test]
fn every_option_of_amqproxy_is_listed() {
    let usage = usage();
    for option in [
        "-l, --listen",
        "-p, --port",
        "-b, --http-port",
        "-t, --idle-connection-timeout",
        "--max-upstream-channels",
        "--term-timeout",
        "--term-client-close-timeout",
        "-d, --debug",
        "-c, --config",
        "-h, --help",
        "-v, --version",
        "--set",
    ] {
        assert!(usage.contains(option), "{option}");
    }
}
