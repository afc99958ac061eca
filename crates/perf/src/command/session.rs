//! A command that generates load: its runs one after the other, what is shown meanwhile, what is written at the end.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use amqp_client::without_passwords;
use figures::format::clock;

use super::files::Files;
use super::target::{Https, target};
use super::{Failure, complain, oauth2, put};
use crate::agents::{AgentPool, Job, Order};
use crate::dashboard::{Dashboard, Outline, Overall};
use crate::engine::{self, Interrupt, Settings, StampUnit};
use crate::output::{ANY_ADDRESS, Outputs, render_summary};
use crate::perftest::{Options, without_secret_urls, without_secrets};
use crate::plan::Plan;
use crate::report::verdict::verdicts;
use crate::results::{Broker, Counts, Results, Run, SCHEMA, Sample};
use crate::watch::{Management, Processes, machine};
use crate::workload::PlannedRun;
use http_client::HttpUrl;

/// What a command is to do.
pub(crate) struct Session {
    pub(crate) options: Box<Options>,
    /// The words after `warren perf`, and what they meant here.
    pub(crate) order: Order,
    pub(crate) name: String,
    pub(crate) description: String,
    /// The workload file's text.
    pub(crate) workload: Option<String>,
    pub(crate) seed: u64,
    pub(crate) runs: Vec<PlannedRun>,
    pub(crate) files: Files,
    pub(crate) warnings: Vec<String>,
}

/// What a command reaches, and how.
struct Reach {
    target: Arc<engine::Target>,
    management: Option<HttpUrl>,
    /// For everything else.
    https: Https,
}

/// How long a workload will take: it may say nothing for the whole of that.
fn announcement(name: &str, runs: &[PlannedRun]) -> String {
    let runs_text = if runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", runs.len()) };
    let whole = runs.iter().map(|run| run.plan.duration).sum::<Option<Duration>>();
    let time = match whole {
        Some(whole) => format!("{} minutes in all", clock(whole.as_secs_f64())),
        None => "until its work is done".to_owned(),
    };
    format!("{name}: {runs_text}, {time}. Ctrl-C ends it, and reports what has been measured.")
}

