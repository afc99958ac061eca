//! The words after `warren proxy`: our options and AMQProxy's, in any order, and URLs of upstreams.
//!
//! A short option's value may be the rest of its word (`-p5673`) or the next one, a long one's may follow an equals sign or be the next
//! word. After `--` there are only URLs.

use std::fmt::Write as _;

use amqp_client::Uri;
use model::config::table::Origin;

use super::amqproxy::{Assembly, Setting};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// The proxy is to run.
    Run(CommandLine),
    /// [`usage`] is to be printed.
    Help,
    /// The version is to be printed.
    Version,
}

/// What was said about how to run.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The files that are to be read, in the order in which they count.
    pub config_files: Vec<String>,
    urls: Vec<String>,
    given: Vec<OptionValue>,
}

/// An option and its value.
#[derive(Clone, PartialEq, Eq)]
struct OptionValue {
    meaning: Meaning,
    name: &'static str,
    value: String,
}

/// Why the words cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; 'warren proxy --help' lists all options")]
pub struct UsageError(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Config,
    Set,
    Amqproxy(Setting),
    Debug,
    Help,
    Version,
}

struct CommandOption {
    short: Option<char>,
    long: &'static str,
    /// What its value is called, if it has one.
    value: Option<&'static str>,
    meaning: Meaning,
    text: &'static str,
}

const fn option(
    short: Option<char>,
    long: &'static str,
    value: Option<&'static str>,
    meaning: Meaning,
    text: &'static str,
) -> CommandOption {
    CommandOption { short, long, value, meaning, text }
}

const OPTIONS: &[CommandOption] = &[
    option(
        Some('c'),
        "--config",
        Some("FILE"),
        Meaning::Config,
        "Read a configuration file in Warren's or AMQProxy's format. May be repeated.",
    ),
    option(None, "--set", Some("KEY=VALUE"), Meaning::Set, "Set a key; takes precedence over files. May be repeated."),
    option(
        Some('l'),
        "--listen",
        Some("ADDRESS"),
        Meaning::Amqproxy(Setting::ListenAddress),
        "Address to listen on [localhost].",
    ),
    option(Some('p'), "--port", Some("PORT"), Meaning::Amqproxy(Setting::ListenPort), "Port to listen on [5673]."),
    option(
        Some('b'),
        "--http-port",
        Some("PORT"),
        Meaning::Amqproxy(Setting::HttpPort),
        "Port of health checks and metrics [15673].",
    ),
    option(
        Some('t'),
        "--idle-connection-timeout",
        Some("SECONDS"),
        Meaning::Amqproxy(Setting::IdleConnectionTimeout),
        "How long an unused upstream connection stays open [5].",
    ),
    option(
        None,
        "--max-upstream-channels",
        Some("COUNT"),
        Meaning::Amqproxy(Setting::MaxUpstreamChannels),
        "The maximum number of channels per upstream connection [1024].",
    ),
    option(
        None,
        "--term-timeout",
        Some("SECONDS"),
        Meaning::Amqproxy(Setting::TermTimeout),
        "How long clients may take after SIGTERM to confirm the close; -1: no limit [-1].",
    ),
    option(
        None,
        "--term-client-close-timeout",
        Some("SECONDS"),
        Meaning::Amqproxy(Setting::TermClientCloseTimeout),
        "How long clients may take after SIGTERM to disconnect, before their connections are closed [0].",
    ),
    option(
        None,
        "--log-level",
        Some("LEVEL"),
        Meaning::Amqproxy(Setting::LogLevel),
        "The lowest level that is logged [info].",
    ),
    option(Some('d'), "--debug", None, Meaning::Debug, "Log everything."),
    option(Some('h'), "--help", None, Meaning::Help, "Print this."),
    option(Some('v'), "--version", None, Meaning::Version, "Print the version."),
];

const USAGE: &str = "\
Usage: warren proxy [--config FILE] [--set KEY=VALUE]... amqp[s]://HOST[:PORT]...

Pools connections of clients to the brokers at these URLs.

Options:
";

