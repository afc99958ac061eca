//! What operators say: files, environment and command line become one [`Config`], or one list of clear reasons why not.
//!
//! ```text
//!  words ──► command_line ──┐
//!  variables ───────────────┼─► amqproxy ─► values, by key ─► complete ─► settings ─► Config
//!  texts of files ─► ini ───┤   (its names)     ▲    ▲         (defaults)  (do they fit together?)
//!                └──────────┴── our keys ───────┘    └── schema: the one table of keys, from which the reference is made, too
//! ```
//!
//! Our files are of `rabbitmq.conf`'s format with keys below `proxy.`, AMQProxy's are recognized by their sections. A later value of a
//! key replaces an earlier one: `defaults < files, in their order < environment < command line, in its order`.
//!
//! No I/O: the caller reads files and has their texts looked at here.

mod address;
mod amqproxy;
mod command_line;
mod ini;
mod kinds;
mod reference;
mod schema;
mod settings;
mod upstreams;

pub use address::{ListenAddress, ListenHost};
pub use command_line::{CommandLine, Invocation, UsageError, usage};
pub use model::config::{
    ConfigError, Log, LogFormatter, LogLevel, PeerVerification, SniIdentity, Source, TcpOptions, TlsIdentity,
    TlsOptions, TlsVersion, UnixListener, Warning,
};
pub use reference::render_reference;
pub use settings::{Config, Listener};
pub use upstreams::{HealthLogin, Upstream};

use amqproxy::Assembly;
use model::config::table::Values;

impl Config {
    /// Reads a configuration. `sources` are the files in the order in which they count; `env` may be the whole environment.
    pub fn parse(
        sources: &[Source],
        env: &[(String, String)],
        command_line: &CommandLine,
    ) -> Result<(Config, Vec<Warning>), ConfigError> {
        let mut values = Values::new(&schema::TABLE);
        let mut assembly = Assembly::new(&mut values);
        for source in sources {
            if ini::is_ini(&source.text) {
                assembly.add_file(source);
            } else {
                assembly.values.add_source(source, env);
            }
        }
        assembly.add_environment(env);
        command_line.apply(&mut assembly);
        let mut warnings = assembly.warnings;
        values.complete();
        let (config, others) = settings::build(values)?;
        warnings.extend(others);
        Ok((config, warnings))
    }

    /// What is in force after this configuration was read again as `newer`, and a warning for each change that has to wait for a restart.
    /// Nothing changes where the two do not fit together.
    pub fn reloaded(&self, newer: &Config) -> Result<(Config, Vec<Warning>), ConfigError> {
        let (values, warnings) = self.values.reloaded(&newer.values);
        let (config, _) = settings::build(values)?; // other warnings were logged when `newer` was read
        Ok((config, warnings))
    }

    /// Every key that is in force, with its value, by name; passwords are hidden.
    #[must_use]
    pub fn effective(&self) -> Vec<(String, String)> {
        self.values.effective()
    }
}

#[cfg(test)]
mod tests;
