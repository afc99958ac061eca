//! Statistics for InfluxDB: what the broker counts, once an interval, as lines that are appended to a file or posted to a server.
//!
//! ```text
//!                              ┌─► to_file ──► file       whole lines, a file that others may put aside
//!  counters ─► round ─► batch ─┤
//!              lines           └─► to_server ─► outbox ─► server ─► HTTP
//!              run: a thread for each            bounded   what an answer means
//! ```
//!
//! Each destination has a thread and rounds of its own: a disk that hangs holds up no server, a server that hangs no file, and neither
//! of them the broker. A round walks through queues as listings do, holds no lock for long, and is not made faster than its receiver
//! takes it. `health` decides what is logged, so that a receiver that is away for a day is one line. How lines look is the crate
//! `influx`'s business.

mod delivery_stats;
mod file;
mod health;
mod limits;
mod lines;
mod outbox;
mod round;
mod run;
mod server;
#[cfg(feature = "testing")]
pub mod testing;
mod to_file;
mod to_server;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use broker::Broker;
use influx::{Precision, Tags};
use model::config::InfluxdbOptions;

use crate::SetupError;
pub(crate) use delivery_stats::DeliveryStats;
use delivery_stats::Kind;
use round::Subject;
use run::{Rounds, RoundsThread};
use server::Server;
use to_file::ToFile;
use to_server::ToServer;

/// Statistics for InfluxDB, set up.
#[derive(Debug)]
pub struct Influxdb {
    rounds: Arc<Rounds>,
    file: Option<(PathBuf, Arc<DeliveryStats>)>,
    server: Option<(Server, Arc<DeliveryStats>)>,
}

/// Statistics for InfluxDB, on their way.
#[derive(Debug)]
pub struct InfluxdbThreads(Vec<RoundsThread>);

/// What has become of lines, by destination.
#[derive(Debug, Clone, Default)]
pub struct InfluxdbStats(Arc<[Arc<DeliveryStats>]>);

impl InfluxdbStats {
    pub(crate) fn all(&self) -> &[Arc<DeliveryStats>] {
        &self.0
    }
}

impl Influxdb {
    /// Checks what the configuration says. None: nothing is to go anywhere. `data_dir` is where the broker keeps its data, `file_max`
    /// how many files the process may have open.
    pub fn new(
        broker: Arc<Broker>,
        options: &InfluxdbOptions,
        data_dir: PathBuf,
        file_max: Option<u64>,
    ) -> Result<Option<Self>, SetupError> {
        let precision = Precision::parse(&options.precision).expect("one of the words of the configuration's schema");
        let server = options.server.as_ref().map(|options| Server::new(options, precision)).transpose()?;
        let file = options.file.as_ref().map(PathBuf::from);
        if server.is_none() && file.is_none() {
            return Ok(None);
        }
        let mut tags = Tags::default();
        tags.put("node", &broker.options().node);
        options.tags.iter().for_each(|(name, value)| tags.put(name, value));
        let subject = Subject { objects: options.objects.clone(), tags, data_dir, file_max };
        let rounds = Arc::new(Rounds { broker, subject, interval: options.interval, precision });
        Ok(Some(Influxdb {
            rounds,
            file: file.map(|path| (path, Arc::new(DeliveryStats::of(Kind::File)))),
            server: server.map(|server| (server, Arc::new(DeliveryStats::of(Kind::Http)))),
        }))
    }

    /// What is counted.
    #[must_use]
    pub fn stats(&self) -> InfluxdbStats {
        let of_file = self.file.iter().map(|(_, stats)| stats);
        InfluxdbStats(of_file.chain(self.server.iter().map(|(_, stats)| stats)).cloned().collect())
    }

    /// Starts a thread for each destination.
    pub fn start(self) -> io::Result<InfluxdbThreads> {
        let mut threads = Vec::new();
        if let Some((path, stats)) = self.file {
            let destination = || ToFile::new(path, stats);
            threads.push(RoundsThread::start("influxdb-file", self.rounds.clone(), destination)?);
        }
        if let Some((server, stats)) = self.server {
            let destination = || ToServer::start(server, stats);
            threads.push(RoundsThread::start("influxdb-http", self.rounds, destination)?);
        }
        Ok(InfluxdbThreads(threads))
    }
}

impl InfluxdbThreads {
    /// Takes the last statistics where they belong, all at once, as far as that is possible within a few seconds.
    pub async fn stop(self) {
        let mut stopping = tokio::task::JoinSet::new();
        self.0.into_iter().for_each(|thread| drop(stopping.spawn(thread.stop())));
        stopping.join_all().await;
    }
}
