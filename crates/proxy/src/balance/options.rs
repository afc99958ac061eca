//! What operators say about upstreams.

use net::ClientTlsOptions;
use net::proxy_protocol::Version;

/// An upstream: a broker, or several behind one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamOptions {
    /// What operators call it. By it an upstream is found again when options change.
    pub name: String,
    /// Where it is, for those that dial and those that look. Another address under the same name is another broker: what is known
    /// of the old one says nothing about it, and its upstream connections are left.
    pub address: String,
    /// How it is spoken to. What was agreed on in another way is no longer what operators want: as with another address.
    pub transport: Transport,
    /// Its share of new upstream connections, beside the others' shares. One of 0 is dialled only where no other can be.
    pub weight: u32,
    /// The vhosts that it serves, which then no upstream without a list does. Empty: those that no upstream names.
    pub vhosts: Vec<String>,
}

/// What a connection is before AMQP is spoken over it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transport {
    /// TLS, if it is spoken.
    pub tls: Option<ClientTlsOptions>,
    /// Which header of the PROXY protocol it begins with, if any.
    pub proxy_protocol: Option<Version>,
}

/// Which of several upstreams gets a new upstream connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Any, each as often as its weight says.
    #[default]
    Weighted,
    /// The one with the fewest upstream connections for its weight, those that are being dialled included.
    LeastConnections,
}

/// All that operators set here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The upstreams, in the order in which they are shown.
    pub upstreams: Vec<UpstreamOptions>,
    /// Which of them gets a new upstream connection.
    pub strategy: Strategy,
    /// So many failures in a row open an upstream's circuit.
    pub failure_count_max: u32,
    /// How long a circuit is open at first. It is twice as long after each further failure.
    pub backoff_min_ms: u64,
    /// How long a circuit is open at most.
    pub backoff_max_ms: u64,
    /// How long the one attempt that a half-open circuit lets through may take before another one is let through: no less than
    /// dialling may take.
    pub attempt_timeout_ms: u64,
    /// How often each upstream is checked; 0 for never.
    pub check_interval_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            upstreams: Vec::new(),
            strategy: Strategy::Weighted,
            failure_count_max: 3,
            backoff_min_ms: 250,
            backoff_max_ms: 30_000,
            attempt_timeout_ms: 10_000,
            check_interval_ms: 10_000,
        }
    }
}

/// Why options are not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// There is nowhere to go.
    #[error("no upstreams: name at least one")]
    NoUpstream,
    /// An upstream's name is empty.
    #[error("an upstream has no name")]
    NoName,
    /// The two could not be distinguished.
    #[error("two upstreams have the name '{0}': names must be unique")]
    SameName(String),
    /// A circuit would be open before anything has failed.
    #[error("the number of failures that open a circuit is 0: set 1 or more")]
    NoFailures,
    /// A circuit would not be open at all, or its shortest time be longer than its longest.
    #[error(
        "invalid back-off from {min_ms} ms to {max_ms} ms: the minimum must be above 0 ms, and the maximum not below the minimum"
    )]
    BackOff {
        /// [`Options::backoff_min_ms`].
        min_ms: u64,
        /// [`Options::backoff_max_ms`].
        max_ms: u64,
    },
}

impl Options {
    /// Whether they can be taken.
    pub fn check(&self) -> Result<(), OptionsError> {
        if self.upstreams.is_empty() {
            return Err(OptionsError::NoUpstream);
        }
        for (index, upstream) in self.upstreams.iter().enumerate() {
            if upstream.name.is_empty() {
                return Err(OptionsError::NoName);
            }
            if self.upstreams[..index].iter().any(|earlier| earlier.name == upstream.name) {
                return Err(OptionsError::SameName(upstream.name.clone()));
            }
        }
        if self.failure_count_max == 0 {
            return Err(OptionsError::NoFailures);
        }
        let (min_ms, max_ms) = (self.backoff_min_ms, self.backoff_max_ms);
        if min_ms == 0 || min_ms > max_ms {
            return Err(OptionsError::BackOff { min_ms, max_ms });
        }
        Ok(())
    }
}
