//! Things that are made and removed again, over and over: what connecting and disconnecting clients cost a broker.

use std::pin::pin;
use std::sync::Arc;

use amqp::{TableBuf, queue};
use amqp_client::{CallError, Closed, Connection};

use super::clock::now_ns;
use super::incident::{Incident, Incidents, Role, tell};
use super::pacer::Timer;
use super::serving::until_started;
use super::target::{GOODBYE, Target};
use super::values;
use super::worker::Local;
use crate::plan::{Churn, ChurnKind, Random};

const CHANNEL: u16 = 1;

/// A task that makes and removes.
#[derive(Clone, Debug)]
pub(crate) struct ChurnTask {
    pub(crate) churn: Arc<Churn>,
    pub(crate) target: Arc<Target>,
    pub(crate) incidents: Incidents,
    /// Which of the churn's workers it is.
    pub(crate) index: u32,
    pub(crate) seed: u64,
    /// Shown by the broker; queues are called after it.
    pub(crate) name: String,
}

impl ChurnTask {
    /// Goes on until publishers stop.
    pub(crate) async fn run(self, local: Local) {
        let mut random = Random::new(self.seed ^ 0x6368_7572, u64::from(self.index));
        let arguments = match &self.churn.kind {
            ChurnKind::Queues { arguments, .. } => values::table(arguments),
            _ => Ok(TableBuf::new()),
        };
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        let mut kept = match self.keep(&mut random, &local).await {
            Ok(kept) => kept,
            Err(reason) => return tell(&self.incidents, Incident::Failed(reason)),
        };
        tell(&self.incidents, Incident::Ready);
        let start = match until_started(kept.as_mut(), &self.name, &local).await {
            Ok(Some(start)) => start,
            Ok(None) => return,
            Err(reason) => return tell(&self.incidents, Incident::Failed(reason)),
        };
        let mut timer = Timer::new(&local.pacer);
        let gap_ns = self.churn.rate.filter(|rate| *rate > 0.0).map(|rate| f64::from(self.churn.workers) / rate * 1e9);
        let phase = f64::from(self.index) / f64::from(self.churn.workers.max(1));
        for number in 0_u64.. {
            let due = start + gap_ns.map_or(0, |gap_ns| ((number as f64 + phase) * gap_ns) as u64);
            let step = async {
                let is_over = match &mut kept {
                    Some(connection) => live(connection, &mut timer, due, &local).await?,
                    None => sleep(&mut timer, due, &local).await,
                };
                if is_over {
                    return Ok(false);
                }
                self.once(&mut kept, number, &arguments, &mut random, &local, &mut timer).await.map(|()| true)
            };
            let stepped = tokio::select! {
                stepped = step => stepped,
                // A broker that does not answer is not waited for.
                () = local.control.clone().ended() => Ok(false),
            };
            match stepped {
                Ok(false) => break,
                Ok(true) => local.recorder.borrow_mut().counts.churned += 1,
                Err(Trouble::Failed(reason)) => {
                    tell(&self.incidents, Incident::Failed(format!("{}: {reason}", self.name)));
                    break;
                }
                Err(Trouble::Lost(reason)) => {
                    local.recorder.borrow_mut().counts.connections_lost += 1;
                    tell(&self.incidents, Incident::Lost(reason));
                    if kept.take().is_some() {
                        local.closed();
                    }
                    let again = tokio::select! {
                        again = self.again(&mut random, &local) => again,
                        () = local.control.clone().draining() => None,
                    };
                    let Some(again) = again else { break };
                    tell(&self.incidents, Incident::Back);
                    if again.is_some() {
                        local.opened();
                    }
                    kept = again;
                }
            }
        }
        if let Some(connection) = kept {
            local.closed();
            connection.close(GOODBYE).await;
        }
        tell(&self.incidents, Incident::Done(Role::Other));
    }

    /// The connection that is kept, if one is, or the next one to open and close: once the broker is there again. `None`: it is not
    /// to be, or the run is over.
    async fn again(&self, random: &mut Random, local: &Local) -> Option<Option<Connection>> {
        loop {
            let again = self.target.reopen(&self.name, random, local).await?;
            if matches!(self.churn.kind, ChurnKind::Connections) {
                again.close(GOODBYE).await;
                return Some(None);
            }
            // A queue of our own may belong to the lost connection until the broker knows that it is lost.
            if let Ok(prepared) = self.prepared(again).await {
                return Some(Some(prepared));
            }
        }
    }

