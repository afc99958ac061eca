//! One run, from the first connection to the summary.

use std::sync::Arc;
use std::time::Duration;

use client::{CallError, OpenError};
use tokio::sync::{mpsc, watch};

use super::churn::ChurnTask;
use super::clock::{StampUnit, now_ns};
use super::consumer::ConsumerTask;
use super::control::{Control, Stage};
use super::idle::IdleTask;
use super::incident::{Incident, Incidents};
use super::measured::Measured;
use super::message::{Messages, MessagesError};
use super::probes::ProbeTask;
use super::publisher::PublisherTask;
use super::target::Target;
use super::topology::Declarations;
use super::users::{Arrivals, Crowd};
use super::values::NameTooLong;
use super::worker::Worker;
use crate::dashboard::Overall;
use crate::http::HttpUrl;
use crate::plan::{ExitWhen, Plan};
use crate::results::{Broker, Counts, Run, Sample};
use crate::watch::{Management, Processes};

/// How a run is done, beside what it does.
#[derive(Debug)]
pub struct Settings {
    /// Threads that generate load.
    pub threads: usize,
    /// What the time in messages means.
    pub unit: StampUnit,
    /// The broker's processes, if they are watched.
    pub broker: Option<Processes>,
    /// Where paths that users and probes ask for are below, if anywhere.
    pub management: Option<HttpUrl>,
    /// What the management API says, if it is watched.
    pub watched: Option<Management>,
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
    mut interrupt: Interrupt,
) -> Result<Run, RunError> {
    let declarations = Arc::new(Declarations::new(plan)?);
    let mut messages = Vec::new();
    for group in &plan.publishers {
        messages.push(Messages::new(group)?);
    }
    let (incidents, mut reports) = mpsc::unbounded_channel();
    let crowds = Crowd::all(plan, target, settings.management.as_ref(), &incidents, settings.unit)
        .map_err(RunError::Unsendable)?;
    if let (Some(probe), None) = (plan.probes.first(), &settings.management) {
        return Err(RunError::Failed(format!("the probe {} needs --management-url", probe.name)));
    }
    let mut admin = target.open_first(&format!("{}-topology", plan.name)).await?;
    let server = admin.server();
    observer.connected(&Broker {
        uris: target.uris.iter().map(ToString::to_string).collect(),
        product: server.product.clone(),
        version: server.version.clone(),
        variant: server.product_name.as_ref().map(|name| match &server.product_version {
            Some(version) => format!("{name} {version}"),
            None => name.clone(),
        }),
        platform: server.platform.clone(),
    });
    declarations.declare_all(&mut admin).await.map_err(RunError::Declare)?;
    // It would only be in the broker's way from here on.
    admin.close(Duration::from_secs(2)).await;

    let (stage, control) = Control::new();
    let workers = (0..settings.threads.max(1)).map(|number| Worker::start(number, control.clone()));
    let workers = workers.collect::<Result<Vec<_>, _>>()?;
    let mut crew = Crew { plan, target, workers: &workers, next_worker: 0, task_count: 0 };
    // Consumers first: what is published to a queue that they have yet to name would be lost.
    crew.start_consumers(&declarations, &incidents, settings.unit);
    crew.wait_until_ready(&mut reports, 0, &mut interrupt, &stage).await?;
    let consumer_task_count = crew.task_count;
    crew.start_publishers(&messages, &incidents, settings.unit);
    crew.start_idle(&incidents);
    crew.start_churns(&incidents);
    crew.start_probes(settings.management.as_ref(), &incidents);
    crew.start_users(&crowds);
    crew.wait_until_ready(&mut reports, consumer_task_count, &mut interrupt, &stage).await?;
    let task_count = crew.task_count;

    let mut measured = Measured::new(plan, settings, task_count);
    // What getting ready took is nobody's business.
    measured.collect(&workers).await;
    let start = now_ns();
    measured.begin(start);
    stage.send_replace(Stage::Running { start });
    observer.started();
    measured.watch(&workers, observer, &mut reports, &mut interrupt).await;
    let stopped_at = now_ns();
    stage.send_replace(Stage::Draining);
    measured.drain(&workers, &mut reports, &mut interrupt).await;
    measured.look_for_rest(target, &declarations).await;
    stage.send_replace(Stage::Ended);
    measured.wait_for_ends(&mut reports).await;
    measured.final_collect(&workers).await;
    tokio::task::spawn_blocking(move || workers.into_iter().try_for_each(Worker::join))
        .await
        .map_err(|error| RunError::Failed(error.to_string()))??;
    if plan.queues.iter().any(|queues| queues.is_temporary)
        && let Ok(mut admin) = target.open_first(&format!("{}-cleanup", plan.name)).await
    {
        if let Err(error) = declarations.delete_temporary(&mut admin).await {
            observer.warn(&format!("what the run declared could not all be deleted: {error}"));
        }
        admin.close(Duration::from_secs(2)).await;
    }
    Ok(measured.into_run(stopped_at))
}

