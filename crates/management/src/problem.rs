//! Why a request is not answered: RabbitMQ's status codes and bodies.

use std::borrow::Cow;

use broker::ControlError;
use definitions::ReadError;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::json::Writer;

/// A request that fails. Becomes `{"error": …, "reason": …}`, or an empty body where RabbitMQ has none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// None: an empty body.
    pub(crate) body: Option<ProblemBody>,
    /// Whether the answer asks for credentials.
    pub(crate) asks_for_login: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProblemBody {
    pub(crate) error: Cow<'static, str>,
    pub(crate) reason: Value,
}

/// Where Erlang breaks lines.
const ERLANG_LINE_LEN: usize = 78;

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<Cow<'static, str>>, reason: impl Into<Value>) -> Problem {
        let body = ProblemBody { error: error.into(), reason: reason.into() };
        Problem { status, body: Some(body), asks_for_login: false }
    }

    /// Why, as a sentence; nothing where the status says it all.
    pub(crate) fn reason(&self) -> &str {
        self.body.as_ref().and_then(|body| body.reason.as_str()).unwrap_or_default()
    }

    /// It cannot be done now.
    pub(crate) fn unavailable(reason: impl Into<Value>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "service_unavailable", reason)
    }

    /// Only a status.
    pub(crate) fn bare(status: StatusCode) -> Problem {
        Problem { status, body: None, asks_for_login: false }
    }

    /// What is asked for is not there.
    pub(crate) fn not_found() -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "Object Not Found", "Not Found")
    }

    /// The request makes no sense.
    pub(crate) fn bad_request(reason: impl Into<Value>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", reason)
    }

    /// The login is not valid.
    pub(crate) fn not_authenticated() -> Problem {
        Problem::new(StatusCode::UNAUTHORIZED, "not_authorized", "Not_Authorized")
    }

    /// No credentials were sent at all.
    pub(crate) fn login_required() -> Problem {
        Problem { asks_for_login: true, ..Problem::bare(StatusCode::UNAUTHORIZED) }
    }

    /// The user may not do this.
    pub(crate) fn not_authorised(reason: impl Into<Value>) -> Problem {
        Problem::new(StatusCode::UNAUTHORIZED, "not_authorised", reason)
    }

    /// The request asks for too much, or for what is protected.
    pub(crate) fn precondition_failed(reason: impl Into<Value>) -> Problem {
        Problem::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", reason)
    }

    /// What RabbitMQ calls a failed validation.
    pub(crate) fn validation_failed(text: &str) -> Problem {
        Problem::bad_request(format!("Validation failed\n\n{text}\n"))
    }

    /// Keys that a body must have, as Erlang prints them: on lines of their own where one line has no room.
    pub(crate) fn keys_missing(keys: &[&str]) -> Problem {
        let keys: Vec<String> = keys.iter().map(|key| format!("{{key_missing,{key}}}")).collect();
        let line = keys.join(",");
        let text = if line.len() < ERLANG_LINE_LEN { line } else { keys.join(",\n ") };
        Problem::bad_request(format!("[{text}]"))
    }

    /// The body of the answer.
    pub(crate) fn render(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(body) = &self.body {
            Writer::new(&mut out).object(|object| {
                object.cell("error").text(&body.error);
                object.cell("reason").value(&body.reason);
            });
        }
        out
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Problem {
        match error {
            ReadError::Missing(keys) => Problem::keys_missing(&keys.iter().map(String::as_str).collect::<Vec<_>>()),
            ReadError::TagsMissing => Problem::bad_request("tags_not_present"),
            ReadError::NotBoolean { value, .. } => Problem::bad_request(json!(["not_boolean", value])),
            ReadError::NotInteger { text, .. } => Problem::bad_request(json!(["not_integer", text])),
            ReadError::NotBase64 { text, .. } => Problem::bad_request(json!(["not_base64", text])),
            ReadError::TwoPasswords { .. } => Problem::bad_request("both_password_and_password_hash_are_provided"),
            other => Problem::bad_request(other.in_words_of_rabbitmq()),
        }
    }
}

impl From<ControlError> for Problem {
    fn from(error: ControlError) -> Problem {
        match error {
            ControlError::NotFound(text) => Problem::new(StatusCode::NOT_FOUND, "not_found", text),
            ControlError::Invalid(text) => Problem::bad_request(text),
            ControlError::Protected(text) => Problem::precondition_failed(text),
            ControlError::Random(error) => {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_keys(keys: &[&str], reason: &str) {
        assert_eq!(Problem::keys_missing(keys), Problem::bad_request(reason));
    }

    #[test]
    fn missing_keys_are_told_as_erlang_prints_them() {
        check_keys(&["value"], "[{key_missing,value}]");
        let three = "[{key_missing,configure},{key_missing,write},{key_missing,read}]";
        check_keys(&["configure", "write", "read"], three);
        check_keys(
            &["routing_key", "properties", "payload", "payload_encoding"],
            "[{key_missing,routing_key},\n {key_missing,properties},\n {key_missing,payload},\n \
             {key_missing,payload_encoding}]",
        );
    }
}
