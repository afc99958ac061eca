//! What of a RabbitMQ works here, asked before anything is moved: its files are looked at, or one that runs is asked.

use preflight::{AnswerTexts, Input, Kind, Severity};
use serde_json::Value;

use crate::command::{Command, option, repeated};
use crate::failure::{DATA, Failure, REFUSED};
use crate::invocation::Invocation;
use crate::output::Output;
use crate::reply::foreign;
use crate::step::{Ask, Source, Step, StepResult};

pub(crate) const COMMANDS: &[Command] = &[Command::new(
    "check",
    "reports what works, differs or is refused in Warren, for files of a RabbitMQ, or for a running one (a URL)",
    start,
)
.taking(&[repeated(FILE)])
.server_in(FILE)
.with(&[option("kind", "KIND", "the kind of the files: conf, erlang, plugins, env, definitions; default: detected")])
.long()];

const FILE: &str = "file";

/// The first answers have to be had.
const REQUIRED_COUNT: usize = 2;

fn start(input: &Invocation) -> StepResult {
    let kind = input.optional("kind").map(|name| {
        let kinds = || Kind::ALL.map(Kind::name).join(", ");
        Kind::parse(name).ok_or_else(|| Failure::usage(format!("unknown kind of files '{name}': one of {}", kinds())))
    });
    let kind = kind.transpose()?;
    let files = input.all(FILE).to_vec();
    let is_asked =
        files.is_empty() || ["url", "socket", "data-dir", "host"].iter().any(|option| input.has_shared(option));
    read(files.into_iter(), kind, Vec::new(), is_asked)
}

/// Reads one file after the other.
fn read(
    mut files: std::vec::IntoIter<String>,
    kind: Option<Kind>,
    mut inputs: Vec<Input>,
    is_asked: bool,
) -> StepResult {
    let Some(file) = files.next() else {
        return if is_asked { Ok(Step::Locate(Box::new(move |url| ask(url, inputs)))) } else { shown(&inputs, None) };
    };
    Source::of(&file).then(move |bytes| {
        let name = if file == "-" { "standard input".to_owned() } else { file };
        inputs.push(Input { name, bytes, kind });
        read(files, kind, inputs, is_asked)
    })
}

fn ask(url: String, inputs: Vec<Input>) -> StepResult {
    let name = url.strip_suffix("/api").unwrap_or(&url).to_owned();
    asked(0, AnswerTexts::new(name), inputs)
}

/// Asks one question after the other. Answers stay the texts that they are: definitions may have a million queues.
fn asked(at: usize, mut answers: AnswerTexts, inputs: Vec<Input>) -> StepResult {
    let Some((member, path)) = preflight::QUESTIONS.get(at) else {
        return shown(&inputs, Some(&answers));
    };
    Ask::get((*path).to_owned()).then(move |reply| {
        let is_required = at < REQUIRED_COUNT;
        if is_required || reply.is_accepted() {
            let answer = reply.document(is_required)?;
            if *member == "overview" {
                check_overview(&answer)?;
            }
            answers.put(member, answer);
        }
        asked(at + 1, answers, inputs)
    })
}

/// Every broker's has a version.
fn check_overview(text: &str) -> Result<(), Failure> {
    let overview: Value = serde_json::from_str(text).unwrap_or_default();
    let has = |member: &str| overview.get(member).is_some_and(Value::is_string);
    if has("rabbitmq_version") || has("product_version") {
        Ok(())
    } else {
        Err(foreign("an overview without a version"))
    }
}

fn shown(inputs: &[Input], asked: Option<&AnswerTexts>) -> StepResult {
    let found =
        preflight::examine_with(inputs, asked).map_err(|unreadable| Failure::new(DATA, unreadable.to_string()))?;
    let status = if found.severity() == Severity::Refused { REFUSED } else { 0 };
    Ok(Step::Done(Output::Findings { report: found, status }))
}

#[cfg(test)]
mod tests;
