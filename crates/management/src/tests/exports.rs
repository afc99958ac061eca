//! What a broker exports can be imported by it and by another, which then exports the same; and pruning misses nothing in it.

use std::sync::Arc;

use amqp::table::{Array, ArrayBuf, Table, TableBuf, Value as Field};
use broker::{
    Actor, BindingEnd, BindingRequest, ExchangeRequest, Identity, Interface, Origin, PasswordChange, PolicyRequest,
    QueueRequest, UserRequest, VhostAccess, VhostRequest,
};
use definitions::{Scope, Unsupported, parse};
use model::definition::UserPermission;
use model::name::{ExchangeName, QueueName, UserName, VhostName};
use model::parameter::{FEDERATION_UPSTREAM, VhostParameter};
use model::policy::{ApplyTo, PolicyKind};
use model::user::{HashingAlgorithm, PasswordHash, Permission, Tags, TopicPermission, UserLimits};
use model::vhost::VhostLimits;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::definitions::{furnish, sorted};
use super::house::{House, in_house};
use crate::definitions::{PruneResult, export, import, prune};
use crate::options::Options;

fn inside(house: &House, vhost: &str) -> Option<VhostAccess> {
    let origin = Origin { peer: None, interface: Interface::Http };
    let actor = Actor { identity: Arc::new(Identity::local_operator()), origin };
    house.service.broker.open_vhost(&actor, vhost)
}

fn bind(house: &House, source: &str, queue: &str, routing_key: &[u8], arguments: &TableBuf) {
    let (source, queue) = (exchange(source), queue_name(queue));
    let (destination, arguments) = (BindingEnd::Queue(&queue), arguments.as_table());
    let request = BindingRequest { source: &source, destination, routing_key, arguments };
    inside(house, "shop").unwrap().bind(&request).unwrap();
}

fn exchange(name: &str) -> ExchangeName {
    ExchangeName::parse(name.as_bytes()).unwrap()
}

fn queue_name(name: &str) -> QueueName {
    QueueName::parse(name.as_bytes()).unwrap()
}

fn export_of(house: &House) -> Value {
    let text = export(&house.service.broker, &Options::default(), Scope::Broker);
    sorted(serde_json::from_slice(&text).unwrap())
}

/// A broker without any user or vhost.
fn empty_house() -> House {
    let of_broker = broker::Options { imports_definitions: true, ..broker::Options::default() };
    House::over(of_broker, Options::default())
}

/// Checks that a broker's own export misses nothing and changes nothing, and that another broker can be made of it.
async fn check_own_export(house: &House) {
    let exported = export_of(house);
    let text = exported.to_string();
    let document = || parse(text.as_bytes(), Scope::Broker).unwrap_or_else(|error| panic!("{error} in {text}"));
    let check = |house: &House| {
        let (broker, mut document) = (&house.service.broker, document());
        let imported = import(broker, &Actor::broker(), &mut document, Scope::Broker, Unsupported::Refused);
        imported.unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(export_of(house), exported);
        let pruned = prune(broker, &Actor::broker(), &document, Scope::Broker, true);
        assert_eq!(pruned, Ok(PruneResult::default()), "{text}");
    };
    let pruned = prune(&house.service.broker, &Actor::broker(), &document(), Scope::Broker, true);
    assert_eq!(pruned, Ok(PruneResult::default()), "{text}");
    check(house);
    let other = empty_house();
    check(&other);
    check(&other);
    other.close().await;
}

