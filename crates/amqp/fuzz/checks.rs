//! What must hold for any input whatever. Each function takes bytes and panics if something does not hold.

use amqp::content::{self, ContentHeader};
use amqp::frame::{self, FRAME_OVERHEAD};
use amqp::{Array, ArrayBuf, Method, Table, TableBuf, Value};

/// A stream of frames: each that is found is what its bytes say, and no shorter input has it.
pub(crate) fn frame(input: &[u8]) {
    for frame_len_max in [0, FRAME_OVERHEAD, 4096] {
        let mut rest = input;
        while let Ok(Some((frame, consumed))) = frame::decode_frame(rest, frame_len_max) {
            let (bytes, after) = rest.split_at(consumed);
            assert!(frame_len_max == 0 || consumed <= frame_len_max as usize, "frame is longer than allowed");
            let mut again = Vec::new();
            frame::put_frame(&mut again, &frame);
            assert_eq!(again, bytes, "a frame encodes to what it was decoded from");
            assert_eq!(frame::decode_frame(&bytes[..consumed - 1], frame_len_max), Ok(None));
            rest = after;
        }
    }
}

/// The payload of a method frame.
pub(crate) fn method(input: &[u8]) {
    let method = match Method::decode(input) {
        Ok(method) => method,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut encoded = Vec::new();
    method.encode(&mut encoded);
    // Bits without a meaning are the only thing that may differ.
    assert_eq!(encoded.len(), input.len(), "{} has an encoding of the same length", method.name());
    assert_eq!(encoded[..4], input[..4]);
    assert_eq!(Method::decode(&encoded), Ok(method));
    assert!(!format!("{method:?}").is_empty());
    for len in 0..input.len() {
        assert!(Method::decode(&input[..len]).is_err(), "{} cannot end after {len} bytes", method.name());
    }
}

/// The payload of a header frame.
pub(crate) fn header(input: &[u8]) {
    let header = match ContentHeader::decode(input) {
        Ok(header) => header,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    let mut expected = input.to_vec();
    expected[13] &= !0b11; // the flags that mean nothing
    assert_eq!(encoded, expected);
    assert_eq!(ContentHeader::decode(&encoded), Ok(header));

    let mut whole = Vec::new();
    content::put_header(&mut whole, 7, &header);
    let mut carried = Vec::new();
    content::put_header_encoded(&mut carried, 7, header.body_len, content::properties_bytes(input));
    assert_eq!(whole, carried, "properties can be carried as bytes");
}

/// The fields of a table.
pub(crate) fn table(input: &[u8]) {
    let table = match Table::decode(input) {
        Ok(table) => table,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(table.as_bytes(), input, "a table keeps its bytes");
    let rebuilt = rebuild_table(table);
    assert_eq!(rebuilt.as_table().as_bytes().len(), input.len(), "iteration leaves nothing out");
    assert_eq!(Table::decode(rebuilt.as_table().as_bytes()), Ok(rebuilt.as_table()));
    assert_eq!(rebuild_table(rebuilt.as_table()), rebuilt);
    assert!(!format!("{table:?}").is_empty());
}

/// The same table, encoded value by value.
fn rebuild_table(table: Table<'_>) -> TableBuf {
    let mut rebuilt = TableBuf::new();
    for (name, value) in table.iter() {
        with_rebuilt(value, |value| rebuilt.push(name, value).expect("a decoded name is short enough"));
    }
    rebuilt
}

fn rebuild_array(array: Array<'_>) -> ArrayBuf {
    let mut rebuilt = ArrayBuf::new();
    for value in array.iter() {
        with_rebuilt(value, |value| rebuilt.push(value));
    }
    rebuilt
}

fn with_rebuilt(value: Value<'_>, mut push: impl FnMut(Value<'_>)) {
    match value {
        Value::Table(table) => push(Value::Table(rebuild_table(table).as_table())),
        Value::Array(array) => push(Value::Array(rebuild_array(array).as_array())),
        value => push(value),
    }
}
