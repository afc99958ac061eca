//! Field tables: every type, nesting, order, and what must be refused.

use amqp::limits::{TABLE_DEPTH_MAX, TABLE_LEN_MAX};
use amqp::table::TableError;
use amqp::{Array, ArrayBuf, Table, TableBuf, Value};
use proptest::prelude::*;

/// A value that owns itself, for random ones.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Leaf(Leaf),
    Table(Vec<(String, Tree)>),
    Array(Vec<Tree>),
}

/// As [`Value`], without tables and arrays.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    F32(f32),
    F64(f64),
    Decimal(u8, u32),
    LongStr(Vec<u8>),
    Timestamp(u64),
    Binary(Vec<u8>),
    Void,
}

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        any::<bool>().prop_map(Leaf::Bool),
        any::<i8>().prop_map(Leaf::I8),
        any::<u8>().prop_map(Leaf::U8),
        any::<i16>().prop_map(Leaf::I16),
        any::<u16>().prop_map(Leaf::U16),
        any::<i32>().prop_map(Leaf::I32),
        any::<u32>().prop_map(Leaf::U32),
        any::<i64>().prop_map(Leaf::I64),
        any::<f32>().prop_map(Leaf::F32),
        any::<f64>().prop_map(Leaf::F64),
        any::<(u8, u32)>().prop_map(|(scale, value)| Leaf::Decimal(scale, value)),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Leaf::LongStr),
        any::<u64>().prop_map(Leaf::Timestamp),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Leaf::Binary),
        Just(Leaf::Void),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    leaf().prop_map(Tree::Leaf).prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(("[a-z-]{0,12}", inner.clone()), 0..6).prop_map(Tree::Table),
            proptest::collection::vec(inner, 0..6).prop_map(Tree::Array),
        ]
    })
}

/// The fields of a random table; names may occur twice.
pub(crate) fn fields() -> impl Strategy<Value = Vec<(String, Tree)>> {
    proptest::collection::vec(("[a-z-]{0,12}", tree()), 0..8)
}

impl Leaf {
    fn value(&self) -> Value<'_> {
        match self {
            Leaf::Bool(value) => Value::Bool(*value),
            Leaf::I8(value) => Value::I8(*value),
            Leaf::U8(value) => Value::U8(*value),
            Leaf::I16(value) => Value::I16(*value),
            Leaf::U16(value) => Value::U16(*value),
            Leaf::I32(value) => Value::I32(*value),
            Leaf::U32(value) => Value::U32(*value),
            Leaf::I64(value) => Value::I64(*value),
            Leaf::F32(value) => Value::F32(*value),
            Leaf::F64(value) => Value::F64(*value),
            Leaf::Decimal(scale, value) => Value::Decimal { scale: *scale, value: *value },
            Leaf::LongStr(bytes) => Value::LongStr(bytes),
            Leaf::Timestamp(value) => Value::Timestamp(*value),
            Leaf::Binary(bytes) => Value::Binary(bytes),
            Leaf::Void => Value::Void,
        }
    }
}

pub(crate) fn table_of(fields: &[(String, Tree)]) -> TableBuf {
    let mut table = TableBuf::new();
    for (name, tree) in fields {
        with_value(tree, &mut |value| table.push(name.as_bytes(), value).unwrap());
    }
    table
}

fn array_of(values: &[Tree]) -> ArrayBuf {
    let mut array = ArrayBuf::new();
    for tree in values {
        with_value(tree, &mut |value| array.push(value));
    }
    array
}

