//! A connection's task: moves bytes between its socket and its session, and watches the clock.
//!
//! One task does both directions. A turn reads once, lets the session work, and writes once; it ends when nothing is
//! left to do, and after so many turns others get their chance. An idle connection keeps no buffers: reads go into a
//! buffer of the thread, and only a frame that has not arrived in full is copied aside.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use engine::effort;
use engine::outbox::Outbox;
use net::Stream;
use parking_lot::Mutex;
use sampler::{Work, working_on};
use store::DurableWaiter;
use telemetry::trace::Task;
use tokio::io::ReadBuf;
use tokio::time::{Sleep, sleep_until};

use super::drain::on_event;
use super::received::Received;
use super::{Phase, Protocol};
use crate::broker::Broker;
use crate::connections::{ConnectionHandle, ConnectionMemory, SocketProbe};
use crate::identity::Identity;
use crate::limits::{CLOSE_TIMEOUT_MAX, OUTPUT_LEN, PUBLISHER_PAUSE, PUBLISHER_PAUSE_MAX, READ_LEN, SOCKET_PROBE_WAIT};
use engine::clock::wall_ms;

/// Turns before other tasks of the thread are let in.
const TURN_COUNT: usize = 16;

/// What a connection takes of the runtime, as it was measured: its task, its timer, its place among the sockets that are waited for.
const OUTSIDE_LEN: usize = 3072;

thread_local! {
    static READ_BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What a connection that is about to be served is known by.
pub(crate) fn accept(broker: &Broker, stream: &Stream) -> Arc<ConnectionHandle> {
    let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
    let (peer, local) = (stream.peer_addr().unwrap_or(unknown), stream.local_addr().unwrap_or(unknown));
    ConnectionHandle::new(broker.connections.next_id(), peer, local, stream.tls_info(), wall_ms())
}

/// Serves a connection until it ends. `known`: the client's identity, if no login has to establish it.
///
/// No `async fn`: its future would keep room for all that the connection is made of, a kilobyte and a half, beside the connection.
pub(crate) fn serve<P: Protocol>(
    broker: Arc<Broker>,
    stream: Stream,
    handle: Arc<ConnectionHandle>,
    known: Option<Identity>,
) -> impl Future<Output = ()> + Send + 'static {
    let connection = Connection::<P>::begin(broker, stream, handle, known);
    async move {
        poll_fn(|cx| connection.lock().poll(cx)).await;
        connection.lock().leave();
    }
}

/// A connection that waits for the journal. Where its task does nothing just now, what may leave is written by the journal's thread: a
/// task is woken by a switch of threads, which costs more than what it would do then.
struct ConnectionWaiter<P: Protocol> {
    connection: Weak<Mutex<Connection<P>>>,
    outbox: Arc<Outbox>,
}

impl<P: Protocol> fmt::Debug for ConnectionWaiter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionWaiter").finish_non_exhaustive()
    }
}

impl<P: Protocol> DurableWaiter for ConnectionWaiter<P> {
    fn wake(&self) {
        self.outbox.wake_up();
    }

    fn finish_here(&self) -> bool {
        let Some(connection) = self.connection.upgrade() else { return true };
        // Where its task is at work, that looks once more.
        connection.try_lock().is_some_and(|mut connection| connection.write_durable())
    }
}

impl<P: Protocol> SocketProbe for ConnectionWaiter<P> {
    fn tcp_info(&self) -> Option<net::TcpInfo> {
        let connection = self.connection.upgrade()?;
        // Its task holds it as long as it works, which is not long; the caller is in a hurry, too.
        let connection = connection.try_lock_for(SOCKET_PROBE_WAIT)?;
        connection.stream.tcp_info()
    }

    fn memory(&self) -> Option<ConnectionMemory> {
        let connection = self.connection.upgrade()?;
        let connection = connection.try_lock_for(SOCKET_PROBE_WAIT)?;
        let mut memory = connection.session.front().memory();
        memory.readers_len += connection.received.memory_len() as u64;
        memory.other_len += (size_of::<Connection<P>>() + OUTSIDE_LEN) as u64;
        Some(memory)
    }
}

pub(crate) struct Connection<P> {
    stream: Stream,
    session: P,
    received: Received,
    written: usize,
    /// All that was written has left the stream, which may hold some of it back.
    is_flushed: bool,
    /// The timer is that of an open connection.
    is_beating: bool,
    /// The peer has said all it will.
    is_at_end: bool,
    /// This side has ended its direction.
    is_ended: bool,
    is_listed: bool,
    timer: Pin<Box<Sleep>>,
    /// Until then nothing is read: consumers come first.
    pause: Option<PublisherPause>,
    /// Until then nothing is read: the vhost's limit of rates asks for it.
    throttle: Option<Pin<Box<Sleep>>>,
    /// Since when it is held back, if it is, while that is counted.
    held_since: Option<Instant>,
    opened_at: Instant,
    last_received: Instant,
    last_sent: Instant,
    /// The task that all of this is, in traces.
    task: Task,
}

