//! Where a server is, and which user asks.

use std::fmt;
use std::path::PathBuf;

use amqp::uri::without_passwords;
use base64::Engine as _;
use hyper::Uri;
use hyper::header::HeaderValue;
use net::ClientTls;
use percent_encoding::percent_decode_str;

/// Why a URL cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpUrlError {
    /// It is none, or one with another scheme.
    #[error("'{url}' is not an http:// or https:// URL")]
    NotHttp {
        /// The URL, without a password.
        url: String,
    },
    /// Its port is no port.
    #[error("'{url}' has a wrong port: ports are 0 to 65535")]
    Port {
        /// The URL, without a password.
        url: String,
    },
}

/// An `http://` or `https://` URL, or a path on a Unix socket. User and password in it are sent as such.
#[derive(Clone)]
pub struct HttpUrl {
    pub(crate) place: Endpoint,
    /// The header `Host`.
    pub(crate) authority: HeaderValue,
    path: String,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) is_tls: bool,
    /// Which authorities to trust; the system's, if that is not said.
    pub(crate) tls: Option<ClientTls>,
}

/// Where a connection leads.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Host { host: String, port: u16 },
    Socket(PathBuf),
}

impl PartialEq for HttpUrl {
    /// The authorities that it trusts do not matter.
    fn eq(&self, other: &Self) -> bool {
        let parts = |url: &Self| (url.is_tls, url.place.clone(), url.path.clone(), url.authorization.clone());
        parts(self) == parts(other)
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpUrl({self}{})", self.path)
    }
}

/// Host and port, or the socket's path.
impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Endpoint::Host { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

impl HttpUrl {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// When it is none, or one with another scheme, or its port is none.
    pub fn parse(url: &str) -> Result<Self, HttpUrlError> {
        parse(url).ok_or_else(|| match (has_large_port(url), without_passwords(url)) {
            (true, url) => HttpUrlError::Port { url },
            (false, url) => HttpUrlError::NotHttp { url },
        })
    }

    /// The path `/` on a Unix socket. There is no login there: the kernel says which user connects.
    #[must_use]
    pub fn on_socket(path: impl Into<PathBuf>) -> Self {
        HttpUrl {
            place: Endpoint::Socket(path.into()),
            authority: HeaderValue::from_static("localhost"),
            path: "/".to_owned(),
            authorization: None,
            is_tls: false,
            tls: None,
        }
    }

    /// The host's name or address; a socket has none.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match &self.place {
            Endpoint::Host { host, .. } => Some(host),
            Endpoint::Socket(_) => None,
        }
    }

    /// The socket's path; a host has none.
    #[must_use]
    pub fn socket(&self) -> Option<&std::path::Path> {
        match &self.place {
            Endpoint::Host { .. } => None,
            Endpoint::Socket(path) => Some(path),
        }
    }

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is an `https://` one.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Whether a user is said.
    #[must_use]
    pub fn has_user(&self) -> bool {
        self.authorization.is_some()
    }

    /// The same URL, with the authorities to trust if it is an `https://` one.
    #[must_use]
    pub fn trusting(self, tls: ClientTls) -> Self {
        HttpUrl { tls: Some(tls), ..self }
    }

    /// The same URL, trusting the authorities of another one.
    #[must_use]
    pub fn trusting_as(self, other: &HttpUrl) -> Self {
        HttpUrl { tls: other.tls.clone(), ..self }
    }

    /// The same URL, asked for by a user with this password.
    #[must_use]
    pub fn with_user(self, user: &str, password: &str) -> Self {
        HttpUrl { authorization: basic(format!("{user}:{password}").as_bytes()), ..self }
    }

    /// The same server's `path`, below this URL's own.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        let base = self.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        HttpUrl { path: format!("{base}/{}", path.trim_start_matches('/')), ..self.clone() }
    }

    /// The same server with another path and query.
    #[must_use]
    pub fn with_path(self, path: &str) -> Self {
        HttpUrl { path: path.to_owned(), ..self }
    }
}

/// Whether an `http://` or `https://` URL has a number for a port that is too large to be one.
fn has_large_port(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A slash that a password has in it ends it: what stands before would be host and port.
    let is_password = rest.contains('@') && !authority.contains('@');
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    !is_password && is_number && port.parse::<u16>().is_err()
}

