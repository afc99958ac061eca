//! The command line, and what it comes to.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use net::{ClientTls, ClientTlsOptions, Trust};

use crate::address::Address;
use crate::journal::Step;
use crate::link::Direction;
use crate::machine::CutOver;

/// Shovels at once, unless said otherwise.
const AT_ONCE_DEFAULT: u16 = 100;

/// Move everything from RabbitMQ to Warren while both serve clients: definitions, then messages, queue by queue.
///
/// Run the command and let clients connect to the new broker. The command ends when the old broker has no messages left. After an
/// interruption, run it again to continue. Exit status: 0 done; 1 it cannot continue; 2 bad usage; 3 interrupted, or out of time: run it
/// again to continue; 4 the counts are wrong.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// The old broker: amqp[s]://user:password@host:port, or @FILE with the URI in its first line. The user must be an administrator.
    #[arg(long, value_name = "URI", env = "WARREN_MIGRATE_FROM", hide_env_values = true)]
    from: String,
    /// The new broker, a Warren, in the same form.
    #[arg(long, value_name = "URI", env = "WARREN_MIGRATE_TO", hide_env_values = true)]
    to: String,
    /// The old broker's HTTP API, if it is not port 15672 (with amqps 15671) of the same host.
    #[arg(long, value_name = "URL", env = "WARREN_MIGRATE_FROM_API", hide_env_values = true)]
    from_api: Option<String>,
    /// The new broker's HTTP API: http[s]://…, or unix:/path of its control socket.
    #[arg(long, value_name = "URL", env = "WARREN_MIGRATE_TO_API", hide_env_values = true)]
    to_api: Option<String>,
    /// The old broker's URI for the new broker, if it differs from --from.
    #[arg(long, value_name = "URI", env = "WARREN_MIGRATE_SHOVEL_URI", hide_env_values = true)]
    shovel_uri: Option<String>,
    /// Move everything back: from the new broker to the old one.
    #[arg(long)]
    back: bool,
    /// Report step by step what would be moved and what would not, without any change.
    #[arg(long)]
    plan: bool,
    /// Report each action, without executing it.
    #[arg(long, conflicts_with = "plan")]
    dry_run: bool,
    /// Stop after this step. Run the command again without this option to continue.
    #[arg(long, value_name = "STEP", value_enum)]
    until: Option<Until>,
    /// Skip and list objects that the new broker does not support.
    #[arg(long)]
    skip_unsupported: bool,
    /// The clients of the old broker that the cut-over waits for.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "gone")]
    cut_over: CutOver,
    /// Continue even if messages are left that cannot be moved, or if there are fewer messages than before.
    #[arg(long)]
    accept: bool,
    /// The number of queues that are moved at a time.
    #[arg(long, value_name = "COUNT", default_value_t = AT_ONCE_DEFAULT, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
    /// The file that stores the progress.
    #[arg(long, value_name = "FILE", default_value = "warren-migrate.state")]
    state: PathBuf,
    /// Start again, and ignore the stored progress.
    #[arg(long)]
    again: bool,
    /// The maximum duration, such as 30s or 2h. After that, the command ends with status 3, and shovels continue.
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// The output format: lines for people, or one JSON object per line.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    format: Format,
    /// Trusted certificates, in a PEM file, instead of the system's.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Trust any certificate.
    #[arg(long)]
    tls_insecure: bool,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// The steps that it can be stopped after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Until {
    Check,
    Definitions,
    Feed,
    CutOver,
    Drain,
    Verify,
    Finish,
}

impl Until {
    fn step(self) -> Step {
        match self {
            Until::Check => Step::Check,
            Until::Definitions => Step::Definitions,
            Until::Feed => Step::Feed,
            Until::CutOver => Step::CutOver,
            Until::Drain => Step::Drain,
            Until::Verify => Step::Verify,
            Until::Finish => Step::Finish,
        }
    }
}

/// What is only reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rehearsal {
    /// The plan.
    Plan,
    /// Each thing that would be done.
    DryRun,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) old: Address,
    pub(crate) new: Address,
    /// The old broker as the new one reaches it.
    pub(crate) old_for_shovels: Address,
    pub(crate) direction: Direction,
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) until: Step,
    pub(crate) skips_unsupported: bool,
    pub(crate) cut_over: CutOver,
    pub(crate) accepts: bool,
    pub(crate) at_once: usize,
    pub(crate) state: PathBuf,
    pub(crate) is_again: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) format: Format,
    pub(crate) tls: ClientTls,
}

