//! InfluxDB's line protocol, written.
//!
//! ```text
//!  warren_queue,node=rabbit@a,vhost=/,queue=new\ orders messages_ready=3i,consumers=1i 1700000000000000000
//!  measurement │ tags: what identifies a series         │ fields: numbers, texts        │ when, since 1970
//! ```
//!
//! ```text
//!  line        one point: tags and fields are put one by one, and what would be no point is not written
//!  escape      names and texts that cannot break a line, whatever is in them
//!  timestamp   when, in the unit that a reader expects
//! ```
//!
//! Whatever it is given, what comes out is whole lines that InfluxDB 1, 2 and 3 and Telegraf read alike. What the protocol cannot say
//! is left out (tags without a value, numbers that are none), or written in another way (a line feed in a name). Nothing here reads a
//! line, sends one, or knows the time.

mod escape;
mod line;
mod timestamp;

pub use line::{Fields, Tags, write};
pub use timestamp::{Precision, Timestamp};
