//! Files of profiles, held against their readers.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and says what it skips")]

mod pprof;
mod speedscope;

use profile::{Cost, Frame, Profile, Unit};

/// Two threads, a kind of work, and a wait.
fn sample() -> Profile {
    let mut profile = Profile::new("a test", Unit::Samples { period_ns: 10_000_000 });
    profile.note("0.1 % of the processor time was the profile's own");
    let stacks: &[(&[Frame], u64)] = &[
        (&[Frame::thread("worker"), Frame::label("connection"), Frame::work("main"), Frame::work("route")], 30),
        (
            &[
                Frame::thread("worker"),
                Frame::label("connection"),
                Frame::work("main"),
                Frame::work("route"),
                Frame::work("hash"),
            ],
            60,
        ),
        (&[Frame::thread("journal"), Frame::work("commit"), Frame::waiting("disk")], 10),
    ];
    stacks.iter().for_each(|(stack, weight)| profile.add(stack, Cost { weight: *weight, calls: 0 }));
    profile
}
