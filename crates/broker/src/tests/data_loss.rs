//! Messages that are not where they were written: they are lost, in clear words, and their queue continues.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use amqp::method::queue;
use model::ids::{QueueId, QueueSeq};
use store::file::Disk;
use store::{Kind, RecordBatch};

use super::client::{Client, Heard, PERSISTENT};
use super::node::{Node, open};
use crate::identity::Actor;
use crate::recovery::{LeftOut, leave_out};

fn segments(node: &Node) -> Vec<PathBuf> {
    let dir = Path::new("/data/segments");
    node.disk.list(dir).unwrap().into_iter().map(|name| dir.join(name)).collect()
}

fn ready_count(client: &mut Client, queue: &str) -> u32 {
    let declare = queue::Declare { queue: queue.as_bytes(), durable: true, ..Default::default() };
    client.send(1, &declare);
    match client.hear_one() {
        Heard::DeclareOk { ready_count, .. } => ready_count,
        other => panic!("{other:?}"),
    }
}

/// Publishes messages that go to segments, and one that stays in memory.
fn fill(node: &Node, client: &mut Client, queue: &str) {
    client.declare(queue);
    for number in 0..20 {
        client.publish(1, "", queue, PERSISTENT, format!("{number:02} {}", "x".repeat(300)).as_bytes());
    }
    node.spill();
    client.publish(1, "", queue, PERSISTENT, b"20");
    node.sync();
    client.hear();
}

/// Takes all there is in a queue, for good. What the disk does not read is tried a few times before the queue continues.
fn drain(node: &Node, queue: &str) -> Vec<String> {
    let mut client = node.connect();
    let mut all = Vec::new();
    loop {
        client.get(1, queue, true);
        let heard = (0..10).map(|_| node.listen(&mut client)).find(|heard| !heard.is_empty());
        match heard.as_deref() {
            Some([Heard::Message { body, .. }]) => all.push(String::from_utf8_lossy(body).into_owned()),
            Some([Heard::Other("basic.get-empty")]) => return all,
            other => panic!("{other:?} after {all:?}"),
        }
    }
}

#[test]
fn a_queue_goes_on_behind_what_is_lost_and_says_what_that_was() {
    for is_removed in [false, true] {
        let node = Node::new();
        let mut client = node.connect();
        fill(&node, &mut client, "q");
        let [path] = &segments(&node)[..] else { panic!("one segment is enough") };
        let file = node.disk.open(path).unwrap();
        match is_removed {
            true => node.disk.remove(path).unwrap(),
            false => file.truncate(file.len().unwrap() / 2).unwrap(),
        }
        assert_eq!(ready_count(&mut client, "q"), 21);
        let found: Vec<String> = drain(&node, "q").iter().map(|body| body[..2].to_owned()).collect();
        let lost_count = 21 - found.len();
        assert!(if is_removed { lost_count == 20 } else { (5..15).contains(&lost_count) }, "{found:?}");
        let numbers = (0..20 - lost_count).chain([20]).map(|number| format!("{number:02}"));
        assert_eq!(found, numbers.collect::<Vec<_>>());
        assert_eq!(ready_count(&mut client, "q"), 0);
        let loss = node.broker.data_loss();
        assert_eq!((loss.len(), &loss[0].path, loss[0].lost.len()), (1, path, 1), "{loss:?}");
        assert_eq!(loss[0].lost[0].of, Some(("/".to_owned(), "q".to_owned())));
        assert_eq!(loss[0].lost_count(), lost_count as u64);
        assert!(node.broker.has_data_loss());
        assert_eq!(node.broker.acknowledge_data_loss(&Actor::broker()), loss);
        assert!(!node.broker.has_data_loss());
        assert_eq!(node.broker.store_view().lost_message_count, lost_count as u64, "what happened has happened");
    }
}

/// Each file was tried for seconds, one after the other: the client got the first message that was left after half a minute.
#[test]
fn missing_files_are_tried_once() {
    let node = Node::new();
    let mut client = node.connect();
    for _ in 0..5 {
        fill(&node, &mut client, "q");
    }
    let paths = segments(&node);
    assert!(paths.len() >= 3, "{paths:?}");
    paths.iter().for_each(|path| node.disk.remove(path).unwrap());
    client.get(1, "q", true);
    let mut load_count = 0;
    for _ in 0..2 * paths.len() {
        load_count += (0..1_000).take_while(|_| node.load_one()).count();
        client.hear();
        node.sync();
    }
    assert!(load_count <= 2 * paths.len(), "{load_count} for {} files", paths.len());
    assert_eq!(node.broker.data_loss().len(), paths.len());
}

#[test]
fn the_scrub_finds_what_no_consumer_has_asked_for() {
    let node = Node::new();
    let mut client = node.connect();
    fill(&node, &mut client, "q");
    assert_eq!(node.broker.engine.store.scrub_once().lost_count, 0);
    assert!(!node.broker.has_data_loss());
    let [path] = &segments(&node)[..] else { panic!("one segment is enough") };
    node.disk.flip_bit(path, 1000, 0);
    assert_eq!(node.broker.engine.store.scrub_once().lost_count, 1);
    assert_eq!(node.broker.data_loss()[0].lost_count(), 1);
    node.broker.acknowledge_data_loss(&Actor::broker());
    assert_eq!(node.broker.engine.store.scrub_once().lost_count, 0, "it is told once");
    assert_eq!(node.drain("q").len(), 20);
    assert!(!node.broker.has_data_loss(), "and the queue has lost the same one");
}

/// Each start warned of messages of queues without a definition, of more and more of them: of deleted queues that segments still named,
/// though nothing of theirs was alive.
#[test]
fn deleted_queues_leave_nothing_to_be_told_of() {
    let node = Node::new();
    let mut client = node.connect();
    for name in ["gone", "kept"] {
        fill(&node, &mut client, name);
    }
    client.send(1, &queue::Delete { queue: b"gone", ..Default::default() });
    node.sync();
    client.hear();
    node.spill();
    node.disk.kill_process();
    let (_store, recovered) = open(&node.disk, 1).unwrap();
    assert_eq!(recovered.queues.len(), 2, "both are named");
    let defined = |id: &QueueId| recovered.queues[id].ranges.len() + recovered.queues[id].messages.len() > 0;
    assert_eq!(recovered.queues.keys().filter(|id| defined(id)).count(), 1, "one has messages");
    let (gone, kept): (HashMap<_, _>, HashMap<_, _>) =
        recovered.queues.into_iter().partition(|(_, queue)| queue.ranges.is_empty() && queue.messages.is_empty());
    assert_eq!(leave_out(&node.broker, &gone), LeftOut::default());
    assert_eq!(leave_out(&node.broker, &kept), LeftOut { queue_count: 1, message_count: 21 });
}

/// A queue got the number, and so at the next start the messages, of one whose definition had been lost.
#[test]
fn what_has_lost_its_definition_is_kept_and_given_to_no_other_queue() {
    let node = Node::new();
    let content = node.broker.engine.store.chunk_writer(Kind::Journaled).copy(&[b"orphan"]);
    let mut records = RecordBatch::new();
    records.publish(&content, &[(QueueId(5000), QueueSeq(1))]);
    node.broker.engine.append(&mut records);
    node.sync();
    let node = node.kill();
    assert!(node.broker.engine.queue_ids.take() > QueueId(5000));
    let node = node.kill();
    node.disk.kill_process();
    let (_store, recovered) = open(&node.disk, 1).unwrap();
    assert_eq!(recovered.queues[&QueueId(5000)].messages.len(), 1);
}
