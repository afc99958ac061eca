//! Statistics for InfluxDB, from the broker as a process: to receivers of all kinds, and to a file.

use std::fs;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::harness::{Broker, RecordedRequest, Scratch, check_fails, read_request, scratch, text, warren};

/// What a receiver does with a request.
#[derive(Debug, Clone, Copy)]
enum Reaction {
    /// Answers with this status and body.
    Answer(u16, &'static str),
    /// Says nothing, and keeps the connection.
    Hang,
}

const FINE: Reaction = Reaction::Answer(204, "");

/// A server that lines are posted to.
struct Receiver {
    address: String,
    asked: mpsc::Receiver<RecordedRequest>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// `react` gets the request's number, from 1.
    fn start(react: fn(u32) -> Reaction) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (requests, asked) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            let (mut hung, mut number) = (Vec::new(), 0);
            while let Ok((stream, _)) = listener.accept()
                && !over.load(Ordering::SeqCst)
            {
                let mut stream = BufReader::new(stream);
                while let Some(request) = read_request(&mut stream) {
                    number += 1;
                    // An error means that the test has seen enough.
                    let _ = requests.send(request);
                    match react(number) {
                        Reaction::Answer(status, body) => {
                            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                            let answer = if status == 204 { "HTTP/1.1 204 X\r\n\r\n".to_owned() } else { answer };
                            stream.get_mut().write_all(answer.as_bytes()).unwrap();
                        }
                        Reaction::Hang => {
                            hung.push(stream);
                            break;
                        }
                    }
                }
            }
        });
        Receiver { address, asked, is_over, thread: Some(thread) }
    }

    fn next(&self) -> RecordedRequest {
        self.asked.recv_timeout(Duration::from_secs(60)).expect("another request")
    }

    /// The first line that begins like this, in whichever request it comes.
    fn line(&self, start: &str) -> String {
        loop {
            if let Some(line) = self.next().body.lines().find(|line| line.starts_with(start)) {
                return line.to_owned();
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // It waits for a connection, or for the end of one of a broker that has ended.
        let _ = TcpStream::connect(&self.address);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the receiver panicked");
    }
}

/// A broker whose settings begin with `warren.influxdb.`.
fn start(dir: &Path, settings: &[&str]) -> Broker {
    let settings: Vec<String> = settings.iter().map(|setting| format!("warren.influxdb.{setting}")).collect();
    let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    Broker::start(&dir.join("data"), &arguments)
}

fn ctl(dir: &Path, words: &[&str]) {
    let data_dir = dir.join("data");
    let output = warren(&[&["ctl", "-q", "--data-dir", data_dir.to_str().unwrap()], words].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn declare(dir: &Path, queue: &str) {
    ctl(dir, &["declare", "queue", &format!("name={queue}")]);
}

/// A broker that posts to a receiver, every 100 ms.
fn posting(test: &str, receiver: &Receiver, more: &[&str]) -> (Broker, Scratch) {
    let dir = scratch(test);
    let url = format!("url=http://{}", receiver.address);
    let mut settings = vec![&*url, "bucket=b", "interval=100"];
    settings.extend(more);
    (start(&dir, &settings), dir)
}

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let fields = line.split(' ').nth(1).unwrap().split(',');
    fields.into_iter().find_map(|field| field.strip_prefix(&format!("{name}="))).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn statistics_arrive_at_version_2() {
    let receiver = Receiver::start(|_| FINE);
    let settings = ["org=my org", "token=t0ken", "tags.dc=fra", "precision=ms"];
    let (broker, dir) = posting("influxdb-2", &receiver, &settings);
    let first = receiver.next();
    assert_eq!(first.line, "POST /api/v2/write?precision=ms&org=my%20org&bucket=b HTTP/1.1");
    assert!(first.headers.contains("authorization: Token t0ken\r\n"), "{}", first.headers);
    assert!(first.headers.contains("content-type: text/plain; charset=utf-8\r\n"), "{}", first.headers);
    assert!(first.body.starts_with("warren_node,node=") && first.body.contains(",dc=fra uptime_ms="), "{}", first.body);
    assert!(first.body.lines().any(|line| line.starts_with("warren_vhost,") && line.contains(",vhost=/ queues=0i,")));
    declare(&dir, "orders");
    ctl(&dir, &["publish", "routing_key=orders", "payload=five5"]);
    let queue = loop {
        let line = receiver.line("warren_queue,");
        if field(&line, "publish") != "0i" {
            break line;
        }
    };
    assert!(queue.contains(",dc=fra,vhost=/,queue=orders,type=classic "), "{queue}");
    assert_eq!([field(&queue, "messages_ready"), field(&queue, "message_bytes")], ["1i", "5i"]);
    let at_ms: u64 = queue.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((1_700_000_000_000..10_000_000_000_000).contains(&at_ms), "{at_ms}");
    let log = broker.stop();
    assert!(!log.contains("InfluxDB"), "{log}");
}

#[test]
fn statistics_arrive_at_version_1_until_the_broker_has_stopped() {
    let receiver = Receiver::start(|_| FINE);
    let dir = scratch("influxdb-1");
    let url = format!("url=http://{}/base", receiver.address);
    let settings = [&*url, "database=d", "user=me", "password=s3cret", "interval=1h", "objects.1=queues", "queue=^o"];
    let broker = start(&dir, &settings);
    declare(&dir, "orders");
    declare(&dir, "other");
    declare(&dir, "third");
    broker.stop();
    // The round of the start had no queues, or some.
    let last = std::iter::from_fn(|| receiver.asked.try_recv().ok()).last().unwrap();
    assert_eq!(last.line, "POST /base/write?precision=n&db=d HTTP/1.1");
    assert!(last.headers.contains("authorization: Basic bWU6czNjcmV0\r\n"), "{}", last.headers);
    let queues: Vec<&str> = last.body.lines().map(|line| line.split("queue=").nth(1).unwrap()).collect();
    assert_eq!(queues.len(), 2, "{queues:?}");
    assert!(queues[0].starts_with("orders,") && queues[1].starts_with("other,"), "{queues:?}");
}

#[test]
fn a_receiver_that_hangs_holds_up_nothing() {
    let receiver = Receiver::start(|_| Reaction::Hang);
    let (mut broker, dir) = posting("influxdb-hang", &receiver, &["timeout=200"]);
    broker.wait_for_event("sending statistics to InfluxDB failed");
    assert!(broker.log.contains("no answer within 0.2 s"), "{}", broker.log);
    receiver.next();
    receiver.next();
    declare(&dir, "orders");
    ctl(&dir, &["publish", "routing_key=orders", "payload=x"]);
    let log = broker.stop();
    assert_eq!(log.matches("sending statistics to InfluxDB failed").count(), 1, "{log}");
    assert!(log.contains("sending the last statistics to InfluxDB failed"), "{log}");
}

#[test]
fn what_a_receiver_could_not_take_is_posted_again() {
    let receiver = Receiver::start(|number| if number <= 2 { Reaction::Answer(500, "busy") } else { FINE });
    let (mut broker, _dir) = posting("influxdb-500", &receiver, &[]);
    let [first, second, third] = [receiver.next(), receiver.next(), receiver.next()];
    assert_eq!((&first.body, &first.body), (&second.body, &third.body));
    broker.wait_for_event("sending statistics to InfluxDB failed");
    assert!(broker.log.contains("it answered 500 Internal Server Error: busy"), "{}", broker.log);
    broker.wait_for_event("InfluxDB accepted statistics again");
    let fourth = receiver.next();
    let times = fourth.body.lines().filter(|line| line.starts_with("warren_node,")).count();
    assert!(times > 1, "rounds that were made meanwhile are posted together: {}", fourth.body);
    let log = broker.stop();
    assert_eq!(log.matches("InfluxDB").count(), 2, "{log}");
    assert!(log.contains("lost_lines=0"), "{log}");
}

#[test]
fn what_a_receiver_refuses_is_not_posted_again() {
    let receiver =
        Receiver::start(|_| Reaction::Answer(401, r#"{"code":"unauthorized","message":"unauthorized access"}"#));
    let (mut broker, _dir) = posting("influxdb-401", &receiver, &["token=wr0ng"]);
    let bodies = [(); 4].map(|()| receiver.next().body);
    for (at, body) in bodies.iter().enumerate() {
        assert!(!bodies[at + 1..].contains(body), "{bodies:?}");
    }
    broker.wait_for_event("statistics refused by InfluxDB");
    let log = broker.stop();
    assert!(log.contains("it answered 401 Unauthorized: unauthorized access"), "{log}");
    assert_eq!(log.matches("InfluxDB").count(), 1, "{log}");
    assert!(!log.contains("wr0ng"), "{log}");
}

#[test]
fn a_receiver_that_is_not_there_is_no_reason_not_to_start() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("url=http://{}", listener.local_addr().unwrap());
    drop(listener);
    let dir = scratch("influxdb-unreachable");
    let mut broker = start(&dir, &[&url, "bucket=b", "interval=1h"]);
    broker.wait_for_event("sending statistics to InfluxDB failed");
    broker.stop();
}

#[test]
fn a_file_that_cannot_be_written_is_told_once() {
    let dir = scratch("influxdb-full");
    let mut broker = start(&dir, &["file=/dev/full", "interval=100"]);
    broker.wait_for_event("writing statistics for InfluxDB failed");
    assert!(broker.log.contains("file=\"/dev/full\"") || broker.log.contains("file=/dev/full"), "{}", broker.log);
    assert!(broker.log.contains("No space left on device"), "{}", broker.log);
    declare(&dir, "orders");
    let log = broker.stop();
    assert_eq!(log.matches("writing statistics for InfluxDB failed").count(), 1, "{log}");
}

#[test]
fn a_file_is_written_as_soon_as_it_can_be() {
    let dir = scratch("influxdb-missing");
    let file = dir.join("below/lines");
    let mut broker = start(&dir, &[&format!("file={}", file.display()), "interval=100"]);
    broker.wait_for_event("writing statistics for InfluxDB failed");
    fs::create_dir(dir.join("below")).unwrap();
    broker.wait_for_event("statistics for InfluxDB are written again");
    broker.stop();
    assert!(fs::read_to_string(file).unwrap().starts_with("warren_node,"));
}

#[test]
fn a_file_that_is_put_aside_is_begun_anew() {
    let dir = scratch("influxdb-rotated");
    let (file, aside) = (dir.join("lines"), dir.join("lines.1"));
    let broker = start(&dir, &[&format!("file={}", file.display()), "interval=1h"]);
    // The round of the start is on its way: nothing else shows when it is written.
    while fs::metadata(&file).map_or(0, |metadata| metadata.len()) == 0 {
        std::thread::yield_now();
    }
    fs::rename(&file, &aside).unwrap();
    declare(&dir, "orders");
    broker.stop();
    let [first, last] = [aside, file.clone()].map(|path| fs::read_to_string(path).unwrap());
    for lines in [&first, &last] {
        assert!(lines.starts_with("warren_node,") && lines.ends_with('\n'), "{lines}");
        assert_eq!(lines.matches("warren_node,").count(), 1, "{lines}");
    }
    assert!(!first.contains("queue=orders") && last.contains("queue=orders"), "{last}");
    assert_eq!(fs::metadata(file).unwrap().mode() & 0o007, 0, "it is not everybody's to read");
}

#[test]
fn what_is_no_server_stops_the_start() {
    let dir = scratch("influxdb-wrong");
    let check = |settings: &[&str], says: &str| {
        let mut all = vec!["serve", "--data-dir", dir.to_str().unwrap(), "--set", "listeners.tcp.default=127.0.0.1:0"];
        let others = ["warren.management.enabled=false", "warren.prometheus.enabled=false"];
        all.extend(others.iter().chain(settings).flat_map(|setting| ["--set", setting]));
        check_fails(&all, 1, says);
    };
    let bucket = "warren.influxdb.bucket=b";
    check(&["warren.influxdb.url=ftp://h", bucket], "warren.influxdb.url: 'ftp://h' is not an http:// or https:// URL");
    check(&[bucket], "'warren.influxdb.bucket' needs 'warren.influxdb.url'");
}
