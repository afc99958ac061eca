//! Whole runs of users, against a broker in this process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use amqp::basic;
use amqp_client::{ConnectOptions, Connection, Event, Uri};
use store::Store;
use store::file::SimDisk;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::super::stamp::stamp;
use super::super::{Interrupt, Observer, Recovery, Settings, StampUnit, Target, run};
use super::program::Program;
use super::throttle::Throttles;
use crate::dashboard::Overall;
use crate::plan::{
    ConsumedQueues, Consumers, Distribution, Plan, Processing, Properties, Queues, Script, Settle, Sizes, Step,
    StepExpectation, Template, Throttle, Users,
};
use crate::results::{Broker, Counts, Run, Sample};
use crate::workload::{self, Overrides};
use http_client::HttpUrl;

/// A broker on a disk in memory, as long as this lives.
struct Node {
    port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Node {
    fn start() -> Self {
        let (tell_port, port) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let mut options = store::Options::new(PathBuf::from("/data"));
                options.is_reserve_kept = false;
                options.journal.file_len = 4 << 20;
                let (store, recovered) = Store::open(options, Arc::new(SimDisk::new(1))).unwrap();
                let broker = broker::Broker::start(broker::Options::default(), store, recovered).unwrap();
                let address: SocketAddr = "127.0.0.1:0".parse().unwrap();
                let mut listener = net::Listener::bind(address, net::SocketOptions::default()).unwrap();
                tell_port.send(listener.local_addr().unwrap().port()).unwrap();
                let accepting = async {
                    loop {
                        let (stream, _) = listener.accept(|_| ()).await;
                        tokio::spawn(Arc::clone(&broker).serve(stream));
                    }
                };
                tokio::select! {
                    () = accepting => {}
                    _ = stopped => {}
                }
                broker.stop(Duration::ZERO).await.unwrap();
            });
        });
        Node { port: port.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    fn uri(&self) -> Uri {
        Uri { host: "127.0.0.1".to_owned(), port: self.port, ..Uri::default() }
    }

    /// The bodies of the messages that are in a queue, which it is to have so many of.
    fn bodies(&self, queue: &str, count: usize) -> Vec<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = Connection::open(&self.uri(), &ConnectOptions::default()).await.unwrap();
            connection.open_channel(1).await.unwrap();
            let queue = queue.as_bytes();
            connection.consume(1, &basic::Consume { queue, no_ack: true, ..Default::default() }).await.unwrap();
            let mut bodies = Vec::new();
            while bodies.len() < count {
                while let Some(event) = connection.next_event().unwrap() {
                    if let Event::Delivered { content, .. } = event {
                        bodies.push(content.body.to_vec());
                    }
                }
                if bodies.len() < count {
                    connection.turn().await.unwrap();
                }
            }
            bodies
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Says when a run has seen enough.
type Enough = fn(&Sample, &Counts) -> bool;

struct Heard {
    warnings: Vec<String>,
    enough: Enough,
    interrupt: watch::Sender<bool>,
}

impl Heard {
    fn until(enough: Enough) -> (Self, Interrupt) {
        let (interrupt, interrupted) = watch::channel(false);
        (Heard { warnings: Vec::new(), enough, interrupt }, interrupted)
    }
}

impl Observer for Heard {
    fn connected(&mut self, _broker: &Broker) {}
    fn started(&mut self) {}
    fn sample(&mut self, sample: &Sample, total: &Counts, _overall: Overall) {
        if (self.enough)(sample, total) {
            self.interrupt.send_replace(true);
        }
    }
    fn warn(&mut self, warning: &str) {
        // Without the time.
        self.warnings.push(warning.split_once(" s: ").map_or(warning, |(_, rest)| rest).to_owned());
    }
}

/// Runs a plan to its own end.
fn run_plan(node: &Node, plan: &Plan, management: Option<HttpUrl>) -> (Run, Heard) {
    run_until(node, plan, management, |_, _| false)
}

/// Runs a plan on two threads, and interrupts it.
fn run_until(node: &Node, plan: &Plan, management: Option<HttpUrl>, enough: Enough) -> (Run, Heard) {
    run_against(node.uri(), plan, management, enough)
}

fn run_against(uri: Uri, plan: &Plan, management: Option<HttpUrl>, enough: Enough) -> (Run, Heard) {
    let mut target = Target::new(vec![uri], ConnectOptions::default());
    target.recovery = Recovery::Never;
    target.is_spread = true;
    let mut settings = Settings {
        threads: 2,
        nice: None,
        unit: StampUnit::Monotonic,
        broker: None,
        management,
        https: None,
        watched: None,
    };
    let (mut heard, interrupt) = Heard::until(enough);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = runtime.block_on(run(plan, &Arc::new(target), &mut settings, None, &mut heard, interrupt)).unwrap();
    (run, heard)
}

fn users(count: u32, steps: Vec<Step>) -> Users {
    Users {
        name: "users".to_owned(),
        count,
        arrival_rate: 1_000.0,
        script: Script { steps },
        repeat: false,
        answer_timeout: LONG,
    }
}

fn plan(users: Users) -> Plan {
    Plan { name: "t".to_owned(), interval: Duration::from_millis(50), users: vec![users], ..Plan::default() }
}

fn text(text: &str) -> Template {
    Template(text.to_owned())
}

fn publish(key: &str, count: u32, confirm: bool) -> Step {
    Step::Publish {
        exchange: Template::default(),
        key: text(key),
        size: Sizes::Drawn(Distribution::Fixed(20.0)),
        properties: Properties::default(),
        count,
        confirm,
        throttle: None,
    }
}

fn declare(name: &str) -> Step {
    let arguments = Vec::new();
    Step::DeclareQueue { name: text(name), durable: false, exclusive: true, auto_delete: false, arguments }
}

fn consume(queue: &str) -> Step {
    Step::Consume { queue: text(queue), prefetch: 10, settle: Settle::AckEvery(1) }
}

fn until(count: u32, timeout: Duration) -> Step {
    Step::ConsumeUntil { count, timeout }
}

fn length(queue: &str, min: u32, max: u32) -> Step {
    Step::Expect(StepExpectation::QueueLength { queue: text(queue), min, max })
}

fn received(min: u64, max: u64) -> Step {
    Step::Expect(StepExpectation::Received { min, max })
}

fn get(url: &str) -> Step {
    Step::HttpGet { url: text(url), status: 200 }
}

const LONG: Duration = Duration::from_secs(30);

/// Answers so many requests: `/missing` is missing.
fn serve_http(count: usize) -> (HttpUrl, std::thread::JoinHandle<Vec<String>>) {
    let (tell_port, port) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell_port.send(listener.local_addr().unwrap().port()).unwrap();
            let mut paths = Vec::new();
            while paths.len() < count {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    stream.read_buf(&mut request).await.unwrap();
                }
                let path = String::from_utf8(request).unwrap().split(' ').nth(1).unwrap().to_owned();
                let status = if path == "/missing" { "404 Not Found" } else { "200 OK" };
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}");
                stream.write_all(answer.as_bytes()).await.unwrap();
                paths.push(path);
            }
            paths.sort();
            paths
        })
    });
    (HttpUrl::parse(&format!("http://127.0.0.1:{}", port.recv().unwrap())).unwrap(), thread)
}

