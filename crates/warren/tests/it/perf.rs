//! The load generator as its users run it: against a broker of this build, and against none.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use perf::results::Results;

use crate::harness::{Broker, Scratch, check_fails, check_output, program, scratch, text, write};

/// A broker, and a directory for what is measured.
pub(crate) struct Bench {
    pub(crate) dir: Scratch,
    pub(crate) broker: Broker,
    uri: String,
}

impl Bench {
    pub(crate) fn start(test: &str) -> Self {
        let dir = scratch(test);
        let broker = Broker::start(&dir.join("data"), &[]);
        let uri = format!("amqp://{}", broker.address());
        Bench { dir, broker, uri }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.join(name).to_str().unwrap().to_owned()
    }

    /// A command with these options, against the broker; its results are written to `results.json`.
    pub(crate) fn command(&self, options: &str) -> Command {
        let json = self.path("results.json");
        let mut arguments = vec!["perf"];
        arguments.extend(options.split_ascii_whitespace());
        arguments.extend(["--uri", &self.uri, "--json", &json]);
        let mut command = program(&arguments);
        command.current_dir(&*self.dir);
        command
    }

    #[track_caller]
    pub(crate) fn measure(&self, options: &str) -> (Output, Results) {
        let output = self.command(options).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (output, self.results())
    }

    #[track_caller]
    pub(crate) fn results(&self) -> Results {
        Results::load(Path::new(&self.path("results.json"))).unwrap()
    }
}

/// Starts a command and waits for its first line about an interval.
pub(crate) fn spawn_and_wait(mut command: Command) -> (Child, std::io::BufReader<std::process::ChildStdout>) {
    use std::io::BufRead as _;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(", time ") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended before it began");
    }
    (child, stdout)
}

