//! `warren ctl` as a process: what it sends, what it prints, and which status it ends with.

use std::fs;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use crate::harness::{RecordedRequest, check_output, program, read_request, scratch, text, warren, write};

/// An answer: status and body.
type Answer = (u16, &'static str);

/// Both directions of a connection.
trait Socket: std::io::Read + std::io::Write {}
impl Socket for TcpStream {}
impl Socket for UnixStream {}

/// Gives one connection these answers, one after the other, and returns what it was asked.
fn serve(stream: impl Socket, answers: &[Answer]) -> Vec<RecordedRequest> {
    let mut stream = BufReader::new(stream);
    let mut asked = Vec::new();
    for (status, body) in answers {
        let Some(request) = read_request(&mut stream) else { break };
        asked.push(request);
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
    }
    asked
}

/// A server on a port of its own for one connection, and its URL.
fn server(answers: &'static [Answer]) -> (String, JoinHandle<Vec<RecordedRequest>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://me:s3cret@{}", listener.local_addr().unwrap());
    (url, std::thread::spawn(move || serve(listener.accept().unwrap().0, answers)))
}

/// Runs a command against a server with these answers, and returns what the server was asked.
fn run(line: &[&str], answers: &'static [Answer]) -> (Output, Vec<RecordedRequest>) {
    let (url, server) = server(answers);
    let output = program(&[&["ctl"], line].concat()).env("WARREN_CTL_URL", url).output().unwrap();
    (output, server.join().unwrap())
}

#[track_caller]
fn check_says(output: &Output, expected: &str) {
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn names_are_escaped_and_users_are_sent() {
    let (output, asked) = run(&["add_vhost", "a/b ü%", "--description", "d"], &[(201, "")]);
    check_says(&output, "Adding vhost \"a/b ü%\" ...\n");
    assert_eq!(asked[0].line, "PUT /api/vhosts/a%2Fb%20%C3%BC%25 HTTP/1.1");
    assert_eq!(asked[0].body, r#"{"description":"d"}"#);
    assert!(asked[0].headers.contains("authorization: Basic bWU6czNjcmV0\r\n"), "{}", asked[0].headers);
    assert!(asked[0].headers.contains("content-type: application/json\r\n"), "{}", asked[0].headers);
}

#[test]
fn all_requests_of_a_command_go_over_one_connection() {
    let (output, asked) = run(&["-q", "set_user_tags", "bob", "management"], &[(200, USER), (204, "")]);
    check_says(&output, "");
    let lines: Vec<&str> = asked.iter().map(|asked| asked.line.as_str()).collect();
    assert_eq!(lines, ["GET /api/users/bob HTTP/1.1", "PUT /api/users/bob HTTP/1.1"]);
    assert_eq!(asked[1].body, r#"{"hashing_algorithm":"a","password_hash":"h","tags":"management"}"#);
}

const USER: &str = r#"{"name":"bob","password_hash":"h","hashing_algorithm":"a","tags":["x"],"limits":{}}"#;

#[test]
fn a_reason_is_sent_with_a_closed_connection() {
    let (_, asked) = run(&["close_connection", "127.0.0.1:1 -> 127.0.0.1:2", "go away"], &[(204, "")]);
    assert_eq!(asked[0].line, "DELETE /api/connections/127.0.0.1%3A1%20-%3E%20127.0.0.1%3A2 HTTP/1.1");
    assert!(asked[0].headers.contains("x-reason: go away\r\n"), "{}", asked[0].headers);
}

#[test]
fn scripts_read_tabs_json_and_csv() {
    const QUEUES: &[Answer] = &[(200, r#"[{"name":"q 1","messages":3},{"name":"b","messages":0}]"#)];
    let (output, asked) = run(&["list_queues", "-p", "a/b"], QUEUES);
    check_says(&output, "Timeout: 60.0 seconds ...\nListing queues for vhost a/b ...\nname\tmessages\nq 1\t3\nb\t0\n");
    assert_eq!(asked[0].line, "GET /api/queues/a%2Fb?disable_stats=true&enable_queue_totals=true HTTP/1.1");
    check_says(&run(&["-q", "list_queues"], QUEUES).0, "name\tmessages\nq 1\t3\nb\t0\n");
    check_says(&run(&["-s", "list_queues"], QUEUES).0, "q 1\t3\nb\t0\n");
    check_says(&run(&["-q", "list_queues", "--no-table-headers", "name"], QUEUES).0, "q 1\nb\n");
    let json = "[\n{\"messages\":3,\"name\":\"q 1\"}\n,{\"messages\":0,\"name\":\"b\"}\n]\n";
    check_says(&run(&["list_queues", "--formatter", "json"], QUEUES).0, json);
    check_says(
        &run(&["list_queues", "--formatter=csv"], QUEUES).0,
        "\"name\",\"messages\"\n\"q 1\",\"3\"\n\"b\",\"0\"\n",
    );
    let admin = "+------+----------+\n| name | messages |\n+------+----------+\n\
        | b    | 0        |\n| q 1  | 3        |\n+------+----------+\n";
    check_says(&run(&["list", "queues", "--sort", "name"], QUEUES).0, admin);
    check_says(&run(&["list", "queues", "-f", "tsv"], QUEUES).0, "name\tmessages\nq 1\t3\nb\t0\n");
    check_says(&run(&["list", "queues"], &[(200, "[]")]).0, "No items\n");
}

#[test]
fn refusals_have_rabbitmqctls_status_and_the_servers_reason() {
    let (output, _) = run(&["list_users"], UNAUTHORIZED);
    check_output(
        &output,
        77,
        "Error: the server does not accept this user and password: set others with --username and --password: Login failed\n",
    );
    assert!(!text(&output.stderr).contains("s3cret"));
    let (output, _) = run(&["list_users"], FORBIDDEN);
    check_output(&output, 77, "Error: this user may not do that: Not administrator user\n");
    let (output, _) = run(&["set_user_tags", "bob"], &[(404, ""), (200, "{}")]);
    check_output(&output, 67, "Error: user \"bob\" does not exist\n");
    let (output, _) = run(&["list_queues", "-p", "v"], &[(404, ""), (200, "{}")]);
    check_output(&output, 65, "Error: virtual host 'v' does not exist\n");
    let (output, _) = run(&["set_policy", "p", "^q", "{}"], INVALID);
    check_output(&output, 69, "Error: the server refuses this: Validation failed no policy\n");
    let (output, _) = run(&["list_users"], &[(500, "")]);
    check_output(&output, 69, "Error: the server failed with status 500\n");
    let (output, _) = run(&["list_users"], &[(200, "<html>")]);
    check_output(
        &output,
        70,
        "Error: the server's answer is not valid JSON, so it may not be the management API of a broker",
    );
    let (output, _) = run(&["backup", "/b"], &[(200, "{}"), (404, ""), (200, "{}")]);
    check_output(&output, 69, "Error: the server cannot make backups");
}

const UNAUTHORIZED: &[Answer] = &[(401, r#"{"error":"not_authorized","reason":"Login failed"}"#)];
const FORBIDDEN: &[Answer] = &[(403, r#"{"error":"not_authorised","reason":"Not administrator user"}"#)];
const INVALID: &[Answer] = &[(400, r#"{"error":"bad_request","reason":"Validation failed\n\nno policy\n"}"#)];

#[test]
fn who_is_not_there_is_69_and_who_says_nothing_75() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let output = warren(&["ctl", "-P", &port, "-t", "0.05", "list_users"]);
    check_output(
        &output,
        75,
        &format!("Error: the management API at 127.0.0.1:{port} returned no answer within 0.05 s\n"),
    );
    drop(listener);
    let output = warren(&["ctl", "-P", &port, "list_users"]);
    check_output(
        &output,
        69,
        &format!("Error: cannot reach the management API at 127.0.0.1:{port}: Connection refused"),
    );
    let output = warren(&["ctl", "--socket", "/no/such.sock", "list_users"]);
    check_output(&output, 69, "Error: cannot reach the management API at /no/such.sock: No such file or directory");
}

#[test]
fn bad_usage_is_64_and_names_what_was_meant() {
    for (line, says) in [
        (&["lst_queues"][..], "Error: unknown command 'lst_queues', did you mean 'list_queues'?\n"),
        (
            &["add_user"],
            "Error: add_user needs username: warren ctl add_user <username> [<password>] [--pre-hashed-password]\n",
        ),
        (&["list_queues", "--vhots", "x"], "Error: list_queues has no option --vhots, did you mean --vhost?\n"),
        (&["list_queues", "nmae"], "Error: unknown column 'nmae', did you mean 'name'?\n"),
        (&["declare", "qeue", "name=x"], "Error: unknown command 'declare qeue', did you mean 'declare queue'?\n"),
        (&["list_queues", "--formatter", "erlang"], "Error: the formatter erlang is for Erlang's terms"),
    ] {
        check_output(&warren(&[&["ctl"], line].concat()), 64, says);
    }
    check_output(&warren(&["ctl", "rotate_logs"]), 69, "Error: rotate_logs cannot be done over HTTP: ");
}

#[test]
fn health_checks_are_one_line_and_a_status() {
    check_says(
        &run(&["check_alarms"], &[(200, r#"{"status":"ok"}"#)]).0,
        "No alarms are reported, local or clusterwide\n",
    );
    let (output, asked) = run(&["check_port_listener", "5672"], FAILED);
    check_output(&output, 69, "Error: health check failed: No active listener (missing: 5672, ports: [15672])\n");
    assert_eq!(
        (text(&output.stdout).as_str(), asked[0].line.as_str()),
        ("", "GET /api/health/checks/port-listener/5672 HTTP/1.1")
    );
}

const FAILED: &[Answer] =
    &[(503, r#"{"status":"failed","reason":"No active listener","missing":5672,"ports":[15672]}"#)];

/// On its own machine a broker is asked over the socket in its data directory, without a login.
#[test]
fn the_data_directorys_socket_needs_no_password() {
    let dir = scratch("ctl-socket");
    for (line, place) in [(&["--data-dir", "."][..], "."), (&[], "warren-data")] {
        fs::create_dir_all(dir.join(place)).unwrap();
        // A socket's path has to be short.
        let listener = on_short_path(&dir.join(place));
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0, &[(200, "[]")]));
        let output = program(&[&["ctl", "-q", "list_users"], line].concat()).current_dir(&*dir).output().unwrap();
        check_says(&output, "");
        let asked = server.join().unwrap();
        assert_eq!(asked[0].line, "GET /api/users?columns=name,tags HTTP/1.1");
        assert!(!asked[0].headers.contains("authorization"), "{}", asked[0].headers);
    }
}

fn on_short_path(dir: &std::path::Path) -> UnixListener {
    let short = std::env::temp_dir().join(format!(
        "warren-ctl-{}-{}",
        std::process::id(),
        dir.file_name().map_or(0, |name| name.len())
    ));
    let _ = fs::remove_file(&short);
    std::os::unix::fs::symlink(dir, &short).unwrap();
    let listener = UnixListener::bind(short.join("control.sock")).unwrap();
    fs::remove_file(&short).unwrap();
    listener
}

#[test]
fn definitions_go_to_files_and_come_in() {
    let dir = scratch("ctl-definitions");
    let file = dir.join("d.json");
    // It may take long, so a server that never says a word is found out first.
    const DEFINITIONS: &[Answer] = &[(200, "{}"), (200, r#"{"users":[],"z":1.50}"#)];
    let (output, asked) = run(&["export_definitions", file.to_str().unwrap()], DEFINITIONS);
    assert_eq!((output.status.code(), asked[1].line.as_str()), (Some(0), "GET /api/definitions HTTP/1.1"));
    assert_eq!(fs::read_to_string(&file).unwrap(), DEFINITIONS[1].1);
    check_says(&run(&["export_definitions", "-"], DEFINITIONS).0, "{\"users\":[],\"z\":1.50}\n");
    let (url, server) = server(&[(200, "{}"), (204, "")]);
    let mut child = program(&["ctl", "--url", &url, "-q", "import_definitions"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"users\": [ ]}").unwrap();
    check_says(&child.wait_with_output().unwrap(), "");
    let asked = server.join().unwrap();
    assert_eq!(
        (asked[1].line.as_str(), asked[1].body.as_str()),
        ("POST /api/definitions HTTP/1.1", "{\"users\": [ ]}")
    );
    check_output(&warren(&["ctl", "import_definitions", "/no/such.json"]), 65, "Error: cannot read /no/such.json: ");
    let bad = write(&dir, "bad.json", "{");
    check_output(&warren(&["ctl", "import_definitions", &bad]), 65, "invalid JSON");
}

#[test]
fn help_needs_no_server() {
    for line in [&["ctl"][..], &["ctl", "help"], &["ctl", "--help"]] {
        let output = warren(line);
        let help = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0));
        assert!(help.contains("\n  list_queues ") && help.contains("\n  declare queue "), "{help}");
    }
    for line in [&["ctl", "help", "add_vhost"][..], &["ctl", "add_vhost", "--help"]] {
        let help = text(&warren(line).stdout);
        assert!(help.starts_with("warren ctl add_vhost <vhost> [--description TEXT]"), "{help}");
    }
    let help = text(&warren(&["ctl", "help", "declare", "queue"]).stdout);
    assert!(help.starts_with("warren ctl declare queue name=<name> [type=<type>]"), "{help}");
    let help = text(&warren(&["ctl", "help", "queues"]).stdout);
    assert!(help.contains("  queues declare ") && help.contains("  queues purge "), "{help}");
    check_output(&warren(&["ctl", "help", "nonsense"]), 64, "unknown command 'nonsense'");
    assert_eq!(text(&warren(&["ctl", "version"]).stdout), format!("{}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn bash_completes_commands_objects_and_options() {
    let script = text(&warren(&["ctl", "completion", "bash"]).stdout);
    let complete = |words: &str, at: usize| {
        let line = format!("{script}\nCOMP_WORDS=({words}); COMP_CWORD={at}; _warren_ctl; echo \"${{COMPREPLY[*]}}\"");
        match Command::new("bash").args(["--norc", "-c", &line]).output() {
            Ok(output) => Some(format!("{}{}", text(&output.stdout), text(&output.stderr))),
            // Where there is no bash, there is no completion to test.
            Err(_) => None,
        }
    };
    let check = |words: &str, at: usize, expected: &str| {
        if let Some(said) = complete(words, at) {
            assert_eq!(said.trim_end(), expected, "{words}");
        }
    };
    check("warren ctl list_q", 2, "list_queues");
    check("warren ctl declare qu", 3, "queue");
    check("warren ctl declare queue --auto", 4, "--auto-delete");
    check("warren ctl -q list_queues --no-t", 4, "--no-table-headers");
    check("warren ctl -p /shop list_q", 4, "list_queues");
    check("warren ctl --vhost /shop list_queues --no-t", 5, "--no-table-headers");
    check("warren ct", 1, "ctl");
}

#[test]
fn a_password_that_comes_in_is_a_line() {
    // Any server may answer 404 without a reason, so the command asks which server this is.
    let (url, server) = server(&[(404, ""), (200, "{}"), (201, "")]);
    let mut child = program(&["ctl", "--url", &url, "-q", "add_user", "bob"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // What comes in does not have to end.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"p w\nmore").unwrap();
    let asked = server.join().unwrap();
    assert_eq!(asked[2].body, r#"{"password":"p w","tags":""}"#);
    drop(stdin);
    check_says(&child.wait_with_output().unwrap(), "");
    check_output(&warren(&["ctl", "add_user", "bob"]), 65, "Error: no password: give it");
}
