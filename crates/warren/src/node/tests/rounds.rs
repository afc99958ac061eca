//! One process, one data directory, and a broker that is started and stopped many times while clients come, publish and come back.

use std::collections::HashSet;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::task::JoinSet;

use super::*;
use crate::node::BrokerStop;

const ROUNDS: usize = 50;
/// Clients that publish in each round.
const PUBLISHERS: u64 = 3;
/// Set in the process that runs such a test alone.
const ALONE: &str = "WARREN_TEST_ALONE";

/// What counts threads and files needs a process for itself: runs this test in one. False: this is that process.
fn runs_elsewhere(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let name = format!("node::tests::rounds::{test}");
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).args(["--exact", &name, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    true
}

/// Threads and open files of this process.
fn counts() -> (usize, usize) {
    let count = |dir| fs::read_dir(dir).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// The same when they change no more: sockets and threads that were asked to end take a moment.
async fn settled_counts() -> (usize, usize) {
    let mut before = counts();
    soon(async {
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = counts();
            if now == before {
                return now;
            }
            before = now;
        }
    })
    .await
}

/// What all clients share.
#[derive(Default)]
struct Ledger {
    next: AtomicU64,
    confirmed: Mutex<HashSet<u64>>,
}

impl Ledger {
    fn confirmed_count(&self) -> usize {
        self.confirmed.lock().unwrap().len()
    }
}

/// Publishes until the broker closes the connection: what it says.
async fn publish_until_closed(address: SocketAddr, ledger: Arc<Ledger>) -> String {
    let mut client = publisher(address).await;
    loop {
        let number = ledger.next.fetch_add(1, Ordering::Relaxed);
        match publish(&mut client, &number.to_be_bytes()).await {
            Ok(()) => assert!(ledger.confirmed.lock().unwrap().insert(number)),
            Err(closed) => return closed.to_string(),
        }
    }
}

/// Connects all the time, until it is stopped: a listener that refuses would be seen. Says how often it did.
async fn knock(addresses: [SocketAddr; 2], is_over: Arc<AtomicBool>) -> u64 {
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        for address in addresses {
            TcpStream::connect(address).await.expect("the listener accepts");
            count += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    count
}

/// How brokers are stopped, in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    HandedOver,
    Stopped,
    LeadershipLost,
}

async fn round(house: &mut TestNode, ledger: &Arc<Ledger>, number: usize) {
    let ending = [Ending::HandedOver, Ending::Stopped, Ending::LeadershipLost][number % 3];
    let (amqp, api) = (house.amqp(), house.api());
    // They are there before their broker.
    let mut publishers = JoinSet::new();
    for _ in 0..PUBLISHERS {
        publishers.spawn(publish_until_closed(amqp, ledger.clone()));
    }
    let mut websocket = tokio::spawn(websocket(api));
    let before = ledger.confirmed_count();
    let store = house.start().await;
    let mut websocket = soon(&mut websocket).await.unwrap();
    websocket.write_all(&websocket_message(&amqp::frame::PROTOCOL_HEADER)).await.unwrap();
    read_until(&mut websocket, "en_US").await;
    let (mut idle, mut live) = (TcpStream::connect(api).await.unwrap(), TcpStream::connect(api).await.unwrap());
    ask(&mut idle, "/api/overview", "").await;
    read_until(&mut idle, "\"rabbitmq_version\"").await;
    ask(&mut live, "/api/live?events=rates,changes&interval=1", "").await;
    read_until(&mut live, "event: rates").await;
    until(|| ledger.confirmed_count() >= before + 30).await;

    let reason = format!("round {number} is over");
    if ending == Ending::LeadershipLost {
        store.upgrade().unwrap().lose_leadership("so the test has it");
        soon(house.node.failed()).await;
    }
    let is_handover = ending == Ending::HandedOver;
    if is_handover {
        assert!(soon(house.node.pause_broker()).await, "all is durable");
    }
    let stop = BrokerStop::of_leadership(&reason, is_handover);
    soon(house.node.stop_broker(stop, Situation::Waiting)).await.unwrap();
    assert_eq!(store.strong_count(), 0, "round {number}: the store is kept");
    let expected = format!("the broker closed the connection: 320 CONNECTION_FORCED - {reason}");
    let told = soon(publishers.join_all()).await;
    assert_eq!(told, vec![expected; usize::try_from(PUBLISHERS).unwrap()], "round {number}, {ending:?}");
    for stream in [&mut idle, &mut live, &mut websocket] {
        expect_end(stream).await;
    }
}

/// Takes all that is in the queue.
async fn drain(address: SocketAddr) -> HashSet<u64> {
    let mut client = publisher(address).await;
    let declare = queue::Declare { queue: b"q", passive: true, ..Default::default() };
    let count = client.declare_queue(1, &declare).await.unwrap().1;
    client.consume(1, &amqp::basic::Consume { queue: b"q", no_ack: true, ..Default::default() }).await.unwrap();
    let mut drained = HashSet::new();
    for _ in 0..count {
        let body = soon(async {
            loop {
                if let Some(Event::Delivered { content, .. }) = client.next_event().unwrap() {
                    return content.body.to_vec();
                }
                client.turn().await.unwrap();
            }
        });
        drained.insert(u64::from_be_bytes(body.await.try_into().unwrap()));
    }
    drained
}

#[test]
fn a_broker_starts_and_stops_many_times_and_leaves_nothing() {
    if runs_elsewhere("a_broker_starts_and_stops_many_times_and_leaves_nothing") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let statistics = std::env::temp_dir().join(format!("warren-node-{}-statistics", std::process::id()));
        let mut house = TestNode::open("rounds", &[&format!("warren.influxdb.file={}", statistics.display())]);
        let ledger = Arc::<Ledger>::default();
        let is_over = Arc::<AtomicBool>::default();
        let (mut before, mut resident_len) = ((0, 0), 0);
        let addresses = [house.amqp(), house.api()];
        for number in 1..=ROUNDS {
            // Sockets of clients that connect while no broker runs are held for a while: not where files are counted.
            let knocking = (3..ROUNDS).contains(&number).then(|| tokio::spawn(knock(addresses, is_over.clone())));
            round(&mut house, &ledger, number).await;
            if let Some(knocking) = knocking {
                is_over.store(true, Ordering::Relaxed);
                assert!(soon(knocking).await.unwrap() > 0);
                is_over.store(false, Ordering::Relaxed);
            }
            match number {
                2 => before = settled_counts().await,
                10 => resident_len = broker::machine::resident_len().unwrap(),
                _ => {}
            }
        }
        let after = settled_counts().await;
        assert!(after.0 <= before.0 && after.1 <= before.1, "{before:?} became {after:?}");
        let grown = broker::machine::resident_len().unwrap().saturating_sub(resident_len);
        println!("{before:?}, {after:?}, {} confirmed, {resident_len} + {grown} bytes", ledger.confirmed_count());
        assert!(grown < 16 << 20, "{resident_len} grew by {grown}");
        house.start().await;
        let drained = drain(house.amqp()).await;
        let lost: Vec<u64> = ledger.confirmed.lock().unwrap().difference(&drained).copied().collect();
        assert!(lost.is_empty(), "confirmed and lost: {lost:?}");
        fs::remove_file(statistics).unwrap();
        house.close().await;
    });
}