#[test]
fn bindings_of_internal_exchanges_are_left_out_with_them() {
    in_house(async |house| {
        furnish(house).await;
        house.check("POST /api/bindings/shop/e/e/e/hidden", r#"{"routing_key":"to"}"#, 201, "").await;
        house.check("POST /api/bindings/shop/e/hidden/q/q", r#"{"routing_key":"from"}"#, 201, "").await;
        house.check("POST /api/bindings/shop/e/amq.rabbitmq.trace/q/q", r#"{"routing_key":"traced"}"#, 201, "").await;
        let exported = house.get("/api/definitions").await.json();
        let sources: Vec<&Value> = exported["bindings"].as_array().unwrap().iter().map(|b| &b["source"]).collect();
        assert_eq!(sources.len(), 2);
        assert!(sources.contains(&&json!("e")) && sources.contains(&&json!("amq.rabbitmq.trace")));
        check_own_export(house).await;
        // What is not in an export is not missed by pruning, either.
        let reply = house.ask("POST", "/api/definitions?prune=true", "guest", &exported.to_string()).await.json();
        assert_eq!(reply["deleted"], json!({}));
    });
}

#[test]
fn arguments_that_json_does_not_have_are_the_same_when_they_are_exported_the_same() {
    in_house(async |house| {
        furnish(house).await;
        let mut nested = TableBuf::new().with("last", Field::Bool(true));
        for _ in 0..62 {
            nested = TableBuf::new().with("t", Field::Table(nested.as_table()));
        }
        for (at, value) in [
            Field::Void,
            Field::I32(1),
            Field::U8(1),
            Field::Timestamp(1),
            Field::Timestamp(u64::MAX),
            Field::F32(0.1),
            Field::F64(0.1 + 0.2),
            Field::F64(f64::NAN),
            Field::F64(f64::NEG_INFINITY),
            Field::Decimal { scale: 2, value: 271 },
            Field::Binary(b"\xff"),
            Field::LongStr(b"\xfe\xffx"),
            Field::Table(nested.as_table()),
        ]
        .into_iter()
        .enumerate()
        {
            bind(house, "e", "q", format!("k{at}").as_bytes(), &TableBuf::new().with("x", value));
        }
        bind(house, "e", "q", b"no text \xff", &TableBuf::new());
        // These cannot be written down at all.
        bind(house, "e", "q", &[0xff; 200], &TableBuf::new());
        bind(house, "e", "q", b"k", &TableBuf::new().with("n", Field::Void));
        check_own_export(house).await;
    });
}

#[test]
fn queues_whose_names_the_broker_made_up_come_back() {
    in_house(async |house| {
        let unnamed = queue_name("");
        let request = QueueRequest {
            name: &unnamed,
            is_durable: true,
            is_auto_delete: false,
            is_exclusive: false,
            arguments: Table::EMPTY,
        };
        inside(house, "shop").unwrap().declare_queue(&request).unwrap();
        check_own_export(house).await;
    });
}

#[test]
fn second_passwords_keep_their_algorithm() {
    in_house(async |house| {
        let hash = PasswordHash::parse("kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", HashingAlgorithm::Sha256);
        let second = PasswordHash::parse("AQIDBAECAwQFBgcICQoLDA0ODxA=", HashingAlgorithm::Md5);
        let name = UserName::parse(b"old").unwrap();
        let mut request = UserRequest::named(name, PasswordChange::Hash(hash.unwrap().unwrap()));
        request.second_password = PasswordChange::Hash(second.unwrap().unwrap());
        house.service.broker.put_user(&Actor::broker(), request).unwrap();
        check_own_export(house).await;
    });
}

/// A field's value that a client may send.
#[derive(Debug, Clone)]
enum Argument {
    Void,
    Bool(bool),
    U8(u8),
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    Decimal(u8, u32),
    Timestamp(u64),
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Table(Arguments),
    Array(Vec<Argument>),
}

type Arguments = Vec<(Vec<u8>, Argument)>;

impl Argument {
    fn with(&self, put: &mut dyn FnMut(Field<'_>)) {
        match self {
            Argument::Void => put(Field::Void),
            Argument::Bool(value) => put(Field::Bool(*value)),
            Argument::U8(value) => put(Field::U8(*value)),
            Argument::I32(value) => put(Field::I32(*value)),
            Argument::I64(value) => put(Field::I64(*value)),
            Argument::F32(bits) => put(Field::F32(f32::from_bits(*bits))),
            Argument::F64(bits) => put(Field::F64(f64::from_bits(*bits))),
            Argument::Decimal(scale, value) => put(Field::Decimal { scale: *scale, value: *value }),
            Argument::Timestamp(value) => put(Field::Timestamp(*value)),
            Argument::Text(bytes) => put(Field::LongStr(bytes)),
            Argument::Binary(bytes) => put(Field::Binary(bytes)),
            Argument::Table(fields) => put(Field::Table(table(fields).as_table())),
            Argument::Array(values) => {
                let mut array = ArrayBuf::new();
                values.iter().for_each(|value| value.with(&mut |value| array.push(value)));
                let array: Array<'_> = array.as_array();
                put(Field::Array(array));
            }
        }
    }
}

fn table(fields: &Arguments) -> TableBuf {
    let mut table = TableBuf::new();
    for (name, value) in fields {
        value.with(&mut |value| table.push(name, value).unwrap());
    }
    table
}

fn any_argument() -> impl Strategy<Value = Argument> {
    let bytes = || prop_oneof!["[a-zü]{0,8}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..8)];
    let leaf = prop_oneof![
        Just(Argument::Void),
        any::<bool>().prop_map(Argument::Bool),
        any::<u8>().prop_map(Argument::U8),
        any::<i32>().prop_map(Argument::I32),
        any::<i64>().prop_map(Argument::I64),
        any::<u32>().prop_map(Argument::F32),
        any::<u64>().prop_map(Argument::F64),
        (any::<u8>(), any::<u32>()).prop_map(|(scale, value)| Argument::Decimal(scale, value)),
        any::<u64>().prop_map(Argument::Timestamp),
        bytes().prop_map(Argument::Text),
        bytes().prop_map(Argument::Binary),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Argument::Array),
            prop::collection::vec((any_field_name(), inner), 0..3).prop_map(Argument::Table),
        ]
    })
}

/// Some of them are so long that they cannot be written in JSON.
fn any_field_name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => "[a-c]".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

fn any_arguments() -> impl Strategy<Value = Arguments> {
    prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::collection::vec((any_field_name(), any_argument()), 0..4),
    ]
}

/// A change to a broker. Names are few, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    Vhost {
        vhost: &'static str,
        description: String,
        queue_type: bool,
        is_protected: bool,
        queue_max: Option<u64>,
    },
    User {
        user: &'static str,
        first: HashingAlgorithm,
        second: Option<HashingAlgorithm>,
        channel_max: Option<u32>,
    },
    Permit {
        user: &'static str,
        vhost: &'static str,
        topic: Option<&'static str>,
    },
    Parameter {
        name: String,
        value: f64,
    },
    Upstream {
        vhost: &'static str,
        name: String,
        prefetch_count: u16,
    },
    Policy {
        vhost: &'static str,
        name: &'static str,
        is_operators: bool,
        priority: i64,
        value: f64,
    },
    Exchange {
        vhost: &'static str,
        name: &'static str,
        kind: &'static str,
        flags: [bool; 3],
        arguments: Arguments,
    },
    Queue {
        vhost: &'static str,
        name: &'static str,
        flags: [bool; 2],
        arguments: Arguments,
    },
    Bind {
        vhost: &'static str,
        source: &'static str,
        destination: Result<&'static str, &'static str>,
        routing_key: Vec<u8>,
        arguments: Arguments,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    let vhost = || prop::sample::select(vec!["/", "a", "b ü"]);
    let user = || prop::sample::select(vec!["guest", "ann", "bob"]);
    let declared = || prop::sample::select(vec!["e", "f", "hidden"]);
    let source = || prop::sample::select(vec!["e", "f", "hidden", "amq.headers", "amq.topic", "amq.rabbitmq.event"]);
    let queue = || prop::sample::select(vec!["", "q", "r"]);
    let kind = || prop::sample::select(vec!["direct", "fanout", "topic", "headers"]);
    let algorithm =
        || prop::sample::select(vec![HashingAlgorithm::Sha256, HashingAlgorithm::Sha512, HashingAlgorithm::Md5]);
    let number = || any::<f64>().prop_filter("JSON has finite numbers", |number| number.is_finite());
    let key = prop_oneof![
        3 => "[a-b.#]{0,4}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..=255),
    ];
    let destination = prop_oneof![queue().prop_map(Ok), declared().prop_map(Err)];
    prop_oneof![
        // No limit that there are more queues than already: with one it could not be imported again.
        2 => (vhost(), any::<String>(), any::<bool>(), any::<bool>(), prop::option::of(100_u64..109)).prop_map(
            |(vhost, description, queue_type, is_protected, queue_max)| {
                Step::Vhost { vhost, description, queue_type, is_protected, queue_max }
            },
        ),
        2 => (user(), algorithm(), prop::option::of(algorithm()), any::<Option<u32>>())
            .prop_map(|(user, first, second, channel_max)| Step::User { user, first, second, channel_max }),
        1 => (user(), vhost(), prop::option::of(source()))
            .prop_map(|(user, vhost, topic)| Step::Permit { user, vhost, topic }),
        1 => ("[a-zü]{1,3}", number()).prop_map(|(name, value)| Step::Parameter { name, value }),
        1 => (vhost(), "[a-zü]{1,3}", any::<u16>())
            .prop_map(|(vhost, name, prefetch_count)| Step::Upstream { vhost, name, prefetch_count }),
        1 => (vhost(), prop::sample::select(vec!["p", "r"]), any::<bool>(), any::<i64>(), number()).prop_map(
            |(vhost, name, is_operators, priority, value)| Step::Policy { vhost, name, is_operators, priority, value },
        ),
        3 => (vhost(), declared(), kind(), any::<[bool; 3]>(), any_arguments())
            .prop_map(|(vhost, name, kind, flags, arguments)| Step::Exchange { vhost, name, kind, flags, arguments }),
        3 => (vhost(), queue(), any::<[bool; 2]>(), any_arguments())
            .prop_map(|(vhost, name, flags, arguments)| Step::Queue { vhost, name, flags, arguments }),
        8 => (vhost(), source(), destination, key, any_arguments()).prop_map(
            |(vhost, source, destination, routing_key, arguments)| {
                Step::Bind { vhost, source, destination, routing_key, arguments }
            },
        ),
    ]
}

