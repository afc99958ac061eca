//! Connections of clients: from an accepted stream to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use net::Stream;

use crate::broker::Broker;
use crate::connections::ConnectionHandle;
use crate::front::connection;
use crate::identity::Identity;
use crate::session::Session;

impl Broker {
    /// Serves one accepted connection until it ends.
    pub async fn serve(self: Arc<Self>, stream: Stream) {
        let handle = connection::accept(&self, &stream);
        self.serve_as(stream, handle, None).await;
    }

    /// What serves a connection of the process itself until it ends, and the connection's name. With `is_trusted` it is
    /// [`Identity::own_client`], whatever login it shows.
    pub fn serve_own(self: Arc<Self>, stream: Stream, is_trusted: bool) -> (String, impl Future<Output = ()> + Send) {
        let handle = connection::accept(&self, &stream);
        let known = is_trusted.then(Identity::own_client);
        (handle.name(), self.serve_as(stream, handle, known))
    }

    async fn serve_as(self: Arc<Self>, stream: Stream, handle: Arc<ConnectionHandle>, known: Option<Identity>) {
        let _served = Served::begin(&self.served_count);
        self.counters.connections_opened.add(1);
        connection::serve::<Session>(self.clone(), stream, handle, known).await;
        self.counters.connections_closed.add(1);
    }
}

/// A connection that is served, until it is dropped: also by a panic.
struct Served<'a>(&'a AtomicUsize);

impl<'a> Served<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Served(count)
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
