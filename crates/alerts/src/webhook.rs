//! A webhook: where notices are sent, and how.

use serde_json::{Map, Value, json};

use crate::limits::{HEADER_COUNT_MAX, TEXT_LEN_MAX, TIMEOUT_DEFAULT_MS, TIMEOUT_RANGE_MS};
use crate::members::{MemberError, Members, check_name, refuse};

/// A receiver of notices.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// By which rules name it.
    pub name: Box<str>,
    /// Where notices are posted to. It may have a password in it.
    pub url: String,
    /// Headers that every request has.
    pub headers: Vec<(String, String)>,
    /// How long an answer may take.
    pub timeout_ms: u64,
    /// With which requests are signed.
    pub secret: Option<String>,
    /// File of the authorities that its certificate is to be from; None: the system's.
    pub cacertfile: Option<String>,
}

/// Debugging output has no secrets.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("name", &self.name).finish_non_exhaustive()
    }
}

const KNOWN: &[&str] = &["url", "headers", "timeout", "secret", "cacertfile"];
const SHOWN: &[&str] =
    &["name", "source", "signed", "waiting", "delivered", "failed", "dropped", "folded", "last_error"];
/// Stands for what is not shown.
pub const HIDDEN: &str = "***";
/// Headers that the sender sets itself.
const RESERVED: &[&str] = &[
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "te",
    "trailer",
    "upgrade",
    "expect",
];

impl Webhook {
    /// Reads a webhook as operators give it. Whether its URL can be asked for is the sender's business.
    pub fn parse(name: &str, members: &Map<String, Value>) -> Result<Webhook, MemberError> {
        check_name(name)?;
        let members = Members(members);
        members.check_known(KNOWN, SHOWN)?;
        let text = |name: &str| -> Result<Option<String>, MemberError> {
            match members.text(name)? {
                Some(text) if text.is_empty() || text.len() > TEXT_LEN_MAX => {
                    refuse(format!("'{name}' must have 1 to {TEXT_LEN_MAX} bytes"))
                }
                text => Ok(text.map(str::to_owned)),
            }
        };
        let Some(url) = text("url")? else { return refuse("a webhook requires a 'url'") };
        if url.split_once("://").is_some_and(|(_, rest)| rest.starts_with(&format!("{HIDDEN}@"))) {
            return refuse(format!(
                "'{HIDDEN}' replaces hidden values: enter the user and password of the 'url' again"
            ));
        }
        let mut headers = Vec::new();
        for (name, value) in members.object("headers")?.into_iter().flatten() {
            headers.push((name.clone(), header_value(name, value)?));
        }
        if headers.len() > HEADER_COUNT_MAX {
            return refuse(format!("a webhook must not have more than {HEADER_COUNT_MAX} headers"));
        }
        let timeout_ms = members.duration_ms("timeout", TIMEOUT_RANGE_MS)?.unwrap_or(TIMEOUT_DEFAULT_MS);
        let (secret, cacertfile) = (text("secret")?, text("cacertfile")?);
        if secret.is_none() && members.bool("signed")? {
            return refuse("the 'secret' of a signed webhook is required, because it is hidden: enter it again");
        }
        Ok(Webhook { name: name.into(), url, headers, timeout_ms, secret, cacertfile })
    }

    /// What may be shown of it, beside its URL: no secret, and no header's value, which may be one.
    #[must_use]
    pub fn shown(&self) -> Map<String, Value> {
        let mut shown = Map::new();
        shown.insert("name".to_owned(), json!(self.name));
        let names: Map<String, Value> = self.headers.iter().map(|(name, _)| (name.clone(), json!(HIDDEN))).collect();
        shown.insert("headers".to_owned(), Value::Object(names));
        shown.insert("timeout".to_owned(), json!(self.timeout_ms));
        shown.insert("signed".to_owned(), json!(self.secret.is_some()));
        if let Some(file) = &self.cacertfile {
            shown.insert("cacertfile".to_owned(), json!(file));
        }
        shown
    }
}

fn header_value(name: &str, value: &Value) -> Result<String, MemberError> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let reserved = RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
    if name.is_empty() || name.len() > TEXT_LEN_MAX || !name.bytes().all(is_token) || reserved {
        return refuse(format!("'{name}' cannot be a header of a webhook"));
    }
    match value.as_str() {
        Some(HIDDEN) => refuse(format!("'{HIDDEN}' replaces hidden values: enter the header '{name}' again")),
        Some(text)
            if text.len() <= TEXT_LEN_MAX && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) =>
        {
            Ok(text.to_owned())
        }
        _ => refuse(format!("the header '{name}' must be printable ASCII")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(members: Value) -> Result<Webhook, String> {
        let Value::Object(members) = members else { panic!("{members}") };
        Webhook::parse("w", &members).map_err(|error| error.to_string())
    }

    #[test]
    fn secrets_are_not_shown() {
        let members =
            json!({"url": "http://h/", "secret": "s3", "headers": {"Authorization": "Bearer t0"}, "timeout": "2s"});
        let webhook = parse(members).unwrap();
        assert_eq!(webhook.timeout_ms, 2000);
        let shown = format!("{} {webhook:?}", Value::Object(webhook.shown()));
        assert!(!shown.contains("s3") && !shown.contains("t0") && shown.contains("Authorization"), "{shown}");
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        assert_eq!(parse(json!({})).unwrap_err(), "a webhook requires a 'url'");
        let header = |name: &str, value: &str| parse(json!({"url": "http://h/", "headers": {name: value}}));
        assert!(header("X-Token", "a b").is_ok());
        for name in ["Host", "content-length", "a b", "", "x\r\ny"] {
            assert_eq!(header(name, "v").unwrap_err(), format!("'{name}' cannot be a header of a webhook"));
        }
        assert!(header("X-Token", "a\r\nb").is_err() && header("X-Token", "ä").is_err());
        assert!(parse(json!({"url": "http://h/", "timeout": "1h"})).is_err());
        // What is shown can be given back, except for secrets, which are not shown: giving the rest back must not remove them.
        let shown = |more: Value| {
            let mut members =
                json!({"url": "http://h/", "name": "w", "signed": false, "waiting": 0, "last_error": null});
            more.as_object().unwrap().iter().for_each(|(name, value)| members[name] = value.clone());
            parse(members)
        };
        assert!(shown(json!({})).is_ok() && shown(json!({"signed": true, "secret": "s"})).is_ok());
        let text = "'***' replaces hidden values: enter the header 'X-Token' again";
        assert_eq!(shown(json!({"headers": {"X-Token": "***"}})).unwrap_err(), text);
        let text = "the 'secret' of a signed webhook is required, because it is hidden: enter it again";
        assert_eq!(shown(json!({"signed": true})).unwrap_err(), text);
        let text = "'***' replaces hidden values: enter the user and password of the 'url' again";
        assert_eq!(shown(json!({"url": "https://***@h:443/x"})).unwrap_err(), text);
        assert!(shown(json!({"next_attempt": 1})).is_err(), "it is not shown");
        assert!(parse(json!({"url": "x".repeat(5000)})).is_err());
        assert!(parse(json!({"uri": "http://h/"})).is_err());
    }
}
