//! So many connections at a time: of a listener, of a kind, of all.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use net::{AddressLimiter, AddressPermit};

/// Places for connections. Cheap to clone: clones share the places.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimiter {
    taken: Arc<AtomicUsize>,
    max: usize,
    /// What the log says when all are taken.
    limit_message: &'static str,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit(Arc<AtomicUsize>);

impl ConnectionLimiter {
    pub(crate) fn new(max: usize, limit_message: &'static str) -> Self {
        Self { taken: Arc::default(), max, limit_message }
    }

    fn take(&self) -> Option<ConnectionPermit> {
        // Of two connections at the same time, one may be refused although the other has just ended: no harm.
        if self.taken.fetch_add(1, Ordering::Relaxed) >= self.max {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(ConnectionPermit(Arc::clone(&self.taken)))
    }

    /// One of each, or what to complain of.
    fn take_each(all: &[ConnectionLimiter]) -> Result<Vec<ConnectionPermit>, &'static str> {
        all.iter().map(|limiter| limiter.take().ok_or(limiter.limit_message)).collect()
    }
}

/// What a connection keeps as long as it is open.
#[derive(Debug)]
pub(crate) struct ConnectionPermits {
    _permits: Vec<ConnectionPermit>,
    _of_address: Option<AddressPermit>,
}

const ADDRESS_FULL: &str = "connection refused: its address has reached the limit of this listener \
     (warren.http.max_connections_per_address)";

impl ConnectionPermits {
    /// One of each, and one of those of the address; or what to complain of.
    pub(crate) fn take(
        all: &[ConnectionLimiter],
        of_address: Option<&AddressLimiter>,
        peer: IpAddr,
    ) -> Result<Self, &'static str> {
        // First, so that an address that has too many takes none away from others even for a moment.
        let of_address = of_address.map(|limiter| limiter.take(peer).ok_or(ADDRESS_FULL)).transpose()?;
        Ok(Self { _permits: ConnectionLimiter::take_each(all)?, _of_address: of_address })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The places of the whole process, which the limit of open files leaves room for.
pub(crate) struct GlobalLimit {
    all: ConnectionLimiter,
    amqp: ConnectionLimiter,
    http: ConnectionLimiter,
}

/// HTTP connections for which there is room whatever clients of AMQP do: an operator should get in when it is full.
const HTTP_RESERVED: usize = 64;

impl GlobalLimit {
    pub(crate) fn new(max: usize) -> Self {
        let reserved = HTTP_RESERVED.min(max / 16);
        Self {
            all: ConnectionLimiter::new(max, OUT_OF_FILES),
            amqp: ConnectionLimiter::new(max - reserved, OUT_OF_FILES),
            http: ConnectionLimiter::new(
                max.div_ceil(4),
                "HTTP connection refused: HTTP connections use a quarter of the limit of open files",
            ),
        }
    }

    /// What a connection of AMQP needs beside its listener's place.
    pub(crate) fn of_amqp(&self) -> Vec<ConnectionLimiter> {
        vec![self.amqp.clone(), self.all.clone()]
    }

    /// What a connection of HTTP needs beside its listener's place.
    pub(crate) fn of_http(&self) -> Vec<ConnectionLimiter> {
        vec![self.http.clone(), self.all.clone()]
    }
}

pub(crate) const OUT_OF_FILES: &str = "connection refused: the limit of open files is reached";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_come_back_when_connections_go() {
        let limiter = ConnectionLimiter::new(2, "full");
        let (first, _second) = (limiter.take().unwrap(), limiter.take().unwrap());
        assert!(limiter.take().is_none());
        assert!(limiter.clone().take().is_none());
        drop(first);
        let third = limiter.take();
        assert!(third.is_some());
        assert!(limiter.take().is_none());
    }

    #[test]
    fn who_finds_one_kind_full_takes_none_of_the_others() {
        let (wide, narrow) = (ConnectionLimiter::new(2, "wide"), ConnectionLimiter::new(1, "narrow"));
        let both = [wide.clone(), narrow];
        let taken = ConnectionLimiter::take_each(&both).unwrap();
        assert_eq!(ConnectionLimiter::take_each(&both).unwrap_err(), "narrow");
        assert!(wide.take().is_some());
        drop(taken);
        assert!(ConnectionLimiter::take_each(&both).is_ok());
    }

    #[test]
    fn neither_amqp_nor_http_takes_all_of_the_house() {
        let house = GlobalLimit::new(160);
        let take = |limiter: &[ConnectionLimiter]| {
            std::iter::from_fn(|| ConnectionLimiter::take_each(limiter).ok()).collect::<Vec<_>>()
        };
        let of_amqp = take(&house.of_amqp());
        assert_eq!((of_amqp.len(), take(&house.of_http()).len()), (150, 10));
        drop(of_amqp);
        let of_http = take(&house.of_http());
        assert_eq!((of_http.len(), take(&house.of_amqp()).len()), (40, 120));
        let of_address = AddressLimiter::new(1);
        let place = |peer: [u8; 4]| ConnectionPermits::take(&house.of_http(), Some(&of_address), peer.into());
        drop(of_http);
        let _first = place([192, 0, 2, 1]).unwrap();
        assert_eq!(place([192, 0, 2, 1]).unwrap_err(), ADDRESS_FULL);
        assert!(place([192, 0, 2, 2]).is_ok());
        let unlimited = GlobalLimit::new(usize::MAX);
        assert!(
            ConnectionLimiter::take_each(&unlimited.of_http()).is_ok()
                && ConnectionLimiter::take_each(&unlimited.of_amqp()).is_ok()
        );
    }
}
