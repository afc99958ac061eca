//! The agent's side: waits for a coordinator, does what it says, and waits for the next.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use super::link::{self, Inbox, SILENCE_MAX};
use super::message::{AgentHello, CoordinatorHello, FromAgent, PROGRAM, ToAgent, VERSION, Welcome};
use super::order::Order;
use super::token::{self, Side};
use super::wire::{self, GREETING_LEN_MAX, WireError};
use super::wire_interval::WireInterval;
use crate::engine::clock::{Ahead, now_ns};
use crate::engine::load_share::LoadShare;
use crate::engine::threads::Threads;
use crate::engine::topology::Declarations;
use crate::engine::workers::{Reports, Workers as _};
use crate::engine::{RunError, Settings, Target};
use crate::plan::Plan;

/// How long a stranger may take to identify itself.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// Before it is tried again to take connections.
const ACCEPT_RETRY: Duration = Duration::from_millis(200);
/// A sleep of the runtime is as exact as a millisecond. Tasks are notified of the start so much before it: their own timers are exact.
const START_AHEAD: Duration = Duration::from_millis(3);

/// The coordinator's clock less this machine's. There is one coordinator at a time.
static AHEAD: Ahead = Ahead::new();

/// What a command comes to on this machine.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) target: Arc<Target>,
    pub(crate) settings: Settings,
}

/// A command that is being understood.
pub(crate) type Reading = Pin<Box<dyn Future<Output = Result<Job, String>>>>;

/// Why a coordinator was not served to the end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// It is not to be served.
    #[error("refused: {0}")]
    Refused(String),
    /// Its connection is lost.
    #[error("the coordinator is lost: {0}")]
    Gone(#[from] WireError),
    /// Nothing came from it, though it says something every second.
    #[error("the coordinator is lost: it has sent nothing for {} s", SILENCE_MAX.as_secs())]
    Silent,
    /// It cannot be.
    #[error("the run cannot be executed: {0}")]
    Failed(String),
}

impl From<RunError> for ServeError {
    fn from(error: RunError) -> Self {
        ServeError::Failed(error.to_string())
    }
}

/// An agent.
pub(crate) struct Agent<'a> {
    pub(crate) listener: TcpListener,
    /// Empty: any coordinator may command it.
    pub(crate) token: String,
    /// Understands commands; the clock is the coordinator's.
    pub(crate) read: &'a dyn Fn(Order, &'static Ahead) -> Reading,
    /// Is called with each thing that happens, in words.
    pub(crate) say: &'a dyn Fn(&str),
}

impl Agent<'_> {
    /// Serves one coordinator after the other, for ever.
    pub(crate) async fn run(&self) {
        loop {
            let (stream, peer) = self.accept().await;
            let mut serving = pin!(self.serve(stream, peer));
            let served = loop {
                tokio::select! {
                    biased;
                    served = &mut serving => break served,
                    (other, _) = self.accept() => {
                        let reason = "it is busy with another run".to_owned();
                        tokio::spawn(async move { link::write(&mut { other }, &AgentHello::Refused { reason }).await });
                    }
                }
            };
            match served {
                Ok(()) => (self.say)(&format!("{peer}: done")),
                Err(error) => (self.say)(&format!("{peer}: {error}")),
            }
        }
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) if stream.set_nodelay(true).is_ok() => return (stream, peer),
                Ok(_) => {}
                // No file is left, or the peer has disconnected already.
                Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
            }
        }
    }

    async fn serve(&self, mut stream: TcpStream, peer: SocketAddr) -> Result<(), ServeError> {
        match tokio::time::timeout(GREETING_TIMEOUT, self.greet(&mut stream)).await {
            Ok(greeted) => greeted?,
            Err(_) => return Err(ServeError::Refused("it did not identify itself".to_owned())),
        }
        let (reading, writing) = stream.into_split();
        let (inbox, _reader) = link::read_all::<ToAgent>(reading);
        let mut line = Line { inbox, writing, heard_at: Instant::now() };
        let (order, share) = loop {
            match line.next().await? {
                ToAgent::Prepare { order, share } => break (order, share),
                other => line.answer_question(&other).await?,
            }
        };
        let duty = async {
            let run = order.run;
            let mut job = (self.read)(*order, &AHEAD).await.map_err(ServeError::Failed)?;
            share.slow_down(&mut job.plan);
            (self.say)(&format!("{peer}: {}, run {}", job.plan.name, run + 1));
            Duty::perform(&job, share, &mut line).await
        };
        match duty.await {
            Err(ServeError::Failed(reason)) => {
                line.write(&FromAgent::Failed { reason: reason.clone() }).await?;
                Err(ServeError::Failed(reason))
            }
            ended => ended,
        }
    }

    /// Finds out whether the coordinator may command it.
    async fn greet(&self, stream: &mut TcpStream) -> Result<(), ServeError> {
        let ours = token::nonce().map_err(WireError::Io)?;
        let hello = AgentHello::Hello {
            program: PROGRAM.to_owned(),
            version: VERSION.to_owned(),
            nonce: ours.clone(),
            needs_token: !self.token.is_empty(),
        };
        wire::write(stream, &hello).await?;
        let hello: CoordinatorHello = wire::read(stream, GREETING_LEN_MAX).await?;
        let reason = if hello.version != VERSION {
            format!("it has version {VERSION}, and the coordinator {}: the versions must be the same", hello.version)
        } else if !token::is_same(&hello.proof, &token::proof(&self.token, Side::Coordinator, &ours, &hello.nonce)) {
            match self.token.is_empty() {
                true => "it was started without a token, and received one".to_owned(),
                false => "the token differs from the one that it was started with".to_owned(),
            }
        } else {
            let proof = token::proof(&self.token, Side::Agent, &ours, &hello.nonce);
            return Ok(wire::write(stream, &Welcome::Welcome { proof, processors: crate::watch::processors() }).await?);
        };
        wire::write(stream, &Welcome::Refused { reason: reason.clone() }).await?;
        Err(ServeError::Refused(reason))
    }
}

