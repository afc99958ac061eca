//! A connection's two buffers: none while nothing happens, small while little does, large enough for one syscall to carry many messages.

/// What each direction begins with, and gives back while nothing happens.
const LEN_MIN: usize = 2 * 1024;

/// As far as the input grows without being asked: larger reads gain nothing more.
const INPUT_LEN_MAX: usize = 256 * 1024;

/// Bytes that were received: `start..end` are not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// The last read filled all the space: there is more where it came from.
    is_crowded: bool,
}

impl Input {
    /// What is not taken yet.
    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// What was at `range` of [`rest`](Self::rest) before `taken` bytes of it were taken.
    #[inline]
    pub(crate) fn taken(&self, taken: usize, range: &std::ops::Range<usize>) -> &[u8] {
        let base = self.start - taken;
        &self.bytes[base + range.start..base + range.end]
    }

    /// Takes bytes. They stay where they are until the next [`space`](Self::space).
    #[inline]
    pub(crate) fn take(&mut self, len: usize) {
        debug_assert!(self.start + len <= self.end);
        self.start += len;
    }

    /// Room for the next read: never empty.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let is_small = self.is_crowded && self.bytes.len() < INPUT_LEN_MAX;
        if self.end == self.bytes.len() || is_small {
            // A frame, or a content of one, that does not fit makes it grow beyond; frames are bounded, so this is too.
            self.bytes.resize((self.bytes.len() * 2).max(LEN_MIN), 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Gives a small buffer back: nothing comes just now.
    pub(crate) fn release(&mut self) {
        if self.start == self.end && self.bytes.len() <= LEN_MIN {
            *self = Input::default();
        }
    }

    /// So much of [`space`](Self::space) was filled.
    pub(crate) fn fill(&mut self, len: usize) {
        self.end += len;
        self.is_crowded = self.end == self.bytes.len();
    }
}

/// Bytes to send: from `start` on they are not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    start: usize,
}

impl Output {
    /// Where to append.
    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(crate) fn sent(&mut self, len: usize) {
        self.start += len;
        if self.start == self.bytes.len() {
            self.clear();
        }
    }

    /// Gives a small buffer back: nothing is to be sent just now.
    pub(crate) fn release(&mut self) {
        if self.bytes.is_empty() && self.bytes.capacity() <= LEN_MIN {
            self.bytes = Vec::new();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(input: &mut Input, bytes: &[u8]) -> usize {
        let space = input.space();
        let len = bytes.len().min(space.len());
        space[..len].copy_from_slice(&bytes[..len]);
        input.fill(len);
        len
    }

    #[test]
    fn what_was_taken_stays_until_there_is_need_for_room() {
        let mut input = Input::default();
        receive(&mut input, b"abcdef");
        input.take(4);
        assert_eq!(input.taken(4, &(1..3)), b"bc");
        assert_eq!(input.rest(), b"ef");
        receive(&mut input, b"gh");
        assert_eq!(input.rest(), b"efgh");
    }

    #[test]
    fn small_buffers_are_given_back_when_they_are_empty() {
        let (mut input, mut output) = (Input::default(), Output::default());
        receive(&mut input, b"abc");
        output.bytes().extend_from_slice(b"abc");
        input.release();
        output.release();
        assert_eq!((input.rest(), output.rest()), (&b"abc"[..], &b"abc"[..]));
        input.take(3);
        output.sent(3);
        input.release();
        output.release();
        assert_eq!((input.bytes.capacity(), output.bytes.capacity()), (0, 0));
        receive(&mut input, b"de");
        assert_eq!(input.rest(), b"de");
    }

    #[test]
    fn input_grows_while_reads_fill_it() {
        let mut input = Input::default();
        let stream = vec![7; 4 * INPUT_LEN_MAX];
        let mut received = 0;
        while received < stream.len() {
            received += receive(&mut input, &stream[received..]);
            let here = input.rest().len();
            input.take(here);
        }
        assert_eq!(input.bytes.len(), INPUT_LEN_MAX);
    }

    #[test]
    fn input_takes_what_is_longer_than_itself() {
        let mut input = Input::default();
        let long = vec![7; 3 * INPUT_LEN_MAX];
        let mut received = 0;
        while received < long.len() {
            received += receive(&mut input, &long[received..]);
        }
        assert_eq!(input.rest(), long);
    }
}