/// How a connection's task ends.
struct ConnectionEnded;

/// A publisher's pause, for consumers' sake.
struct PublisherPause {
    sleep: Pin<Box<Sleep>>,
    broker: Arc<Broker>,
}

impl PublisherPause {
    /// So many times [`PUBLISHER_PAUSE`], for each connection that pauses.
    fn new(times: u32, broker: &Arc<Broker>) -> Self {
        let pausing = broker.pausing.fetch_add(1, Ordering::Relaxed) + 1;
        let time = PUBLISHER_PAUSE.saturating_mul(times.saturating_mul(pausing)).min(PUBLISHER_PAUSE_MAX);
        PublisherPause { sleep: Box::pin(tokio::time::sleep(time)), broker: Arc::clone(broker) }
    }
}

impl Drop for PublisherPause {
    fn drop(&mut self) {
        self.broker.pausing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<P: Protocol> Connection<P> {
    /// A connection that is in the listings, and that others can reach.
    fn begin(
        broker: Arc<Broker>,
        stream: Stream,
        handle: Arc<ConnectionHandle>,
        known: Option<Identity>,
    ) -> Arc<Mutex<Self>> {
        let pending = broker.connections.add(handle.clone());
        let mut session = P::begin(broker, handle.clone());
        if let Some(event) = pending {
            on_event(&mut session, event);
        }
        if let Some(identity) = known {
            session.front_mut().know(identity);
        }
        let connection = Arc::new(Mutex::new(Connection::new(stream, session)));
        let (reached, outbox) = (Arc::downgrade(&connection), handle.outbox.clone());
        let waiter = Arc::new(ConnectionWaiter { connection: reached, outbox });
        let _ = handle.durable_waiter.set(waiter.clone());
        let _ = handle.socket_probe.set(waiter);
        connection
    }

    /// It is over.
    fn leave(&mut self) {
        self.session.front_mut().end();
        self.leave_listings();
        self.session.front().broker().connections.forget(self.session.front().handle().id);
    }

    fn new(stream: Stream, session: P) -> Self {
        let now = Instant::now();
        let handshake_until = now + session.front().broker().options.handshake_timeout;
        Self {
            stream,
            session,
            received: Received::default(),
            written: 0,
            is_flushed: true,
            is_beating: false,
            is_at_end: false,
            is_ended: false,
            is_listed: true,
            timer: Box::pin(sleep_until(handshake_until.into())),
            pause: None,
            throttle: None,
            held_since: None,
            opened_at: now,
            last_received: now,
            last_sent: now,
            task: Task::new(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if effort::is_counted() { self.poll_counted(cx) } else { self.poll_turns(cx) }
    }

    /// The same while a viewer asks which connections take the processors' time.
    #[cold]
    fn poll_counted(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let began_at = Instant::now();
        let handle = self.session.front().handle().clone();
        if let Some(held_since) = self.held_since.take() {
            handle.effort.wait(began_at.saturating_duration_since(held_since));
        }
        let result = self.poll_turns(cx);
        let ended_at = Instant::now();
        handle.effort.work(ended_at - began_at);
        let is_held = self.pause.is_some() || self.session.front().is_input_paused();
        self.held_since = is_held.then_some(ended_at);
        result
    }

    fn poll_turns(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _running = self.task.enter(|| format!("connection {}", self.session.front().handle().name()));
        let _working = working_on(Work::Connection);
        self.session.front_mut().borrow_buffers();
        for _ in 0..TURN_COUNT {
            match self.turn(cx) {
                Ok(true) => {}
                Ok(false) => {
                    self.session.front_mut().report();
                    self.session.front_mut().shrink();
                    return Poll::Pending;
                }
                Err(ConnectionEnded) => {
                    self.session.front_mut().clear_output();
                    self.session.front_mut().shrink();
                    return Poll::Ready(());
                }
            }
        }
        self.session.front_mut().report();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes what the journal has been waited for with. Says whether that was all there is to be done.
    fn write_durable(&mut self) -> bool {
        // What waits for the socket, or is in TLS, is for the task.
        if !matches!(self.stream, Stream::Tcp(_)) || !self.session.front().output().is_empty() {
            return false;
        }
        let _working = working_on(Work::Connection);
        self.session.front_mut().borrow_buffers();
        let is_all = self.session.front_mut().write_durable() && self.try_write();
        self.session.front_mut().report();
        self.session.front_mut().shrink();
        is_all
    }

    /// Writes the output as far as the socket takes it at once; says whether that was all of it.
    fn try_write(&mut self) -> bool {
        let Stream::Tcp(socket) = &self.stream else { return false };
        if self.session.front().output().is_empty() {
            return true;
        }
        // Whatever is wrong with the socket, the task sees it, too.
        let Ok(len) = socket.try_write(self.session.front().output()) else { return false };
        self.session.front_mut().note_sent(len);
        self.last_sent = Instant::now();
        if len < self.session.front().output().len() {
            self.session.front_mut().remove_output(len);
            return false;
        }
        self.session.front_mut().note_written(self.last_sent);
        self.session.front_mut().clear_output();
        true
    }

    /// One round of everything. True when something was done.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionEnded> {
        let has_ticked = self.watch_clock(cx)? | self.session.front_mut().poll_answer(cx);
        let has_read = self.read(cx)?;
        let has_attended = self.session.drain_outbox(cx.waker());
        let has_written = self.write(cx)?;
        Ok(has_ticked || has_read || has_attended || has_written)
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionEnded> {
        if matches!(self.session.front().phase(), Phase::Closed { .. }) {
            return self.discard(cx);
        }
        self.wait_for_throttle(cx);
        if self.is_pausing(cx) || !self.session.front().wants_bytes() {
            return Ok(false);
        }
        if !self.received.rest().is_empty() {
            // What an earlier pause left over comes first; a part of a frame stays where it is.
            let now_ms = self.session.front().broker().engine.clock.now_ms();
            let consumed = self.session.receive(self.received.rest(), now_ms);
            if consumed > 0 {
                self.received.remove(consumed);
                return Ok(true);
            }
        }
        if self.is_at_end && !self.session.front().wants_input() {
            return Ok(false);
        }
        if self.is_at_end {
            // Everything it sent has been done; nothing is left to say but what waits in the output.
            self.session.front_mut().end_output(CLOSE_TIMEOUT_MAX);
            return Ok(true);
        }
        READ_BUFFER.with_borrow_mut(|buffer| {
            let kept_len = self.received.rest().len();
            if buffer.len() < kept_len + READ_LEN {
                buffer.resize(kept_len + READ_LEN, 0);
            }
            let mut read = ReadBuf::new(&mut buffer[kept_len..]);
            match self.stream.poll_read(cx, &mut read) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Err(_)) => return Err(ConnectionEnded),
                Poll::Ready(Ok(())) => {}
            }
            let (len, now) = (read.filled().len(), Instant::now());
            self.session.front_mut().note_received(len, now);
            if len == 0 {
                self.is_at_end = true;
                return Ok(true);
            }
            self.last_received = now;
            if let Some(received) =
                self.received.join(&mut buffer[..kept_len + len], |rest| self.session.frame_len(rest))
            {
                let now_ms = self.session.front().broker().engine.clock.ms_at(now);
                let consumed = self.session.receive(received, now_ms);
                self.received.leave(&received[consumed..]);
            }
            if buffer.len() > 4 * READ_LEN {
                *buffer = Vec::new();
            }
            Ok(true)
        })
    }

    /// Throws away what the client sends when all has been said, until it ends its direction.
    fn discard(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionEnded> {
        self.received.leave(&[]);
        if self.is_at_end {
            return Ok(false);
        }
        READ_BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < READ_LEN {
                buffer.resize(READ_LEN, 0);
            }
            let mut read = ReadBuf::new(buffer);
            match self.stream.poll_read(cx, &mut read) {
                Poll::Pending => Ok(false),
                Poll::Ready(Err(_)) => Err(ConnectionEnded),
                Poll::Ready(Ok(())) => {
                    self.is_at_end = read.filled().is_empty();
                    Ok(true)
                }
            }
        })
    }

    /// Lets the session go on receiving once the time has passed that it is to wait for its vhost's limit of rates.
    fn wait_for_throttle(&mut self, cx: &mut Context<'_>) {
        while self.session.front().is_throttled() {
            let wait = self.session.front().throttled_for();
            let sleep = self.throttle.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
            if sleep.as_mut().poll(cx).is_pending() {
                return;
            }
            self.throttle = None;
            self.session.front_mut().end_throttling();
        }
    }

    /// Whether it is consumers' turn. Begins a pause if one is due; `cx` is woken at its end.
    fn is_pausing(&mut self, cx: &mut Context<'_>) -> bool {
        let pauses = self.session.front_mut().take_pause();
        if pauses > 0 {
            self.session.front().broker().counters.flow_entered.add(1);
            self.session.front().note_flow();
            self.pause = Some(PublisherPause::new(pauses, self.session.front().broker()));
        }
        let Some(pause) = &mut self.pause else { return false };
        let is_pausing = pause.sleep.as_mut().poll(cx).is_pending();
        if !is_pausing {
            self.pause = None;
        }
        is_pausing
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionEnded> {
        let mut has_written = false;
        while self.written < self.session.front().output().len() {
            match self.stream.poll_write(cx, &self.session.front().output()[self.written..]) {
                Poll::Pending => break,
                Poll::Ready(Ok(0) | Err(_)) => return Err(ConnectionEnded),
                Poll::Ready(Ok(len)) => {
                    self.session.front_mut().note_sent(len);
                    self.written += len;
                    has_written = true;
                }
            }
        }
        if has_written {
            self.last_sent = Instant::now();
            self.is_flushed = false;
        }
        if !self.is_flushed {
            match self.stream.poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Err(_)) => return Err(ConnectionEnded),
                Poll::Ready(Ok(())) => self.is_flushed = true,
            }
        }
        if self.written == self.session.front().output().len() {
            if has_written {
                self.session.front_mut().note_written(self.last_sent);
            }
            self.session.front_mut().clear_output();
            self.written = 0;
            if let Phase::Closed { until } = self.session.front().phase()
                && self.is_flushed
            {
                self.end(cx, until)?;
            }
        } else if self.written >= OUTPUT_LEN && 2 * self.written >= self.session.front().output().len() {
            // Moving what is left costs no more than what has been written.
            self.session.front_mut().remove_output(self.written);
            self.written = 0;
        }
        Ok(has_written)
    }

    /// Ends this side's direction, all being said. It is over when the client has ended the other one, or is not waited for.
    fn end(&mut self, cx: &mut Context<'_>, until: Instant) -> Result<(), ConnectionEnded> {
        if !self.is_ended {
            // A client that reads the end of the stream no longer finds its connection in any listing.
            self.leave_listings();
            self.is_ended = self.stream.poll_shutdown(cx).is_ready();
        }
        if self.is_at_end || Instant::now() >= until {
            return Err(ConnectionEnded);
        }
        Ok(())
    }

    /// Before the end of the stream where the server says it, else when nothing more can come.
    fn leave_listings(&mut self) {
        if std::mem::take(&mut self.is_listed) {
            self.session.front().broker().forget_connection(self.session.front().handle());
        }
    }

    /// Handshake and closing deadlines, heartbeats both ways. True when the timer was set anew.
    fn watch_clock(&mut self, cx: &mut Context<'_>) -> Result<bool, ConnectionEnded> {
        let has_opened = !self.is_beating && matches!(self.session.front().phase(), Phase::Running);
        self.is_beating |= has_opened;
        let must_hurry = self.session.front().phase().until().is_some_and(|until| self.timer.deadline() > until.into());
        if !has_opened && !must_hurry && self.timer.as_mut().poll(cx).is_pending() {
            return Ok(false);
        }
        let now = Instant::now();
        let next = match self.session.front().phase() {
            Phase::Opening => {
                let until = self.opened_at + self.session.front().broker().options.handshake_timeout;
                if now >= until {
                    tracing::warn!(peer = %self.session.front().peer(), "connection took too long to open and was closed");
                    return Err(ConnectionEnded);
                }
                until
            }
            Phase::Closing { until }
            | Phase::Refused { until }
            | Phase::Parting { until }
            | Phase::Closed { until } => {
                if now >= until {
                    return Err(ConnectionEnded);
                }
                until
            }
            Phase::Running => self.beat(now)?,
        };
        self.timer.as_mut().reset(next.into());
        Ok(true)
    }

    /// Sends a heartbeat if nothing was sent for half an interval, and ends the connection if nothing came for two
    /// (AMQP 0-9-1, 4.2.7). Gives when to look again.
    fn beat(&mut self, now: Instant) -> Result<Instant, ConnectionEnded> {
        let expires_in = self.session.front().expires_in();
        if expires_in.is_some_and(|left| left.is_zero()) {
            self.session.close_by_server("credential expired");
            return Ok(now + CLOSE_TIMEOUT_MAX);
        }
        let next = self.next_beat(now)?;
        Ok(expires_in.map_or(next, |left| next.min(now + left)))
    }

    fn next_beat(&mut self, now: Instant) -> Result<Instant, ConnectionEnded> {
        let interval = self.session.keep_alive_interval();
        if interval.is_zero() {
            return Ok(now + Duration::from_secs(3600));
        }
        if self.session.front().is_input_paused() {
            self.last_received = now;
        } else if !self.session.front().wants_input() {
            // Nothing is received because so much waits to be sent: progress in sending is a sign of life.
            self.last_received = self.last_received.max(self.last_sent);
        }
        if now - self.last_received >= 2 * interval {
            let (peer, interval_s) = (self.session.front().peer(), interval.as_secs());
            tracing::warn!(%peer, interval_s, "no heartbeat came, connection was closed");
            return Err(ConnectionEnded);
        }
        if now - self.last_sent >= interval / 2 && self.session.front().output().is_empty() {
            self.session.front_mut().send_heartbeat();
        }
        Ok(now + interval / 4)
    }
}