#[test]
fn what_is_published_is_consumed_and_followed() {
    let bench = Bench::start("perf-followed");
    let (output, results) = bench.measure("-x 2 -y 3 -u q -s 100 -c 10 -r 500 -z 2 -d mine");
    let summary = &results.runs[0].summary;
    assert!(summary.counts.published >= 1_800, "{:?}", summary.counts);
    assert_eq!(summary.counts.published_bytes, summary.counts.published * 100);
    assert!(summary.sequence.is_complete, "{:?}", summary.sequence);
    assert_eq!(summary.sequence.total, Default::default());
    let latencies = &summary.latencies;
    for latency in [&latencies.consumer, &latencies.consumer_sent, &latencies.confirm, &latencies.confirm_sent] {
        assert!(latency.as_ref().unwrap().percentiles.p50_ns > 0);
    }
    let stdout = text(&output.stdout);
    assert!(stdout.contains("id: mine, sending rate avg: "), "{stdout}");
    assert!(stdout.contains("nothing lost, nothing twice, nothing out of order"), "{stdout}");
    assert_eq!(results.broker.unwrap().variant.as_deref(), Some(concat!("Warren ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn message_limit_ends_the_run() {
    let bench = Bench::start("perf-limit");
    let (output, results) = bench.measure("-x 1 -X 2 -y 1 -u q -C 250");
    assert_eq!(results.runs[0].samples.iter().map(|sample| sample.counts.published).sum::<u64>(), 500);
    assert!(text(&output.stdout).contains("Producer reached message limit"), "{}", text(&output.stdout));
}

#[test]
fn two_message_limits_end_the_run_when_both_are_reached() {
    let bench = Bench::start("perf-limits");
    let (_, results) = bench.measure("-x 1 -y 1 -u q -ad false -f persistent -C 250 -D 250");
    let counts = results.runs[0].summary.counts;
    assert_eq!((counts.published, counts.consumed), (250, 250));
    let (_, results) = bench.measure("-x 1 -y 1 -u r -C 250 -D 1 -r 500");
    assert_eq!(results.runs[0].summary.counts.published, 250);
}

#[test]
fn what_waits_in_a_queue_is_consumed_however_soon() {
    let bench = Bench::start("perf-waiting");
    bench.measure("-x 1 -y 0 -u q -ad false -C 200");
    let (output, results) = bench.measure("-x 0 -y 1 -u q -ad false -D 200");
    let summary = &results.runs[0].summary;
    assert_eq!(summary.counts.consumed, 200);
    assert_eq!(summary.latencies.consumer.as_ref().unwrap().percentiles.count, 200);
    assert!(text(&output.stdout).contains("Consumer reached message limit"), "{}", text(&output.stdout));
}

#[test]
fn acks_get_transactions_and_churn_lose_nothing() {
    let bench = Bench::start("perf-ways");
    for options in [
        "-x 1 -y 2 -u q --qos 20 --multi-ack-every 10 -r 500 -z 1",
        "-x 1 -y 1 -u q -m 5 -n 5 -r 500 -z 1",
        "-x 1 -y 1 -u q --polling -r 200 -z 1",
        "-x 1 -y 2 -qp q-%d -qpf 1 -qpt 4 -r 500 -z 1 -f persistent -f mandatory",
        "-x 1 -y 1 -u q -R 300 -r 200 -L 100 -z 1",
    ] {
        let (_, results) = bench.measure(options);
        let summary = &results.runs[0].summary;
        assert!(summary.counts.consumed > 50, "{options}: {:?}", summary.counts);
        assert_eq!(summary.sequence.total, Default::default(), "{options}");
        assert_eq!(summary.counts.returned, 0, "{options}");
    }
}

#[test]
fn pause_of_the_broker_is_in_the_latency_from_the_intended_time() {
    let bench = Bench::start("perf-pause");
    let (child, _stdout) = spawn_and_wait(bench.command("-x 1 -y 1 -u q -c 1 -r 200 -z 10"));
    bench.broker.signal("STOP");
    std::thread::sleep(Duration::from_millis(500));
    bench.broker.signal("CONT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let latencies = bench.results().runs.remove(0).summary.latencies;
    let p99_ms = |latency: Option<perf::results::Distribution>| latency.unwrap().percentiles.p99_ns / 1_000_000;
    let (intended, sent) = (p99_ms(latencies.confirm), p99_ms(latencies.confirm_sent));
    assert!(intended >= 350, "p99 from the intended time is {intended} ms");
    assert!(sent < 50, "p99 from the time of sending is {sent} ms");
    assert!(p99_ms(latencies.consumer) >= 350);
}

#[test]
fn broker_that_dies_is_in_the_report() {
    let bench = Bench::start("perf-death");
    let (child, _stdout) = spawn_and_wait(bench.command("-x 1 -y 1 -u q -r 200 -z 4 --html report.html"));
    bench.broker.signal("KILL");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let run = bench.results().runs.remove(0);
    let interrupted = run.interrupted.unwrap();
    assert!(interrupted.starts_with("2 connections were lost and not restored"), "{interrupted}");
    assert!(run.summary.counts.consumed > 0);
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(page.contains("connections were lost"), "the page does not say so");
}

#[test]
fn broker_that_comes_back_goes_on_being_measured() {
    let mut bench = Bench::start("perf-return");
    let address = bench.broker.address();
    let options = "-x 1 -y 1 -u q -ad false -f persistent -c 10 -r 200 -z 6 -cri 1";
    let (child, _stdout) = spawn_and_wait(bench.command(options));
    bench.broker.signal("KILL");
    bench.broker.child.wait().unwrap();
    let listener = format!("listeners.tcp.default={address}");
    bench.broker = Broker::start(&bench.dir.join("data"), &["--set", &listener]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = bench.results().runs.remove(0);
    assert_eq!(run.interrupted, None);
    let last = run.samples.last().unwrap();
    assert!(last.counts.consumed > 0, "{last:?}");
    assert_eq!(run.summary.sequence.total.lost, 0, "{:?}", run.summary.sequence);
}

#[test]
fn interrupted_run_is_written_all_the_same() {
    let bench = Bench::start("perf-interrupted");
    let (child, _stdout) = spawn_and_wait(bench.command("-x 1 -y 1 -u q -r 200"));
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(bench.results().runs[0].interrupted.as_ref().unwrap().starts_with("interrupted after "));
}

#[test]
fn what_cannot_be_done_is_one_sentence() {
    let bench = Bench::start("perf-wrong");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let uri = format!("amqp://{closed}");
    check_fails(&["perf", "-h", &uri, "-z", "1"], 1, &format!("warren perf: cannot connect to {closed}: "));
    let uri = bench.uri.replace("amqp://", "amqp://guest:wrong@");
    check_fails(&["perf", "-h", &uri, "-z", "1"], 1, "refuses the login of user 'guest': ACCESS_REFUSED");
    let uri = format!("{}/none", bench.uri);
    check_fails(&["perf", "-h", &uri, "-z", "1"], 1, "vhost none not found");
    check_fails(&["perf", "--qoz", "1"], 1, "unknown option '--qoz'; the closest known option is '--qos'");
    check_fails(&["perf", "run", "low-latncy"], 1, "low-latency");
    check_fails(&["perf", "compare", "a.json"], 1, "at least two results are required");
    check_fails(&["perf", "report", "/no/such.json"], 1, "/no/such.json");
    let output = bench.command("-x 1 -y 1 -u q -qa x-max-length=ten -z 1").output().unwrap();
    check_output(&output, 1, "x-max-length");
}

#[test]
fn workload_with_an_error_says_where() {
    let bench = Bench::start("perf-workload-error");
    let text = "name = \"load\"\n\n[[queues]]\nname = \"q\"\n\n[[publishers]]\nqueue = \"q\"\nrate = \"fast\"\n";
    let file = write(&bench.dir, "load.toml", text);
    let output = program(&["perf", "run", &file, "-h", &bench.uri]).output().unwrap();
    check_output(&output, 1, &format!("{file}:8:8: "));
}

#[test]
fn workload_leaves_results_and_a_page() {
    let bench = Bench::start("perf-workload");
    let text = "name = \"small\"\nduration = \"2s\"\n\n[[queues]]\nname = \"q\"\n\n[[publishers]]\nqueue = \"q\"\nrate = 200\n\
                confirm_window = 5\n\n[[consumers]]\nqueue = \"q\"\n\n[expect]\nlost = 0\nconsumer_latency_p50_ms = 0.000001\n";
    let file = write(&bench.dir, "load.toml", text);
    let run = |extra: &[&str]| {
        let mut arguments = vec!["perf", "run", file.as_str(), "-h", bench.uri.as_str()];
        arguments.extend(extra);
        program(&arguments).current_dir(&*bench.dir).output().unwrap()
    };
    // Nothing is as fast as that, so the verdict is bad.
    assert_eq!(run(&[]).status.code(), Some(1));
    let results = Results::load(Path::new(&bench.path("small.json"))).unwrap();
    let verdicts: Vec<bool> = results.runs[0].verdicts.iter().map(|verdict| verdict.passed).collect();
    assert!(verdicts.contains(&true) && verdicts.contains(&false), "{:?}", results.runs[0].verdicts);
    assert!(std::fs::read_to_string(bench.path("small.html")).unwrap().contains("<html"));
    let output = run(&["--set", "expect.consumer_latency_p50_ms=10000", "--json", "other.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", crate::harness::text(&output.stderr));
    let output = program(&["perf", "compare", "small.json", "other.json"]).current_dir(&*bench.dir).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::harness::text(&output.stderr));
}
