//! What a connection has received and its session has not taken: a frame in part, or whole ones that it does not want now.
//!
//! A read is put into a buffer of the thread, behind the place for what is left of the reads before it, so that the session finds all of it
//! in one piece. What is left is copied there, but not for each read of a frame that comes in many: its parts are gathered, and copied once
//! when it is complete. Copied for each read, a frame would cost the square of its length.

/// What is left of earlier reads.
#[derive(Debug, Default)]
pub(super) struct Received {
    rest: Vec<u8>,
    /// How many bytes have been copied.
    #[cfg(test)]
    copied_len: usize,
}

impl Received {
    /// Bytes that it takes beside itself.
    pub(crate) fn memory_len(&self) -> usize {
        self.rest.capacity()
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// Takes a read, which lies in `buffer` behind the place for the rest. Gives all there is to be taken; `None` while the frame that it
    /// begins with is not complete, and has been seen in part: then nothing is to be done. `frame_len`: how long the frame is
    /// that some bytes begin with, if that is known.
    pub(crate) fn join<'b>(
        &mut self,
        buffer: &'b mut [u8],
        frame_len: impl FnOnce(&[u8]) -> Option<usize>,
    ) -> Option<&'b [u8]> {
        if self.rest.is_empty() {
            return Some(buffer);
        }
        let (place, read) = buffer.split_at_mut(self.rest.len());
        let is_in_part = frame_len(&self.rest).is_some_and(|len| self.rest.len() + read.len() < len);
        if is_in_part {
            self.rest.extend_from_slice(read);
            self.count_copied(read.len());
            return None;
        }
        place.copy_from_slice(&self.rest);
        self.count_copied(self.rest.len());
        Some(buffer)
    }

    /// This is left of what was joined.
    pub(crate) fn leave(&mut self, rest: &[u8]) {
        self.rest.clear();
        self.rest.extend_from_slice(rest);
        self.count_copied(rest.len());
        if self.rest.is_empty() && self.rest.capacity() > 0 {
            self.rest = Vec::new();
        }
    }

    /// So many bytes of the rest have been taken.
    pub(crate) fn remove(&mut self, len: usize) {
        self.rest.drain(..len);
    }

    #[cfg(test)]
    fn count_copied(&mut self, len: usize) {
        self.copied_len += len;
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "it counts in tests")]
    fn count_copied(&self, _len: usize) {}
}

#[cfg(test)]
mod tests {
    use amqp::frame::{Frame, FrameKind, decode_frame, frame_len, put_frame};

    use super::*;

    const FRAME_LEN_MAX: u32 = 1 << 20;

    /// Takes whole frames as a session does; gives their payloads.
    fn receive(received: &mut Received, stream: &[u8], read_len: usize) -> Vec<Vec<u8>> {
        let mut payloads = Vec::new();
        for read in stream.chunks(read_len) {
            let mut buffer = vec![0; received.rest().len()];
            buffer.extend_from_slice(read);
            let Some(mut all) = received.join(&mut buffer, frame_len) else { continue };
            while let Some((frame, len)) = decode_frame(all, FRAME_LEN_MAX).unwrap() {
                payloads.push(frame.payload.to_vec());
                all = &all[len..];
            }
            received.leave(all);
        }
        payloads
    }

    fn frames(lens: &[usize]) -> (Vec<Vec<u8>>, Vec<u8>) {
        let payloads: Vec<Vec<u8>> = lens.iter().enumerate().map(|(at, len)| vec![at as u8; *len]).collect();
        let mut stream = Vec::new();
        for payload in &payloads {
            put_frame(&mut stream, &Frame { kind: FrameKind::Body, channel: 1, payload });
        }
        (payloads, stream)
    }

    #[test]
    fn a_frame_in_many_reads_is_copied_a_few_times_at_most() {
        let (payloads, stream) = frames(&[1_000_000]);
        for read_len in [100, 1460, 65_536] {
            let mut received = Received::default();
            assert_eq!(receive(&mut received, &stream, read_len), payloads);
            assert!(received.copied_len <= 3 * stream.len(), "{} bytes in reads of {read_len}", received.copied_len);
        }
    }

    #[test]
    fn frames_come_out_as_they_were_whatever_the_reads() {
        let (payloads, stream) = frames(&[0, 1, 7, 300, 0, 5000, 2, 40_000]);
        for read_len in (1..40).chain([100, 999, 4096, 60_000]) {
            let mut received = Received::default();
            assert_eq!(receive(&mut received, &stream, read_len), payloads, "reads of {read_len}");
            assert!(received.rest().is_empty());
        }
    }
}
