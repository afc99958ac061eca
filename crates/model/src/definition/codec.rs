//! The bytes of keys and values.

use amqp::table::{Table, TableBuf};

use super::kind::Kind;

/// Appends fields.
#[derive(Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn key(kind: Kind) -> Writer {
        Writer(vec![kind as u8])
    }

    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn i64(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }

    /// A limit, or none.
    pub(super) fn limit(&mut self, limit: Option<u64>) {
        self.u8(u8::from(limit.is_some()));
        if let Some(limit) = limit {
            self.u64(limit);
        }
    }

    /// At most 255 bytes, which every checked name has.
    pub(super) fn name(&mut self, name: &str) {
        self.short(name.as_bytes());
    }

    pub(super) fn short(&mut self, bytes: &[u8]) {
        self.u8(u8::try_from(bytes.len()).expect("names and routing keys have at most 255 bytes"));
        self.0.extend(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.long(text.as_bytes());
    }

    pub(super) fn table(&mut self, table: Table<'_>) {
        self.long(table.as_bytes());
    }

    pub(super) fn json(&mut self, value: &serde_json::Value) {
        self.text(&value.to_string());
    }

    fn long(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.0.extend(bytes);
    }

    /// How many bytes or items follow.
    pub(super) fn len(&mut self, len: usize) {
        let len = u32::try_from(len).expect("what a client or operator can send is far below 4 GiB");
        self.0.extend(len.to_le_bytes());
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Takes fields; the error says what is wrong.
pub(super) struct Reader<'a>(&'a [u8]);

type Read<T> = Result<T, &'static str>;

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn u8(&mut self) -> Read<u8> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u64(&mut self) -> Read<u64> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    pub(super) fn i64(&mut self) -> Read<i64> {
        self.u64().map(u64::cast_signed)
    }

    pub(super) fn limit(&mut self) -> Read<Option<u64>> {
        match self.flags(1)? {
            0 => Ok(None),
            _ => self.u64().map(Some),
        }
    }

    /// Bits of which only those of the mask may be set.
    pub(super) fn flags(&mut self, mask: u8) -> Read<u8> {
        let flags = self.u8()?;
        if flags & !mask == 0 { Ok(flags) } else { Err("a flag is unknown") }
    }

    pub(super) fn short(&mut self) -> Read<&'a [u8]> {
        let len = self.u8()?;
        self.take(usize::from(len))
    }

    pub(super) fn text(&mut self) -> Read<&'a str> {
        std::str::from_utf8(self.long()?).map_err(|_| "a text is not UTF-8")
    }

    pub(super) fn table(&mut self) -> Read<TableBuf> {
        Table::decode(self.long()?).map(TableBuf::from).map_err(|_| "the arguments are no table")
    }

    pub(super) fn json(&mut self) -> Read<serde_json::Value> {
        serde_json::from_str(self.text()?).map_err(|_| "a value is not JSON")
    }

    pub(super) fn long(&mut self) -> Read<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    pub(super) fn len(&mut self) -> Read<usize> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(TOO_SHORT)?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*bytes)).map_err(|_| "a length is too large")
    }

    /// A list, one item at a time, so that a damaged count costs nothing.
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Reader<'a>) -> Read<T>) -> Read<Vec<T>> {
        let count = self.len()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    fn take(&mut self, len: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(taken)
    }
}

const TOO_SHORT: &str = "it is too short";

macro_rules! read_name {
    ($reader:expr, $name:ty) => {
        <$name>::parse($reader.short()?).map_err(|_| "a name is not valid")?
    };
}

pub(super) use read_name;
