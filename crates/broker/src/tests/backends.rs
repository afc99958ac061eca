//! Back ends that know users: asked in their order, waited for, and listened to, wherever in a method the question comes up.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use amqp::frame::put_method;
use amqp::method::{basic, connection, queue};
use amqp::table::{Table, TableBuf, Value};
use model::user::{Access, Tags};
use parking_lot::Mutex;

use super::client::{Client, Heard, TRANSIENT};
use super::node::Node;
use crate::backend::{
    Answer, AuthStep, Authority, Backend, BackendUser, Decision, LoginAnswer, LoginAttempt, Question,
};
use crate::broker::Broker;
use crate::identity::Origin;
use crate::options::Options;

/// A back end that answers only when a test lets it, and notes what it was asked.
#[derive(Debug, Default)]
struct Oracle {
    is_silent: Mutex<bool>,
    asked: Mutex<Vec<Question>>,
    refused: Mutex<HashSet<(String, Access)>>,
    refuses_vhosts: AtomicBool,
    is_down: AtomicBool,
    login_count: AtomicUsize,
    expires_at: Mutex<Option<SystemTime>>,
}

/// Ready as soon as the oracle speaks.
fn when_it_speaks<T: Clone + Send + 'static>(oracle: &Arc<Oracle>, answer: T) -> Answer<T> {
    let oracle = oracle.clone();
    let mut has_been_asked = false;
    Box::pin(std::future::poll_fn(move |_: &mut Context<'_>| {
        // Never at once: the caller has to look again.
        let is_ready = std::mem::replace(&mut has_been_asked, true) && !*oracle.is_silent.lock();
        if is_ready { Poll::Ready(answer.clone()) } else { Poll::Pending }
    }))
}

#[derive(Debug, Clone)]
struct Handle(Arc<Oracle>);

impl Backend for Handle {
    fn name(&self) -> &str {
        "oracle"
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        self.0.login_count.fetch_add(1, Ordering::SeqCst);
        let is_right = attempt.password.as_deref() == Some(b"open sesame");
        let expires_at = *self.0.expires_at.lock();
        let user =
            BackendUser { name: attempt.name, tags: Tags::parse("monitoring"), grants: Arc::new(()), expires_at };
        if self.0.is_down.load(Ordering::SeqCst) {
            return when_it_speaks(&self.0, LoginAnswer::Failed("no answer came".to_owned()));
        }
        let refused = LoginAnswer::Refused("wrong word".to_owned());
        when_it_speaks(&self.0, if is_right { LoginAnswer::Accepted(user) } else { refused })
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let user = BackendUser { name: attempt.name, tags: Tags::default(), grants: Arc::new(()), expires_at: None };
        when_it_speaks(&self.0, LoginAnswer::Accepted(user))
    }

    fn decide(&self, _: &BackendUser, _: &Origin, question: &Question) -> Decision {
        self.0.asked.lock().push(question.clone());
        let is_refused = match question {
            Question::Resource { name, access, .. } => self.0.refused.lock().contains(&(name.clone(), *access)),
            Question::Vhost { .. } => self.0.refuses_vhosts.load(Ordering::SeqCst),
            Question::Topic { .. } => false,
        };
        Decision::Ask(when_it_speaks(&self.0, !is_refused))
    }
}

fn node_with(oracle: &Arc<Oracle>, steps: impl Fn(Authority) -> Vec<AuthStep>) -> Node {
    let auth_steps = steps(Authority::Backend(Arc::new(Handle(oracle.clone()))));
    Node::with(Options { auth_steps, ..Options::default() })
}

fn only(authority: Authority) -> Vec<AuthStep> {
    vec![AuthStep { authentication: authority.clone(), authorization: vec![authority] }]
}

/// A client whose bytes are sent again for as long as the broker has not taken them, as its connection's task does.
struct Patient {
    client: Client,
    rest: Vec<u8>,
}

