//! How a run is done.

use http_client::HttpUrl;
use net::ClientTls;

use super::clock::StampUnit;
use crate::watch::{Management, Processes};

/// How a run is done, beside what it does.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Threads that generate load.
    pub threads: usize,
    /// How far these let other programs go first, from 0 to 19; as they were started if it is not said.
    pub nice: Option<i32>,
    /// What the time in messages means.
    pub unit: StampUnit,
    /// The broker's processes, if they are watched.
    pub broker: Option<Processes>,
    /// Where paths that users and probes ask for are below, if anywhere.
    pub management: Option<HttpUrl>,
    /// Which certificates to trust at whole `https://` URLs that users ask for, if not the system's.
    pub https: Option<ClientTls>,
    /// What the management API says, if it is watched.
    pub watched: Option<Management>,
}
