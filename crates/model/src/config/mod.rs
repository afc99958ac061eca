//! The broker's configuration: `rabbitmq.conf`'s format and keys, and our own under `warren.`.
//!
//! The caller reads the files; this module reads their texts. One [table], `schema`, says of every key what it may be,
//! what it is by default and what it does today; the typed [`Config`], the errors and `docs/configuration.md` are all
//! made from it. A later assignment of a key goes before an earlier one, in this order:
//!
//! ```text
//! defaults < configuration file < conf.d/*.conf by name < RABBITMQ_NODENAME, _DEFAULT_USER, … < --set KEY=VALUE
//! ```

mod alerts;
mod backends;
mod certificate_login;
mod cluster;
mod examination;
mod influxdb;
mod interpolation;
mod links;
mod listeners;
mod live;
mod management;
mod network;
mod oauth2;
mod prometheus;
mod reference;
mod reload;
mod schema;
mod settings;
mod shovels;
mod sources;
mod statistics;
mod suggest;
mod syntax;
pub mod table;
mod tls;
mod together;
mod traces;
mod value;
mod values;
mod vhost_defaults;

pub use alerts::AlertOptions;
pub use backends::{BackendKind, BackendStep, Backends, CacheOptions, HttpBackendOptions};
pub use certificate_login::{AlternativeNameKind, CertificateLogin};
pub use cluster::{
    CLUSTER_PORT, ClusterOptions, ClusterSecret, ClusterTls, Discovery, FormationOptions, HostPort, is_node_name,
};
pub use examination::{Examination, SetKey, UnsetVariable, Variable, examine, state_of, variable};
pub use human::parse_size;
pub use influxdb::{InfluxdbLogin, InfluxdbObjects, InfluxdbOptions, InfluxdbPlace, InfluxdbServer};
pub use links::LinkOptions;
pub use listeners::{HttpListener, Listener, UnixListener};
pub use live::LiveOptions;
pub use management::{ManagementHeaders, ManagementOAuth, ManagementOptions};
pub use network::{NETWORK, networks};
pub use oauth2::{OAuth2Provider, OAuth2ResourceServer};
pub use prometheus::PrometheusOptions;
pub use reference::render_reference;
pub use settings::{
    AuditOptions, AuthMechanism, Config, ConfirmAfter, DefaultUser, DeprecatedFeatures, DiskFreeLimit, Lockout, Log,
    LogFormatter, LogLevel, Login, MemoryWatermark, StoreOptions, TcpOptions,
};
pub use shovels::ShovelOptions;
pub use statistics::{RatesMode, SampleRetention, StatisticsOptions};
pub use tls::{PeerVerification, SniIdentity, TlsIdentity, TlsOptions, TlsVersion};
pub use traces::{OtlpOptions, TraceFileOptions};
pub use value::{ListenAddress, parse_duration_ms};

use std::fmt;

use syntax::KeyPath;
use values::Values;

/// The largest `max_message_size`.
pub(crate) const MAX_MESSAGE_SIZE_MAX: u64 = 512 << 20;

/// The cipher suites that `ssl_options.ciphers` knows, by OpenSSL's names and IANA's.
pub const CIPHER_SUITES: &[&str] = table::tls_keys::CIPHERS;

/// The environment variables that set keys.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("RABBITMQ_DEFAULT_USER", "default_user"),
    ("RABBITMQ_DEFAULT_PASS", "default_pass"),
    ("RABBITMQ_DEFAULT_VHOST", "default_vhost"),
    ("RABBITMQ_NODENAME", "warren.node_name"),
];

