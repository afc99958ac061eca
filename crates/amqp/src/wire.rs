//! The elementary types: integers in network order, short and long strings.
//!
//! ```text
//!  shortstr  | len u8  | bytes |
//!  longstr   | len u32 | bytes |
//!  table     | len u32 | fields |      see `table`
//! ```
//!
//! Reading takes from the front of a slice and checks what is left before every step; there is no index arithmetic.

use crate::limits::SHORT_STR_LEN_MAX;
use crate::table::{Table, TableError};

/// What is wrong with bytes that should have been a method's arguments or a content header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The payload ends inside a value.
    #[error("payload ends too early")]
    Truncated,
    /// The payload continues after the last value.
    #[error("payload goes on after the last argument")]
    Trailing,
    /// A name is not UTF-8.
    #[error("malformed UTF-8 in shortstr")]
    Utf8,
    /// A field table is malformed.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Reads values from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// The input ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnexpectedEnd;

impl From<UnexpectedEnd> for Malformed {
    #[inline]
    fn from(_: UnexpectedEnd) -> Self {
        Malformed::Truncated
    }
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Reader { rest: input }
    }

    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Ends the reading: whatever is left is an error.
    #[inline]
    pub(crate) fn close(self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed::Trailing) }
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], UnexpectedEnd> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(UnexpectedEnd)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], UnexpectedEnd> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(UnexpectedEnd)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, UnexpectedEnd> {
        let (first, rest) = self.rest.split_first().ok_or(UnexpectedEnd)?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, UnexpectedEnd> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, UnexpectedEnd> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, UnexpectedEnd> {
        self.array().map(u64::from_be_bytes)
    }

    #[inline]
    pub(crate) fn short_str(&mut self) -> Result<&'a [u8], UnexpectedEnd> {
        let len = self.u8()?;
        self.take(usize::from(len))
    }

    /// A short string that has to be UTF-8.
    #[inline]
    pub(crate) fn utf8(&mut self) -> Result<&'a [u8], Malformed> {
        let bytes = self.short_str()?;
        std::str::from_utf8(bytes).map_err(|_| Malformed::Utf8)?;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn long_str(&mut self) -> Result<&'a [u8], UnexpectedEnd> {
        let len = self.u32()?;
        self.take(len as usize)
    }

    #[inline]
    pub(crate) fn table(&mut self) -> Result<Table<'a>, Malformed> {
        let fields = self.long_str()?;
        Ok(Table::decode(fields)?)
    }
}

#[inline]
pub(crate) fn put_u8(out: &mut Vec<u8>, value: u8) {
    out.push(value);
}

#[inline]
pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

#[inline]
pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Writes a short string. What does not fit into one is cut off: the frame stays well-formed whatever a text was made of.
#[inline]
pub(crate) fn put_short_str(out: &mut Vec<u8>, bytes: &[u8]) {
    let kept = &bytes[..bytes.len().min(SHORT_STR_LEN_MAX)];
    out.push(kept.len() as u8);
    out.extend_from_slice(kept);
}

/// Writes a long string; no longer than a `u32` can say, which no frame could carry anyway.
#[inline]
pub(crate) fn put_long_str(out: &mut Vec<u8>, bytes: &[u8]) {
    let kept = &bytes[..bytes.len().min(u32::MAX as usize)];
    put_u32(out, kept.len() as u32);
    out.extend_from_slice(kept);
}

#[inline]
pub(crate) fn put_table(out: &mut Vec<u8>, table: Table<'_>) {
    put_long_str(out, table.as_bytes());
}