    /// The connection on which things are made and removed, if it is not the connections themselves that do.
    async fn keep(&self, random: &mut Random, local: &Local) -> Result<Option<Connection>, String> {
        if matches!(self.churn.kind, ChurnKind::Connections) {
            return Ok(None);
        }
        let connection = self.target.open(&self.name, random).await.map_err(|error| error.to_string())?;
        let connection = self.prepared(connection).await.map_err(|error| error.to_string())?;
        local.opened();
        Ok(Some(connection))
    }

    async fn prepared(&self, mut connection: Connection) -> Result<Connection, CallError> {
        match &self.churn.kind {
            ChurnKind::Connections | ChurnKind::Channels => {}
            ChurnKind::Queues { .. } => connection.open_channel(CHANNEL).await?,
            ChurnKind::Bindings { .. } => {
                connection.open_channel(CHANNEL).await?;
                let queue = queue::Declare { queue: self.name.as_bytes(), exclusive: true, ..Default::default() };
                connection.declare_queue(CHANNEL, &queue).await?;
            }
        }
        Ok(connection)
    }

    /// Makes one thing, lets it live, and removes it.
    async fn once(
        &self,
        kept: &mut Option<Connection>,
        number: u64,
        arguments: &TableBuf,
        random: &mut Random,
        local: &Local,
        timer: &mut Timer,
    ) -> Result<(), Trouble> {
        let lifetime_ns = (self.churn.lifetime.draw(random) * 1e9) as u64;
        let Some(connection) = kept else {
            let opened = self.target.open(&format!("{}-{number}", self.name), random).await;
            let connection = opened.map_err(|error| match error.is_passing() {
                true => Trouble::Lost(error.to_string()),
                false => Trouble::Failed(error.to_string()),
            })?;
            local.opened();
            sleep(timer, now_ns() + lifetime_ns, local).await;
            connection.close(GOODBYE).await;
            local.closed();
            return Ok(());
        };
        let name = format!("{}-{number}", self.name);
        match &self.churn.kind {
            ChurnKind::Connections => {}
            ChurnKind::Channels => {
                connection.open_channel(CHANNEL).await?;
                live(connection, timer, now_ns() + lifetime_ns, local).await?;
                connection.close_channel(CHANNEL).await?;
            }
            ChurnKind::Queues { durable, .. } => {
                let arguments = arguments.as_table();
                let queue =
                    queue::Declare { queue: name.as_bytes(), durable: *durable, arguments, ..Default::default() };
                connection.declare_queue(CHANNEL, &queue).await?;
                live(connection, timer, now_ns() + lifetime_ns, local).await?;
                let delete = queue::Delete { queue: name.as_bytes(), ..Default::default() };
                connection.call(CHANNEL, &delete).await?;
            }
            ChurnKind::Bindings { exchange } => {
                let (queue, exchange, routing_key) = (self.name.as_bytes(), exchange.as_bytes(), name.as_bytes());
                let bind = queue::Bind { queue, exchange, routing_key, ..Default::default() };
                connection.call(CHANNEL, &bind).await?;
                live(connection, timer, now_ns() + lifetime_ns, local).await?;
                let unbind = queue::Unbind { queue, exchange, routing_key, ..Default::default() };
                connection.call(CHANNEL, &unbind).await?;
            }
        }
        Ok(())
    }
}

/// Waits until a time, or until publishers are to stop. Returns whether they are.
async fn sleep(timer: &mut Timer, until: u64, local: &Local) -> bool {
    tokio::select! {
        biased;
        () = local.control.clone().draining() => true,
        () = timer.until(until) => false,
    }
}

/// The same, with heartbeats answered meanwhile.
async fn live(connection: &mut Connection, timer: &mut Timer, until: u64, local: &Local) -> Result<bool, Closed> {
    let mut waiting = pin!(sleep(timer, until, local));
    loop {
        while connection.next_event()?.is_some() {}
        tokio::select! {
            biased;
            is_over = &mut waiting => return Ok(is_over),
            turn = connection.turn() => drop(turn?),
        }
    }
}

enum Trouble {
    /// Try again later.
    Lost(String),
    /// Trying again does not help.
    Failed(String),
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused { .. } => Trouble::Failed(error.to_string()),
            CallError::Closed(closed) => closed.into(),
            CallError::TimedOut(_) => Trouble::Lost(error.to_string()),
        }
    }
}

impl From<Closed> for Trouble {
    fn from(closed: Closed) -> Self {
        Trouble::Lost(closed.to_string())
    }
}
