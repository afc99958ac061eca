//! pprof's file: <https://github.com/google/pprof/blob/main/proto/profile.proto>, gzipped.
//!
//! Threads and kinds of work are labels of samples, as `-tagfocus` and `-tagroot` want them; all other frames are locations, each of one
//! function.

use std::collections::HashMap;

use crate::frame::{Frame, Kind};
use crate::gzip::gzip;
use crate::protobuf::Message;
use crate::stacks::{Profile, Unit};

/// Fields of `Profile`.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING_TABLE: u64 = 6;
    pub(super) const TIME_NANOS: u64 = 9;
    pub(super) const DURATION_NANOS: u64 = 10;
    pub(super) const PERIOD_TYPE: u64 = 11;
    pub(super) const PERIOD: u64 = 12;
    pub(super) const COMMENT: u64 = 13;
}

/// Each text once, by its place; the first is empty.
struct Strings {
    places: HashMap<String, u64>,
    all: Vec<String>,
}

impl Strings {
    fn place(&mut self, text: &str) -> u64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

impl Profile {
    /// The file, of a profile that was begun so many nanoseconds after 1970 and took so many.
    pub fn to_pprof(&self, at_ns: u64, duration_ns: u64) -> Vec<u8> {
        let mut strings = Strings { places: HashMap::from([(String::new(), 0)]), all: vec![String::new()] };
        let mut message = Message::default();
        // Nanoseconds last: pprof shows the last kind of figure if it is not asked for another.
        let kinds: &[(&str, &str)] = match self.unit() {
            Unit::Samples { period_ns: 0 } => &[("samples", "count")],
            Unit::Samples { .. } => &[("samples", "count"), ("cpu", "nanoseconds")],
            Unit::Nanoseconds => &[("calls", "count"), ("wall", "nanoseconds")],
        };
        for kind in kinds {
            message.message(field::SAMPLE_TYPE, |value_type| write_type(value_type, &mut strings, *kind));
        }
        let mut ids: HashMap<&Frame, u64> = HashMap::new();
        for (stack, cost) in self.stacks() {
            let values: &[u64] = match self.unit() {
                Unit::Samples { period_ns: 0 } => &[cost.weight],
                Unit::Samples { period_ns } => &[cost.weight, cost.weight.saturating_mul(period_ns)],
                Unit::Nanoseconds => &[cost.calls, cost.weight],
            };
            let functions = stack.iter().rev().filter(|frame| frame.kind().is_function());
            let locations: Vec<u64> = functions
                .map(|frame| {
                    let next = ids.len() as u64 + 1;
                    *ids.entry(frame).or_insert(next)
                })
                .collect();
            message.message(field::SAMPLE, |sample| {
                sample.packed(1, &locations);
                sample.packed(2, values);
                for frame in stack.iter().filter(|frame| !frame.kind().is_function()) {
                    let key = if frame.kind() == Kind::Thread { "thread" } else { "work" };
                    sample.message(3, |label| {
                        label.number(1, strings.place(key));
                        label.number(2, strings.place(frame.name()));
                    });
                }
            });
        }
        let mut frames: Vec<(&Frame, u64)> = ids.into_iter().collect();
        frames.sort_unstable_by_key(|(_, id)| *id);
        for (frame, id) in frames {
            write_function(&mut message, &mut strings, frame, id);
        }
        message.number(field::TIME_NANOS, at_ns);
        message.number(field::DURATION_NANOS, duration_ns);
        if let Unit::Samples { period_ns: period_ns @ 1.. } = self.unit() {
            message.message(field::PERIOD_TYPE, |kind| write_type(kind, &mut strings, ("cpu", "nanoseconds")));
            message.number(field::PERIOD, period_ns);
        }
        let comments = std::iter::once(self.title()).chain(self.notes().iter().map(String::as_str));
        let comments: Vec<u64> = comments.map(|line| strings.place(line)).collect();
        message.packed(field::COMMENT, &comments);
        strings.all.iter().for_each(|text| message.bytes(field::STRING_TABLE, text.as_bytes()));
        gzip(&message.into_bytes())
    }
}

fn write_type(message: &mut Message, strings: &mut Strings, (kind, unit): (&str, &str)) {
    message.number(1, strings.place(kind));
    message.number(2, strings.place(unit));
}

/// A function, and the one location in it: what we have of addresses says no more.
fn write_function(message: &mut Message, strings: &mut Strings, frame: &Frame, id: u64) {
    let waits = if frame.kind() == Kind::Waiting { "waiting: " } else { "" };
    let name = strings.place(&format!("{waits}{}", frame.name()));
    message.message(field::LOCATION, |location| {
        location.number(1, id);
        location.message(4, |line| line.number(1, id));
    });
    message.message(field::FUNCTION, |function| {
        function.number(1, id);
        function.number(2, name);
        function.number(3, name);
    });
}
