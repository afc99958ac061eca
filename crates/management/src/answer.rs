//! What a handler answers.

use broker::{Changed, Positions};
use bytes::Bytes;
use http_server::{Pieces, Source};
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};

/// An answer to a request.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content: Content,
    /// Headers of its own; those that all answers have are added later.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// What must last before this may be said.
    pub(crate) position: Positions,
}

/// The body of an answer.
pub(crate) enum Content {
    /// Nothing.
    Empty,
    /// JSON.
    Json(Vec<u8>),
    /// JSON of any length.
    Pieces(Box<dyn Pieces>),
    /// Something else, and what.
    Other(&'static str, Bytes),
    /// An endless answer's source, and its type.
    Source(&'static str, Box<dyn Source>),
}

impl Answer {
    fn of(status: StatusCode, content: Content) -> Answer {
        Answer { status, content, headers: Vec::new(), position: Positions::NONE }
    }

    pub(crate) fn json(json: Vec<u8>) -> Answer {
        Answer::of(StatusCode::OK, Content::Json(json))
    }

    pub(crate) fn pieces(pieces: Box<dyn Pieces>) -> Answer {
        Answer::of(StatusCode::OK, Content::Pieces(pieces))
    }

    pub(crate) fn other(content_type: &'static str, body: impl Into<Bytes>) -> Answer {
        Answer::of(StatusCode::OK, Content::Other(content_type, body.into()))
    }

    pub(crate) fn of_source(content_type: &'static str, source: Box<dyn Source>) -> Answer {
        Answer::of(StatusCode::OK, Content::Source(content_type, source))
    }

    /// What was asked for is there now, and was not before.
    pub(crate) fn created() -> Answer {
        Answer::of(StatusCode::CREATED, Content::Empty)
    }

    /// Done; there is nothing to say about it.
    pub(crate) fn no_content() -> Answer {
        Answer::of(StatusCode::NO_CONTENT, Content::Empty)
    }

    /// Look there instead.
    pub(crate) fn moved(location: HeaderValue) -> Answer {
        Answer::of(StatusCode::MOVED_PERMANENTLY, Content::Empty).with(hyper::header::LOCATION, location)
    }

    pub(crate) fn empty(status: StatusCode) -> Answer {
        Answer::of(status, Content::Empty)
    }

    /// 201 for what is new, 204 for what has changed; when that is durable.
    pub(crate) fn changed(changed: &Changed) -> Answer {
        if changed.is_new { Answer::created() } else { Answer::no_content() }.after(changed)
    }

    /// 204 when the change is durable.
    pub(crate) fn done(changed: &Changed) -> Answer {
        Answer::no_content().after(changed)
    }

    /// Answered when the change is durable.
    pub(crate) fn after(self, changed: &Changed) -> Answer {
        Answer { position: changed.position.and(self.position), ..self }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Answer {
        Answer { status, ..self }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Answer {
        self.headers.push((name, value));
        self
    }
}
