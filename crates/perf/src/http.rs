//! Requests over HTTP/1.1, each over a connection of its own: InfluxDB, the management API, tokens, what users ask for.
//!
//! Not here: redirects, connections that are kept.

use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use client::without_passwords;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use net::{ClientTls, ClientTlsOptions, DialError, DialOptions, Stream, Trust};
use percent_encoding::percent_decode_str;

/// An answer longer than this is an error: the management API's list of very many queues is shorter.
const ANSWER_LEN_MAX: usize = 64 << 20;

/// Why a URL cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{url}' is not an http:// or https:// URL")]
pub struct HttpUrlError {
    /// The URL, without a password.
    pub url: String,
}

/// An `http://` or `https://` URL. User and password in it are sent as such.
#[derive(Clone)]
pub struct HttpUrl {
    host: String,
    port: u16,
    /// The header `Host`.
    authority: HeaderValue,
    path: String,
    authorization: Option<HeaderValue>,
    is_tls: bool,
    /// Whom to trust; whom the system does, if that is not said.
    tls: Option<ClientTls>,
}

impl PartialEq for HttpUrl {
    /// Whom it trusts does not matter.
    fn eq(&self, other: &Self) -> bool {
        let parts = |url: &Self| (url.is_tls, url.host.clone(), url.port, url.path.clone(), url.authorization.clone());
        parts(self) == parts(other)
    }
}

impl fmt::Debug for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpUrl({self}{})", self.path)
    }
}

