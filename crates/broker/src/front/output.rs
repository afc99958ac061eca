//! What a front has to send: the protocol writes it, the connection sends it.

use super::{Front, Protocol};

impl<P: Protocol> Front<P> {
    /// Where the protocol writes its answers.
    #[inline]
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// The same, beside what was agreed.
    #[inline]
    pub(crate) fn out_and_agreed(&mut self) -> (&mut Vec<u8>, &P::Agreed) {
        (&mut self.out, &self.agreed)
    }

    /// Bytes to send.
    #[inline]
    pub(crate) fn output(&self) -> &[u8] {
        &self.out
    }

    #[cfg(test)]
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// So many bytes of the output have been sent.
    #[inline]
    pub(super) fn remove_output(&mut self, len: usize) {
        self.out.drain(..len);
    }

    /// All of the output has been sent, or the client reads it no more.
    #[inline]
    pub(crate) fn clear_output(&mut self) {
        self.out.clear();
    }

    pub(super) fn send_heartbeat(&mut self) {
        P::put_heartbeat(&mut self.out);
    }

    /// What was written since `start` leaves after the answer that is held, if one is.
    pub(crate) fn hold_output(&mut self, start: usize) {
        self.waits.hold_output(&mut self.out, start);
    }
}