/// Those who do the work, while they are put to it.
struct Crew<'a> {
    plan: &'a Plan,
    target: &'a Arc<Target>,
    workers: &'a [Worker],
    next_worker: usize,
    task_count: usize,
}

impl Crew<'_> {
    fn next_worker(&mut self) -> &Worker {
        let worker = &self.workers[self.next_worker % self.workers.len()];
        self.next_worker += 1;
        self.task_count += 1;
        worker
    }

    fn start_consumers(&mut self, declarations: &Arc<Declarations>, incidents: &Incidents, unit: StampUnit) {
        for group in &self.plan.consumers {
            let shared = Arc::new(group.clone());
            for number in 0..group.connections {
                let task = ConsumerTask {
                    group: Arc::clone(&shared),
                    declarations: Arc::clone(declarations),
                    target: Arc::clone(self.target),
                    incidents: incidents.clone(),
                    unit,
                    seed: self.plan.seed,
                    first_index: number * group.channels,
                    publisher_count: publisher_count(self.plan),
                    name: format!("{}-{}-{number}", self.plan.name, group.name),
                    is_watching_for_empty: self.plan.exit_when == Some(ExitWhen::Empty),
                };
                self.next_worker().spawn(|local| task.run(local));
            }
        }
    }

    fn start_publishers(&mut self, messages: &[Arc<Messages>], incidents: &Incidents, unit: StampUnit) {
        let mut first_publisher = 0;
        for (group_at, (group, messages)) in self.plan.publishers.iter().zip(messages).enumerate() {
            let shared = Arc::new(group.clone());
            for number in 0..group.connections {
                let task = PublisherTask {
                    group: Arc::clone(&shared),
                    messages: Arc::clone(messages),
                    target: Arc::clone(self.target),
                    incidents: incidents.clone(),
                    unit,
                    seed: self.plan.seed.wrapping_add(group_at as u64),
                    first_publisher,
                    first_index: number * group.channels,
                    group_count: group.connections * group.channels,
                    name: format!("{}-{}-{number}", self.plan.name, group.name),
                };
                first_publisher += group.channels;
                self.next_worker().spawn(|local| task.run(local));
            }
        }
    }

    fn start_idle(&mut self, incidents: &Incidents) {
        let workers = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        for number in 0..workers {
            // The first ones have one more, where it does not come out even.
            let count = self.plan.idle_connections / workers + u32::from(number < self.plan.idle_connections % workers);
            if count == 0 {
                continue;
            }
            let task = IdleTask {
                target: Arc::clone(self.target),
                incidents: incidents.clone(),
                count,
                seed: self.plan.seed.wrapping_add(number.into()),
                name: format!("{}-idle-{number}", self.plan.name),
            };
            self.next_worker().spawn(|local| task.run(local));
        }
    }

    fn start_churns(&mut self, incidents: &Incidents) {
        for (at, churn) in self.plan.churns.iter().enumerate() {
            let shared = Arc::new(churn.clone());
            for index in 0..churn.workers {
                let task = ChurnTask {
                    churn: Arc::clone(&shared),
                    target: Arc::clone(self.target),
                    incidents: incidents.clone(),
                    index,
                    seed: self.plan.seed.wrapping_add(at as u64),
                    name: format!("{}-{}-{index}", self.plan.name, churn.name),
                };
                self.next_worker().spawn(|local| task.run(local));
            }
        }
    }

    fn start_probes(&mut self, management: Option<&HttpUrl>, incidents: &Incidents) {
        // Without one there are no probes: that was found out before.
        let Some(management) = management else { return };
        for probe in &self.plan.probes {
            let url = management.below(&probe.path);
            let task = ProbeTask { probe: probe.clone(), url, incidents: incidents.clone() };
            self.next_worker().spawn(|local| task.run(local));
        }
    }

    fn start_users(&mut self, crowds: &[Arc<Crowd>]) {
        let step = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        for crowd in crowds {
            for first in 0..step {
                let arrivals = Arrivals { crowd: Arc::clone(crowd), first, step };
                self.next_worker().spawn(|local| arrivals.run(local));
            }
        }
    }

    /// Waits until all that were started after the first `already` are ready.
    async fn wait_until_ready(
        &self,
        reports: &mut mpsc::UnboundedReceiver<Incident>,
        already: usize,
        interrupt: &mut Interrupt,
        stage: &watch::Sender<Stage>,
    ) -> Result<(), RunError> {
        let mut ready = already;
        while ready < self.task_count {
            let incident = tokio::select! {
                incident = reports.recv() => incident,
                _ = interrupt.wait_for(|is_over| *is_over) => None,
            };
            match incident {
                Some(Incident::Ready) => ready += 1,
                Some(Incident::Failed(reason)) => {
                    stage.send_replace(Stage::Ended);
                    return Err(RunError::Failed(reason));
                }
                Some(_) => {}
                None => {
                    stage.send_replace(Stage::Ended);
                    return Err(RunError::Interrupted);
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn publisher_count(plan: &Plan) -> u32 {
    plan.publishers.iter().map(|group| group.connections * group.channels).sum()
}