/// The connection to the coordinator.
struct Line {
    inbox: Inbox<ToAgent>,
    writing: OwnedWriteHalf,
    heard_at: Instant,
}

impl Line {
    /// What the coordinator says next. It says something every second. May be dropped and asked again: its silence counts on.
    async fn next(&mut self) -> Result<ToAgent, ServeError> {
        match tokio::time::timeout_at(self.heard_at + SILENCE_MAX, self.inbox.recv()).await {
            Ok(Some((_, message))) => {
                self.heard_at = Instant::now();
                Ok(message?)
            }
            Ok(None) => Err(WireError::Closed.into()),
            Err(_) => Err(ServeError::Silent),
        }
    }

    async fn write(&mut self, message: &FromAgent) -> Result<(), ServeError> {
        Ok(link::write(&mut self.writing, message).await?)
    }

    /// Does what can be asked at any time: about clocks.
    async fn answer_question(&mut self, message: &ToAgent) -> Result<(), ServeError> {
        match message {
            ToAgent::Ping => self.write(&FromAgent::Pong { now_ns: now_ns() }).await,
            ToAgent::Ahead { ns } => {
                AHEAD.set(*ns);
                Ok(())
            }
            _ => Err(ServeError::Failed("unexpected request of the coordinator".to_owned())),
        }
    }
}

/// What is done for a coordinator.
struct Duty<'a> {
    threads: Threads<'a>,
    reports: Reports,
    /// When all begin, as long as they have not.
    start: Option<u64>,
}

impl Duty<'_> {
    /// Does a job until the coordinator ends it, or is lost. No load is left behind.
    async fn perform(job: &Job, share: LoadShare, line: &mut Line) -> Result<(), ServeError> {
        let declarations = Declarations::new(&job.plan).map_err(RunError::from)?;
        let declarations = Arc::new(declarations);
        let (threads, reports) = Threads::new(&job.plan, &job.target, &declarations, &job.settings, share)?;
        let mut duty = Duty { threads, reports, start: None };
        let threads = u32::try_from(duty.threads.thread_count()).unwrap_or(u32::MAX);
        line.write(&FromAgent::Prepared { threads }).await?;
        let obeyed = duty.obey(line).await;
        duty.threads.end();
        let joined = duty.threads.join().await;
        obeyed?;
        joined?;
        line.write(&FromAgent::Left).await
    }

    /// Follows commands up to [`ToAgent::Leave`].
    async fn obey(&mut self, line: &mut Line) -> Result<(), ServeError> {
        loop {
            let starting = until(self.start);
            tokio::select! {
                biased;
                start = starting => {
                    self.start = None;
                    self.threads.start_at(start);
                }
                command = line.next() => match command? {
                    ToAgent::Leave => return Ok(()),
                    command => self.follow(command, line).await?,
                },
                Some(incident) = self.reports.recv() => line.write(&FromAgent::Told(incident)).await?,
            }
        }
    }

    async fn follow(&mut self, command: ToAgent, line: &mut Line) -> Result<(), ServeError> {
        let started = |tasks: usize| FromAgent::Started { tasks: u32::try_from(tasks).unwrap_or(u32::MAX) };
        match command {
            ToAgent::StartConsumers => line.write(&started(self.threads.start_consumers().await?)).await,
            ToAgent::StartOthers => line.write(&started(self.threads.start_others().await?)).await,
            ToAgent::Start { at_ns } => {
                self.start = Some(at_ns);
                Ok(())
            }
            ToAgent::Collect => {
                let threads = self.threads.collect().await;
                let threads = threads.into_iter().map(|collected| collected.map(WireInterval::new)).collect();
                line.write(&FromAgent::Collected { threads, usage: self.threads.usage() }).await
            }
            ToAgent::Drain => {
                if let Some(start) = self.start.take() {
                    self.threads.start_at(start);
                }
                self.threads.drain();
                Ok(())
            }
            ToAgent::End => {
                self.threads.end();
                Ok(())
            }
            other => line.answer_question(&other).await,
        }
    }
}

/// Waits until shortly before a time of this machine's clock; for ever if there is none.
async fn until(at: Option<u64>) -> u64 {
    let Some(at) = at else { return std::future::pending().await };
    tokio::time::sleep(Duration::from_nanos(at.saturating_sub(now_ns())).saturating_sub(START_AHEAD)).await;
    at
}
