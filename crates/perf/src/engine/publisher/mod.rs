//! Publishers: those of one connection are one task. Each channel is a publisher with its own schedule, sequence and
//! window.
//!
//! The schedule is open: when a message is due was fixed before, and does not move when the broker, the window or a lost
//! connection holds the publisher up. What is overdue is sent as soon as it can be, and its latency counts from then.
//!
//! ```text
//!  state   one publisher
//!  turns   whose turn it is
//!  serve   an open connection's publishers
//! ```

mod serve;
mod state;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use amqp::{channel, confirm, tx};
use amqp_client::{BackOff, CallError, Connection, Unconfirmed};

use self::serve::{ServiceEnd, serve};
use self::state::{Phase, Publisher};
use super::clock::{StampUnit, ns};
use super::incident::{Incident, Incidents, PublisherEnd, Role, tell};
use super::message::{Messages, Sender};
use super::pacer::Timer;
use super::serving::{ServeError, until_started};
use super::target::{GOODBYE, Recovery, Target};
use super::worker::Local;
use crate::plan::{Due, Publishers, Random};

/// How long the broker may take to read what was published, and to say goodbye: else it is not known what it has of it.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long to wait before a connection that carries only so many messages is tried again.
const RETRY: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(5)];

/// The publishers of one connection.
#[derive(Clone, Debug)]
pub(crate) struct PublisherTask {
    pub(crate) group: Arc<Publishers>,
    pub(crate) messages: Arc<Messages>,
    pub(crate) target: Arc<Target>,
    pub(crate) incidents: Incidents,
    pub(crate) unit: StampUnit,
    pub(crate) seed: u64,
    /// The number of the first publisher in the run.
    pub(crate) first_publisher: u32,
    /// The same in its group.
    pub(crate) first_index: u32,
    /// How many publishers the group has, on all machines.
    pub(crate) group_count: u32,
    /// Shown by the broker.
    pub(crate) name: String,
}

impl PublisherTask {
    /// Runs until the publishers are done or the run is over.
    pub(crate) async fn run(self, local: Local) {
        let mut random = Random::new(self.seed ^ 0x7075_626c, u64::from(self.first_publisher));
        let is_churning = self.group.messages_per_connection.is_some();
        let mut connection = match self.target.open(&self.name, &mut random).await {
            Ok(connection) => Some(connection),
            Err(error) => return tell(&self.incidents, Incident::Failed(error.to_string())),
        };
        if let Some(connection) = &mut connection
            && let Err(error) = self.prepare(connection).await
        {
            return tell(&self.incidents, Incident::Failed(self.explain(&error)));
        }
        local.opened();
        tell(&self.incidents, Incident::Ready);
        let start = match until_started(connection.as_mut(), &self.name, &local).await {
            Ok(Some(start)) => start,
            Ok(None) => return,
            Err(reason) => return tell(&self.incidents, Incident::Failed(reason)),
        };
        let mut publishers = self.publishers(start, &mut random);
        let mut timer = Timer::new(&local.pacer);
        if is_churning && let Some(first) = connection.take() {
            // Each message is to pay for its own connection.
            first.close(GOODBYE).await;
            local.closed();
        }
        loop {
            let mut open = match connection.take() {
                Some(connection) => connection,
                None => {
                    let first_due = publishers.iter().filter_map(|publisher| publisher.next_at(start)).min();
                    let Some(first_due) = first_due else { break };
                    let opening = async {
                        timer.until(first_due).await;
                        self.open_again(&mut random, &local).await
                    };
                    let opened = tokio::select! {
                        opened = opening => opened,
                        () = local.control.clone().draining() => None,
                    };
                    match opened {
                        Some(connection) => connection,
                        None => break,
                    }
                }
            };
            let served = serve(&mut open, &mut publishers, &self.group, start, &local, &mut timer).await;
            local.closed();
            match served {
                Ok(served) => {
                    if !open.close(FAREWELL).await {
                        publishers.iter_mut().for_each(Publisher::lose_connection);
                    }
                    if matches!(served, ServiceEnd::Done) {
                        break;
                    }
                }
                Err(ServeError::Failed(reason)) => {
                    tell(&self.incidents, Incident::Failed(format!("{}: {reason}", self.name)));
                    break;
                }
                Err(ServeError::Closed(closed)) => {
                    publishers.iter_mut().for_each(Publisher::lose_connection);
                    self.lost(&local, closed.to_string());
                    let reopening = async {
                        let mut again = self.target.reopen(&self.name, &mut random, &local).await?;
                        let prepared = self.prepare(&mut again).await;
                        Some(prepared.ok().map(|()| again))
                    };
                    let reopened = tokio::select! {
                        reopened = reopening => reopened,
                        () = local.control.clone().draining() => None,
                    };
                    let Some(again) = reopened else { break };
                    if again.is_some() {
                        local.opened();
                    }
                    connection = again;
                    tell(&self.incidents, Incident::Back);
                }
            }
        }
        for publisher in publishers {
            tell(&self.incidents, Incident::PublisherEnded(publisher.into_end()));
        }
        tell(&self.incidents, Incident::Done(Role::Publisher));
    }

