//! The coordinator's side: agents as what generates the load.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::clocks::{Comparison, Comparisons};
use super::link::Link;
use super::message::{AgentHello, CoordinatorHello, FromAgent, PROGRAM, ToAgent, VERSION, Welcome};
use super::order::Order;
use super::token::{self, Side};
use super::wire::{self, GREETING_LEN_MAX, WireError};
use crate::engine::clock::{Ahead, now_ns};
use crate::engine::incident::{Incidents, Role};
use crate::engine::load_share::{LoadShare, publishers_of};
use crate::engine::recorder::CollectedInterval;
use crate::engine::run_error::RunError;
use crate::engine::workers::{Reports, Workers};
use crate::plan::Plan;
use crate::results::Usage;

/// The port that agents listen on, unless another is given.
pub(crate) const DEFAULT_PORT: u16 = 5699;
/// How long connecting and introducing oneself may take.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// Pings before a run.
const PING_COUNT: usize = 20;
/// The time from the agents' notice of the start to the start.
const START_DELAY: Duration = Duration::from_secs(1);
/// How long agents may take to say goodbye: longer than they give their threads.
const GOODBYE: Duration = Duration::from_secs(25);

/// Why there is no run with these agents.
#[derive(Debug, thiserror::Error)]
#[error("agent {agent}: {reason}")]
pub(crate) struct ConnectError {
    agent: String,
    reason: String,
}

/// Agents that are ready for a command.
#[derive(Debug)]
pub(crate) struct AgentPool {
    members: Vec<GreetedAgent>,
    order: Order,
}

/// An agent that has proved to be one.
#[derive(Debug)]
struct GreetedAgent {
    name: String,
    stream: TcpStream,
    processors: u32,
    comparisons: Comparisons,
}

impl AgentPool {
    /// Connects to all, at the same time, for a run of a command: an agent does not wait for long until it hears more.
    pub(crate) async fn connect(addresses: &[String], token: &str, order: Order) -> Result<Self, ConnectError> {
        let greeting = addresses.iter().map(|address| {
            let (name, token) = (with_port(address), token.to_owned());
            tokio::spawn(async move {
                let greeted = match tokio::time::timeout(GREETING_TIMEOUT, greet(&name, &token)).await {
                    Ok(greeted) => greeted,
                    Err(_) => Err("it does not answer; is `warren perf agent` running there?".to_owned()),
                };
                match greeted {
                    Ok((stream, processors, comparisons)) => Ok(GreetedAgent { name, stream, processors, comparisons }),
                    Err(reason) => Err(ConnectError { agent: name, reason }),
                }
            })
        });
        let greeting: Vec<_> = greeting.collect();
        let mut members = Vec::new();
        for (task, address) in greeting.into_iter().zip(addresses) {
            let failed = |error: JoinError| ConnectError { agent: with_port(address), reason: error.to_string() };
            members.push(task.await.map_err(failed)??);
        }
        Ok(AgentPool { members, order })
    }

    /// How well their clocks are known, in nanoseconds to either side: two of them may differ by both errors.
    pub(crate) fn clock_error_ns(&self) -> u64 {
        let best = self.members.iter().filter_map(|member| member.comparisons.best());
        let mut errors: Vec<u64> = best.map(|best| best.error_ns).collect();
        errors.sort_unstable();
        errors.iter().rev().take(2).sum()
    }

    /// Where they are.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// How many processors they have together. Two on one machine count its processors twice.
    pub(crate) fn processors(&self) -> u32 {
        self.members.iter().fold(0, |sum, member| sum.saturating_add(member.processors))
    }

    /// Puts them under the command of a run.
    pub(crate) fn start(self, plan: &Plan) -> (Agents, Reports) {
        let (incidents, reports) = mpsc::unbounded_channel();
        let shares = LoadShare::all(u32::try_from(self.members.len()).unwrap_or(u32::MAX));
        let members = self.members.into_iter().zip(shares);
        let members = members.map(|(greeted, share)| Member::start(greeted, share, plan, incidents.clone())).collect();
        (Agents { members, order: self.order, publisher_count: plan.publisher_count(), usage: None }, reports)
    }
}

/// `host:5699` for `host`.
fn with_port(address: &str) -> String {
    let is_bare_v6 = address.matches(':').count() > 1 && !address.starts_with('[');
    match address.rsplit_once(':') {
        _ if is_bare_v6 => format!("[{address}]:{DEFAULT_PORT}"),
        Some((_, after)) if !after.contains(']') => address.to_owned(),
        _ => format!("{address}:{DEFAULT_PORT}"),
    }
}

