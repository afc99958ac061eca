//! How channels and connections end: by a refusal, by the server's decision, or because the socket is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use amqp::frame::put_method;
use amqp::method::{channel, connection};

use crate::events::Event;
use crate::limits::CLOSE_TIMEOUT_MAX;
use crate::refusal::Refusal;
use crate::session::channel::Channel;
use crate::session::{Phase, Session, Site};

impl Session {
    /// Ends the channel or the connection for a refusal, as its code demands.
    pub(super) fn fail(&mut self, refusal: &Refusal, site: Site) {
        if site.channel == 0 || refusal.code.is_connection_error() || !matches!(self.phase, Phase::Running) {
            self.fail_connection(refusal, site);
        } else {
            self.fail_channel(refusal, site);
        }
    }

    fn fail_channel(&mut self, refusal: &Refusal, site: Site) {
        if let Some(channel) = self.channels.get_mut(site.channel) {
            channel.limit.close();
        }
        self.apply_batch();
        self.write_confirms();
        let (code, text) = (refusal.code.code(), &refusal.text);
        tracing::warn!(peer = %self.peer(), channel = site.channel, code, %text, "channel was closed by an error");
        let Some(channel) = self.channels.take(site.channel) else { return };
        self.broker.counters.channels_failed.add(1);
        self.release_channel(channel);
        let mut closing = Channel::new(site.channel);
        closing.is_closing = true;
        self.channels.put(Box::new(closing));
        let method = channel::Close {
            reply_code: refusal.code.code(),
            reply_text: &refusal.code.text(&refusal.text),
            class_id: site.class_id,
            method_id: site.method_id,
        };
        put_method(&mut self.out, site.channel, &method);
    }

    pub(super) fn fail_connection(&mut self, refusal: &Refusal, site: Site) {
        if !matches!(self.phase, Phase::Handshake(_) | Phase::Running) {
            return;
        }
        self.handle.outbox.close();
        self.apply_batch();
        self.write_confirms();
        tracing::warn!(peer = %self.peer(), code = refusal.code.code(), text = %refusal.text, "connection was closed by an error");
        self.broker.counters.connections_failed.add(1);
        self.release_everything();
        let method = connection::Close {
            reply_code: refusal.code.code(),
            reply_text: &refusal.code.text(&refusal.text),
            class_id: site.class_id,
            method_id: site.method_id,
        };
        put_method(&mut self.out, 0, &method);
        self.listen_again();
        self.phase = Phase::Closing { until: Instant::now() + self.close_timeout() };
    }

    /// Answers connection.close. The client closes its socket when it has read that.
    pub(super) fn part(&mut self) {
        put_method(&mut self.out, 0, &connection::CloseOk);
        self.listen_again();
        // A second close is answered, and changes nothing else.
        if !matches!(self.phase, Phase::Parting { .. }) {
            self.phase = Phase::Parting { until: Instant::now() + self.close_timeout() };
        }
    }

    /// Nothing is said any more but what waits to be written. The client may take so long to read it and to end its direction.
    pub(crate) fn end_output(&mut self, within: Duration) {
        self.phase = Phase::Closed { until: Instant::now() + within };
    }

    /// Nothing is said any more, and the client is not waited for.
    pub(super) fn end_at_once(&mut self) {
        self.phase = Phase::Closed { until: Instant::now() };
    }

    /// The client is listened to, whatever it waited for: what it says to its own end, or to ours, is heard.
    fn listen_again(&mut self) {
        self.waits.forget();
        self.flow.forget();
    }

    /// How long a client may take to agree that its connection is closed, and to close its socket. As in RabbitMQ no longer than it may
    /// be silent.
    fn close_timeout(&self) -> Duration {
        let heartbeat_s = self.principal.known_login().map_or(0, |login| login.heartbeat_s);
        match (&self.phase, heartbeat_s) {
            (Phase::Handshake(_), _) => CLOSE_TIMEOUT_MAX.min(self.broker.options.handshake_timeout),
            (_, 0) => CLOSE_TIMEOUT_MAX,
            (_, heartbeat_s) => CLOSE_TIMEOUT_MAX.min(Duration::from_secs(heartbeat_s.into())),
        }
    }

    /// The server's own decision: 320 CONNECTION_FORCED.
    pub(crate) fn close_by_server(&mut self, reason: &str) {
        match self.phase {
            Phase::Running => {
                let refusal = Refusal { code: amqp::reply::ReplyCode::ConnectionForced, text: reason.to_owned() };
                self.fail_connection(&refusal, Site::default());
            }
            Phase::Handshake(_) | Phase::Parting { .. } | Phase::Closed { .. } => self.end_at_once(),
            Phase::Closing { .. } | Phase::Refused { .. } => {}
        }
    }

    /// Nothing is received any more until the connection is closed. What was received is on its way to the journal when `unheard` is
    /// dropped.
    pub(super) fn pause(&mut self, unheard: Arc<()>) {
        self.apply_batch();
        self.flow.pause();
        drop(unheard);
    }

    /// Ends the session without a word: the socket is gone. What was received in full has been done.
    pub(crate) fn end(&mut self) {
        self.handle.outbox.close();
        self.apply_batch();
        self.release_everything();
        self.report_gathered();
        self.end_at_once();
    }

    /// Closes all channels and deletes what belongs to the connection alone.
    pub(super) fn release_everything(&mut self) {
        self.handle.outbox.close();
        let channels = self.channels.take_all().map(|channel| *channel).collect();
        self.release_channels(channels);
        for queue in self.holdings.take_queues() {
            self.delete_owned(&queue);
        }
        if self.handle.opened.get().is_some()
            && let Some(access) = self.principal.known_access()
            && self.holdings.leave()
        {
            access.vhost.connection_count.fetch_sub(1, Ordering::Relaxed);
            self.broker.emit(Event::connection_closed(&self.handle, &self.broker.options.node));
        }
    }
}
