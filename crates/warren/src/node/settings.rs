//! What every broker of a node is started with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use broker::{AuthStep, EventSink};
use cluster::control::Control;
use management::{ListenerInfo, Process};
use model::config::Config;

use crate::broker_options::broker_options;

/// What every broker of this node is started with.
pub(crate) struct Settings {
    pub(crate) config: Arc<Config>,
    pub(crate) data_dir: PathBuf,
    pub(crate) audit_log: Option<Arc<dyn EventSink>>,
    pub(crate) auth_steps: Vec<AuthStep>,
    pub(crate) of_http: Arc<management::Options>,
    /// All listeners, as the API shows them.
    pub(crate) listeners: Vec<ListenerInfo>,
    pub(crate) process: Arc<Process>,
    /// How many connections the limit of open files leaves room for.
    pub(crate) connection_max: usize,
    /// None where there can be no cluster.
    pub(crate) control: Option<Arc<dyn Control>>,
    /// When this node was made.
    pub(crate) started_at: Instant,
}

impl Settings {
    pub(crate) fn broker_options(&self) -> broker::Options {
        broker::Options {
            process_started_at: self.started_at,
            ..broker_options(&self.config, self.audit_log.clone(), self.auth_steps.clone())
        }
    }
}
