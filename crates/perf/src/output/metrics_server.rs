//! Answers Prometheus' requests.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use super::prometheus::SharedPrometheus;

/// Connections at the same time; more wait. Scrapers need one.
const CONNECTION_COUNT_MAX: usize = 32;
/// How long a request may take to come.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted, as when there are no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves metrics until it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl MetricsServer {
    /// Listens; PerfTest does so on all addresses. Requests for another path than this one are answered with 404.
    pub async fn start(address: SocketAddr, path: &str, metrics: SharedPrometheus) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, path.into(), metrics));
        Ok(MetricsServer { address, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // Its connections are in a set that ends with it.
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, path: Arc<str>, metrics: SharedPrometheus) {
    let mut connections = JoinSet::new();
    let room = Arc::new(Semaphore::new(CONNECTION_COUNT_MAX));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (path, metrics) = (Arc::clone(&path), metrics.clone());
                connections.spawn(async move {
                    serve(stream, path, metrics).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, path: Arc<str>, metrics: SharedPrometheus) {
    let service = service_fn(|request: Request<Incoming>| {
        let response = respond(request.method(), request.uri().path(), &path, &metrics);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever a scraper does wrong is its own business.
    let _ = connection.await;
}

fn respond(method: &Method, asked: &str, path: &str, metrics: &SharedPrometheus) -> Response<Full<Bytes>> {
    let plain = |status, text: Bytes| {
        let mut response = Response::new(Full::new(text));
        *response.status_mut() = status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"));
        response
    };
    if asked != path {
        return plain(StatusCode::NOT_FOUND, format!("metrics are at {path}\n").into());
    }
    if method != Method::GET && method != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, Bytes::new());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    plain(StatusCode::OK, metrics.render().into())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

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
        let server = MetricsServer::start("127.0.0.1:0".parse().unwrap(), "/metrics", metrics).await.unwrap();
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
        assert!(MetricsServer::start(taken.local_addr().unwrap(), "/metrics", metrics).await.is_err());
    }
}
