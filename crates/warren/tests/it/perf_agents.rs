//! One run on several machines: all of them this one here, with an agent each.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::harness::{check_fails, check_output, program, text, write};
use crate::perf::{Bench, spawn_and_wait};

/// An agent on a port that the system chose, which ends with the test.
struct Agent {
    child: Child,
    address: String,
}

impl Agent {
    fn start(arguments: &[&str]) -> Self {
        let all: Vec<&str> = ["perf", "agent", "--listen", "127.0.0.1:0"].iter().chain(arguments).copied().collect();
        let mut child = program(&all).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect(&line).to_owned();
        Agent { child, address }
    }

    fn signal(&self, name: &str) {
        signal(&self.child, name);
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

fn addresses(agents: &[Agent]) -> String {
    agents.iter().map(|agent| agent.address.as_str()).collect::<Vec<_>>().join(",")
}

#[test]
fn two_agents_do_what_one_machine_would() {
    let bench = Bench::start("agents-two");
    let agents = [Agent::start(&[]), Agent::start(&[])];
    let options = format!("-x 3 -X 2 -y 3 -u q -c 10 -r 100 -z 3 --seed 7 --agents {}", addresses(&agents));
    // The second time they have to have come to rest after the first.
    for _ in 0..2 {
        let (output, results) = bench.measure(&options);
        let run = &results.runs[0];
        assert_eq!(run.interrupted, None);
        // Six publishers, a hundred messages a second each: not five, and none twice.
        let rate = run.summary.counts.published as f64 / run.summary.duration_s;
        assert!((510.0..630.0).contains(&rate), "{rate}: {:?}", run.summary.counts);
        assert!(run.summary.sequence.is_complete, "{:?}", run.summary.sequence);
        assert_eq!(run.summary.sequence.total, Default::default());
        assert_eq!(run.samples[0].connections, 6);
        assert_eq!(results.agents, agents.each_ref().map(|agent| agent.address.clone()));
        let lateness = run.summary.latencies.lateness.as_ref().unwrap();
        assert_eq!(lateness.percentiles.count, run.summary.counts.published);
        assert!(run.summary.latencies.consumer.as_ref().unwrap().percentiles.p50_ns > 10_000);
        assert!(run.summary.generator.cpu_s.unwrap() > 0.0);
        assert!(results.warnings.iter().any(|warning| warning.contains("clocks agree within ±")));
        assert!(text(&output.stdout).contains("nothing lost, nothing twice, nothing out of order"));
    }
}

#[test]
fn part_may_be_empty_and_workload_is_not_on_the_agent() {
    let bench = Bench::start("agents-empty");
    let agents = [Agent::start(&[]), Agent::start(&[]), Agent::start(&[])];
    let load = "name = \"small\"\nduration = \"1s\"\n[[queues]]\nname = \"q\"\n[[publishers]]\nname = \"p\"\nqueue = \"q\"\nrate = 200\n\
                confirm_window = 5\n[[consumers]]\nqueue = \"q\"\n[sweep]\n\"publishers.p.confirm_window\" = [1, 5]\n";
    let file = write(&bench.dir, "load.toml", load);
    let options = format!("run {file} --agents {}", addresses(&agents));
    let (_, results) = bench.measure(&options);
    assert_eq!(results.runs.len(), 2);
    for run in &results.runs {
        let rate = run.summary.counts.published as f64 / run.summary.duration_s;
        assert!((150.0..220.0).contains(&rate), "{rate}: {:?}", run.summary.counts);
        assert!(run.summary.sequence.is_complete);
        assert_eq!(run.summary.sequence.total.lost, 0);
    }
}

#[test]
fn run_goes_on_without_an_agent_that_is_killed() {
    let bench = Bench::start("agents-killed");
    let agents = [Agent::start(&[]), Agent::start(&[])];
    let options =
        format!("-x 2 -y 2 -u q -c 10 -r 100 -z 4 -ad false --html report.html --agents {}", addresses(&agents));
    let (child, _stdout) = spawn_and_wait(bench.command(&options));
    agents[0].signal("KILL");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let run = bench.results().runs.remove(0);
    let interrupted = run.interrupted.unwrap();
    assert!(interrupted.contains(&format!("the agent {} was lost", agents[0].address)), "{interrupted}");
    let last = run.samples.last().unwrap();
    assert!(last.end_s > 3.5, "it ended after {} s", last.end_s);
    assert!(last.counts.published > 0 && last.counts.consumed > 0, "{last:?}");
    assert_eq!(last.connections, 2);
    assert!(!run.summary.sequence.is_complete, "what the lost publisher has sent is unknown");
    let page = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(page.contains("was lost"), "the page does not say so");
}

#[test]
fn agent_serves_the_next_coordinator_when_one_is_gone() {
    let bench = Bench::start("agents-abandoned");
    let agents = [Agent::start(&[])];
    let options = format!("-x 1 -y 1 -u q -r 100 --agents {}", addresses(&agents));
    let (mut child, stdout) = spawn_and_wait(bench.command(&options));
    check_fails(
        &["perf", "-z", "1", "--agents", &agents[0].address],
        1,
        &format!("agent {}: it is busy with another run", agents[0].address),
    );
    signal(&child, "KILL");
    child.wait().unwrap();
    drop(stdout);
    // How long its threads take to say goodbye is not known here.
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let output = bench.command(&format!("{options} -z 1")).output().unwrap();
        if output.status.success() {
            break;
        }
        check_output(&output, 1, "it is busy with another run");
        assert!(std::time::Instant::now() < give_up, "it is still busy");
    }
    assert!(bench.results().runs[0].summary.sequence.is_complete);
}

#[test]
fn interrupt_of_the_coordinator_ends_it_everywhere() {
    let bench = Bench::start("agents-interrupted");
    let agents = [Agent::start(&[]), Agent::start(&[])];
    let options = format!("-x 2 -y 2 -u q -r 100 --agents {}", addresses(&agents));
    let (child, _stdout) = spawn_and_wait(bench.command(&options));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let run = bench.results().runs.remove(0);
    assert!(run.interrupted.unwrap().starts_with("interrupted after "));
    // Every publisher came to its end and reported it. Consumers may be interrupted before they have the last messages.
    let incomplete = run.summary.sequence.incomplete_because;
    let is_rest = |because: &str| because == "some messages were still in queues or with consumers at the end";
    assert!(incomplete.as_deref().is_none_or(is_rest), "{incomplete:?}");
    assert_eq!(run.summary.sequence.total.lost, 0);
    bench.measure(&format!("{options} -z 1"));
}

#[test]
fn agent_obeys_only_those_who_know_its_token() {
    let bench = Bench::start("agents-token");
    let agents = [Agent::start(&["--token", "right"])];
    let address = &agents[0].address;
    let run = |extra: &[&str]| {
        let mut command = bench.command(&format!("-x 1 -y 1 -u q -r 50 -z 1 --agents {address}"));
        command.args(extra).output().unwrap()
    };
    check_output(&run(&[]), 1, &format!("warren perf: agent {address}: it requires a token: --agent-token"));
    check_output(&run(&["--agent-token", "wrong"]), 1, "the token differs from the one that it was started with");
    check_output(&run(&["--agent-token", "right"]), 0, "");
    assert!(bench.results().command.iter().all(|word| word != "right"), "{:?}", bench.results().command);
    check_fails(&["perf", "agent", "--listen", "0.0.0.0:0"], 1, "--token is required");
}

#[test]
fn stranger_neither_harms_an_agent_nor_is_one() {
    let bench = Bench::start("agents-strangers");
    let agents = [Agent::start(&[])];
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"\xff\xff\xff\xff", b"\0\0\0\x02{}", b"\0\0\0\x05nope!", b""] {
        let mut stream = TcpStream::connect(&agents[0].address).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        // Whether it says goodbye does not matter.
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.is_empty(), "it introduces itself");
    }
    bench.measure(&format!("-x 1 -y 1 -u q -r 50 -z 1 --agents {}", agents[0].address));

    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let answer = |answer: &'static [u8]| {
        let other = other.try_clone().unwrap();
        std::thread::spawn(move || other.accept().unwrap().0.write_all(answer).unwrap())
    };
    for (bytes, says) in [
        (b"HTTP/1.1 400 Bad Request\r\n".as_slice(), "the peer is not a `warren perf agent`"),
        (
            b"\0\0\0\x5b{\"Hello\":{\"program\":\"warren perf agent\",\"version\":\"0.0.1\",\"nonce\":\"a\",\"needs_token\":false}}",
            concat!("it has version 0.0.1, and this is ", env!("CARGO_PKG_VERSION"), ": the versions must be the same"),
        ),
    ] {
        let answering = answer(bytes);
        let arguments = ["perf", "-z", "1", "--agents", &address];
        check_fails(&arguments, 1, &format!("warren perf: agent {address}: {says}"));
        answering.join().unwrap();
    }
}
