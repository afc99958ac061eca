//! A command that generates load: its runs one after the other, what is shown meanwhile, what is written at the end.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::signals::{self, Signalled};
use super::target::target;
use super::{Failure, complain, print};
use crate::dashboard::{Dashboard, Outline, Overall};
use crate::engine::{self, Interrupt, Settings, StampUnit};
use crate::http::HttpUrl;
use crate::output::{
    Console, Csv, InfluxFile, InfluxSender, MetricsServer, Observer as _, Observers, Prometheus, SharedPrometheus,
    Unit, render_summary,
};
use crate::perftest::{Options, without_options};
use crate::plan::Plan;
use crate::report::html::{self, Charts};
use crate::report::verdict::verdicts;
use crate::results::{Broker, Counts, Results, SCHEMA, Sample};
use crate::watch::{Processes, machine};
use crate::workload::PlannedRun;

/// Options whose values are nobody's business.
const SECRET: &[&str] = &["oauth2-client-secret"];

/// What a command is to do.
pub(crate) struct Session<'a> {
    pub(crate) options: &'a Options,
    /// The words after `warren perf`.
    pub(crate) words: &'a [String],
    pub(crate) name: String,
    pub(crate) description: String,
    /// The workload file's text.
    pub(crate) workload: Option<String>,
    pub(crate) seed: u64,
    pub(crate) runs: Vec<PlannedRun>,
    /// Where results and report go.
    pub(crate) json: Option<PathBuf>,
    pub(crate) html: Option<PathBuf>,
    pub(crate) warnings: Vec<String>,
}

/// Does all of it, on a runtime of its own.
pub(crate) fn execute(session: Session<'_>) -> Result<(), Failure> {
    net::raise_open_files_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let result = runtime.block_on(session.run());
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    result
}

