//! One run, from the first connection to the summary.

use std::sync::Arc;
use std::time::Duration;

use client::{CallError, Connection, OpenError};
use net::ClientTls;
use tokio::sync::watch;

use super::clock::{StampUnit, now_ns};
use super::force::{Force, Reports};
use super::incident::Incident;
use super::measured::Measured;
use super::message::MessagesError;
use super::share::Share;
use super::target::{GOODBYE, Target};
use super::threads::Threads;
use super::topology::Declarations;
use super::values::NameTooLong;
use crate::agents::Team;
use crate::dashboard::Overall;
use crate::plan::{Plan, Random};
use crate::results::{Broker, Counts, Run, Sample};
use crate::watch::{Management, Processes};
use http_client::HttpUrl;

/// How long a connection to clean up over may take.
const CLEANUP_PATIENCE: Duration = Duration::from_secs(10);
/// Queues that are asked for what is left in them, one by one.
const ASKED_QUEUES: usize = 10_000;

/// How a run is done, beside what it does.
#[derive(Debug)]
pub struct Settings {
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
    /// Whom to trust at whole `https://` URLs that users ask for, if not whom the system does.
    pub https: Option<ClientTls>,
    /// What the management API says, if it is watched.
    pub watched: Option<Management>,
    /// Who generates the load instead of threads here.
    pub agents: Option<Team>,
}

/// Why there was no run at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no connection to the broker.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The broker does not let something be declared.
    #[error("cannot declare what the run needs: {0}")]
    Declare(CallError),
    /// Something cannot be sent as it is.
    #[error("{0}")]
    Unsendable(String),
    /// Publishers or consumers cannot start.
    #[error("{0}")]
    Failed(String),
    /// The system refuses threads or timers.
    #[error("cannot start threads: {0}")]
    Threads(#[from] std::io::Error),
    /// Somebody interrupted it before it began.
    #[error("interrupted before it began")]
    Interrupted,
}

impl From<NameTooLong> for RunError {
    fn from(error: NameTooLong) -> Self {
        RunError::Unsendable(error.to_string())
    }
}

impl From<MessagesError> for RunError {
    fn from(error: MessagesError) -> Self {
        RunError::Unsendable(error.to_string())
    }
}

/// Who is told how a run goes. All is called from one task.
pub trait Observer {
    /// The broker is there; this is what it says of itself.
    fn connected(&mut self, broker: &Broker);
    /// Everybody is ready: it begins.
    fn started(&mut self);
    /// An interval has passed. `total` counts since the start, `overall` has the latencies since the warm-up.
    fn sample(&mut self, sample: &Sample, total: &Counts, overall: Overall);
    /// Something went wrong that does not end the run.
    fn warn(&mut self, warning: &str);
}

/// Ends a run early, from outside: Ctrl-C.
pub type Interrupt = watch::Receiver<bool>;

/// Does one run.
pub async fn run(
    plan: &Plan,
    target: &Arc<Target>,
    settings: &mut Settings,
    observer: &mut dyn Observer,
    interrupt: Interrupt,
) -> Result<Run, RunError> {
    let declarations = Arc::new(Declarations::new(plan)?);
    let frame = Frame { plan, target, declarations: &declarations };
    match settings.agents.take() {
        Some(team) => {
            let (agents, reports) = team.enlist(plan);
            frame.conduct(agents, reports, settings, observer, interrupt).await
        }
        None => {
            let (threads, reports) = Threads::new(plan, target, &declarations, settings, Share::WHOLE)?;
            frame.conduct(threads, reports, settings, observer, interrupt).await
        }
    }
}

/// What there is of a run before anybody does anything.
pub(crate) struct Frame<'a> {
    plan: &'a Plan,
    target: &'a Target,
    declarations: &'a Declarations,
}