fn user(name: &str) -> UserName {
    UserName::parse(name.as_bytes()).unwrap()
}

fn vhost_name(name: &str) -> VhostName {
    VhostName::parse(name.as_bytes()).unwrap()
}

/// A hash of an unknown password.
fn some_hash(algorithm: HashingAlgorithm) -> PasswordChange {
    use base64::Engine as _;
    let len = 4 + match algorithm {
        HashingAlgorithm::Sha256 => 32,
        HashingAlgorithm::Sha512 => 64,
        HashingAlgorithm::Md5 => 16,
    };
    let text = base64::engine::general_purpose::STANDARD.encode(vec![7; len]);
    PasswordChange::Hash(PasswordHash::parse(&text, algorithm).unwrap().unwrap())
}

/// Does it, unless it is refused: what it needs may not be there.
fn take(house: &House, step: &Step) {
    let (broker, actor) = (&house.service.broker, Actor::broker());
    match step {
        Step::Vhost { vhost, description, queue_type, is_protected, queue_max } => {
            let request = VhostRequest {
                description: Some(description.clone()),
                tags: Some(vec![description.clone()]),
                default_queue_type: queue_type.then(|| "classic".to_owned()),
                is_protected: Some(*is_protected),
                ..VhostRequest::named(vhost_name(vhost))
            };
            broker.put_vhost(&actor, request).unwrap();
            let limits = VhostLimits { queue_max: *queue_max, ..VhostLimits::default() };
            broker.set_vhost_limits(&actor, vhost, |own| *own = limits).unwrap();
        }
        Step::User { user: name, first, second, channel_max } => {
            let mut request = UserRequest::named(user(name), some_hash(*first));
            request.second_password = second.map_or(PasswordChange::Clear, some_hash);
            request.tags = Some(Tags::parse("management,protected"));
            request.limits = Some(UserLimits { channel_max: *channel_max, ..UserLimits::default() });
            broker.put_user(&actor, request).unwrap();
        }
        Step::Permit { user: name, vhost, topic: None } => {
            let permission = Permission::parse("^a", ".*", "").unwrap();
            let given = UserPermission { vhost: vhost_name(vhost), user: user(name), permission };
            let _ = broker.put_permission(&actor, given);
        }
        Step::Permit { user: name, vhost, topic: Some(topic) } => {
            let given = TopicPermission::parse(vhost_name(vhost), user(name), exchange(topic), "^a", "^b").unwrap();
            let _ = broker.put_topic_permission(&actor, given);
        }
        Step::Parameter { name, value } => {
            broker.put_global_parameter(&actor, name, json!({ "value": value })).unwrap();
        }
        Step::Upstream { vhost, name, prefetch_count } => {
            let value = json!({"uri": "amqp://me:secret@h", "prefetch-count": prefetch_count});
            let (vhost, component) = (vhost_name(vhost), FEDERATION_UPSTREAM.into());
            let parameter = VhostParameter { vhost, component, name: name.as_str().into(), value };
            let _ = broker.put_vhost_parameter(&actor, parameter);
        }
        Step::Policy { vhost, name, is_operators, priority, value } => {
            let Value::Object(definition) = json!({ "ha-params": value }) else { unreachable!() };
            let _ = broker.put_policy(
                &actor,
                PolicyRequest {
                    vhost: vhost_name(vhost),
                    name: (*name).to_owned(),
                    kind: if *is_operators { PolicyKind::Operator } else { PolicyKind::User },
                    pattern: "^q".to_owned(),
                    apply_to: ApplyTo::Queues,
                    priority: *priority,
                    definition,
                },
            );
        }
        Step::Exchange { vhost, name, kind, flags: [is_durable, is_auto_delete, is_internal], arguments } => {
            let Some(inside) = inside(house, vhost) else { return };
            let _ = inside.declare_exchange(&ExchangeRequest {
                name: &exchange(name),
                kind: kind.as_bytes(),
                is_durable: *is_durable,
                is_auto_delete: *is_auto_delete,
                is_internal: *is_internal || *name == "hidden",
                arguments: table(arguments).as_table(),
            });
        }
        Step::Queue { vhost, name, flags: [is_durable, is_auto_delete], arguments } => {
            let Some(inside) = inside(house, vhost) else { return };
            let _ = inside.declare_queue(&QueueRequest {
                name: &queue_name(name),
                is_durable: *is_durable,
                is_auto_delete: *is_auto_delete,
                is_exclusive: false,
                arguments: table(arguments).as_table(),
            });
        }
        Step::Bind { vhost, source, destination, routing_key, arguments } => {
            let Some(inside) = inside(house, vhost) else { return };
            let (source, arguments) = (exchange(source), table(arguments));
            let (queue, other);
            let destination = match destination {
                Ok(name) => {
                    queue = queue_name(name);
                    BindingEnd::Queue(&queue)
                }
                Err(name) => {
                    other = exchange(name);
                    BindingEnd::Exchange(&other)
                }
            };
            let arguments = arguments.as_table();
            let _ = inside.bind(&BindingRequest { source: &source, destination, routing_key, arguments });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_there_comes_back_as_it_was_exported(steps in prop::collection::vec(any_step(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let house = House::bare(Options::default());
            steps.iter().for_each(|step| take(&house, step));
            check_own_export(&house).await;
            house.close().await;
        });
    }
}
