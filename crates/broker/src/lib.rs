//! The broker: vhosts, shards, connections and channels. Turns what the state machines of `queue` and `routing` decide
//! into work for the store and for sockets.
//!
//! ```text
//!  serving ─ connections of clients                     vhost ─ exchanges, bindings, queues by name
//!    session ─ AMQP 0-9-1: frames and methods, no I/O     sharding ─ exchanges with queues of their own
//!    front ─ a session without its protocol               history ─ what recent-history exchanges keep
//!      connection ─ the socket's loop                   view ─ what operators are shown
//!    vhost_access ─ what a user may do in a vhost       control ─ what operators change
//!    identity, login, permissions, lockout              selection ─ messages browsed, deleted and moved by operators
//!                                                       events, emit, subscriptions ─ what happens, and its listeners
//!                                                       firehose ─ messages, as messages
//!  engine ─ the path of messages (a crate of its own)   alarms ─ memory and disk
//!                                                       recovery ─ from the store to vhosts and queues
//! ```
//!
//! Deliberately absent: configuration files, the HTTP API, rules of queues and of exchange types, and files.

mod alarms;
mod auth_attempts;
mod backend;
mod binding_request;
mod broker;
mod certificate_login;
mod changed;
mod connections;
mod control;
mod durable_wakes;
mod emit;
mod events;
mod federation;
mod firehose;
mod front;
mod history;
mod identity;
mod limits;
mod lockout;
mod login;
mod login_sessions;
mod long_turns;
pub mod machine;
mod options;
mod permissions;
mod publish_properties;
mod queue_consumers;
mod queue_ends;
mod random;
mod recent_events;
mod recovery;
mod reject_connection;
mod reply_codes;
mod reply_to;
mod sampling;
mod selection;
mod server_properties;
mod serving;
mod session;
mod sharding;
pub mod statistics;
mod stop;
mod subscriptions;
#[cfg(test)]
mod tests;
mod throttle;
mod time;
mod trace_points;
mod usage;
mod users;
mod vhost;
mod vhost_access;
mod vhosts;
pub mod view;
mod watched;

pub use alarms::look_at_resources;
pub use backend::{
    Answer, AuthStep, Authority, Backend, BackendUser, Decision, Grants, LoginAnswer, LoginAttempt, Question,
};
pub use binding_request::{BindingEnd, BindingRequest};
pub use broker::{Broker, QueueCounts, StartError};
pub use changed::Changed;
pub use connections::ConnectionState;
pub use control::{
    BackupError, BackupView, Cancelled, ControlError, DelayedFilter, DelayedMessage, DelayedPage, OpenedSession,
    PasswordChange, PolicyApplication, PolicyRequest, UserRequest, VhostRequest, check_parameter_name,
};
/// What may wait for the journals.
pub use engine::Positions;
/// Lets go of the memory that this thread keeps for a broker that has stopped.
pub use engine::chunks::release_thread as release_thread_memory;
/// What happens to messages, reported to those that watch.
pub use engine::tap;
pub use events::{Event, EventSink};
pub use firehose::{routed_queues, shown_properties};
pub use identity::{Actor, Identity, Interface, Origin};
pub use lockout::LockoutOptions;
pub use login::LoginRefused;
pub use long_turns::take_long;
pub use options::Options;
pub use permissions::Resource;
pub use random::{RandomError, fill_random};
pub use recent_events::is_kept as is_event_kept;
pub use reject_connection::reject_connection;
pub use reply_codes::reply_code;
pub use selection::{
    BrowseRequest, BrowsedMessage, BrowsedPage, Destination, HeldBy, MessageFilter, MessageId, MoveReport, RedriveTo,
    Removed, Selection, Start,
};
pub use subscriptions::{Followed, Subscription};
pub use time::go_on_by_time;
pub use vhost::Federated;
pub use vhost_access::{
    AckMode, CheckedRight, ExchangeRequest, GetRequest, GotMessage, NeededRight, PublishRequest, QueueRequest,
    VhostAccess, WouldRoute,
};

/// All that can be traced of the broker and of what it drives.
pub fn trace_points() -> impl Iterator<Item = &'static telemetry::trace::Point> {
    let of_others = engine::TRACE_POINTS.iter().chain(store::TRACE_POINTS);
    trace_points::ALL.iter().chain(session::METHODS).chain(of_others).copied()
}
