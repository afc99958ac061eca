//! Sends on what the spool has kept: each shelf over a connection of its own, which is there as long as it is needed.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use amqp::ReplyCode;
use client::{CallError, Closed, ConnectOptions, Connection, Event, Uri};
use model::ids::QueueSeq;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::upstreams::{Dialled, Upstreams};
use crate::balance::UpstreamId;
use crate::limits::{LINE_OUTPUT_LEN_MAX, SPOOL_FORWARDER_COUNT_MAX, SPOOL_TURN_MS, UNCONFIRMED_PATIENCE_MS};
use crate::spool::{Job, Spool, Taken, Window};
use crate::switchboard::{put_frames, says_no_access, uncuttable_len};

/// How often it is looked what is too old, and what can be tried again.
const TICK: Duration = Duration::from_secs(1);

/// How long an upstream is looked for, and how long the handshake with it may take.
const DIAL_PATIENCE: Duration = Duration::from_secs(5);
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an upstream may take to agree to a close.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// Seconds between heartbeats that are asked for.
const HEARTBEAT_S: u16 = 10;

/// How long nothing may be confirmed of what was sent.
const CONFIRM_PATIENCE: Duration = Duration::from_millis(UNCONFIRMED_PATIENCE_MS);

/// How often at most the log tells what was refused.
const TELL_INTERVAL: Duration = Duration::from_secs(1);

/// The channel that is used.
const CHANNEL: u16 = 1;

/// Sends on what there is, until nothing is to be sent on any more.
pub(super) async fn forward(spool: Arc<Spool>, upstreams: Arc<Upstreams>) {
    let mut changes = spool.changes();
    let mut jobs = JoinSet::new();
    let mut ticks = tokio::time::interval(TICK);
    while !(spool.is_stopping() && jobs.is_empty()) {
        changes.borrow_and_update();
        while jobs.len() < SPOOL_FORWARDER_COUNT_MAX
            && let Some(job) = spool.claim(upstreams.now_ms())
        {
            jobs.spawn(send_on(spool.clone(), upstreams.clone(), job));
        }
        tokio::select! {
            _ = changes.changed() => {}
            Some(_) = jobs.join_next() => {}
            _ = ticks.tick() => spool.tick(upstreams.now_ms(), wall_ms()),
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Gives the shelf back, whatever becomes of the task.
struct Claim {
    spool: Arc<Spool>,
    upstreams: Arc<Upstreams>,
    job: Job,
    result: Result<(), String>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let result = std::mem::replace(&mut self.result, Ok(()));
        self.spool.release(self.job.shelf, result, self.upstreams.now_ms());
    }
}

async fn send_on(spool: Arc<Spool>, upstreams: Arc<Upstreams>, job: Job) {
    let result = Err("it was not sent on".to_owned());
    let mut claim = Claim { spool, upstreams, job, result };
    let Claim { spool, upstreams, job, .. } = &claim;
    let mut window = Window::default();
    let result = loop {
        match send_over_new_connection(spool, upstreams, job, &mut window).await {
            Ok(()) => break Ok(()),
            // It is clearer now what is to blame.
            Err(Ended::Blamed) => {}
            Err(Ended::Lost(error)) => break Err(error),
        }
    };
    match &result {
        Ok(()) => tracing::info!(user = %job.user, vhost = %job.vhost, "what was kept has been sent on"),
        Err(error) => {
            tracing::debug!(user = %job.user, vhost = %job.vhost, %error, "what was kept could not be sent on");
        }
    }
    claim.result = result;
}

/// Why a connection is over before all was sent.
enum Ended {
    /// For something that was sent over it.
    Blamed,
    /// For any other reason.
    Lost(String),
}

async fn send_over_new_connection(
    spool: &Spool,
    upstreams: &Upstreams,
    job: &Job,
    window: &mut Window,
) -> Result<(), Ended> {
    let (mut connection, open) = connect(spool, upstreams, job).await.map_err(Ended::Lost)?;
    spool.sends(job.shelf, upstreams.now_ms());
    let (changes, begun_ms) = (spool.changes(), upstreams.now_ms());
    let mut sender =
        Sender { spool, upstreams, upstream: open.upstream, job, window, changes, begun_ms, told: Told::default() };
    let sent = sender.send_all(&mut connection).await;
    sender.tell();
    sent?;
    connection.close(CLOSE_PATIENCE).await;
    Ok(())
}

async fn connect<'a>(spool: &Spool, upstreams: &'a Upstreams, job: &Job) -> Result<(Connection, Open<'a>), String> {
    let Ok(password) = std::str::from_utf8(&job.secret) else {
        return Err("the user's password is not UTF-8".to_owned());
    };
    let Dialled { upstream, stream, .. } = upstreams.dial(Some(&*job.vhost), None, DIAL_PATIENCE, |_| {}).await?;
    let uri = Uri {
        user: job.user.to_string(),
        password: password.to_owned(),
        vhost: job.vhost.to_string(),
        ..Uri::default()
    };
    let options = ConnectOptions {
        name: Some("warren proxy, spool".to_owned()),
        heartbeat: HEARTBEAT_S,
        timeout: HANDSHAKE_TIMEOUT,
        answer_timeout: HANDSHAKE_TIMEOUT,
        ..ConnectOptions::default()
    };
    match Connection::over(stream, &uri, &options).await {
        Ok(connection) => Ok((connection, Open::new(upstreams, upstream))),
        Err(error) => {
            let text = without_address(&error);
            match &error {
                client::OpenError::LoginRefused { .. } => spool.refused(&job.user, &job.secret, None),
                client::OpenError::Refused { code, text, .. } if says_no_access(*code, text) => {
                    spool.refused(&job.user, &job.secret, Some(&job.vhost));
                }
                _ => {}
            }
            match error.is_passing() {
                true => upstreams.failed(upstream, &text),
                // It said no to this login, or to one more connection.
                false => upstreams.abandoned(upstream),
            }
            Err(text)
        }
    }
}

/// The URI names no upstream: that is the balance's.
fn without_address(error: &client::OpenError) -> String {
    match error {
        client::OpenError::LoginRefused { text, .. } => text.clone(),
        client::OpenError::Refused { code, text, .. } => format!("{code} {text}"),
        client::OpenError::Lost { source, .. } => format!("the upstream connection was lost: {source}"),
        client::OpenError::TimedOut { timeout, .. } => {
            format!("the upstream did not open the connection within {} s", timeout.as_secs_f64())
        }
        other => other.to_string(),
    }
}

/// An open connection to an upstream, as the balance counts it.
struct Open<'a> {
    upstreams: &'a Upstreams,
    upstream: UpstreamId,
}

