//! The same bytes to other people's codecs: `amq-protocol-types` for field tables, pika for methods.

use crate::generator::description::{Argument, Kind};
use crate::golden::bytes_of_hex;
use crate::methods::protocol;
use crate::tables;
use amq_protocol_types::generation::gen_field_table;
use amq_protocol_types::parsing::parse_field_table;
use amq_protocol_types::{AMQPValue, FieldTable};
use amqp::{Method, Table, Value};
use proptest::prelude::*;
use std::collections::HashSet;

fn as_long(table: Table<'_>) -> Vec<u8> {
    let mut long = (table.as_bytes().len() as u32).to_be_bytes().to_vec();
    long.extend_from_slice(table.as_bytes());
    long
}

/// The other codec keeps one field of a name, ordered by name.
fn check_same_table(ours: Table<'_>, theirs: &FieldTable) {
    let names: HashSet<&[u8]> = ours.iter().map(|(name, _)| name).collect();
    assert_eq!(theirs.inner().len(), names.len());
    for (name, value) in theirs {
        let (_, last) = ours.iter().filter(|(found, _)| *found == name.as_str().as_bytes()).last().unwrap();
        check_same_value(last, value);
    }
}

fn check_same_value(ours: Value<'_>, theirs: &AMQPValue) {
    let is_same = match (ours, theirs) {
        (Value::Bool(ours), AMQPValue::Boolean(theirs)) => ours == *theirs,
        (Value::I8(ours), AMQPValue::ShortShortInt(theirs)) => ours == *theirs,
        (Value::U8(ours), AMQPValue::ShortShortUInt(theirs)) => ours == *theirs,
        (Value::I16(ours), AMQPValue::ShortInt(theirs)) => ours == *theirs,
        (Value::U16(ours), AMQPValue::ShortUInt(theirs)) => ours == *theirs,
        (Value::I32(ours), AMQPValue::LongInt(theirs)) => ours == *theirs,
        (Value::U32(ours), AMQPValue::LongUInt(theirs)) => ours == *theirs,
        (Value::I64(ours), AMQPValue::LongLongInt(theirs)) => ours == *theirs,
        (Value::F32(ours), AMQPValue::Float(theirs)) => ours.to_bits() == theirs.to_bits(),
        (Value::F64(ours), AMQPValue::Double(theirs)) => ours.to_bits() == theirs.to_bits(),
        (Value::Decimal { scale, value }, AMQPValue::DecimalValue(theirs)) => {
            (scale, value) == (theirs.scale, theirs.value)
        }
        (Value::LongStr(ours), AMQPValue::LongString(theirs)) => ours == theirs.as_bytes(),
        (Value::Timestamp(ours), AMQPValue::Timestamp(theirs)) => ours == *theirs,
        (Value::Binary(ours), AMQPValue::ByteArray(theirs)) => ours == theirs.as_slice(),
        (Value::Void, AMQPValue::Void) => true,
        (Value::Table(ours), AMQPValue::FieldTable(theirs)) => {
            check_same_table(ours, theirs);
            true
        }
        (Value::Array(ours), AMQPValue::FieldArray(theirs)) => {
            assert_eq!(ours.iter().count(), theirs.as_slice().len());
            ours.iter().zip(theirs.as_slice()).for_each(|(ours, theirs)| check_same_value(ours, theirs));
            true
        }
        _ => false,
    };
    assert!(is_same, "{ours:?} is not {theirs:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn amq_protocol_reads_our_tables_and_we_read_theirs(fields in tables::fields()) {
        let ours = tables::table_of(&fields);
        let long = as_long(ours.as_table());
        let (rest, theirs) = parse_field_table(&long[..]).expect("amq-protocol reads it");
        prop_assert!(rest.is_empty());
        check_same_table(ours.as_table(), &theirs);

        let written = cookie_factory::gen_simple(gen_field_table(&theirs), Vec::new()).unwrap();
        let again = Table::decode(&written[4..]).expect("we read it");
        check_same_table(again, &theirs);
    }

    #[test]
    fn both_take_or_both_refuse_mutated_tables(
        fields in tables::fields(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let built = tables::table_of(&fields);
        let mut bytes = built.as_table().as_bytes().to_vec();
        if bytes.is_empty() {
            return Ok(());
        }
        for (at, octet) in changes {
            let at = at.index(bytes.len());
            bytes[at] = octet;
        }
        let long = [&(bytes.len() as u32).to_be_bytes(), &bytes[..]].concat();
        match (Table::decode(&bytes), parse_field_table(&long[..])) {
            (Ok(ours), Ok((_, theirs))) => check_same_table(ours, &theirs),
            (Err(_), Err(_)) => {}
            (Ok(ours), Err(_)) => prop_assert!(!has_utf8_names(ours), "refused by amq-protocol: {ours:?}"),
            // It takes `U` for a 16-bit integer, which RabbitMQ does not know.
            (Err(error), Ok(_)) => prop_assert_eq!(error, amqp::table::TableError::UnknownType(b'U')),
        }
    }
}

/// The other codec wants names to be UTF-8; RabbitMQ does not look.
fn has_utf8_names(table: Table<'_>) -> bool {
    table.iter().all(|(name, value)| std::str::from_utf8(name).is_ok() && value_has_utf8_names(value))
}

fn value_has_utf8_names(value: Value<'_>) -> bool {
    match value {
        Value::Table(table) => has_utf8_names(table),
        Value::Array(array) => array.iter().all(value_has_utf8_names),
        _ => true,
    }
}

/// A line of `pika-methods.txt`: a payload, the method's name, and its arguments' values.
fn check_pikas_method(line: &str) -> &str {
    let mut words = line.split(' ');
    let payload = bytes_of_hex(words.next().expect("payload"));
    let name = words.next().expect("name");
    let method = Method::decode(&payload).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(method.name(), name);
    let shown = format!("{method:?}");
    let protocol = protocol();
    let arguments = protocol
        .classes
        .iter()
        .flat_map(|class| class.methods.iter().filter(|method| format!("{}.{}", class.name, method.name) == name));
    for argument in arguments.flat_map(|method| &method.arguments) {
        let value = words.next().and_then(|word| word.split_once('=')).filter(|(found, _)| *found == argument.name);
        let (_, value) = value.unwrap_or_else(|| panic!("{name} of pika has no {} here: {line}", argument.name));
        let expected = debug_text(argument, value);
        assert!(shown.contains(&expected), "{shown} has not {expected}");
    }
    assert_eq!(words.next(), None);
    let mut encoded = Vec::new();
    method.encode(&mut encoded);
    assert_eq!(encoded, payload, "{name}");
    name
}

fn debug_text(argument: &Argument, value: &str) -> String {
    let field = argument.field();
    match argument.kind {
        Kind::ShortStr | Kind::Utf8 | Kind::LongStr => format!("{field}: {:?}", value.as_bytes()),
        Kind::Table => format!("{field}: {{\"k\": LongStr({value:?})}}"),
        _ => format!("{field}: {value}"),
    }
}

/// The method that Warren has besides, for proxies.
const OF_WARREN: &str = "channel.on-behalf-of";

#[test]
fn pika_writes_every_method_as_we_do() {
    let names: HashSet<&str> = include_str!("../encoders/pika-methods.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(check_pikas_method)
        .collect();
    for class in protocol().classes {
        for method in class.methods {
            let name = format!("{}.{}", class.name, method.name);
            let is_written = names.contains(name.as_str()) || name == OF_WARREN;
            assert!(is_written, "{name} is not in pika-methods.txt");
        }
    }
}
