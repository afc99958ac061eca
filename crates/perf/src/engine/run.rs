//! One run, from the first connection to the summary.

use std::sync::Arc;
use std::time::Duration;

use super::clock::now_ns;
use super::environment::Environment;
use super::force::{Force, Reports};
use super::incident::Incident;
use super::measured::Measurements;
use super::observer::{Interrupt, Observer};
use super::run_error::RunError;
use super::settings::Settings;
use super::share::Share;
use super::target::Target;
use super::threads::Threads;
use super::topology::Declarations;
use crate::plan::Plan;
use crate::results::Run;

/// Does one run.
pub(crate) async fn run(
    plan: &Plan,
    target: &Arc<Target>,
    settings: &mut Settings,
    observer: &mut dyn Observer,
    interrupt: Interrupt,
) -> Result<Run, RunError> {
    let declarations = Arc::new(Declarations::new(plan)?);
    let environment = Environment { plan, target, declarations: &declarations };
    match settings.agents.take() {
        Some(team) => {
            let (agents, reports) = team.enlist(plan);
            conduct(&environment, agents, reports, settings, observer, interrupt).await
        }
        None => {
            let (threads, reports) = Threads::new(plan, target, &declarations, settings, Share::WHOLE)?;
            conduct(&environment, threads, reports, settings, observer, interrupt).await
        }
    }
}

/// Declares, runs, and deletes what was only for the run, whatever has become of it.
async fn conduct(
    environment: &Environment<'_>,
    force: impl Force,
    reports: Reports,
    settings: &mut Settings,
    observer: &mut dyn Observer,
    mut interrupt: Interrupt,
) -> Result<Run, RunError> {
    if let (Some(probe), None) = (environment.plan.probes.first(), &settings.management) {
        return Err(RunError::Failed(format!("the probe {} needs --management-url", probe.name)));
    }
    let mut temporary = 0;
    let declared = tokio::select! {
        declared = environment.declare(observer, &mut temporary) => declared,
        _ = interrupt.wait_for(|is_over| *is_over) => Err(RunError::Interrupted),
    };
    let result = match declared {
        Ok(()) => load(environment, force, reports, settings, observer, interrupt).await,
        Err(error) => Err(error),
    };
    if temporary > 0
        && let Err(error) = environment.clean_up(temporary).await
    {
        observer.warn(&format!("deleting the objects that the run declared failed: {error}"));
    }
    result
}

/// From when all is declared until all have said goodbye.
async fn load(
    environment: &Environment<'_>,
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

    let mut measured = Measurements::new(environment.plan, settings, task_count, force.thread_count());
    measured.collect_early(&mut force).await;
    let start = force.start();
    tokio::time::sleep(Duration::from_nanos(start.saturating_sub(now_ns()))).await;
    measured.begin(start, &mut force);
    observer.started();
    measured.watch(environment, &mut force, observer, &mut reports, early, &mut interrupt).await;
    let stopped_at = now_ns();
    force.drain();
    let is_drained = measured.drain(&mut force, &mut reports, &mut interrupt).await;
    measured.look_for_rest(environment, is_drained).await;
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