/// Does all of it, on a runtime of its own.
pub(crate) fn execute(session: Session) -> Result<(), Failure> {
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

impl Session {
    /// What one of its runs comes to on this machine, if another one has given the order. `unit` is for times that are
    /// not the wall clock's.
    pub(crate) async fn into_job(mut self, unit: StampUnit) -> Result<Job, String> {
        let number = self.order.run;
        if number >= self.runs.len() {
            return Err(format!("no run {}", number + 1));
        }
        let told = |failure| match failure {
            Failure::Usage(text) | Failure::Failed(text) => text,
            Failure::Status(_) => String::new(),
        };
        let reach = self.reach().await.map_err(told)?;
        let unit = if self.options.output.uses_millis { StampUnit::Millis } else { unit };
        let settings = Settings {
            threads: self.threads(),
            nice: self.options.nice,
            unit,
            broker: None,
            management: reach.management,
            https: reach.https.given().map_err(told)?,
            watched: None,
        };
        Ok(Job { plan: self.runs.swap_remove(number).plan, target: reach.target, settings })
    }

    async fn reach(&self) -> Result<Reach, Failure> {
        let https = Https::new(&self.options.connection.tls);
        let management = self.options.output.management_url.as_deref();
        let management = management.map(|url| https.url("--management-url", url)).transpose()?;
        let is_spread = self.runs.iter().any(|run| !run.plan.users.is_empty() || run.plan.idle_connections > 0);
        let mut target = target(&self.options.connection, is_spread)?;
        if let Some(settings) = &self.options.connection.oauth2 {
            let url = https.url("--oauth2-token-endpoint", &settings.token_endpoint)?;
            target.options.secrets = Some(oauth2::tokens(url, settings).await?);
        }
        Ok(Reach { target: Arc::new(target), management, https })
    }

    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.options.threads.unwrap_or(processors)
    }

    async fn run(mut self) -> Result<(), Failure> {
        self.files.check().map_err(Failure::Failed)?;
        let interrupt = terminal::Interrupt::listen().map_err(Failure::failed)?;
        let reach = self.reach().await?;
        let mut results = Results {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.name.clone(),
            description: without_secret_urls(&self.description),
            command: self.shown_command(),
            workload: self.workload.take().map(|text| without_secret_urls(&text)),
            started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            seed: self.seed,
            machine: machine(),
            warnings: self.warnings.clone(),
            ..Results::default()
        };
        let mut failure = None;
        let mut is_unwritten = false;
        let runs = std::mem::take(&mut self.runs);
        let count = runs.len();
        if results.workload.is_some() {
            complain(&announcement(&self.name, &runs));
        }
        for (number, planned) in runs.iter().enumerate() {
            if count > 1 {
                complain(&format!("{} of {count}: {}", number + 1, planned.label));
            }
            let done = Box::pin(self.run_one(planned, number, &reach, &interrupt.receiver(), &mut results)).await;
            if done.is_ok() {
                // What is measured is kept, whatever becomes of the runs after it.
                let written = self.files.write(&results);
                is_unwritten = written.is_err();
                written.unwrap_or_else(|problem| complain(&problem));
            }
            failure = done.err();
            if failure.is_some() || interrupt.status().is_some() {
                break;
            }
        }
        if !results.runs.is_empty() && !is_unwritten {
            self.files.tell();
        }
        match failure {
            Some(failure) => Err(failure),
            None if is_unwritten => Err(Failure::Status(1)),
            None => status(&results, &interrupt),
        }
    }

    async fn run_one(
        &self,
        planned: &PlannedRun,
        number: usize,
        reach: &Reach,
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
        let management = reach.management.clone();
        let watched = match &management {
            Some(url) => Some(Management::start(url, plan.interval).await.map_err(Failure::failed)?),
            None => None,
        };
        // Last: agents do not wait for long until they hear more.
        let agents = self.agents(number).await?;
        let https = reach.https.given()?;
        let (threads, nice) = (self.threads(), self.options.nice);
        let mut settings = Settings { threads, nice, unit, broker, management, https, watched };
        let processors = agents.as_ref().map_or(results.machine.processors, AgentPool::processors);
        results.generator_processors = processors;
        let outline = Outline::of(plan, processors, agents.is_some());
        let dashboard = if output.has_dashboard { Dashboard::open(outline).ok() } else { None };
        let outputs = self.outputs(plan, number, &reach.https, dashboard.is_none()).await?;
        let mut show = Show { plan, outputs, dashboard, broker: None, warnings: Vec::new() };
        if let Some(pool) = &agents {
            results.agents = pool.names().map(str::to_owned).collect();
            let error_us = pool.clock_error_ns().div_ceil(1_000);
            engine::Observer::warn(&mut show, &format!("the agents' clocks agree within ±{error_us} µs"));
        }
        let result = engine::run(plan, &reach.target, &mut settings, agents, &mut show, interrupt.clone()).await;
        let Show { outputs, dashboard, broker, mut warnings, .. } = show;
        if let Some(dashboard) = dashboard {
            // A closed terminal does not need the last picture.
            let _ = dashboard.close();
        }
        results.broker = broker.or(results.broker.take());
        let mut run = match result {
            Ok(run) => run,
            Err(error) => return Err(Failure::failed(error)),
        };
        run.label.clone_from(&planned.label);
        run.variables.clone_from(&planned.variables);
        run.verdicts = verdicts(&plan.expectations, &run.summary, &run.samples);
        warnings.extend(outputs.close(plan, &run).await);
        results.warnings.append(&mut warnings);
        add(run, processors, results, put);
        Ok(())
    }

    /// The machines that take part in run `number`, if there are any besides this one.
    async fn agents(&self, number: usize) -> Result<Option<AgentPool>, Failure> {
        if self.options.agents.is_empty() {
            return Ok(None);
        }
        let token = self.options.agent_token.clone().unwrap_or_default();
        let order = Order { run: number, ..self.order.clone() };
        Ok(Some(AgentPool::connect(&self.options.agents, &token, order).await.map_err(Failure::failed)?))
    }

    /// What is written and served during run `number` of several. Each writes files of its own.
    async fn outputs(&self, plan: &Plan, number: usize, https: &Https, has_console: bool) -> Result<Outputs, Failure> {
        let mut settings = self.options.output.clone();
        if number > 0 {
            settings.csv = settings.csv.map(|path| numbered(&path, number));
            settings.influx = settings.influx.map(|target| match target.contains("://") {
                true => target,
                false => numbered(Path::new(&target), number).display().to_string(),
            });
        }
        let tls = match &settings.influx {
            Some(target) if target.starts_with("https://") => Some(https.tls()?),
            _ => None,
        };
        let console = has_console.then(|| Box::new(io::stdout()) as Box<dyn Write + Send>);
        let command = without_secrets(&self.order.words);
        Outputs::open(&settings, plan, &command, tls, console, &ANY_ADDRESS).await.map_err(Failure::failed)
    }

    /// The command as it may be shown to others.
    fn shown_command(&self) -> Vec<String> {
        let words = without_secrets(&self.order.words);
        ["warren".to_owned(), "perf".to_owned()].into_iter().chain(words).collect()
    }
}