#[test]
fn every_kind_of_step_does_what_it_says() {
    let node = Node::start();
    let (management, server) = serve_http(3);
    let throttle = Throttle { name: "t".to_owned(), rate: 1_000.0 };
    let exchange = text("x-{user}");
    let steps = vec![
        Step::Set { name: "greeting".to_owned(), value: text("hello {user}") },
        Step::Expect(StepExpectation::Variable { name: "greeting".to_owned(), value: text("hello {user}") }),
        Step::Throttle(throttle.clone()),
        Step::Connect,
        declare(""),
        Step::Set { name: "mine".to_owned(), value: text("{queue}") },
        declare("named-{user}"),
        Step::Expect(StepExpectation::Variable { name: "queue".to_owned(), value: text("named-{user}") }),
        Step::DeclareExchange { name: exchange.clone(), kind: "topic".to_owned(), durable: false },
        Step::Bind { queue: text("{mine}"), exchange: exchange.clone(), key: text("a.#") },
        // To the exchange, each after a turn; two of three are for the queue.
        Step::Publish {
            exchange: exchange.clone(),
            key: text("a.{user}"),
            size: Sizes::Drawn(Distribution::Uniform(10.0, 100_000.0)),
            properties: Properties {
                headers: vec![("h".to_owned(), crate::plan::Value::Int(1))],
                priority: Some(Distribution::Fixed(1.0)),
                ..Properties::default()
            },
            count: 2,
            confirm: true,
            throttle: Some(throttle),
        },
        Step::OpenChannel,
        publish("named-{user}", 3, false),
        publish("named-{user}", 1, true),
        length("{mine}", 2, 2),
        get("/api/users/{user}"),
        consume("{mine}"),
        until(2, LONG),
        Step::Consume { queue: text("named-{user}"), prefetch: 0, settle: Settle::AutoAck },
        until(4, LONG),
        received(6, 6),
        Step::Repeat {
            count: 3,
            steps: vec![publish("{mine}", 2, false), Step::Repeat { count: 2, steps: vec![until(1, LONG)] }],
        },
        Step::Repeat { count: 0, steps: vec![Step::Connect] },
        Step::Cancel,
        publish("{mine}", 1, true),
        received(12, 12),
        length("{mine}", 1, 1),
        Step::DeleteQueue { name: text("{mine}") },
        Step::Wait(Duration::from_millis(1)),
        Step::Think(Distribution::Uniform(0.0, 0.002)),
        Step::Disconnect,
        received(0, 0),
        Step::Connect,
    ];
    let (run, heard) = run_plan(&node, &plan(users(3, steps)), Some(management));
    assert_eq!(heard.warnings, [] as [&str; 0]);
    assert_eq!(run.interrupted, None);
    let counts = run.summary.counts;
    assert_eq!((counts.scripts_done, counts.scripts_failed, counts.requests_failed), (3, 0, 0));
    assert_eq!((counts.published, counts.consumed), (3 * 13, 3 * 12));
    // On a channel that confirms, all are confirmed: two on the first; four, six and one on the second at most.
    assert!((3 * 4..=3 * 13).contains(&counts.confirmed), "{}", counts.confirmed);
    assert_eq!((counts.nacked, counts.returned, counts.connections_lost), (0, 0, 0));
    assert_eq!(counts.connections_opened, 6);
    let latencies = &run.summary.latencies;
    assert_eq!(latencies.consumer.as_ref().unwrap().percentiles.count, 3 * 12);
    assert_eq!(latencies.confirm.as_ref().unwrap().percentiles.count, counts.confirmed);
    assert_eq!(latencies.lateness.as_ref().unwrap().percentiles.count, 3 * 2);
    assert_eq!(run.summary.probes["/api/users/{user}"].percentiles.count, 3);
    assert_eq!(server.join().unwrap(), ["/api/users/0", "/api/users/1", "/api/users/2"]);
    assert!(!run.summary.sequence.is_complete);
}

