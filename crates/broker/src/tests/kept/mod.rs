//! A data directory that an earlier version wrote is opened, and all of it is there.
//!
//! `kept/format-N` has one for each format that was released. When the format changes, `KEEP_DATA_DIR=1` writes the new one; those of older
//! formats stay as they are, for as long as they can be opened.

use std::fs;
use std::path::{Path, PathBuf};

use amqp::method::{exchange, queue};
use store::file::{Disk, SimDisk, read_exact_at, write_all_at};

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::node::Node;

const DIRS: [&str; 4] = ["", "journal", "checkpoints", "segments"];

fn kept(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/tests/kept/format-{format}"))
}

fn body_of(number: u8) -> Vec<u8> {
    vec![number; if number.is_multiple_of(7) { 6000 } else { 10 + usize::from(number) }]
}

/// Some of everything: queues, exchanges and bindings, messages in segments and in the journal, in one queue and in two, settled ones and
/// handed out ones.
fn fill(node: &Node) {
    let mut client = node.connect();
    for name in ["q", "rested", "gone"] {
        client.declare(name);
    }
    let declare = exchange::Declare { exchange: b"fan", kind: b"fanout", durable: true, ..Default::default() };
    client.send(1, &declare);
    for queue in [b"q".as_slice(), b"rested"] {
        client.send(1, &queue::Bind { queue, exchange: b"fan", ..Default::default() });
    }
    client.hear();
    for number in 0..20 {
        client.publish(1, "fan", "", PERSISTENT, &body_of(number));
        if number == 9 {
            node.spill();
        }
    }
    client.publish(1, "", "q", TRANSIENT, b"gone");
    client.publish(1, "", "gone", PERSISTENT, b"gone");
    client.send(1, &queue::Delete { queue: b"gone", ..Default::default() });
    settle_down(node, &mut client);
    for queue in ["q", "rested"].repeat(5) {
        client.get(1, queue, false);
        settle_down(node, &mut client);
    }
    // The first two of `q`, and the first of `rested`: the others are handed out and not settled.
    for tag in [1, 2, 3] {
        client.ack(1, tag, false);
    }
    node.sync();
    client.hear();
    node.broker.engine.close_watermarks(false);
    node.broker.engine.close_watermarks(false);
    node.sync();
    client.get(1, "q", false);
    node.sync();
}

/// Lets reads and syncs happen until nothing more can come of them, and gives what was heard meanwhile.
fn settle_down(node: &Node, client: &mut Client) -> Vec<Heard> {
    let mut heard = Vec::new();
    for _ in 0..4 {
        node.load();
        heard.append(&mut client.hear());
        node.sync();
    }
    heard
}

/// Takes what is in a queue: the first bytes, and whether they are marked.
fn take_all(node: &Node, client: &mut Client, queue: &str) -> Vec<(u8, bool)> {
    let mut all = Vec::new();
    loop {
        client.get(1, queue, false);
        match settle_down(node, client).as_slice() {
            [Heard::Message { redelivered, body, .. }] => {
                assert!(*body == body_of(body[0]), "message {}", body[0]);
                all.push((body[0], *redelivered));
            }
            [Heard::Other("basic.get-empty")] => return all,
            other => panic!("{other:?}"),
        }
    }
}

fn check(node: &Node) {
    let mut client = node.connect();
    assert!(node.broker.queue_counts("/", "gone").is_none());
    // `q` was being delivered from, so any message may have been; `rested` was not, and of it five had been.
    let q: Vec<_> = (2..20).map(|number| (number, true)).collect();
    assert_eq!(take_all(node, &mut client, "q"), q);
    let rested: Vec<_> = (1..20).map(|number| (number, number < 5)).collect();
    assert_eq!(take_all(node, &mut client, "rested"), rested);
    client.publish(1, "fan", "", PERSISTENT, &body_of(100));
    node.sync();
    assert_eq!(take_all(node, &mut client, "rested"), [(100, false)]);
}

fn disk_of(dir: &Path) -> SimDisk {
    let disk = SimDisk::new(1);
    for part in DIRS {
        let to = Path::new("/data").join(part);
        disk.create_dir(&to).unwrap();
        for entry in fs::read_dir(dir.join(part)).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            let file = disk.create(&to.join(entry.file_name())).unwrap();
            write_all_at(&*file, &fs::read(entry.path()).unwrap(), 0).unwrap();
            file.fdatasync().unwrap();
        }
        disk.sync_dir(&to).unwrap();
    }
    disk
}

fn keep(disk: &SimDisk, dir: &Path) {
    for part in DIRS {
        fs::create_dir_all(dir.join(part)).unwrap();
        for name in disk.list(&Path::new("/data").join(part)).unwrap().iter().filter(|name| *name != "lock") {
            let Ok(file) = disk.open(&Path::new("/data").join(part).join(name)) else { continue };
            let mut bytes = vec![0; file.len().unwrap() as usize];
            read_exact_at(&*file, &mut bytes, 0).unwrap();
            fs::write(dir.join(part).join(name), bytes).unwrap();
        }
    }
}

#[test]
fn format_1_is_read() {
    check(&Node::on(disk_of(&kept(1))));
}

#[test]
fn what_is_written_now_is_read() {
    let node = Node::new();
    fill(&node);
    node.disk.kill_process();
    if std::env::var_os("KEEP_DATA_DIR").is_some() {
        keep(&node.disk, &kept(1));
    }
    check(&Node::on(node.disk));
}
