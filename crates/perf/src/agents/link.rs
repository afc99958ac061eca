//! The coordinator's connection to one agent, as a task: passes on messages, compares clocks, and sees when it is lost.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::clocks::{Comparison, Comparisons};
use super::message::{FromAgent, ROLES, ToAgent};
use super::wire::{self, MESSAGE_LEN_MAX, WireError};
use crate::engine::clock::{Ahead, now_ns};
use crate::engine::incident::{Incident, Incidents, PublisherEnd, Role, tell};
use crate::engine::seen::PLAUSIBLE_MAX;

/// How often an agent is asked for the time.
const PING_INTERVAL: Duration = Duration::from_secs(1);
/// An agent that is silent for so long is lost.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(8);
/// Messages that are read before the run has time for them.
const INBOX_COUNT: usize = 64;

/// Messages, with the time at which each came; the last may be the reason why there are no more.
pub(crate) type Inbox<T> = mpsc::Receiver<(u64, Result<T, WireError>)>;

/// Reads messages, until the reader is dropped: reading must not be given up in the middle of one.
pub(crate) fn read_all<T>(mut stream: OwnedReadHalf) -> (Inbox<T>, JoinSet<()>)
where
    T: serde::de::DeserializeOwned + Send + 'static,
{
    let (sender, inbox) = mpsc::channel(INBOX_COUNT);
    let mut reader = JoinSet::new();
    reader.spawn(async move {
        loop {
            let message = wire::read(&mut stream, MESSAGE_LEN_MAX).await;
            let is_last = message.is_err();
            if sender.send((now_ns(), message)).await.is_err() || is_last {
                return;
            }
        }
    });
    (inbox, reader)
}

/// Writes a message, to an agent that may have stopped reading.
pub(crate) async fn write<T: serde::Serialize>(
    stream: &mut (impl AsyncWrite + Unpin),
    message: &T,
) -> Result<(), WireError> {
    match tokio::time::timeout(SILENCE_MAX, wire::write(stream, message)).await {
        Ok(written) => written,
        Err(_) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
    }
}

/// The connection to one agent.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) comparisons: Comparisons,
    /// The coordinator's clock less the agent's.
    pub(crate) ahead: Arc<Ahead>,
    pub(crate) incidents: Incidents,
    /// What is no incident.
    pub(crate) replies: mpsc::UnboundedSender<FromAgent>,
    /// Its tasks that are not done. How many do neither publish nor consume, it says itself.
    pub(crate) working: BTreeMap<Role, u32>,
    /// Tasks that it has started.
    pub(crate) started_count: u32,
    /// Its publishers that have not ended.
    pub(crate) publishers: BTreeSet<u32>,
    /// Its connections to the broker that are lost.
    pub(crate) lost_count: u32,
}

impl Link {
    /// Works until the agent has left, is lost, or the run is given up.
    pub(crate) async fn run(mut self, stream: TcpStream, mut commands: mpsc::UnboundedReceiver<ToAgent>) {
        let (reading, mut writing) = stream.into_split();
        let (mut inbox, _reader) = read_all::<FromAgent>(reading);
        let mut pings = tokio::time::interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut pinged_at = None;
        let mut heard_at = Instant::now();
        let reason = loop {
            let command = tokio::select! {
                message = inbox.recv() => {
                    heard_at = Instant::now();
                    match message {
                        Some((at, Ok(FromAgent::Pong { now_ns }))) => match self.compare(&mut pinged_at, now_ns, at) {
                            Some(ahead) => ahead,
                            None => continue,
                        },
                        Some((_, Ok(FromAgent::Left))) => {
                            let _ = self.replies.send(FromAgent::Left);
                            return;
                        }
                        Some((_, Ok(message))) => match self.take(message) {
                            Ok(()) => continue,
                            Err(reason) => break reason.to_owned(),
                        },
                        Some((_, Err(error))) => break error.to_string(),
                        None => break WireError::Closed.to_string(),
                    }
                }
                command = commands.recv() => match command {
                    Some(command) => command,
                    None => return,
                },
                _ = pings.tick() => {
                    if heard_at.elapsed() > SILENCE_MAX {
                        break format!("it has sent nothing for {} s", SILENCE_MAX.as_secs());
                    }
                    pinged_at = Some(now_ns());
                    ToAgent::Ping
                }
            };
            if let Err(error) = write(&mut writing, &command).await {
                break error.to_string();
            }
        };
        self.lose(&reason);
    }

