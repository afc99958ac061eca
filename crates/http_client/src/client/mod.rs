//! Asks one server, one request after the other, over a connection that is kept.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest};
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;

use crate::answer_stream::AnswerStream;
use crate::byte_stream::{self, ByteStream};
use crate::error::HttpError;
use crate::request::{Answer, Request};
use crate::url::HttpUrl;
use crate::{ANSWER_LEN_MAX, PACE_LEN_MIN, PACE_WINDOW};

/// Asks the server of one URL. It belongs to one task and has none of its own.
pub struct Client {
    url: HttpUrl,
    timeout: Duration,
    answer_len_max: usize,
    kept: Option<IdleConnection>,
}

/// A connection that has carried an answer, and may carry more.
struct IdleConnection {
    sender: SendRequest<Full<Bytes>>,
    /// Nothing moves unless it is polled.
    connection: Pin<Box<Driver>>,
}

pub(crate) type Driver = Connection<TokioIo<Box<dyn ByteStream>>, Full<Bytes>>;

impl Client {
    /// A client that is not connected yet. A request and its answer, with the connection, may take `timeout` together.
    #[must_use]
    pub fn new(url: HttpUrl, timeout: Duration) -> Self {
        Client { url, timeout, answer_len_max: ANSWER_LEN_MAX, kept: None }
    }

    /// The server that it asks.
    #[must_use]
    pub fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// How long an answer may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// How long an answer may take from now on.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// How long, in bytes, an answer may be that is held as a whole.
    pub fn set_answer_len_max(&mut self, len: usize) {
        self.answer_len_max = len;
    }

    /// Asks, and waits for the whole answer. However much time it has, its body may not trickle.
    ///
    /// # Errors
    ///
    /// When there is no answer. An answer with a status of failure is one.
    pub async fn ask(&mut self, request: &Request) -> Result<Answer, HttpError> {
        let timeout = self.timeout;
        // What is cut off in the middle is not kept: it was taken out for the exchange.
        tokio::time::timeout(timeout, self.exchange(request)).await.unwrap_or(Err(HttpError::TimedOut(timeout)))
    }

    /// Asks over a connection of its own, and waits for the answer's status alone: whatever else the server has to say, and however
    /// much, is left unread.
    ///
    /// # Errors
    ///
    /// When there is no answer. A status of failure is one.
    pub async fn ask_status(&mut self, request: &Request) -> Result<StatusCode, HttpError> {
        let timeout = self.timeout;
        tokio::time::timeout(timeout, self.status_of(request)).await.unwrap_or(Err(HttpError::TimedOut(timeout)))
    }

    /// Asks over a connection of its own, and reads the answer's body as it comes. The timeout is for its head alone: a body may last
    /// for ever.
    ///
    /// # Errors
    ///
    /// When there is no answer. An answer with a status of failure is one.
    pub async fn open(&mut self, request: &Request) -> Result<AnswerStream, HttpError> {
        let timeout = self.timeout;
        let opening = async {
            let request = self.encode(request)?;
            let IdleConnection { mut sender, mut connection } = connect(&self.url).await?;
            let mut answered = Box::pin(sender.send_request(request));
            let (answered, has_ended) = tokio::select! {
                answered = &mut answered => (answered, false),
                _ = &mut connection => (answered.await, true),
            };
            let (head, body) = answered.map_err(|error| HttpError::Broken("the request failed", error))?.into_parts();
            let connection = (!has_ended).then_some(connection);
            Ok(AnswerStream::new(head, body, connection))
        };
        tokio::time::timeout(timeout, opening).await.unwrap_or(Err(HttpError::TimedOut(timeout)))
    }

    async fn status_of(&mut self, request: &Request) -> Result<StatusCode, HttpError> {
        let request = self.encode(request)?;
        let IdleConnection { mut sender, connection } = connect(&self.url).await?;
        let mut answered = Box::pin(sender.send_request(request));
        let answered = tokio::select! {
            answered = &mut answered => answered,
            // The answer is there by then, or there is none.
            _ = connection => answered.await,
        };
        Ok(answered.map_err(|error| HttpError::Broken("the request failed", error))?.status())
    }

    async fn exchange(&mut self, request: &Request) -> Result<Answer, HttpError> {
        let mut kept = self.kept.take();
        if let Some(connection) = &mut kept
            && connection.is_over().await
        {
            kept = None;
        }
        if let Some(connection) = kept {
            match self.exchange_over(connection, request).await {
                // A server may close an idle connection in the moment in which it is used again.
                Err(HttpError::Broken(..)) if request.is_repeatable() => {}
                result => return result,
            }
        }
        let connected = connect(&self.url).await?;
        self.exchange_over(connected, request).await
    }

