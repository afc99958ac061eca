//! The directory of a member of a group, whose log the journal is: which member it is, what it has promised, and the files that members
//! fetch from each other.
//!
//! ```text
//!  follower   MemberDir   reads its journal, writes it, cuts it off; fetches files and puts them in force
//!  leader     Lead        of a store that is open on the directory: asks a ReplicatedLog what is committed, keeps what others fetch
//! ```
//!
//! What is in the log, and which member leads, is decided by what drives consensus over such a directory; nothing here knows how. A
//! directory is changed by one durable step at a time, so that at every moment it is one that an ordinary start opens.

mod alone;
mod announcement;
mod ballots;
mod file_reader;
mod found_log;
mod identity;
mod lead;
mod leases;
mod member_dir;
mod new_member;
mod pull;
mod replicated_log;
mod wipe;

pub use alone::stand_alone;
pub use announcement::{Announcement, FileName, FilePiece};
pub use ballots::Ballots;
pub use file_reader::FileReader;
pub use found_log::FoundLog;
pub use identity::{Founding, Identity};
pub(crate) use lead::Lead;
pub(crate) use leases::NamedFiles;
pub use member_dir::{MemberDir, MemberDirError, OpenedStore};
pub use pull::{Pull, PullError, Pulled};
pub use replicated_log::ReplicatedLog;
pub use wipe::{empty, finish_emptying, identity_of};
