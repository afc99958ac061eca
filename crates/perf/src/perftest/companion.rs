//! Options beside a workload file: where the broker is, what is written. What is done stands in the file.

use command_line::{Mistake, Style, read};

use super::options::Options;
use super::parse::{Command, ParseError, parse, stray_warning};
use super::table::{Group, OPTIONS};

/// A command with a workload file, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// Words that belong to no option: the file.
    pub operands: Vec<String>,
    /// The options; those about exchanges, publishers and consumers have their defaults.
    pub options: Box<Options>,
    /// Options that change nothing here.
    pub warnings: Vec<String>,
}

/// Why a command with a workload file cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompanionError {
    /// The words make no sense.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// An option is about what the file says.
    #[error("{option} cannot be used with a workload file, which defines the workload; change it there, or with --set")]
    InFile {
        /// The option.
        option: String,
    },
}

impl From<Mistake> for CompanionError {
    fn from(error: Mistake) -> Self {
        CompanionError::Parse(error.into())
    }
}

/// Reads a command's options beside a workload file. `Ok(Err(text))` is something to print.
pub fn parse_companion(
    words: &[String],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Result<Companion, String>, CompanionError> {
    let (said, operands) = read(OPTIONS, Style::CommonsCli, words)?;
    let in_file = said.iter().map(|said| said.option).find(|option| {
        matches!(option.means.group, Group::Topology | Group::Publishing | Group::Consuming)
            || matches!(
                option.long,
                "pmessages" | "cmessages" | "exit-when" | "time" | "interval" | "warm-up" | "shutdown-timeout"
            )
    });
    if let Some(option) = in_file {
        return Err(CompanionError::InFile { option: option.name() });
    }
    let operands: Vec<String> = operands.into_iter().map(str::to_owned).collect();
    match parse(words, variable)? {
        Command::Print(text) => Ok(Err(text)),
        Command::Run { options, warnings } => {
            // A file is no stray word here.
            let is_about_operand = |warning: &String| operands.iter().any(|word| *warning == stray_warning(word));
            let warnings = warnings.into_iter().filter(|warning| !is_about_operand(warning)).collect();
            Ok(Ok(Companion { operands, options, warnings }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &str) -> Result<Result<Companion, String>, CompanionError> {
        let words: Vec<String> = command.split_ascii_whitespace().map(str::to_owned).collect();
        parse_companion(&words, &|_| None)
    }

    #[test]
    fn file_stands_anywhere_between_the_options() {
        for command in ["a.toml --json b -h amqp://h", "--json b a.toml -h amqp://h", "--json b -h amqp://h a.toml"] {
            let companion = read(command).unwrap().unwrap();
            assert_eq!(companion.operands, ["a.toml"], "{command}");
            assert_eq!(companion.options.connection.uris, ["amqp://h"]);
            assert!(companion.warnings.is_empty(), "{:?}", companion.warnings);
        }
    }

    #[test]
    fn what_the_file_says_is_not_said_again() {
        let error = read("a.toml -x 5").unwrap_err();
        assert_eq!(
            error.to_string(),
            "--producers cannot be used with a workload file, which defines the workload; change it there, or with --set"
        );
        for command in ["-z 5", "-C 5", "-D 5", "-ew idle", "-i 2", "--warm-up 1", "--shutdown-timeout 1"] {
            assert!(matches!(read(&format!("a.toml {command}")), Err(CompanionError::InFile { .. })), "{command}");
        }
        assert!(matches!(read("a.toml --qoz 5"), Err(CompanionError::Parse(_))));
    }
}
