//! The command line, and what it comes to.

use std::path::PathBuf;
use std::time::Duration;

use amqp_client::Uri;
use figures::quantity;
use net::{ClientTlsOptions, Identity, Trust};

use crate::queue::{QueueKind, QueuePlan};
use crate::schedule::Schedule;

/// Rounds where neither a count nor a duration is given.
const COUNT_DEFAULT: u64 = 10;
/// The longest body: no client takes a longer one.
const SIZE_MAX: u32 = 128 << 20;

/// Options of `warren ping`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// The broker: amqp://user:password@host:port/vhost, amqps:// for TLS, or only a host.
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// The number of rounds; 10, unless --duration or --forever is given.
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// The time between two rounds: 1s, 200ms, or a number of seconds.
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = time)]
    interval: Duration,
    /// No round starts after this time.
    #[arg(long, value_name = "TIME", value_parser = time_above_zero)]
    duration: Option<Duration>,
    /// Continue until Ctrl-C.
    #[arg(short, long, conflicts_with_all = ["count", "duration"])]
    forever: bool,
    /// The size of a message body: 1000, 10kB, 1MiB.
    #[arg(long, value_name = "BYTES", default_value = "12", value_parser = size)]
    size: u32,
    /// The type of the queue that is used. A quorum queue is durable.
    #[arg(long, value_name = "TYPE", value_enum)]
    queue_type: Option<QueueKind>,
    /// Persistent messages through a durable queue, which is deleted at the end.
    #[arg(long)]
    persistent: bool,
    /// The maximum time from publish to confirm: the exit status is 1 if p99 is longer, or a round is lost.
    #[arg(long, value_name = "TIME", value_parser = time_above_zero)]
    budget: Option<Duration>,
    /// How long to wait for a connection, an answer, a confirm or a delivery.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time_above_zero)]
    timeout: Duration,
    /// Print one JSON object per line, for programs.
    #[arg(long)]
    json: bool,
    /// Trusted certificates, in a PEM file, instead of the system's.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The client certificate, in a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The client certificate's key, in a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Trust any certificate.
    #[arg(long)]
    tls_insecure: bool,
    /// The name that the broker's certificate must contain, if it is not the host's.
    #[arg(long, value_name = "NAME")]
    server_name_indication: Option<String>,
    /// Log in with the client certificate.
    #[arg(long)]
    sasl_external: bool,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) uri: Uri,
    /// `None` without TLS.
    pub(crate) tls: Option<ClientTlsOptions>,
    pub(crate) is_sasl_external: bool,
    pub(crate) schedule: Schedule,
    pub(crate) timeout: Duration,
    pub(crate) size: usize,
    pub(crate) queue: QueuePlan,
    pub(crate) budget: Option<Duration>,
    pub(crate) is_json: bool,
}

impl Arguments {
    /// What they ask for, or what is wrong with them.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let uri = address(&self.address)?;
        let tls = uri.is_tls.then(|| self.tls());
        if tls.is_none() && self.has_tls_option() {
            return Err(format!("TLS options need an address that starts with amqps://, not {uri}"));
        }
        let count = match (self.count, self.duration) {
            (None, None) if !self.forever => Some(COUNT_DEFAULT),
            (count, _) => count,
        };
        Ok(Settings {
            tls,
            is_sasl_external: self.sasl_external,
            schedule: Schedule { count, interval: self.interval, duration: self.duration },
            timeout: self.timeout,
            size: usize::try_from(self.size).map_err(|error| error.to_string())?,
            queue: QueuePlan { kind: self.queue_type, is_persistent: self.persistent },
            budget: self.budget,
            is_json: self.json,
            uri,
        })
    }

    fn tls(&self) -> ClientTlsOptions {
        let trust = match &self.tls_ca {
            _ if self.tls_insecure => Trust::AnyServer,
            Some(file) => Trust::File(file.clone()),
            None => Trust::System,
        };
        let identity = self.tls_cert.clone().zip(self.tls_key.clone());
        ClientTlsOptions {
            identity: identity.map(|(chain, key)| Identity { chain, key, password: None }),
            server_name: self.server_name_indication.clone(),
            ..ClientTlsOptions::trusting(trust)
        }
    }

    fn has_tls_option(&self) -> bool {
        self.tls_ca.is_some()
            || self.tls_cert.is_some()
            || self.tls_insecure
            || self.server_name_indication.is_some()
            || self.sasl_external
    }
}

/// An address may lack all but the host.
fn address(text: &str) -> Result<Uri, String> {
    if text.is_empty() {
        return Err("the address is empty".to_owned());
    }
    let uri = if text.contains("://") { Uri::parse(text) } else { Uri::parse(&format!("amqp://{text}")) };
    uri.map_err(|error| error.to_string())
}

