//! How lines and clients are brought to an end in peace: for an upstream that is to be restarted, or for the proxy's own stop.

use std::borrow::Cow;
use std::rc::Rc;

use super::line::Use;
use super::{ClientId, LineId, Refusal, Switchboard};

impl Switchboard {
    /// No client gets a channel on this line any more, and those who have nothing under way there go elsewhere. It is closed when nobody
    /// is left. A client's own line stays until the client leaves.
    pub fn drain_line(&mut self, id: LineId, now_ms: u64) {
        self.now_ms = now_ms;
        if let Some(line) = self.lines.get_mut(id.0) {
            if !line.is_draining && matches!(line.usage, Use::Shared(..)) {
                line.is_uncounted = true;
                self.uncounted += 1;
            }
            line.is_draining = true;
            self.leave_line(id);
            self.close_idle_line(id);
            self.run_woken();
        }
    }

    /// Tells all clients that their connection is closed.
    pub fn close_clients(&mut self, refusal: &Refusal, now_ms: u64) {
        self.now_ms = now_ms;
        let clients: Vec<ClientId> = self.clients.iter().map(|(id, _)| ClientId(id)).collect();
        for id in clients {
            self.close_client(id, refusal);
        }
        self.run_woken();
    }

    /// Closes lines on which nothing is under way. Says whether that were all.
    pub fn close_lines(&mut self, now_ms: u64) -> bool {
        self.now_ms = now_ms;
        let lines: Vec<LineId> = self.lines.iter().map(|(id, _)| LineId(id)).collect();
        let mut is_all = true;
        for id in lines {
            let line = &self.lines[id.0];
            if line.used_count == 0 && line.is_confirmed() {
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
        self.lines.get(id.0)?.vhost.clone()
    }

    /// Whether a line's handshake was done.
    #[must_use]
    pub fn has_line_opened(&self, id: LineId) -> bool {
        self.lines.get(id.0).is_some_and(|line| line.has_opened)
    }

    /// What the upstream did wrong, if a line was given up for that.
    #[must_use]
    pub fn line_fault(&self, id: LineId) -> Option<Cow<'static, str>> {
        self.lines.get(id.0)?.fault.clone()
    }

    /// Those who have nothing under way on a draining line leave it: they have another when they next say something, or had something to say
    /// already.
    pub(super) fn leave_line(&mut self, id: LineId) {
        let line = &self.lines[id.0];
        if !matches!(line.usage, Use::Shared(..)) {
            return;
        }
        let users: Vec<(ClientId, u16)> = line.channels.iter().flatten().filter_map(|there| there.owner).collect();
        for (client, number) in users {
            if self.is_channel_quiet(client, number) {
                self.leave_seat(client, number);
            }
        }
        let waiters = std::mem::take(&mut self.lines[id.0].waiters);
        // The one who waits longest comes first.
        self.woken.extend(waiters.into_iter().rev());
    }
}
