//! channel.close and connection.close: by an exception, by the server's decision, or as the client wants it.

use std::time::Duration;

use amqp::frame::put_method;
use amqp::method::{channel, connection};
use amqp::reply::ReplyCode;
use engine::lane::LaneNumber;

use super::channel::{Channel, ChannelState};
use super::exception::Exception;
use super::{Session, Site};
use crate::front::Phase;

impl Session {
    /// Ends the channel or the connection for an exception, as its code demands.
    pub(super) fn fail(&mut self, exception: &Exception, site: Site) {
        if site.channel == 0 || exception.code.is_connection_error() || !self.front.is_running() {
            self.fail_connection(exception, site);
        } else {
            self.fail_channel(exception, site);
        }
    }

    fn fail_channel(&mut self, exception: &Exception, site: Site) {
        let number = LaneNumber(site.channel);
        self.front.begin_lane_failure(number);
        let (code, text) = (exception.code.code(), &exception.text);
        tracing::warn!(peer = %self.front.peer(), channel = site.channel, code, %text, "channel was closed by an error");
        let Some(channel) = self.front.take_lane(number) else { return };
        self.front.broker().counters.channels_failed.add(1);
        self.front.release_lane(*channel);
        self.front.put_lane(Box::new(Channel::new(number, ChannelState::closing())));
        let method = channel::Close {
            reply_code: code,
            reply_text: &exception.code.text(text),
            class_id: site.class_id,
            method_id: site.method_id,
        };
        put_method(self.front.out(), site.channel, &method);
    }

    pub(super) fn fail_connection(&mut self, exception: &Exception, site: Site) {
        if !matches!(self.front.phase(), Phase::Opening | Phase::Running) {
            return;
        }
        self.front.begin_failure();
        let (code, text) = (exception.code.code(), &exception.text);
        tracing::warn!(peer = %self.front.peer(), code, %text, "connection was closed by an error");
        let method = connection::Close {
            reply_code: code,
            reply_text: &exception.code.text(text),
            class_id: site.class_id,
            method_id: site.method_id,
        };
        put_method(self.front.out(), 0, &method);
        let timeout = self.close_timeout();
        self.front.wait_for_close(timeout);
    }

    /// Answers connection.close. The client closes its socket when it has read that.
    pub(super) fn part(&mut self) {
        put_method(self.front.out(), 0, &connection::CloseOk);
        let timeout = self.close_timeout();
        self.front.part(timeout);
    }

    /// As in RabbitMQ a client has no longer than it may be silent.
    fn close_timeout(&self) -> Duration {
        self.front.close_timeout(Duration::from_secs(self.front.agreed().heartbeat_s.into()))
    }

    /// The server's own decision: 320 CONNECTION_FORCED.
    pub(super) fn force_close(&mut self, reason: &str) {
        match self.front.phase() {
            Phase::Running => {
                let exception = Exception { code: ReplyCode::ConnectionForced, text: reason.to_owned() };
                self.fail_connection(&exception, Site::default());
            }
            Phase::Opening | Phase::Parting { .. } | Phase::Closed { .. } => self.front.end_at_once(),
            Phase::Closing { .. } | Phase::Refused { .. } => {}
        }
    }
}
