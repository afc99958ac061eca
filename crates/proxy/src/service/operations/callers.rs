//! Which callers may ask: programs, and no page of another site in a browser that was lured here.
//!
//! A page can have a browser send requests to any address, and says with most of them whose page it is (`Origin`). It can also have its own
//! name lead to this address (DNS rebinding): then the browser takes what is here for the page's own, but names it in `Host`.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;

/// By which names programs ask. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Callers {
    /// In lower case.
    hosts: Arc<[String]>,
}

/// Why a request is not answered.
pub(super) type Refusal = (StatusCode, &'static str);

const NO_HOST: Refusal = (StatusCode::BAD_REQUEST, "a request must have exactly one header Host");
const FOREIGN_HOST: Refusal =
    (StatusCode::FORBIDDEN, "this host is not known by that name; proxy.http.hosts.$name can name it");
const FOREIGN_ORIGIN: Refusal = (StatusCode::FORBIDDEN, "requests from pages of other origins are refused");

impl Callers {
    /// They ask by these names, by `localhost`, and by any address.
    #[must_use]
    pub fn new(hosts: impl IntoIterator<Item = String>) -> Self {
        Self { hosts: hosts.into_iter().map(|host| host.trim_end_matches('.').to_ascii_lowercase()).collect() }
    }

    /// Why this request is refused, if it is. From another host all may read: no browser has to be lured for that.
    pub(super) fn refusal(&self, request: &Parts, is_here: bool, is_read: bool) -> Option<Refusal> {
        // Older programs name none, and browsers are no older programs.
        let Ok(host) = http_server::host(&request.headers, request.version) else { return Some(NO_HOST) };
        let is_bound = is_here || !is_read;
        if is_bound && host.is_some_and(|host| !self.is_own(host)) {
            return Some(FOREIGN_HOST);
        }
        (!has_own_origin(&request.headers, host)).then_some(FOREIGN_ORIGIN)
    }

    fn is_own(&self, host: &HeaderValue) -> bool {
        let Ok(authority) = Authority::try_from(host.as_bytes()) else { return false };
        if authority.as_str().contains('@') {
            return false;
        }
        let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        let is_local = name == "localhost" || name.ends_with(".localhost");
        is_local || bare.parse::<std::net::IpAddr>().is_ok() || self.hosts.contains(&name)
    }
}

/// Whether no page asks, or one that comes from here.
fn has_own_origin(headers: &HeaderMap, host: Option<&HeaderValue>) -> bool {
    headers.get_all(ORIGIN).iter().all(|origin| {
        let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, own)| own.as_bytes());
        authority.is_some() && authority == host.map(HeaderValue::as_bytes)
    })
}

#[cfg(test)]
mod tests {
    use hyper::{Request, Version};

    use super::*;

    const HERE: bool = true;
    const ELSEWHERE: bool = false;
    const READ: bool = true;
    const CHANGE: bool = false;

    #[track_caller]
    fn check(headers: &[(&str, &str)], is_here: bool, is_read: bool, expected: Option<Refusal>) {
        let callers = Callers::new(["Proxy-1".to_owned(), "proxy.example.".to_owned()]);
        let builder = headers.iter().fold(Request::builder(), |builder, (name, value)| builder.header(*name, *value));
        let (parts, ()) = builder.body(()).unwrap().into_parts();
        assert_eq!(callers.refusal(&parts, is_here, is_read), expected, "{headers:?} {is_here} {is_read}");
    }

    #[test]
    fn programs_ask_by_an_address_or_by_a_name_of_the_hosts() {
        for host in [
            "localhost",
            "localhost:15673",
            "LOCALHOST.:1",
            "127.0.0.1:15673",
            "[::1]:15673",
            "10.1.2.3",
            "proxy-1:15673",
            "PROXY.example",
        ] {
            check(&[("host", host)], HERE, READ, None);
            check(&[("host", host)], HERE, CHANGE, None);
        }
    }

    #[test]
    fn a_name_that_was_made_to_lead_here_is_refused() {
        for host in [
            "evil.example",
            "evil.example:15673",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "a b",
            "x@localhost:y",
        ] {
            check(&[("host", host)], HERE, READ, Some(FOREIGN_HOST));
            check(&[("host", host)], HERE, CHANGE, Some(FOREIGN_HOST));
            check(&[("host", host)], ELSEWHERE, CHANGE, Some(FOREIGN_HOST));
            check(&[("host", host)], ELSEWHERE, READ, None);
        }
    }

    #[test]
    fn a_page_from_elsewhere_is_refused() {
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:8080", "http://localhost:15673.evil.example", ""]
        {
            for (is_here, is_read) in [(HERE, READ), (HERE, CHANGE), (ELSEWHERE, READ)] {
                let headers = [("host", "127.0.0.1:15673"), ("origin", origin)];
                check(&headers, is_here, is_read, Some(FOREIGN_ORIGIN));
            }
        }
        check(&[("host", "127.0.0.1:15673"), ("origin", "http://127.0.0.1:15673")], HERE, CHANGE, None);
    }

    #[test]
    fn a_request_names_one_host() {
        check(&[], HERE, READ, Some(NO_HOST));
        check(&[("host", "localhost"), ("host", "localhost")], HERE, READ, Some(NO_HOST));
        let (mut parts, ()) = Request::new(()).into_parts();
        parts.version = Version::HTTP_10;
        assert_eq!(Callers::default().refusal(&parts, HERE, READ), None);
    }
}
