//! Posts lines to InfluxDB. A server that does not answer costs a warning and some lines, never the run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Observer;
use super::influx::Lines;
use crate::results::{Counts, Sample};

/// Samples that wait to be posted; more are lost.
const WAITING_COUNT_MAX: usize = 600;
/// How long a post may take, from the connection to the answer.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last posts may take when the run is over.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// So much of an answer is read, for the warning.
const ANSWER_LEN_MAX: usize = 16 * 1024;

/// Why a URL cannot be posted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{url}' is not an http:// URL such as http://localhost:8086/write?db=perf")]
pub struct InfluxUrlError {
    url: String,
}

/// Where to post to.
#[derive(Debug)]
struct Target {
    host: String,
    port: u16,
    /// The header `Host`.
    authority: HeaderValue,
    path: String,
    authorization: Option<HeaderValue>,
}

/// Posts what its [`InfluxObserver`] hands to it.
#[derive(Debug)]
pub struct InfluxSender {
    task: JoinHandle<()>,
    warning: Arc<Warning>,
}

/// Hands samples to an [`InfluxSender`].
pub struct InfluxObserver {
    lines: Lines,
    sender: mpsc::Sender<String>,
    warning: Arc<Warning>,
}

impl InfluxSender {
    /// Lines of a run that started at this time go to this URL. User and password in it are sent as such; without a path they
    /// go to `/write?db=perftest`. To be called within a tokio runtime.
    pub fn start(
        url: &str,
        id: &str,
        labels: &[(String, String)],
        started_at: SystemTime,
    ) -> Result<(InfluxObserver, Self), InfluxUrlError> {
        let target = Target::parse(url).ok_or_else(|| InfluxUrlError { url: without_password(url) })?;
        let (sender, receiver) = mpsc::channel(WAITING_COUNT_MAX);
        let warning = Arc::new(Warning::default());
        let task = tokio::spawn(post_all(target, receiver, Arc::clone(&warning)));
        let lines = Lines::new(id, labels, started_at);
        Ok((InfluxObserver { lines, sender, warning: Arc::clone(&warning) }, InfluxSender { task, warning }))
    }

    /// Waits until what was handed over is posted, but not for ever. The observer has to be gone. Returns what went wrong
    /// since somebody last asked.
    pub async fn close(mut self) -> Option<String> {
        if tokio::time::timeout(CLOSE_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
            self.warning.set("--influx: the last samples were lost, the server is too slow".to_owned());
        }
        self.warning.take()
    }
}

impl Observer for InfluxObserver {
    fn sample(&mut self, sample: &Sample, _totals: &Counts) {
        if self.sender.try_send(self.lines.render(sample)).is_err() {
            self.warning.set("--influx: samples were lost, the server is too slow".to_owned());
        }
    }

    fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}

/// The first thing that went wrong.
#[derive(Debug, Default)]
struct Warning(Mutex<(bool, Option<String>)>);

impl Warning {
    fn set(&self, text: String) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.0 {
            *state = (true, Some(text));
        }
    }

    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }
}

/// What came while one post was on its way goes out with the next one.
async fn post_all(target: Target, mut receiver: mpsc::Receiver<String>, warning: Arc<Warning>) {
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, WAITING_COUNT_MAX).await > 0 {
        let body = Bytes::from(batch.concat());
        batch.clear();
        let problem = match tokio::time::timeout(POST_TIMEOUT, post(&target, body)).await {
            Ok(Ok(())) => continue,
            Ok(Err(problem)) => problem,
            Err(_) => format!("no answer within {} s", POST_TIMEOUT.as_secs()),
        };
        let Target { host, port, .. } = &target;
        warning.set(format!("--influx: samples could not be sent to {host}:{port}: {problem}"));
    }
}

