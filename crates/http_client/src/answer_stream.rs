//! An answer that is read as it comes, however long it lasts.

use std::pin::Pin;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::HeaderMap;

use crate::client::Driver;
use crate::error::HttpError;

/// An answer whose body has not been read. Dropping it closes the connection.
pub struct AnswerStream {
    /// Its status.
    pub status: StatusCode,
    /// What the server said about it.
    pub headers: HeaderMap,
    body: Incoming,
    /// None: it has ended, and the rest of the body is with `body`.
    connection: Option<Pin<Box<Driver>>>,
}

impl AnswerStream {
    pub(crate) fn new(
        head: hyper::http::response::Parts,
        body: Incoming,
        connection: Option<Pin<Box<Driver>>>,
    ) -> Self {
        AnswerStream { status: head.status, headers: head.headers, body, connection }
    }

    /// The next piece of the body. None: that was all.
    ///
    /// # Errors
    ///
    /// When the answer breaks off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let frame = match &mut self.connection {
                None => self.body.frame().await,
                Some(connection) => tokio::select! {
                    biased;
                    frame = self.body.frame() => frame,
                    // What has arrived of the body is with `body`.
                    _ = connection => {
                        self.connection = None;
                        continue;
                    }
                },
            };
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(HttpError::Broken("the answer broke off", error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

impl std::fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerStream").field("status", &self.status).finish_non_exhaustive()
    }
}
