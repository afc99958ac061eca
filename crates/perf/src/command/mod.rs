//! `warren perf`: its commands, put together from everything else here.
//!
//! ```text
//!  warren perf OPTION…               PerfTest's command line
//!  warren perf run WORKLOAD …        a workload file, or one that is shipped
//!  warren perf list | show NAME      shipped workloads
//!  warren perf compare A B …         compare results
//!  warren perf report RESULTS        results as a page
//!  warren perf agent                 takes part in runs that another machine starts
//! ```
//!
//! Exit status: 0 done; 1 failed, whether by bad usage (as PerfTest), by the broker, or by a verdict; 128 and the signal's
//! number when interrupted, after everything was written.

mod agent;
mod compare;
mod files;
mod oauth2;
mod perftest;
mod report;
mod session;
mod shown;
mod target;
mod workload;

use std::io;

use amqp_client::without_passwords;
use command_line::{Mistake, Opt, Said, Style};
use session::{Session, execute};

use crate::agents::Surroundings;
use crate::perftest::EXIT_CODE_USAGE;

/// How a command ended that did not do what it was to.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The words make no sense.
    Usage(String),
    /// It went wrong.
    Failed(String),
    /// It was done, and was not good enough, or was ended by the user, or was to print help; that was said already.
    Status(u8),
}

impl Failure {
    pub(crate) fn failed(error: impl ToString) -> Self {
        Failure::Failed(error.to_string())
    }

    pub(crate) fn usage(error: impl ToString) -> Self {
        Failure::Usage(error.to_string())
    }
}

const USAGE: &str = "\
warren perf puts load on an AMQP 0-9-1 broker, and measures its performance.

  warren perf OPTION…                 with PerfTest's options: see warren perf --help
  warren perf run WORKLOAD [OPTION…]  run a workload file, or a built-in workload
  warren perf list                    list the built-in workloads
  warren perf show NAME               show one of them, to copy and change it
  warren perf compare FILE FILE…      compare results
  warren perf report FILE             write results as an HTML page
  warren perf agent [OPTION…]         take part in runs that other machines start with --agents
";

/// Columns of what `--help` prints.
const USAGE_COLUMNS: usize = 120;

/// Runs a command: its words, without `warren perf`. Returns the exit status.
pub fn main(words: &[String]) -> u8 {
    let result = match words.split_first() {
        Some((command, rest)) => match command.as_str() {
            "agent" => agent::run(rest),
            "list" => shown::list(rest),
            "show" => shown::show(rest),
            "compare" => compare::run(rest),
            "report" => report::run(rest),
            "help" => print(USAGE),
            _ => generate(words),
        },
        None => generate(words),
    };
    let (text, status) = match result {
        Ok(()) => return 0,
        Err(Failure::Status(status)) => return status,
        Err(Failure::Usage(text)) => (text, EXIT_CODE_USAGE),
        Err(Failure::Failed(text)) => (text, 1),
    };
    complain(&format!("warren perf: {text}"));
    status
}

/// What a command that generates load asks for.
pub(crate) enum RunRequest {
    /// A text.
    Print(String),
    /// Load.
    Run(Box<Session>),
}

/// Reads a command that generates load.
pub(crate) fn read(words: &[String], surroundings: Surroundings) -> Result<RunRequest, Failure> {
    match words.split_first() {
        Some((command, rest)) if command == "run" => workload::read(rest, surroundings),
        _ => perftest::read(words, surroundings),
    }
}

fn generate(words: &[String]) -> Result<(), Failure> {
    let session = match read(words, Surroundings::here())? {
        RunRequest::Print(text) => return print(&text),
        RunRequest::Run(session) => session,
    };
    for warning in &session.warnings {
        complain(&format!("warning: {warning}"));
    }
    execute(*session)
}

/// A command that has options of its own, and not PerfTest's.
pub(crate) struct OwnWords<M: 'static> {
    pub(crate) introduction: &'static str,
    pub(crate) options: &'static [Opt<M>],
}

impl<M> OwnWords<M> {
    /// Its options that were said, and its other words. Where help is asked for, it is printed, and that is all.
    pub(crate) fn read<'w>(&self, words: &'w [String]) -> Result<(Vec<Said<'static, 'w, M>>, Vec<&'w str>), Failure> {
        if wants_help(words) {
            print(&self.usage())?;
            return Err(Failure::Status(0));
        }
        command_line::read(self.options, Style::Gnu, words).map_err(|mistake| match mistake {
            Mistake::Unknown { .. } => self.misused(&mistake.to_string()),
            _ => Failure::usage(mistake),
        })
    }

    fn usage(&self) -> String {
        format!("{}{}", self.introduction, command_line::list(self.options, USAGE_COLUMNS))
    }

    pub(crate) fn misused(&self, problem: &str) -> Failure {
        Failure::Usage(format!("{problem}\n\n{}", self.usage()))
    }
}

pub(crate) fn wants_help(words: &[String]) -> bool {
    words.iter().any(|word| word == "--help" || word == "-?")
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    put(text).map_err(|error| Failure::failed(format!("cannot write: {error}")))
}

/// Writes to standard output, if it is read.
pub(crate) fn put(text: &str) -> io::Result<()> {
    ignoring_closed(put_to(io::stdout().lock(), text))
}

/// What is written may be a broker's words, or another machine's: a terminal is to show them, not to obey.
fn put_to(mut out: impl io::Write, text: &str) -> io::Result<()> {
    out.write_all(human::printable(text).as_bytes())
}

/// A reader that has stopped, as `head` does, has read enough.
fn ignoring_closed(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

/// Writes a line to standard error, without passwords: it may be about a URL that the user has mistyped. When standard error
/// is no longer read, the line is dropped.
pub(crate) fn complain(line: &str) {
    let _ = put_to(io::stderr().lock(), &format!("{}\n", without_passwords(line)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_shows_no_password() {
        let words = |command: &str| command.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let url = "http://me:hush/x@here";
        for command in [
            format!("--uir={url}"),
            format!("--uir {url}"),
            format!("--time {url}"),
            format!("-z{url}"),
            format!("--influx ftp{url}"),
            format!("run {url}"),
            format!("run low-latency --set {url}"),
            format!("run low-latency --set name.{url}=x"),
            format!("run low-latency --scale {url}"),
            format!("run low-latency {url}"),
        ] {
            let failure = read(&words(&command), Surroundings::here()).err().unwrap_or_else(|| panic!("{command}"));
            let (Failure::Usage(text) | Failure::Failed(text)) = failure else { panic!("{command}") };
            let shown = without_passwords(&text);
            assert!(!shown.contains("hush"), "{command}: {shown}");
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let mut out = Vec::new();
        put_to(&mut out, "summary\n\tthe broker closed the connection: \u{1b}]0;owned\u{7}\u{202e}\n").unwrap();
        let expected = "summary\n\tthe broker closed the connection: \\u001b]0;owned\\u0007\\u202e\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn who_reads_no_further_is_no_error() {
        assert!(ignoring_closed(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(ignoring_closed(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
