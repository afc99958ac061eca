//! AMQProxy's settings by their own names, wherever they are said: options, environment variables, entries of its files. Its times are
//! seconds.
//!
//! | setting | option | variable | entry | key |
//! |---|---|---|---|---|
//! | address | `-l`, `--listen` | `LISTEN_ADDRESS` | `listen/bind`, `listen/address` | `proxy.listeners.tcp.default` |
//! | port | `-p`, `--port` | `LISTEN_PORT` | `listen/port` | `proxy.listeners.tcp.default` |
//! | port of HTTP | `-b`, `--http-port` | `HTTP_PORT` | `listen/http_port` | `proxy.http.listener` |
//!
//! and so on, one key each.

use amqp_client::without_passwords;
use model::config::table::{Key, KeyPath, Origin, Values};
use model::config::{LogLevel, Source, Warning, parse_duration_ms};

use super::address::{ListenAddress, ListenHost};
use super::ini::{self, IniEntry};
use super::schema as keys;
use super::upstreams;

/// One of AMQProxy's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    ListenAddress,
    ListenPort,
    HttpPort,
    LogLevel,
    IdleConnectionTimeout,
    MaxUpstreamChannels,
    TermTimeout,
    TermClientCloseTimeout,
    Upstream,
}

/// Its environment variables. Of two for one setting, the first counts.
const ENVIRONMENT: &[(&str, Setting)] = &[
    ("LISTEN_ADDRESS", Setting::ListenAddress),
    ("LISTEN_PORT", Setting::ListenPort),
    ("HTTP_PORT", Setting::HttpPort),
    ("LOG_LEVEL", Setting::LogLevel),
    ("IDLE_CONNECTION_TIMEOUT", Setting::IdleConnectionTimeout),
    ("MAX_UPSTREAM_CHANNELS", Setting::MaxUpstreamChannels),
    ("TERM_TIMEOUT", Setting::TermTimeout),
    ("TERM_CLIENT_CLOSE_TIMEOUT", Setting::TermClientCloseTimeout),
    ("AMQP_URL", Setting::Upstream),
    ("UPSTREAM", Setting::Upstream),
];

/// The entries of its files.
const ENTRIES: &[(&str, &str, Setting)] = &[
    ("main", "upstream", Setting::Upstream),
    ("main", "log_level", Setting::LogLevel),
    ("main", "idle_connection_timeout", Setting::IdleConnectionTimeout),
    ("main", "max_upstream_channels", Setting::MaxUpstreamChannels),
    ("main", "term_timeout", Setting::TermTimeout),
    ("main", "term_client_close_timeout", Setting::TermClientCloseTimeout),
    ("main", "http_port", Setting::HttpPort),
    ("listen", "address", Setting::ListenAddress),
    ("listen", "bind", Setting::ListenAddress),
    ("listen", "port", Setting::ListenPort),
    ("listen", "http_port", Setting::HttpPort),
    ("listen", "log_level", Setting::LogLevel),
];

const LISTENER: &str = "proxy.listeners.tcp.default";
const HTTP_LISTENER: Key<Option<ListenAddress>> = keys::listeners::HTTP_LISTENER;
/// What holds where neither a file, a variable nor an option says where to listen.
const LISTENER_DEFAULT: &str = "localhost:5673";

