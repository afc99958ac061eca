//! Bytes that wait: at the end they come, at the front they go. Takes no memory while there are none.

/// What is kept when nothing waits: enough for what is usual while there is traffic.
const LEN_KEPT: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// The bytes before it are taken already.
    start: usize,
}

impl Buffer {
    /// What waits.
    #[inline]
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Where to append.
    #[inline]
    pub(super) fn end(&mut self) -> &mut Vec<u8> {
        // The rest is moved over the taken bytes when they are most of it: each byte is moved once at most, on average.
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        &mut self.bytes
    }

    /// Takes so many bytes off the front.
    pub(super) fn take(&mut self, len: usize) {
        self.start += len;
        if self.is_empty() {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.start = 0;
        self.bytes.clear();
        self.bytes.shrink_to(LEN_KEPT);
    }

    /// Gives all memory back, if nothing waits.
    pub(super) fn release(&mut self) {
        if self.is_empty() {
            *self = Buffer::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_empty_does_not_grow() {
        let mut buffer = Buffer::default();
        buffer.end().extend_from_slice(&[0; 100]);
        for number in 0..100_000u32 {
            buffer.end().extend_from_slice(&number.to_be_bytes());
            buffer.take(4);
            assert_eq!(buffer.len(), 100);
        }
        assert!(buffer.bytes.capacity() < 1_000);
        assert_eq!(buffer.rest()[96..], 99_999u32.to_be_bytes());
    }

    #[test]
    fn what_is_empty_keeps_little() {
        let mut buffer = Buffer::default();
        buffer.end().extend_from_slice(&[0; 1 << 20]);
        buffer.take(1 << 20);
        assert!(buffer.bytes.capacity() <= LEN_KEPT);
        buffer.release();
        assert_eq!(buffer.bytes.capacity(), 0);
    }
}