fn time(text: &str) -> Result<Duration, String> {
    let seconds = || text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    quantity::duration(text)
        .or_else(seconds)
        .ok_or_else(|| "a time must be 1s, 200ms, or a number of seconds".to_owned())
}

fn time_above_zero(text: &str) -> Result<Duration, String> {
    match time(text)? {
        Duration::ZERO => Err("it must be longer than 0".to_owned()),
        time => Ok(time),
    }
}

fn size(text: &str) -> Result<u32, String> {
    match quantity::size(text) {
        Some(size) if size <= SIZE_MAX => Ok(size),
        Some(_) => Err("it must not be larger than 128MiB".to_owned()),
        None => Err("a size must be 1000, 10kB or 1MiB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn parse(line: &str) -> Result<Settings, String> {
        let command = Arguments::augment_args(clap::Command::new("ping").no_binary_name(true));
        let matches = command.try_get_matches_from(line.split_ascii_whitespace()).map_err(|error| error.to_string())?;
        Arguments::from_arg_matches(&matches).map_err(|error| error.to_string())?.settings()
    }

    #[track_caller]
    fn check_wrong(line: &str, says: &str) {
        let error = parse(line).unwrap_err();
        assert!(error.contains(says), "{line}: {error}");
    }

    #[test]
    fn host_alone_is_the_guest_on_it() {
        for (text, expected) in [
            ("b.example", "amqp://b.example:5672/%2f"),
            ("b.example:5673", "amqp://b.example:5673/%2f"),
            ("me:pw@b.example/v", "amqp://me:pw@b.example:5672/v"),
            ("[::1]", "amqp://[::1]:5672/%2f"),
            ("amqps://b.example", "amqps://b.example:5671/%2f"),
        ] {
            let (uri, expected) = (parse(text).unwrap().uri, Uri::parse(expected).unwrap());
            let parts = |uri: &Uri| (uri.to_string(), uri.password.clone(), uri.is_tls);
            assert_eq!(parts(&uri), parts(&expected), "{text}");
        }
    }

    #[test]
    fn ten_rounds_a_second_apart_unless_said_otherwise() {
        let schedule = |line: &str| parse(line).unwrap().schedule;
        let second = Duration::from_secs(1);
        assert_eq!(schedule("h"), Schedule { count: Some(10), interval: second, duration: None });
        assert_eq!(schedule("h --forever"), Schedule { count: None, interval: second, duration: None });
        let minute = Some(60 * second);
        assert_eq!(schedule("h --duration 1m"), Schedule { count: None, interval: second, duration: minute });
        let half = second / 2;
        assert_eq!(
            schedule("-c 3 -i 0.5 --duration 60 h"),
            Schedule { count: Some(3), interval: half, duration: minute }
        );
        assert_eq!(schedule("h -i 0").interval, Duration::ZERO);
    }

    #[test]
    fn tls_is_set_up_as_for_the_load_generator() {
        let settings =
            parse("amqps://h --tls-ca ca.pem --tls-cert c.pem --tls-key k.pem --server-name-indication x").unwrap();
        let tls = settings.tls.unwrap();
        assert_eq!(tls.trust, Trust::File("ca.pem".into()));
        assert_eq!(tls.identity.unwrap().key, PathBuf::from("k.pem"));
        assert_eq!(tls.server_name.as_deref(), Some("x"));
        assert_eq!(parse("amqps://h --tls-insecure").unwrap().tls.unwrap().trust, Trust::AnyServer);
        assert_eq!(parse("amqps://h").unwrap().tls.unwrap().trust, Trust::System);
        assert_eq!(parse("h").unwrap().tls, None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        check_wrong("", "<ADDRESS>");
        check_wrong(
            "http://h",
            "'http://h' is no AMQP URI: it has to begin with amqp:// or amqps://, not with http://",
        );
        check_wrong("u:secret@h:x", "'amqp://u:***@h:x' is no AMQP URI: the port is no number");
        check_wrong("h -c 0", "0 is not in 1..");
        check_wrong("h -c many", "invalid digit");
        check_wrong("h -i soon", "a time must be 1s, 200ms, or a number of seconds");
        check_wrong("h -i -1", "unexpected argument '-1'");
        check_wrong("h --timeout 0", "longer than 0");
        check_wrong("h --budget 0ms", "longer than 0");
        check_wrong("h --size big", "a size must be 1000, 10kB or 1MiB");
        check_wrong("h --size 1GiB", "larger than 128MiB");
        check_wrong("h --queue-type stream", "[possible values: classic, quorum]");
        check_wrong("h -f -c 3", "cannot be used with");
        check_wrong("h -f --duration 1s", "cannot be used with");
        check_wrong("amqps://h --tls-cert c.pem", "--tls-key");
        check_wrong(
            "h --tls-insecure",
            "TLS options need an address that starts with amqps://, not amqp://guest@h:5672",
        );
        check_wrong("h --sasl-external", "amqps://");
    }
}
