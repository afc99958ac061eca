//! The broker under load: where it is, and how to get there again when a connection is lost.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use amqp_client::{ConnectOptions, Connection, OpenError, Uri};

use super::clock::now_ns;
use super::worker::Local;
use crate::plan::Random;

/// Which of several addresses a connection uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// Any.
    #[default]
    Random,
    /// One after the other.
    InTurn,
}

/// How soon a lost connection is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// After a time of this range, over and over.
    Every(RangeInclusive<Duration>),
    /// Not at all: the run ends.
    Never,
}

/// The broker under load.
#[derive(Debug)]
pub(crate) struct Target {
    /// Where it is; several for a cluster.
    pub uris: Vec<Uri>,
    /// Which of them a connection uses.
    pub allocation: Allocation,
    /// How connections are opened.
    pub options: ConnectOptions,
    /// What happens when one is lost.
    pub recovery: Recovery,
    /// How long to keep trying at the start.
    pub startup_timeout: Duration,
    /// How many of the brokers have to be there before it starts.
    pub startup_count: usize,
    /// Connect from many addresses of 127.0.0.0/8 where the broker is there too: more connections than one has ports.
    pub is_spread: bool,
    next: AtomicU32,
}

/// How long a connection's goodbye may take.
pub(crate) const GOODBYE: Duration = Duration::from_secs(2);
/// Source addresses to spread over: 127.1.0.1 and those after it.
const SOURCE_COUNT: u32 = 250;
/// Between two attempts at the start.
const STARTUP_RETRY: Duration = Duration::from_millis(500);

impl Target {
    /// One broker, with defaults: lost connections are tried again after five seconds, as PerfTest does.
    #[must_use]
    pub(crate) fn new(uris: Vec<Uri>, options: ConnectOptions) -> Self {
        Target {
            uris,
            allocation: Allocation::Random,
            options,
            recovery: Recovery::Every(Duration::from_secs(5)..=Duration::from_secs(5)),
            startup_timeout: Duration::ZERO,
            startup_count: 1,
            is_spread: false,
            next: AtomicU32::new(0),
        }
    }

    /// Opens a connection that the broker shows under `name`.
    pub(crate) async fn open(&self, name: &str, random: &mut Random) -> Result<Connection, OpenError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let count = self.uris.len();
        let first = match self.allocation {
            Allocation::Random => random.below(count),
            Allocation::InTurn => turn as usize % count.max(1),
        };
        let mut options = ConnectOptions { name: Some(name.to_owned()), ..self.options.clone() };
        let mut last = None;
        // A node that is down leaves the others.
        for uri in self.uris.iter().cycle().skip(first).take(count) {
            let is_local = uri.host == "localhost" || uri.host.starts_with("127.");
            if self.is_spread && is_local {
                let host = (turn % SOURCE_COUNT + 1) as u8;
                options.dial.source = Some(IpAddr::V4(Ipv4Addr::new(127, 1, 0, host)));
            }
            match Connection::open(uri, &options).await {
                Ok(connection) => return Ok(connection),
                Err(error) if error.is_passing() => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(no_address))
    }

    /// The first connection of a run: waits for brokers that are still starting, as long as they may take.
    pub(crate) async fn open_first(&self, name: &str) -> Result<Connection, OpenError> {
        let options = ConnectOptions { name: Some(name.to_owned()), ..self.options.clone() };
        let until = now_ns() + super::clock::ns(self.startup_timeout);
        loop {
            let mut first = None;
            let mut count = 0;
            let mut last = None;
            for uri in &self.uris {
                match Connection::open(uri, &options).await {
                    Ok(connection) => {
                        count += 1;
                        first.get_or_insert(connection);
                    }
                    Err(error) if error.is_passing() => last = Some(error),
                    Err(error) => return Err(error),
                }
                if count >= self.startup_count.max(1) {
                    break;
                }
            }
            match (first, last) {
                (Some(connection), _) if count >= self.startup_count.min(self.uris.len()).max(1) => {
                    return Ok(connection);
                }
                (_, Some(error)) if now_ns() >= until => return Err(error),
                (_, None) => return Err(no_address()),
                _ => tokio::time::sleep(STARTUP_RETRY).await,
            }
        }
    }

    /// Opens a connection again after it was lost: as often as it takes. `None`: it is not to be, or the run is over.
    pub(crate) async fn reopen(&self, name: &str, random: &mut Random, local: &Local) -> Option<Connection> {
        let Recovery::Every(range) = &self.recovery else { return None };
        let trying = async {
            loop {
                let span = range.end().saturating_sub(*range.start());
                tokio::time::sleep(*range.start() + span.mul_f64(random.fraction())).await;
                if let Ok(connection) = self.open(name, random).await {
                    return connection;
                }
            }
        };
        tokio::select! {
            connection = trying => Some(connection),
            () = local.control.clone().draining() => None,
        }
    }
}

fn no_address() -> OpenError {
    OpenError::NotAmqp { address: String::new(), reason: "no address of a broker".to_owned() }
}
