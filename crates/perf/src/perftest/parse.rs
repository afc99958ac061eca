//! Words and environment to [`Options`].

use std::path::PathBuf;
use std::time::Duration;

use amqp_client::without_passwords;
use command_line::{Mistake, Said, Style, Takes, read};

use super::limits;
use super::options::{
    Allocation, BodySource, ConnectionSettings, Consumers, Format, MetricsSettings, Oauth2Settings, Options,
    OutputSettings, Producers, QueueNames, TlsSettings, Topology,
};
use super::pattern;
use super::table::{Details, OPTIONS, OptionEntry, Treatment, variable};
use super::value;
use crate::plan::{Arguments, ExitWhen};

/// What a command is.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A run. The warnings are to be shown once, one a line.
    Run {
        /// What to do.
        options: Box<Options>,
        /// Options that change nothing here, and words that belong to none.
        warnings: Vec<String>,
    },
    /// Something to print on the standard output; then it is done.
    Print(String),
}

/// Why a command cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The words make no sense.
    #[error("{mistake}{ending}", mistake = .0, ending = closest(.0))]
    Word(#[from] Mistake),
    /// A value makes no sense.
    #[error("{option}: '{value}' {problem}")]
    Value {
        /// The option, or its environment variable.
        option: String,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Options do not go together.
    #[error("{0}")]
    Conflict(String),
}

fn closest(mistake: &Mistake) -> String {
    match mistake {
        Mistake::Unknown { closest: Some(closest), .. } => format!("; the closest known option is '{closest}'"),
        _ => String::new(),
    }
}

/// Reads a command: the words without the program's name, and the environment.
///
/// What is on the command line counts; the environment has what is not. (In PerfTest it is the other way round.)
pub fn parse(words: &[String], variable: &dyn Fn(&str) -> Option<String>) -> Result<Command, ParseError> {
    let (said, stray) = read(OPTIONS, Style::CommonsCli, words)?;
    let given = GivenOptions { said, stray, variable, prefix: prefix(variable) };
    if let Some(text) = super::usage::requested(&|long| given.is_set(long)) {
        return Ok(Command::Print(text));
    }
    let warnings = given.warnings();
    let options = Box::new(given.options()?);
    Ok(Command::Run { options, warnings })
}

/// Before the names of all variables, with an underscore between.
fn prefix(variable: &dyn Fn(&str) -> Option<String>) -> String {
    match variable("RABBITMQ_PERF_TEST_ENV_PREFIX") {
        Some(prefix) if !prefix.is_empty() && !prefix.ends_with('_') => format!("{prefix}_"),
        prefix => prefix.unwrap_or_default(),
    }
}

/// What is known about options: those on the command line, then those in the environment.
struct GivenOptions<'a> {
    said: Vec<Said<'static, 'a, Details>>,
    stray: Vec<&'a str>,
    variable: &'a dyn Fn(&str) -> Option<String>,
    prefix: String,
}

/// Values of an option, and what to call it in an error.
struct OptionValues {
    name: String,
    values: Vec<String>,
}

fn entry_of(long: &str) -> &'static OptionEntry {
    OPTIONS.iter().find(|entry| entry.long == long).expect("only names from the table are asked for")
}

