//! The broker's configuration: `rabbitmq.conf`'s format and keys, and our own under `warren.`.
//!
//! The caller reads the files; this module reads their texts. One [table], `schema`, says of every key what it may be,
//! what it is by default and what it does today; the typed [`Config`], the errors and `docs/configuration.md` are all
//! made from it. A later assignment of a key goes before an earlier one, in this order:
//!
//! ```text
//! defaults < RABBITMQ_NODE_PORT, … < configuration file < conf.d/*.conf by name < advanced.config
//!          < RABBITMQ_NODENAME, _DEFAULT_USER, … < --set KEY=VALUE
//! ```

mod alerts;
mod backends;
mod certificate_login;
mod cluster;
mod environment;
mod examination;
mod http_url;
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
pub use environment::READ_BY_CALLER;
pub use examination::{Examination, SetKey, UnsetVariable, Variable, examine, state_of, variable};
pub use http_url::is_http_url;
pub use human::parse_size;
pub use influxdb::{InfluxdbLogin, InfluxdbObjects, InfluxdbOptions, InfluxdbPlace, InfluxdbServer};
pub use links::LinkOptions;
pub use listeners::{HttpListener, Listener, UnixListener};
pub use live::LiveOptions;
pub use management::{ManagementHeaders, ManagementOAuth, ManagementOptions};
pub use network::{NETWORK, networks};
pub use oauth2::{OAuth2Provider, OAuth2ResourceServer, SigningKey};
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

use values::Values;

/// The largest `max_message_size`.
pub(crate) const MAX_MESSAGE_SIZE_MAX: u64 = 512 << 20;

/// The cipher suites that `ssl_options.ciphers` knows, by OpenSSL's names and IANA's.
pub const CIPHER_SUITES: &[&str] = table::tls_keys::CIPHERS;

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

impl ConfigError {
    /// The same with other names for where things are set: for who has translated them.
    #[must_use]
    pub fn relabelled(self, relabel: impl Fn(Origin) -> Origin) -> ConfigError {
        let remarks = self.0.into_iter().map(|remark| Remark { origin: relabel(remark.origin), ..remark });
        ConfigError(remarks.collect())
    }
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
        environment::assign_defaults(&mut values, env);
        for source in sources {
            values.add_source(source, env);
        }
        environment::assign_above(&mut values, env);
        for set in sets {
            values.add_set(set);
        }
        environment::assign_cookie(&mut values, env);
        values.complete();
        let (mut config, mut warnings) = settings::build(values)?;
        config.files = sources.iter().map(|source| source.name.clone()).collect();
        warnings.extend(environment::without_effect(env));
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
