//! `warren perf run WORKLOAD`.

use std::path::PathBuf;

use super::files::Files;
use super::session::Session;
use super::{Failure, RunRequest, wants_help};
use crate::agents::{Order, Surroundings};
use crate::perftest::{as_override, parse_companion};
use crate::workload::{self, OpenError, Overrides};

const USAGE: &str = "\
usage: warren perf run WORKLOAD [--set KEY=VALUE]… [--scale FACTOR] [OPTION…]

WORKLOAD is a TOML file, or the name of a built-in workload (warren perf list). OPTIONs are those of warren perf --help
for the connection and the output. Results are written to NAME.json and NAME.html, or to the files of --json and --html.

  --set KEY=VALUE   change a field of the file, or fix a variable of its sweep
  --scale FACTOR    multiply all counts and rates: 0.1 for a smaller machine
";

/// Reads the command: the words after `run`.
pub(crate) fn read(words: &[String], surroundings: Surroundings) -> Result<RunRequest, Failure> {
    if wants_help(words) {
        return Ok(RunRequest::Print(USAGE.to_owned()));
    }
    let (overrides, rest) = take_overrides(words)?;
    let variable = |name: &str| surroundings.variable(name);
    let companion = match parse_companion(&rest, &variable).map_err(Failure::usage)? {
        Ok(companion) => companion,
        Err(text) => return Ok(RunRequest::Print(text)),
    };
    let [file] = companion.operands.as_slice() else {
        return Err(Failure::Usage(format!("one workload is required\n\n{USAGE}")));
    };
    let options = companion.options;
    let mut overrides = overrides;
    if let Some(seed) = options.seed {
        overrides.settings.push(format!("seed={seed}"));
    }
    let mut workload = match surroundings.workload() {
        Some(text) => workload::read(text, file, &overrides).map_err(Failure::failed)?,
        None => workload::open(file, &overrides).map_err(|error| match error {
            OpenError::Unknown { .. } => Failure::usage(error),
            OpenError::Unreadable { .. } | OpenError::Invalid(_) => Failure::failed(error),
        })?,
    };
    surroundings.note_workload(&workload.text);
    if let Some(id) = &options.id {
        workload.name.clone_from(id);
        workload.runs.iter_mut().for_each(|run| run.plan.name.clone_from(id));
    }
    let seed = workload.runs.first().map_or(0, |run| run.plan.seed);
    let all_words: Vec<String> = std::iter::once("run".to_owned()).chain(words.iter().cloned()).collect();
    let default_path = |extension| Some(PathBuf::from(format!("{}.{extension}", workload.name.replace('/', "-"))));
    Ok(RunRequest::Run(Box::new(Session {
        order: Order::new(&all_words, surroundings),
        files: Files {
            json: options.output.json.clone().or_else(|| default_path("json")),
            html: options.output.html.clone().or_else(|| default_path("html")),
        },
        name: workload.name,
        description: workload.description,
        workload: Some(workload.text),
        seed,
        runs: workload.runs,
        warnings: companion.warnings,
        options,
    })))
}

/// Takes `--set` and `--scale` out of the words.
fn take_overrides(words: &[String]) -> Result<(Overrides, Vec<String>), Failure> {
    let mut overrides = Overrides::default();
    let mut rest = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some((name, value)) = as_override(word) else {
            rest.push(word.clone());
            continue;
        };
        let value = match value {
            Some(value) => value.to_owned(),
            None => words.next().ok_or_else(|| Failure::Usage(format!("option '{name}' needs a value")))?.clone(),
        };
        if name == "--set" {
            overrides.settings.push(value);
        } else {
            let no_factor = || Failure::Usage(format!("--scale: '{value}' is not a factor, such as 0.1"));
            overrides.scale = value.parse().map_err(|_| no_factor())?;
        }
    }
    Ok((overrides, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_stand_anywhere_and_leave_the_rest() {
        let words = ["a.toml", "--set", "x=1", "-h", "amqp://h", "--scale=0.5", "--set=y=2"].map(str::to_owned);
        let (overrides, rest) = take_overrides(&words).unwrap();
        assert_eq!(overrides, Overrides { settings: vec!["x=1".to_owned(), "y=2".to_owned()], scale: 0.5 });
        assert_eq!(rest, ["a.toml", "-h", "amqp://h"]);
        assert!(take_overrides(&["--scale".to_owned(), "much".to_owned()]).is_err());
        assert!(take_overrides(&["--set".to_owned()]).is_err());
    }
}
