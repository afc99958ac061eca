//! A publish whose content comes in more than one frame: it lies here until all have come.

use amqp::content::ContentHeader;
use amqp::method::basic;
use amqp::reply::ReplyCode;
use amqp::server::{ContentProgress, Violation};
use message::Header;

use crate::front::Incoming;
use crate::publish_properties::check_body_len;
use crate::session::exception::Handled;

/// A publish whose content is on its way.
#[derive(Debug)]
pub(super) struct Assembly {
    exchange: Box<[u8]>,
    routing_key: Box<[u8]>,
    mandatory: bool,
    /// The payload of the content header frame, once it is there.
    header: Option<Box<[u8]>>,
    body: Vec<u8>,
    progress: ContentProgress,
}

impl Assembly {
    /// Begins with the method.
    pub(super) fn begin(publish: &basic::Publish<'_>) -> Box<Self> {
        Box::new(Self {
            exchange: publish.exchange.into(),
            routing_key: publish.routing_key.into(),
            mandatory: publish.mandatory,
            header: None,
            body: Vec::new(),
            progress: ContentProgress::default(),
        })
    }

    /// How much of it has come.
    pub(super) fn progress(&self) -> ContentProgress {
        self.progress
    }

    /// Takes the content header. The body's length is checked before a byte of it is kept.
    pub(super) fn header(&mut self, payload: &[u8], message_len_max: u64) -> Handled<()> {
        let header =
            ContentHeader::decode(payload).map_err(|error| Violation::content_header(error, ReplyCode::SyntaxError))?;
        check_body_len(header.body_len, message_len_max)?;
        self.header = Some(payload.into());
        self.progress = ContentProgress::with_header(header.body_len);
        Ok(())
    }

    /// Takes a part of the body.
    pub(super) fn body(&mut self, part: &[u8]) -> Handled<()> {
        self.progress = self.progress.after_body(part.len())?;
        // Room grows with what arrives, not with what was announced.
        self.body.extend_from_slice(part);
        Ok(())
    }

    /// Forgets the last frame, which comes again.
    pub(super) fn undo(&mut self, before: ContentProgress) {
        match (before.body_left(), self.progress.body_left()) {
            (Some(before_len), Some(left)) => self.body.truncate(self.body.len() - (before_len - left) as usize),
            _ => self.header = None,
        }
        self.progress = before;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.progress.is_complete()
    }

    pub(super) fn message(&self) -> Incoming<'_> {
        Incoming {
            exchange: &self.exchange,
            routing_key: &self.routing_key,
            is_mandatory: self.mandatory,
            header: Header::amqp091(self.header.as_deref().unwrap_or_default()),
            body: &self.body,
        }
    }
}
