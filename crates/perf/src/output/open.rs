//! Opens all that the options ask for.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{
    Console, Csv, InfluxFile, InfluxSender, InfluxUrlError, MetricsServer, Prometheus, RunOutput, SharedPrometheus,
    Unit,
};
use net::ClientTls;

use crate::perftest::OutputSettings;
use crate::plan::Plan;
use crate::results::{Counts, Run, Sample};

/// Where metrics are served, as PerfTest serves them: on all addresses, of both families if the machine has them.
pub(crate) const ANY_ADDRESS: [IpAddr; 2] = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];

/// Why something cannot be written or served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// A file.
    #[error("cannot write {option} {}: {error}", path.display())]
    File {
        /// The option.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: io::Error,
    },
    /// A URL.
    #[error("--influx: {0}")]
    Url(#[from] InfluxUrlError),
    /// A port.
    #[error("cannot serve metrics on port {port} (--metrics-prometheus-port): {error}")]
    Port {
        /// The port.
        port: u16,
        /// What is wrong.
        error: io::Error,
    },
}

/// Everything that is written and served during a run.
pub(crate) struct Outputs {
    all: Vec<Box<dyn RunOutput>>,
    influx: Option<InfluxSender>,
    metrics: Option<MetricsServer>,
}

impl Outputs {
    /// Opens them, for a run that is about to start. Without a console there are no lines, as when there is a dashboard. An `https://`
    /// server of
    /// `--influx` is trusted as `tls` says, or as the system does. Metrics are served on the first of the addresses on which that is
    /// possible. To be called within a tokio runtime.
    pub(crate) async fn open(
        settings: &OutputSettings,
        plan: &Plan,
        command_line: &[String],
        tls: Option<&ClientTls>,
        console: Option<Box<dyn Write + Send>>,
        addresses: &[IpAddr],
    ) -> Result<Self, OpenError> {
        let unit = if settings.uses_millis { Unit::Millis } else { Unit::Micros };
        let mut outputs = Outputs { all: Vec::new(), influx: None, metrics: None };
        let all = &mut outputs.all;
        if let Some(console) = console {
            all.push(Box::new(Console::new(console, plan, settings.format, unit)));
        }
        if let Some(path) = &settings.csv {
            let file = create("--output-file", path)?;
            all.push(Box::new(Csv::new(file, &path.display().to_string(), plan, unit)));
        }
        let labels = &settings.metrics.labels;
        match &settings.influx {
            Some(url) if url.contains("://") => {
                let (output, sender) = InfluxSender::start(url, tls, &plan.name, labels)?;
                all.push(Box::new(output));
                outputs.influx = Some(sender);
            }
            Some(path) => {
                let file = create("--influx", Path::new(path))?;
                all.push(Box::new(InfluxFile::new(file, path, &plan.name, labels)));
            }
            None => {}
        }
        if settings.metrics.is_served {
            let metrics = SharedPrometheus::new(Prometheus::new(&settings.metrics, command_line, plan));
            all.push(Box::new(metrics.clone()));
            let (path, port) = (&settings.metrics.path, settings.metrics.port);
            outputs.metrics = Some(serve(path, port, metrics, addresses)?);
        }
        Ok(outputs)
    }

    /// Where metrics are served.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(MetricsServer::address)
    }

    /// The run begins, at this time; everything is declared.
    pub(crate) fn started(&mut self, plan: &Plan, at: SystemTime) {
        self.all.iter_mut().for_each(|output| output.started(plan, at));
    }

    /// An interval has passed. `totals` counts since the start.
    pub(crate) fn sample(&mut self, sample: &Sample, totals: &Counts) {
        self.all.iter_mut().for_each(|output| output.sample(sample, totals));
    }

    /// What went wrong since the last call.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.all.iter_mut().find_map(|output| output.take_warning())
    }

    /// Writes what comes after the run, and closes everything. Returns what went wrong since the last call.
    pub(crate) async fn close(mut self, plan: &Plan, run: &Run) -> Vec<String> {
        self.all.iter_mut().for_each(|output| output.ended(plan, run));
        let mut warnings: Vec<String> = std::iter::from_fn(|| self.take_warning()).collect();
        let Outputs { all, influx, .. } = self;
        drop(all);
        if let Some(influx) = influx {
            warnings.extend(influx.close().await);
        }
        warnings
    }
}