impl Arguments {
    /// What they ask for, or what is wrong with them.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let tls = match &self.tls_ca {
            _ if self.tls_insecure => Trust::AnyServer,
            Some(file) => Trust::File(file.clone()),
            None => Trust::System,
        };
        let tls = ClientTls::new(&ClientTlsOptions::trusting(tls)).map_err(|error| error.to_string())?;
        let address = |option: &str, text: &str, api: &Option<String>| {
            let text = said(option, text)?;
            let api = api.as_deref().map(|api| said(&format!("{option}-api"), api)).transpose()?;
            let mut address = Address::parse(option, &text, api.as_deref())?;
            if address.api.is_tls() {
                address.api = address.api.trusting(tls.clone());
            }
            Ok::<_, String>(address)
        };
        let old = address("--from", &self.from, &self.from_api)?;
        let new = address("--to", &self.to, &self.to_api)?;
        let old_for_shovels = match &self.shovel_uri {
            Some(uri) => address("--shovel-uri", uri, &None)?,
            None => old.clone(),
        };
        if old.uri.address() == new.uri.address() {
            return Err(format!("--from and --to are the same broker: {}", old.shown()));
        }
        if (old.api.to_string(), old.api.path()) == (new.api.to_string(), new.api.path()) {
            return Err(format!("both brokers would have the same HTTP API, {}: set --from-api and --to-api", old.api));
        }
        Ok(Settings {
            old,
            new,
            old_for_shovels,
            direction: if self.back { Direction::Back } else { Direction::Forward },
            rehearsal: match (self.plan, self.dry_run) {
                (true, _) => Some(Rehearsal::Plan),
                (_, true) => Some(Rehearsal::DryRun),
                _ => None,
            },
            until: self.until.map_or(Step::Finish, Until::step),
            skips_unsupported: self.skip_unsupported,
            cut_over: self.cut_over,
            accepts: self.accept,
            at_once: usize::from(self.at_once),
            state: self.state.clone(),
            is_again: self.again,
            timeout: self.timeout,
            format: self.format,
            tls,
        })
    }
}

/// A text, or the first line of a file: words of a command line can be read by all users of a machine.
fn said(option: &str, text: &str) -> Result<String, String> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let content = fs::read_to_string(file).map_err(|error| format!("{option}: cannot read {file}: {error}"))?;
    Ok(content.lines().next().unwrap_or_default().trim().to_owned())
}

fn time(text: &str) -> Result<Duration, String> {
    match human::parse_duration_ms(text, 1000) {
        Some(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        _ => Err("a time must be 30s, 10m, 2h, or a number of seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn parse(line: &str) -> Result<Settings, String> {
        let command = Arguments::augment_args(clap::Command::new("migrate").no_binary_name(true));
        let matches = command.try_get_matches_from(line.split_ascii_whitespace()).map_err(|error| error.to_string())?;
        Arguments::from_arg_matches(&matches).map_err(|error| error.to_string())?.settings()
    }

    #[track_caller]
    fn check_wrong(line: &str, says: &str) {
        let error = parse(line).unwrap_err();
        assert!(error.contains(says) && !error.contains("secret"), "{line}: {error}");
    }

    #[test]
    fn all_steps_are_gone_unless_said_otherwise() {
        let settings = parse("--from amqp://a --to amqp://b").unwrap();
        assert_eq!((settings.until, settings.direction, settings.at_once), (Step::Finish, Direction::Forward, 100));
        assert_eq!(settings.cut_over, CutOver::Gone);
        let settings =
            parse("--from amqp://a --to amqp://b --until cut-over --back --cut-over now --timeout 2m").unwrap();
        assert_eq!((settings.until, settings.direction), (Step::CutOver, Direction::Back));
        assert_eq!(settings.timeout, Some(Duration::from_secs(120)));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        check_wrong("--from amqp://a", "--to");
        check_wrong("--from amqp://u:secret@a --to amqp://x:secret@a", "are the same broker: a:5672");
        check_wrong(
            "--from amqp://u:secret@a --to amqp://a:5673",
            "both brokers would have the same HTTP API, a:15672",
        );
        check_wrong("--from http://u:secret@a --to amqp://b", "it has to begin with amqp://");
        check_wrong("--from @/does/not/exist --to amqp://b", "cannot read /does/not/exist");
        check_wrong("--from amqp://a --to amqp://b --until done", "possible values");
        check_wrong("--from amqp://a --to amqp://b --at-once 0", "0 is not in 1..");
        check_wrong("--from amqp://a --to amqp://b --timeout 0", "a time must be");
        check_wrong("--from amqp://a --to amqp://b --plan --dry-run", "cannot be used with");
    }
}
