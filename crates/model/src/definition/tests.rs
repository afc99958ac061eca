//! Every definition survives its bytes; damaged bytes are reported, not trusted.

use amqp::table::{Table, TableBuf, Value};
use proptest::prelude::*;

use super::*;
use crate::arguments::{ExchangeArguments, ExchangeType, QueueArguments};
use crate::ids::QueueId;
use crate::name::{ExchangeName, QueueName, UserName, VhostName};
use crate::policy::{ApplyTo, PolicyDefinition, PolicyKind};
use crate::user::{PasswordHash, Permission, Tags, UserLimits};
use crate::vhost::{VhostLimits, VhostMetadata};

fn vhost(name: &str) -> VhostName {
    VhostName::parse(name.as_bytes()).unwrap()
}

fn exchange(name: &str) -> ExchangeName {
    ExchangeName::parse(name.as_bytes()).unwrap()
}

fn queue(name: &str) -> QueueName {
    QueueName::parse(name.as_bytes()).unwrap()
}

fn queue_in(vhost_name: &str, name: &str) -> Queue {
    Queue {
        vhost: vhost(vhost_name),
        name: queue(name),
        id: QueueId(7),
        is_durable: true,
        is_auto_delete: false,
        is_exclusive: false,
        arguments: QueueArguments::default(),
    }
}

#[track_caller]
fn check_damaged(key: &[u8], value: &[u8], expected: &str) {
    assert_eq!(Definition::decode(key, value).unwrap_err().to_string(), expected);
}

#[test]
fn a_queues_bytes_are_as_documented() {
    let table = TableBuf::new().with("a", Value::Bool(true));
    let definition = Definition::Queue(Queue {
        arguments: QueueArguments::from_stored(table).unwrap(),
        is_auto_delete: true,
        ..queue_in("/", "q1")
    });
    assert_eq!(definition.key(), [5, 1, b'/', 2, b'q', b'1']);
    assert_eq!(definition.encode(), [1, 7, 0, 0, 0, 0, 0, 0, 0, 0b11, 4, 0, 0, 0, 1, b'a', b't', 1]);
}

#[test]
fn a_parameters_bytes_are_as_documented() {
    let parameter = VhostParameter {
        vhost: vhost("/"),
        component: "shovel".into(),
        name: "s".into(),
        value: serde_json::json!({"a": 1}),
    };
    let definition = Definition::Parameter(parameter);
    assert_eq!(definition.key(), *b"\x0a\x01/\x06shovel\x01s");
    assert_eq!(definition.encode(), *b"\x01\x07\0\0\0{\"a\":1}");
    check_damaged(
        b"\x0a\x01/\x01\xff\x01s",
        &definition.encode(),
        "Parameter definition is damaged: a name is not valid",
    );
    check_damaged(&definition.key(), b"\x01\x01\0\0\0{", "Parameter definition is damaged: a value is not JSON");
}

#[test]
fn a_bindings_key_has_a_hash_only_of_arguments() {
    let bind = |arguments: Table<'_>| {
        let to = Destination::Queue(queue("q"));
        Definition::Binding(Binding::new(vhost("/"), exchange("x"), to, b"k", arguments))
    };
    let plain = bind(Table::EMPTY);
    assert_eq!(plain.key(), [6, 1, b'/', 1, b'x', b'q', 1, b'q', 1, b'k']);
    assert_eq!(plain.encode(), [1, 0, 0, 0, 0]);
    let table = TableBuf::new().with("b", Value::I32(1)).with("a", Value::I32(2));
    assert_eq!(bind(table.as_table()).key().len(), plain.key().len() + 32);
}

#[test]
fn the_order_of_arguments_makes_no_other_binding() {
    let bind = |arguments: &TableBuf| {
        let to = Destination::Exchange(exchange("y"));
        Binding::new(vhost("/"), exchange("x"), to, b"k", arguments.as_table())
    };
    let (one, two) = (Value::I32(1), Value::LongStr(b"all"));
    let there = bind(&TableBuf::new().with("n", one).with("x-match", two));
    let back = bind(&TableBuf::new().with("x-match", two).with("n", one));
    assert_eq!(there, back);
    assert_eq!(there.key(), back.key());
    assert_ne!(there.key(), bind(&TableBuf::new().with("n", Value::I64(1)).with("x-match", two)).key());
}

