//! What the broker counts besides the engine's queues, exchanges and vhosts (see [`engine::statistics`]), and when it looks at all of it.
//!
//! - `channel`: what connections, channels and consumers count. `channel_edges`: where a channel publishes. `node`: what is remembered of
//!   the node. `deleted_vhosts`: what deleted vhosts counted. `tick`: when it is looked.
//!
//! History beyond the last two looks is kept for the node and vhosts, and for objects that have been asked for lately.

mod channel;
mod channel_edges;
mod deleted_vhosts;
mod node;
mod tick;

pub(crate) use channel::{ChannelCounters, ChannelCounts, ChannelNumber, ConsumerCounters};
pub(crate) use channel_edges::Place;
pub use engine::statistics::{
    DeathStrategy, Deaths, LossCounts, OfType, Options, REASONS, Range, Rates, Retention, Retentions, SIZE_COUNT,
    SIZES, Stage, StageCounts, StagesView, VhostMessages, WAIT_COUNT, WAITS, numbers,
};

pub(crate) use engine::statistics::{Edge, ExchangeCounters, Observable, Observed, TurnCounts, VhostCounters, WaitRun};
pub(crate) use tick::Statistics;