impl GivenOptions<'_> {
    fn find(&self, long: &str) -> Option<OptionValues> {
        let entry = entry_of(long);
        let mut said = self.said.iter().filter(|said| said.option.long == long).peekable();
        if said.peek().is_some() {
            let values = said.flat_map(|said| &said.values).map(|value| (*value).to_owned()).collect();
            return Some(OptionValues { name: entry.name(), values });
        }
        let name = format!("{}{}", self.prefix, variable(entry));
        let value = (self.variable)(&name)?;
        let values = match entry.takes {
            Takes::Many => value.split(',').map(str::to_owned).collect(),
            _ => vec![value],
        };
        Some(OptionValues { name, values })
    }

    /// Whether a flag is given. In the environment it has to be `true`.
    fn is_set(&self, long: &str) -> bool {
        self.find(long).is_some_and(|found| found.values.first().is_none_or(|value| value::boolean(value)))
    }

    fn text(&self, long: &str) -> Option<String> {
        self.find(long).and_then(|found| found.values.into_iter().next())
    }

    fn path(&self, long: &str) -> Option<PathBuf> {
        self.text(long).map(PathBuf::from)
    }

    fn one<T>(&self, long: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, ParseError> {
        let Some(found) = self.find(long) else { return Ok(None) };
        let Some(value) = found.values.first() else { return Ok(None) };
        parse(value).map(Some).map_err(|problem| ParseError::Value {
            option: found.name,
            value: value.clone(),
            problem,
        })
    }

    fn many<T>(&self, long: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, ParseError> {
        let Some(found) = self.find(long) else { return Ok(Vec::new()) };
        let parsed = found.values.iter().map(|value| {
            parse(value).map_err(|problem| ParseError::Value {
                option: found.name.clone(),
                value: value.clone(),
                problem,
            })
        });
        parsed.collect()
    }

    fn count(&self, long: &str, default: u32, max: u32) -> Result<u32, ParseError> {
        Ok(self.one(long, |text| value::count(text, max))?.unwrap_or(default))
    }

    /// Connections, and channels of each.
    fn counts(&self, connections: &str, channels: &str) -> Result<(u32, u32), ParseError> {
        let count = self.count(connections, 1, limits::MEMBER_COUNT_MAX)?;
        let each = self.count(channels, 1, limits::CHANNEL_COUNT_MAX)?;
        if u64::from(count) * u64::from(each) > limits::MEMBER_COUNT_MAX.into() {
            let max = limits::MEMBER_COUNT_MAX;
            return Err(ParseError::Conflict(format!("--{connections} times --{channels} is more than {max}")));
        }
        Ok((count, each))
    }

    /// A number for which 0, or less, means that there is none.
    fn limit(&self, long: &str) -> Result<Option<u64>, ParseError> {
        let limit: Option<i64> = self.one(long, |text| value::number(text, "a number"))?;
        Ok(limit.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0))
    }

    fn seconds(&self, long: &str, default: u64) -> Result<Duration, ParseError> {
        Ok(self.one(long, value::seconds)?.unwrap_or(Duration::from_secs(default)))
    }

    /// Whole seconds; 0 or less means that there is no limit.
    fn seconds_limit(&self, long: &str) -> Result<Option<Duration>, ParseError> {
        Ok(self.one(long, value::seconds_limit)?.flatten())
    }

    /// Whole seconds; nothing, or less, means 0.
    fn delay(&self, long: &str) -> Result<Duration, ParseError> {
        Ok(self.seconds_limit(long)?.unwrap_or(Duration::ZERO))
    }

    fn prefetch(&self, long: &str, default: u16) -> Result<u16, ParseError> {
        Ok(self.one(long, |text| value::number(text, "a number from 0 to 65535"))?.unwrap_or(default))
    }

    fn rate(&self, long: &str) -> Result<Option<f64>, ParseError> {
        self.one(long, value::rate)
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = OPTIONS
            .iter()
            .filter_map(|entry| {
                let Treatment::NoEffect(reason) = entry.means.treatment else { return None };
                let found = self.find(entry.long)?;
                Some(format!("{} has no effect: {reason}", found.name))
            })
            .collect();
        warnings.extend(self.stray.iter().map(|word| stray_warning(word)));
        warnings
    }

    fn options(&self) -> Result<Options, ParseError> {
        let topology = self.topology()?;
        let consumers = self.consumers()?;
        Ok(Options {
            id: self.text("id"),
            time: self.seconds_limit("time")?,
            producer_messages: self.limit("pmessages")?,
            consumer_messages: self.limit("cmessages")?,
            exit_when: self.one("exit-when", |text| match text {
                "empty" => Ok(ExitWhen::Empty),
                "idle" => Ok(ExitWhen::Idle),
                _ => Err("is neither 'empty' nor 'idle'".to_owned()),
            })?,
            shutdown_timeout: self.seconds("shutdown-timeout", 5)?,
            interval: self
                .one("interval", |text| {
                    value::seconds(text).and_then(|interval| match interval.as_millis() {
                        0..100 => Err("is less than 0.1 seconds".to_owned()),
                        _ => Ok(interval),
                    })
                })?
                .unwrap_or(Duration::from_secs(1)),
            warm_up: self.seconds("warm-up", 0)?,
            seed: self.one("seed", |text| value::number(text, "a number, 0 or more"))?,
            threads: self.one("threads", |text| match text.parse() {
                Ok(threads @ 1..=1024) => Ok(threads),
                _ => Err("is not a number from 1 to 1024".to_owned()),
            })?,
            nice: self.one("nice", |text| match text.parse() {
                Ok(nice @ 0..=19) => Ok(nice),
                _ => Err("is not a number from 0 to 19".to_owned()),
            })?,
            agents: self.text("agents").map(|text| list(&text)).unwrap_or_default(),
            agent_token: self.text("agent-token"),
            connection: self.connection()?,
            topology,
            producers: self.producers()?,
            consumers,
            output: self.output()?,
        })
    }

    fn connection(&self) -> Result<ConnectionSettings, ParseError> {
        let uris = match self.text("uris") {
            Some(uris) => list(&uris),
            None => vec![self.text("uri").unwrap_or_else(|| "amqp://localhost".to_owned())],
        };
        if uris.is_empty() {
            return Err(ParseError::Conflict("--uris is empty".to_owned()));
        }
        let interval = self.one("connection-recovery-interval", value::interval_range)?;
        let interval = interval.unwrap_or((Duration::from_secs(5), Duration::from_secs(5)));
        let buffer = |long| -> Result<Option<u32>, ParseError> {
            Ok(Some(self.count(long, 65_536, u32::MAX)?).filter(|len| *len > 0))
        };
        let heartbeat = self.count("heartbeat", 0, u16::MAX.into())?;
        let startup_count = self.limit("servers-up-limit")?.and_then(|count| usize::try_from(count).ok());
        Ok(ConnectionSettings {
            allocation: self
                .one("connection-allocation", |text| match text {
                    "random" => Ok(Allocation::Random),
                    "round-robin" => Ok(Allocation::RoundRobin),
                    _ => Err("is neither 'random' nor 'round-robin'".to_owned()),
                })?
                .unwrap_or_default(),
            tls: self.tls()?,
            is_sasl_external: self.is_set("sasl-external"),
            heartbeat: (heartbeat > 0).then(|| Duration::from_secs(heartbeat.into())),
            frame_len_max: Some(self.count("framemax", 0, u32::MAX)?).filter(|len| *len > 0),
            recovery_interval: (!self.is_set("disable-connection-recovery")).then_some(interval),
            send_buffer_len: buffer("tcp-send-buffer-size")?,
            receive_buffer_len: buffer("tcp-receive-buffer-size")?,
            has_no_delay: self.text("tcp-no-delay").is_none_or(|text| value::boolean(&text)),
            startup_timeout: self.seconds_limit("servers-startup-timeout")?,
            startup_count: startup_count.unwrap_or(uris.len()).min(uris.len()),
            oauth2: self.oauth2()?,
            uris,
        })
    }

    fn tls(&self) -> Result<TlsSettings, ParseError> {
        let identity = match (self.path("tls-cert"), self.path("tls-key")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err(ParseError::Conflict("--tls-cert and --tls-key must be used together".to_owned())),
        };
        Ok(TlsSettings {
            ca: self.path("tls-ca"),
            identity,
            is_insecure: self.is_set("tls-insecure"),
            server_name: self.text("server-name-indication").and_then(|names| list(&names).into_iter().next()),
        })
    }

    fn oauth2(&self) -> Result<Option<Oauth2Settings>, ParseError> {
        let Some(token_endpoint) = self.text("oauth2-token-endpoint") else { return Ok(None) };
        let needed = |long: &str| {
            self.text(long).ok_or_else(|| ParseError::Conflict(format!("--oauth2-token-endpoint needs --{long}")))
        };
        let parameters = self.many("oauth2-parameters", |text| match text.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err("is not key=value".to_owned()),
        })?;
        Ok(Some(Oauth2Settings {
            token_endpoint,
            client_id: needed("oauth2-client-id")?,
            client_secret: needed("oauth2-client-secret")?,
            grant_type: self.text("oauth2-grant-type").unwrap_or_else(|| "client_credentials".to_owned()),
            parameters,
        }))
    }

    fn topology(&self) -> Result<Topology, ParseError> {
        let exchange_kind = self.text("type").unwrap_or_else(|| "direct".to_owned());
        let exchange = match self.find("exchange") {
            None => exchange_kind.clone(),
            Some(found) => found.values.into_iter().next().filter(|name| name != "amq.default").unwrap_or_default(),
        };
        let (is_quorum, is_stream) = (self.is_set("quorum-queue"), self.is_set("stream-queue"));
        if is_quorum && is_stream {
            return Err(ParseError::Conflict("--quorum-queue and --stream-queue exclude each other".to_owned()));
        }
        Ok(Topology {
            exchange,
            exchange_kind,
            queues: self.queue_names()?,
            routing_key: self.text("routing-key"),
            skips_bindings: self.is_set("skip-binding-queues"),
            is_predeclared: self.is_set("predeclared"),
            is_auto_delete: !is_quorum
                && !is_stream
                && self.text("auto-delete").is_none_or(|text| value::boolean(&text)),
            is_exclusive: self.is_set("exclusive"),
            arguments: self.queue_arguments(is_quorum, is_stream)?,
        })
    }

    fn queue_names(&self) -> Result<QueueNames, ParseError> {
        let number = |text: &str| value::number::<u32>(text, "a number, 0 or more");
        let pattern = self.text("queue-pattern");
        let (from, to) = (self.one("queue-pattern-from", number)?, self.one("queue-pattern-to", number)?);
        let queues = self.text("queue");
        let file = self.path("queue-file");
        if file.is_some() && (pattern.is_some() || queues.is_some()) {
            return Err(ParseError::Conflict(
                "--queue-file, --queue and --queue-pattern exclude each other".to_owned(),
            ));
        }
        let in_turn = match (pattern, from, to) {
            (None, None, None) => None,
            (Some(_), Some(from), Some(to)) if from <= to && to - from >= limits::QUEUE_COUNT_MAX => {
                let text = format!("--queue-pattern names more than {} queues", limits::QUEUE_COUNT_MAX);
                return Err(ParseError::Conflict(text));
            }
            (Some(pattern), Some(from), Some(to)) if from <= to => Some(numbered(&pattern, from, to)?),
            (Some(_), Some(from), Some(to)) => {
                return Err(ParseError::Conflict(format!(
                    "--queue-pattern-from {from} is more than --queue-pattern-to {to}"
                )));
            }
            _ => {
                let text =
                    "--queue-pattern, --queue-pattern-from and --queue-pattern-to must be used together".to_owned();
                return Err(ParseError::Conflict(text));
            }
        };
        Ok(match (in_turn, file, queues) {
            (Some(names), _, _) => QueueNames::InTurn(names),
            (None, Some(file), _) => QueueNames::File(file),
            (None, None, Some(queues)) => QueueNames::Fixed(queues.split(',').map(str::to_owned).collect()),
            (None, None, None) => QueueNames::ServerNamed,
        })
    }

    fn queue_arguments(&self, is_quorum: bool, is_stream: bool) -> Result<Arguments, ParseError> {
        use crate::plan::Value::{Bool, Int, Text};

        let size = |long| self.one(long, |text| value::byte_len(text).map(u64::cast_signed));
        let mut arguments = Arguments::new();
        for pairs in self.many("queue-args", value::pairs)? {
            for (key, value) in pairs {
                // Brokers refuse a text where an argument is a boolean.
                let value = match &value {
                    Text(text) if text == "true" || text == "false" => Bool(text == "true"),
                    _ => value,
                };
                value::put(&mut arguments, &key, value);
            }
        }
        if is_quorum || is_stream {
            let kind = if is_quorum { "quorum" } else { "stream" };
            value::put(&mut arguments, "x-queue-type", Text(kind.to_owned()));
        }
        let (mut length, mut segment) = (size("max-length-bytes")?, size("stream-max-segment-size-bytes")?);
        if segment.is_some_and(|len| len > 3_000_000_000) {
            return Err(ParseError::Conflict("--stream-max-segment-size-bytes is more than 3 GB".to_owned()));
        }
        if let (Some(length), Some(segment)) = (length, segment)
            && length > 0
            && length <= segment
        {
            let text = "--max-length-bytes must be more than --stream-max-segment-size-bytes";
            return Err(ParseError::Conflict(text.to_owned()));
        }
        if is_stream {
            length = length.or(Some(20_000_000_000));
            segment = segment.or(Some(500_000_000));
        }
        match length {
            None => {}
            Some(0) => arguments.retain(|(key, _)| key != "x-max-length-bytes"),
            Some(length) => value::put(&mut arguments, "x-max-length-bytes", Int(length)),
        }
        if let Some(segment) = segment {
            value::put(&mut arguments, "x-stream-max-segment-size-bytes", Int(segment));
        }
        if let Some(age) = self.one("max-age", value::iso_duration)? {
            value::put(&mut arguments, "x-max-age", Text(format!("{age}s")));
        }
        let locator = self.one("leader-locator", |text| match text {
            "client-local" | "balanced" => Ok(text.to_owned()),
            _ => Err("is neither 'client-local' nor 'balanced'".to_owned()),
        })?;
        if let Some(locator) = locator {
            value::put(&mut arguments, "x-queue-leader-locator", Text(locator));
        }
        Ok(arguments)
    }

    fn producers(&self) -> Result<Producers, ParseError> {
        let (count, channels) = self.counts("producers", "producer-channel-count")?;
        let flags = self.many("flag", |text| Ok(text.to_owned()))?;
        let is_durable_kind = self.is_set("quorum-queue") || self.is_set("stream-queue");
        let size = self.count("size", 12, limits::BODY_LEN_MAX)?;
        let confirm: Option<i32> = self.one("confirm", |text| value::number(text, "a number; -1: no confirms"))?;
        let confirm = confirm.and_then(|confirm| u32::try_from(confirm).ok());
        let tx_size = self.count("ptxsize", 0, u32::MAX)?;
        if tx_size > 0 && confirm.is_some() {
            let text = "--ptxsize and --confirm exclude each other: a channel has transactions or confirms";
            return Err(ParseError::Conflict(text.to_owned()));
        }
        Ok(Producers {
            count,
            channels,
            rate: self.rate("rate")?.filter(|rate| *rate >= 0.0),
            variable_rate: self.many("variable-rate", value::stretch)?,
            interval: self.one("publishing-interval", value::publishing_interval)?,
            size,
            variable_size: self.many("variable-size", value::stretch)?,
            body: self.body(size)?,
            properties: self.one("message-properties", value::message_properties)?.unwrap_or_default(),
            is_persistent: is_durable_kind || flags.iter().any(|flag| flag == "persistent"),
            is_mandatory: flags.iter().any(|flag| flag == "mandatory"),
            has_random_keys: self.is_set("random-routing-key"),
            random_key_count: self.count("routing-key-cache-size", 0, limits::KEY_COUNT_MAX)?,
            confirm,
            confirm_timeout: self
                .one("confirm-timeout", value::seconds_or_none)?
                .unwrap_or(Some(Duration::from_secs(30))),
            tx_size,
            start_delay_max: self.delay("producer-random-start-delay")?,
        })
    }

    fn body(&self, size: u32) -> Result<BodySource, ParseError> {
        if let Some(files) = self.text("body") {
            let files: Vec<PathBuf> = list(&files).into_iter().map(PathBuf::from).collect();
            if files.is_empty() {
                return Err(ParseError::Conflict("--body is empty".to_owned()));
            }
            return Ok(BodySource::Files(files, self.text("body-content-type")));
        }
        if !self.is_set("json-body") {
            return Ok(BodySource::Stamped);
        }
        let documents = self.count("body-count", 100, u32::MAX)?;
        let fields = self.count("body-field-count", 1000, limits::FIELD_COUNT_MAX)?;
        if documents == 0 || fields == 0 {
            let text = "--json-body needs a --body-count and --body-field-count of 1 or more";
            return Err(ParseError::Conflict(text.to_owned()));
        }
        if u64::from(documents) * u64::from(size.max(12)) > limits::DOCUMENTS_LEN_MAX {
            let text = "--body-count documents of --size would take more than 1 GiB of memory";
            return Err(ParseError::Conflict(text.to_owned()));
        }
        Ok(BodySource::Json { documents, fields })
    }

    fn consumers(&self) -> Result<Consumers, ParseError> {
        let (count, channels) = self.counts("consumers", "consumer-channel-count")?;
        let prefetch = self.prefetch("qos", 0)?;
        let prefetch = if self.is_set("stream-queue") && prefetch == 0 { 200 } else { prefetch };
        let ack_every = self.count("multi-ack-every", 0, u32::MAX)?;
        if prefetch > 0 && ack_every > u32::from(prefetch) {
            let text =
                format!("--multi-ack-every {ack_every} is more than --qos {prefetch}: no ack would ever be sent");
            return Err(ParseError::Conflict(text));
        }
        let polling_interval = Duration::from_millis(self.count("polling-interval", 0, u32::MAX)?.into());
        Ok(Consumers {
            count,
            channels,
            rate: self.rate("consumer-rate")?.filter(|rate| *rate > 0.0),
            prefetch,
            channel_prefetch: self.prefetch("global-qos", 0)?,
            is_auto_ack: self.is_set("autoack"),
            ack_every,
            is_nack: self.is_set("nack"),
            is_requeue: self.text("requeue").is_none_or(|text| value::boolean(&text)),
            tx_size: self.count("ctxsize", 0, u32::MAX)?,
            latency: Duration::from_micros(self.count("consumer-latency", 0, u32::MAX)?.into()),
            variable_latency: self.many("variable-latency", value::stretch)?,
            polling: self.is_set("polling").then_some(polling_interval),
            arguments: self.one("consumer-args", value::pairs)?.unwrap_or_default(),
            stream_offset: self.one("stream-consumer-offset", value::stream_offset)?,
            is_slow_start: self.is_set("slow-start"),
            start_delay: self.delay("consumer-start-delay")?,
        })
    }

    fn output(&self) -> Result<OutputSettings, ParseError> {
        Ok(OutputSettings {
            uses_millis: self.is_set("use-millis"),
            format: self
                .one("metrics-format", |text| match text {
                    "default" => Ok(Format::Default),
                    "compact" => Ok(Format::Compact),
                    _ => Err("is neither 'default' nor 'compact'".to_owned()),
                })?
                .unwrap_or_default(),
            csv: self.path("output-file"),
            json: self.path("json"),
            html: self.path("html"),
            influx: self.one("influx", |text| match text.split_once("://") {
                None | Some(("http" | "https", _)) => Ok(text.to_owned()),
                Some(_) => Err("is neither a file nor an http:// or https:// URL".to_owned()),
            })?,
            has_dashboard: !self.is_set("no-dashboard"),
            broker_pids: self.many("broker-pid", |text| value::number(text, "a process id"))?,
            management_url: self.text("management-url"),
            metrics: self.metrics()?,
        })
    }

    fn metrics(&self) -> Result<MetricsSettings, ParseError> {
        let path = self.text("metrics-prometheus-endpoint").unwrap_or_else(|| "/metrics".to_owned());
        let constants = self.one("exposed-metrics", |text| {
            let numbers = value::texts(text)?.into_iter().map(|(key, value)| match value.parse::<f64>() {
                Ok(number) => Ok((key, number)),
                Err(_) => Err(format!("has a value that is not a number: '{value}'")),
            });
            numbers.collect()
        })?;
        Ok(MetricsSettings {
            is_served: self.is_set("metrics-prometheus"),
            path: if path.starts_with('/') { path } else { format!("/{path}") },
            port: self.one("metrics-prometheus-port", |text| value::number(text, "a port"))?.unwrap_or(8080),
            prefix: self.text("metrics-prefix").unwrap_or_else(|| "perftest_".to_owned()),
            labels: self.one("metrics-tags", value::texts)?.unwrap_or_default(),
            constants: constants.unwrap_or_default(),
            has_command_line: self.is_set("metrics-command-line-arguments"),
        })
    }
}

/// What is said of a word that belongs to no option. It may be an address without its option.
pub(super) fn stray_warning(word: &str) -> String {
    format!("'{}' belongs to no option, and is ignored", without_passwords(word))
}

/// Parts between commas, without what is empty.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn numbered(pattern: &str, from: u32, to: u32) -> Result<Vec<String>, ParseError> {
    pattern::numbered(pattern, from, to).map_err(|problem| ParseError::Value {
        option: "--queue-pattern".to_owned(),
        value: pattern.to_owned(),
        problem,
    })
}