/// Connects, introduces itself, compares clocks.
async fn greet(address: &str, token: &str) -> Result<(TcpStream, u32, Comparisons), String> {
    let said = |error: WireError| match error {
        WireError::Closed => "it has closed the connection".to_owned(),
        WireError::Malformed(_) | WireError::TooLong { .. } => "the peer is not a `warren perf agent`".to_owned(),
        WireError::Io(error) => error.to_string(),
    };
    let mut stream = TcpStream::connect(address).await.map_err(|error| format!("cannot connect: {error}"))?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let (agent_nonce, needs_token) = match wire::read(&mut stream, GREETING_LEN_MAX).await.map_err(said)? {
        AgentHello::Refused { reason } => return Err(reason),
        AgentHello::Hello { program, .. } if program != PROGRAM => {
            return Err("the peer is another program".into());
        }
        AgentHello::Hello { version, .. } if version != VERSION => {
            return Err(format!("it has version {version}, and this is {VERSION}: the versions must be the same"));
        }
        AgentHello::Hello { nonce, needs_token, .. } => (nonce, needs_token),
    };
    if needs_token && token.is_empty() {
        return Err("it requires a token: --agent-token".to_owned());
    }
    let nonce = token::nonce().map_err(|error: io::Error| error.to_string())?;
    let proof = token::proof(token, Side::Coordinator, &agent_nonce, &nonce);
    let expected = token::proof(token, Side::Agent, &agent_nonce, &nonce);
    let hello = CoordinatorHello { version: VERSION.to_owned(), nonce, proof };
    wire::write(&mut stream, &hello).await.map_err(said)?;
    let processors = match wire::read(&mut stream, GREETING_LEN_MAX).await.map_err(said)? {
        Welcome::Refused { reason } => return Err(reason),
        Welcome::Welcome { proof, .. } if !token::is_same(&proof, &expected) => {
            return Err("it does not have the token itself".to_owned());
        }
        Welcome::Welcome { processors, .. } => processors,
    };
    let mut comparisons = Comparisons::default();
    for _ in 0..PING_COUNT {
        let sent = now_ns();
        wire::write(&mut stream, &ToAgent::Ping).await.map_err(said)?;
        let FromAgent::Pong { now_ns: agent } = wire::read(&mut stream, GREETING_LEN_MAX).await.map_err(said)? else {
            return Err("it does not report its time".to_owned());
        };
        comparisons.add(Comparison::new(sent, agent, now_ns()).ok_or("its clock cannot be read")?);
    }
    Ok((stream, processors, comparisons))
}

/// Agents as generators of the load.
#[derive(Debug)]
pub(crate) struct Agents {
    members: Vec<Member>,
    order: Order,
    publisher_count: u32,
    usage: Option<Usage>,
}

/// One of them.
#[derive(Debug)]
struct Member {
    name: String,
    share: LoadShare,
    ahead: Arc<Ahead>,
    commands: mpsc::UnboundedSender<ToAgent>,
    replies: mpsc::UnboundedReceiver<FromAgent>,
    thread_count: usize,
}

impl Member {
    fn start(greeted: GreetedAgent, share: LoadShare, plan: &Plan, incidents: Incidents) -> Self {
        let GreetedAgent { name, stream, comparisons, .. } = greeted;
        let (commands, command_receiver) = mpsc::unbounded_channel();
        let (reply_sender, replies) = mpsc::unbounded_channel();
        let ahead = Arc::new(Ahead::new());
        if let Some(best) = comparisons.best() {
            ahead.set(best.ahead_ns);
            // It is there, or its link sees that it is not.
            let _ = commands.send(ToAgent::Ahead { ns: best.ahead_ns });
        }
        let assignment = share.of(plan);
        let link = Link {
            name: name.clone(),
            comparisons,
            ahead: Arc::clone(&ahead),
            incidents,
            replies: reply_sender,
            working: BTreeMap::from([
                (Role::Publisher, assignment.publishers.len() as u32),
                (Role::Consumer, assignment.consumers.len() as u32),
            ]),
            started_count: 0,
            publishers: publishers_of(plan, &assignment.publishers).into_iter().collect(),
            lost_count: 0,
        };
        tokio::spawn(link.run(stream, command_receiver));
        Member { name, share, ahead, commands, replies, thread_count: 0 }
    }

    fn command(&self, command: ToAgent) {
        // One that is lost has said so.
        let _ = self.commands.send(command);
    }

