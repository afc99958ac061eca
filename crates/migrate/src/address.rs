//! Where a broker is: an AMQP URI as shovels are given it, and the URL of its HTTP API.

use amqp_client::Uri;
use http_client::HttpUrl;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};

/// The port of the HTTP API, and over TLS.
const API_PORT: u16 = 15672;
const API_PORT_TLS: u16 = 15671;

/// What stands for itself in a URI and in a path.
const UNESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A part of a path or of a query.
pub(crate) fn escaped(part: &str) -> String {
    utf8_percent_encode(part, UNESCAPED).to_string()
}

/// A path of the HTTP API.
pub(crate) fn path(parts: &[&str]) -> String {
    format!("/api/{}", parts.iter().map(|part| escaped(part)).collect::<Vec<_>>().join("/"))
}

/// A vhost as the path of an AMQP URI.
pub(crate) fn vhost_in_uri(vhost: &str) -> String {
    percent_encode(vhost.as_bytes(), UNESCAPED).to_string()
}

/// A broker.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) uri: Uri,
    /// As it was given.
    text: String,
    pub(crate) api: HttpUrl,
}

impl Address {
    /// Reads a URI; `option` is what it was given by, and `api` the URL of its HTTP API if that was said.
    pub(crate) fn parse(option: &str, text: &str, api: Option<&str>) -> Result<Self, String> {
        let uri = Uri::parse(text).map_err(|error| format!("{option}: {error}"))?;
        if uri.is_hostless {
            return Err(format!("{option}: '{uri}' has no host"));
        }
        let api = match api {
            None => {
                let (scheme, port) = if uri.is_tls { ("https", API_PORT_TLS) } else { ("http", API_PORT) };
                let host = if uri.host.contains(':') { format!("[{}]", uri.host) } else { uri.host.clone() };
                format!("{scheme}://{host}:{port}")
            }
            Some(api) => api.to_owned(),
        };
        let url = match api.strip_prefix("unix:") {
            Some(path) => HttpUrl::on_socket(path.strip_prefix("//").unwrap_or(path)),
            None => HttpUrl::parse(&api).map_err(|error| format!("{option}-api: {error}"))?,
        };
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/api").unwrap_or(path).to_owned();
        let url = url.with_path(if path.is_empty() { "/" } else { &path });
        let url =
            if url.has_user() || api.starts_with("unix:") { url } else { url.with_user(&uri.user, &uri.password) };
        Ok(Address { uri, text: text.to_owned(), api: url })
    }

    /// The same broker's URI for a vhost, with user, password and query.
    pub(crate) fn uri_of(&self, vhost: &str) -> String {
        let (place, query) =
            self.text.split_once('?').map_or((&*self.text, None), |(place, query)| (place, Some(query)));
        let start = place.find("://").map_or(0, |at| at + 3);
        let end = place[start..].find('/').map_or(place.len(), |at| start + at);
        let query = query.map_or(String::new(), |query| format!("?{query}"));
        format!("{}/{}{query}", &place[..end], vhost_in_uri(vhost))
    }

    /// Host and port, without the user.
    pub(crate) fn shown(&self) -> String {
        self.uri.address()
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Address({})", self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_http_api_is_where_rabbitmq_has_it() {
        for (uri, expected) in
            [("amqp://h", "h:15672"), ("amqps://u:p@h:5673/v", "h:15671"), ("amqp://u:p@[::1]:5673", "::1:15672")]
        {
            let address = Address::parse("--from", uri, None).unwrap();
            assert_eq!(address.api.to_string(), expected);
            assert!(address.api.has_user());
        }
        let address = Address::parse("--from", "amqp://u:p@h", Some("http://x:y@proxy:80/rabbit/api")).unwrap();
        assert_eq!((address.api.to_string().as_str(), address.api.path()), ("proxy:80", "/rabbit"));
        let error = Address::parse("--from", "amqp://u:secret@h:x", None).unwrap_err();
        assert_eq!(error, "--from: 'amqp://u:***@h:x' is no AMQP URI: the port is no number up to 65535");
        assert!(Address::parse("--from", "amqp:///v", None).is_err());
    }

    #[test]
    fn a_uri_keeps_all_but_its_vhost() {
        let address = Address::parse("--from", "amqps://u:p%2F@h:5673/v?verify=verify_peer", None).unwrap();
        assert_eq!(address.uri_of("/"), "amqps://u:p%2F@h:5673/%2F?verify=verify_peer");
        let address = Address::parse("--from", "amqp://h", None).unwrap();
        assert_eq!(address.uri_of("a b"), "amqp://h/a%20b");
        assert!(!format!("{address:?}").contains("secret"));
    }
}
