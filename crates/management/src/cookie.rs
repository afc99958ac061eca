//! Logins by a browser's cookie, and what guards them against pages of other hosts.
//!
//! A browser sends a cookie with whatever a page asks for, also with what a page of another origin asks for. `SameSite=Strict` keeps most
//! of that away, but not pages of another port or of a sibling domain. So a request that may change something must say by its `origin` that
//! a page of this very host asks, and one that a browser says comes from another site counts as one without a login.

use std::time::{Duration, UNIX_EPOCH};

use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

use crate::problem::Problem;

/// Its name.
const NAME: &str = "warren_session";
/// Cookies of the name that are looked at: a page of a sibling domain can set some, too.
const COUNT_MAX: usize = 4;
/// Bytes of a value: 256 bits in base64url.
const VALUE_LEN: usize = 43;

/// What a request over TLS has among its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverTls;

/// Tokens of sessions that a request shows, if it comes from where it may use them.
pub(crate) fn tokens(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let is_foreign = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    values(headers, NAME).filter(move |value| value.len() == VALUE_LEN && !is_foreign).take(COUNT_MAX)
}

/// The value of a cookie.
pub(crate) fn value<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    values(headers, name).next()
}

fn values<'a>(headers: &'a HeaderMap, name: &'static str) -> impl Iterator<Item = &'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(own, _)| *own == name).map(|(_, value)| value)
}

/// Refuses what may change something, unless a page of this host asks for it.
pub(crate) fn check_origin(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let is_safe = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if is_safe || is_own_page(headers) {
        Ok(())
    } else {
        Err(Problem::new(StatusCode::FORBIDDEN, "forbidden", FOREIGN))
    }
}

/// Refuses what a page of another host asks for. Programs that are no browsers say nothing of pages.
pub(crate) fn check_page(headers: &HeaderMap) -> Result<(), Problem> {
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    check_origin(&Method::POST, headers)
}

const FOREIGN: &str = "a request with a session cookie may make changes only if its header 'origin' names this host";

/// Whether `origin` names the host and port that `host` does. Whether it is http or https is not compared: a proxy may carry the one over
/// the other.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else { return false };
    origin.split_once("://").is_some_and(|(_, authority)| !authority.is_empty() && authority.eq_ignore_ascii_case(host))
}

/// Sets the cookie for so long. Where TLS is spoken, here or by a proxy before this, it is sent over TLS only: the page asks for that.
pub(crate) fn set(
    token: &str,
    prefix: &str,
    lifetime: Duration,
    headers: &HeaderMap,
    is_over_tls: bool,
) -> HeaderValue {
    let is_page_secure = headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let secure = if is_over_tls || is_page_secure { "; Secure" } else { "" };
    let (path, seconds) = (path(prefix), lifetime.as_secs());
    let text = format!("{NAME}={token}; HttpOnly; SameSite=Strict; Path={path}; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Takes the cookie away.
pub(crate) fn clear(prefix: &str) -> HeaderValue {
    let text = format!("{NAME}=; HttpOnly; SameSite=Strict; Path={}; Max-Age=0", path(prefix));
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

fn path(prefix: &str) -> &str {
    if prefix.is_empty() { "/" } else { prefix }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn tokens_are_found_among_other_cookies() {
        let token = "t".repeat(VALUE_LEN);
        let cookies = format!("a=b; warren_session={token}; warren_session=short; xwarren_session={token}");
        assert_eq!(tokens(&headers(&[("cookie", &cookies)])).collect::<Vec<_>>(), [&token]);
        let many = format!("warren_session={token};").repeat(COUNT_MAX + 1);
        assert_eq!(tokens(&headers(&[("cookie", &many)])).count(), COUNT_MAX);
        let foreign = [("cookie", &*cookies), ("sec-fetch-site", "cross-site")];
        assert_eq!(tokens(&headers(&foreign)).count(), 0);
    }

    #[test]
    fn only_a_page_of_the_host_may_change_something() {
        let check = |method: Method, origin: &str, host: &str| {
            check_origin(&method, &headers(&[("origin", origin), ("host", host)])).is_ok()
        };
        assert!(check(Method::POST, "https://broker.example", "broker.example"));
        assert!(check(Method::DELETE, "http://Broker.example:15672", "broker.example:15672"));
        for (origin, host) in [
            ("http://broker.example:8080", "broker.example:15672"),
            ("http://evil.example", "broker.example"),
            ("http://broker.example.evil.example", "broker.example"),
            ("null", "broker.example"),
            ("broker.example", "broker.example"),
            ("http://", ""),
        ] {
            assert!(!check(Method::PUT, origin, host), "{origin} {host}");
            assert!(check(Method::GET, origin, host), "{origin} {host}");
        }
        assert!(check_origin(&Method::POST, &headers(&[("host", "broker.example")])).is_err());
        assert!(check_page(&headers(&[("host", "broker.example")])).is_ok());
    }

    #[test]
    fn a_cookie_is_for_the_host_and_for_no_script() {
        let hour = Duration::from_secs(3600);
        let plain = set("abc", "", hour, &HeaderMap::new(), false);
        assert_eq!(plain, "warren_session=abc; HttpOnly; SameSite=Strict; Path=/; Max-Age=3600");
        let secure = "warren_session=abc; HttpOnly; SameSite=Strict; Path=/rabbit; Max-Age=3600; Secure";
        assert_eq!(set("abc", "/rabbit", hour, &HeaderMap::new(), true), secure);
        assert_eq!(set("abc", "/rabbit", hour, &headers(&[("origin", "https://x")]), false), secure);
        assert_eq!(clear("/rabbit"), "warren_session=; HttpOnly; SameSite=Strict; Path=/rabbit; Max-Age=0");
    }
}