    /// For connections that carry only so many messages. `None`: it is not to be.
    async fn open_again(&self, random: &mut Random, local: &Local) -> Option<Connection> {
        let mut back_off = BackOff::new(RETRY[0], RETRY[1]);
        loop {
            let opened = match self.target.open(&self.name, random).await {
                Ok(mut connection) => {
                    self.prepare(&mut connection).await.map(|()| connection).map_err(|e| self.explain(&e))
                }
                Err(error) => Err(error.to_string()),
            };
            let reason = match opened {
                Ok(connection) => {
                    local.opened();
                    return Some(connection);
                }
                Err(reason) => reason,
            };
            if self.target.recovery == Recovery::Never {
                tell(&self.incidents, Incident::Failed(reason));
                return None;
            }
            self.lost(local, reason);
            tokio::time::sleep(back_off.wait(random.fraction())).await;
            tell(&self.incidents, Incident::Back);
        }
    }

    fn lost(&self, local: &Local, reason: String) {
        local.recorder.borrow_mut().counts.connections_lost += 1;
        tell(&self.incidents, Incident::Lost(reason));
    }

    /// Opens the channels, all at once.
    async fn prepare(&self, connection: &mut Connection) -> Result<(), CallError> {
        let channels = 1..=u16::try_from(self.group.channels).unwrap_or(u16::MAX);
        for channel in channels.clone() {
            open_channel(connection, channel, &self.group);
        }
        for channel in channels {
            connection.answer(channel).await?;
            if self.group.confirm_window.is_some() || self.group.tx_size > 0 {
                connection.answer(channel).await?;
            }
        }
        Ok(())
    }

    fn explain(&self, error: &CallError) -> String {
        format!("{} cannot open its channels: {error}", self.name)
    }

    fn publishers(&self, start: u64, random: &mut Random) -> Vec<Publisher> {
        let make = |at: u32| {
            let number = self.first_publisher + at;
            let index = self.first_index + at;
            let delay = self.group.start_delay_max.mul_f64(random.fraction());
            let random = Random::new(self.seed, u64::from(number));
            Publisher {
                number,
                channel: (at + 1) as u16,
                phase: Phase::Open,
                due: Due::new(&self.group.schedule, self.seed, index, self.group_count),
                sender: Sender::new(&self.messages, number, index, self.unit, random),
                position: 0,
                unconfirmed: Unconfirmed::new(),
                window: self.group.confirm_window,
                is_full: false,
                tx_size: self.group.tx_size,
                tx_count: 0,
                think_time: self.group.think_time.clone(),
                starts_at: start + ns(delay),
                not_before: start + ns(delay),
                left: self.group.message_limit.unwrap_or(u64::MAX),
                on_channel: 0,
                messages_per_channel: self.group.messages_per_channel,
                end: PublisherEnd { publisher: number, ..PublisherEnd::default() },
            }
        };
        (0..self.group.channels).map(make).collect()
    }
}

fn open_channel(connection: &mut Connection, channel: u16, group: &Publishers) {
    connection.send(channel, &channel::Open::default());
    if group.confirm_window.is_some() {
        connection.send(channel, &confirm::Select::default());
    } else if group.tx_size > 0 {
        connection.send(channel, &tx::Select);
    }
}
