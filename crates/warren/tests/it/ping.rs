//! `warren ping` as operators run it: against a broker of this build, behind a way that takes its time, and against none.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;

use crate::harness::{Broker, Scratch, check_fails, check_output, program, scratch, text, warren};

/// A broker and a directory for its data.
fn broker(test: &str, arguments: &[&str]) -> (Broker, Scratch) {
    let dir = scratch(test);
    (Broker::start(&dir.join("data"), arguments), dir)
}

fn ping(address: &str, options: &str) -> Output {
    let words: Vec<&str> = ["ping", address].into_iter().chain(options.split_ascii_whitespace()).collect();
    warren(&words)
}

/// The lines of a ping with `--json` that went well: its rounds, and its end.
#[track_caller]
fn measured(address: &str, options: &str) -> (Vec<Value>, Value) {
    let output = ping(address, &format!("{options} --json"));
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{}", text(&output.stdout));
    let mut lines: VecDeque<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.pop_front().unwrap()["event"], "begin");
    let end = lines.pop_back().unwrap();
    assert_eq!(end["event"], "end");
    (lines.into(), end)
}

fn p50(end: &Value, stage: &str) -> f64 {
    end["stages"][stage]["p50_ms"].as_f64().unwrap_or_else(|| panic!("no {stage}: {end}"))
}

/// Queues that are there, by name.
#[track_caller]
fn queues(dir: &Scratch) -> String {
    let data_dir = dir.join("data");
    let output =
        warren(&["ctl", "--silent", "--data-dir", data_dir.to_str().unwrap(), "list_queues", "name", "durable"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

/// Takes connections and passes them on to `target`, everything this much later in both directions. Accepts at once, as a proxy does.
pub(crate) fn relay(target: &str, delay: Duration) -> String {
    let target: SocketAddr = target.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(broker)) = (client, TcpStream::connect(target)) else { return };
            for socket in [&client, &broker] {
                socket.set_nodelay(true).unwrap();
            }
            pass_on(client.try_clone().unwrap(), broker.try_clone().unwrap(), delay);
            pass_on(broker, client, delay);
        }
    });
    address
}