/// Adds a run to the results, and prints its summary. What was measured is not lost because it cannot be printed.
fn add(run: Run, processors: u32, results: &mut Results, put: impl FnOnce(&str) -> io::Result<()>) {
    let summary = render_summary(&run, processors);
    results.warnings.extend(run.summary.bottleneck.clone());
    results.runs.push(run);
    if let Err(error) = put(&summary) {
        let warning = format!("the summary could not be printed: {error}");
        complain(&format!("warning: {warning}"));
        results.warnings.push(warning);
    }
}

/// 0, if nothing went wrong and every verdict is good.
fn status(results: &Results, interrupt: &terminal::Interrupt) -> Result<(), Failure> {
    if let Some(status) = interrupt.status() {
        return Err(Failure::Status(status));
    }
    let is_bad = |run: &Run| run.interrupted.is_some() || run.verdicts.iter().any(|verdict| !verdict.passed);
    if results.runs.iter().any(is_bad) { Err(Failure::Status(1)) } else { Ok(()) }
}

/// `out.csv` becomes `out-2.csv` for the second run.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|extension| format!(".{}", extension.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{}{extension}", number + 1))
}

/// Shows a run's progress.
struct Show<'a> {
    plan: &'a Plan,
    outputs: Outputs,
    dashboard: Option<Dashboard>,
    broker: Option<Broker>,
    warnings: Vec<String>,
}

impl engine::Observer for Show<'_> {
    fn connected(&mut self, broker: &Broker) {
        self.broker = Some(broker.clone());
    }

    fn started(&mut self) {
        self.outputs.started(self.plan, SystemTime::now());
    }

    fn sample(&mut self, sample: &Sample, total: &Counts, overall: Overall) {
        self.outputs.sample(sample, total);
        while let Some(warning) = self.outputs.take_warning() {
            engine::Observer::warn(self, &warning);
        }
        if let Some(dashboard) = &mut self.dashboard
            && dashboard.show(sample, overall).is_err()
        {
            self.dashboard = None;
        }
    }

    fn warn(&mut self, warning: &str) {
        let warning = without_passwords(warning);
        match &mut self.dashboard {
            Some(dashboard) => dashboard.warn(warning.as_str()),
            None => complain(&format!("warning: {warning}")),
        }
        const KEPT: usize = 100;
        if self.warnings.len() < KEPT {
            self.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn run_is_kept_when_its_summary_cannot_be_printed() {
        let mut results = Results::default();
        add(Run::default(), 2, &mut results, |_| Err(io::ErrorKind::StorageFull.into()));
        assert_eq!(results.runs.len(), 1);
        assert!(results.warnings[0].starts_with("the summary could not be printed: "), "{:?}", results.warnings);
    }

    #[test]
    fn runs_after_the_first_write_files_of_their_own() {
        assert_eq!(numbered(Path::new("a/out.csv"), 1), Path::new("a/out-2.csv"));
        assert_eq!(numbered(Path::new("out"), 2), Path::new("out-3"));
    }

    #[test]
    fn a_workload_says_how_long_it_takes() {
        let run = |seconds: Option<u64>| PlannedRun {
            label: String::new(),
            variables: BTreeMap::new(),
            plan: Plan { duration: seconds.map(Duration::from_secs), ..Plan::default() },
        };
        let end = "Ctrl-C ends it, and reports what has been measured.";
        assert_eq!(announcement("burst", &[run(Some(60))]), format!("burst: 1 run, 1:00 minutes in all. {end}"));
        let twice = [run(Some(60)), run(Some(60))];
        assert_eq!(announcement("n", &twice), format!("n: 2 runs, 2:00 minutes in all. {end}"));
        assert_eq!(announcement("n", &[run(None)]), format!("n: 1 run, until its work is done. {end}"));
    }
}
