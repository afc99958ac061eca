//! The words after `warren proxy`: our options and AMQProxy's, in any order, and URLs of upstreams.

use amqp_client::Uri;
use command_line::{Mistake, Opt, Reader, Style, Word, list};
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

const OPTIONS: &[Opt<Meaning>] = &[
    Opt::valued(
        "config",
        "FILE",
        Meaning::Config,
        "Read a configuration file in Warren's or AMQProxy's format. May be repeated.",
    )
    .short("c"),
    Opt::valued("set", "KEY=VALUE", Meaning::Set, "Set a key; takes precedence over files. May be repeated."),
    Opt::valued("listen", "ADDRESS", Meaning::Amqproxy(Setting::ListenAddress), "Address to listen on [localhost].")
        .short("l"),
    Opt::valued("port", "PORT", Meaning::Amqproxy(Setting::ListenPort), "Port to listen on [5673].").short("p"),
    Opt::valued(
        "http-port",
        "PORT",
        Meaning::Amqproxy(Setting::HttpPort),
        "Port of health checks and metrics [15673].",
    )
    .short("b"),
    Opt::valued(
        "idle-connection-timeout",
        "SECONDS",
        Meaning::Amqproxy(Setting::IdleConnectionTimeout),
        "How long an unused upstream connection stays open [5].",
    )
    .short("t"),
    Opt::valued(
        "max-upstream-channels",
        "COUNT",
        Meaning::Amqproxy(Setting::MaxUpstreamChannels),
        "The maximum number of channels per upstream connection [1024].",
    ),
    Opt::valued(
        "term-timeout",
        "SECONDS",
        Meaning::Amqproxy(Setting::TermTimeout),
        "How long clients may take after SIGTERM to confirm the close; -1: no limit [-1].",
    ),
    Opt::valued(
        "term-client-close-timeout",
        "SECONDS",
        Meaning::Amqproxy(Setting::TermClientCloseTimeout),
        "How long clients may take after SIGTERM to disconnect, before their connections are closed [0].",
    ),
    Opt::valued("log-level", "LEVEL", Meaning::Amqproxy(Setting::LogLevel), "The lowest level that is logged [info]."),
    Opt::flag("debug", Meaning::Debug, "Log everything.").short("d"),
    Opt::flag("help", Meaning::Help, "Print this.").short("h"),
    Opt::flag("version", Meaning::Version, "Print the version.").short("v"),
];

const USAGE: &str = "\
Usage: warren proxy [--config FILE] [--set KEY=VALUE]... amqp[s]://HOST[:PORT]...

Pools connections of clients to the brokers at these URLs.

Options:
";

/// What `--help` prints.
#[must_use]
pub fn usage() -> String {
    format!("{USAGE}{}", list(OPTIONS, usize::MAX))
}

impl CommandLine {
    /// Understands the words after `warren proxy`. Their values are looked at later, with all others.
    pub fn parse(words: &[String]) -> Result<Invocation, UsageError> {
        let mut line = CommandLine::default();
        for word in Reader::new(OPTIONS, Style::Gnu, words) {
            let said = match word? {
                Word::Bare(url, _) => {
                    line.add_url(url)?;
                    continue;
                }
                Word::Option(said) => said,
            };
            match said.option.means {
                Meaning::Help => return Ok(Invocation::Help),
                Meaning::Version => return Ok(Invocation::Version),
                Meaning::Config => line.config_files.push(said.value().to_owned()),
                meaning => {
                    line.given.push(OptionValue { meaning, name: said.option.long, value: said.value().to_owned() })
                }
            }
        }
        Ok(Invocation::Run(line))
    }

    /// Takes what was said, into what is known so far.
    pub(super) fn apply(&self, assembly: &mut Assembly<'_>) {
        if !self.urls.is_empty() {
            assembly.set_upstreams(&self.urls, &Origin::Arguments);
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

impl From<Mistake> for UsageError {
    fn from(mistake: Mistake) -> Self {
        let ending = match &mistake {
            Mistake::Unknown { closest: Some(closest), .. } => format!("; the closest known one is '{closest}'"),
            Mistake::ValueMissing { value, .. } => format!(": {value}"),
            _ => String::new(),
        };
        UsageError(format!("{mistake}{ending}"))
    }
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
