//! The broker's configuration: `rabbitmq.conf`'s format and keys, and our own under `warren.`.
//!
//! The caller reads the files; this module reads their texts. One [table], `schema`, says of every key what it may be,
//! what it is by default and what it does today; the typed [`Config`], the errors and `docs/configuration.md` are all
//! made from it. A later assignment of a key overrides an earlier one, in this order:
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
mod key;
mod links;
mod listeners;
mod live;
mod management;
mod network;
mod oauth2;
mod parse;
mod prometheus;
mod reference;
mod reload;
mod remark;
mod row;
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
pub use remark::{ConfigError, Origin, Remark, Warning};
pub use settings::{
    AuditOptions, AuthMechanism, Config, ConfirmAfter, DefaultUser, DeprecatedFeatures, DiskFreeLimit, Lockout, Log,
    LogFormatter, LogLevel, Login, MemoryWatermark, StoreOptions, TcpOptions,
};
pub use shovels::ShovelOptions;
pub use sources::Source;
pub use statistics::{RatesMode, SampleRetention, StatisticsOptions};
pub use tls::{PeerVerification, SniIdentity, TlsIdentity, TlsOptions, TlsVersion};
pub use traces::{OtlpOptions, TraceFileOptions};
pub use value::{ListenAddress, parse_duration_ms};

/// The cipher suites that `ssl_options.ciphers` knows, by OpenSSL's names and IANA's.
pub const CIPHER_SUITES: &[&str] = table::tls_keys::CIPHERS;

#[cfg(test)]
mod tests;
