//! Dead letters arrive in the order in which they left, though some of them lie in segments and have to be read first.

use amqp::content::{put_body_frames, put_header_encoded};
use amqp::frame::put_method;
use amqp::method::basic;
use amqp::table::Value;
use proptest::prelude::*;

use super::client::{Client, Heard, PERSISTENT, TRANSIENT};
use super::node::{NOW, Node};

/// Why messages leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Reject,
    TimeToLive,
    MaxLength,
}

/// What happens meanwhile.
#[derive(Debug, Clone, Copy)]
enum Step {
    Publish {
        count: u8,
        is_persistent: bool,
        len: u16,
    },
    /// What is in memory is written to segments.
    Spill,
    /// Ready messages that lie in segments leave memory.
    Unload,
    /// One read is answered.
    Load,
    /// The consumer takes what has come to it.
    Listen,
    /// It rejects one of those that it holds, by any place among them.
    Reject(u8),
    /// It rejects so many of them at once, from the oldest on.
    RejectMany(u8),
    Wait {
        ms: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..20u8, any::<bool>(), prop_oneof![1..50u16, 500..1_500u16])
            .prop_map(|(count, is_persistent, len)| Step::Publish { count, is_persistent, len }),
        3 => Just(Step::Spill),
        1 => Just(Step::Unload),
        3 => Just(Step::Load),
        3 => Just(Step::Listen),
        6 => any::<u8>().prop_map(Step::Reject),
        1 => any::<u8>().prop_map(Step::RejectMany),
        2 => (0..60u8).prop_map(|ms| Step::Wait { ms }),
    ]
}

/// A queue whose dead letters go to `d`, a consumer of it, and what is known of it all.
struct Scene {
    node: Node,
    publisher: Client,
    consumer: Client,
    cause: Cause,
    now_ms: u64,
    published: Vec<String>,
    /// Tags and bodies.
    held: Vec<(u64, String)>,
    rejected: Vec<String>,
}

impl Scene {
    fn new(cause: Cause, queue_type: &str, is_at_least_once: bool) -> Self {
        let (node, mut publisher) = Node::standing();
        let text = |text: &'static str| Value::LongStr(text.as_bytes());
        publisher.declare("d");
        let mut arguments = vec![
            ("x-queue-type", Value::LongStr(queue_type.as_bytes())),
            ("x-dead-letter-exchange", text("")),
            ("x-dead-letter-routing-key", text("d")),
        ];
        if is_at_least_once {
            arguments
                .extend([("x-dead-letter-strategy", text("at-least-once")), ("x-overflow", text("reject-publish"))]);
        }
        match cause {
            Cause::Reject => {}
            Cause::TimeToLive => arguments.push(("x-message-ttl", Value::I64(100))),
            Cause::MaxLength => arguments.push(("x-max-length", Value::I64(7))),
        }
        publisher.declare_with("q", &arguments);
        let mut consumer = node.connect();
        if cause == Cause::Reject {
            consumer.send(1, &basic::Qos { prefetch_count: 50, ..Default::default() });
            consumer.consume(1, "q", "c", false);
        }
        Self {
            node,
            publisher,
            consumer,
            cause,
            now_ms: NOW,
            published: Vec::new(),
            held: Vec::new(),
            rejected: Vec::new(),
        }
    }

    fn listen(&mut self) {
        self.node.sync();
        for heard in self.consumer.hear() {
            if let Heard::Message { tag, body, .. } = heard {
                self.held.push((tag, String::from_utf8(body).unwrap()));
            }
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Publish { count, is_persistent, len } => {
                for _ in 0..count {
                    if !self.publisher.may_publish() {
                        // The journal has fallen behind.
                        self.node.spill();
                        self.node.listen(&mut self.publisher);
                    }
                    if !self.publisher.may_publish() {
                        // Memory is full of what the consumer holds.
                        break;
                    }
                    let body = format!("{:0>1$}", self.published.len(), usize::from(len));
                    let properties = if is_persistent { PERSISTENT } else { TRANSIENT };
                    self.publisher.publish(1, "", "q", properties, body.as_bytes());
                    self.published.push(body);
                }
            }
            Step::Spill => self.node.spill(),
            Step::Unload => self.node.unload(),
            Step::Load => drop(self.node.broker.engine.store.load_once(&self.node.residents)),
            Step::Listen => self.listen(),
            Step::Reject(at) if !self.held.is_empty() => {
                let (delivery_tag, body) = self.held.remove(usize::from(at) % self.held.len());
                self.consumer.send(1, &basic::Reject { delivery_tag, requeue: false });
                self.rejected.push(body);
            }
            Step::RejectMany(at) if !self.held.is_empty() => {
                let count = usize::from(at) % self.held.len() + 1;
                let delivery_tag = self.held[count - 1].0;
                self.consumer.send(1, &basic::Nack { delivery_tag, multiple: true, requeue: false });
                self.rejected.extend(self.held.drain(..count).map(|(_, body)| body));
            }
            Step::Reject(_) | Step::RejectMany(_) => {}
            Step::Wait { ms } => {
                self.now_ms += u64::from(ms);
                self.node.at(self.now_ms);
            }
        }
    }