#[test]
fn keys_sort_by_kind_and_vhost() {
    let prefix_in_vhost = |kind, vhost: &VhostName| {
        let mut key = Writer::key(kind);
        key.name(vhost.as_str());
        key.finish()
    };
    let a = Definition::Queue(queue_in("a", "q")).key();
    let b = Definition::Queue(queue_in("b", "q")).key();
    assert!(a.starts_with(&prefix(Kind::Queue)) && a.starts_with(&prefix_in_vhost(Kind::Queue, &vhost("a"))));
    assert!(!b.starts_with(&prefix_in_vhost(Kind::Queue, &vhost("a"))));
    // "ab" does not begin with the prefix of "a": lengths come first.
    assert!(!Definition::Queue(queue_in("ab", "q")).key().starts_with(&prefix_in_vhost(Kind::Queue, &vhost("a"))));
    assert!(Definition::Vhost(Vhost::new(vhost("z"))).key() < a);
}

#[test]
fn damage_is_reported() {
    let definition = Definition::Queue(queue_in("/", "q"));
    let (key, value) = (definition.key(), definition.encode());
    check_damaged(&[], &value, "definition of unknown kind 0");
    check_damaged(&[99], &value, "definition of unknown kind 99");
    check_damaged(&key, &[], "Queue definition is damaged: the value is empty");
    check_damaged(&key, &[2], "Queue definition of unknown version 2");
    check_damaged(&key, &value[..5], "Queue definition is damaged: it is too short");
    check_damaged(&key, &[&value[..], &[0]].concat(), "Queue definition is damaged: the value is too long");
    check_damaged(&[&key[..], &[0]].concat(), &value, "Queue definition is damaged: the key does not fit the value");
    check_damaged(&[5, 1, 0xff, 1, b'q'], &value, "Queue definition is damaged: a name is not valid");
    let mut flags = value.clone();
    flags[9] = 0x80;
    check_damaged(&key, &flags, "Queue definition is damaged: a flag is unknown");
    let table = TableBuf::new().with("x-queue-type", Value::LongStr(b"later"));
    let mut later = value[..10].to_vec();
    later.extend(u32::try_from(table.as_table().as_bytes().len()).unwrap().to_le_bytes());
    later.extend(table.as_table().as_bytes());
    check_damaged(&key, &later, "Queue definition is damaged: the queue type is unknown");
}

#[test]
#[should_panic(expected = "an exclusive queue is never stored")]
fn exclusive_queues_are_never_stored() {
    let _ = Definition::Queue(Queue { is_exclusive: true, ..queue_in("/", "q") }).encode();
}

#[test]
fn a_second_declaration_must_mean_the_same() {
    let own = queue_in("/", "q");
    assert_eq!(own.check_redeclare(true, false, Table::EMPTY), Ok(()));
    assert_eq!(
        own.check_redeclare(false, false, Table::EMPTY).unwrap_err().to_string(),
        "inequivalent arg 'durable' for queue 'q' in vhost '/': received 'false' but current is 'true'"
    );
    assert_eq!(
        own.check_redeclare(true, true, Table::EMPTY).unwrap_err().to_string(),
        "inequivalent arg 'auto_delete' for queue 'q' in vhost '/': received 'true' but current is 'false'"
    );
    let own = Exchange {
        vhost: vhost("/"),
        name: exchange("x"),
        exchange_type: ExchangeType::Direct,
        is_durable: true,
        is_auto_delete: false,
        is_internal: false,
        arguments: ExchangeArguments::default(),
    };
    assert_eq!(own.check_redeclare(ExchangeType::Direct, true, false, false, Table::EMPTY), Ok(()));
    assert_eq!(
        own.check_redeclare(ExchangeType::Fanout, false, false, false, Table::EMPTY).unwrap_err().to_string(),
        "inequivalent arg 'type' for exchange 'x' in vhost '/': received 'fanout' but current is 'direct'"
    );
    assert_eq!(
        own.check_redeclare(ExchangeType::Direct, true, false, true, Table::EMPTY).unwrap_err().to_string(),
        "inequivalent arg 'internal' for exchange 'x' in vhost '/': received 'true' but current is 'false'"
    );
}