impl Patient {
    fn send(&mut self, bytes: &[u8]) -> Vec<Heard> {
        self.rest.extend_from_slice(bytes);
        let mut heard = Vec::new();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..20 {
            let taken_len = self.client.send_bytes(&self.rest);
            self.rest.drain(..taken_len);
            heard.append(&mut self.client.hear());
            self.client.session.front.poll_answer(&mut cx);
        }
        heard
    }

    fn method<M: amqp::method::EncodeMethod>(&mut self, channel: u16, method: &M) -> Vec<Heard> {
        let mut bytes = Vec::new();
        put_method(&mut bytes, channel, method);
        self.send(&bytes)
    }
}

fn log_in(node: &Node, user: &str, word: &str) -> (Patient, Vec<Heard>) {
    log_in_from(node, "127.0.0.1:1", user, word)
}

fn log_in_from(node: &Node, peer: &str, user: &str, word: &str) -> (Patient, Vec<Heard>) {
    let mut patient = Patient { client: node.accept(peer), rest: Vec::new() };
    patient.send(&amqp::frame::PROTOCOL_HEADER);
    let capabilities = TableBuf::new().with("authentication_failure_close", Value::Bool(true));
    let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
    let response = format!("\0{user}\0{word}");
    let heard = patient.method(
        0,
        &connection::StartOk {
            client_properties: properties.as_table(),
            mechanism: b"PLAIN",
            response: response.as_bytes(),
            locale: b"en_US",
        },
    );
    if heard != [Heard::Other("connection.tune")] {
        return (patient, heard);
    }
    patient.method(0, &connection::TuneOk { channel_max: 2047, frame_max: 131_072, heartbeat: 0 });
    let heard = patient.method(0, &connection::Open { virtual_host: b"/", ..Default::default() });
    (patient, heard)
}

#[track_caller]
fn connect(node: &Node, user: &str, word: &str) -> Patient {
    let (mut patient, heard) = log_in(node, user, word);
    assert_eq!(heard, [Heard::Other("connection.open-ok")]);
    patient.method(1, &amqp::method::channel::Open::default());
    patient
}

#[test]
fn a_back_end_lets_in_whom_the_broker_does_not_know() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    connect(&node, "stranger", "open sesame");
    let (_, heard) = log_in(&node, "stranger", "sesame");
    assert!(matches!(&heard[..], [Heard::ConnectionClose { code: 403, .. }]));
    let (_, heard) = log_in(&node, "guest", "guest");
    assert!(matches!(&heard[..], [Heard::ConnectionClose { code: 403, .. }]), "the broker's own are not asked for");
}

#[test]
fn the_first_that_welcomes_somebody_counts() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, |authority| [vec![AuthStep::internal()], only(authority)].concat());
    connect(&node, "guest", "guest");
    assert_eq!(oracle.login_count.load(Ordering::SeqCst), 0);
    connect(&node, "guest", "open sesame");
    assert_eq!(oracle.login_count.load(Ordering::SeqCst), 1);
}

#[test]
fn loopback_users_come_over_loopback_whoever_knows_them() {
    let oracle = Arc::new(Oracle::default());
    let split = |authority| vec![AuthStep { authentication: authority, authorization: vec![Authority::Internal] }];
    for node in [node_with(&oracle, only), node_with(&oracle, split)] {
        let from = |peer: &str| log_in_from(&node, peer, "guest", "open sesame").1;
        assert_eq!(from("127.0.0.1:1"), [Heard::Other("connection.open-ok")]);
        assert!(matches!(&from("192.0.2.1:1")[..], [Heard::ConnectionClose { code: 403, .. }]));
    }
}

#[test]
fn who_somebody_is_and_what_it_may_do_can_be_said_by_different_ones() {
    let oracle = Arc::new(Oracle::default());
    let split = |authority| vec![AuthStep { authentication: authority, authorization: vec![Authority::Internal] }];
    let node = node_with(&oracle, split);
    connect(&node, "guest", "open sesame");
    assert!(oracle.asked.lock().is_empty());
    let (_, heard) = log_in(&node, "stranger", "open sesame");
    assert!(matches!(&heard[..], [Heard::ConnectionClose { code: 403, .. }]));
}

