//! basic.publish: from frames to a message for the front.
//!
//! The usual publish lies in the read buffer as a whole (method, header, one body frame) and is taken from there
//! without an intermediate copy; any other is assembled on its channel.

use amqp::content::ContentHeader;
use model::refusal::{Refusal, RefusalKind};

use super::Session;
use super::channel::Channel;
use super::exception::{self, Exception, Handled};
use crate::front::Incoming;

impl Session {
    /// Publishes a message on a channel.
    #[inline(always)]
    pub(super) fn publish(&mut self, channel: &mut Channel, message: &Incoming<'_>) -> Handled<()> {
        match self.front.publish(channel, message) {
            Ok(()) => Ok(()),
            Err(refusal) => Err(exception_of(refusal, message)),
        }
    }
}

/// Of properties that cannot be read it is said what is wrong with them.
#[cold]
fn exception_of(refusal: Box<Refusal>, message: &Incoming<'_>) -> Box<Exception> {
    if refusal.kind == RefusalKind::Malformed
        && let Err(error) = ContentHeader::decode(message.header.bytes())
        && let Err(exception) = exception::syntax_error::<()>(error.to_string())
    {
        return exception;
    }
    refusal.into()
}