fn table() -> impl Strategy<Value = TableBuf> {
    let field = ("[a-z-]{0,6}", prop_oneof![any::<i64>().prop_map(Ok), "\\PC{0,6}".prop_map(Err)]);
    proptest::collection::vec(field, 0..4).prop_map(|fields| {
        fields.iter().fold(TableBuf::new(), |table, (name, value)| match value {
            Ok(number) => table.with(name, Value::I64(*number)),
            Err(text) => table.with(name, Value::LongStr(text.as_bytes())),
        })
    })
}

fn name() -> impl Strategy<Value = String> {
    "\\PC{1,12}"
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(".*".to_owned()), "\\^[a-z]{1,6}(\\\\\\.|\\.\\*)?"]
}

prop_compose! {
    fn any_vhost()(
        own in name(), description in "\\PC{0,20}", tags in proptest::collection::vec(name(), 0..3),
        default_queue_type in proptest::option::of("[a-z]{1,8}"), is_protected in any::<bool>(),
        limits in any::<[Option<u64>; 4]>(),
    ) -> Definition {
        let [connection_max, queue_max, publish_rate_max_per_s, publish_bytes_max_per_s] = limits;
        Definition::Vhost(Vhost {
            name: vhost(&own),
            metadata: VhostMetadata { description, tags, default_queue_type },
            is_protected,
            limits: VhostLimits { connection_max, queue_max, publish_rate_max_per_s, publish_bytes_max_per_s },
        })
    }
}

prop_compose! {
    fn any_user()(
        own in name(), hashes in any::<[Option<([u8; 4], [u8; 8])>; 2]>(), tags in "[a-z,]{0,12}",
        limits in any::<[Option<u32>; 2]>(),
    ) -> Definition {
        let hashes = hashes.map(|hash| hash.map(|(salt, password)| PasswordHash::new(&password, salt)));
        let [password_hash, second_password_hash] = hashes;
        let [connection_max, channel_max] = limits;
        Definition::User(User {
            name: UserName::parse(own.as_bytes()).unwrap(),
            password_hash,
            second_password_hash,
            tags: Tags::parse(&tags),
            limits: UserLimits { connection_max, channel_max },
        })
    }
}

prop_compose! {
    fn any_permission()(
        of in name(), user in name(), configure in pattern(), write in pattern(), read in pattern(),
    ) -> Definition {
        Definition::Permission(UserPermission {
            vhost: vhost(&of),
            user: UserName::parse(user.as_bytes()).unwrap(),
            permission: Permission::parse(&configure, &write, &read).unwrap(),
        })
    }
}

prop_compose! {
    fn any_exchange()(
        of in name(), own in name(), which in 0..ExchangeType::ALL.len(), flags in any::<[bool; 3]>(), arguments in table(),
    ) -> Definition {
        let [is_durable, is_auto_delete, is_internal] = flags;
        Definition::Exchange(Exchange {
            vhost: vhost(&of),
            name: exchange(&own),
            exchange_type: ExchangeType::ALL[which],
            is_durable,
            is_auto_delete,
            is_internal,
            arguments: ExchangeArguments::from_stored(arguments),
        })
    }
}

prop_compose! {
    fn any_queue()(
        of in name(), own in name(), id in any::<u64>(), flags in any::<[bool; 2]>(), arguments in table(),
    ) -> Definition {
        let [is_durable, is_auto_delete] = flags;
        Definition::Queue(Queue {
            vhost: vhost(&of),
            name: queue(&own),
            id: QueueId(id),
            is_durable,
            is_auto_delete,
            is_exclusive: false,
            arguments: QueueArguments::from_stored(arguments).unwrap(),
        })
    }
}

prop_compose! {
    fn any_binding()(
        of in name(), source in name(), destination in name(), is_queue in any::<bool>(),
        key in proptest::collection::vec(any::<u8>(), 0..20), arguments in table(),
    ) -> Definition {
        let destination = if is_queue { Destination::Queue(queue(&destination)) } else {
            Destination::Exchange(exchange(&destination))
        };
        Definition::Binding(Binding::new(vhost(&of), exchange(&source), destination, &key, arguments.as_table()))
    }
}

