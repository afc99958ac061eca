//! Simulated users: each goes through a script of steps, with a connection of its own, as a program would.
//!
//! ```text
//!  template   texts with variables, made ready            ─┐
//!  program    a script, made ready: loops are jumps        │ pure
//!  line       which users wait at a throttle, until when  ─┘
//!  throttle   a line that all threads of the process share
//!  failure    why a script ended early, and what of it is reported
//!  timetable  when users arrive
//!  crowd      a group of users, made ready, and what those of one thread share
//!  link       a user's connection: what comes, measured and settled
//!  user       one user: instruction after instruction
//!  arrivals   users begin when the timetable says
//! ```
//!
//! A user is a task, from when it arrives until its script is over. Those of a thread share its pacer, its recorder and
//! one buffer. Across threads they share throttles, and a set of failures that were reported.
//!
//! Deliberately absent: following users' messages for loss. A user may leave with messages on the way, which is no one's
//! fault.

mod arrivals;
mod crowd;
mod failure;
mod line;
mod link;
mod program;
mod template;
mod throttle;
mod timetable;
mod user;

#[cfg(test)]
mod tests;

pub(crate) use arrivals::Arrivals;
pub(crate) use crowd::Crowd;