impl Session<'_> {
    async fn run(mut self) -> Result<(), Failure> {
        let (interrupt, signalled) = signals::listen().map_err(Failure::failed)?;
        let is_spread = self.runs.iter().any(|run| !run.plan.users.is_empty() || run.plan.idle_connections > 0);
        let target = Arc::new(target(&self.options.connection, is_spread)?);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.options.threads.unwrap_or(processors);
        let mut results = Results {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name.clone(),
            description: self.description.clone(),
            command: self.shown_command(),
            workload: self.workload.take(),
            started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            seed: self.seed,
            machine: machine(),
            warnings: self.warnings.clone(),
            ..Results::default()
        };
        let metrics = self.serve_metrics().await?;
        let mut failure = None;
        let is_sweep = self.runs.len() > 1;
        for (number, planned) in std::mem::take(&mut self.runs).into_iter().enumerate() {
            if is_sweep {
                complain(&format!("{} of {}: {}", number + 1, number + 1 + self.runs.len(), planned.label));
            }
            match self.run_one(&planned, &target, threads, processors, &metrics, &interrupt, &mut results).await {
                Ok(()) => {}
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || signalled.status().is_some() {
                break;
            }
        }
        if !results.runs.is_empty() {
            self.write(&results)?;
        }
        match failure {
            Some(failure) => Err(failure),
            None => status(&results, &signalled),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what the runs of a command share")]
    async fn run_one(
        &self,
        planned: &PlannedRun,
        target: &Arc<engine::Target>,
        threads: usize,
        processors: usize,
        metrics: &Option<(SharedPrometheus, MetricsServer)>,
        interrupt: &Interrupt,
        results: &mut Results,
    ) -> Result<(), Failure> {
        let plan = &planned.plan;
        let output = &self.options.output;
        let broker = match output.broker_pids.as_slice() {
            [] => None,
            pids => Some(Processes::new(pids.to_vec()).map_err(Failure::failed)?),
        };
        let unit = if output.uses_millis { StampUnit::Millis } else { StampUnit::Monotonic };
        let management = output.management_url.as_deref().map(HttpUrl::parse).transpose();
        let management = management.map_err(|error| Failure::usage(format!("--management-url: {error}")))?;
        let mut settings = Settings { threads, unit, broker, management };
        let (mut observers, sender) = self.observers(plan)?;
        if let Some((prometheus, _)) = metrics {
            observers.0.push(Box::new(prometheus.clone()));
        }
        let outline = Outline::of(plan, u32::try_from(processors).unwrap_or(u32::MAX));
        let dashboard = if output.has_dashboard { Dashboard::open(outline).ok() } else { None };
        if dashboard.is_none() {
            let unit = if output.uses_millis { Unit::Millis } else { Unit::Micros };
            observers.0.push(Box::new(Console::new(io::stdout(), plan, output.format, unit)));
        }
        let mut show = Show { plan, observers, dashboard, broker: None, warnings: Vec::new() };
        let result = engine::run(plan, target, &mut settings, &mut show, interrupt.clone()).await;
        results.broker = show.broker.take().or(results.broker.take());
        let outcome = match result {
            Ok(mut run) => {
                run.label.clone_from(&planned.label);
                run.variables.clone_from(&planned.variables);
                run.verdicts = verdicts(&plan.expectations, &run.summary, &run.samples);
                show.close();
                show.observers.ended(plan, &run);
                print(&render_summary(&run, u32::try_from(processors).unwrap_or(u32::MAX)))?;
                if let Some(bottleneck) = &run.summary.bottleneck {
                    results.warnings.push(bottleneck.clone());
                }
                results.runs.push(run);
                Ok(())
            }
            Err(error) => {
                show.close();
                Err(Failure::failed(error))
            }
        };
        results.warnings.append(&mut show.warnings);
        drop(show);
        if let Some(sender) = sender {
            sender.close().await;
        }
        outcome
    }

    fn observers(&self, plan: &Plan) -> Result<(Observers, Option<InfluxSender>), Failure> {
        let output = &self.options.output;
        let mut observers = Observers::default();
        let mut sender = None;
        let unit = if output.uses_millis { Unit::Millis } else { Unit::Micros };
        if let Some(path) = &output.csv {
            let file = create(path)?;
            let name = path.display().to_string();
            observers.0.push(Box::new(Csv::new(file, &name, plan, unit)));
        }
        match &output.influx {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                let (observer, handle) =
                    InfluxSender::start(url, &plan.name, &output.metrics.labels, SystemTime::now())
                        .map_err(Failure::usage)?;
                observers.0.push(Box::new(observer));
                sender = Some(handle);
            }
            Some(path) => {
                let file = create(Path::new(path))?;
                let labels = &output.metrics.labels;
                observers.0.push(Box::new(InfluxFile::new(file, path, &plan.name, labels, SystemTime::now())));
            }
            None => {}
        }
        Ok((observers, sender))
    }

    async fn serve_metrics(&self) -> Result<Option<(SharedPrometheus, MetricsServer)>, Failure> {
        let settings = &self.options.output.metrics;
        let Some(first) = self.runs.first().filter(|_| settings.is_served) else { return Ok(None) };
        let prometheus = SharedPrometheus::new(Prometheus::new(settings, &self.shown_command(), &first.plan));
        let address = std::net::SocketAddr::from(([0, 0, 0, 0], settings.port));
        let server = MetricsServer::start(address, &settings.path, prometheus.clone())
            .await
            .map_err(|error| Failure::failed(format!("cannot serve metrics on {address}: {error}")))?;
        Ok(Some((prometheus, server)))
    }

    /// The command as it may be shown to others.
    fn shown_command(&self) -> Vec<String> {
        let words = without_options(self.words, SECRET);
        let shown = words.into_iter().map(|word| without_passwords(&word));
        ["warren".to_owned(), "perf".to_owned()].into_iter().chain(shown).collect()
    }

    fn write(&self, results: &Results) -> Result<(), Failure> {
        let cannot =
            |path: &Path, error: io::Error| Failure::failed(format!("cannot write {}: {error}", path.display()));
        if let Some(path) = &self.json {
            results.save(path).map_err(|error| cannot(path, error))?;
            complain(&format!("results: {}", path.display()));
        }
        if let Some(path) = &self.html {
            html::save(path, &html::report(results, Charts::Drawn)).map_err(|error| cannot(path, error))?;
            complain(&format!("report:  {}", path.display()));
        }
        Ok(())
    }
}

/// 0, if nothing went wrong and every verdict is good.
fn status(results: &Results, signalled: &Signalled) -> Result<(), Failure> {
    if let Some(status) = signalled.status() {
        return Err(Failure::Status(status));
    }
    let is_bad =
        |run: &crate::results::Run| run.interrupted.is_some() || run.verdicts.iter().any(|verdict| !verdict.passed);
    if results.runs.iter().any(is_bad) { Err(Failure::Status(1)) } else { Ok(()) }
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    match File::create(path) {
        Ok(file) => Ok(BufWriter::new(file)),
        Err(error) => Err(Failure::failed(format!("cannot write {}: {error}", path.display()))),
    }
}

/// A word of a command, without the passwords of the addresses in it.
fn without_passwords(word: &str) -> String {
    let mut shown = String::new();
    let mut rest = word;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = after.find(['/', ',', '?']).unwrap_or(after.len());
        let (authority, following) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((user, host)) => {
                let user = user.split_once(':').map_or(user.to_owned(), |(name, _)| format!("{name}:…"));
                shown.push_str(&user);
                shown.push('@');
                shown.push_str(host);
            }
            None => shown.push_str(authority),
        }
        rest = following;
    }
    shown.push_str(rest);
    shown
}

/// Shows how a run goes.
struct Show<'a> {
    plan: &'a Plan,
    observers: Observers,
    dashboard: Option<Dashboard>,
    broker: Option<Broker>,
    warnings: Vec<String>,
}

impl Show<'_> {
    fn close(&mut self) {
        if let Some(dashboard) = self.dashboard.take() {
            // A terminal that is gone does not need the last picture.
            let _ = dashboard.close();
        }
    }
}

impl engine::Observer for Show<'_> {
    fn connected(&mut self, broker: &Broker) {
        self.broker = Some(broker.clone());
    }

    fn started(&mut self) {
        self.observers.started(self.plan);
    }

    fn sample(&mut self, sample: &Sample, total: &Counts, overall: Overall) {
        self.observers.sample(sample, total);
        while let Some(warning) = self.observers.take_warning() {
            engine::Observer::warn(self, &warning);
        }
        if let Some(dashboard) = &mut self.dashboard
            && dashboard.show(sample, overall).is_err()
        {
            self.dashboard = None;
        }
    }

    fn warn(&mut self, warning: &str) {
        match &mut self.dashboard {
            Some(dashboard) => dashboard.warn(warning),
            None => complain(&format!("warning: {warning}")),
        }
        const KEPT: usize = 100;
        if self.warnings.len() < KEPT {
            self.warnings.push(warning.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_passwords("amqp://u:secret@h:1/v,amqps://x:y@z"), "amqp://u:…@h:1/v,amqps://x:…@z");
        assert_eq!(without_passwords("--uri=amqp://h"), "--uri=amqp://h");
        assert_eq!(without_passwords("plain"), "plain");
    }
}
