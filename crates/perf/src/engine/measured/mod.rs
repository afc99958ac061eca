//! What a run has measured so far: samples and totals. In the end, `outcome` makes the summary of it.

mod outcome;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::clock::{now_ns, ns};
use super::environment::Environment;
use super::followed::{followed, is_prompt};
use super::incident::{Incident, PublisherEnd, Role};
use super::observer::{Interrupt, Observer};
use super::recorder::LatencyHistograms;
use super::seen::SeenMessages;
use super::settings::Settings;
use super::workers::{Reports, Workers};
use crate::dashboard::Overall;
use crate::plan::{ExitWhen, Plan};
use crate::results::{Broker, BrokerUsage, Counts, Percentiles, Sample, Usage};
use crate::watch::{Management, Processes};

/// How often idle consumers' queues are asked whether they are empty.
const EMPTY_TICK: Duration = Duration::from_millis(250);
/// Without a message for so long there is nothing left to drain.
const DRAINED_AFTER: Duration = Duration::from_millis(500);
/// How often draining is looked at.
const DRAIN_TICK: Duration = Duration::from_millis(20);
/// Without a message for so long consumers are idle (PerfTest's `--exit-when idle`).
const IDLE_AFTER: Duration = Duration::from_secs(1);
/// How long tasks may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(10);

/// What has been measured so far.
pub(crate) struct Measurements<'a> {
    plan: &'a Plan,
    settings: &'a mut Settings,
    start: u64,
    last_at: u64,
    /// Since the start, warm-up included.
    total: Counts,
    seen: SeenMessages,
    samples: Vec<Sample>,
    /// After the warm-up.
    latencies: LatencyHistograms,
    measured: Counts,
    measured_ns: u64,
    measured_usage: Usage,
    measured_broker: Option<Usage>,
    /// What came before the start.
    early: Option<(Counts, LatencyHistograms)>,
    /// CPU time of each thread when it was last collected.
    thread_cpu_ns: Vec<u64>,
    busiest_share: f64,
    shares: Vec<(u64, u64)>,
    consumed_at: u64,
    working: usize,
    working_publishers: usize,
    working_consumers: usize,
    lost: u32,
    publishers: Vec<PublisherEnd>,
    /// How many messages are in queues, or why that is not known.
    rest: Result<u64, &'static str>,
    interrupted: Option<String>,
}

impl<'a> Measurements<'a> {
    pub(crate) fn new(plan: &'a Plan, settings: &'a mut Settings, working: usize, threads: usize) -> Self {
        Measurements {
            plan,
            settings,
            start: 0,
            last_at: 0,
            total: Counts::default(),
            seen: SeenMessages::default(),
            samples: Vec::new(),
            latencies: LatencyHistograms::new(),
            measured: Counts::default(),
            measured_ns: 0,
            measured_usage: Usage::default(),
            measured_broker: None,
            early: None,
            thread_cpu_ns: vec![0; threads],
            busiest_share: 0.0,
            shares: vec![(0, 0); threads],
            consumed_at: 0,
            working,
            working_publishers: plan.publishers.iter().map(|group| group.connections as usize).sum(),
            working_consumers: plan.consumers.iter().map(|group| group.connections as usize).sum(),
            lost: 0,
            publishers: Vec::new(),
            rest: Err("some messages were still in queues or with consumers at the end"),
            interrupted: None,
        }
    }

    pub(crate) fn begin(&mut self, start: u64, workers: &mut impl Workers) {
        self.start = start;
        self.last_at = start;
        workers.usage();
        if let Some(broker) = &mut self.settings.broker {
            broker.sample();
        }
    }

    /// Takes what came before the start: consumers of a queue that had messages do not wait. It belongs to the first
    /// interval; the CPU time that getting ready took belongs to none.
    pub(crate) async fn collect_early(&mut self, workers: &mut impl Workers) {
        let (counts, latencies, _) = self.collect(workers).await;
        self.early = Some((counts, latencies));
    }

