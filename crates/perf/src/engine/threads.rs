//! Threads of this process, which do a part of a run: usually all of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::churn::ChurnTask;
use super::clock::{StampUnit, now_ns};
use super::consumer::ConsumerTask;
use super::control::{Conductor, Control};
use super::followed::says_whose_it_is;
use super::idle::IdleTask;
use super::incident::Incidents;
use super::load_share::{Assignment, LoadShare, first_publisher};
use super::message::Messages;
use super::probes::ProbeTask;
use super::publisher::PublisherTask;
use super::recorder::CollectedInterval;
use super::run_error::RunError;
use super::settings::Settings;
use super::target::Target;
use super::topology::Declarations;
use super::users::{Arrivals, Crowd};
use super::worker::Worker;
use super::workers::{Reports, Workers};
use crate::plan::{Plan, Probe};
use crate::results::Usage;
use crate::watch::Processes;
use http_client::HttpUrl;

/// How long threads may take once their tasks were to end.
const ENDING_MAX: Duration = Duration::from_secs(20);

/// Threads, and what they are to do.
#[derive(Debug)]
pub(crate) struct Threads<'a> {
    plan: &'a Plan,
    target: &'a Arc<Target>,
    declarations: &'a Arc<Declarations>,
    share: LoadShare,
    assignment: Assignment,
    unit: StampUnit,
    management: Option<HttpUrl>,
    messages: Vec<Arc<Messages>>,
    crowds: Vec<Arc<Crowd>>,
    incidents: Incidents,
    conductor: Conductor,
    workers: Vec<Worker>,
    /// Asks the management API. Not one of those that generate load: how long answers take is not to depend on how busy these are.
    prober: Option<Worker>,
    next_worker: usize,
    task_count: usize,
    own: Processes,
}

impl<'a> Threads<'a> {
    /// Starts threads for a part of a plan.
    pub(crate) fn new(
        plan: &'a Plan,
        target: &'a Arc<Target>,
        declarations: &'a Arc<Declarations>,
        settings: &Settings,
        share: LoadShare,
    ) -> Result<(Self, Reports), RunError> {
        let mut messages = Vec::new();
        for group in &plan.publishers {
            messages.push(Messages::new(group)?);
        }
        let (incidents, reports) = mpsc::unbounded_channel();
        let management = settings.management.clone();
        let crowds = Crowd::all(plan, target, settings, &incidents);
        let crowds = crowds.map_err(RunError::Unsendable)?;
        let (conductor, control) = Control::new();
        let start = |number| Worker::start(format!("load-{number}"), settings.nice, control.clone());
        let workers = (0..settings.threads.max(1)).map(start).collect::<Result<Vec<_>, _>>()?;
        let assignment = share.of(plan);
        let has_probes = !assignment.probes.is_empty();
        let prober = has_probes.then(|| Worker::start("probes".to_owned(), None, control)).transpose()?;
        let threads = Threads {
            plan,
            target,
            declarations,
            share,
            assignment,
            unit: settings.unit,
            management,
            messages,
            crowds,
            incidents,
            conductor,
            workers,
            prober,
            next_worker: 0,
            task_count: 0,
            own: Processes::own(),
        };
        Ok((threads, reports))
    }

    /// Lets all begin at a time that has come, or is about to.
    pub(crate) fn start_at(&mut self, start: u64) {
        self.conductor.start_at(start);
    }

    fn next_worker(&mut self) -> &Worker {
        let worker = &self.workers[self.next_worker % self.workers.len()];
        self.next_worker += 1;
        self.task_count += 1;
        worker
    }

    fn start_publishers(&mut self) {
        let mut groups = BTreeMap::new();
        for (group_at, number) in std::mem::take(&mut self.assignment.publishers) {
            let group = &self.plan.publishers[group_at];
            let shared = groups.entry(group_at).or_insert_with(|| Arc::new(group.clone()));
            let task = PublisherTask {
                group: Arc::clone(shared),
                messages: Arc::clone(&self.messages[group_at]),
                target: Arc::clone(self.target),
                incidents: self.incidents.clone(),
                unit: self.unit,
                seed: self.plan.seed.wrapping_add(group_at as u64),
                first_publisher: first_publisher(self.plan, group_at) + number * group.channels,
                first_index: number * group.channels,
                group_count: group.connections * group.channels,
                name: format!("{}-{}-{number}", self.plan.name, group.name),
            };
            self.next_worker().spawn(|local| task.run(local));
        }
    }

