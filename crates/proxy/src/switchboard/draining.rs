//! How lines and clients are brought to an end in peace: for an upstream that is to be restarted, or for the proxy's own stop.

use std::borrow::Cow;
use std::rc::Rc;

use super::{ClientId, LineId, Refusal, Switchboard};

impl Switchboard {
    /// No client gets a channel on this line any more, and those who have nothing under way there go elsewhere. It is closed when nobody
    /// is left. A client's own line stays until the client leaves.
    pub fn drain_line(&mut self, id: LineId, now_ms: u64) {
        self.now_ms = now_ms;
        if self.lines.get(id).is_some() {
            self.lines.drain(id);
            self.leave_line(id);
            self.close_idle_line(id);
            self.run_woken();
        }
    }

    /// Tells all clients that their connection is closed.
    pub fn close_clients(&mut self, refusal: &Refusal, now_ms: u64) {
        self.now_ms = now_ms;
        for id in self.clients.ids() {
            self.close_client(id, refusal);
        }
        self.run_woken();
    }

    /// Closes lines on which nothing is under way. Says whether that were all.
    pub fn close_lines(&mut self, now_ms: u64) -> bool {
        self.now_ms = now_ms;
        let mut is_all = true;
        for id in self.lines.ids() {
            if self.lines[id].is_unused() {
                self.close_line(id);
            } else {
                is_all = false;
            }
        }
        is_all
    }

    /// Whose vhost a line is, once that is known.
    #[must_use]
    pub fn line_vhost(&self, id: LineId) -> Option<Rc<str>> {
        self.lines.get(id)?.vhost().cloned()
    }

    /// Whether a line's handshake was done.
    #[must_use]
    pub fn has_line_opened(&self, id: LineId) -> bool {
        self.lines.get(id).is_some_and(|line| line.has_opened())
    }

    /// What the upstream did wrong, if a line was given up for that.
    #[must_use]
    pub fn line_fault(&self, id: LineId) -> Option<Cow<'static, str>> {
        self.lines.get(id)?.fault().cloned()
    }

    /// Those who have nothing under way on a draining line leave it: they have another when they next say something, or had something to say
    /// already.
    pub(super) fn leave_line(&mut self, id: LineId) {
        let line = &self.lines[id];
        if !line.is_shared() {
            return;
        }
        let users: Vec<(ClientId, u16)> = line.channels().iter().filter_map(|there| there.owner()).collect();
        for (client, number) in users {
            if self.is_channel_quiet(client, number) {
                self.leave_seat(client, number);
            }
        }
        let waiters = self.lines[id].take_waiters();
        // The one who waits longest comes first.
        self.wake_queue.extend(waiters);
    }
}
