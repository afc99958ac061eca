//! How long messages take: shown, and not held to a figure, which machines and neighbours decide.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use cluster::wire::{EntryBytes, FileRequest, Identity, NodeName, Payload};
use cluster::{CallAnswer, FileAnswer, ForwardedClient, LinkHandler, Links, PeerEvent, Setup};
use consensus::{Body, GroupId, Index, Message};
use parking_lot::Mutex;

use super::node::{append, heartbeat, place};
use crate::nodes::{identity, local, name};

const GROUP: GroupId = GroupId(3);

/// Answers a heartbeat with the next lower one, and entries with the last, which it reports.
struct Echo {
    links: OnceLock<Weak<Links>>,
    other: NodeName,
    done: Mutex<Sender<()>>,
}

impl LinkHandler for Echo {
    fn message(&self, _: &Identity, group: GroupId, message: Message, _: Vec<EntryBytes>) {
        let left = match message.body {
            Body::Heartbeat { committed: Index(0) } => {
                let _ = self.done.lock().send(());
                return;
            }
            Body::Heartbeat { committed } => committed.0 - 1,
            _ => 0,
        };
        let body = Body::Heartbeat { committed: Index(left) };
        let answer = Message { from: message.to, to: message.from, term: message.term, body };
        let links = self.links.get().and_then(Weak::upgrade).unwrap();
        links.send(&self.other, group, &answer, &[]).unwrap();
    }

    fn peer_changed(&self, _: &NodeName, _: PeerEvent) {}
    fn file_wanted(&self, _: &Identity, _: FileRequest, _: FileAnswer) {}
    fn called(&self, _: &Identity, _: &str, _: &[u8], _: CallAnswer) {}
    fn forwarded(&self, _: &Identity, _: ForwardedClient) {}
}

/// Two nodes that echo, linked, and what they report.
fn echoes() -> ([Arc<Links>; 2], Receiver<()>) {
    let (done, heard) = channel();
    let [a, b] = [('a', 'b'), ('b', 'a')].map(|(letter, other)| {
        let echo =
            Arc::new(Echo { links: OnceLock::new(), other: identity(other).name, done: Mutex::new(done.clone()) });
        let listen = "127.0.0.1:0".parse().unwrap();
        let setup = Setup { listen, local: local(letter), tls: None, peers: Vec::new() };
        let handler: Arc<Echo> = Arc::clone(&echo);
        let links = Arc::new(Links::start(setup, handler).unwrap());
        echo.links.set(Arc::downgrade(&links)).unwrap();
        links
    });
    a.set_peers(vec![place('b', b.address().port())]);
    b.set_peers(vec![place('a', a.address().port())]);
    while !a.statistics()[0].lanes[1].is_connected || !b.statistics()[0].lanes[0].is_connected {
        std::thread::yield_now();
    }
    ([a, b], heard)
}

#[test]
#[ignore = "shows how long messages take"]
fn print_times() {
    let ([a, _b], heard) = echoes();
    let to = name("rabbit@b");
    let begun = Instant::now();
    a.send(&to, GROUP, &heartbeat('a', 'b', 20_000), &[]).unwrap();
    heard.recv().unwrap();
    println!("a message from handler to handler: {:?}", begun.elapsed() / 20_001);

    let payload: Arc<dyn Payload> = Arc::new(vec![1; 4096]);
    let mut index = 0;
    let mut send = |payload: &Arc<dyn Payload>| {
        index += 1;
        let (message, entries) = append('a', 'b', index, Arc::clone(payload));
        a.send(&to, GROUP, &message, &entries).unwrap();
    };
    let mut times: Vec<_> = (0..5_000)
        .map(|_| {
            let begun = Instant::now();
            send(&payload);
            heard.recv().unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!("an entry of 4 KiB there and an answer back: p50 {:?}, p99 {:?}", times[2_500], times[4_950]);

    let payload: Arc<dyn Payload> = Arc::new(vec![1; 256 << 10]);
    let begun = Instant::now();
    (0..32).for_each(|_| send(&payload));
    for number in 32..4_032 {
        heard.recv().unwrap();
        if number < 4_000 {
            send(&payload);
        }
    }
    println!("1 GB in entries of 256 KiB: {:?}", begun.elapsed());
}