    fn start_idle(&mut self) {
        let (workers, idle) = (u32::try_from(self.workers.len()).unwrap_or(u32::MAX), self.assignment.idle_connections);
        for number in 0..workers {
            // The first ones have one more, where it does not come out even.
            let count = idle / workers + u32::from(number < idle % workers);
            if count == 0 {
                continue;
            }
            let lane = self.share.lane(number);
            let task = IdleTask {
                target: Arc::clone(self.target),
                incidents: self.incidents.clone(),
                count,
                seed: self.plan.seed.wrapping_add(lane.into()),
                name: format!("{}-idle-{lane}", self.plan.name),
            };
            self.next_worker().spawn(|local| task.run(local));
        }
    }

    fn start_churns(&mut self) {
        let mut churns = BTreeMap::new();
        for (at, index) in std::mem::take(&mut self.assignment.churns) {
            let churn = &self.plan.churns[at];
            let shared = churns.entry(at).or_insert_with(|| Arc::new(churn.clone()));
            let task = ChurnTask {
                churn: Arc::clone(shared),
                target: Arc::clone(self.target),
                incidents: self.incidents.clone(),
                index,
                seed: self.plan.seed.wrapping_add(at as u64),
                name: format!("{}-{}-{index}", self.plan.name, churn.name),
            };
            self.next_worker().spawn(|local| task.run(local));
        }
    }

    fn start_probes(&mut self) {
        // Without one there are no probes: that was found out before.
        let (Some(management), Some(prober)) = (self.management.clone(), &self.prober) else { return };
        let count_of = |probes: &[Probe]| probes.iter().map(|probe| u64::from(probe.count)).sum::<u64>();
        for (at, number) in std::mem::take(&mut self.assignment.probes) {
            let probe = self.plan.probes[at].clone();
            let place = (count_of(&self.plan.probes[..at]) + u64::from(number), count_of(&self.plan.probes));
            let url = management.below(&probe.path);
            let url = match &probe.user {
                Some(user) => url.with_user(&user.name, &user.password),
                None => url,
            };
            let task = ProbeTask { probe, place, url, incidents: self.incidents.clone() };
            prober.spawn(|local| task.run(local));
            self.task_count += 1;
        }
    }

    fn start_users(&mut self) {
        let workers = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        // Threads take turns at users, and so do machines.
        let step = self.share.step(workers);
        for crowd in self.crowds.clone() {
            for number in 0..workers {
                let arrivals = Arrivals { crowd: Arc::clone(&crowd), first: self.share.lane(number), step };
                self.next_worker().spawn(|local| arrivals.run(local));
            }
        }
    }
}

impl Workers for Threads<'_> {
    async fn start_consumers(&mut self) -> Result<usize, RunError> {
        let already = self.task_count;
        let mut groups = BTreeMap::new();
        for (group_at, number) in std::mem::take(&mut self.assignment.consumers) {
            let group = &self.plan.consumers[group_at];
            let shared = groups.entry(group_at).or_insert_with(|| Arc::new(group.clone()));
            let task = ConsumerTask {
                group: Arc::clone(shared),
                declarations: Arc::clone(self.declarations),
                target: Arc::clone(self.target),
                incidents: self.incidents.clone(),
                unit: self.unit,
                seed: self.plan.seed,
                first_index: number * group.channels,
                // Numbers of publishers cannot be distinguished from what a user has put in their place.
                publisher_count: if says_whose_it_is(self.plan) { self.plan.publisher_count() } else { 0 },
                name: format!("{}-{}-{number}", self.plan.name, group.name),
            };
            self.next_worker().spawn(|local| task.run(local));
        }
        Ok(self.task_count - already)
    }

    async fn start_others(&mut self) -> Result<usize, RunError> {
        let already = self.task_count;
        self.start_publishers();
        self.start_idle();
        self.start_churns();
        self.start_probes();
        self.start_users();
        Ok(self.task_count - already)
    }

    fn thread_count(&self) -> usize {
        self.workers.iter().chain(&self.prober).count()
    }

    fn start(&mut self) -> u64 {
        let start = now_ns();
        self.start_at(start);
        start
    }

    async fn collect(&mut self) -> Vec<Option<CollectedInterval>> {
        let mut all = Vec::new();
        for worker in self.workers.iter().chain(&self.prober) {
            all.push(worker.collect().await);
        }
        all
    }

    fn usage(&mut self) -> Usage {
        self.own.sample()
    }

    fn drain(&mut self) {
        self.conductor.drain();
    }

    fn end(&mut self) {
        self.conductor.end();
    }

    async fn join(self) -> Result<(), RunError> {
        let mut workers = self.workers.into_iter().chain(self.prober);
        let joining = tokio::task::spawn_blocking(move || workers.try_for_each(Worker::join));
        match tokio::time::timeout(ENDING_MAX, joining).await {
            Ok(joined) => Ok(joined.map_err(|error| RunError::Failed(error.to_string()))??),
            Err(_) => {
                let reason = format!("threads of the generator did not end within {} s", ENDING_MAX.as_secs());
                Err(RunError::Failed(reason))
            }
        }
    }
}
