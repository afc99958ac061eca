//! CPU profiles of a broker under load, as operators make them, and what they leave behind: nothing.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};

use crate::harness::{Broker, check_fails, check_output, program, scratch, text, warren};

/// A broker under load, until it is dropped.
struct Load {
    broker: Broker,
    perf: Child,
}

impl Load {
    fn start(data_dir: &Path) -> Load {
        let broker = Broker::start(data_dir, &[]);
        let uri = format!("amqp://{}", broker.address());
        let perf = perf(&uri, "-x 2 -y 2 -u load -c 100 --qos 100 -z 600");
        Load { broker, perf }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }
}

pub(crate) fn perf(uri: &str, options: &str) -> Child {
    let mut arguments = vec!["perf"];
    arguments.extend(options.split(' '));
    arguments.extend(["--uri", uri]);
    let mut child = program(&arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(", time ")), "the load did not begin");
    // The program keeps printing, to nothing.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn profile(data_dir: &Path, words: &str) -> Output {
    let mut arguments = vec!["profile", "cpu", "--data-dir", data_dir.to_str().unwrap()];
    arguments.extend(words.split(' '));
    warren(&arguments)
}

#[track_caller]
fn says(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The share of samples whose stack has this text.
fn share(folded: &str, part: &str) -> f64 {
    let weight = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
    let of_part: f64 = folded.lines().filter(|line| line.contains(part)).map(weight).sum();
    of_part / folded.lines().map(weight).sum::<f64>()
}

#[test]
fn hot_functions_of_a_load_are_in_every_form() {
    let dir = scratch("profile-forms");
    let data_dir = dir.join("data");
    let _load = Load::start(&data_dir);
    let write = |name: &str| {
        let path = dir.join(name).to_str().unwrap().to_owned();
        let output = profile(&data_dir, &format!("--seconds 2 -o {path}"));
        says(&output);
        let said = text(&output.stderr);
        assert!(said.starts_with(&format!("Written to {path}.\nOverhead: ")), "{said}");
        fs::read(path).unwrap()
    };
    let folded = text(&write("a.folded"));
    // What serves clients is what a broker does under load, and by frame pointers all of it stands on the connection's task.
    let of_clients: f64 =
        ["connection", "queueing", "delivering"].map(|work| share(&folded, &format!("{work}_[l]"))).iter().sum();
    assert!(of_clients > 0.4, "{of_clients} for clients: {folded}");
    let stands = share(&folded, "broker::front::connection::Connection<P>::poll") / of_clients;
    assert!((0.5..1.1).contains(&stands), "{stands} of it stands on connections: {folded}");
    let named: f64 = 1.0 - share(&folded, "[warren]");
    assert!(named > 0.95, "{named} has names: {folded}");

    let svg = text(&write("a.svg"));
    assert!(svg.starts_with("<?xml") && svg.contains("broker::front::connection::Connection&lt;P&gt;::poll"));
    let speedscope: serde_json::Value = serde_json::from_slice(&write("a.speedscope.json")).unwrap();
    assert!(speedscope["shared"]["frames"].as_array().unwrap().iter().any(|frame| frame["name"] == "[connection]"));
    write("a.pb.gz");
    match Command::new("go").args(["tool", "pprof", "-top", "-cum"]).arg(dir.join("a.pb.gz")).output() {
        Ok(output) => {
            // pprof leaves the parameters of types out.
            assert!(text(&output.stdout).contains("broker::front::connection::Connection::poll"), "{output:?}");
        }
        Err(_) => println!("skipped: go is not installed, so a profile is not held against pprof"),
    }

    let table = says(&profile(&data_dir, "--seconds 1 --top 40"));
    for part in ["by kind of work", "%  connection", "%  tokio-rt-worker", "function\n"] {
        assert!(table.contains(part), "no {part} in {table}");
    }
    let before = dir.join("a.folded").to_str().unwrap().to_owned();
    fs::write(dir.join("b.folded"), folded.replace("Connection<P>::poll", "Connection<P>::pull")).unwrap();
    let after = dir.join("b.folded").to_str().unwrap().to_owned();
    says(&warren(&["profile", "diff", &before, &after, "-o", dir.join("diff.svg").to_str().unwrap()]));
    let svg = fs::read_to_string(dir.join("diff.svg")).unwrap();
    let is_new = |block: &str| block.split('<').next().is_some_and(|text| text.contains(": 0.00% before"));
    assert!(svg.split("Connection&lt;P&gt;::pull").skip(1).any(is_new));
    assert!(says(&warren(&["profile", "diff", &before, &after])).contains("function, alone"));
}

#[test]
fn what_cannot_be_profiled_is_said_before_time_has_passed() {
    let dir = scratch("profile-refused");
    check_fails(&["profile", "cpu", "--data-dir", "/nowhere", "-o", "a.png"], 2, "ends in .svg, .folded");
    check_fails(&["profile", "cpu", "--data-dir", "/nowhere"], 1, "/nowhere/control.sock");
    check_fails(&["profile", "cpu", "--seconds", "301"], 2, "301 is not in 1..=300");
    check_fails(&["profile", "diff", "/no/a", "/no/b"], 1, "/no/a cannot be read");
    let other = dir.join("other").to_str().unwrap().to_owned();
    fs::write(&other, "a 1 b").unwrap();
    check_fails(&["profile", "diff", &other, &other], 1, "line 1 is not a folded stack");
    let data_dir = dir.join("data");
    let _broker = Broker::start(&data_dir, &[]);
    check_output(
        &profile(&data_dir, &format!("--binary {other}")),
        1,
        "is not the broker's program, whose build id is",
    );
}

/// Asks over the broker's socket, and returns the connection.
fn ask(data_dir: &Path, query: &str) -> UnixStream {
    let mut stream = UnixStream::connect(data_dir.join("control.sock")).unwrap();
    write!(stream, "GET /api/profile/cpu?{query} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    stream
}

/// What is answered at once.
fn first_line(stream: &mut UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

#[test]
fn a_profile_is_gone_with_its_viewer_its_time_and_an_alarm() {
    let dir = scratch("profile-killed");
    let data_dir = dir.join("data");
    let mut load = Load::start(&data_dir);
    let arguments = ["profile", "cpu", "--seconds", "300", "--data-dir", data_dir.to_str().unwrap()];
    let mut viewer = program(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    load.broker.wait_for_event("CPU profile started");
    let refused = profile(&data_dir, "--seconds 1");
    check_output(&refused, 1, "a CPU profile is being made already, and there can be one at a time");
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    // It would have lasted longer than an event is waited for.
    load.broker.wait_for_event("CPU profile ended");

    // One that reads nothing, but is there, has the profile until its time is over.
    let suspended = ask(&data_dir, "seconds=2&rate=999");
    load.broker.wait_for_event("CPU profile started");
    let began_at = Instant::now();
    load.broker.wait_for_event("CPU profile ended");
    assert!(began_at.elapsed() >= Duration::from_secs(1), "{:?}", began_at.elapsed());
    drop(suspended);

    // And an alarm ends it for all viewers.
    let _viewer = ask(&data_dir, "seconds=300");
    load.broker.wait_for_event("CPU profile started");
    let limit = ["ctl", "--data-dir", data_dir.to_str().unwrap(), "set_vm_memory_high_watermark", "absolute", "1"];
    assert_eq!(warren(&limit).status.code(), Some(0));
    load.broker.wait_for_event("CPU profile ended");
    check_output(
        &profile(&data_dir, "--seconds 1"),
        1,
        "the memory alarm is in effect: no session can start during an alarm",
    );
}

/// Resident memory of a process, in bytes.
fn resident_len(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_profile_takes_at_most_8_mib_and_gives_them_back() {
    let dir = scratch("profile-memory");
    let mut broker = Broker::start(&dir, &[]);
    let uri = format!("amqp://{}", broker.address());
    let mut load = perf(&uri, "-x 1 -y 1 -u load -r 3000 -z 600");
    let process = broker.child.id();
    let most_within = |time: Duration| {
        let began_at = Instant::now();
        let mut most = 0;
        while began_at.elapsed() < time {
            most = most.max(resident_len(process));
            std::thread::sleep(Duration::from_millis(20));
        }
        most
    };
    // The first one allocates what the allocator then keeps: lists of threads and modules, the log's lines.
    says(&profile(&dir, "--seconds 1"));
    let before = most_within(Duration::from_secs(1));
    // One that is not read fills the whole ring.
    let unread = ask(&dir, "seconds=5&rate=999");
    broker.wait_for_event("CPU profile started");
    let meanwhile = most_within(Duration::from_secs(4));
    drop(unread);
    // What the load itself takes still grows by some MiB meanwhile.
    let allowed = before + (4 << 20);
    let given_up_at = Instant::now() + Duration::from_secs(30);
    while resident_len(process) > allowed && Instant::now() < given_up_at {
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = resident_len(process);
    load.kill().unwrap();
    load.wait().unwrap();
    let mib = |len: u64| len as f64 / f64::from(1 << 20);
    println!("resident: {:.1} MiB, {:.1} meanwhile, {:.1} after", mib(before), mib(meanwhile), mib(after));
    assert!(meanwhile <= before + (8 << 20), "{:.1} MiB, then {:.1}", mib(before), mib(meanwhile));
    assert!(after <= allowed, "{:.1} MiB, then {:.1}", mib(before), mib(after));
}

/// Profiles that begin and end in the middle of everything, while messages go through TLS and are synced. `WARREN_PROFILE_ROUNDS` says
/// how many: `make test-profiles` makes a thousand.
#[test]
fn profiles_come_and_go_under_load_with_tls_and_fsync() {
    let rounds = std::env::var("WARREN_PROFILE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
    let dir = scratch("profile-rounds");
    let file = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["broker.example".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(dir.join("b.pem"), certificate.pem()).unwrap();
    fs::write(dir.join("b.key"), key.serialize_pem()).unwrap();
    let (certfile, keyfile) =
        (format!("ssl_options.certfile={}", file("b.pem")), format!("ssl_options.keyfile={}", file("b.key")));
    let settings = ["--set", "listeners.ssl.default=127.0.0.1:0", "--set", &certfile, "--set", &keyfile];
    let (reader, writer) = std::io::pipe().unwrap();
    let data_dir = dir.join("data");
    let mut broker = Broker::start_with(&data_dir, &settings, writer);
    let banner = BufReader::new(reader).lines().map(Result::unwrap).find(|line| line.contains("TLS")).unwrap();
    let port = banner.split([':', ' ']).find(|word| word.parse::<u16>().is_ok()).unwrap();
    let options = "-x 2 -y 2 -u load -f persistent -ad false -c 50 --qos 50 --tls-insecure -z 3600";
    let mut load = perf(&format!("amqps://127.0.0.1:{port}"), options);
    for round in 0..rounds {
        let mut stream = ask(&data_dir, "seconds=300&rate=999");
        let line = first_line(&mut stream);
        assert!(line.contains("200"), "round {round}: {line}");
        let mut some = vec![0; 1 + round * 977 % 6_000];
        stream.read_exact(&mut some).unwrap();
        drop(stream);
        broker.wait_for_event("CPU profile ended");
    }
    assert!(load.try_wait().unwrap().is_none(), "the load has ended");
    load.kill().unwrap();
    load.wait().unwrap();
    broker.stop();
}
