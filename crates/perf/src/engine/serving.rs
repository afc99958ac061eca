//! What publishers and consumers wait for while their connection is open, and what ends that.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use amqp_client::{Closed, Connection};

use super::control::Stage;
use super::pacer::Timer;
use super::worker::Local;

/// Why a connection is served no longer, other than that its work is done.
pub(crate) enum ServeError {
    /// It is lost: another one may do.
    Closed(Closed),
    /// The broker refuses something, which another connection would not change.
    Failed(String),
}

impl From<Closed> for ServeError {
    fn from(closed: Closed) -> Self {
        ServeError::Closed(closed)
    }
}

impl ServeError {
    /// The broker closed a channel.
    pub(crate) fn channel_closed(whose: &str, close: &amqp::channel::Close<'_>) -> Self {
        let text = String::from_utf8_lossy(close.reply_text);
        ServeError::Failed(format!("the broker closed a {whose}'s channel: {} {text}", close.reply_code))
    }
}

/// Waits for the start, and answers heartbeats meanwhile, if there is a connection: getting thousands of others ready takes a
/// while. `None`: the run is over before it began. An error says whose connection was lost.
pub(crate) async fn until_started(
    connection: Option<&mut Connection>,
    name: &str,
    local: &Local,
) -> Result<Option<u64>, String> {
    let mut control = local.control.clone();
    let Some(connection) = connection else { return Ok(control.started().await) };
    let lost = |closed: Closed| format!("{name} lost its connection before the start: {closed}");
    let mut starting = pin!(control.started());
    loop {
        while connection.next_event().map_err(lost)?.is_some() {}
        tokio::select! {
            biased;
            start = &mut starting => return Ok(start),
            turn = connection.turn() => drop(turn.map_err(lost)?),
        }
    }
}

/// What a wait ended with.
pub(crate) enum WakeReason {
    /// Something came, or all output is sent.
    Socket,
    /// It is time.
    Time,
    /// The run has moved to another stage.
    Stage(Stage),
}

/// Waits for the socket, for a time and for the run at once.
pub(crate) struct Waiter<'a> {
    local: &'a Local,
    timer: &'a mut Timer,
    next_stage: Pin<Box<dyn Future<Output = Stage>>>,
}

impl<'a> Waiter<'a> {
    /// Tells of stages after `stage`.
    pub(crate) fn new(local: &'a Local, timer: &'a mut Timer, stage: Stage) -> Self {
        Waiter { local, timer, next_stage: Box::pin(local.control.clone().after(stage)) }
    }

    /// Waits, and counts the bytes that the socket carried meanwhile. Take all events before.
    pub(crate) async fn wait(
        &mut self,
        connection: &mut Connection,
        wake_at: Option<u64>,
    ) -> Result<WakeReason, Closed> {
        poll_fn(|cx| {
            if let Poll::Ready(stage) = self.next_stage.as_mut().poll(cx) {
                self.next_stage = Box::pin(self.local.control.clone().after(stage));
                return Poll::Ready(Ok(WakeReason::Stage(stage)));
            }
            // After what can wait for another turn: what the socket brings has to be taken.
            if let Poll::Ready(result) = connection.poll_turn(cx) {
                let turn = result?;
                let mut recorder = self.local.recorder.borrow_mut();
                recorder.counts.sent_wire_bytes += turn.sent as u64;
                recorder.counts.received_wire_bytes += turn.received as u64;
                return Poll::Ready(Ok(WakeReason::Socket));
            }
            match wake_at {
                Some(at) if self.timer.poll_until(cx, at).is_ready() => Poll::Ready(Ok(WakeReason::Time)),
                _ => Poll::Pending,
            }
        })
        .await
    }
}