/// Runs a script that fails for both of two users. Returns the warning, of which there is one.
#[track_caller]
fn failure_of(steps: Vec<Step>) -> String {
    let node = Node::start();
    let (management, _server) = serve_http(2);
    let (run, heard) = run_plan(&node, &plan(users(2, steps)), Some(management));
    assert_eq!(run.interrupted, None);
    let counts = run.summary.counts;
    assert_eq!((counts.scripts_done, counts.scripts_failed), (0, 2));
    assert_eq!(heard.warnings.len(), 1, "{:?}", heard.warnings);
    // Whichever was first.
    let warning = heard.warnings[0].replace("user 1 of", "user 0 of");
    warning.strip_prefix("user 0 of \"users\", step ").unwrap_or(&warning).to_owned()
}

#[test]
fn step_that_fails_ends_its_script_and_says_why_once() {
    let set = |name: &str, value: &str| Step::Set { name: name.to_owned(), value: text(value) };
    let variable = Step::Expect(StepExpectation::Variable { name: "a".to_owned(), value: text("y") });
    let repeat = |steps| Step::Repeat { count: 1, steps };
    let missing = "the broker closed the channel: 404 NOT_FOUND - no queue 'missing' in vhost '/'";
    for (steps, expected) in [
        (vec![set("a", "x"), repeat(vec![variable])], "2.1 (expect_variable): expected \"y\", not \"x\"".to_owned()),
        (vec![set("a", "{nothing}")], "1 (set): unknown variable \"nothing\"".to_owned()),
        (vec![Step::Cancel], "1 (cancel): the user is not connected".to_owned()),
        (vec![Step::Connect, Step::Connect], "2 (connect): the user is connected already".to_owned()),
        (vec![Step::Connect, length("missing", 0, 1)], format!("2 (expect_queue_length): {missing}")),
        (
            vec![Step::Connect, declare("{uuid}"), length("{queue}", 1, 2)],
            "3 (expect_queue_length): expected 1 to 2 messages in queue".to_owned(),
        ),
        (
            vec![Step::Connect, declare("{uuid}"), consume("{queue}"), until(1, Duration::from_millis(20))],
            "4 (consume_until): 0 of 1 messages arrived within 0.02 s".to_owned(),
        ),
        (
            vec![Step::Connect, declare("{uuid}"), consume("{queue}"), Step::Cancel, until(1, LONG)],
            "5 (consume_until): 0 of 1 messages arrived, and the consumer no longer exists".to_owned(),
        ),
        (vec![received(1, 2)], "1 (expect_received): expected to have received 1 to 2 messages, not 0".to_owned()),
        (vec![get("/missing")], "1 (http_get): /missing answered 404, not 200".to_owned()),
    ] {
        let failure = failure_of(steps);
        // Names of queues are random.
        assert!(failure.starts_with(&expected), "{failure}, not {expected}");
    }
}