#[test]
fn nothing_is_received_before_the_answer_and_then_the_same_goes_on() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    *oracle.is_silent.lock() = true;
    let declare = queue::Declare { queue: b"q", durable: true, ..Default::default() };
    assert_eq!(patient.method(1, &declare), []);
    assert!(!patient.client.session.front.wants_input() && !patient.rest.is_empty());
    *oracle.is_silent.lock() = false;
    assert!(matches!(&patient.send(&[])[..], [Heard::DeclareOk { .. }]));
    assert!(patient.rest.is_empty());
}

#[test]
fn a_publish_waits_whole_or_in_parts() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    patient.method(1, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    let mut bytes = Vec::new();
    put_method(&mut bytes, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    amqp::content::put_header_encoded(&mut bytes, 1, 5, TRANSIENT);
    amqp::content::put_body_frames(&mut bytes, 1, b"hello", 131_072);
    // What was remembered holds no longer, so that it is asked for again.
    let forget = || {
        node.broker.users.forbid_topics(|_| false, |_| ());
        node.broker.access_changed("stranger");
    };
    for part_len in [usize::MAX, 1, 40] {
        forget();
        for part in bytes.chunks(part_len.min(bytes.len())) {
            assert_eq!(patient.send(part), []);
        }
    }
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 3);
    oracle.refused.lock().insert(("amq.default".to_owned(), Access::Write));
    forget();
    let text = "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'ann'";
    assert_eq!(patient.send(&bytes), [Heard::ChannelClose { code: 403, text: text.to_owned() }]);
}

#[test]
fn a_refusal_is_asked_for_again_the_next_time() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    oracle.refused.lock().insert(("q".to_owned(), Access::Configure));
    let declare = queue::Declare { queue: b"q", durable: true, ..Default::default() };
    assert!(matches!(&patient.method(1, &declare)[..], [Heard::ChannelClose { code: 403, .. }]));
    patient.method(1, &amqp::method::channel::CloseOk);
    patient.method(1, &amqp::method::channel::Open::default());
    oracle.refused.lock().clear();
    assert!(matches!(&patient.method(1, &declare)[..], [Heard::DeclareOk { .. }]));
}

#[test]
fn several_questions_of_one_method_are_asked_one_after_the_other() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    patient.method(1, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    oracle.asked.lock().clear();
    let bind = queue::Bind { queue: b"q", exchange: b"amq.topic", routing_key: b"k", ..Default::default() };
    assert_eq!(patient.method(1, &bind), [Heard::Other("queue.bind-ok")]);
    // Write to the queue, read from the exchange, and the key.
    let asked: HashSet<Question> = oracle.asked.lock().iter().cloned().collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    // A passive declaration needs any permission: two refusals are not the end.
    oracle.refused.lock().extend([("other".to_owned(), Access::Configure), ("other".to_owned(), Access::Write)]);
    let passive = queue::Declare { queue: b"other", passive: true, ..Default::default() };
    assert!(matches!(&patient.method(1, &passive)[..], [Heard::ChannelClose { code: 404, .. }]));
}

#[test]
fn a_server_named_queue_has_one_name_however_often_others_are_asked() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    oracle.asked.lock().clear();
    let declare = queue::Declare { exclusive: true, ..Default::default() };
    let mut declared = || match &patient.method(1, &declare)[..] {
        [Heard::DeclareOk { queue, .. }] => queue.clone(),
        other => panic!("{other:?}"),
    };
    let (first, second) = (declared(), declared());
    assert!(first.starts_with("amq.gen-") && second.starts_with("amq.gen-") && first != second);
    let asked: HashSet<Question> = oracle.asked.lock().iter().cloned().collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(node.broker.counters.queues_declared.get(), 2);
}

