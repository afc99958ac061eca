//! The InfluxDB that lines are posted to: where exactly, with which credentials, and what its answers mean.

use std::path::PathBuf;

use bytes::Bytes;
use http_client::{Answer, Client, HeaderValue, HttpUrl, Method, Request, StatusCode, header};
use influx::Precision;
use model::config::{InfluxdbLogin, InfluxdbPlace, InfluxdbServer};
use net::{ClientTls, ClientTlsOptions, Trust};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::limits::REASON_LEN_MAX;
use super::outbox::PostOutcome;
use crate::SetupError;

const CONTENT_TYPE: &str = "text/plain; charset=utf-8";
const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("Warren/", env!("CARGO_PKG_VERSION")));

/// Posts lines to one InfluxDB, a batch at a time.
#[derive(Debug)]
pub(super) struct Server {
    client: Client,
    /// Without lines yet.
    request: Request,
}

/// What has come of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PostAttempt {
    pub(super) outcome: PostOutcome,
    /// Why it is not delivered.
    pub(super) error: Option<String>,
}

impl Server {
    pub(super) fn new(options: &InfluxdbServer, precision: Precision) -> Result<Self, SetupError> {
        let wrong = |key: &str, reason: &dyn std::fmt::Display| SetupError(format!("warren.influxdb.{key}: {reason}"));
        let url = HttpUrl::parse(&options.url).map_err(|error| wrong("url", &error))?;
        if url.path().contains('?') {
            let reason = "the URL may not have a query; bucket or database have keys of their own";
            return Err(wrong("url", &reason));
        }
        let url = match (&options.cacertfile, url.is_tls()) {
            (Some(file), true) => {
                let trust = Trust::File(PathBuf::from(file));
                let tls = ClientTls::new(&ClientTlsOptions::trusting(trust));
                url.trusting(tls.map_err(|error| wrong("cacertfile", &error))?)
            }
            _ => url,
        };
        let url = match &options.login {
            Some(InfluxdbLogin::User(name, password)) => url.with_user(name, password),
            _ => url,
        };
        let mut request = Request::new(Method::POST)
            .below(path(&options.place, precision))
            .with_header(header::USER_AGENT, USER_AGENT);
        if let Some(InfluxdbLogin::Token(token)) = &options.login {
            let value = HeaderValue::from_str(&format!("Token {token}"));
            let mut value = value.map_err(|_| wrong("token", &"it cannot be sent as a header"))?;
            value.set_sensitive(true);
            request = request.with_header(header::AUTHORIZATION, value);
        }
        Ok(Server { client: Client::new(url, options.timeout), request })
    }

    /// Where it is: host and port.
    pub(super) fn name(&self) -> String {
        self.client.url().to_string()
    }

    /// Posts lines, once.
    pub(super) async fn post(&mut self, lines: Bytes) -> PostAttempt {
        let request = self.request.clone().with_body(CONTENT_TYPE, lines);
        match self.client.ask(&request).await {
            Ok(answer) => judge(&answer),
            Err(error) => {
                let outcome = PostOutcome::Failed { is_answered: false, retry_after: None };
                PostAttempt { outcome, error: Some(error.to_string()) }
            }
        }
    }
}

/// Path and query of the requests.
fn path(place: &InfluxdbPlace, precision: Precision) -> String {
    let (path, precision, parameters) = match place {
        InfluxdbPlace::Bucket { org, bucket } => {
            ("api/v2/write", precision.name(), [("org", org.as_ref()), ("bucket", Some(bucket))])
        }
        InfluxdbPlace::Database { database, retention_policy } => {
            ("write", precision.name_of_version_1(), [("db", Some(database)), ("rp", retention_policy.as_ref())])
        }
    };
    let mut path = format!("{path}?precision={precision}");
    for (name, value) in parameters {
        if let Some(value) = value {
            path.extend([format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))]);
        }
    }
    path
}

/// A server that answers that a request is wrong would repeat that; anything else may be better later.
fn judge(answer: &Answer) -> PostAttempt {
    let status = answer.status;
    let is_answered = true;
    let outcome = match status {
        _ if status.is_success() => return PostAttempt { outcome: PostOutcome::Delivered, error: None },
        StatusCode::TOO_MANY_REQUESTS => PostOutcome::Failed { is_answered, retry_after: answer.retry_after() },
        _ if status.is_server_error() => PostOutcome::Failed { is_answered, retry_after: answer.retry_after() },
        _ => PostOutcome::Refused,
    };
    PostAttempt { outcome, error: Some(format!("it answered {status}{}", reason(&answer.body))) }
}

