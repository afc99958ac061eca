//! As much of protobuf's encoding as pprof's file needs: varints, strings, and messages within messages.

/// A message that is being written. What is 0 or empty is its field's default, and left out.
#[derive(Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;

impl Message {
    pub(crate) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            varint(&mut self.bytes, field << 3 | VARINT);
            varint(&mut self.bytes, value);
        }
    }

    /// Numbers of a repeated field, in one.
    pub(crate) fn packed(&mut self, field: u64, values: &[u64]) {
        let mut bytes = Vec::new();
        values.iter().for_each(|value| varint(&mut bytes, *value));
        self.bytes(field, &bytes);
    }

    /// An element of a repeated field, which is written though it is empty.
    pub(crate) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        varint(&mut self.bytes, field << 3 | LENGTH_DELIMITED);
        varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn message(&mut self, field: u64, write: impl FnOnce(&mut Message)) {
        let mut message = Message::default();
        write(&mut message);
        self.bytes(field, &message.bytes);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_protobuf_writes_them() {
        let mut message = Message::default();
        message.number(1, 150);
        message.number(2, 0);
        message.bytes(2, b"testing");
        message.message(3, |inner| inner.number(1, 150));
        message.packed(6, &[3, 270, 86_942]);
        let expected: &[u8] = b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.into_bytes(), expected);
    }
}