/// Environment variables that configure RabbitMQ and nothing here, with what to do instead.
const ENVIRONMENT_WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("RABBITMQ_LOGS", "the log goes to stderr, as log.console says"),
    ("RABBITMQ_NODE_PORT", "set listeners.tcp.default"),
    ("RABBITMQ_NODE_IP_ADDRESS", "set listeners.tcp.default to address:port"),
    ("RABBITMQ_CONFIG_FILES", "put the files into conf.d beside the configuration file"),
    ("RABBITMQ_ADVANCED_CONFIG_FILE", "Erlang terms are not read, use the keys of rabbitmq.conf"),
    ("RABBITMQ_CONF_ENV_FILE", "files of variables are not read, set the keys of rabbitmq.conf"),
    (
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
        "set the keys of rabbitmq.conf that its arguments stand for, such as log.default.level",
    ),
    ("RABBITMQ_SERVER_ERL_ARGS", "there is no Erlang machine; warren.worker_threads says how many threads there are"),
    ("RABBITMQ_SERVER_START_ARGS", "set the keys of rabbitmq.conf that its arguments stand for"),
    ("RABBITMQ_VM_MEMORY_HIGH_WATERMARK", "set vm_memory_high_watermark.relative or vm_memory_high_watermark.absolute"),
    ("RABBITMQ_DISK_FREE_LIMIT", "set disk_free_limit.absolute"),
    ("RABBITMQ_DISK_FREE_ABSOLUTE_LIMIT", "set disk_free_limit.absolute"),
    ("RABBITMQ_LOG", "set log.default.level"),
    ("RABBITMQ_LOG_BASE", "the log goes to stderr"),
    (
        "RABBITMQ_ENABLED_PLUGINS_FILE",
        "there are no plugins; warren.management.enabled and the keys of the others say what is served",
    ),
    ("RABBITMQ_PLUGINS_DIR", "there are no plugins"),
    ("RABBITMQ_MNESIA_BASE", "set warren.data_dir"),
    ("RABBITMQ_MNESIA_DIR", "set warren.data_dir"),
    ("RABBITMQ_DEFAULT_USER_FILE", "set RABBITMQ_DEFAULT_USER or default_user"),
    ("RABBITMQ_DEFAULT_PASS_FILE", "set RABBITMQ_DEFAULT_PASS or default_pass"),
    ("RABBITMQ_SSL_CACERTFILE", "set ssl_options.cacertfile"),
    ("RABBITMQ_SSL_CERTFILE", "set ssl_options.certfile"),
    ("RABBITMQ_SSL_KEYFILE", "set ssl_options.keyfile"),
    ("RABBITMQ_SSL_VERIFY", "set ssl_options.verify"),
    ("RABBITMQ_SSL_FAIL_IF_NO_PEER_CERT", "set ssl_options.fail_if_no_peer_cert"),
    ("RABBITMQ_MANAGEMENT_SSL_CACERTFILE", "set management.ssl.cacertfile"),
    ("RABBITMQ_MANAGEMENT_SSL_CERTFILE", "set management.ssl.certfile"),
    ("RABBITMQ_MANAGEMENT_SSL_KEYFILE", "set management.ssl.keyfile"),
];

/// One configuration file, read by the caller.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    /// How errors call it: its path.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Something accepted that does not do what its author may expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub Remark);

/// Why a program cannot start with this configuration: all of it, not only the first reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(Vec<Remark>);

/// Something about one assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Which.
    pub origin: Origin,
    /// What there is to say.
    pub text: String,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It has not been set.
    Default,
    /// A line of a file.
    File {
        /// The file's [name](Source::name).
        name: String,
        /// From 1.
        line: usize,
    },
    /// This environment variable.
    Environment(&'static str),
    /// `--set`.
    Set,
    /// Another option of the command line, or what its arguments are called.
    Option(&'static str),
}

impl Config {
    /// Reads a configuration. `sources` are in the order in which they count: the main file, then those of `conf.d` by
    /// name. `env` may be the whole environment. `sets` are the arguments of `--set`, each `KEY=VALUE`.
    pub fn parse(
        sources: &[Source],
        env: &[(String, String)],
        sets: &[String],
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let mut values = Values::new(&schema::TABLE);
        for source in sources {
            values.add_source(source, env);
        }
        for (variable, key) in ENVIRONMENT {
            if let Some(value) = non_empty(env, variable) {
                let path = KeyPath::parse(key).expect("a key of ours");
                values.assign(&path, value, Origin::Environment(variable));
            }
        }
        for set in sets {
            values.add_set(set);
        }
        values.complete();
        let (mut config, mut warnings) = settings::build(values)?;
        config.files = sources.iter().map(|source| source.name.clone()).collect();
        for (variable, instead) in ENVIRONMENT_WITHOUT_EFFECT {
            // Where the log is to go to the standard output, which is as good as the standard error, there is nothing to say.
            if non_empty(env, variable).is_some_and(|value| (*variable, value) != ("RABBITMQ_LOGS", "-")) {
                let origin = Origin::Environment(variable);
                warnings.push(Warning(Remark { origin, text: format!("has no effect; {instead}") }));
            }
        }
        Ok((config, warnings))
    }

    /// Every key that is in force, with its value, by name; passwords are hidden.
    #[must_use]
    pub fn effective(&self) -> Vec<(String, String)> {
        self.values.effective()
    }
}

impl Default for Config {
    fn default() -> Config {
        let (config, _) = Config::parse(&[], &[], &[]).expect("the defaults fit together");
        config
    }
}

/// An environment variable that is set to something.
fn non_empty<'a>(env: &'a [(String, String)], variable: &str) -> Option<&'a str> {
    env.iter().find(|(name, value)| name == variable && !value.is_empty()).map(|(_, value)| &**value)
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive() // the text has passwords
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("the defaults"),
            Origin::File { name, line } => write!(f, "{name}:{line}"),
            Origin::Environment(variable) => f.write_str(variable),
            Origin::Set => f.write_str("--set"),
            Origin::Option(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.text)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, remark) in self.0.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(f, "{separator}{remark}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests;