#[test]
fn a_declaration_has_its_effects_once_however_often_others_are_asked() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    oracle.asked.lock().clear();
    let arguments = TableBuf::new().with("x-dead-letter-exchange", Value::LongStr(b"amq.fanout"));
    let declare = queue::Declare { queue: b"q", arguments: arguments.as_table(), ..Default::default() };
    assert!(matches!(&patient.method(1, &declare)[..], [Heard::DeclareOk { .. }]));
    // To configure and to read the queue, and to write to the exchange.
    let asked: HashSet<Question> = oracle.asked.lock().iter().cloned().collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_eq!(node.broker.counters.queues_declared.get(), 1);
    // One that is refused counts as well, as in RabbitMQ.
    oracle.refused.lock().insert(("amq.direct".to_owned(), Access::Write));
    let arguments = TableBuf::new().with("x-dead-letter-exchange", Value::LongStr(b"amq.direct"));
    let refused = queue::Declare { queue: b"other", arguments: arguments.as_table(), ..Default::default() };
    assert!(matches!(&patient.method(1, &refused)[..], [Heard::ChannelClose { code: 403, .. }]));
    assert_eq!(node.broker.counters.queues_declared.get(), 2);
}

#[test]
fn who_cannot_be_asked_locks_nobody_out() {
    let oracle = Arc::new(Oracle::default());
    for internal_comes_last in [false, true] {
        let node = node_with(&oracle, |authority| {
            let mut steps = only(authority);
            steps.extend(internal_comes_last.then(AuthStep::internal));
            steps
        });
        let from = |peer: &str| log_in_from(&node, peer, "ann", "open sesame").1;
        oracle.is_down.store(true, Ordering::SeqCst);
        for _ in 0..101 {
            let heard = from("192.0.2.1:1");
            assert!(matches!(&heard[..], [Heard::ConnectionClose { code: 403, .. }]), "{heard:?}");
        }
        oracle.is_down.store(false, Ordering::SeqCst);
        assert_eq!(from("192.0.2.1:1"), [Heard::Other("connection.open-ok")]);
    }
}

/// Renews the login, and returns the result.
fn renew(patient: &mut Patient) -> Vec<Heard> {
    patient.method(0, &connection::UpdateSecret { new_secret: b"open sesame", reason: b"" })
}

#[test]
fn a_narrower_secret_ends_what_it_does_not_allow() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    for name in [&b"kept"[..], b"lost", b"gone"] {
        patient.method(1, &queue::Declare { queue: name, exclusive: true, ..Default::default() });
        patient.method(1, &basic::Consume { queue: name, consumer_tag: name, ..Default::default() });
    }
    let mut publish = Vec::new();
    put_method(&mut publish, 1, &basic::Publish { exchange: b"amq.fanout", ..Default::default() });
    amqp::content::put_header_encoded(&mut publish, 1, 0, TRANSIENT);
    assert_eq!(patient.send(&publish), []);
    let refused = [("lost", Access::Read), ("gone", Access::Read), ("amq.fanout", Access::Write)];
    oracle.refused.lock().extend(refused.map(|(name, access)| (name.to_owned(), access)));
    assert_eq!(renew(&mut patient), [Heard::Other("connection.update-secret-ok")]);
    let tags: Vec<String> = node.broker.consumer_views().iter().map(|consumer| consumer.tag()).collect();
    assert_eq!(tags, ["kept"]);
    assert!(matches!(&patient.send(&publish)[..], [Heard::ChannelClose { code: 403, .. }]));
}

#[test]
fn who_guesses_does_not_keep_others_from_renewing_their_secret() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    for _ in 0..20 {
        log_in(&node, "ann", "barley");
    }
    let (_, heard) = log_in(&node, "ann", "open sesame");
    assert!(matches!(&heard[..], [Heard::ConnectionClose { code: 403, .. }]), "{heard:?}");
    assert_eq!(renew(&mut patient), [Heard::Other("connection.update-secret-ok")]);
}

#[test]
fn a_secret_that_does_not_allow_the_vhost_ends_the_connection() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    oracle.refuses_vhosts.store(true, Ordering::SeqCst);
    let text = "NOT_ALLOWED - access to vhost '/' refused for user 'ann'";
    assert_eq!(renew(&mut patient), [Heard::ConnectionClose { code: 530, text: text.to_owned() }]);
}

