//! Where a command is sent, by options and environment.

use super::*;
use crate::words;

struct TestSurroundings {
    variables: Vec<(&'static str, &'static str)>,
    /// The file of settings.
    file: Option<&'static str>,
    has_socket: bool,
    socket: &'static str,
}

const NOTHING: TestSurroundings =
    TestSurroundings { variables: Vec::new(), file: None, has_socket: false, socket: "warren-data/control.sock" };

fn target(line: &[&str], around: &TestSurroundings) -> Result<Target, Failure> {
    let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
    let said = words::parse(&line).unwrap();
    Target::of(
        &said.input,
        &Surroundings {
            variable: &|name| {
                around.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            },
            read: &|_| Ok(around.file.map(str::to_owned)),
            is_there: &|path| around.has_socket && path == Path::new(around.socket),
        },
    )
}

#[track_caller]
fn check(line: &[&str], around: &TestSurroundings, expected: &str) {
    let target = target(line, around).unwrap();
    assert_eq!(target.url, HttpUrl::parse(expected).unwrap(), "{line:?}");
}

#[track_caller]
fn check_socket(line: &[&str], around: &TestSurroundings, expected: &str) {
    assert_eq!(target(line, around).unwrap().url, HttpUrl::on_socket(expected));
}

#[test]
fn without_a_word_it_is_the_broker_that_is_there() {
    check(&["list_users"], &NOTHING, "http://guest:guest@127.0.0.1:15672");
    let socket = TestSurroundings { has_socket: true, ..NOTHING };
    check_socket(&["list_users"], &socket, "warren-data/control.sock");
    // A user that is named wants to log in.
    check(&["-u", "bob", "list_users"], &socket, "http://bob:guest@127.0.0.1:15672");
    let packaged = TestSurroundings { socket: "/var/lib/rabbitmq/mnesia/warren/control.sock", ..socket };
    check_socket(&["list_users"], &packaged, "/var/lib/rabbitmq/mnesia/warren/control.sock");
    let named = TestSurroundings {
        variables: vec![("RABBITMQ_MNESIA_BASE", "/data")],
        socket: "/data/warren/control.sock",
        has_socket: true,
        ..NOTHING
    };
    check_socket(&["list_users"], &named, "/data/warren/control.sock");
    let socket = TestSurroundings { has_socket: true, ..NOTHING };
    let variable = TestSurroundings { variables: vec![(URL_VARIABLE, "http://a:b@h:1")], ..socket };
    check(&["list_users"], &variable, "http://a:b@h:1");
    check(&["list_users", "--host", "i"], &variable, "http://guest:guest@i:15672");
    check(&["list_users", "-u", "c", "--password", "d"], &variable, "http://c:d@h:1");
}

#[test]
fn options_say_where_it_is() {
    check(&["list_users", "--url", "http://a:b@h:1/"], &NOTHING, "http://a:b@h:1");
    check(&["list_users", "--url", "http://h:1/prefix/api/"], &NOTHING, "http://guest:guest@h:1/prefix");
    check(&["list", "users", "-U", "http://h:1/api"], &NOTHING, "http://guest:guest@h:1");
    check(&["-H", "::1", "-P", "2", "-u", "a", "-p", "b", "list", "users"], &NOTHING, "http://a:b@[::1]:2");
    check(&["list", "users", "--path-prefix", "/p"], &NOTHING, "http://guest:guest@127.0.0.1:15672/p");
    check(&["list", "users", "--path-prefix", "/p/api"], &NOTHING, "http://guest:guest@127.0.0.1:15672/p");
    check_socket(&["list_users", "--socket", "/run/s"], &NOTHING, "/run/s");
    check_socket(&["list_users", "--url", "unix:///run/s"], &NOTHING, "/run/s");
    let variable = TestSurroundings { variables: vec![(URL_VARIABLE, "unix:/run/s")], ..NOTHING };
    check_socket(&["list_users"], &variable, "/run/s");
    check_socket(&["list_users", "--data-dir", "/var/d"], &NOTHING, "/var/d/control.sock");
    let https = target(&["list_users", "--ssl", "-k"], &NOTHING).unwrap().url;
    assert_eq!((https.is_tls(), https.to_string().as_str()), (true, "127.0.0.1:15671"));
}

#[test]
fn rabbitmqadmins_file_has_servers_by_name() {
    let around = TestSurroundings {
        variables: vec![("HOME", "/home/me")],
        file: Some("[default]\nhostname = d\n[staging]\nhostname = s\nport = 1\nusername = a\npassword = b\n"),
        ..NOTHING
    };
    check(&["list", "users"], &around, "http://guest:guest@d:15672");
    check(&["-N", "staging", "list", "users"], &around, "http://a:b@s:1");
    check(&["-N", "staging", "list", "users", "-u", "c"], &around, "http://c:b@s:1");
    // It is not rabbitmqctl's.
    check(&["list_users"], &around, "http://guest:guest@127.0.0.1:15672");
    let failure = target(&["-N", "other", "list", "users"], &around).unwrap_err();
    assert_eq!((failure.status, failure.text.as_str()), (78, "/home/me/.rabbitmqadmin.conf has no section [other]"));
    let missing = target(&["-c", "/x", "list", "users"], &NOTHING).unwrap_err();
    assert_eq!((missing.status, missing.text.as_str()), (78, "no settings file /x"));
}

#[test]
fn what_is_no_place_is_an_error() {
    for (line, status) in [
        (&["list_users", "--url", "ftp://x"][..], 64),
        (&["list_users", "--port", "x"], 64),
        (&["list_users", "-t", "soon"], 64),
        (&["list_users", "--ssl", "--ssl-cert-file", "x"], 64),
        (&["list_users", "--ssl", "--ssl-ca-cert-file", "/nowhere.pem"], 78),
    ] {
        assert_eq!(target(line, &NOTHING).unwrap_err().status, status, "{line:?}");
    }
    let failure = target(&["list_users", "--url", "ftp://me:secret@x"], &NOTHING).unwrap_err();
    assert!(!failure.text.contains("secret"), "{}", failure.text);
    let failure = target(&["list_users", "--url", "http://localhost:99999"], &NOTHING).unwrap_err();
    assert_eq!(failure.text, "--url: 'http://localhost:99999' has a wrong port: ports are 0 to 65535");
}

#[test]
fn a_timeout_is_seconds_or_forever() {
    let timeout = |text: &str| target(&["list_users", "-t", text], &NOTHING).unwrap().timeout;
    assert_eq!(timeout("1.5"), Duration::from_millis(1500));
    assert_eq!(timeout("0"), Duration::ZERO);
    assert_eq!(timeout("infinity"), FOREVER);
    assert_eq!(timeout("1e12"), FOREVER);
    assert_eq!(target(&["list_users"], &NOTHING).unwrap().timeout, DEFAULT_TIMEOUT);
    assert_eq!(target(&["backup", "/b"], &NOTHING).unwrap().timeout, FOREVER);
    assert_eq!(target(&["backup", "/b", "-t", "1"], &NOTHING).unwrap().timeout, Duration::from_secs(1));
}
