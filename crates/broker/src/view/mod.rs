//! What is shown to operators: plain values, read from what the broker's parts write down as they work. No queue and no
//! connection is asked anything for it, so a listing costs the broker no more than reading so many numbers.

mod connections;
mod delayed;
mod exchanges;
mod node;
mod queues;
mod vhosts;

pub use connections::{ChannelView, ConnectionView, ConsumerView, OpenedView};
pub use delayed::DelaysView;
pub use exchanges::{BindingEndView, BindingFilter, BindingView, ExchangeView};
pub use node::{Alarms, AuthAttemptsView, Churn, NodeView, Totals};
pub use queues::{OwnerView, QueueView};
pub use vhosts::{VhostTraffic, VhostView};
