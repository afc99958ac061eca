//! Every method of the description, with random arguments: bytes → value → the same bytes, and no other length.

use crate::generator::description::{Argument, Class, Kind, Method as Description, Protocol};
use crate::random::Random;
use crate::tables;
use amqp::method::DecodeError;
use amqp::{Malformed, Method};

const PROTOCOL: &str = include_str!("../../protocol/amqp0-9-1.txt");

pub(crate) fn protocol() -> Protocol {
    Protocol::parse(PROTOCOL).expect("the description is well-formed")
}

/// A payload for each method.
pub(crate) fn one_of_each() -> Vec<Vec<u8>> {
    let mut random = Random::from_seed(1);
    let protocol = protocol();
    let methods = protocol.classes.iter().flat_map(|class| class.methods.iter().map(move |method| (class, method)));
    methods.map(|(class, method)| payload(class, method, &mut random)).collect()
}

fn payload(class: &Class, method: &Description, random: &mut Random) -> Vec<u8> {
    let mut payload = [class.id.to_be_bytes(), method.id.to_be_bytes()].concat();
    let mut bit_count = 0;
    for argument in &method.arguments {
        if argument.kind != Kind::Bit {
            bit_count = 0;
            put_argument(argument, random, &mut payload);
            continue;
        }
        if bit_count % 8 == 0 {
            payload.push(0);
        }
        let octet = payload.last_mut().expect("an octet for bits");
        *octet |= (random.below(2) as u8) << (bit_count % 8);
        bit_count += 1;
    }
    payload
}

fn put_argument(argument: &Argument, random: &mut Random, payload: &mut Vec<u8>) {
    let len = random.below(20);
    match argument.kind {
        Kind::Bit => unreachable!("bits are packed by the caller"),
        Kind::Octet => payload.extend(random.bytes(1)),
        Kind::Short => payload.extend(random.bytes(2)),
        Kind::Long => payload.extend(random.bytes(4)),
        Kind::LongLong => payload.extend(random.bytes(8)),
        Kind::ShortStr | Kind::Utf8 => {
            payload.push(len as u8);
            payload.extend(if argument.kind == Kind::Utf8 { random.text(len) } else { random.bytes(len) });
        }
        Kind::LongStr => put_long(&random.bytes(len), payload),
        Kind::Table => {
            let samples = tables::samples();
            put_long(&samples[random.below(samples.len())], payload);
        }
    }
}

fn put_long(bytes: &[u8], payload: &mut Vec<u8>) {
    payload.extend((bytes.len() as u32).to_be_bytes());
    payload.extend(bytes);
}

/// Calls the function for each method of the description with many random payloads.
fn for_each_method(mut check: impl FnMut(&Class, &Description, &[u8])) {
    let mut random = Random::from_seed(7);
    let protocol = protocol();
    for class in &protocol.classes {
        for method in &class.methods {
            for _ in 0..20 {
                check(class, method, &payload(class, method, &mut random));
            }
        }
    }
}

#[test]
fn every_method_encodes_to_what_it_was_decoded_from() {
    for_each_method(|class, description, payload| {
        let method = Method::decode(payload).unwrap_or_else(|error| panic!("{}: {error}", description.name));
        assert_eq!((method.class_id(), method.method_id()), (class.id, description.id));
        assert_eq!(method.name(), format!("{}.{}", class.name, description.name));
        assert_eq!(method.has_content(), description.has_content);
        let mut encoded = Vec::new();
        method.encode(&mut encoded);
        assert_eq!(encoded, payload, "{}", method.name());
        assert_eq!(Method::decode(&encoded), Ok(method));
    });
}

#[test]
fn every_method_has_to_end_where_its_last_argument_ends() {
    for_each_method(|class, method, payload| {
        let (class_id, method_id) = (class.id, method.id);
        for len in 4..payload.len() {
            let expected = DecodeError::Malformed { class_id, method_id, reason: Malformed::Truncated };
            assert_eq!(Method::decode(&payload[..len]), Err(expected), "{} cut after {len}", method.name);
        }
        let longer = [payload, &[0]].concat();
        let expected = DecodeError::Malformed { class_id, method_id, reason: Malformed::Trailing };
        assert_eq!(Method::decode(&longer), Err(expected), "{}", method.name);
    });
}

#[test]
fn generated_code_is_what_the_description_gives() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated");
    let files = crate::generator::generate(PROTOCOL).expect("the description is well-formed");
    for (name, text) in &files {
        let found = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(found == *text, "src/generated/{name} is stale: cargo run -p amqp --example generate");
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), files.len(), "src/generated has a file too many");
}

#[test]
fn rabbitmqs_extensions_are_there() {
    let names: Vec<&str> = one_of_each().iter().map(|payload| Method::decode(payload).unwrap().name()).collect();
    for name in [
        "confirm.select",
        "confirm.select-ok",
        "basic.nack",
        "exchange.bind",
        "exchange.bind-ok",
        "exchange.unbind",
        "exchange.unbind-ok",
        "connection.blocked",
        "connection.unblocked",
        "connection.update-secret",
        "connection.update-secret-ok",
        "access.request",
        "basic.recover-async",
    ] {
        assert!(names.contains(&name), "{name}");
    }
}
