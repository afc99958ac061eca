//! Answers Prometheus' requests.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use http_server::{ConnectionSlots, Limits, WhenFull, respond};
use hyper::{Method, Response, StatusCode};
use net::{BindError, Listener, SocketOptions};
use tokio::task::JoinHandle;

use super::prometheus::SharedPrometheus;

/// Connections at the same time; more wait. Scrapers need one.
const PLACES: ConnectionSlots = ConnectionSlots { count_max: 32, address_count_max: 32, when_full: WhenFull::Wait };
/// How long a request may take to come.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves metrics until it is dropped.
#[derive(Debug)]
pub(crate) struct MetricsServer {
    #[cfg(test)]
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl MetricsServer {
    /// Listens; PerfTest does so on all addresses. Requests for another path than this one are answered with 404.
    pub(crate) fn start(address: SocketAddr, path: &str, metrics: SharedPrometheus) -> io::Result<Self> {
        let listener = Listener::bind(address, SocketOptions::default()).map_err(|error| match error {
            BindError::Refused { source, .. } => source,
            _ => rustix::io::Errno::ADDRINUSE.into(),
        })?;
        #[cfg(test)]
        let address = listener.local_addr()?;
        let path: Arc<str> = path.into();
        let limits = Limits { head_timeout: REQUEST_TIMEOUT, ..Limits::default() };
        // Connections are closed while no file is left.
        let accepting = http_server::accept(
            listener,
            PLACES,
            |_| (),
            move |stream, _| {
                let (path, metrics) = (Arc::clone(&path), metrics.clone());
                let answer = move |request: hyper::Request<_>| {
                    std::future::ready(answer(request.method(), request.uri().path(), &path, &metrics))
                };
                http_server::serve(stream, limits, answer, std::future::pending())
            },
        );
        Ok(MetricsServer {
            #[cfg(test)]
            address,
            task: tokio::spawn(accepting),
        })
    }

    /// Where it listens.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // Its connections end with it.
        self.task.abort();
    }
}

fn answer(method: &Method, asked: &str, path: &str, metrics: &SharedPrometheus) -> Response<Full<Bytes>> {
    if asked != path {
        return respond(StatusCode::NOT_FOUND, TEXT, format!("metrics are at {path}\n"));
    }
    if method != Method::GET && method != Method::HEAD {
        return http_server::not_allowed("GET, HEAD", TEXT, Bytes::new());
    }
    respond(StatusCode::OK, TEXT, metrics.render())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::output::prometheus::Prometheus;
    use crate::perftest::{self, Command};
    use crate::plan::Plan;

    async fn ask(server: &MetricsServer, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn metrics_are_at_their_path_only() {
        let Ok(Command::Run { options, .. }) = perftest::parse(&[], &|_| None) else { panic!() };
        let metrics = SharedPrometheus::new(Prometheus::new(&options.output.metrics, &[], &Plan::default()));
        let server = MetricsServer::start("127.0.0.1:0".parse().unwrap(), "/metrics", metrics).unwrap();
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = ask(&server, &get("/metrics?name[]=all")).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\nperftest_published 0.0\n"), "{answer}");
        assert!(ask(&server, &get("/")).await.starts_with("HTTP/1.1 404 "));
        let post = "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        assert!(ask(&server, post).await.starts_with("HTTP/1.1 405 "));
        assert!(ask(&server, "nonsense\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
    }

    #[tokio::test]
    async fn an_address_in_use_is_an_error() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let Ok(Command::Run { options, .. }) = perftest::parse(&[], &|_| None) else { panic!() };
        let metrics = SharedPrometheus::new(Prometheus::new(&options.output.metrics, &[], &Plan::default()));
        assert!(MetricsServer::start(taken.local_addr().unwrap(), "/metrics", metrics).is_err());
    }
}
