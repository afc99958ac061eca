//! What PerfTest 2.22.1 does with its options: each test is what was seen when it ran against RabbitMQ 4.3.

mod consumers;
mod environment;
mod help;
mod producers;
mod run;
mod topology;
mod words;

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::plan::{
    Binding, BindingKeys, Body, ConsumedQueues, Distribution, ExitWhen, Plan, Processing, Publishers, Rate, Routing,
    Schedule, Segment, Settle, Sizes, Value,
};

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(|word| if word == "''" { String::new() } else { word.to_owned() }).collect()
}

fn run(command: &str, environment: &[(&str, &str)]) -> Result<(Options, Vec<String>), ParseError> {
    let variable =
        |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    match parse(&words(command), &variable)? {
        Command::Run { options, warnings } => Ok((*options, warnings)),
        Command::Print(text) => panic!("printed {text}"),
    }
}

#[track_caller]
fn options(command: &str) -> Options {
    run(command, &[]).unwrap().0
}

#[track_caller]
fn plan(command: &str) -> Plan {
    let read = |path: &Path| match path.to_str() {
        Some("queues.txt") => Ok(b"one\n two \n\nthree\n".to_vec()),
        Some("a.bin") => Ok(b"AAA".to_vec()),
        Some("b.bin") => Ok(b"B".to_vec()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    options(command).plan("test", 1, &read).unwrap()
}

#[track_caller]
fn producer(command: &str) -> Publishers {
    plan(command).publishers.into_iter().next().unwrap()
}

#[track_caller]
fn consumer(command: &str) -> crate::plan::Consumers {
    plan(command).consumers.into_iter().next().unwrap()
}

#[track_caller]
fn check_error(command: &str, expected: &str) {
    assert_eq!(run(command, &[]).unwrap_err().to_string(), expected);
}

#[track_caller]
fn check_printed(command: &str, beginning: &str) -> String {
    match parse(&words(command), &|_| None).unwrap() {
        Command::Print(text) => {
            assert!(text.starts_with(beginning), "{text}");
            text
        }
        Command::Run { .. } => panic!("would run"),
    }
}

fn fixed_size(size: f64) -> Body {
    Body::Stamped(Sizes::Drawn(Distribution::Fixed(size)))
}