impl Frame<'_> {
    /// Declares, runs, and deletes what was only for the run, whatever has become of it.
    async fn conduct(
        &self,
        force: impl Force,
        reports: Reports,
        settings: &mut Settings,
        observer: &mut dyn Observer,
        mut interrupt: Interrupt,
    ) -> Result<Run, RunError> {
        if let (Some(probe), None) = (self.plan.probes.first(), &settings.management) {
            return Err(RunError::Failed(format!("the probe {} needs --management-url", probe.name)));
        }
        let mut temporary = 0;
        let declared = tokio::select! {
            declared = self.declare(observer, &mut temporary) => declared,
            _ = interrupt.wait_for(|is_over| *is_over) => Err(RunError::Interrupted),
        };
        let result = match declared {
            Ok(()) => self.load(force, reports, settings, observer, interrupt).await,
            Err(error) => Err(error),
        };
        if temporary > 0
            && let Err(error) = self.clean_up(temporary).await
        {
            observer.warn(&format!("what the run declared could not all be deleted: {error}"));
        }
        result
    }

    /// From when all is declared until all have said goodbye.
    async fn load(
        &self,
        mut force: impl Force,
        mut reports: Reports,
        settings: &mut Settings,
        observer: &mut dyn Observer,
        mut interrupt: Interrupt,
    ) -> Result<Run, RunError> {
        // Consumers first: what is published to a queue that they have yet to name would be lost.
        let consumer_task_count = force.start_consumers().await?;
        let mut early = Vec::new();
        wait_until_ready(consumer_task_count, &mut reports, &mut early, &mut interrupt).await?;
        let other_task_count = force.start_others().await?;
        wait_until_ready(other_task_count, &mut reports, &mut early, &mut interrupt).await?;
        let task_count = consumer_task_count + other_task_count;

        let mut measured = Measured::new(self.plan, settings, task_count, force.thread_count());
        measured.collect_early(&mut force).await;
        let start = force.start();
        tokio::time::sleep(Duration::from_nanos(start.saturating_sub(now_ns()))).await;
        measured.begin(start, &mut force);
        observer.started();
        measured.watch(self, &mut force, observer, &mut reports, early, &mut interrupt).await;
        let stopped_at = now_ns();
        force.drain();
        let is_drained = measured.drain(&mut force, &mut reports, &mut interrupt).await;
        measured.look_for_rest(self, is_drained).await;
        // Not after the end: what a consumer who leaves has not acked would be seen again by those who leave later.
        measured.collect_late(&mut force).await;
        force.end();
        measured.wait_for_ends(&mut reports).await;
        if let Err(error) = force.join().await {
            // What was measured is there all the same.
            observer.warn(&error.to_string());
            measured.interrupt(error.to_string());
        }
        Ok(measured.into_run(stopped_at))
    }

    /// Connects, and declares what the run needs. Counts in `temporary` what is to be deleted, also when it fails or is given up.
    async fn declare(&self, observer: &mut dyn Observer, temporary: &mut usize) -> Result<(), RunError> {
        let mut admin = self.target.open_first(&format!("{}-topology", self.plan.name)).await?;
        let server = admin.server();
        observer.connected(&Broker {
            uris: self.target.uris.iter().map(ToString::to_string).collect(),
            product: server.product.clone(),
            version: server.version.clone(),
            variant: server.product_name.as_ref().map(|name| match &server.product_version {
                Some(version) => format!("{name} {version}"),
                None => name.clone(),
            }),
            platform: server.platform.clone(),
        });
        self.declarations.declare_all(&mut admin, temporary).await.map_err(RunError::Declare)?;
        // It would only be in the broker's way from here on.
        admin.close(GOODBYE).await;
        Ok(())
    }

    /// Deletes the first `count` queues of those that are only for the run.
    async fn clean_up(&self, count: usize) -> Result<(), RunError> {
        let opening = tokio::time::timeout(CLEANUP_PATIENCE, self.admin("cleanup"));
        let late = |_| RunError::Failed("there is no connection to the broker".to_owned());
        let mut admin = opening.await.map_err(late)??;
        let deleted = self.declarations.delete_temporary(&mut admin, count).await;
        admin.close(GOODBYE).await;
        deleted.map_err(|error| RunError::Failed(error.to_string()))
    }

    /// Whether queues can be asked from here, and are not too many.
    pub(crate) fn can_ask_queues(&self) -> bool {
        let queue_count: usize = self.plan.queues.iter().map(|queues| queues.names.len()).sum();
        queue_count <= ASKED_QUEUES && !self.declarations.has_own_queues()
    }

    /// How many messages are ready in all queues. `None`: the broker has not said so in time.
    pub(crate) async fn ready_count(&self, patience: Duration) -> Option<u64> {
        let asking = async {
            let mut admin = self.admin("rest").await.ok()?;
            let count = self.declarations.ready_count(&mut admin).await;
            admin.close(GOODBYE).await;
            count
        };
        tokio::time::timeout(patience, asking).await.ok().flatten()
    }

    async fn admin(&self, what_for: &str) -> Result<Connection, OpenError> {
        self.target.open(&format!("{}-{what_for}", self.plan.name), &mut Random::new(self.plan.seed, 0)).await
    }
}

/// Waits until so many are ready. What is said besides goes to `early`: a consumer may be done before the start.
async fn wait_until_ready(
    count: usize,
    reports: &mut Reports,
    early: &mut Vec<Incident>,
    interrupt: &mut Interrupt,
) -> Result<(), RunError> {
    let mut ready = 0;
    while ready < count {
        let incident = tokio::select! {
            incident = reports.recv() => incident,
            _ = interrupt.wait_for(|is_over| *is_over) => None,
        };
        match incident {
            Some(Incident::Ready) => ready += 1,
            Some(Incident::Failed(reason) | Incident::AgentLost(reason)) => return Err(RunError::Failed(reason)),
            Some(other) => early.push(other),
            None => return Err(RunError::Interrupted),
        }
    }
    Ok(())
}

pub(crate) fn publisher_count(plan: &Plan) -> u32 {
    plan.publishers.iter().map(|group| group.connections * group.channels).sum()
}
