//! Sessions that watch the broker's functions, as endless answers: lines of JSON.
//!
//! - `observer`: the observer, and why it ends. There is one kind of it for all that is watched, messages and the processor too.
//! - `calls`: each call that a session sees. `wall`: the tree of times that another makes.
//! - `points`: what can be watched of the HTTP API.
//! - `perfetto`: what the flight recorder has, for a browser to show.
//!
//! A session ends with its answer, and an answer ends when its reader disconnects: where there is nothing to report, an empty line is
//! written four times a second, so that this is noticed.

mod calls;
mod observer;
mod perfetto;
mod points;
mod recorder;
mod wall;

pub(crate) use calls::CallsFeed;
pub(crate) use observer::{JSON_LINES, OBSERVERS_REFUSAL, Observed, Observer, Places, Watched, no_place};
pub(crate) use perfetto::perfetto;
pub(crate) use points::{arguments_of, is_as_long_as_asked, path_of, point_of, register};
pub(crate) use recorder::FlightRecorder;
pub(crate) use wall::WallFeed;