impl<'a> Open<'a> {
    fn new(upstreams: &'a Upstreams, upstream: UpstreamId) -> Self {
        upstreams.opened(upstream);
        Open { upstreams, upstream }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.upstreams.lost(self.upstream);
    }
}

/// What an upstream said.
enum Said {
    Settled { seqs: Vec<QueueSeq>, is_refused: bool },
    ChannelClosed(String),
}

/// What is told in the log, not of each message.
#[derive(Default)]
struct Told {
    refused_count: u64,
    returned_count: u64,
    /// The upstream's words of the last one.
    text: String,
    at: Option<Instant>,
}

struct Sender<'a> {
    spool: &'a Spool,
    upstreams: &'a Upstreams,
    upstream: UpstreamId,
    job: &'a Job,
    window: &'a mut Window,
    changes: watch::Receiver<()>,
    begun_ms: u64,
    told: Told,
}

impl Sender<'_> {
    /// Until nothing is left, or it is another's turn.
    async fn send_all(&mut self, connection: &mut Connection) -> Result<(), Ended> {
        open_channel(connection).await?;
        let mut moved_at = Instant::now();
        loop {
            self.changes.borrow_and_update();
            if self.send_some(connection) && self.window.is_empty() {
                return Ok(());
            }
            tokio::select! {
                turn = connection.turn() => drop(turn.map_err(|error| self.ended(&error))?),
                // Something was read, perhaps.
                _ = self.changes.changed() => continue,
                () = tokio::time::sleep_until(moved_at + CONFIRM_PATIENCE), if !self.window.is_empty() => {
                    let text = format!("nothing was confirmed for {} s", CONFIRM_PATIENCE.as_secs());
                    return Err(Ended::Lost(text));
                }
            }
            while let Some(said) = self.next(connection)? {
                moved_at = Instant::now();
                match said {
                    Said::Settled { seqs, is_refused } => self.settle(&seqs, is_refused.then_some("it was nacked")),
                    Said::ChannelClosed(text) => {
                        self.failed(&text);
                        open_channel(connection).await?;
                    }
                }
            }
        }
    }

    /// Whether nothing more is to be sent over this connection.
    fn is_to_end(&self) -> bool {
        let now_ms = self.upstreams.now_ms();
        let is_long = now_ms >= self.begun_ms + SPOOL_TURN_MS;
        self.spool.is_stopping()
            || self.upstreams.is_left(self.upstream)
            || (is_long && self.spool.is_any_claimable(now_ms))
    }

    /// Sends as much as may be under way. Whether there is no more.
    fn send_some(&mut self, connection: &mut Connection) -> bool {
        if self.is_to_end() {
            return true;
        }
        let frame_len_max = connection.tune().frame_len_max;
        while self.window.has_room()
            && connection.output_len() < LINE_OUTPUT_LEN_MAX
            && connection.is_blocked().is_none()
        {
            match self.spool.take(self.job.shelf) {
                Taken::Publish(seq, publish) => {
                    let frames = publish.frames();
                    if uncuttable_len(frames) > frame_len_max as usize {
                        self.settle(&[seq], Some("its header is longer than the upstream takes"));
                        continue;
                    }
                    put_frames(connection.encoded(), frames, CHANNEL, frame_len_max);
                    self.window.sent(seq, frames.len());
                }
                Taken::Loading => return false,
                Taken::Nothing => return true,
            }
        }
        false
    }

    /// What came next that matters here.
    fn next(&mut self, connection: &mut Connection) -> Result<Option<Said>, Ended> {
        loop {
            match connection.next_event() {
                Ok(Some(Event::Confirmed { tag, is_multiple, is_ack, .. })) => {
                    let seqs = self.window.settled(tag, is_multiple);
                    return Ok(Some(Said::Settled { seqs, is_refused: !is_ack }));
                }
                Ok(Some(Event::ChannelClosed { close, .. })) => {
                    let text = String::from_utf8_lossy(close.reply_text);
                    return Ok(Some(Said::ChannelClosed(format!("{} {text}", close.reply_code))));
                }
                Ok(Some(Event::Returned { returned, .. })) => {
                    self.told.returned_count += 1;
                    self.told.text = String::from_utf8_lossy(returned.reply_text).into_owned();
                    self.tell_at_times();
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    /// The upstream closed the channel, or the connection, for something that was sent over it.
    fn failed(&mut self, text: &str) {
        let failure = self.window.failed();
        self.spool.put_back(self.job.shelf, &failure.again);
        if let Some(culprit) = failure.culprit {
            self.settle(&[culprit], Some(text));
        }
    }

    /// These leave the shelf: they are confirmed, or refused for this reason.
    fn settle(&mut self, seqs: &[QueueSeq], refused: Option<&str>) {
        self.spool.settle(self.job.shelf, seqs, refused.is_some(), self.upstreams.now_ms());
        if let Some(text) = refused {
            self.told.refused_count += seqs.len() as u64;
            text.clone_into(&mut self.told.text);
            self.tell_at_times();
        }
    }

    fn tell_at_times(&mut self) {
        if self.told.at.is_none_or(|at| at.elapsed() >= TELL_INTERVAL) {
            self.tell();
        }
    }

    /// Tells what was not told yet.
    fn tell(&mut self) {
        let (user, vhost) = (&self.job.user, &self.job.vhost);
        let Told { refused_count, returned_count, text, .. } = std::mem::take(&mut self.told);
        if refused_count > 0 {
            tracing::warn!(%user, %vhost, %text, count = refused_count, "messages that had been kept were refused, and are dropped");
        }
        if returned_count > 0 {
            tracing::warn!(%user, %vhost, %text, count = returned_count, "messages that had been kept came back, and their clients have gone");
        }
        self.told.at = Some(Instant::now());
    }

    /// The connection is over.
    fn ended(&mut self, error: &Closed) -> Ended {
        match error {
            Closed::ByBroker { code, text } if is_blaming(*code) && !self.window.is_empty() => {
                self.failed(&format!("{code} {text}"));
                Ended::Blamed
            }
            other => Ended::Lost(other.to_string()),
        }
    }
}

/// Whether a connection is closed with this code for what came over it.
fn is_blaming(code: u16) -> bool {
    ![ReplyCode::ConnectionForced, ReplyCode::InternalError].map(ReplyCode::code).contains(&code)
}

async fn open_channel(connection: &mut Connection) -> Result<(), Ended> {
    let opening = async {
        connection.open_channel(CHANNEL).await?;
        connection.select_confirms(CHANNEL).await
    };
    opening.await.map_err(|error: CallError| Ended::Lost(error.to_string()))
}