#[test]
fn throttled_messages_are_never_closer_than_the_rate_whoever_sends_them() {
    const USERS: u32 = 10;
    const EACH: u32 = 8;
    let node = Node::start();
    let throttle = Some(Throttle { name: "t".to_owned(), rate: 500.0 });
    let Step::Publish { exchange, key, size, properties, confirm, .. } = publish("q", EACH, true) else { panic!() };
    let steps = vec![Step::Connect, Step::Publish { exchange, key, size, properties, count: EACH, confirm, throttle }];
    let plan = Plan { queues: vec![queue("q", false)], ..plan(users(USERS, steps)) };
    let (run, heard) = run_plan(&node, &plan, None);
    assert_eq!(heard.warnings, [] as [&str; 0]);
    assert_eq!(run.summary.counts.published, u64::from(USERS * EACH));
    let bodies = node.bodies("q", (USERS * EACH) as usize);
    let mut sent: Vec<u64> = bodies.iter().map(|body| stamp(body).unwrap().1).collect();
    sent.sort_unstable();
    let shortest = sent.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(shortest >= 2_000_000, "{shortest} ns");
}

fn queue(name: &str, is_temporary: bool) -> Queues {
    Queues { names: vec![name.to_owned()], durable: true, is_temporary, ..Queues::default() }
}

#[test]
fn script_that_the_end_of_the_run_cuts_off_is_neither_done_nor_failed() {
    let node = Node::start();
    let steps = vec![Step::Connect, Step::Wait(LONG), Step::Disconnect];
    let all_are_connected = |sample: &Sample, _: &Counts| (sample.users, sample.connections) == (20, 20);
    let (run, heard) = run_until(&node, &plan(users(20, steps)), None, all_are_connected);
    assert_eq!(heard.warnings, [] as [&str; 0]);
    let counts = run.summary.counts;
    assert_eq!((counts.scripts_done, counts.scripts_failed, counts.connections_lost), (0, 0, 0));
    assert!(run.interrupted.unwrap().starts_with("interrupted after"));
}

#[test]
fn users_who_repeat_begin_again_until_the_end() {
    let node = Node::start();
    // One does not even wait for anything, and lets the other work all the same.
    let restless = users(1, vec![Step::Set { name: "a".to_owned(), value: text("x") }]);
    let steps = vec![Step::Connect, publish("q", 1, true), consume("q"), until(1, LONG)];
    let patient = Users { name: "patient".to_owned(), ..users(1, steps) };
    let plan = Plan {
        queues: vec![queue("q", true)],
        users: vec![Users { repeat: true, ..restless }, Users { repeat: true, ..patient }],
        ..plan(users(0, Vec::new()))
    };
    let both_go_on = |_: &Sample, total: &Counts| total.consumed >= 3 && total.scripts_done > 2 * total.consumed;
    let (run, heard) = run_until(&node, &plan, None, both_go_on);
    assert_eq!(heard.warnings, [] as [&str; 0]);
    let counts = run.summary.counts;
    assert!(counts.published >= 3, "{counts:?}");
    assert_eq!(counts.scripts_failed, 0);
}

#[test]
fn consumers_measure_what_users_publish_from_when_it_was_due() {
    let node = Node::start();
    let throttle = Some(Throttle { name: "t".to_owned(), rate: 100.0 });
    let Step::Publish { exchange, key, size, properties, confirm, .. } = publish("q", 1, false) else { panic!() };
    let steps = vec![
        Step::Connect,
        Step::Publish { exchange, key, size, properties, count: 1, confirm, throttle },
        Step::Wait(Duration::from_millis(100)),
    ];
    let consumers = Consumers {
        name: "consumers".to_owned(),
        connections: 1,
        channels: 1,
        queues: ConsumedQueues::All(vec!["q".to_owned()]),
        prefetch: 0,
        channel_prefetch: 0,
        settle: Settle::AutoAck,
        tx_size: 0,
        rate: None,
        processing: Processing::None,
        message_limit: Some(5),
        polling: None,
        arguments: Vec::new(),
        exclusive: false,
        start_delay: Duration::ZERO,
        start_gap: Duration::ZERO,
        pauses: Vec::new(),
    };
    let plan = Plan { queues: vec![queue("q", true)], consumers: vec![consumers], ..plan(users(5, steps)) };
    let (run, _) = run_plan(&node, &plan, None);
    let latencies = run.summary.latencies;
    let (due, sent) = (latencies.consumer.unwrap().percentiles, latencies.consumer_sent.unwrap().percentiles);
    assert_eq!((due.count, sent.count), (5, 5));
    assert!(due.mean_ns > sent.mean_ns, "{due:?} {sent:?}");
}

