//! What makes nodes a cluster. So far: the links between them.
//!
//! ```text
//!  engine, store ─► Links::send ─► queue of a peer and lane ─┐ wakes            ┌─► LinkHandler::message ─► engine, store
//!                                                            ▼                  │
//!                                              thread "cluster": a connection a peer and lane, each way
//! ```
//!
//! - [`link`]: what travels on a link, without I/O: the handshake, the frames of each lane, what is refused and in which words.
//! - `links`: the sockets. [`Links`] is what sends, [`LinkHandler`] what is told; [`Setup`] is what they begin with.
//!
//! Knows no store and no broker: what a node does with what arrives is its handler's matter. Whether a silent peer still lives is the
//! engine's.

pub mod link;
mod links;

pub use links::{
    CallAnswer, CallError, Fetch, FetchError, FileAbandoned, FileAnswer, ForwardError, ForwardedClient, LaneStatistics,
    LinkHandler, LinkTls, LinkTlsOptions, Links, NotSent, PeerAddress, PeerEvent, PeerStatistics, PendingCall,
    RoundTrips, Setup, StartError,
};