fn create(option: &'static str, path: &Path) -> Result<File, OpenError> {
    File::create(path).map_err(|error| OpenError::File { option, path: path.to_owned(), error })
}

fn serve(path: &str, port: u16, metrics: SharedPrometheus, addresses: &[IpAddr]) -> Result<MetricsServer, OpenError> {
    let mut error = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match MetricsServer::start(SocketAddr::new(*address, port), path, metrics.clone()) {
            Ok(server) => return Ok(server),
            // The port is taken; in which address family cannot be known.
            Err(taken) if taken.kind() == io::ErrorKind::AddrInUse => {
                error = taken;
                break;
            }
            Err(other) => error = other,
        }
    }
    Err(OpenError::Port { port, error })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::output::testing::sample;
    use crate::perftest::{self, Command, Options};

    const HERE: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::LOCALHOST)];

    fn parse(words: &[&str]) -> (Options, Plan) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let Ok(Command::Run { options, .. }) = perftest::parse(&words, &|_| None) else { panic!() };
        let plan = options.plan("t", 1, &|_| Err(io::Error::other("no files"))).unwrap();
        (*options, plan)
    }

    async fn open(words: &[&str]) -> Result<(Outputs, Plan), OpenError> {
        let (options, plan) = parse(words);
        let outputs = Outputs::open(&options.output, &plan, &[], None, None, &HERE).await?;
        Ok((outputs, plan))
    }

    #[tokio::test]
    async fn what_is_asked_for_is_written() {
        let directory = std::env::temp_dir().join(format!("warren-perf-open-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (csv, influx) = (directory.join("out.csv"), directory.join("out.influx"));
        let words = ["-o", csv.to_str().unwrap(), "--influx", influx.to_str().unwrap(), "-mpr", "-mpp", "0"];
        let (mut outputs, plan) = open(&words).await.unwrap();
        assert!(outputs.metrics_address().is_some());
        outputs.started(&plan, SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        outputs.sample(&sample(1.0, 1.0, 5), &Counts::default());
        assert!(outputs.close(&plan, &Run::default()).await.is_empty());
        assert!(std::fs::read_to_string(&csv).unwrap().ends_with("\nt,1.000,5.0,,,,5.0,0,0,0,0,0,,,,,\n"));
        let influx = std::fs::read_to_string(&influx).unwrap();
        assert!(influx.starts_with("perftest,id=t published=5i,"), "{influx}");
        assert!(influx.ends_with(" 1700000001000000000\n"), "it counts from the start of the load: {influx}");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[tokio::test]
    async fn what_cannot_be_opened_is_said_in_a_sentence() {
        let error = |words: &'static [&'static str]| async move { open(words).await.err().unwrap().to_string() };
        let missing = ["-o", "/nowhere/at/all.csv"];
        let text = open(&missing).await.err().unwrap().to_string();
        assert!(text.starts_with("cannot write --output-file /nowhere/at/all.csv: "), "{text}");
        let text = error(&["--influx", "http://"]).await;
        assert!(text.starts_with("--influx: 'http://' is not an http:// or https:// URL"), "{text}");
    }

    #[tokio::test]
    async fn a_port_that_is_taken_is_named() {
        let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let text = open(&["-mpr", "-mpp", &port.to_string()]).await.err().unwrap().to_string();
        assert!(
            text.starts_with(&format!("cannot serve metrics on port {port} (--metrics-prometheus-port): ")),
            "{text}"
        );
    }
}
