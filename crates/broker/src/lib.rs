//! The broker: vhosts, shards, connections and channels. Turns what the state machines of `queue` and `routing` decide
//! into work for the store and for sockets.
//!
//! ```text
//!  connection ─ the socket's loop                      vhost ─ exchanges, bindings, queues by name
//!    session ─ frames and methods, no I/O              shard ─ queues under locks
//!      handshake, exchange_methods, queue_methods,       dispatch ─ a locked section's work: deliveries, records
//!      publish, consume, settle, tx, reply_to, attend    residents ─ the store's questions about queues
//!    inside ─ what somebody may do in a vhost             control ─ what operators change
//!    identity, login, permissions, lockout ─ who it is     view ─ what is shown to them
//!    batch ─ one read's publishes and settlements      recovery ─ from the store to vhosts and queues
//!                                                      history ─ what recent-history exchanges keep
//!                                                      sharding ─ exchanges with queues of their own
//!                                                      selection ─ messages browsed, deleted and moved by operators
//!                                                      delayed ─ messages that wait at an exchange until they are due
//!                                                      deduplication ─ keys by which duplicates are dropped
//!    outbox ─ what others have for a connection        alarms ─ memory and disk
//! ```
//!
//! Deliberately absent: configuration files, the HTTP API, rules of queues and of exchange types, and files.

mod alarms;
mod backend;
mod broker;
mod certificate_login;
mod connection;
mod connections;
mod control;
mod events;
mod history;
mod identity;
mod limits;
mod lockout;
mod login;
pub mod machine;
mod options;
mod permissions;
mod publish_properties;
mod queue_consumers;
mod random;
mod received;
mod recovery;
mod refusal;
mod removals;
mod reply_to;
mod selection;
mod server_properties;
mod session;
mod sharding;
pub mod statistics;
mod subscriptions;
#[cfg(test)]
mod tests;
mod throttle;
mod usage;
mod users;
mod vhost;
mod vhost_access;
mod vhosts;
pub mod view;

pub use backend::{
    Answer, AuthStep, Authority, Backend, BackendUser, Decision, Grants, LoginAnswer, LoginAttempt, Question,
};
pub use broker::{Broker, QueueCounts, StartError};
pub use connections::ConnectionState;
pub use control::{
    BackupError, BackupView, Cancelled, ControlError, DelayedFilter, DelayedMessage, DelayedPage, PasswordChange,
    PolicyRequest, UserRequest, VhostRequest, check_parameter_name,
};
pub use events::{Event, EventSink};
pub use identity::{Actor, Identity, Interface, Origin};
pub use lockout::LockoutOptions;
pub use login::LoginRefused;
pub use options::Options;
pub use permissions::Resource;
pub use random::{RandomError, fill_random};
pub use refusal::{Outcome, Refusal};
pub use selection::{
    BrowseRequest, BrowsedMessage, BrowsedPage, Carried, Destination, HeldBy, MessageFilter, MessageId, RedriveTo,
    Removed, Selection, Start,
};
pub use subscriptions::{Followed, Subscription};
pub use vhost_access::{
    AckMode, BindingEnd, BindingRequest, Changed, ExchangeRequest, GetRequest, GotMessage, PublishRequest,
    QueueRequest, VhostAccess,
};
