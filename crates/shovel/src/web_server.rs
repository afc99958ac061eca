//! A web server as the destination: it is sent one message after the other, each the body of a POST.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use amqp::basic;
use amqp_client::{BackOff, Content};
use bridge::Outcome;
use http_client::{Client, HeaderName, HeaderValue, HttpUrl, HttpUrlError, Method, Request, StatusCode};
use model::shovel::HttpDestination;

use crate::destination::Verdict;
use crate::worker::Failure;

/// Bytes of messages that wait at most.
const WAITING_LEN_MAX: usize = 4 << 20;

/// How often a message is tried before the shovel has failed.
const ATTEMPT_COUNT: u32 = 5;
const RETRY_MIN: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(5);

const DEFAULT_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// A question that is under way: the client comes back with what has come of it.
type Asking = Pin<Box<dyn Future<Output = (Client, Result<Outcome, String>)> + Send>>;

/// See the module.
pub(crate) struct WebServer {
    /// None while it asks.
    client: Option<Client>,
    asking: Option<Asking>,
    waiting: VecDeque<Request>,
    waiting_len: usize,
    /// Messages of which the server has said something.
    reported_count: u64,
    verdicts: VecDeque<Verdict>,
    dead_letters_refused: bool,
}

impl WebServer {
    /// Asks the server of this URL.
    pub(crate) fn new(url: HttpUrl, options: &HttpDestination) -> Self {
        WebServer {
            client: Some(Client::new(url, options.timeout)),
            asking: None,
            waiting: VecDeque::new(),
            waiting_len: 0,
            reported_count: 0,
            verdicts: VecDeque::new(),
            dead_letters_refused: options.dead_letters_refused,
        }
    }

    /// The one of the URLs that `first` counts to.
    pub(crate) fn url(options: &HttpDestination, first: usize) -> Result<HttpUrl, HttpUrlError> {
        HttpUrl::parse(options.urls.get(first % options.urls.len().max(1)).map_or("", |url| url))
    }

    /// Gives it a message.
    pub(crate) fn push(&mut self, deliver: &basic::Deliver<'_>, content: &Content<'_>) {
        let request = request(deliver, content);
        self.waiting_len += content.body.len();
        self.waiting.push_back(request);
    }

    /// What it has said of a message.
    pub(crate) fn next_verdict(&mut self) -> Option<Verdict> {
        self.verdicts.pop_front()
    }

    /// Whether so much waits that nothing is to come.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_len >= WAITING_LEN_MAX
    }

    /// Messages that it has not said anything of.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting.len() + usize::from(self.asking.is_some())
    }

    /// Asks, and listens. Ready when the server has said something.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        if self.asking.is_none()
            && let Some(request) = self.waiting.pop_front()
            && let Some(client) = self.client.take()
        {
            self.waiting_len = self.waiting_len.saturating_sub(request.body_len());
            self.asking = Some(Box::pin(ask(client, request, self.dead_letters_refused)));
        }
        let Some(asking) = &mut self.asking else { return Poll::Pending };
        let Poll::Ready((client, asked)) = asking.as_mut().poll(cx) else { return Poll::Pending };
        self.asking = None;
        self.client = Some(client);
        let outcome = asked.map_err(Failure::WebServer)?;
        self.reported_count += 1;
        self.verdicts.push_back(Verdict { tag: self.reported_count, is_multiple: false, outcome });
        Poll::Ready(Ok(()))
    }
}

/// A URL without a user and without its query, as it may be shown to anyone.
pub(crate) fn shown(url: &HttpUrl) -> Box<str> {
    let scheme = if url.is_tls() { "https" } else { "http" };
    let path = url.path().split('?').next().unwrap_or_default();
    format!("{scheme}://{url}{path}").into()
}

/// Asks until there is an answer that counts, a few times.
async fn ask(mut client: Client, request: Request, dead_letters_refused: bool) -> (Client, Result<Outcome, String>) {
    let mut retry = BackOff::new(RETRY_MIN, RETRY_MAX);
    let mut error = String::new();
    for attempt in 0..ATTEMPT_COUNT {
        if attempt > 0 {
            tokio::time::sleep(retry.wait(1.0)).await;
        }
        match client.ask(&request).await {
            Ok(answer) if answer.status.is_success() => return (client, Ok(Outcome::Accepted)),
            Ok(answer) if dead_letters_refused && is_final(answer.status) => return (client, Ok(Outcome::Rejected)),
            Ok(answer) => error = format!("{} answers {}", client.url(), answer.status),
            Err(failed) => error = failed.to_string(),
        }
    }
    (client, Err(error))
}

/// Whether the same question is answered the same for ever.
fn is_final(status: StatusCode) -> bool {
    let may_pass = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS];
    status.is_client_error() && !may_pass.contains(&status)
}

fn request(deliver: &basic::Deliver<'_>, content: &Content<'_>) -> Request {
    let properties = content.properties().unwrap_or_default();
    let mut request = Request::new(Method::POST).with_body("application/octet-stream", content.body.to_vec());
    let content_type = properties.content_type.and_then(|kind| HeaderValue::from_bytes(kind).ok());
    request = request.with_header(http_client::header::CONTENT_TYPE, content_type.unwrap_or(DEFAULT_CONTENT_TYPE));
    let redelivered: &[u8] = if deliver.redelivered { b"true" } else { b"false" };
    let headers = [
        ("x-warren-exchange", Some(deliver.exchange)),
        ("x-warren-routing-key", Some(deliver.routing_key)),
        ("x-warren-redelivered", Some(redelivered)),
        ("x-warren-message-id", properties.message_id),
        ("x-warren-correlation-id", properties.correlation_id),
        ("x-warren-type", properties.kind),
        ("content-encoding", properties.content_encoding),
    ];
    for (name, value) in headers {
        // What cannot stand in a header is left out.
        if let Some(value) = value.and_then(|value| HeaderValue::from_bytes(value).ok()) {
            request = request.with_header(HeaderName::from_static(name), value);
        }
    }
    if let Some(headers) = properties.headers {
        let headers = model::json::from_table(headers);
        if let Ok(value) = HeaderValue::from_bytes(serde_json::Value::Object(headers).to_string().as_bytes()) {
            request = request.with_header(HeaderName::from_static("x-warren-headers"), value);
        }
    }
    request
}