    /// Takes the answer to a ping. Returns what the agent is to know.
    fn compare(&mut self, pinged_at: &mut Option<u64>, agent: u64, at: u64) -> Option<ToAgent> {
        let comparison = Comparison::new(pinged_at.take()?, agent, at)?;
        let best = self.comparisons.add(comparison)?;
        self.ahead.set(best.ahead_ns);
        Some(ToAgent::Ahead { ns: best.ahead_ns })
    }

    /// Takes anything else. What cannot be is a reason not to go on with this agent.
    fn take(&mut self, message: FromAgent) -> Result<(), &'static str> {
        let FromAgent::Told(incident) = message else {
            if let FromAgent::Started { tasks } = message {
                self.started_count = self.started_count.saturating_add(tasks);
                let known: u32 =
                    [Role::Publisher, Role::Consumer].iter().filter_map(|role| self.working.get(role)).sum();
                self.working.insert(Role::Other, self.started_count.saturating_sub(known));
            }
            // A run that was given up no longer listens.
            let _ = self.replies.send(message);
            return Ok(());
        };
        match &incident {
            Incident::Done(role) => match self.working.get_mut(role) {
                Some(count @ 1..) => *count -= 1,
                _ => return Err("it reports more finished tasks than it has"),
            },
            Incident::PublisherEnded(end) => {
                if !self.publishers.remove(&end.publisher) {
                    return Err("it reports about a publisher that it does not have");
                }
                if end.expected.max(end.returned) >= PLAUSIBLE_MAX {
                    return Err("one of its publishers reports impossible counts");
                }
            }
            Incident::Lost(_) => self.lost_count += 1,
            Incident::Back => self.lost_count = self.lost_count.saturating_sub(1),
            Incident::Ready | Incident::Failed(_) | Incident::Warning(_) | Incident::AgentLost(_) => {}
        }
        tell(&self.incidents, incident);
        Ok(())
    }

    /// Reports what its tasks can no longer report.
    fn lose(self, reason: &str) {
        tell(&self.incidents, Incident::AgentLost(format!("the agent {} was lost: {reason}", self.name)));
        for publisher in self.publishers {
            let end = PublisherEnd { publisher, is_unknown: true, ..PublisherEnd::default() };
            tell(&self.incidents, Incident::PublisherEnded(end));
        }
        (0..self.lost_count).for_each(|_| tell(&self.incidents, Incident::Back));
        for role in ROLES {
            let count = self.working.get(&role).copied().unwrap_or(0);
            (0..count).for_each(|_| tell(&self.incidents, Incident::Done(role)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> (Link, mpsc::UnboundedReceiver<Incident>) {
        let (incidents, reports) = mpsc::unbounded_channel();
        let (replies, _) = mpsc::unbounded_channel();
        let link = Link {
            name: "there".to_owned(),
            comparisons: Comparisons::default(),
            ahead: Arc::default(),
            incidents,
            replies,
            working: BTreeMap::from([(Role::Publisher, 2)]),
            started_count: 0,
            publishers: BTreeSet::from([4, 5]),
            lost_count: 0,
        };
        (link, reports)
    }

    #[test]
    fn lost_agent_leaves_nobody_waiting() {
        let (mut link, mut reports) = link();
        link.take(FromAgent::Started { tasks: 3 }).unwrap();
        let end = PublisherEnd { publisher: 5, expected: 7, ..PublisherEnd::default() };
        for incident in
            [Incident::Lost("gone".to_owned()), Incident::PublisherEnded(end.clone()), Incident::Done(Role::Publisher)]
        {
            link.take(FromAgent::Told(incident)).unwrap();
        }
        link.lose("gone");
        let told: Vec<Incident> = std::iter::from_fn(|| reports.try_recv().ok()).collect();
        let unknown = PublisherEnd { publisher: 4, is_unknown: true, ..PublisherEnd::default() };
        assert_eq!(
            told,
            [
                Incident::Lost("gone".to_owned()),
                Incident::PublisherEnded(end),
                Incident::Done(Role::Publisher),
                Incident::AgentLost("the agent there was lost: gone".to_owned()),
                Incident::PublisherEnded(unknown),
                Incident::Back,
                Incident::Done(Role::Publisher),
                Incident::Done(Role::Other),
            ]
        );
    }

    #[test]
    fn agent_cannot_speak_for_others() {
        let foreign = PublisherEnd { publisher: 3, ..PublisherEnd::default() };
        assert!(link().0.take(FromAgent::Told(Incident::PublisherEnded(foreign))).is_err());
        let endless = PublisherEnd { publisher: 4, expected: u64::MAX, ..PublisherEnd::default() };
        assert!(link().0.take(FromAgent::Told(Incident::PublisherEnded(endless))).is_err());
        assert!(link().0.take(FromAgent::Told(Incident::Done(Role::Consumer))).is_err());
    }
}