    /// Takes what all threads have measured.
    pub(crate) async fn collect(&mut self, workers: &mut impl Workers) -> (Counts, LatencyHistograms, [u32; 3]) {
        let mut counts = Counts::default();
        let mut latencies = LatencyHistograms::new();
        let mut gauges = [0; 3];
        let mut sighted = Vec::new();
        for (number, collected) in workers.collect().await.into_iter().enumerate() {
            let Some(collected) = collected else { continue };
            counts.add(&collected.recorder.counts);
            latencies.add(&collected.recorder.latencies);
            gauges[0] += collected.connections;
            gauges[1] += collected.blocked;
            gauges[2] += collected.users;
            self.consumed_at = self.consumed_at.max(collected.recorder.consumed_at);
            let last = std::mem::replace(&mut self.thread_cpu_ns[number], collected.cpu_ns);
            self.shares[number].0 = collected.cpu_ns.saturating_sub(last);
            sighted.push(collected.recorder.sighted);
        }
        self.seen.add(sighted);
        (counts, latencies, gauges)
    }

    /// Samples until publishers are to stop.
    pub(crate) async fn watch(
        &mut self,
        environment: &Environment<'_>,
        workers: &mut impl Workers,
        observer: &mut dyn Observer,
        reports: &mut Reports,
        early: Vec<Incident>,
        interrupt: &mut Interrupt,
    ) {
        let begun = Instant::now();
        let interval = self.plan.interval.max(Duration::from_millis(1));
        let mut ticks = tokio::time::interval_at(begun + interval, interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let end = self.plan.duration.map(|duration| begun + duration);
        let sleep_to_end = async {
            match end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(sleep_to_end);
        let is_idle = Cell::new(false);
        let mut emptied = pin!(emptied(environment, &is_idle));
        let mut is_over = false;
        for incident in early {
            is_over |= self.take_report(incident, observer);
        }
        while !is_over {
            tokio::select! {
                biased;
                _ = interrupt.wait_for(|is_over| *is_over) => {
                    self.interrupted = Some(format!("interrupted after {:.1} s", self.elapsed_s()));
                    break;
                }
                () = &mut sleep_to_end => break,
                Some(incident) = reports.recv() => is_over = self.take_report(incident, observer),
                () = &mut emptied => break,
                _ = ticks.tick() => {
                    self.take_sample(workers, observer).await;
                    match self.plan.exit_when {
                        Some(ExitWhen::Idle) if self.is_idle() => break,
                        Some(ExitWhen::Empty) => is_idle.set(self.is_idle()),
                        _ => {}
                    }
                }
            }
        }
        // What is left of the last interval. Next to nothing makes no sample, but it counts.
        if now_ns() - self.last_at > ns(interval) / 20 || self.samples.is_empty() {
            self.take_sample(workers, observer).await;
        } else {
            let (counts, latencies, _) = self.collect(workers).await;
            let now = now_ns();
            let duration_ns = now - std::mem::replace(&mut self.last_at, now);
            self.total.add(&counts);
            self.count(&counts, &latencies, now, duration_ns);
        }
        // What was said until now is still of interest.
        while let Ok(incident) = reports.try_recv() {
            self.take_report(incident, observer);
        }
    }

    /// Counts an interval that is over, unless it is part of the warm-up. Returns whether it did.
    fn count(&mut self, counts: &Counts, latencies: &LatencyHistograms, now: u64, duration_ns: u64) -> bool {
        // The interval in which the warm-up ends belongs to it.
        if now - duration_ns - self.start + 1_000_000 < ns(self.plan.warm_up) {
            return false;
        }
        self.latencies.add(latencies);
        self.measured.add(counts);
        self.measured_ns += duration_ns;
        true
    }

    fn elapsed_s(&self) -> f64 {
        seconds(now_ns() - self.start)
    }

    /// Whether consumers got nothing for a while.
    fn is_idle(&self) -> bool {
        now_ns().saturating_sub(self.consumed_at.max(self.start)) >= ns(IDLE_AFTER)
    }

    /// A task is done. Returns whether that ends the run: when all are, or all that have a number of messages to do.
    fn is_over_without(&mut self, role: Role) -> bool {
        self.working = self.working.saturating_sub(1);
        match role {
            Role::Publisher => self.working_publishers = self.working_publishers.saturating_sub(1),
            Role::Consumer => self.working_consumers = self.working_consumers.saturating_sub(1),
            Role::Other => {}
        }
        let publishers = self.plan.publishers.iter().any(|group| group.message_limit.is_some());
        let consumers = self.plan.consumers.iter().any(|group| group.message_limit.is_some());
        let are_done = (!publishers || self.working_publishers == 0) && (!consumers || self.working_consumers == 0);
        let is_over = (publishers || consumers) && are_done;
        is_over || self.working == 0
    }

    /// Takes what a task says. Returns whether the run is to end.
    fn take_report(&mut self, incident: Incident, observer: &mut dyn Observer) -> bool {
        match incident {
            Incident::Ready => {}
            Incident::PublisherEnded(end) => self.publishers.push(end),
            Incident::Done(role) => return self.is_over_without(role),
            Incident::Lost(reason) => {
                self.lost += 1;
                observer.warn(&format!("at {:.1} s: {reason}", self.elapsed_s()));
            }
            Incident::Warning(warning) => observer.warn(&format!("at {:.1} s: {warning}", self.elapsed_s())),
            Incident::AgentLost(reason) => {
                let reason = format!("after {:.1} s: {reason}", self.elapsed_s());
                observer.warn(&reason);
                self.interrupted.get_or_insert(reason);
            }
            Incident::Back => self.lost = self.lost.saturating_sub(1),
            Incident::Failed(reason) => {
                let reason = format!("ended after {:.1} s: {reason}", self.elapsed_s());
                self.interrupted.get_or_insert(reason);
                return true;
            }
        }
        false
    }

    async fn take_sample(&mut self, workers: &mut impl Workers, observer: &mut dyn Observer) {
        let (mut counts, mut latencies, [connections, blocked, users]) = self.collect(workers).await;
        if let Some((early_counts, early_latencies)) = self.early.take() {
            counts.add(&early_counts);
            latencies.add(&early_latencies);
        }
        let now = now_ns();
        let duration_ns = now - std::mem::replace(&mut self.last_at, now);
        self.total.add(&counts);
        let generator = workers.usage();
        let broker = self.broker_usage();
        let sample = Sample {
            end_s: seconds(now - self.start),
            duration_s: seconds(duration_ns),
            counts,
            consumer_latency: Percentiles::of(&latencies.consumer),
            consumer_latency_sent: Percentiles::of(&latencies.consumer_sent),
            confirm_latency: Percentiles::of(&latencies.confirm),
            confirm_latency_sent: Percentiles::of(&latencies.confirm_sent),
            lateness: Percentiles::of(&latencies.lateness),
            backlog: self.total.published as i64 - self.total.returned as i64 - self.total.consumed as i64,
            connections,
            blocked,
            users,
            generator,
            broker,
            probes: percentiles(&latencies),
        };
        if self.count(&counts, &latencies, now, duration_ns) {
            self.measured_usage = self.measured_usage.plus(generator);
            if let Some(BrokerUsage { usage, .. }) = broker {
                self.measured_broker = Some(self.measured_broker.unwrap_or_default().plus(usage));
            }
            for (used, sum) in &mut self.shares {
                *sum += *used;
            }
        }
        let overall = Overall {
            consumer: Percentiles::of(&self.latencies.consumer),
            confirm: Percentiles::of(&self.latencies.confirm),
        };
        observer.sample(&sample, &self.total, overall);
        self.samples.push(sample);
    }

    /// What its processes use, and what its management API says. The processes take precedence where both know something.
    fn broker_usage(&mut self) -> Option<BrokerUsage> {
        let processes = self.settings.broker.as_mut().map(Processes::sample);
        let said = self.settings.watched.as_ref().and_then(Management::latest);
        match (processes, said) {
            (None, None) => None,
            (None, Some(said)) => Some(said),
            (Some(usage), said) => {
                let said = said.unwrap_or_default();
                Some(BrokerUsage { usage, ready: said.ready, unacked: said.unacked })
            }
        }
    }

    /// Lets consumers take what is still there, as long as there is any hope. What comes is in the latencies, but no longer in the
    /// rates. Returns whether what is missing then is in queues, or lost: else messages may be on their way to consumers, where
    /// they cannot be counted.
    pub(crate) async fn drain(
        &mut self,
        workers: &mut impl Workers,
        reports: &mut Reports,
        interrupt: &mut Interrupt,
    ) -> bool {
        if self.plan.consumers.is_empty() || self.plan.publishers.is_empty() {
            return false;
        }
        let (is_followed, is_prompt) = (self.is_sequence_followed().is_ok(), is_prompt(self.plan));
        let begun = now_ns();
        loop {
            self.collect_late(workers).await;
            while let Ok(incident) = reports.try_recv() {
                self.take_report(incident, &mut Silent);
            }
            let now = now_ns();
            let is_quiet = is_prompt && now.saturating_sub(self.consumed_at.max(begun)) >= ns(DRAINED_AFTER);
            let is_late = now - begun >= ns(self.plan.drain);
            // A publisher that has not stopped yet may still publish.
            let is_drained = self.working_publishers == 0 && (is_quiet || is_followed && self.is_all_here());
            if is_drained || is_late || *interrupt.borrow() {
                return is_drained;
            }
            tokio::time::sleep(DRAIN_TICK).await;
        }
    }

    /// Whether all that was published has come, or was returned.
    fn is_all_here(&self) -> bool {
        let seen: u64 = (0..self.plan.publisher_count()).map(|publisher| self.seen.count(publisher)).sum();
        seen + self.total.returned >= self.total.published
    }

    /// Asks queues for what is left in them, if all that is missing can be there: that is not lost.
    pub(crate) async fn look_for_rest(&mut self, environment: &Environment<'_>, is_drained: bool) {
        if self.is_sequence_followed().is_err() {
            return;
        }
        if self.is_all_here() {
            self.rest = Ok(0);
        } else if is_drained {
            self.rest = match environment.can_ask_queues() {
                true => environment
                    .ready_count(GOODBYE)
                    .await
                    .ok_or("the broker did not report the messages left in queues"),
                false => Err("the messages left in queues cannot be queried"),
            };
        }
    }

    /// Waits until all tasks have said goodbye.
    pub(crate) async fn wait_for_ends(&mut self, reports: &mut Reports) {
        let ending = async {
            while self.working > 0 {
                match reports.recv().await {
                    Some(incident) => {
                        self.take_report(incident, &mut Silent);
                    }
                    None => return,
                }
            }
        };
        // A task that does not answer is not waited for: what it measured is there all the same.
        let _ = tokio::time::timeout(GOODBYE, ending).await;
    }

    /// Takes what was measured since publishers were to stop.
    pub(crate) async fn collect_late(&mut self, workers: &mut impl Workers) {
        let (counts, mut latencies, _) = self.collect(workers).await;
        self.total.add(&counts);
        // How late the very last ones were sent belongs to the rates, in which they are not.
        latencies.lateness.reset();
        self.latencies.add(&latencies);
    }

    /// The run did not go as it should have.
    pub(crate) fn interrupt(&mut self, reason: String) {
        self.interrupted.get_or_insert(reason);
    }

    /// Whether lost and duplicate messages can be detected, or why not.
    fn is_sequence_followed(&self) -> Result<(), &'static str> {
        followed(self.plan)
    }
}

/// Waits until consumers are idle and queues have nothing for them. Asking takes its time, and meanwhile all else continues.
async fn emptied(environment: &Environment<'_>, is_idle: &Cell<bool>) {
    loop {
        tokio::time::sleep(EMPTY_TICK).await;
        // Queues that cannot be asked count as empty.
        if is_idle.get()
            && (!environment.can_ask_queues() || environment.ready_count(GOODBYE).await == Some(0))
            && is_idle.get()
        {
            return;
        }
    }
}

/// Drops all reports.
struct Silent;

impl Observer for Silent {
    fn connected(&mut self, _broker: &Broker) {}
    fn started(&mut self) {}
    fn sample(&mut self, _sample: &Sample, _total: &Counts, _overall: Overall) {}
    fn warn(&mut self, _warning: &str) {}
}

/// How long answers took, by what was asked for.
fn percentiles(latencies: &LatencyHistograms) -> BTreeMap<String, Percentiles> {
    let answers = latencies.answers.iter();
    answers.filter_map(|(name, histogram)| Some((name.to_string(), Percentiles::of(histogram)?))).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
