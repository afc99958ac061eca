//! Posts lines to InfluxDB. A server that does not answer costs a warning and some lines, never the run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use net::ClientTls;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::influx::Lines;
use super::run_output::RunOutput;
use crate::plan::Plan;
use crate::results::{Counts, Sample};
use http_client::{HttpUrl, HttpUrlError};

/// Samples that wait to be posted; more are lost.
const WAITING_COUNT_MAX: usize = 600;
/// How long a post may take, from the connection to the answer.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last posts may take when the run is over.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The path for a URL without one.
const PATH: &str = "/write?db=perftest";

/// Why a URL cannot be posted to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; one is http://localhost:8086/write?db=perf")]
pub(crate) struct InfluxUrlError(#[from] HttpUrlError);

/// Posts what its [`InfluxOutput`] hands to it.
#[derive(Debug)]
pub(crate) struct InfluxSender {
    task: JoinHandle<()>,
    warning: Arc<Warning>,
}

/// Hands samples to an [`InfluxSender`].
pub(crate) struct InfluxOutput {
    lines: Lines,
    sender: mpsc::Sender<String>,
    warning: Arc<Warning>,
}

impl InfluxSender {
    /// Lines of a run are posted to this URL. User and password in it are sent as such; without a path the lines are posted to
    /// `/write?db=perftest`. To be called within a tokio runtime.
    pub(crate) fn start(
        url: &str,
        tls: Option<&ClientTls>,
        id: &str,
        labels: &[(String, String)],
    ) -> Result<(InfluxOutput, Self), InfluxUrlError> {
        let target = HttpUrl::parse(url)?;
        let target = if target.path() == "/" { target.with_path(PATH) } else { target };
        let target = match tls {
            Some(tls) => target.trusting(tls.clone()),
            None => target,
        };
        let (sender, receiver) = mpsc::channel(WAITING_COUNT_MAX);
        let warning = Arc::new(Warning::default());
        let task = tokio::spawn(post_all(target, receiver, Arc::clone(&warning)));
        let lines = Lines::new(id, labels);
        Ok((InfluxOutput { lines, sender, warning: Arc::clone(&warning) }, InfluxSender { task, warning }))
    }

    /// Waits until what was handed over is posted, but not for ever. The output has to be dropped before. Returns what went wrong
    /// since the last call.
    pub(crate) async fn close(mut self) -> Option<String> {
        if tokio::time::timeout(CLOSE_TIMEOUT, &mut self.task).await.is_err() {
            self.task.abort();
            self.warning.set("--influx: the last samples were lost because the server is too slow".to_owned());
        }
        self.warning.take()
    }
}

impl RunOutput for InfluxOutput {
    fn started(&mut self, _plan: &Plan, at: SystemTime) {
        self.lines.start(at);
    }

    fn sample(&mut self, sample: &Sample, _totals: &Counts) {
        if self.sender.try_send(self.lines.render(sample)).is_err() {
            self.warning.set("--influx: samples were lost because the server is too slow".to_owned());
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

/// What came while one post was on its way is sent with the next one.
async fn post_all(target: HttpUrl, mut receiver: mpsc::Receiver<String>, warning: Arc<Warning>) {
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, WAITING_COUNT_MAX).await > 0 {
        let body = Bytes::from(batch.concat());
        batch.clear();
        if let Err(problem) = post(&target, body).await {
            warning.set(format!("--influx: samples could not be sent to {target}: {problem}"));
        }
    }
}

async fn post(target: &HttpUrl, body: Bytes) -> Result<(), String> {
    let answer = http_client::post(target, "text/plain; charset=utf-8", body, POST_TIMEOUT).await;
    let answer = answer.map_err(|error| error.to_string())?;
    if answer.status.is_success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&answer.body);
    Err(format!("the server answered {}: {}", answer.status, text.trim().lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use net::{ClientTlsOptions, Trust};

    use super::*;
    use crate::output::testing::sample;
    use http_client::testing::TlsServer;

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

    fn start(url: &str) -> (InfluxOutput, InfluxSender) {
        InfluxSender::start(url, None, "t", &[]).unwrap()
    }

    #[tokio::test]
    async fn samples_are_posted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mut output, sender) = start(&format!("http://me:p%40ss@127.0.0.1:{port}/write?db=x"));
        output.sample(&sample(1.0, 1.0, 5), &Counts::default());
        let request = answer(&listener, "HTTP/1.1 204 No Content\r\n\r\n").await;
        assert!(request.starts_with("POST /write?db=x HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("authorization: Basic bWU6cEBzcw==\r\n"), "{request}");
        assert!(request.contains("\r\n\r\nperftest,id=t published=5i,"), "{request}");
        assert_eq!(output.take_warning(), None);
        drop(output);
        assert_eq!(sender.close().await, None);
    }

    #[tokio::test]
    async fn samples_are_posted_over_https() {
        let server = TlsServer::start("influx").await;
        let options = ClientTlsOptions::trusting(Trust::File(server.ca.clone()));
        let tls = ClientTls::new(&options).unwrap();
        let url = format!("https://localhost:{}/write?db=x", server.port);
        for (tls, is_trusted) in [(Some(&tls), true), (None, false)] {
            let (mut output, sender) = InfluxSender::start(&url, tls, "t", &[]).unwrap();
            output.sample(&sample(1.0, 1.0, 5), &Counts::default());
            drop(output);
            let warning = sender.close().await;
            assert_eq!(warning.is_none(), is_trusted, "{warning:?}");
        }
    }

    #[tokio::test]
    async fn a_server_that_refuses_is_warned_about_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mut output, sender) = start(&format!("http://127.0.0.1:{port}"));
        let refusal = "HTTP/1.1 404 Not Found\r\nContent-Length: 21\r\n\r\ndatabase not found\nxx";
        output.sample(&sample(1.0, 1.0, 5), &Counts::default());
        assert!(answer(&listener, refusal).await.starts_with("POST /write?db=perftest HTTP/1.1\r\n"));
        output.sample(&sample(2.0, 1.0, 6), &Counts::default());
        assert!(answer(&listener, refusal).await.contains("published=6i"));
        let expected = format!(
            "--influx: samples could not be sent to 127.0.0.1:{port}: the server answered 404 Not Found: database not found"
        );
        assert_eq!(output.take_warning(), Some(expected));
        drop(output);
        assert_eq!(sender.close().await, None);
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_stops_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let (mut output, sender) = start(&format!("http://127.0.0.1:{port}/"));
        for second in 1..5_u32 {
            output.sample(&sample(second.into(), 1.0, 5), &Counts::default());
        }
        drop(output);
        assert!(sender.close().await.unwrap().starts_with("--influx: samples could not be sent to 127.0.0.1:"));
    }

    #[tokio::test]
    async fn a_url_has_to_be_http() {
        let error = InfluxSender::start("ftp://me:secret@there", None, "t", &[]).err().unwrap();
        let expected =
            "'ftp://me:***@there' is not an http:// or https:// URL; one is http://localhost:8086/write?db=perf";
        assert_eq!(error.to_string(), expected);
    }
}
