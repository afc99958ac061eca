//! The bytes of footers and checkpoints: little-endian integers, and varints (seven bits a byte, lowest first) for numbers that are
//! mostly small.
//!
//! The reader checks what is left before every read: whatever a disk returns, it ends in [`Malformed`], never in a panic.

/// The bytes end too early, or a number does not fit where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends a varint.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and that many bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes values off the front of a slice.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    pub(crate) fn varint_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.varint()?).map_err(|_| Malformed)
    }

    /// A count of items that take at least `item_len_min` bytes each, so that no memory is reserved for a number that a damaged file
    /// made up.
    pub(crate) fn count(&mut self, item_len_min: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        let needed = count.checked_mul(item_len_min).ok_or(Malformed)?;
        if needed > self.remaining() {
            return Err(Malformed);
        }
        Ok(count)
    }

    /// What [`put_bytes`] wrote.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.count(1)?;
        self.take(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(value: u64, len: usize) {
        let mut out = Vec::new();
        put(&mut out, value);
        assert_eq!(out.len(), len);
        let mut reader = Reader::new(&out);
        assert_eq!(reader.varint(), Ok(value));
        assert!(reader.is_empty());
    }

    #[test]
    fn small_numbers_are_short() {
        check_round_trip(0, 1);
        check_round_trip(127, 1);
        check_round_trip(128, 2);
        check_round_trip(u64::from(u32::MAX), 5);
        check_round_trip(u64::MAX, 10);
    }

    #[test]
    fn a_number_cut_short_or_too_long_is_malformed() {
        assert_eq!(Reader::new(&[]).varint(), Err(Malformed));
        assert_eq!(Reader::new(&[0x80]).varint(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff; 10]).varint(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff; 11]).varint(), Err(Malformed));
    }

    #[test]
    fn a_count_beyond_what_is_left_is_malformed() {
        let mut out = Vec::new();
        put(&mut out, 1 << 40);
        assert_eq!(Reader::new(&out).count(1), Err(Malformed));
        assert_eq!(Reader::new(&out).bytes(), Err(Malformed));
    }
}
