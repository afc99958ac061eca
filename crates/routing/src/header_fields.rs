//! A message's headers, made ready to be looked up: sorted by hash, the last of several of one name.

use std::hash::Hasher;

use amqp::table::Table;

use crate::header_value::HeaderValue;
use crate::seed::HashSeed;

/// One header. Borrows from the message.
#[derive(Debug)]
pub(crate) struct HeaderField<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: HeaderValue<&'a [u8]>,
    pub(crate) name_hash: u64,
    position: usize,
}

/// The headers of the message at hand, sorted when a headers exchange first asks.
#[derive(Debug)]
pub(crate) struct HeaderFields<'a> {
    seed: HashSeed,
    /// Not sorted yet.
    table: Option<Table<'a>>,
    fields: Vec<HeaderField<'a>>,
}

/// The memory of [`HeaderFields`], between messages.
#[derive(Debug, Default)]
pub(crate) struct HeaderFieldsMemory {
    fields: Vec<HeaderField<'static>>,
}

impl<'a> HeaderFields<'a> {
    pub(crate) fn new(seed: HashSeed, table: Option<Table<'a>>, memory: &mut HeaderFieldsMemory) -> Self {
        Self { seed, table, fields: std::mem::take(&mut memory.fields) }
    }

    /// Gives the memory back.
    pub(crate) fn release(self, memory: &mut HeaderFieldsMemory) {
        memory.fields = without_borrows(self.fields);
    }

    /// All headers, each name once.
    pub(crate) fn all(&mut self) -> &[HeaderField<'a>] {
        if let Some(table) = self.table.take() {
            self.sort(table);
        }
        &self.fields
    }

    fn sort(&mut self, table: Table<'a>) {
        let seed = self.seed;
        self.fields.extend(table.iter().enumerate().map(|(position, (name, value))| HeaderField {
            name,
            value: HeaderValue::of_header(value),
            name_hash: seed.hash(name),
            position,
        }));
        // The last of each name comes first, and is the one that `dedup` keeps.
        self.fields.sort_unstable_by(|a, b| {
            (a.name_hash, a.name).cmp(&(b.name_hash, b.name)).then(b.position.cmp(&a.position))
        });
        self.fields.dedup_by(|later, kept| later.name == kept.name);
    }
}

impl HeaderField<'_> {
    /// The hash of name and value together.
    pub(crate) fn pair_hash(&self, seed: HashSeed) -> u64 {
        pair_hash(seed, self.name_hash, self.value)
    }
}

/// The header of this name among sorted ones.
pub(crate) fn find<'f, 'a>(fields: &'f [HeaderField<'a>], name_hash: u64, name: &[u8]) -> Option<&'f HeaderField<'a>> {
    let position = fields.binary_search_by(|field| (field.name_hash, field.name).cmp(&(name_hash, name))).ok()?;
    Some(&fields[position])
}

/// The hash of a header by the hash of its name and its value.
pub(crate) fn pair_hash(seed: HashSeed, name_hash: u64, value: HeaderValue<&[u8]>) -> u64 {
    let mut hasher = seed.hasher();
    hasher.write_u64(name_hash);
    value.hash(&mut hasher);
    hasher.finish()
}

/// Empties a vector and lets go of its elements' lifetime. Collecting in place keeps the allocation.
fn without_borrows(mut fields: Vec<HeaderField<'_>>) -> Vec<HeaderField<'static>> {
    fields.clear();
    fields.into_iter().map(|_| unreachable!("it was emptied")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp::table::{TableBuf, Value};

    #[test]
    fn the_last_of_one_name_counts() {
        let table = TableBuf::new().with("a", Value::I32(1)).with("b", Value::Void).with("a", Value::I32(2));
        let mut memory = HeaderFieldsMemory::default();
        let mut headers = HeaderFields::new(HashSeed::fixed(), Some(table.as_table()), &mut memory);
        let fields = headers.all();
        assert_eq!(fields.len(), 2);
        let find = |name: &[u8]| find(fields, HashSeed::fixed().hash(name), name).map(|field| field.value);
        assert_eq!(find(b"a"), Some(HeaderValue::Integer(2)));
        assert_eq!(find(b"b"), Some(HeaderValue::Void));
        assert_eq!(find(b"c"), None);
    }

    #[test]
    fn memory_is_kept_between_messages() {
        let table = TableBuf::new().with("a", Value::I32(1)).with("b", Value::Void);
        let mut memory = HeaderFieldsMemory::default();
        let mut addresses = Vec::new();
        for _ in 0..3 {
            let mut headers = HeaderFields::new(HashSeed::fixed(), Some(table.as_table()), &mut memory);
            assert_eq!(headers.all().len(), 2);
            headers.release(&mut memory);
            assert!(memory.fields.capacity() >= 2 && memory.fields.is_empty());
            addresses.push(memory.fields.as_ptr());
        }
        assert_eq!(addresses[0], addresses[2]);
    }
}