/// Values, and what AMQProxy's settings have made of them so far.
#[derive(Debug)]
pub(super) struct Assembly<'a> {
    pub(super) values: &'a mut Values,
    /// Where HTTP listens, as far as AMQProxy's settings say: its address is the clients' until the key itself is set.
    http: Option<String>,
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(values: &'a mut Values) -> Self {
        Assembly { values, http: None, warnings: Vec::new() }
    }

    /// Takes what one of AMQProxy's files says.
    pub(super) fn add_file(&mut self, source: &Source) {
        let origin = |line| Origin::File { name: source.name.clone(), line };
        for entry in ini::parse(&source.text) {
            match entry {
                Ok(IniEntry { section, key, value, line }) => {
                    let known = ENTRIES.iter().find(|(in_section, name, _)| (*in_section, *name) == (section, key));
                    match known {
                        Some((.., setting)) => self.set(*setting, value, &origin(line)),
                        None => self.values.refuse(origin(line), unknown_entry(section, key)),
                    }
                }
                Err(line) => {
                    let text = "expected 'key = value' or '[section]', as in AMQProxy's files".to_owned();
                    self.values.refuse(origin(line), text);
                }
            }
        }
    }

    /// Takes what AMQProxy's environment variables say. Empty ones count as unset.
    pub(super) fn add_environment(&mut self, env: &[(String, String)]) {
        let mut taken = Vec::new();
        for (variable, setting) in ENVIRONMENT {
            let text = env.iter().find(|(name, text)| name == variable && !text.is_empty());
            if let (Some((_, text)), false) = (text, taken.contains(setting)) {
                taken.push(*setting);
                self.set(*setting, text, &Origin::Environment(variable));
            }
        }
    }

    /// Sets the keys that a setting is about.
    pub(super) fn set(&mut self, setting: Setting, text: &str, origin: &Origin) {
        match setting {
            Setting::ListenAddress => self.set_address(text, origin),
            Setting::ListenPort => self.set_port(LISTENER, LISTENER_DEFAULT, text, origin),
            Setting::HttpPort => {
                self.set_port(HTTP_LISTENER.name(), http_default(), text, origin);
                self.http = self.text(HTTP_LISTENER.name());
            }
            Setting::LogLevel => self.assign(&keys::operation::LOG_LEVEL, log_level(text), LOG_LEVELS, text, origin),
            Setting::IdleConnectionTimeout => {
                self.assign(&keys::upstreams::UPSTREAM_CONNECTIONS_IDLE_TIMEOUT, seconds(text), SECONDS, text, origin);
            }
            Setting::MaxUpstreamChannels => {
                self.assign(
                    &keys::upstreams::UPSTREAM_CONNECTIONS_CHANNEL_MAX,
                    channel_max(text),
                    CHANNELS,
                    text,
                    origin,
                );
            }
            Setting::TermTimeout => {
                self.assign(&keys::operation::TERM_TIMEOUT, term_timeout(text), SECONDS_OR_FOR_EVER, text, origin);
            }
            Setting::TermClientCloseTimeout => {
                self.assign(&keys::operation::TERM_CLIENT_CLOSE_TIMEOUT, seconds(text), SECONDS, text, origin);
            }
            Setting::Upstream => self.set_upstreams(&upstreams::split(text), origin),
        }
    }

    /// Takes upstreams instead of those so far.
    pub(super) fn set_upstreams(&mut self, urls: &[String], origin: &Origin) {
        self.warnings.extend(upstreams::replace(self.values, urls, origin));
    }

    fn set_address(&mut self, text: &str, origin: &Origin) {
        let Some(host) = ListenHost::parse(text) else {
            return self.refuse(origin, "an address or a name of this host", text);
        };
        let follows = match self.text(HTTP_LISTENER.name()) {
            None => true,
            Some(http) => self.http.as_ref() == Some(&http),
        };
        self.set_host(LISTENER, LISTENER_DEFAULT, host.clone(), origin);
        if follows {
            self.set_host(HTTP_LISTENER.name(), http_default(), host, origin);
            self.http = self.text(HTTP_LISTENER.name());
        }
    }

    fn set_host(&mut self, key: &str, default: &str, host: ListenHost, origin: &Origin) {
        let port = self.listener(key, default).port;
        self.assign_text(key, &ListenAddress { host, port }.to_string(), origin);
    }

    fn set_port(&mut self, key: &str, default: &str, text: &str, origin: &Origin) {
        let Ok(port) = text.parse() else { return self.refuse(origin, "a port", text) };
        let host = self.listener(key, default).host;
        self.assign_text(key, &ListenAddress { host, port }.to_string(), origin);
    }

    /// A listener so far.
    fn listener(&self, key: &str, default: &str) -> ListenAddress {
        let parsed = self.text(key).and_then(|text| ListenAddress::parse(&text));
        parsed.or_else(|| ListenAddress::parse(default)).expect("defaults are right")
    }

    fn text(&self, key: &str) -> Option<String> {
        self.values.text(key).map(str::to_owned)
    }

    fn assign_text(&mut self, key: &str, value: &str, origin: &Origin) {
        self.values.assign(&KeyPath::parse(key).expect("a key of the table"), value, origin.clone());
    }

    fn assign<T>(&mut self, key: &Key<T>, value: Option<String>, wanted: &str, text: &str, origin: &Origin) {
        match value {
            Some(value) => self.assign_text(key.name(), &value, origin),
            None => self.refuse(origin, wanted, text),
        }
    }

    fn refuse(&mut self, origin: &Origin, wanted: &str, text: &str) {
        // An operator that mistakes one setting for another may give a URL.
        self.values.refuse(origin.clone(), format!("expected {wanted}, not '{}'", without_passwords(text)));
    }
}

fn http_default() -> &'static str {
    HTTP_LISTENER.row.default.expect("it has one in the table")
}

const SECONDS: &str = "seconds, or a duration such as 10s or 5m";
const SECONDS_OR_FOR_EVER: &str = "seconds, a duration such as 10s or 5m, or -1 for any time";
const CHANNELS: &str = "a number from 0 to 65535";
const LOG_LEVELS: &str = "a level such as debug, info, warn or error";

fn unknown_entry(section: &str, key: &str) -> String {
    let known: Vec<_> = ENTRIES.iter().map(|(section, key, _)| format!("{section}/{key}")).collect();
    let word = format!("{section}/{key}");
    let hint = human::closest(&word, known.iter().map(String::as_str));
    let hint = hint.map(|closest| format!("; the closest known one is '{closest}'")).unwrap_or_default();
    format!("unknown entry '{word}' of an AMQProxy file{hint}")
}

/// A duration whose number without a unit is seconds.
fn seconds(text: &str) -> Option<String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = if is_number { format!("{text}s") } else { text.to_owned() };
    parse_duration_ms(&text).map(|_| text)
}

/// The same; any number below 0 is for ever.
fn term_timeout(text: &str) -> Option<String> {
    let is_negative = text.parse::<i64>().is_ok_and(|number| number < 0);
    if is_negative || text == "infinity" { Some("infinity".to_owned()) } else { seconds(text) }
}

/// 0 leaves it to the upstream, which allows no more than the protocol.
fn channel_max(text: &str) -> Option<String> {
    let number = text.parse::<u16>().ok()?;
    Some(if number == 0 { u16::MAX } else { number }.to_string())
}

/// AMQProxy's levels, in any case, and ours.
fn log_level(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let name = match &*lower {
        "trace" => "debug",
        "warn" => "warning",
        "fatal" => "critical",
        other => other,
    };
    LogLevel::parse(name).map(|level| level.name().to_owned())
}