    async fn exchange_over(&mut self, mut over: IdleConnection, request: &Request) -> Result<Answer, HttpError> {
        let (request, len_max) = (self.encode(request)?, self.answer_len_max);
        let IdleConnection { sender, connection } = &mut over;
        let mut exchange = Box::pin(async {
            let response =
                sender.send_request(request).await.map_err(|error| HttpError::Broken("the request failed", error))?;
            let (head, body) = response.into_parts();
            let body = read(body, len_max).await?;
            Ok(Answer { status: head.status, headers: head.headers, body })
        });
        let answer = tokio::select! {
            result = &mut exchange => result?,
            // It has to be polled for the exchange to continue. When it ends, the answer is with the exchange, or there is
            // none: many servers close TLS without a word, after a whole answer.
            ended = connection => {
                return exchange.await.map_err(|error| match (error, ended) {
                    (HttpError::Broken(..), Err(ended)) => HttpError::Broken("the connection failed", ended),
                    (error, _) => error,
                });
            }
        };
        drop(exchange);
        self.kept = Some(over);
        Ok(answer)
    }

    fn encode(&self, request: &Request) -> Result<hyper::Request<Full<Bytes>>, HttpError> {
        let url = match &request.path {
            Some(path) => &self.url.below(path),
            None => &self.url,
        };
        let mut encoded = hyper::Request::builder()
            .method(&request.method)
            .uri(url.path())
            .header(HOST, &url.authority)
            .body(Full::new(request.body.clone()))?;
        if let Some(authorization) = &url.authorization {
            encoded.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        encoded.headers_mut().extend(request.headers.clone());
        Ok(encoded)
    }
}

/// A whole body, of a bounded length, that comes at a certain pace.
async fn read(mut body: Incoming, len_max: usize) -> Result<Bytes, HttpError> {
    // Where the length is said, room for all of it is taken once: definitions may have hundreds of megabytes.
    let len = hyper::body::Body::size_hint(&body).exact().and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
    let mut whole = Vec::with_capacity(len.min(len_max));
    let (mut window_end, mut window_len) = (Instant::now() + PACE_WINDOW, 0);
    loop {
        let frame = tokio::time::timeout_at(window_end, body.frame()).await;
        let Some(frame) = frame.map_err(|_| HttpError::TooSlow(PACE_WINDOW))? else { return Ok(whole.into()) };
        let Ok(piece) = frame.map_err(HttpError::Body)?.into_data() else { continue };
        if whole.len() + piece.len() > len_max {
            return Err(HttpError::TooLong(len_max));
        }
        whole.extend_from_slice(&piece);
        window_len += piece.len();
        if window_len >= PACE_LEN_MIN {
            (window_end, window_len) = (Instant::now() + PACE_WINDOW, 0);
        }
    }
}

/// A connection that has not carried anything yet.
async fn connect(url: &HttpUrl) -> Result<IdleConnection, HttpError> {
    let stream = byte_stream::connect(url).await?;
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| HttpError::Broken("the connection failed", error))?;
    Ok(IdleConnection { sender, connection: Box::pin(connection) })
}

impl IdleConnection {
    /// Whether the server has closed it meanwhile, as far as that has arrived.
    async fn is_over(&mut self) -> bool {
        let IdleConnection { sender, connection } = self;
        tokio::select! {
            biased;
            _ = connection => true,
            ready = sender.ready() => ready.is_err(),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.url).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Asks for a URL once. Everything together, from the connection to the last byte, may take so long.
///
/// # Errors
///
/// When there is no answer. An answer with a status of failure is one.
pub async fn get(url: &HttpUrl, timeout: Duration) -> Result<Answer, HttpError> {
    Client::new(url.clone(), timeout).ask(&Request::new(Method::GET)).await
}

/// Posts a body to a URL once.
///
/// # Errors
///
/// As [`get`].
pub async fn post(
    url: &HttpUrl,
    content_type: &'static str,
    body: Bytes,
    timeout: Duration,
) -> Result<Answer, HttpError> {
    Client::new(url.clone(), timeout).ask(&Request::new(Method::POST).with_body(content_type, body)).await
}

#[cfg(test)]
mod tests;
