//! Notifying a webhook: a request, signed if it has a secret.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alerts::{DeliveryOutcome, NextStep, Notice, Webhook};
use http_client::{Client, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use ring::hmac;
use serde_json::Value;
use tokio::sync::Notify;

use super::rule_set::WebhookTarget;
use super::{Alerting, Receiver};
use crate::sending::{Sender, send_all};

/// What requests are signed in: `sha256=` and the HMAC-SHA-256 of the body in hexadecimal digits.
const SIGNATURE: HeaderName = HeaderName::from_static("warren-signature");
/// The alert's id, which is in the body, too: for receivers that recognise by headers alone what they have seen.
const ALERT_ID: HeaderName = HeaderName::from_static("warren-alert-id");
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("Warren/", env!("CARGO_PKG_VERSION")));

/// What has come of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryAttempt {
    /// What it has come to.
    pub outcome: DeliveryOutcome,
    /// What the webhook answered, if it did.
    pub status: Option<StatusCode>,
    /// What went wrong, if anything did.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// Sends one webhook all its notices, until it is removed.
pub(super) async fn deliver_notices(alerting: Arc<Alerting>, receiver: Arc<Receiver>) {
    send_all(&mut NoticeSender { alerting, receiver }).await;
}

struct NoticeSender {
    alerting: Arc<Alerting>,
    receiver: Arc<Receiver>,
}

impl Sender for NoticeSender {
    type Item = Notice;

    fn next(&mut self) -> Option<NextStep> {
        let (next, dropped) = self.receiver.next(self.now_ms())?;
        self.alerting.note_dropped(self.receiver.name(), dropped);
        Some(next)
    }

    async fn send(&mut self, notice: Notice) {
        let NoticeSender { alerting, receiver } = self;
        let body = alerting.with_sender(|sender| notice.body(sender));
        let attempt = try_once(&receiver.target(), &body).await;
        match attempt.outcome {
            DeliveryOutcome::Delivered => alerting.counters.delivered.add(1),
            DeliveryOutcome::Refused | DeliveryOutcome::Failed => {
                alerting.counters.failed.add(1);
                let error = attempt.error.as_deref().unwrap_or_default();
                tracing::warn!(
                    webhook = receiver.name(),
                    rule = &*notice.alert.rule,
                    error,
                    "notifying a webhook failed"
                );
            }
        }
        let dropped = receiver.settle(attempt.outcome, attempt.error, alerting.now_ms(), jitter());
        alerting.note_dropped(receiver.name(), dropped);
    }

    fn now_ms(&self) -> u64 {
        self.alerting.now_ms()
    }

    fn news(&self) -> &Notify {
        &self.receiver.news
    }
}

/// Sends a webhook one body, once.
pub async fn try_once(target: &WebhookTarget, body: &Value) -> DeliveryAttempt {
    let started_at = Instant::now();
    let (outcome, status, error) = match post(target, body).await {
        Err(error) => (DeliveryOutcome::Failed, None, Some(error)),
        Ok(status) if status.is_success() => (DeliveryOutcome::Delivered, Some(status), None),
        Ok(status) => (outcome_of(status), Some(status), Some(format!("it answered {status}"))),
    };
    DeliveryAttempt { outcome, status, error, duration: started_at.elapsed() }
}

/// These say that the request will never do, however often it is sent.
fn outcome_of(status: StatusCode) -> DeliveryOutcome {
    match status {
        StatusCode::BAD_REQUEST
        | StatusCode::GONE
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => DeliveryOutcome::Refused,
        _ => DeliveryOutcome::Failed,
    }
}

async fn post(target: &WebhookTarget, body: &Value) -> Result<StatusCode, String> {
    let WebhookTarget { webhook, url } = target;
    let mut client = Client::new(url.clone(), Duration::from_millis(webhook.timeout_ms));
    client.ask_status(&request_of(webhook, body)?).await.map_err(|error| error.to_string())
}

fn request_of(webhook: &Webhook, body: &Value) -> Result<Request, String> {
    let bytes = body.to_string().into_bytes();
    let value = |text: &str| HeaderValue::from_str(text).map_err(|error| error.to_string());
    let mut request = Request::new(Method::POST)
        .with_header(header::USER_AGENT, USER_AGENT)
        .with_header(ALERT_ID, value(body["id"].as_str().unwrap_or_default())?);
    for (name, text) in &webhook.headers {
        let name: HeaderName = name.parse().map_err(|_| format!("invalid header '{name}'"))?;
        request = request.with_header(name, value(text)?);
    }
    if let Some(secret) = &webhook.secret {
        request = request.with_header(SIGNATURE, value(&signature(secret, &bytes))?);
    }
    Ok(request.with_json(bytes))
}

fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let digits: String = hmac::sign(&key, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={digits}")
}

/// A number from 0 to 1. Nothing secret depends on it.
fn jitter() -> f64 {
    fastrand::f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_others_compute() {
        // RFC 4231, test case 2.
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature("Jefe", b"what do ya want for nothing?"), expected);
    }

    #[test]
    fn what_will_never_be_taken_is_told_from_what_may_be_later() {
        for (status, outcome) in [
            (400, DeliveryOutcome::Refused),
            (422, DeliveryOutcome::Refused),
            (404, DeliveryOutcome::Failed),
            (429, DeliveryOutcome::Failed),
            (500, DeliveryOutcome::Failed),
        ] {
            assert_eq!(outcome_of(StatusCode::from_u16(status).unwrap()), outcome);
        }
    }
}