/// Host and port.
impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl HttpUrl {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// When it is none, or one with another scheme.
    pub fn parse(url: &str) -> Result<Self, HttpUrlError> {
        parse(url).ok_or_else(|| HttpUrlError { url: without_passwords(url) })
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

    /// The same URL, and whom to trust if it is an `https://` one.
    #[must_use]
    pub fn trusting(self, tls: ClientTls) -> Self {
        HttpUrl { tls: Some(tls), ..self }
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
            let user: Vec<u8> = percent_decode_str(user).collect();
            let credentials = base64::engine::general_purpose::STANDARD.encode(user);
            let mut value = HeaderValue::try_from(format!("Basic {credentials}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        }
        None => None,
    };
    Some(HttpUrl {
        // An IPv6 address stands between brackets in a URL only.
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port,
        authority: HeaderValue::from_str(address).ok()?,
        path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        authorization,
        is_tls,
        tls: None,
    })
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Nobody is there.
    #[error("{0}")]
    Unreachable(#[from] io::Error),
    /// What came, or did not come, is no HTTP.
    #[error("{0}: {1}")]
    Broken(&'static str, hyper::Error),
    /// The path cannot be sent.
    #[error("{0}")]
    Unsendable(#[from] hyper::http::Error),
    /// It was longer than anybody reads.
    #[error("the answer broke off, or is longer than {} MiB", ANSWER_LEN_MAX >> 20)]
    Body,
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
}

/// What a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
}

/// Asks for a URL. Everything together, from the connection to the last byte, may take so long.
///
/// # Errors
///
/// When there is no answer. An answer with a status of failure is one.
pub async fn get(url: &HttpUrl, timeout: Duration) -> Result<Answer, HttpError> {
    within(timeout, exchange(url, Request::get(url.path.as_str()), Bytes::new())).await
}

/// Posts a body to a URL.
///
/// # Errors
///
/// As [`get`].
pub async fn post(
    url: &HttpUrl,
    content_type: &'static str,
    body: Bytes,
    timeout: Duration,
) -> Result<Answer, HttpError> {
    let request = Request::post(url.path.as_str()).header(CONTENT_TYPE, content_type);
    within(timeout, exchange(url, request, body)).await
}

async fn within(
    timeout: Duration,
    exchange: impl Future<Output = Result<Answer, HttpError>>,
) -> Result<Answer, HttpError> {
    tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(HttpError::TimedOut(timeout)))
}

async fn exchange(url: &HttpUrl, request: hyper::http::request::Builder, body: Bytes) -> Result<Answer, HttpError> {
    let broken = |what: &'static str| move |error: hyper::Error| HttpError::Broken(what, error);
    let mut request = request.header(HOST, &url.authority).body(Full::new(body))?;
    if let Some(authorization) = &url.authorization {
        request.headers_mut().insert(AUTHORIZATION, authorization.clone());
    }
    let stream = connect(url).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken("the connection failed"))?;
    let mut exchange = pin!(async {
        let response = sender.send_request(request).await.map_err(broken("the request failed"))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_LEN_MAX).collect().await;
        Ok(Answer { status, body: body.map_err(|_| HttpError::Body)?.to_bytes() })
    });
    tokio::select! {
        result = &mut exchange => result,
        // It has to be polled for the exchange to go on. When it ends, the answer is with the exchange, or there is none:
        // many servers close TLS without a word, after a whole answer.
        ended = connection => exchange.await.map_err(|error| match ended {
            Ok(()) => error,
            Err(ended) => broken("the connection failed")(ended),
        }),
    }
}

async fn connect(url: &HttpUrl) -> io::Result<Stream> {
    let tls = match (url.is_tls, &url.tls) {
        (false, _) => None,
        (true, Some(tls)) => Some(tls.clone()),
        (true, None) => Some(as_the_system()?),
    };
    net::dial(&url.host, url.port, tls.as_ref(), &DialOptions::default()).await.map_err(|error| match error {
        DialError::Unreachable { source, .. } | DialError::Unknown { source, .. } => source,
        other => io::Error::other(other),
    })
}

/// Trusts whom the system trusts. Its authorities are read once: there are many.
fn as_the_system() -> io::Result<ClientTls> {
    static TLS: OnceLock<ClientTls> = OnceLock::new();
    if let Some(tls) = TLS.get() {
        return Ok(tls.clone());
    }
    let options = ClientTlsOptions { trust: Trust::System, identity: None, server_name: None };
    let tls = ClientTls::new(&options).map_err(io::Error::other)?;
    Ok(TLS.get_or_init(|| tls).clone())
}

#[cfg(test)]
pub(crate) mod testing {
    //! A server that speaks TLS, with a certificate of its own making.

    use std::path::PathBuf;
    use std::sync::Arc;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use rustls::ServerConfig;
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    /// Answers with 200 and `{}`, and closes without TLS's goodbye, as many servers do. Its port, the file with its authority, and its task, which ends with the server.
    pub(crate) struct TlsServer {
        pub(crate) port: u16,
        pub(crate) ca: PathBuf,
        task: tokio::task::JoinHandle<()>,
    }

    impl TlsServer {
        /// `name` is the test's.
        pub(crate) async fn start(name: &str) -> Self {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
            let ca = std::env::temp_dir().join(format!("warren-perf-{name}-{}.pem", std::process::id()));
            std::fs::write(&ca, issuer.pem()).unwrap();
            let key = KeyPair::generate().unwrap();
            let certificate =
                CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)
                .unwrap();
            let acceptor = TlsAcceptor::from(Arc::new(config));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let task = tokio::spawn(async move {
                loop {
                    let (tcp, _) = listener.accept().await.unwrap();
                    // A client that refuses us is gone.
                    let Ok(mut stream) = acceptor.accept(tcp).await else { continue };
                    let mut request = Vec::new();
                    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                        assert!(stream.read_buf(&mut request).await.unwrap() > 0);
                    }
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
                    stream.flush().await.unwrap();
                }
            });
            TlsServer { port, ca, task }
        }
    }

    impl Drop for TlsServer {
        fn drop(&mut self) {
            self.task.abort();
            let _ = std::fs::remove_file(&self.ca);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Gets a path from a server that gives this answer. Returns what it was asked, and what came of it.
    async fn ask(path: &str, answer: &'static [u8]) -> (String, Result<Answer, HttpError>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = HttpUrl::parse(&format!("http://me:p%40ss@127.0.0.1:{port}/base/")).unwrap();
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                stream.read_buf(&mut request).await.unwrap();
            }
            stream.write_all(answer).await.unwrap();
            String::from_utf8(request).unwrap()
        };
        tokio::join!(serving, async { get(&url.below(path), PATIENCE).await })
    }

    #[tokio::test]
    async fn the_answer_has_status_and_body() {
        let (request, answer) = ask("/api/overview?x=1", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await;
        assert!(request.starts_with("GET /base/api/overview?x=1 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("authorization: Basic bWU6cEBzcw==\r\n"), "{request}");
        assert_eq!(answer.unwrap(), Answer { status: StatusCode::OK, body: Bytes::from_static(b"{}") });
        let (_, answer) = ask("x", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(answer.unwrap().status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_none() {
        let (_, answer) = ask("x", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}").await;
        assert!(matches!(answer, Err(HttpError::Body | HttpError::Broken(..))), "{answer:?}");
        let (_, answer) = ask("x", b"SSH-2.0\r\n\r\n").await;
        assert!(matches!(answer, Err(HttpError::Broken(..))), "{answer:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = HttpUrl::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let error = get(&url, PATIENCE).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer within 10 s");
    }

    #[test]
    fn a_url_has_to_be_http() {
        for url in ["ftp://there", "there:8086", "http://", "/api", "http://there:port", "http://there:70000"] {
            assert!(HttpUrl::parse(url).is_err(), "{url}");
        }
        let error = HttpUrl::parse("ftp://me:secret@there/x").unwrap_err();
        assert_eq!(error.to_string(), "'ftp://me:***@there/x' is not an http:// or https:// URL");
        let error = HttpUrl::parse("https://me:secret/x@there").unwrap_err();
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
}
