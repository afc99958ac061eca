//! The thread that answers: a runtime of its own, so that no request can hold up messages.
//!
//! Listeners are the caller's: they hand over streams, whatever carries them. They should be opened inside
//! [`Server::runtime`], so that the sockets are watched by the thread that serves them.
//!
//! The thread outlives brokers. The connections that one of them answers are a [`ConnectionGroup`], which ends with it.

mod absent;
mod connection;
mod head;

use std::any::Any;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use broker::Origin;
use net::Stream;
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::metrics::Metrics;
use crate::options::ConnectionLimits;
use crate::service::Service;
use crate::stage::Stage;
pub use absent::Absent;
pub use head::{RequestLine, read_request_line};

/// The thread of the HTTP API.
pub struct Server {
    runtime: Handle,
    ended: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Connections of a server that end together.
pub struct ConnectionGroup {
    runtime: Handle,
    /// How far they are stopped: first they end after the request that they are at, then at once.
    stage: watch::Sender<Stage>,
    open: Arc<AtomicUsize>,
}

/// A client, and what it may do.
pub struct HttpClient {
    /// From where.
    pub origin: Origin,
    /// What it may cost.
    pub limits: ConnectionLimits,
    /// What takes it if it asks for AMQP over a WebSocket; without, it may not.
    pub amqp: Option<AmqpSink>,
    /// Its place.
    pub permit: ConnectionPermit,
    /// What has been read of it already, and comes first.
    pub received: Vec<u8>,
    /// The name of the node that it asked, and that has sent it on to this one; None: it asked this one.
    pub forwarded_by: Option<Arc<str>>,
}

/// What a connection keeps a place by: dropped when it has ended.
pub type ConnectionPermit = Arc<dyn Any + Send + Sync>;

/// Takes the streams of clients that ask for AMQP over a WebSocket, and their places.
pub type AmqpSink = Arc<dyn Fn(Stream, ConnectionPermit) + Send + Sync>;

/// What answers a connection.
#[derive(Debug, Clone)]
pub enum Site {
    /// The HTTP API.
    Api(Arc<Service>),
    /// Metrics, and whether the client accepts compression.
    Metrics(Arc<Metrics>, bool),
    /// No broker runs here.
    Absent(Arc<Absent>),
}

impl Server {
    /// Starts the thread.
    pub fn start() -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ended, mut has_ended) = watch::channel(false);
        let thread = std::thread::Builder::new().name("management".to_owned()).spawn(move || {
            sampler::does(sampler::Work::Management);
            runtime.block_on(async {
                // An error means that the server has been dropped.
                let _ = has_ended.wait_for(|has_ended| *has_ended).await;
            });
            // Whatever still runs is dropped, and so are its sockets.
            runtime.shutdown_background();
        })?;
        Ok(Server { runtime: handle, ended, thread: Some(thread) })
    }

    /// The runtime of the thread: for listeners, and for tasks that accept.
    #[must_use]
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// A group without connections.
    #[must_use]
    pub fn group(&self) -> ConnectionGroup {
        let (stage, _) = watch::channel(Stage::Running);
        ConnectionGroup { runtime: self.runtime.clone(), stage, open: Arc::default() }
    }

    /// Ends the thread, and every connection that there still is.
    pub fn end(mut self) {
        self.ended.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // It only leaves its loop; the wait is too short to be worth a thread.
            let _ = thread.join();
        }
    }
}

impl ConnectionGroup {
    /// Serves a connection on the server's thread, as one of these.
    pub fn serve(&self, site: Site, stream: Stream, client: HttpClient) {
        if let Site::Api(service) = &site {
            service.feeds.end_with(|| self.stage.subscribe());
        }
        let place = OpenConnection::take(&self.open);
        self.runtime.spawn(connection::serve(site, stream, client, self.stage.subscribe(), place));
    }

    /// Connections end after the request that they are at, those too that come later; up to `patience` is waited for that. WebSockets stay,
    /// and so do connections that wait for the outcome of an order to the node, here and in [`cut`](Self::cut).
    pub async fn close(&self, patience: Duration) {
        self.stage.send_replace(Stage::Stopping);
        self.wait(patience).await;
    }

    /// Ends every connection that there still is, and waits up to `patience` until they are closed. Returns whether they are.
    pub async fn cut(&self, patience: Duration) -> bool {
        self.stage.send_replace(Stage::Ended);
        self.wait(patience).await;
        self.open.load(Ordering::Acquire) == 0
    }

    async fn wait(&self, patience: Duration) {
        let until = tokio::time::Instant::now() + patience;
        while self.open.load(Ordering::Acquire) > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// How often it is looked whether connections have ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// One of the connections that a stop waits for; given back when dropped, also by a panic.
struct OpenConnection(Arc<AtomicUsize>);

impl OpenConnection {
    fn take(open: &Arc<AtomicUsize>) -> OpenConnection {
        open.fetch_add(1, Ordering::AcqRel);
        OpenConnection(open.clone())
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