async fn post(target: &Target, body: Bytes) -> Result<(), String> {
    let say = |what: &'static str| move |error: hyper::Error| format!("{what}: {error}");
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(say("the connection failed"))?;
    let mut request = Request::post(target.path.as_str())
        .header(HOST, &target.authority)
        .header(CONTENT_TYPE, "text/plain; charset=utf-8")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    if let Some(authorization) = &target.authorization {
        request.headers_mut().insert(AUTHORIZATION, authorization.clone());
    }
    let exchange = async {
        let response = sender.send_request(request).await.map_err(say("the request failed"))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let text = Limited::new(response.into_body(), ANSWER_LEN_MAX).collect().await;
        let text = text.map(|text| String::from_utf8_lossy(&text.to_bytes()).trim().to_owned()).unwrap_or_default();
        Err(format!("the server answered {status}: {}", text.lines().next().unwrap_or_default()))
    };
    tokio::select! {
        result = exchange => result,
        // It has to be polled for the exchange to go on. It ends after the answer, which is then with the exchange.
        Err(error) = connection => Err(say("the connection failed")(error)),
    }
}

impl Target {
    fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        if uri.scheme_str() != Some("http") {
            return None;
        }
        let authority = uri.authority()?.as_str();
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let host = uri.host().filter(|host| !host.is_empty())?;
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
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Some(Target {
            // An IPv6 address stands between brackets in a URL only.
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: uri.port_u16().unwrap_or(80),
            authority: HeaderValue::from_str(address).ok()?,
            path: if path == "/" { "/write?db=perftest".to_owned() } else { path.to_owned() },
            authorization,
        })
    }
}

/// For messages.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, address))) => format!("{scheme}://…@{address}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::output::testing::sample;

    /// Answers each connection's request with this, and returns what was asked.
    async fn answer(listener: &TcpListener, answer: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        loop {
            let mut buffer = [0; 4096];
            let len = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..len]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let expected = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= expected.parse().unwrap() {
                break;
            }
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(request).unwrap()
    }

    fn start(url: &str) -> (InfluxObserver, InfluxSender) {
        InfluxSender::start(url, "t", &[], SystemTime::UNIX_EPOCH).unwrap()
    }

    #[tokio::test]
    async fn samples_are_posted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mut observer, sender) = start(&format!("http://me:p%40ss@127.0.0.1:{port}/write?db=x"));
        observer.sample(&sample(1.0, 1.0, 5), &Counts::default());
        let request = answer(&listener, "HTTP/1.1 204 No Content\r\n\r\n").await;
        assert!(request.starts_with("POST /write?db=x HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("authorization: Basic bWU6cEBzcw==\r\n"), "{request}");
        assert!(request.contains("\r\n\r\nperftest,id=t published=5i,"), "{request}");
        assert_eq!(observer.take_warning(), None);
        drop(observer);
        assert_eq!(sender.close().await, None);
    }

    #[tokio::test]
    async fn a_server_that_refuses_is_warned_about_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mut observer, sender) = start(&format!("http://127.0.0.1:{port}"));
        let refusal = "HTTP/1.1 404 Not Found\r\nContent-Length: 21\r\n\r\ndatabase not found\nxx";
        observer.sample(&sample(1.0, 1.0, 5), &Counts::default());
        assert!(answer(&listener, refusal).await.starts_with("POST /write?db=perftest HTTP/1.1\r\n"));
        observer.sample(&sample(2.0, 1.0, 6), &Counts::default());
        assert!(answer(&listener, refusal).await.contains("published=6i"));
        let expected = format!(
            "--influx: samples could not be sent to 127.0.0.1:{port}: the server answered 404 Not Found: database not found"
        );
        assert_eq!(observer.take_warning(), Some(expected));
        drop(observer);
        assert_eq!(sender.close().await, None);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_stops_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let (mut observer, sender) = start(&format!("http://127.0.0.1:{port}/"));
        for second in 1..5_u32 {
            observer.sample(&sample(second.into(), 1.0, 5), &Counts::default());
        }
        drop(observer);
        assert!(sender.close().await.unwrap().starts_with("--influx: samples could not be sent to 127.0.0.1:"));
    }

    #[test]
    fn a_url_has_to_be_http() {
        for url in ["https://there", "there:8086", "http://"] {
            assert!(Target::parse(url).is_none(), "{url}");
        }
        let target = Target::parse("http://[::1]:8086/api/v2/write?org=o&bucket=b").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("::1", 8086));
        assert_eq!(target.path, "/api/v2/write?org=o&bucket=b");
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("https://me:secret@there/x"), "https://…@there/x");
    }
}