/// A back end that allows to write once, and that is made to refuse it before the answer is heard.
#[derive(Debug, Default)]
struct Fickle {
    broker: OnceLock<Weak<Broker>>,
    is_revoked: AtomicBool,
}

#[derive(Debug)]
struct FickleHandle(Arc<Fickle>);

impl Backend for FickleHandle {
    fn name(&self) -> &str {
        "fickle"
    }

    fn log_in(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        let tags = Tags::default();
        let user = BackendUser { name: attempt.name, tags, grants: Arc::new(()), expires_at: None };
        Box::pin(std::future::ready(LoginAnswer::Accepted(user)))
    }

    fn recognize(&self, attempt: LoginAttempt) -> Answer<LoginAnswer> {
        self.log_in(attempt)
    }

    fn decide(&self, _: &BackendUser, _: &Origin, question: &Question) -> Decision {
        let Question::Resource { access: Access::Write, .. } = question else { return Decision::Allowed };
        if self.0.is_revoked.swap(true, Ordering::SeqCst) {
            return Decision::Refused;
        }
        let broker = self.0.broker.get().and_then(Weak::upgrade).unwrap();
        broker.users.forbid_topics(|_| false, |_| ());
        broker.access_changed("ann");
        Decision::Allowed
    }
}

#[test]
fn what_is_revoked_while_it_is_being_looked_up_is_not_remembered() {
    let fickle = Arc::new(Fickle::default());
    let auth_steps = only(Authority::Backend(Arc::new(FickleHandle(fickle.clone()))));
    let node = Node::with(Options { auth_steps, ..Options::default() });
    fickle.broker.set(Arc::downgrade(&node.broker)).unwrap();
    let mut patient = connect(&node, "ann", "");
    patient.method(1, &queue::Declare { queue: b"q", durable: true, ..Default::default() });
    let mut publish = Vec::new();
    put_method(&mut publish, 1, &basic::Publish { routing_key: b"q", ..Default::default() });
    amqp::content::put_header_encoded(&mut publish, 1, 0, TRANSIENT);
    assert_eq!(patient.send(&publish), []);
    assert!(matches!(&patient.send(&publish)[..], [Heard::ChannelClose { code: 403, .. }]));
    assert_eq!(node.broker.queue_counts("/", "q").unwrap().ready, 1);
}

#[test]
fn a_new_secret_is_a_new_login_of_the_same_user() {
    let oracle = Arc::new(Oracle::default());
    let node = node_with(&oracle, only);
    let mut patient = connect(&node, "ann", "open sesame");
    let update = connection::UpdateSecret { new_secret: b"open sesame", reason: b"" };
    assert_eq!(patient.method(0, &update), [Heard::Other("connection.update-secret-ok")]);
    let update = connection::UpdateSecret { new_secret: b"barley", reason: b"" };
    let text = "NOT_ALLOWED - New secret was refused by one of the backends";
    assert_eq!(patient.method(0, &update), [Heard::ConnectionClose { code: 530, text: text.to_owned() }]);
}

#[test]
fn a_login_that_holds_for_a_time_says_how_long() {
    let oracle = Arc::new(Oracle::default());
    *oracle.expires_at.lock() = Some(SystemTime::now() + Duration::from_secs(3600));
    let node = node_with(&oracle, only);
    let patient = connect(&node, "ann", "open sesame");
    let left = patient.client.session.front.expires_in().unwrap();
    assert!(left > Duration::from_secs(3500) && left <= Duration::from_secs(3600));
    *oracle.expires_at.lock() = Some(SystemTime::UNIX_EPOCH);
    let patient = connect(&node, "ann", "open sesame");
    assert_eq!(patient.client.session.front.expires_in(), Some(Duration::ZERO));
}

#[test]
fn the_brokers_own_users_hold_for_ever() {
    let node = Node::new();
    assert_eq!(node.connect().session.front.expires_in(), None);
    let mut client = node.accept("127.0.0.1:1");
    let heard = client.try_log_in("guest", "wrong", Table::EMPTY);
    assert_eq!(heard, [Heard::Other("connection.start")]);
}
