//! What the server answered, and the sentence for when it refuses.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::{DATA, Failure, NO_PERMISSION, SOFTWARE, TEMPORARY, UNAVAILABLE};
use crate::output::Output;
use crate::step::{Step, StepResult};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Whether the server has done it.
    pub(crate) fn is_accepted(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer's document: an object or a list, as all of the API's are.
    pub(crate) fn value(&self) -> Result<Value, Failure> {
        self.accepted()?;
        match serde_json::from_slice(&self.body).map_err(|error| no_json(&error))? {
            value @ (Value::Object(_) | Value::Array(_)) => Ok(value),
            _ => Err(foreign("neither object nor list")),
        }
    }

    /// The answer's text, which has to be an object, or a list, of whatever. It is not taken apart, for it may be very long.
    pub(crate) fn document(self, is_object: bool) -> Result<String, Failure> {
        self.accepted()?;
        let text = String::from_utf8(self.body).map_err(|_| foreign("no text"))?;
        serde_json::from_str::<IgnoredAny>(&text).map_err(|error| no_json(&error))?;
        let (start, wrong) = if is_object { ('{', "no object") } else { ('[', "no list") };
        if text.trim_start().starts_with(start) { Ok(text) } else { Err(foreign(wrong)) }
    }

    /// The answer's document, which has to be a list.
    pub(crate) fn list(&self) -> Result<Vec<Value>, Failure> {
        match self.value()? {
            Value::Array(items) => Ok(items),
            _ => Err(foreign("no list")),
        }
    }

    /// Fails if it was refused.
    pub(crate) fn accepted(&self) -> Result<(), Failure> {
        if self.is_accepted() { Ok(()) } else { Err(self.refusal()) }
    }

    /// Fails if it was refused, and that was all.
    pub(crate) fn done(self) -> StepResult {
        self.accepted()?;
        Ok(Step::Done(Output::Nothing))
    }

    /// Fails like this if that is the status; in the server's words where it says what it is that is missing.
    pub(crate) fn unless(self, status: u16, failure: impl FnOnce() -> Failure) -> Result<Self, Failure> {
        if self.status != status {
            return Ok(self);
        }
        let failure = failure();
        Err(match self.reason().filter(|reason| is_telling(reason)) {
            Some(reason) => Failure::new(failure.status, reason),
            None => failure,
        })
    }

    /// What the server said about it.
    pub(crate) fn reason(&self) -> Option<String> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        let reason = value.get("reason").or_else(|| value.get("error"))?;
        Some(sentence(reason)).filter(|reason| !reason.is_empty())
    }

    /// Why the server has not done it.
    pub(crate) fn refusal(&self) -> Failure {
        let reason = self.reason();
        let with_reason = |text: &str| match &reason {
            Some(reason) => format!("{text}: {reason}"),
            None => text.to_owned(),
        };
        match self.status {
            400 => Failure::unavailable(with_reason("the server refuses this")),
            401 if reason.as_deref() == Some("Not management user") => Failure::new(
                NO_PERMISSION,
                "this user may not use the HTTP API: it needs one of the tags management, policymaker, monitoring, administrator",
            ),
            401 if !matches!(reason.as_deref(), None | Some("Not_Authorized" | "Login failed")) => {
                Failure::new(NO_PERMISSION, with_reason("this user may not do that"))
            }
            401 => Failure::new(
                NO_PERMISSION,
                with_reason(
                    "the server does not accept this user and password: set others with --username and --password",
                ),
            ),
            403 => Failure::new(NO_PERMISSION, with_reason("this user may not do that")),
            404 => Failure::new(DATA, with_reason("the server has no such object")),
            405 => Failure::unavailable("the server has no such operation"),
            408 | 504 => Failure::new(TEMPORARY, with_reason("the server was not ready in time, try again")),
            409 | 412 => Failure::new(DATA, with_reason("the server refuses this")),
            status => Failure::new(UNAVAILABLE, with_reason(&format!("the server failed with status {status}"))),
        }
    }
}

fn no_json(error: &serde_json::Error) -> Failure {
    Failure::new(
        SOFTWARE,
        format!("the server's answer is not valid JSON, so it may not be the management API of a broker: {error}"),
    )
}