fn parse(url: &str) -> Option<HttpUrl> {
    let uri: Uri = url.parse().ok()?;
    let is_tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return None,
    };
    let authority = uri.authority()?.as_str();
    let (user, address) = match authority.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, authority),
    };
    let host = uri.host().filter(|host| !host.is_empty())?;
    // A slash that a password has in it ends it: what stands before would be host and port.
    let port = match address.strip_prefix(host)? {
        "" | ":" if is_tls => 443,
        "" | ":" => 80,
        port => port.strip_prefix(':')?.parse().ok()?,
    };
    let authorization = match user {
        Some(user) => {
            let mut credentials: Vec<u8> = percent_decode_str(user).collect();
            if !user.contains(':') {
                credentials.push(b':');
            }
            Some(basic(&credentials)?)
        }
        None => None,
    };
    Some(HttpUrl {
        // An IPv6 address stands between brackets in a URL only.
        place: Endpoint::Host { host: host.trim_start_matches('[').trim_end_matches(']').to_owned(), port },
        authority: HeaderValue::from_str(address).ok()?,
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        authorization,
        is_tls,
        tls: None,
    })
}

/// The header with user and password, which debugging output does not show.
fn basic(user_and_password: &[u8]) -> Option<HeaderValue> {
    let credentials = base64::engine::general_purpose::STANDARD.encode(user_and_password);
    let mut value = HeaderValue::try_from(format!("Basic {credentials}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_to_be_http() {
        for url in ["ftp://there", "there:8086", "http://", "/api", "http://there:port", "http://there:70000"] {
            assert!(HttpUrl::parse(url).is_err(), "{url}");
        }
        let error = HttpUrl::parse("ftp://me:secret@there/x").unwrap_err();
        assert_eq!(error.to_string(), "'ftp://me:***@there/x' is not an http:// or https:// URL");
        let error = HttpUrl::parse("https://me:secret/x@there").unwrap_err();
        assert_eq!(error.to_string(), "'https://me:***@there' is not an http:// or https:// URL");
        let error = HttpUrl::parse("http://me:secret@there:99999/x").unwrap_err();
        assert_eq!(error.to_string(), "'http://me:***@there:99999/x' has a wrong port: ports are 0 to 65535");
        let error = HttpUrl::parse("https://me:99999/x@there").unwrap_err();
        assert_eq!(error.to_string(), "'https://me:***@there' is not an http:// or https:// URL");
        let url = HttpUrl::parse("http://[::1]:8086/api/v2/write?org=o&bucket=b").unwrap();
        assert_eq!(url.to_string(), "::1:8086");
        assert_eq!(url.path(), "/api/v2/write?org=o&bucket=b");
        for (url, expected) in
            [("http://h", "h:80"), ("https://h", "h:443"), ("https://u@h:/", "h:443"), ("http://[::1]", "::1:80")]
        {
            assert_eq!(HttpUrl::parse(url).unwrap().to_string(), expected);
        }
        assert_eq!(HttpUrl::parse("http://h").unwrap().below("/api/x").path(), "/api/x");
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", HttpUrl::parse("http://me:secret@there/x")).contains("secret"));
    }

    #[test]
    fn a_user_is_the_same_in_the_url_or_beside_it() {
        let within = HttpUrl::parse("http://m%40e:p%2Fss@h/x").unwrap();
        assert_eq!(within, HttpUrl::parse("http://h/x").unwrap().with_user("m@e", "p/ss"));
        // RFC 7617: there is a colon, whatever follows.
        let plain = || HttpUrl::parse("http://h/x").unwrap();
        assert_eq!(HttpUrl::parse("http://t%3Aken@h/x").unwrap(), plain().with_user("t:ken", ""));
        assert_eq!(HttpUrl::parse("http://u:@h/x").unwrap(), plain().with_user("u", ""));
        assert!(within.has_user() && !HttpUrl::on_socket("/run/x").has_user());
    }

    #[test]
    fn a_socket_is_shown_by_its_path() {
        assert_eq!(HttpUrl::on_socket("/run/x.sock").below("api/overview").to_string(), "/run/x.sock");
    }
}
