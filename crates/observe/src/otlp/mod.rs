//! Spans for OpenTelemetry: of messages whose header `traceparent` says that they belong to a sampled trace, by OTLP over HTTP as JSON.
//!
//! ```text
//!  broker::tap ─► sink ─► span ─► buffer (bounded) ─► batches in an outbox (bounded) ─► POST /v1/traces
//!  (any thread)                                       a thread of its own; tried again as long as it may help
//! ```
//!
//! What does not fit is dropped and counted: a server that is away for a day costs a few megabytes, and no client waits for it.

mod buffer;
mod export;
mod sink;
mod span;
mod trace;
mod traceparent;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use broker::Broker;
use broker::tap::Sink;
use http_client::header::{HeaderName, HeaderValue};
use http_client::{Client, HttpUrl, Method, Request};
use model::config::OtlpOptions;
use net::{ClientTls, ClientTlsOptions, Trust};
use tokio::sync::{oneshot, watch};

use crate::SetupError;
use buffer::Buffer;
use export::Exporter;
use sink::SpanSink;

/// For how long the last spans are sent at a stop.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// Where servers take spans.
const PATH: &str = "v1/traces";

/// Spans, on their way.
pub struct Otlp {
    broker: Arc<Broker>,
    sink: Arc<dyn Sink>,
    stop: watch::Sender<bool>,
    /// Taken by the caller that waits for it.
    ended: Option<oneshot::Receiver<()>>,
}

impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}

/// Where spans are sent.
struct Server {
    client: Client,
    request: Request,
}

fn wrong(name: &str, reason: &dyn std::fmt::Display) -> SetupError {
    SetupError(format!("warren.otlp.{name}: {reason}"))
}

impl Server {
    fn new(options: &OtlpOptions) -> Result<Self, SetupError> {
        let url = HttpUrl::parse(&options.endpoint).map_err(|error| wrong("endpoint", &error))?;
        let url = if url.is_tls() {
            let trust = options.cacertfile.as_ref().map_or(Trust::System, |file| Trust::File(file.into()));
            let tls =
                ClientTls::new(&ClientTlsOptions::trusting(trust)).map_err(|error| wrong("cacertfile", &error))?;
            url.trusting(tls)
        } else {
            url
        };
        let path = url.path().trim_end_matches('/').to_owned();
        let mut request = Request::new(Method::POST);
        if !path.ends_with(PATH) {
            request = request.below(format!("{path}/{PATH}"));
        }
        for (name, value) in &options.headers {
            let key = format!("headers.{name}");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| wrong(&key, &error))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong(&key, &"it cannot be sent as a header"))?;
            value.set_sensitive(true);
            request = request.with_header(name, value);
        }
        Ok(Server { client: Client::new(url, options.timeout), request })
    }
}

impl Otlp {
    /// Begins to send spans.
    pub fn start(broker: Arc<Broker>, options: &OtlpOptions) -> Result<Self, SetupError> {
        let server = Server::new(options)?;
        let buffer = Buffer::new(broker.clone());
        let sink: Arc<dyn Sink> = Arc::new(SpanSink::new(options.sample_rate, buffer.clone()));
        let (stop, stopping) = watch::channel(false);
        let (ends, ended) = oneshot::channel();
        let Server { client, request } = server;
        let node = broker.options().node.clone();
        let exporter = Exporter::new(client, request, buffer, node, broker.options().product_version.clone());
        let started = spawn(exporter, stopping, ends);
        started.map_err(|error| SetupError(format!("cannot start the thread of spans: {error}")))?;
        broker.taps().add(sink.clone());
        Ok(Otlp { broker, sink, stop, ended: Some(ended) })
    }

    /// Sends what waits, as far as that is possible within moments.
    pub async fn stop(mut self) {
        self.broker.taps().remove(&self.sink);
        // An error means that it has ended.
        let _ = self.stop.send(true);
        let Some(ended) = self.ended.take() else { return };
        if tokio::time::timeout(FLUSH_TIMEOUT + Duration::from_secs(1), ended).await.is_err() {
            tracing::warn!("the thread that sends spans (warren.otlp.endpoint) did not end: its last spans are lost");
        }
    }
}

/// The broker holds nothing of it any longer, whatever has become of its thread.
impl Drop for Otlp {
    fn drop(&mut self) {
        self.broker.taps().remove(&self.sink);
    }
}

fn spawn(exporter: Exporter, stopping: watch::Receiver<bool>, ends: oneshot::Sender<()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("otlp".to_owned()).spawn(move || {
        runtime.block_on(exporter.run(stopping, FLUSH_TIMEOUT));
        runtime.shutdown_background();
        // An error means that the caller does not wait.
        let _ = ends.send(());
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(endpoint: &str) -> OtlpOptions {
        OtlpOptions {
            endpoint: endpoint.to_owned(),
            headers: vec![("api-key".to_owned(), "s3cret".to_owned())],
            sample_rate: 1.0,
            cacertfile: None,
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn what_is_no_server_is_said() {
        let error = Server::new(&options("ftp://h")).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("warren.otlp.endpoint: "), "{error}");
        let mut wrong = options("http://h:4318");
        wrong.headers[0].1 = "a\nb".to_owned();
        let error = Server::new(&wrong).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "warren.otlp.headers.api-key: it cannot be sent as a header");
    }

    #[test]
    fn headers_are_not_shown() {
        let server = Server::new(&options("http://h:4318")).map_err(|error| error.to_string()).unwrap();
        assert!(!format!("{:?}", server.request).contains("s3cret"));
    }
}
