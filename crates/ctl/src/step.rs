//! What a command does, as steps without I/O: what it asks, what it makes of the answer, what it shows in the end.
//!
//! A command is a chain of functions. Each is handed what the step before brought, and returns what is to be done next; its runner (`run`,
//! or a test) does it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_client::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Output;
use crate::reply::Reply;

/// What comes next, or why nothing does.
pub(crate) type StepResult = Result<Step, Failure>;

/// What follows a step, given what it brought.
pub(crate) type NextStep<T> = Box<dyn FnOnce(T) -> StepResult>;

/// What follows an attempt: with what came of it, and how long it took.
pub(crate) type AfterTry = Box<dyn FnOnce(Result<Reply, Failure>, Duration) -> StepResult>;

/// What is to be done.
pub(crate) enum Step {
    /// Ask the server.
    Ask(Ask, NextStep<Reply>),
    /// Ask the server whether it is there, and hear of it when it is not: no answer is none of the command's failures.
    Try { ask: Ask, timeout: Duration, next: AfterTry },
    /// Read a file, or what comes in.
    Read(Source, NextStep<Vec<u8>>),
    /// Look whether a process is there.
    Look(ProcessName, NextStep<Process>),
    /// Have a process end: the one that is named, or the one behind the server's socket.
    End(Option<ProcessName>, NextStep<Ended>),
    /// Find out where the management API is, without asking it.
    Locate(NextStep<String>),
    /// Read rabbitmqadmin's file of settings, which may not be there.
    ReadSettings(NextStep<SettingsFile>),
    /// Do something to the data directory of a node that does not run, and hear what came of it, or why nothing did.
    Directory { order: DirectoryOrder, dir: PathBuf, next: NextStep<Result<String, String>> },
    /// Wait.
    Pause(Duration, NextStep<()>),
    /// Connect to these ports of the server's host, and hear which cannot be.
    Connect(Vec<u16>, NextStep<Vec<(u16, String)>>),
    /// Show something, and that was all.
    Done(Output),
}

/// What is done to the data directory of a node that does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryOrder {
    /// It becomes that of a node alone, with all that it has.
    ForceBoot,
    /// A copy is taken for the directory itself.
    AcceptCopy,
}

/// What knows data directories: does what is ordered, and returns in a sentence the outcome, or why nothing was done.
pub type Directories = dyn Fn(DirectoryOrder, &Path) -> Result<String, String>;

/// Which process a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessName {
    Id(u32),
    /// The one whose id is in a file.
    File(PathBuf),
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    /// No file says which it is.
    Unknown,
    Running(u32),
    Gone(u32),
}

/// What came of a process that was to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    InOrder(u32),
    NotThere,
    StillThere(u32),
}

/// rabbitmqadmin's file of settings; no text if it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) text: Option<String>,
}

/// Where something is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Stdin,
    /// Its first line, which is not shown when it is typed.
    Secret,
    File(PathBuf),
}

impl Source {
    /// A path, or `-` for what comes in.
    pub(crate) fn of(path: &str) -> Self {
        if path == "-" { Source::Stdin } else { Source::File(path.into()) }
    }

    pub(crate) fn then(self, next: impl FnOnce(Vec<u8>) -> StepResult + 'static) -> StepResult {
        Ok(Step::Read(self, Box::new(next)))
    }
}

/// A request to the management API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// Below `/api`, escaped, with its query.
    pub(crate) path: String,
    /// JSON.
    pub(crate) body: Option<Vec<u8>>,
    /// The user that asks, if not the one of all other requests, and the password.
    pub(crate) user: Option<(String, String)>,
    /// Why it is asked, for the server's log.
    pub(crate) reason: Option<String>,
}

impl Ask {
    fn new(method: Method, path: String) -> Self {
        Ask { method, path, body: None, user: None, reason: None }
    }

    pub(crate) fn get(path: String) -> Self {
        Ask::new(Method::GET, path)
    }

    pub(crate) fn put(path: String, body: &Value) -> Self {
        Ask { body: Some(body.to_string().into_bytes()), ..Ask::new(Method::PUT, path) }
    }

    pub(crate) fn post(path: String, body: &Value) -> Self {
        Ask { body: Some(body.to_string().into_bytes()), ..Ask::new(Method::POST, path) }
    }

    pub(crate) fn delete(path: String) -> Self {
        Ask::new(Method::DELETE, path)
    }

    pub(crate) fn with_body(self, body: Vec<u8>) -> Self {
        Ask { body: Some(body), ..self }
    }

    pub(crate) fn by_user(self, user: &str, password: &str) -> Self {
        Ask { user: Some((user.to_owned(), password.to_owned())), ..self }
    }

    pub(crate) fn because(self, reason: &str) -> Self {
        Ask { reason: Some(reason.to_owned()), ..self }
    }

    pub(crate) fn then(self, next: impl FnOnce(Reply) -> StepResult + 'static) -> StepResult {
        Ok(Step::Ask(self, Box::new(next)))
    }

    /// And if it is not refused, that was all.
    pub(crate) fn done(self) -> StepResult {
        self.then(Reply::done)
    }

    /// And if it is not refused, this is said.
    pub(crate) fn say(self, text: impl Into<String>) -> StepResult {
        then_say(self.done(), text.into())
    }
}

/// That was all, and there is this to say.
pub(crate) fn say(text: impl Into<String>) -> StepResult {
    Ok(Step::Done(Output::Text(text.into())))
}

/// That was all.
pub(crate) fn done() -> StepResult {
    Ok(Step::Done(Output::Nothing))
}

/// That was all, with a remark for users who want to know more.
pub(crate) fn remark(text: impl Into<String>) -> StepResult {
    Ok(Step::Done(Output::Remark(text.into())))
}

/// Remarks something when everything else is done.
pub(crate) fn then_say(started: StepResult, text: String) -> StepResult {
    match started? {
        Step::Done(Output::Nothing) => remark(text),
        Step::Ask(ask, next) => Ok(Step::Ask(ask, Box::new(move |reply| then_say(next(reply), text)))),
        other => Ok(other),
    }
}

/// Asks all of these, one after the other, and continues when none was refused.
pub(crate) fn each(asks: Vec<Ask>, next: impl FnOnce() -> StepResult + 'static) -> StepResult {
    let mut asks = asks.into_iter();
    match asks.next() {
        None => next(),
        Some(first) => first.then(move |reply| {
            reply.accepted()?;
            each(asks.collect(), next)
        }),
    }
}

/// What a part of a path may have as it is.
const UNESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path of parts, whatever is in them.
pub(crate) fn path(parts: &[&str]) -> String {
    parts.iter().map(|part| escaped(part)).collect::<Vec<_>>().join("/")
}

/// A part of a path, or of a query.
pub(crate) fn escaped(part: &str) -> String {
    utf8_percent_encode(part, UNESCAPED).to_string()
}