    /// The reply to a command of the preparation, without which there is no run.
    async fn reply(&mut self) -> Result<FromAgent, RunError> {
        match self.replies.recv().await {
            Some(FromAgent::Failed { reason }) => Err(RunError::Failed(format!("agent {}: {reason}", self.name))),
            Some(reply) => Ok(reply),
            None => Err(RunError::Failed(format!("the agent {} was lost", self.name))),
        }
    }

    fn nonsense(&self) -> RunError {
        RunError::Failed(format!("agent {}: unexpected answer", self.name))
    }
}

impl Agents {
    fn command(&self, command: &ToAgent) {
        self.members.iter().for_each(|member| member.command(command.clone()));
    }

    /// Has all of them start tasks. Returns how many.
    async fn start_tasks(&mut self, command: &ToAgent) -> Result<usize, RunError> {
        self.command(command);
        let mut count = 0;
        for member in &mut self.members {
            match member.reply().await? {
                FromAgent::Started { tasks } => count += tasks as usize,
                _ => return Err(member.nonsense()),
            }
        }
        Ok(count)
    }
}

impl Workers for Agents {
    async fn start_consumers(&mut self) -> Result<usize, RunError> {
        let order = Box::new(std::mem::take(&mut self.order));
        for member in &self.members {
            member.command(ToAgent::Prepare { order: order.clone(), share: member.share });
        }
        for member in &mut self.members {
            match member.reply().await? {
                FromAgent::Prepared { threads } => member.thread_count = threads as usize,
                _ => return Err(member.nonsense()),
            }
        }
        self.start_tasks(&ToAgent::StartConsumers).await
    }

    async fn start_others(&mut self) -> Result<usize, RunError> {
        self.start_tasks(&ToAgent::StartOthers).await
    }

    fn thread_count(&self) -> usize {
        self.members.iter().map(|member| member.thread_count).sum()
    }

    fn start(&mut self) -> u64 {
        let start = now_ns() + START_DELAY.as_nanos() as u64;
        for member in &self.members {
            let at_ns = start.saturating_add_signed(member.ahead.ns().saturating_neg());
            member.command(ToAgent::Start { at_ns });
        }
        start
    }

    async fn collect(&mut self) -> Vec<Option<CollectedInterval>> {
        self.command(&ToAgent::Collect);
        let mut all = Vec::new();
        for member in &mut self.members {
            let mut intervals = match member.replies.recv().await {
                Some(FromAgent::Collected { threads, usage }) => {
                    self.usage = Some(self.usage.map_or(usage, |sum| side_by_side(sum, usage)));
                    threads
                }
                _ => Vec::new(),
            };
            intervals.resize(member.thread_count, None);
            let (ahead_ns, publisher_count) = (member.ahead.ns(), self.publisher_count);
            all.extend(intervals.into_iter().map(|interval| interval?.into_collected(ahead_ns, publisher_count).ok()));
        }
        all
    }

    fn usage(&mut self) -> Usage {
        self.usage.take().unwrap_or_default()
    }

    fn drain(&mut self) {
        self.command(&ToAgent::Drain);
    }

    fn end(&mut self) {
        self.command(&ToAgent::End);
    }

    async fn join(mut self) -> Result<(), RunError> {
        self.command(&ToAgent::Leave);
        let leaving = async {
            let mut failed = Ok(());
            for member in &mut self.members {
                loop {
                    match member.replies.recv().await {
                        // One that is lost has said so.
                        Some(FromAgent::Left) | None => break,
                        Some(FromAgent::Failed { reason }) => {
                            failed = Err(RunError::Failed(format!("agent {}: {reason}", member.name)));
                            break;
                        }
                        Some(_) => {}
                    }
                }
            }
            failed
        };
        // An agent that does not answer is not waited for: what it measured is there.
        tokio::time::timeout(GOODBYE, leaving).await.unwrap_or(Ok(()))
    }
}

/// What machines use together.
fn side_by_side(one: Usage, other: Usage) -> Usage {
    let memory = one.memory.zip(other.memory).map(|(one, other)| one.saturating_add(other));
    Usage { memory, ..one.plus(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_may_be_left_out() {
        for (address, expected) in [
            ("host", "host:5699"),
            ("host:1", "host:1"),
            ("10.0.0.1", "10.0.0.1:5699"),
            ("::1", "[::1]:5699"),
            ("[::1]", "[::1]:5699"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(with_port(address), expected);
        }
    }
}