/// What answers is something else.
pub(crate) fn foreign(what: &str) -> Failure {
    Failure::new(SOFTWARE, format!("the server's answer is {what}, so it may not be the management API of a broker"))
}

/// Whether a reason is a sentence of its own, and not what every refusal with its status has.
pub(crate) fn is_telling(reason: &str) -> bool {
    reason.contains(' ') && !["Not Found", "Object Not Found"].contains(&reason)
}

/// A reason in one line. RabbitMQ writes some as lists of code points within lists.
fn sentence(reason: &Value) -> String {
    let words = words(reason);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn words(reason: &Value) -> String {
    match reason {
        Value::String(text) => text.clone(),
        Value::Array(items) => match text(items) {
            Some(text) => text,
            None => items.iter().map(words).collect::<Vec<_>>().join(" "),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The text that a list of code points is, if it is one.
fn text(items: &[Value]) -> Option<String> {
    let char = |item: &Value| char::from_u32(u32::try_from(item.as_u64()?).ok()?).filter(|char| !char.is_control());
    if items.is_empty() { None } else { items.iter().map(char).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_refusal(status: u16, body: &str, expected: (u8, &str)) {
        let failure = Reply { status, body: body.into() }.refusal();
        assert_eq!((failure.status, failure.text.as_str()), expected);
    }

    #[test]
    fn refusals_say_the_servers_reason_in_one_line() {
        check_refusal(
            400,
            r#"{"error":"bad_request","reason":"Validation failed\n\nno such setting\n"}"#,
            (69, "the server refuses this: Validation failed no such setting"),
        );
        check_refusal(
            400,
            r#"{"error":"bad_request","reason":["invalid_regexp",[42],[[113,117],1]]}"#,
            (69, "the server refuses this: invalid_regexp * qu 1"),
        );
        check_refusal(405, "", (69, "the server has no such operation"));
        check_refusal(500, "<html>", (69, "the server failed with status 500"));
    }

    #[test]
    fn who_may_not_is_told_what_to_do() {
        let wrong = r#"{"error":"not_authorized","reason":"Not_Authorized"}"#;
        let text = "the server does not accept this user and password: set others with --username and --password: Not_Authorized";
        check_refusal(401, wrong, (77, text));
        let plain = r#"{"error":"not_authorised","reason":"Not administrator user"}"#;
        check_refusal(401, plain, (77, "this user may not do that: Not administrator user"));
        let plain = r#"{"error":"not_authorised","reason":"Not management user"}"#;
        let text = "this user may not use the HTTP API: it needs one of the tags management, policymaker, monitoring, administrator";
        check_refusal(401, plain, (77, text));
    }

    #[track_caller]
    fn check_missing(body: &str, expected: &str) {
        let reply = Reply { status: 404, body: body.into() };
        let failure = reply.unless(404, || Failure::new(64, "there is no queue 'orders'")).unwrap_err();
        assert_eq!((failure.status, failure.text.as_str()), (64, expected));
    }

    #[test]
    fn the_server_knows_best_what_is_missing() {
        let guess = "there is no queue 'orders'";
        check_missing(
            r#"{"error":"not_found","reason":"no queue 'express' in vhost '/'"}"#,
            "no queue 'express' in vhost '/'",
        );
        check_missing(r#"{"error":"Object Not Found","reason":"Not Found"}"#, guess);
        check_missing(r#"{"error":"not_found","reason":"vhost_not_found"}"#, guess);
        check_missing("", guess);
        check_missing("<html><h1>Not here</h1></html>", guess);
    }

    #[test]
    fn an_answer_that_is_no_document_is_an_error() {
        for body in ["<html>", "null", "1", "true", "\"x\"", ""] {
            let reply = Reply { status: 200, body: body.into() };
            assert_eq!(reply.value().unwrap_err().status, SOFTWARE, "{body}");
            assert_eq!(reply.clone().document(true).unwrap_err().status, SOFTWARE, "{body}");
            assert_eq!(reply.document(false).unwrap_err().status, SOFTWARE, "{body}");
        }
        let reply = |body: &str| Reply { status: 200, body: body.into() };
        assert_eq!(reply(" {\"a\": [1]}").document(true).unwrap(), " {\"a\": [1]}");
        assert!(reply("{}").document(false).is_err() && reply("[]").document(true).is_err());
    }
}