/// What an InfluxDB says about its status: `error` in version 1, `message` in version 2, a line of text elsewhere.
fn reason(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let object: Value = serde_json::from_str(&text).unwrap_or_default();
    let said = ["message", "error"].into_iter().find_map(|name| object[name].as_str());
    let line = said.unwrap_or(&text).trim().lines().next().unwrap_or_default();
    let line: String = line.chars().filter(|letter| !letter.is_control()).take(REASON_LEN_MAX).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn options(url: &str, place: InfluxdbPlace) -> InfluxdbServer {
        InfluxdbServer { url: url.to_owned(), place, login: None, cacertfile: None, timeout: Duration::from_secs(1) }
    }

    fn bucket() -> InfluxdbPlace {
        InfluxdbPlace::Bucket { org: None, bucket: "b".to_owned() }
    }

    #[track_caller]
    fn check_error(options: &InfluxdbServer, text: &str) {
        assert_eq!(Server::new(options, Precision::Seconds).unwrap_err().to_string(), text);
    }

    #[test]
    fn each_version_has_its_path() {
        let second = InfluxdbPlace::Bucket { org: Some("a&b".to_owned()), bucket: "ä c".to_owned() };
        assert_eq!(path(&second, Precision::Microseconds), "api/v2/write?precision=us&org=a%26b&bucket=%C3%A4%20c");
        assert_eq!(path(&bucket(), Precision::Nanoseconds), "api/v2/write?precision=ns&bucket=b");
        let first = InfluxdbPlace::Database { database: "d".to_owned(), retention_policy: Some("one/day".to_owned()) };
        assert_eq!(path(&first, Precision::Microseconds), "write?precision=u&db=d&rp=one%2Fday");
    }

    #[test]
    fn what_is_no_server_is_said_in_one_sentence() {
        check_error(
            &options("ftp://me:s3cret@h", bucket()),
            "warren.influxdb.url: 'ftp://me:***@h' is not an http:// or https:// URL",
        );
        check_error(
            &options("http://h/write?db=x", bucket()),
            "warren.influxdb.url: the URL may not have a query; bucket or database have keys of their own",
        );
        let token =
            InfluxdbServer { login: Some(InfluxdbLogin::Token("a\nb".to_owned())), ..options("http://h", bucket()) };
        check_error(&token, "warren.influxdb.token: it cannot be sent as a header");
        let file = InfluxdbServer { cacertfile: Some("/nowhere.pem".to_owned()), ..options("https://h", bucket()) };
        let error = Server::new(&file, Precision::Seconds).unwrap_err().to_string();
        assert!(error.starts_with("warren.influxdb.cacertfile: ") && error.contains("/nowhere.pem"), "{error}");
    }

    #[test]
    fn tokens_are_not_shown() {
        let login = Some(InfluxdbLogin::Token("s3cret".to_owned()));
        let server = Server::new(&InfluxdbServer { login, ..options("http://h", bucket()) }, Precision::Seconds);
        assert!(!format!("{server:?}").contains("s3cret"));
    }

    #[track_caller]
    fn check_judged(
        status: u16,
        headers: &[(&'static str, &str)],
        body: &str,
        outcome: PostOutcome,
        error: Option<&str>,
    ) {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, headers: headers.collect(), body: Bytes::copy_from_slice(body.as_bytes()) };
        assert_eq!(judge(&answer), PostAttempt { outcome, error: error.map(str::to_owned) });
    }

    #[test]
    fn only_what_may_be_better_later_is_tried_again() {
        let failed = |retry_after: Option<u64>| PostOutcome::Failed {
            is_answered: true,
            retry_after: retry_after.map(Duration::from_secs),
        };
        check_judged(204, &[], "", PostOutcome::Delivered, None);
        check_judged(200, &[], "", PostOutcome::Delivered, None);
        check_judged(500, &[], "", failed(None), Some("it answered 500 Internal Server Error"));
        let busy = "it answered 503 Service Unavailable";
        check_judged(503, &[("retry-after", "30")], "", failed(Some(30)), Some(busy));
        let many = "it answered 429 Too Many Requests";
        check_judged(429, &[("retry-after", "7")], "", failed(Some(7)), Some(many));
        check_judged(429, &[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")], "", failed(None), Some(many));
        check_judged(404, &[], "", PostOutcome::Refused, Some("it answered 404 Not Found"));
        check_judged(301, &[], "", PostOutcome::Refused, Some("it answered 301 Moved Permanently"));
    }

    #[test]
    fn the_reason_is_a_line_of_what_the_server_says() {
        let second = r#"{"code":"unauthorized","message":"unauthorized access"}"#;
        check_judged(401, &[], second, PostOutcome::Refused, Some("it answered 401 Unauthorized: unauthorized access"));
        let first = r#"{"error":"database not found: \"d\""}"#;
        check_judged(
            404,
            &[],
            first,
            PostOutcome::Refused,
            Some("it answered 404 Not Found: database not found: \"d\""),
        );
        let page = format!("\n\u{1b}[31mno {}\nmore", "x".repeat(300));
        let expected = format!("it answered 400 Bad Request: [31mno {}", "x".repeat(193));
        check_judged(400, &[], &page, PostOutcome::Refused, Some(&expected));
    }
}