fn with_value(tree: &Tree, push: &mut dyn FnMut(Value<'_>)) {
    match tree {
        Tree::Leaf(leaf) => push(leaf.value()),
        Tree::Table(fields) => push(Value::Table(table_of(fields).as_table())),
        Tree::Array(values) => push(Value::Array(array_of(values).as_array())),
    }
}

#[track_caller]
fn check_table(table: Table<'_>, fields: &[(String, Tree)]) {
    assert_eq!(table.iter().count(), fields.len());
    for ((name, value), (expected_name, tree)) in table.iter().zip(fields) {
        assert_eq!(name, expected_name.as_bytes());
        check_value(value, tree);
    }
}

#[track_caller]
fn check_value(value: Value<'_>, tree: &Tree) {
    match (value, tree) {
        (value, Tree::Leaf(leaf)) => assert_eq!(value, leaf.value()),
        (Value::Table(table), Tree::Table(fields)) => check_table(table, fields),
        (Value::Array(array), Tree::Array(values)) => {
            assert_eq!(array.iter().count(), values.len());
            array.iter().zip(values).for_each(|(value, tree)| check_value(value, tree));
        }
        (value, tree) => panic!("{value:?} instead of {tree:?}"),
    }
}

/// Tables to mutate and to use as arguments: fields without the length before them.
pub(crate) fn samples() -> Vec<Vec<u8>> {
    let deaths = ArrayBuf::new().with(Value::Table(
        TableBuf::new()
            .with("count", Value::I64(3))
            .with("reason", Value::LongStr(b"expired"))
            .with("time", Value::Timestamp(1_700_000_000))
            .with("routing-keys", Value::Array(ArrayBuf::new().with(Value::LongStr(b"a.b")).as_array()))
            .as_table(),
    ));
    let all = TableBuf::new()
        .with("t", Value::Bool(true))
        .with("b", Value::I8(-1))
        .with("B", Value::U8(255))
        .with("s", Value::I16(-2))
        .with("u", Value::U16(65_535))
        .with("I", Value::I32(-3))
        .with("i", Value::U32(u32::MAX))
        .with("l", Value::I64(i64::MIN))
        .with("f", Value::F32(1.5))
        .with("d", Value::F64(-2.25))
        .with("D", Value::Decimal { scale: 2, value: 314 })
        .with("S", Value::LongStr(b"classic"))
        .with("T", Value::Timestamp(u64::MAX))
        .with("F", Value::Table(Table::EMPTY))
        .with("A", Value::Array(Array::EMPTY))
        .with("x", Value::Binary(&[0, 255]))
        .with("V", Value::Void);
    let death = TableBuf::new().with("x-death", Value::Array(deaths.as_array())).with("", Value::Void);
    let tables = [TableBuf::new(), TableBuf::new().with("x-max-length", Value::I32(5)), death, all];
    tables.iter().map(|table| table.as_table().as_bytes().to_vec()).collect()
}

/// Tables within tables, `depth` in all.
fn nested(depth: u32) -> TableBuf {
    (1..depth).fold(TableBuf::new(), |inner, _| TableBuf::new().with("n", Value::Table(inner.as_table())))
}

#[track_caller]
fn check_refused(fields: &[u8], expected: TableError) {
    assert_eq!(Table::decode(fields), Err(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_was_put_into_a_table_comes_out(fields in fields()) {
        let built = table_of(&fields);
        let decoded = Table::decode(built.as_table().as_bytes()).unwrap();
        check_table(decoded, &fields);
        prop_assert_eq!(TableBuf::from(decoded), built);
    }

    #[test]
    fn set_changes_one_field_and_keeps_the_others(fields in fields(), name in "[a-z-]{0,2}") {
        let built = table_of(&fields);
        let mut changed = built.clone();
        changed.set(name.as_bytes(), Value::I8(7)).unwrap();
        prop_assert_eq!(changed.as_table().get(&name), Some(Value::I8(7)));
        prop_assert_eq!(changed.as_table().iter().filter(|(found, _)| *found == name.as_bytes()).count(), 1);
        let mut without = built.clone();
        prop_assert_eq!(without.remove(name.as_bytes()), built.as_table().get(&name).is_some());
        changed.remove(name.as_bytes());
        prop_assert_eq!(changed, without);
    }

    #[test]
    fn a_cut_table_is_refused_or_ends_between_two_fields(fields in fields(), cut in any::<prop::sample::Index>()) {
        let built = table_of(&fields);
        let bytes = built.as_table().as_bytes();
        let cut = cut.index(bytes.len() + 1);
        match Table::decode(&bytes[..cut]) {
            Ok(table) => prop_assert!(table.iter().zip(built.as_table().iter()).all(|(one, other)| one.0 == other.0)),
            Err(error) => prop_assert_eq!(error, TableError::Truncated),
        }
    }
}

#[test]
fn every_type_letter_is_read_as_rabbitmq_does() {
    for (bytes, expected) in [
        (&b"\x01kt\x02"[..], Value::Bool(true)),
        (b"\x01kb\xff", Value::I8(-1)),
        (b"\x01kB\xff", Value::U8(255)),
        (b"\x01ks\xff\xfe", Value::I16(-2)),
        (b"\x01ku\xff\xfe", Value::U16(65_534)),
        (b"\x01kI\xff\xff\xff\xfd", Value::I32(-3)),
        (b"\x01ki\xff\xff\xff\xfd", Value::U32(4_294_967_293)),
        (b"\x01kl\xff\xff\xff\xff\xff\xff\xff\xfc", Value::I64(-4)),
        (b"\x01kL\xff\xff\xff\xff\xff\xff\xff\xfc", Value::I64(-4)),
        (b"\x01kf\x3f\xc0\x00\x00", Value::F32(1.5)),
        (b"\x01kd\xc0\x02\x00\x00\x00\x00\x00\x00", Value::F64(-2.25)),
        (b"\x01kD\x02\x00\x00\x01\x3a", Value::Decimal { scale: 2, value: 314 }),
        (b"\x01kS\x00\x00\x00\x02\xff\xfe", Value::LongStr(b"\xff\xfe")),
        (b"\x01kT\x00\x00\x00\x00\x00\x00\x00\x09", Value::Timestamp(9)),
        (b"\x01kF\x00\x00\x00\x00", Value::Table(Table::EMPTY)),
        (b"\x01kA\x00\x00\x00\x00", Value::Array(Array::EMPTY)),
        (b"\x01kx\x00\x00\x00\x01\x09", Value::Binary(b"\x09")),
        (b"\x01kV", Value::Void),
    ] {
        assert_eq!(Table::decode(bytes).unwrap().get("k"), Some(expected));
    }
}

#[test]
fn letters_of_other_dialects_are_refused() {
    for letter in (0..=u8::MAX).filter(|letter| !b"tbBsuIilLfdDSTFAxV".contains(letter)) {
        check_refused(&[1, b'k', letter, 0, 0, 0, 0, 0, 0, 0, 0], TableError::UnknownType(letter));
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for bytes in [
        &b"\x05k"[..],
        b"\x01k",
        b"\x01kI\x00\x00\x00",
        b"\x01kS\x00\x00\x00\x01",
        b"\x01kS\xff\xff\xff\xff",
        b"\x01kF\x00\x00\x00\x05\x01kI\x00\x00",
        b"\x01kA\x00\x00\x00\x02I\x00",
        b"\x01kD\x00",
    ] {
        check_refused(bytes, TableError::Truncated);
    }
}

#[test]
fn nesting_ends_at_the_limit() {
    assert!(Table::decode(nested(TABLE_DEPTH_MAX).as_table().as_bytes()).is_ok());
    check_refused(nested(TABLE_DEPTH_MAX + 1).as_table().as_bytes(), TableError::TooDeep);
    let mut arrays = ArrayBuf::new();
    for _ in 0..TABLE_DEPTH_MAX {
        arrays = ArrayBuf::new().with(Value::Array(arrays.as_array()));
    }
    assert_eq!(Array::decode(arrays.as_array().as_bytes()), Err(TableError::TooDeep));
}

#[test]
fn length_ends_at_the_limit() {
    let mut table = TableBuf::new();
    table.push(b"k", Value::LongStr(&vec![0; TABLE_LEN_MAX - 7])).unwrap();
    assert!(Table::decode(table.as_table().as_bytes()).is_ok());
    table.push(b"", Value::Void).unwrap();
    check_refused(table.as_table().as_bytes(), TableError::TooLong);
}

#[test]
fn first_of_two_fields_with_one_name_is_found() {
    let table = TableBuf::new().with("k", Value::I8(1)).with("k", Value::I8(2));
    assert_eq!(table.as_table().get("k"), Some(Value::I8(1)));
    assert_eq!(table.as_table().iter().count(), 2);
}

#[test]
fn a_kept_field_keeps_its_letter() {
    let mut table = TableBuf::from(Table::decode(b"\x01aL\0\0\0\0\0\0\0\x05\x01bt\x02").unwrap());
    table.set(b"c", Value::Void).unwrap();
    assert_eq!(table.as_table().as_bytes(), b"\x01aL\0\0\0\0\0\0\0\x05\x01bt\x02\x01cV");
}

#[test]
fn a_name_has_at_most_255_bytes() {
    let mut table = TableBuf::new();
    assert!(table.push(&[b'n'; 255], Value::Void).is_ok());
    assert!(table.push(&[b'n'; 256], Value::Void).is_err());
    assert!(table.set(&[b'n'; 256], Value::Void).is_err());
    assert_eq!(table.as_table().iter().count(), 1);
}
