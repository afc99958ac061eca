//! One vhost's exchanges and bindings: which queues a message is routed to.
//!
//! ```text
//!  exchanges       the exchanges of a vhost: declare, delete, bind, unbind, list; names of queues
//!  route           from exchange and message to queues: exchange-to-exchange bindings, alternate exchanges
//!  cache           results of routing, remembered until something changes
//!  router          the list of exchange types; one file each: direct, fanout, topic, headers, consistent_hash,
//!                  modulus_hash, random, federation_upstream
//!  exchange, binding, routable   what the three are, apart from each other
//!  header_value, header_fields   how headers are compared and found
//!  stable_hash, draws            hashes that are the same after a restart; random numbers from a seed
//!  target, handles, marks, slab, seed   what the above are made of
//! ```
//!
//! Plain values: nothing here waits, locks, reads a clock or draws a random number. A message is routed without
//! allocating, into memory that the caller keeps ([`RouteScratch`]).
//!
//! Not here: permissions, validation of names and arguments (`model`), the queues themselves (`queue`), and the texts of
//! errors (`broker`).

mod bind_error;
mod binding;
mod cache;
mod consistent_hash;
mod direct;
mod draws;
mod exchange;
mod exchanges;
mod fanout;
mod federation_upstream;
mod handles;
mod header_fields;
mod header_value;
mod headers;
mod marks;
mod modulus_hash;
mod random;
mod routable;
mod route;
mod router;
mod seed;
mod slab;
mod stable_hash;
mod target;
mod topic;

pub use bind_error::BindError;
pub use binding::{BindingRef, BindingSpec, Destination, RemovedBinding};
pub use cache::{CacheLimits, RouteCache};
pub use consistent_hash::{InvalidWeight, WEIGHT_MAX, parse_weight};
pub use exchange::{Declaration, Exchange, ExchangeType, UnknownExchangeType};
pub use exchanges::{DEFAULT_EXCHANGE, DeleteError, Epoch, Exchanges, Removed};
pub use handles::ExchangeRef;
pub use headers::is_valid_match;
pub use routable::Routable;
pub use route::{NoSuchExchange, Route, RouteScratch};
pub use seed::HashSeed;
