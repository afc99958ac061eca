//! What serves connections while a broker runs.

use std::fmt;
use std::sync::Arc;

use broker::Broker;
use management::{AmqpSink, ConnectionGroup};
use tokio::runtime::Handle;

use super::arrival::{Arrival, EntryPoint};
use crate::http_sites::Sites;

/// What serves connections while a broker runs.
pub(crate) struct Serving {
    pub(super) broker: Arc<Broker>,
    /// Connections of HTTP.
    pub(super) group: ConnectionGroup,
    pub(super) sites: Sites,
    pub(super) sink: AmqpSink,
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("broker", &self.broker).finish_non_exhaustive()
    }
}

impl Serving {
    /// Serves a connection until it ends. Those of AMQP are served on `runtime`.
    pub(super) fn serve(&self, arrival: Arrival, runtime: &Handle) {
        if arrival.entry == EntryPoint::Amqp {
            let Arrival { stream, permits, .. } = arrival;
            let broker = self.broker.clone();
            runtime.spawn(async move {
                broker.serve(stream).await;
                drop(permits);
            });
            return;
        }
        let entry = arrival.entry;
        let (stream, client) = arrival.into_http((entry == EntryPoint::Api).then(|| self.sink.clone()));
        self.group.serve(self.sites.of(entry), stream, client);
    }
}
