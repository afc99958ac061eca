//! The thread that answers: a runtime of its own, so that no request can hold up messages.
//!
//! Listeners are the caller's: they hand over streams, whatever carries them. They should be opened inside
//! [`Server::runtime`], so that the sockets are watched by the thread that serves them.

mod connection;

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
use connection::ConnectionContext;

/// The thread of the HTTP API.
pub struct Server {
    runtime: Handle,
    /// True: connections end after the request that they are at.
    stop: watch::Sender<Stage>,
    /// Connections of all entrances.
    open: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

/// What a connection keeps a place by: dropped when it has ended.
pub type ConnectionPermit = Arc<dyn Any + Send + Sync>;

/// Takes the streams of clients that ask for AMQP over a WebSocket, and their places.
pub type AmqpSink = Arc<dyn Fn(Stream, ConnectionPermit) + Send + Sync>;

/// What is behind an entrance.
#[derive(Debug, Clone)]
pub enum Site {
    /// The HTTP API.
    Api(Arc<Service>),
    /// Metrics, compressed for who accepts that or not.
    Metrics(Arc<Metrics>, bool),
}

impl Server {
    /// Starts the thread.
    pub fn start() -> io::Result<Server> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, mut stage) = watch::channel(Stage::Running);
        let thread = std::thread::Builder::new().name("management".to_owned()).spawn(move || {
            runtime.block_on(async {
                // An error means that the server has been dropped.
                let _ = stage.wait_for(|stage| *stage == Stage::Ended).await;
            });
            // Whatever still runs is dropped, and so are its sockets.
            runtime.shutdown_background();
        })?;
        Ok(Server { runtime: handle, stop, open: Arc::default(), thread: Some(thread) })
    }

    /// The runtime of the thread: for listeners, and for tasks that accept.
    #[must_use]
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Where the connections of one listener come in. `amqp` takes those that become WebSockets; without it none do.
    #[must_use]
    pub fn entrance(&self, site: Site, limits: ConnectionLimits, amqp: Option<AmqpSink>) -> Entrance {
        if let Site::Api(service) = &site {
            service.live.end_with(self.stop.subscribe());
        }
        Entrance {
            site,
            runtime: self.runtime.clone(),
            stop: self.stop.subscribe(),
            open: self.open.clone(),
            limits,
            amqp,
        }
    }

    /// Connections end after the request that they are at, or are left after `patience`. Those that have become WebSockets go on.
    pub async fn close(&self, patience: Duration) {
        self.stop.send_replace(Stage::Stopping);
        let until = tokio::time::Instant::now() + patience;
        while self.open.load(Ordering::Acquire) > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends the thread, and every connection that there still is.
    pub fn end(mut self) {
        self.stop.send_replace(Stage::Ended);
        if let Some(thread) = self.thread.take() {
            // It only leaves its loop; the wait is too short to be worth a thread.
            let _ = thread.join();
        }
    }
}

/// Where connections come in. Cheap to clone.
#[derive(Clone)]
pub struct Entrance {
    site: Site,
    runtime: Handle,
    stop: watch::Receiver<Stage>,
    open: Arc<AtomicUsize>,
    limits: ConnectionLimits,
    amqp: Option<AmqpSink>,
}

impl Entrance {
    /// Serves a connection on the server's thread.
    pub fn admit(&self, stream: Stream, origin: Origin, permit: ConnectionPermit) {
        let context = ConnectionContext { origin, limits: self.limits, amqp: self.amqp.clone(), permit };
        let serving = connection::serve(self.site.clone(), stream, context, self.stop.clone());
        let place = OpenConnection::take(&self.open);
        self.runtime.spawn(async move {
            serving.await;
            drop(place);
        });
    }
}

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