/// Sends what comes from one side to the other, each piece a delay after it came, however many are on their way.
fn pass_on(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(len @ 1..) = from.read(&mut buffer) {
            if sender.send((Instant::now() + delay, buffer[..len].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

#[test]
fn table_has_every_stage_and_the_verdict_is_a_sentence() {
    let (broker, _dir) = broker("ping-table", &[]);
    // Without a scheme, a user and a vhost: as people type it.
    let address = broker.address();
    let output = ping(&address, "-c 3 -i 0");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let stdout = text(&output.stdout);
    let version = env!("CARGO_PKG_VERSION");
    let first =
        format!("PING amqp://guest@{address} (Warren {version} at {address}): 12 bytes through a temporary queue");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], first);
    for (number, line) in (1..=3).zip(&lines[1..4]) {
        assert!(line.starts_with(&format!("round={number} connect=")), "{stdout}");
        assert!([" open=", " answer=", " confirm=", " deliver="].iter().all(|stage| line.contains(stage)), "{stdout}");
    }
    assert_eq!((lines[4], lines[5]), ("", format!("--- amqp://guest@{address} ---").as_str()));
    assert!(lines[6].starts_with("3 rounds, 0 lost (0%), "), "{stdout}");
    let rows: Vec<&str> = lines[7..].iter().map(|line| line.split("  ").next().unwrap()).collect();
    let kernel: &[&str] = if cfg!(target_os = "linux") { &["kernel's round trip"] } else { &[] };
    let after = ["AMQP open", "answer without work", "publish to confirm", "publish to deliver"];
    let expected = [&["ms", "TCP connect"], kernel, &after].concat();
    assert_eq!(rows[..expected.len()], expected, "{stdout}");
    assert_eq!(rows.len(), expected.len() + 1, "{stdout}");
    assert!(lines.last().unwrap().starts_with("the network takes "), "{stdout}");
}

/// What the way takes, in both directions together.
const ROUND_TRIP: Duration = Duration::from_millis(100);

#[test]
fn delay_on_the_way_is_measured_and_named() {
    let (broker, _dir) = broker("ping-relay", &[]);
    let (near, far) = (broker.address(), relay(&broker.address(), ROUND_TRIP / 2));
    let added = ROUND_TRIP.as_secs_f64() * 1e3;
    // A machine that is busy with other things delays as well: one of some attempts is undisturbed.
    let mut attempts = Vec::new();
    for _ in 0..6 {
        let (_, direct) = measured(&near, "-c 5 -i 0");
        let (_, delayed) = measured(&far, "-c 5 -i 0");
        let more = |stage| p50(&delayed, stage) - p50(&direct, stage);
        let (answer, confirm, deliver) = (more("answer"), more("confirm"), more("deliver"));
        // Nothing is sooner than the way permits, whatever the machine does.
        for stage in ["answer", "confirm", "deliver"] {
            assert!(p50(&delayed, stage) >= added, "{stage}: {delayed}");
        }
        // Header, start-ok, open: three round trips. The relay accepts connections itself.
        assert!(p50(&delayed, "open") >= 3.0 * added, "{delayed}");
        assert!(p50(&delayed, "connect") < added, "{delayed}");
        assert_eq!(delayed["cause"], "between", "{delayed}");
        let sentence = delayed["verdict"].as_str().unwrap();
        assert!(sentence.ends_with("the network behind a proxy, a tunnel or a load balancer is slow"), "{sentence}");
        if [answer, confirm, deliver].iter().all(|more| (more - added).abs() <= added * 0.05) {
            return;
        }
        attempts.push((answer, confirm, deliver));
    }
    panic!("{added} ms were added, and measured in milliseconds: {attempts:?}");
}

#[test]
fn queues_that_outlive_a_connection_are_deleted() {
    let (broker, dir) = broker("ping-queues", &[]);
    for (options, queue) in [
        ("--queue-type classic", "temporary classic queue"),
        ("--persistent", "durable queue"),
        ("--persistent --queue-type classic", "durable classic queue"),
        ("--queue-type quorum", "durable quorum queue"),
        ("--size 300kB", "temporary queue"),
        ("--size 0", "temporary queue"),
    ] {
        let output = ping(&broker.address(), &format!("-c 2 -i 0 {options}"));
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{options}");
        let stdout = text(&output.stdout);
        assert!(stdout.lines().next().unwrap().ends_with(&format!(" bytes through a {queue}")), "{stdout}");
        assert_eq!(queues(&dir), "", "{options}");
    }
}

/// A ping that runs, and what it writes.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn start(address: &str, options: &str) -> Self {
        let words: Vec<&str> = ["ping", address].into_iter().chain(options.split_ascii_whitespace()).collect();
        let mut child = program(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { child, stdout }
    }

    /// Reads up to a line that has this in it, and returns it.
    #[track_caller]
    fn wait_for(&mut self, what: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended before '{what}'");
            if line.contains(what) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// What it wrote at last, what it complained of, and its exit status.
    fn end(mut self) -> (String, String, Option<i32>) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let output = self.child.wait_with_output().unwrap();
        (rest, text(&output.stderr), output.status.code())
    }
}

#[test]
fn interrupted_ping_shows_its_table_and_leaves_no_queue() {
    let (broker, dir) = broker("ping-interrupted", &[]);
    for signal in ["INT", "TERM"] {
        let mut running = Running::start(&broker.address(), "--forever -i 20ms --persistent");
        running.wait_for("round=3 ");
        let there = queues(&dir);
        assert!(there.starts_with("warren-ping-") && there.ends_with("\ttrue\n"), "{there}");
        running.signal(signal);
        let (rest, stderr, status) = running.end();
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{rest}");
        assert!(rest.contains("\npublish to confirm "), "{rest}");
        assert_eq!(queues(&dir), "");
    }
}

#[test]
fn unread_ping_ends_and_leaves_no_queue() {
    let (broker, dir) = broker("ping-unread", &[]);
    let mut running = Running::start(&broker.address(), "--forever -i 10ms --persistent");
    running.wait_for("round=1 ");
    let Running { child, stdout } = running;
    drop(stdout);
    check_output(&child.wait_with_output().unwrap(), 0, "");
    assert_eq!(queues(&dir), "");
}

#[test]
fn budget_decides_the_exit_status() {
    let (broker, _dir) = broker("ping-budget", &[]);
    let output = ping(&broker.address(), "-c 2 -i 0 --budget 1us");
    check_output(&output, 1, "");
    let stdout = text(&output.stdout);
    assert!(stdout.lines().last().unwrap().ends_with(", over the budget of 1 µs"), "{stdout}");
    let output = ping(&broker.address(), "-c 2 -i 0 --budget 1h");
    check_output(&output, 0, "");
    let stdout = text(&output.stdout);
    assert!(stdout.lines().last().unwrap().ends_with(", within the budget of 3,600 s"), "{stdout}");
}

#[test]
fn broker_that_stands_still_loses_rounds() {
    let (broker, dir) = broker("ping-lost", &[]);
    let mut running = Running::start(&broker.address(), "--forever -i 20ms --timeout 1s --persistent --budget 1h");
    running.wait_for("round=2 ");
    broker.signal("STOP");
    let lost = running.wait_for(" lost: ");
    assert!(lost.contains(" within 1 s") || lost.contains("took longer than 1 s"), "{lost}");
    broker.signal("CONT");
    running.wait_for(" confirm=");
    running.signal("INT");
    let (rest, stderr, status) = running.end();
    assert_eq!((status, stderr.as_str()), (Some(1), ""), "{rest}");
    assert!(rest.contains("cannot meet it"), "{rest}");
    assert_eq!(queues(&dir), "");
}

#[test]
fn broker_that_ends_is_lost_rounds_and_why() {
    let (broker, _dir) = broker("ping-ended", &[]);
    let mut running = Running::start(&broker.address(), "-c 3 -i 2s --json");
    running.wait_for("\"round\":1");
    broker.stop();
    let lost = running.wait_for("\"round\":2");
    assert!(lost.contains("320 CONNECTION_FORCED"), "{lost}");
    let refused = running.wait_for("\"round\":3");
    assert!(refused.contains("cannot connect to "), "{refused}");
    let (rest, stderr, status) = running.end();
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{rest}");
    let end: Value = serde_json::from_str(rest.trim_end()).unwrap();
    assert_eq!((&end["rounds"], &end["lost"]), (&3.into(), &2.into()));
}

#[test]
fn broker_that_refuses_is_one_sentence() {
    let (broker, dir) = broker("ping-refused", &[]);
    let address = broker.address();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let says = |address: &str, options: &str, status: i32, says: &str| {
        let output = ping(address, options);
        check_output(&output, status, says);
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!((stdout.as_str(), stderr.lines().count()), ("", 1), "{stdout}{stderr}");
        assert!(stderr.starts_with("warren ping: "), "{stderr}");
    };
    says(&closed, "", 1, &format!("cannot connect to {closed}: "));
    let wrong = format!("amqp://guest:hush@{address}");
    says(&wrong, "", 1, &format!("{address} refuses the login of user 'guest': ACCESS_REFUSED"));
    assert!(!text(&ping(&wrong, "").stderr).contains("hush"));
    says(&format!("{address}/none"), "", 1, "vhost none not found");
    says(&format!("amqps://{address}"), "--tls-insecure", 1, "speak TLS");
    says(&format!("amqps://{address}"), "--tls-ca /no/such.pem", 1, "/no/such.pem");
    let data_dir = dir.join("data");
    let ctl = ["ctl", "-q", "--data-dir", data_dir.to_str().unwrap()];
    for command in [&["add_user", "eve", "pw"][..], &["set_permissions", "eve", "^$", ".*", ".*"]] {
        check_output(&warren(&[&ctl, command].concat()), 0, "");
    }
    says(&format!("eve:pw@{address}"), "--persistent", 1, "the broker refuses the queue: 403 ACCESS_REFUSED");
    says(&format!("http://{address}"), "", 2, "it has to begin with amqp:// or amqps://, not with http://");
    says(&address, "--tls-insecure", 2, "TLS options need an address that starts with amqps://");
}

#[test]
fn alarm_that_blocks_publishers_is_one_sentence() {
    // No disk has as much.
    let (broker, dir) = broker("ping-blocked", &["--set", "disk_free_limit.absolute=8000PB"]);
    let output = ping(&broker.address(), "--persistent");
    check_output(&output, 1, "warren ping: the broker blocks publishers: low on disk\n");
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert_eq!(queues(&dir), "");
}

#[test]
fn what_cannot_be_asked_for_is_bad_usage() {
    check_fails(&["ping"], 2, "<ADDRESS>");
    check_fails(&["ping", "h", "-c", "0"], 2, "0 is not in 1..");
    check_fails(&["ping", "h", "-f", "-c", "1"], 2, "cannot be used with");
    check_fails(&["ping", "h", "--queue-type", "stream"], 2, "classic, quorum");
    check_fails(&["ping", "h", "--intervall", "1s"], 2, "--interval");
    check_fails(&["ping", "u:hush@h:x"], 2, "'amqp://u:***@h:x' is no AMQP URI: the port is no number");
}

#[test]
fn handshake_of_tls_is_measured() {
    let dir = scratch("ping-tls");
    let file = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["broker.example".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    for (name, pem) in [("ca.pem", issuer.pem()), ("b.pem", certificate.pem()), ("b.key", key.serialize_pem())] {
        fs::write(dir.join(name), pem).unwrap();
    }
    let (certfile, keyfile) =
        (format!("ssl_options.certfile={}", file("b.pem")), format!("ssl_options.keyfile={}", file("b.key")));
    let settings = ["--set", "listeners.ssl.default=127.0.0.1:0", "--set", &certfile, "--set", &keyfile];
    let (reader, writer) = std::io::pipe().unwrap();
    let _broker = Broker::start_with(&dir.join("data"), &settings, writer);
    let banner = BufReader::new(reader).lines().map(Result::unwrap).find(|line| line.contains("TLS")).unwrap();
    let port = banner.split([':', ' ']).find(|word| word.parse::<u16>().is_ok()).unwrap();
    let address = format!("amqps://127.0.0.1:{port}");
    let trusting = format!("--tls-ca {}", file("ca.pem"));
    let (rounds, end) = measured(&address, &format!("-c 2 -i 0 {trusting} --server-name-indication broker.example"));
    assert!(rounds.iter().all(|round| round["tls_ms"].as_f64().unwrap() > 0.0), "{rounds:?}");
    assert!(p50(&end, "tls") > 0.0);
    measured(&address, "-c 1 --tls-insecure");
    check_output(&ping(&address, &trusting), 1, "invalid peer certificate");
    // Not every system has authorities that could be asked.
    check_output(&ping(&address, ""), 1, "certificate");
}
