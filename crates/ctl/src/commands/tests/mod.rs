//! Commands, driven without a server: what each asks, with answers that a RabbitMQ gave (`tests/data`).

mod admin;
mod cluster;
mod ctl;
mod manuals;
mod rabbitmq_names;
mod shown;
mod successor;

use std::time::Duration;

use crate::failure::Failure;
use crate::output::{Format, Output, Style, render};
use crate::reply::Reply;
use crate::step::{Ask, Ended, Process, ProcessName, SettingsFile, Source, Step};
use crate::words;

/// An answer that was recorded.
pub(super) fn recorded(name: &str) -> Reply {
    let status = match name {
        "not_found" => 404,
        "no_vhost_or_user" | "bad_pattern" | "in_use" => 400,
        "no_listener" => 503,
        _ => 200,
    };
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Reply { status, body: std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")) }
}

/// An answer with nothing in it.
pub(super) fn bare(status: u16) -> Reply {
    Reply { status, body: Vec::new() }
}

/// What came of a command.
pub(super) struct CommandRun {
    /// Requests and whatever else it did, each in a line.
    pub(super) did: Vec<String>,
    pub(super) result: Result<Output, Failure>,
}

impl CommandRun {
    /// What a script reads.
    #[track_caller]
    pub(super) fn text(&self) -> String {
        let style = Style { format: Format::Table, has_headers: true, is_terminal: false };
        String::from_utf8(render(self.result.as_ref().unwrap(), style)).unwrap()
    }

    #[track_caller]
    pub(super) fn failure(&self) -> (u8, &str) {
        let failure = self.result.as_ref().unwrap_err();
        (failure.status, &failure.text)
    }
}

/// Drives a command with these answers, one after the other. What comes in is a line.
#[track_caller]
pub(super) fn drive(line: &[&str], replies: impl IntoIterator<Item = Reply>) -> CommandRun {
    let line: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
    let mut replies = replies.into_iter();
    let mut did = Vec::new();
    let said = match words::parse(&line) {
        Ok(said) => said,
        Err(failure) => return CommandRun { did, result: Err(failure) },
    };
    let mut step = (said.input.command.start)(&said.input);
    loop {
        step = match step {
            Err(failure) => return CommandRun { did, result: Err(failure) },
            Ok(Step::Done(output)) => return CommandRun { did, result: Ok(output) },
            Ok(Step::Ask(ask, next)) => {
                did.push(shown(&ask));
                next(replies.next().unwrap_or_else(|| panic!("no answer is left for {did:?}")))
            }
            Ok(Step::Try { ask, next, .. }) => {
                did.push(format!("try {}", shown(&ask)));
                let answer = replies.next().ok_or_else(|| Failure::unavailable("no server is there"));
                next(answer, Duration::from_secs(1))
            }
            Ok(Step::Read(source, next)) => {
                did.push(match &source {
                    Source::Stdin => "read what comes in".to_owned(),
                    Source::Secret => "read a password".to_owned(),
                    Source::File(path) => format!("read {}", path.display()),
                });
                next(b"{\"a line\": 1}\n".to_vec())
            }
            Ok(Step::Look(name, next)) => {
                did.push(format!("look for {name:?}"));
                next(match name {
                    ProcessName::Id(id @ 0..100) => Process::Running(id),
                    ProcessName::Id(id) => Process::Gone(id),
                    // It is there the second time.
                    ProcessName::File(_) if did.len() == 1 => Process::Unknown,
                    ProcessName::File(_) => Process::Running(7),
                })
            }
            Ok(Step::End(name, next)) => {
                did.push(format!("end {name:?}"));
                next(match name {
                    None => Ended::InOrder(7),
                    Some(ProcessName::Id(id)) => Ended::StillThere(id),
                    Some(ProcessName::File(_)) => Ended::NotThere,
                })
            }
            Ok(Step::Locate(next)) => next("http://here:15672/api".to_owned()),
            Ok(Step::ReadSettings(next)) => {
                let text = (!line.contains(&"none".to_owned())).then(|| "[a]\nport = 1\npassword = \"p\"\n".to_owned());
                next(SettingsFile { path: "/home/.rabbitmqadmin.conf".into(), text })
            }
            Ok(Step::Directory { order, dir, next }) => {
                did.push(format!("{order:?} {}", dir.display()));
                next(if dir.starts_with("/none") { Err("it is none".to_owned()) } else { Ok("done".to_owned()) })
            }
            Ok(Step::Pause(pause, next)) => {
                did.push(format!("pause {} ms", pause.as_millis()));
                next(())
            }
            Ok(Step::Connect(ports, next)) => {
                did.push(format!("connect {ports:?}"));
                next(ports.iter().filter(|port| **port == 1).map(|port| (*port, "refused".to_owned())).collect())
            }
        };
    }
}

fn shown(ask: &Ask) -> String {
    let mut out = format!("{} {}", ask.method, ask.path);
    if let Some(body) = &ask.body {
        out += &format!(" {}", String::from_utf8_lossy(body));
    }
    if let Some((user, password)) = &ask.user {
        out += &format!(" as {user}:{password}");
    }
    if let Some(reason) = &ask.reason {
        out += &format!(" because {reason}");
    }
    out
}

/// A command does exactly this, and succeeds.
#[track_caller]
pub(super) fn check(line: &[&str], replies: &[Reply], expected: &[&str]) {
    let driven = drive(line, replies.iter().cloned());
    assert_eq!(driven.did, expected);
    assert_eq!(driven.result.as_ref().err(), None);
}

/// A command with one request, which is accepted.
#[track_caller]
pub(super) fn check_one(line: &[&str], expected: &str) {
    check(line, &[bare(204)], &[expected]);
}

#[test]
fn every_name_is_taken_once() {
    let mut names: Vec<&str> = words::commands().flat_map(|(_, command)| command.names()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(count > 250, "{count}");
}

#[test]
fn every_banner_names_what_the_command_takes() {
    for (_, command) in words::commands() {
        for (at, _) in command.banner.match_indices('{') {
            let name = command.banner[at + 1..].split(['}', '|']).next().unwrap();
            let is_argument = command.arguments.iter().any(|argument| argument.name == name);
            let is_option = command.options.iter().any(|option| option.long == name);
            assert!(is_argument || is_option || matches!(name, "vhost" | "timeout"), "{}: {name}", command.name);
        }
    }
}

#[test]
fn only_the_last_argument_may_be_repeated() {
    use crate::command::Need;
    for (_, command) in words::commands() {
        let not_last = command.arguments.len().saturating_sub(1);
        assert!(
            command.arguments[..not_last].iter().all(|argument| argument.need != Need::Repeated),
            "{}",
            command.name
        );
    }
}
