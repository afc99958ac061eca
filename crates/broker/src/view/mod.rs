//! What is shown to operators: plain values, read from what the broker's parts write down as they work. No queue and no connection is asked
//! anything for it, so a listing costs the broker no more than reading so many numbers. Where a queue is asked for a moment, the
//! comment there mentions it.

mod connections;
mod consumers;
mod data_loss;
mod delayed;
mod exchanges;
mod latency;
mod memory;
mod node;
mod queues;
mod statistics;
mod top;
mod troubles;
mod vhosts;
mod work;

pub use crate::alarms::{ActiveAlarms as Alarms, PeerAlarms};
pub use crate::connections::ConnectionMemory;
pub use connections::{ChannelView, ConnectionView, OpenedView};
pub use consumers::{Activity, ConsumerView};
pub use data_loss::{DamagedFile, Loss};
pub use delayed::DelaysView;
pub use exchanges::{BindingEndView, BindingFilter, BindingView, ExchangeView};
pub use latency::SlowConnection;
pub use memory::MemoryView;
pub use node::{AuthAttemptsView, Churn, NodeView, Totals};
pub use queues::{OldestView, OwnerView, QueueView, QueueWalk, SetAsideView};
pub use statistics::{EdgeView, NameView, Numbers, PublisherView};
pub use top::{TopBegin, TopBy, TopOf, TopRequest, TopRow, TopTable};
pub use troubles::DeadLetterLoop;
pub use vhosts::VhostView;
pub use work::{PressureView, StoreView};
