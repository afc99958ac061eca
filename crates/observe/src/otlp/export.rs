//! The thread that sends spans: batches, one after the other, again where that may help.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_client::{Answer, Client, HttpError, Request, StatusCode};
use outbox::{NextStep, Outbox};
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use super::buffer::Buffer;
use super::span;
use crate::sending::{Sender, send_all};

/// How long spans wait for others, in milliseconds.
const LINGER_MS: u64 = 1_000;
/// Requests that wait at most; then spans wait in the buffer, which drops what is too much.
const REQUEST_COUNT_MAX: usize = 16;
/// The longest wait that a server may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);

/// A request that waits.
struct Batch {
    body: Bytes,
    span_count: u64,
}

/// See the module.
pub(super) struct Exporter {
    client: Client,
    request: Request,
    buffer: Arc<Buffer>,
    node: String,
    version: String,
    outbox: Outbox<Batch>,
    started_at: Instant,
    /// The server's host and port, for the log.
    server: String,
    /// The log says once that the server fails, and once that it no longer does.
    has_failed: bool,
}

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It has them, but for so many.
    Taken(u64),
    /// It may take them later.
    Later(u64),
    /// It never will.
    Refused,
}

impl Exporter {
    pub(super) fn new(client: Client, request: Request, buffer: Arc<Buffer>, node: String, version: String) -> Self {
        let (outbox, started_at) = (Outbox::default(), Instant::now());
        let server = client.url().to_string();
        Exporter { client, request, buffer, node, version, outbox, started_at, server, has_failed: false }
    }

    /// Sends until it has to stop, and then what is left, for at most `timeout`.
    pub(super) async fn run(mut self, mut stopping: watch::Receiver<bool>, timeout: Duration) {
        tokio::select! {
            () = send_all(&mut self) => {}
            // An error means that the handle was dropped.
            _ = stopping.changed() => {}
        }
        if self.outbox.start() > 0 {
            // It was on its way, and is sent again.
            self.outbox.retry(0, 0, 0.0);
        }
        self.outbox.try_at_once();
        self.gather();
        let last = async {
            while let Some(body) = self.next_body() {
                let answer = ask(&mut self.client, &self.request, body).await;
                self.settle(&answer);
                self.gather();
            }
        };
        // What has not arrived by then is counted as dropped.
        let _ = timeout_at(Instant::now() + timeout, last).await;
        let left_count = self.outbox.iter().map(|batch| batch.span_count).sum::<u64>() + self.buffer.clear();
        if left_count > 0 {
            self.buffer.drop_count(left_count);
            let server = &self.server;
            tracing::warn!(
                "{left_count} spans are lost: {server} (warren.otlp.endpoint) did not accept them before the shutdown"
            );
        }
    }

    /// Makes requests of the spans that wait: of few only where nothing else is to be sent. No more than there is room for, so that it
    /// ends however fast spans come.
    fn gather(&mut self) {
        while self.outbox.is_empty() || (self.outbox.len() < REQUEST_COUNT_MAX && self.buffer.has_batch()) {
            let spans = self.buffer.take();
            if spans.is_empty() {
                return;
            }
            let body = Bytes::from(span::request(&spans, &self.node, &self.version));
            self.outbox.push(Batch { body, span_count: spans.len() as u64 });
        }
    }

    /// The body of the request that can be sent now.
    fn next_body(&mut self) -> Option<Bytes> {
        let now_ms = self.now_ms();
        match self.outbox.next(now_ms) {
            NextStep::Send(batch) => Some(batch.body.clone()),
            NextStep::NotBefore(_) | NextStep::Nothing => None,
        }
    }

    /// What was on its way has come to something.
    fn settle(&mut self, answer: &Result<Answer, HttpError>) {
        let now_ms = self.now_ms();
        let (verdict, error) = match answer {
            Ok(answer) => (judge(answer), format!("it answered {}", answer.status)),
            Err(error) => (Verdict::Later(0), error.to_string()),
        };
        match verdict {
            Verdict::Taken(rejected_count) => {
                let batch = self.outbox.settle();
                let rejected_count = rejected_count.min(batch.span_count);
                self.buffer.sent_count(batch.span_count - rejected_count);
                self.buffer.drop_count(rejected_count);
                if std::mem::take(&mut self.has_failed) {
                    let server = &self.server;
                    tracing::info!("{server} (warren.otlp.endpoint) accepts spans again");
                }
            }
            Verdict::Refused => {
                let batch = self.outbox.settle();
                self.buffer.drop_count(batch.span_count);
                self.log_failure(&error, "refused spans, which are lost");
            }
            Verdict::Later(wait_ms) => {
                self.outbox.retry(wait_ms, now_ms, fastrand::f64());
                self.log_failure(&error, "does not accept spans; they are sent again");
            }
        }
    }

    fn log_failure(&mut self, error: &str, text: &str) {
        if !std::mem::replace(&mut self.has_failed, true) {
            let server = &self.server;
            tracing::warn!(error, "{server} (warren.otlp.endpoint) {text}");
        }
    }
}

impl Sender for Exporter {
    type Item = Bytes;

    fn next(&mut self) -> Option<NextStep<Bytes>> {
        self.gather();
        // Few spans wait for others until then.
        let later = NextStep::NotBefore(self.now_ms().saturating_add(LINGER_MS));
        Some(self.next_body().map_or(later, NextStep::Send))
    }

    async fn send(&mut self, body: Bytes) {
        let answer = ask(&mut self.client, &self.request, body).await;
        self.settle(&answer);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn news(&self) -> &Notify {
        &self.buffer.news
    }
}

async fn ask(client: &mut Client, request: &Request, body: Bytes) -> Result<Answer, HttpError> {
    client.ask(&request.clone().with_json(body)).await
}

/// By the protocol: 429, 502, 503 and 504 may be better later, other errors never.
fn judge(answer: &Answer) -> Verdict {
    match answer.status {
        status if status.is_success() => {
            let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let rejected = &said["partialSuccess"]["rejectedSpans"];
            // Numbers of 64 bits are texts.
            let count = rejected.as_u64().or_else(|| rejected.as_str().and_then(|text| text.parse().ok()));
            Verdict::Taken(count.unwrap_or(0))
        }
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            Verdict::Later(answer.retry_after().unwrap_or_default().min(RETRY_AFTER_MAX).as_millis() as u64)
        }
        _ => Verdict::Refused,
    }
}

#[cfg(test)]
mod tests {
    use http_client::HeaderMap;
    use http_client::header::RETRY_AFTER;

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body.as_bytes()) }
    }

    #[test]
    fn only_what_may_be_better_later_is_sent_again() {
        assert_eq!(judge(&answer(200, "{}")), Verdict::Taken(0));
        assert_eq!(judge(&answer(200, r#"{"partialSuccess":{"rejectedSpans":"3"}}"#)), Verdict::Taken(3));
        assert_eq!(judge(&answer(503, "")), Verdict::Later(0));
        let mut busy = answer(429, "");
        busy.headers.insert(RETRY_AFTER, "7".parse().unwrap());
        assert_eq!(judge(&busy), Verdict::Later(7000));
        for status in [400, 401, 404, 500] {
            assert_eq!(judge(&answer(status, "")), Verdict::Refused, "{status}");
        }
    }
}
