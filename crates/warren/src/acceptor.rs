//! From a listener's socket to connections that may be served.
//!
//! A connection takes its places before anything else. A client that has to send a proxy's header or to do
//! a TLS handshake does so in a task of its own, so that it holds up no other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use net::{AddressLimiter, Admission, AdmitError, Listener, Stream};
use tokio::task::JoinSet;

use crate::connection_limiter::{ConnectionLimiter, ConnectionPermits, OUT_OF_FILES};

/// Connections that are closed before they are served are logged once in so long, each listener for itself.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// A listener, open, and what its connections go through.
pub(crate) struct Acceptor {
    pub(crate) socket: Listener,
    pub(crate) admission: Admission,
    pub(crate) limiter: ConnectionLimiter,
    /// How many one address may have; None: as many as there are.
    pub(crate) address_limiter: Option<AddressLimiter>,
}

impl Acceptor {
    /// Accepts until it is dropped: connections that have not been let in by then are not served. `on_refused` is called for each that
    /// gets no place, and `on_admitted` gets those that are let in, with the places that they keep while they are open.
    pub(crate) async fn run(
        mut self,
        mut shared: Vec<ConnectionLimiter>,
        on_refused: impl Fn(),
        on_admitted: impl Fn(Stream, SocketAddr, ConnectionPermits) + Clone + Send + 'static,
    ) {
        shared.push(self.limiter);
        let is_admission_due = self.admission.proxy_protocol.is_some() || self.admission.tls.is_some();
        let mut refusals = RefusalLog { on_refused, last_at: None };
        let mut admissions = JoinSet::new();
        loop {
            let (stream, peer) = tokio::select! {
                accepted = self.socket.accept(|_| refusals.refuse(OUT_OF_FILES)) => accepted,
                Some(_) = admissions.join_next() => continue,
            };
            let permits = match ConnectionPermits::take(&shared, self.address_limiter.as_ref(), peer.ip()) {
                Ok(permits) => permits,
                Err(limit_message) => {
                    refusals.refuse(limit_message);
                    continue;
                }
            };
            if !is_admission_due {
                on_admitted(stream, peer, permits);
                continue;
            }
            let (admission, on_admitted) = (self.admission.clone(), on_admitted.clone());
            admissions.spawn(async move {
                match admission.admit(stream).await {
                    Ok(stream) => on_admitted(stream, peer, permits),
                    Err(error @ AdmitError::Closed) => tracing::debug!(%peer, %error, "connection was closed"),
                    Err(error) => tracing::warn!(%peer, %error, "connection was closed"),
                }
            });
        }
    }
}

/// Connections that were closed as soon as they came.
struct RefusalLog<F> {
    on_refused: F,
    last_at: Option<Instant>,
}

impl<F: Fn()> RefusalLog<F> {
    /// One line a second in the log is enough to know.
    fn refuse(&mut self, why: &'static str) {
        (self.on_refused)();
        if self.last_at.is_none_or(|at| at.elapsed() >= COMPLAINT_INTERVAL) {
            self.last_at = Some(Instant::now());
            tracing::error!("{why}");
        }
    }
}
