//! Connections that do nothing but stay: what a broker carries besides its work.

use std::rc::Rc;
use std::sync::Arc;

use amqp_client::Connection;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::incident::{Incident, Incidents, Role, tell};
use super::target::{GOODBYE, Target};
use super::worker::Local;
use crate::plan::Random;

/// Connections of one thread that are being opened at the same time.
const OPENING_COUNT: usize = 32;

/// One thread's share of idle connections.
#[derive(Clone, Debug)]
pub(crate) struct IdleTask {
    pub(crate) target: Arc<Target>,
    pub(crate) incidents: Incidents,
    pub(crate) count: u32,
    pub(crate) seed: u64,
    /// Shown by the broker, with a number.
    pub(crate) name: String,
}

impl IdleTask {
    /// Holds the connections until the run is over.
    pub(crate) async fn run(self, local: Local) {
        let opening = Rc::new(Semaphore::new(OPENING_COUNT));
        let mut connections = JoinSet::new();
        for number in 0..self.count {
            connections.spawn_local(self.clone().hold(number, local.clone(), Rc::clone(&opening)));
        }
        while local.gauges.idle.get() < self.count && !connections.is_empty() {
            tokio::select! {
                () = local.gauges.changed.notified() => {}
                Some(_) = connections.join_next() => {}
            }
        }
        tell(&self.incidents, Incident::Ready);
        while connections.join_next().await.is_some() {}
        tell(&self.incidents, Incident::Done(Role::Other));
    }

    async fn hold(self, number: u32, local: Local, opening: Rc<Semaphore>) {
        let mut random = Random::new(self.seed ^ 0x6964_6c65, u64::from(number));
        let name = format!("{}-{number}", self.name);
        let opened = {
            // The semaphore is never closed.
            let _permit = opening.acquire().await;
            self.target.open(&name, &mut random).await
        };
        let mut connection = match opened {
            Ok(connection) => connection,
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        local.opened();
        local.gauges.idle.set(local.gauges.idle.get() + 1);
        local.gauges.changed.notify_one();
        loop {
            let is_lost = tokio::select! {
                () = local.control.clone().ended() => false,
                () = lost(&mut connection) => true,
            };
            local.closed();
            if !is_lost {
                connection.close(GOODBYE).await;
                return;
            }
            local.recorder.borrow_mut().counts.connections_lost += 1;
            tell(&self.incidents, Incident::Lost("an idle connection was lost".to_owned()));
            let Some(again) = self.target.reopen(&name, &mut random, &local).await else { return };
            tell(&self.incidents, Incident::Back);
            connection = again;
            local.opened();
        }
    }
}

/// Waits until the connection is over.
async fn lost(connection: &mut Connection) {
    loop {
        while let Ok(event) = connection.next_event() {
            if event.is_none() {
                break;
            }
        }
        if connection.turn().await.is_err() {
            return;
        }
    }
}
