//! What operators do with single messages of a queue: browse them, delete them, move them elsewhere, send dead letters back.
//!
//! ```text
//!  request ─► sweep ─ looks at the queue piece by piece: under its lock what is in memory, without it what has to be read
//!               │
//!               ▼ filter
//!             browse     remove       move   ─ routes without locks, then takes out and puts in under all locks
//! ```
//!
//! Nothing is marked, counted or set aside for a message that is looked at: its consumer gets it as ever, and messages that have left
//! meanwhile are passed over. A message that is moved is taken out of its queue and put into the others in one batch of the journal, as
//! dead letters are; so after a crash it is in one of them. A request looks at so many messages at most, and says where to go on.
//!
//! Deliberately absent: taking what a consumer holds, and changing a message.

mod browse;
mod filter;
mod limits;
mod move_messages;
mod remove;
mod sweep;

pub use browse::{BrowseRequest, BrowsedMessage, BrowsedPage, HeldBy, Start};
pub use filter::MessageFilter;
pub(crate) use filter::has_header;
pub use move_messages::{Destination, MoveReport, RedriveTo};
pub use remove::Removed;
pub(crate) use sweep::first_from;
pub use sweep::{MessageId, Selection};