#[test]
fn script_that_nobody_can_run_is_refused_before_it_starts() {
    let node = Node::start();
    let target = Arc::new(Target::new(vec![node.uri()], ConnectOptions::default()));
    let mut settings = Settings {
        threads: 1,
        nice: None,
        unit: StampUnit::Monotonic,
        broker: None,
        management: None,
        https: None,
        watched: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut heard, interrupt) = Heard::until(|_, _| false);
    let plan = plan(users(1, vec![get("/api/overview")]));
    let result = runtime.block_on(run(&plan, &target, &mut settings, None, &mut heard, interrupt));
    let expected = "the script of users \"users\": \"/api/overview\" is a path below the management URL, which is \
                    not set: --management-url";
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn each_example_of_the_documentation_can_be_run() {
    const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/perf-users.md"));
    let examples: Vec<&str> = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        let workload = workload::read(example, "example.toml", &Overrides::default());
        let workload = workload.unwrap_or_else(|error| panic!("{error}\n{example}"));
        let scripts = || workload.runs.iter().flat_map(|run| &run.plan.users).map(|users| &users.script);
        let throttles = Throttles::of(scripts());
        assert!(scripts().count() > 0);
        for script in scripts() {
            Program::new(script, &throttles, None).unwrap();
        }
    }
}

/// A way to a broker that carries nothing more once the broker was to hear `word`. It ends with the returned sender.
fn freezing_after(node: &Node, word: &'static [u8]) -> (Uri, oneshot::Sender<()>) {
    let (tell_port, port) = std::sync::mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let broker = node.port;
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell_port.send(listener.local_addr().unwrap().port()).unwrap();
            let accepting = async {
                loop {
                    let (user, _) = listener.accept().await.unwrap();
                    let broker = tokio::net::TcpStream::connect(("127.0.0.1", broker)).await.unwrap();
                    tokio::spawn(carry(user, broker, word));
                }
            };
            tokio::select! {
                () = accepting => {}
                _ = stopped => {}
            }
        });
    });
    (Uri { host: "127.0.0.1".to_owned(), port: port.recv().unwrap(), ..Uri::default() }, stop)
}

async fn carry(mut user: tokio::net::TcpStream, mut broker: tokio::net::TcpStream, word: &[u8]) {
    let (mut from_user, mut from_broker) = (Vec::new(), Vec::new());
    while !from_user.windows(word.len()).any(|part| part == word) {
        from_user.clear();
        from_broker.clear();
        tokio::select! {
            read = user.read_buf(&mut from_user) => if read.unwrap_or(0) == 0 { return },
            read = broker.read_buf(&mut from_broker) => if read.unwrap_or(0) == 0 { return },
        }
        let _ = broker.write_all(&from_user).await;
        let _ = user.write_all(&from_broker).await;
    }
    // Until the user has had enough.
    while user.read_buf(&mut from_user).await.unwrap_or(0) > 0 {}
}

#[test]
fn a_broker_that_does_not_answer_is_waited_for_only_so_long() {
    let node = Node::start();
    let patient = |steps| Users { answer_timeout: Duration::from_secs(2), ..users(1, steps) };
    for (word, steps, step) in [
        (&b"never-declared"[..], vec![Step::Connect, declare("never-declared")], "2 (declare_queue)"),
        (b"never-confirmed", vec![Step::Connect, publish("never-confirmed", 3, true)], "2 (publish)"),
    ] {
        let (uri, _stop) = freezing_after(&node, word);
        let (run, heard) = run_against(uri, &plan(patient(steps)), None, |_, _| false);
        assert_eq!((run.summary.counts.scripts_done, run.summary.counts.scripts_failed), (0, 1));
        let expected = format!("user 0 of \"users\", step {step}: the broker has not answered within 2 s");
        assert_eq!(heard.warnings, [expected]);
    }
}