    /// Lets all come to its end. What has arrived, and what was to.
    fn end(mut self) -> (Vec<String>, Vec<String>) {
        if self.cause == Cause::TimeToLive {
            self.take(Step::Wait { ms: 200 });
        }
        for _ in 0..4 {
            self.node.load();
            self.node.sync();
            self.node.at(self.now_ms);
        }
        assert_eq!(self.node.set_aside_count("q"), 0);
        self.consumer.session.front.end();
        let expected = match self.cause {
            Cause::Reject => self.rejected,
            Cause::TimeToLive => self.published,
            Cause::MaxLength => {
                let kept = self.published.len().min(7);
                self.published[..self.published.len() - kept].to_vec()
            }
        };
        (self.node.drain("d"), expected)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dead_letters_keep_their_order(
        steps in prop::collection::vec(step(), 1..60),
        cause in prop_oneof![2 => Just(Cause::Reject), 1 => Just(Cause::TimeToLive), 1 => Just(Cause::MaxLength)],
        is_quorum in any::<bool>(),
        is_at_least_once in any::<bool>(),
    ) {
        // Beyond its limit such a queue refuses, and gives nothing up.
        let is_at_least_once = is_at_least_once && is_quorum && cause != Cause::MaxLength;
        let mut scene = Scene::new(cause, if is_quorum { "quorum" } else { "classic" }, is_at_least_once);
        steps.into_iter().for_each(|step| scene.take(step));
        let (arrived, expected) = scene.end();
        prop_assert_eq!(arrived, expected);
    }
}

#[test]
fn rejects_of_messages_in_memory_wait_for_those_that_are_read() {
    for queue_type in ["classic", "quorum"] {
        let mut scene = Scene::new(Cause::Reject, queue_type, false);
        let publish = Step::Publish { count: 10, is_persistent: true, len: 3 };
        [publish, Step::Spill, publish, Step::Load, Step::Listen].into_iter().for_each(|step| scene.take(step));
        assert_eq!(scene.held.len(), 20);
        // One that lies in a segment, one that does not, and so on.
        for _ in 0..10 {
            scene.take(Step::Reject(0));
            let last = scene.held.len() as u8 - 1;
            scene.take(Step::Reject(last));
        }
        let (arrived, expected) = scene.end();
        assert_eq!(arrived, expected, "{queue_type}");
    }
}

/// In one write, of which rejections are carried out at once and publishes are gathered.
#[test]
fn a_dead_letter_comes_after_what_was_published_before_its_rejection() {
    for queue_type in ["classic", "quorum"] {
        let mut scene = Scene::new(Cause::Reject, queue_type, false);
        [Step::Publish { count: 1, is_persistent: false, len: 3 }, Step::Listen]
            .into_iter()
            .for_each(|step| scene.take(step));
        let mut bytes = Vec::new();
        put_method(&mut bytes, 1, &basic::Publish { routing_key: b"d", ..Default::default() });
        put_header_encoded(&mut bytes, 1, 5, TRANSIENT);
        put_body_frames(&mut bytes, 1, b"first", 131_072);
        put_method(&mut bytes, 1, &basic::Reject { delivery_tag: scene.held[0].0, requeue: false });
        scene.consumer.send_bytes(&bytes);
        let (arrived, _) = scene.end();
        assert_eq!(arrived, ["first", "000"], "{queue_type}");
    }
}

/// Each publisher makes the queue give up what others have published, too.
#[test]
fn threads_that_bring_dead_letters_on_keep_their_order() {
    const COUNT: usize = 2_000;
    let (node, mut client) = Node::standing();
    client.declare("d");
    let arguments = [
        ("x-dead-letter-exchange", Value::LongStr(b"")),
        ("x-dead-letter-routing-key", Value::LongStr(b"d")),
        ("x-max-length", Value::I64(3)),
    ];
    client.declare_with("q", &arguments);
    let publishers = [0, 1].map(|_| node.connect());
    std::thread::scope(|scope| {
        for (publisher, mut client) in publishers.into_iter().enumerate() {
            scope.spawn(move || {
                for number in 0..COUNT {
                    let body = format!("{publisher} {number:05}");
                    client.publish(1, "", "q", TRANSIENT, body.as_bytes());
                }
            });
        }
    });
    let mut arrived = Vec::new();
    client.consume(1, "d", "c", true);
    loop {
        let heard = node.listen(&mut client);
        if heard.is_empty() {
            break;
        }
        arrived.extend(heard.into_iter().filter_map(|heard| match heard {
            Heard::Message { body, .. } => Some(String::from_utf8(body).unwrap()),
            _ => None,
        }));
    }
    assert_eq!(arrived.len(), 2 * COUNT - 3);
    for publisher in ["0", "1"] {
        let own = arrived.iter().filter(|body| body.starts_with(publisher));
        assert!(own.is_sorted(), "of publisher {publisher}");
    }
}
