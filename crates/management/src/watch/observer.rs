//! Who watches, and why that ends: an alarm, a right that is revoked, a broker that stops.

use std::sync::Arc;
use std::time::Duration;

use broker::{Actor, Broker};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

use crate::access::is_administrator;
use crate::problem::Problem;
use crate::service::Service;
use crate::stage::Stage;

/// How often it is looked whether all is as it was.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// The user of a session, and what may end it.
pub(crate) struct Observer {
    broker: Arc<Broker>,
    actor: Actor,
    looks: Interval,
    stage: Option<watch::Receiver<Stage>>,
}

/// While an alarm is on, the broker has other things to do.
pub(crate) fn check_alarms(broker: &Broker) -> Result<(), Problem> {
    match alarm(broker) {
        None => Ok(()),
        Some(reason) => Err(Problem::unavailable(format!("{reason}: no session begins while an alarm is on"))),
    }
}

fn alarm(broker: &Broker) -> Option<&'static str> {
    let alarms = broker.alarms();
    match (alarms.is_memory_low, alarms.is_disk_low) {
        (true, _) => Some("the memory alarm is on"),
        (_, true) => Some("the disk alarm is on"),
        _ => None,
    }
}

impl Observer {
    pub(crate) fn new(service: &Service, actor: Actor) -> Observer {
        let mut looks = tokio::time::interval(LOOK_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Observer { broker: service.broker.clone(), actor, looks, stage: service.live.stage() }
    }

    /// Waits for the next look at what may end the session. Gives the reason, if there is one.
    pub(crate) async fn look(&mut self) -> Option<&'static str> {
        tokio::select! {
            biased;
            () = stopping(self.stage.as_mut()) => Some("the broker stops"),
            _ = self.looks.tick() => self.reason_to_end(),
        }
    }

    fn reason_to_end(&self) -> Option<&'static str> {
        if let Some(reason) = alarm(&self.broker) {
            return Some(reason);
        }
        match self.broker.renewed(&self.actor.identity) {
            None => Some("the user is gone, or its login has expired"),
            Some(identity) if !is_administrator(&identity) => Some("the user is no administrator any more"),
            Some(_) => None,
        }
    }
}

/// Ready when the server stops; never where there is none.
async fn stopping(stage: Option<&mut watch::Receiver<Stage>>) {
    match stage {
        // An error means that the server is gone.
        Some(stage) => drop(stage.wait_for(|stage| *stage >= Stage::Stopping).await),
        None => std::future::pending().await,
    }
}
