//! One connection over which a queue is sent on: with confirms, and no more under way than is bounded.

use amqp::ReplyCode;
use amqp_client::{CallError, Closed, Connection, Event};
use model::ids::QueueSeq;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::EndReason;
use crate::balance::UpstreamId;
use crate::limits::{SPOOL_TURN_MS, UNCONFIRMED_TIMEOUT_MS, UPSTREAM_OUTPUT_LEN_MAX};
use crate::service::upstreams::Upstreams;
use crate::spool::{Job, NextPublish, Spool, Window};
use crate::switchboard::{put_frames, uncuttable_len};

/// How long nothing may be confirmed of what was sent.
const CONFIRM_TIMEOUT: Duration = Duration::from_millis(UNCONFIRMED_TIMEOUT_MS);

/// How often at most refused publishes are logged.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The channel that is used.
const CHANNEL: u16 = 1;

/// What an upstream said.
enum UpstreamReply {
    Settled { seqs: Vec<QueueSeq>, is_refused: bool },
    ChannelClosed(String),
}

/// What is log_counts in the log, not of each message.
#[derive(Default)]
struct LogCounts {
    refused_count: u64,
    returned_count: u64,
    /// The upstream's words of the last one.
    text: String,
    at: Option<Instant>,
}

pub(super) struct Sender<'a> {
    spool: &'a Spool,
    upstreams: &'a Upstreams,
    upstream: UpstreamId,
    job: &'a Job,
    window: &'a mut Window,
    changes: watch::Receiver<()>,
    begun_ms: u64,
    log_counts: LogCounts,
}

impl<'a> Sender<'a> {
    pub(super) fn new(
        spool: &'a Spool,
        upstreams: &'a Upstreams,
        upstream: UpstreamId,
        job: &'a Job,
        window: &'a mut Window,
    ) -> Self {
        let (changes, begun_ms) = (spool.changes(), upstreams.now_ms());
        Sender { spool, upstreams, upstream, job, window, changes, begun_ms, log_counts: LogCounts::default() }
    }

    /// Until nothing is left, or it is another's turn.
    pub(super) async fn send_all(&mut self, connection: &mut Connection) -> Result<(), EndReason> {
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
                () = tokio::time::sleep_until(moved_at + CONFIRM_TIMEOUT), if !self.window.is_empty() => {
                    let text = format!("nothing was confirmed for {} s", CONFIRM_TIMEOUT.as_secs());
                    return Err(EndReason::Lost(text));
                }
            }
            while let Some(said) = self.next(connection)? {
                moved_at = Instant::now();
                match said {
                    UpstreamReply::Settled { seqs, is_refused } => {
                        self.settle(&seqs, is_refused.then_some("it was nacked"))
                    }
                    UpstreamReply::ChannelClosed(text) => {
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
            || self.upstreams.should_drain(self.upstream, Some(&*self.job.vhost))
            || (is_long && self.spool.is_any_claimable(now_ms))
    }

    /// Sends as much as may be under way. Whether there is no more.
    fn send_some(&mut self, connection: &mut Connection) -> bool {
        if self.is_to_end() {
            return true;
        }
        let frame_len_max = connection.tune().frame_len_max;
        while self.window.has_room()
            && connection.output_len() < UPSTREAM_OUTPUT_LEN_MAX
            && connection.is_blocked().is_none()
        {
            match self.spool.take(self.job.spool_queue) {
                NextPublish::Publish(seq, publish) => {
                    let frames = publish.frames();
                    if uncuttable_len(frames) > frame_len_max as usize {
                        self.settle(&[seq], Some("its header is longer than the upstream accepts"));
                        continue;
                    }
                    put_frames(connection.encoded(), frames, CHANNEL, frame_len_max);
                    self.window.sent(seq, frames.len());
                }
                NextPublish::Loading => return false,
                NextPublish::Nothing => return true,
            }
        }
        false
    }

    /// What came next that matters here.
    fn next(&mut self, connection: &mut Connection) -> Result<Option<UpstreamReply>, EndReason> {
        loop {
            match connection.next_event() {
                Ok(Some(Event::Confirmed { tag, is_multiple, is_ack, .. })) => {
                    let seqs = self.window.settled(tag, is_multiple);
                    return Ok(Some(UpstreamReply::Settled { seqs, is_refused: !is_ack }));
                }
                Ok(Some(Event::ChannelClosed { close, .. })) => {
                    let text = String::from_utf8_lossy(close.reply_text);
                    return Ok(Some(UpstreamReply::ChannelClosed(format!("{} {text}", close.reply_code))));
                }
                Ok(Some(Event::Returned { returned, .. })) => {
                    self.log_counts.returned_count += 1;
                    self.log_counts.text = String::from_utf8_lossy(returned.reply_text).into_owned();
                    self.log_at_intervals();
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
        self.spool.put_back(self.job.spool_queue, &failure.again);
        if let Some(culprit) = failure.culprit {
            self.settle(&[culprit], Some(text));
        }
    }

    /// These leave the queue: they are confirmed, or refused for this reason.
    fn settle(&mut self, seqs: &[QueueSeq], refused: Option<&str>) {
        self.spool.settle(self.job.spool_queue, seqs, refused.is_some(), self.upstreams.now_ms());
        if let Some(text) = refused {
            self.log_counts.refused_count += seqs.len() as u64;
            text.clone_into(&mut self.log_counts.text);
            self.log_at_intervals();
        }
    }

    fn log_at_intervals(&mut self) {
        if self.log_counts.at.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            self.tell();
        }
    }

    /// Logs what was not logged yet.
    pub(super) fn tell(&mut self) {
        let (user, vhost) = (&self.job.user, &self.job.vhost);
        let LogCounts { refused_count, returned_count, text, .. } = std::mem::take(&mut self.log_counts);
        if refused_count > 0 {
            tracing::warn!(%user, %vhost, %text, count = refused_count, "stored messages refused and dropped");
        }
        if returned_count > 0 {
            tracing::warn!(
                %user, %vhost, %text, count = returned_count,
                "stored messages returned after their clients had disconnected"
            );
        }
        self.log_counts.at = Some(Instant::now());
    }

    /// The connection is over.
    fn ended(&mut self, error: &Closed) -> EndReason {
        match error {
            Closed::ByBroker { code, text } if is_blaming(*code) && !self.window.is_empty() => {
                self.failed(&format!("{code} {text}"));
                EndReason::Blamed
            }
            other => EndReason::Lost(other.to_string()),
        }
    }
}

/// Whether a connection is closed with this code for what came over it.
fn is_blaming(code: u16) -> bool {
    ![ReplyCode::ConnectionForced, ReplyCode::InternalError].map(ReplyCode::code).contains(&code)
}

async fn open_channel(connection: &mut Connection) -> Result<(), EndReason> {
    let opening = async {
        connection.open_channel(CHANNEL).await?;
        connection.select_confirms(CHANNEL).await
    };
    opening.await.map_err(|error: CallError| EndReason::Lost(error.to_string()))
}