/// What `--help` prints.
#[must_use]
pub fn usage() -> String {
    let mut out = USAGE.to_owned();
    for CommandOption { short, long, value, text, .. } in OPTIONS {
        let short = short.map_or("    ".to_owned(), |short| format!("-{short}, "));
        let value = value.map_or(String::new(), |value| format!(" {value}"));
        writeln!(out, "  {short}{:<38} {text}", format!("{long}{value}")).expect("writing to a String cannot fail");
    }
    out
}

impl CommandLine {
    /// Understands the words after `warren proxy`. Their values are looked at later, with all others.
    pub fn parse(words: &[String]) -> Result<Invocation, UsageError> {
        let mut line = CommandLine::default();
        let mut rest = words.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if word == "--" {
                rest.by_ref().try_for_each(|url| line.add_url(url))?;
            } else if word.len() > 1 && word.starts_with('-') {
                let (option, attached) = find(word)?;
                let value = match (option.value, attached) {
                    (Some(_), Some(attached)) => attached,
                    (Some(_), None) => rest.next().ok_or_else(|| missing_value(option))?,
                    (None, None) => "",
                    (None, Some(_)) => return Err(UsageError(format!("option '{}' takes no value", option.long))),
                };
                match option.meaning {
                    Meaning::Help => return Ok(Invocation::Help),
                    Meaning::Version => return Ok(Invocation::Version),
                    Meaning::Config => line.config_files.push(value.to_owned()),
                    meaning => line.given.push(OptionValue { meaning, name: option.long, value: value.to_owned() }),
                }
            } else {
                line.add_url(word)?;
            }
        }
        Ok(Invocation::Run(line))
    }

    /// Takes what was said, into what is known so far.
    pub(super) fn apply(&self, assembly: &mut Assembly<'_>) {
        if !self.urls.is_empty() {
            assembly.set_upstreams(&self.urls, &Origin::Option("the command line"));
        }
        for OptionValue { meaning, name, value } in &self.given {
            match meaning {
                Meaning::Set => assembly.values.add_set(value),
                Meaning::Amqproxy(setting) => assembly.set(*setting, value, &Origin::Option(name)),
                Meaning::Debug => assembly.set(Setting::LogLevel, "debug", &Origin::Option(name)),
                Meaning::Config | Meaning::Help | Meaning::Version => {}
            }
        }
    }

    /// A word that is no option has to be a URL: a mistake in one is found here, where the word can be called by what it is.
    fn add_url(&mut self, word: &str) -> Result<(), UsageError> {
        match Uri::parse(word) {
            Ok(_) => self.urls.push(word.to_owned()),
            Err(error) => return Err(UsageError(error.to_string())),
        }
        Ok(())
    }
}

/// Which option a word is, and the value that is in it.
fn find(word: &str) -> Result<(&'static CommandOption, Option<&str>), UsageError> {
    if word.starts_with("--") {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let found = OPTIONS.iter().find(|option| option.long == name);
        return found.map(|option| (option, value)).ok_or_else(|| {
            let hint = human::closest(name, OPTIONS.iter().map(|option| option.long));
            let hint = hint.map(|closest| format!("; the closest known one is '{closest}'")).unwrap_or_default();
            UsageError(format!("unknown option '{name}'{hint}"))
        });
    }
    let mut letters = word.chars();
    letters.next(); // the hyphen
    let letter = letters.next().unwrap_or_default();
    let attached = Some(letters.as_str()).filter(|rest| !rest.is_empty());
    let found = OPTIONS.iter().find(|option| option.short == Some(letter));
    // What follows an unknown letter may be anything.
    found.map(|option| (option, attached)).ok_or_else(|| UsageError(format!("unknown option '-{letter}'")))
}

fn missing_value(option: &CommandOption) -> UsageError {
    UsageError(format!("option '{}' needs a value: {}", option.long, option.value.unwrap_or_default()))
}

/// Values may be passwords.
impl std::fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let options: Vec<_> = self.given.iter().map(|given| given.name).collect();
        f.debug_struct("CommandLine")
            .field("config_files", &self.config_files)
            .field("options", &options)
            .finish_non_exhaustive()
    }
}