prop_compose! {
    fn any_topic_permission()(
        of in name(), user in name(), on in name(), write in pattern(), read in pattern(),
    ) -> Definition {
        let user = UserName::parse(user.as_bytes()).unwrap();
        let permission = TopicPermission::parse(vhost(&of), user, exchange(&on), &write, &read);
        Definition::TopicPermission(permission.unwrap())
    }
}

prop_compose! {
    fn any_policy()(
        of in name(), own in name(), is_operators in any::<bool>(), pattern in pattern(), apply_to in 0..6_u8,
        priority in any::<i64>(), number in any::<i64>(), text in "\\PC{0,6}",
    ) -> Definition {
        let serde_json::Value::Object(settings) = serde_json::json!({"max-length": number, "overflow": text}) else {
            unreachable!("it is an object")
        };
        Definition::Policy(Policy {
            vhost: vhost(&of),
            name: Policy::parse_name(&own).unwrap(),
            kind: if is_operators { PolicyKind::Operator } else { PolicyKind::User },
            pattern: Policy::parse_pattern(&pattern).unwrap(),
            apply_to: ApplyTo::from_byte(apply_to).unwrap(),
            priority,
            definition: PolicyDefinition::from_stored(settings),
        })
    }
}

prop_compose! {
    fn any_global_parameter()(own in name(), value in "\\PC{0,6}") -> Definition {
        Definition::GlobalParameter(GlobalParameter { name: own.into(), value: serde_json::json!({ "v": [value] }) })
    }
}

prop_compose! {
    fn any_parameter()(of in name(), component in "[a-z.-]{1,12}", own in name(), value in "\\PC{0,6}") -> Definition {
        let value = serde_json::json!({ "v": [value] });
        Definition::Parameter(VhostParameter { vhost: vhost(&of), component: component.into(), name: own.into(), value })
    }
}

fn definition() -> impl Strategy<Value = Definition> {
    prop_oneof![
        any_vhost(),
        any_user(),
        any_permission(),
        any_exchange(),
        any_queue(),
        any_binding(),
        any_topic_permission(),
        any_policy(),
        any_global_parameter(),
        any_parameter(),
    ]
}

#[test]
fn values_of_the_first_version_are_read() {
    let ann =
        User::new(UserName::parse(b"ann").unwrap(), Some(PasswordHash::new(b"pw", [1, 2, 3, 4])), Tags::parse("a"));
    let hash = ann.password_hash.as_ref().unwrap().as_bytes();
    let value = [&[1, 36], hash, &[1, 0, 0, 0, 1, 0, 0, 0, b'a']].concat();
    let definition = Definition::User(ann);
    assert_eq!(Definition::decode(&definition.key(), &value), Ok(definition));
    let definition = Definition::Vhost(Vhost::new(vhost("/")));
    let value = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(Definition::decode(&definition.key(), &value), Ok(definition));
}

proptest! {
    #[test]
    fn every_definition_survives_its_bytes(definition in definition()) {
        let (key, value) = (definition.key(), definition.encode());
        prop_assert!(key.starts_with(&prefix(definition.kind())));
        prop_assert_eq!(Definition::decode(&key, &value), Ok(definition));
    }

    #[test]
    fn different_things_have_different_keys(a in definition(), b in definition()) {
        // The same key and value mean the same definition; the same key alone means another version of it.
        prop_assert_eq!(a == b, (a.key(), a.encode()) == (b.key(), b.encode()));
    }

    #[test]
    fn damaged_bytes_never_panic(definition in definition(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (mut key, mut value) = (definition.key(), definition.encode());
        let place = at.index(key.len() + value.len());
        if place < key.len() { key[place] = byte } else { value[place - key.len()] = byte }
        if let Ok(decoded) = Definition::decode(&key, &value) {
            prop_assert_eq!(decoded.key(), key);
        }
    }

    #[test]
    fn cut_bytes_are_refused(definition in definition(), at in any::<prop::sample::Index>()) {
        let (key, value) = (definition.key(), definition.encode());
        prop_assert!(Definition::decode(&key, &value[..at.index(value.len())]).is_err());
        prop_assert!(Definition::decode(&key[..at.index(key.len())], &value).is_err());
    }
}
