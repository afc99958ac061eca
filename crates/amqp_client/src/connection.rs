//! The socket around a session: reading, writing, heartbeats, and calls that wait for their answer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use amqp::method::EncodeMethod;
use amqp::{Method, basic, channel, confirm, connection, queue};
use net::Stream;
use tokio::io::ReadBuf;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use crate::buffers::{Input, Output};
use crate::error::{CallError, Closed, OpenError};
use crate::handshake::Handshake;
use crate::options::ConnectOptions;
use crate::session::{RequestOutcome, Session};
use amqp::uri::Uri;

/// What a turn did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Bytes that came: there may be events.
    pub received: usize,
    /// Bytes that the socket took.
    pub sent: usize,
}

/// An open connection.
///
/// Reads as a [`Session`]: what is published and sent is put into its output, and leaves with the next [`turn`](Self::turn).
#[derive(Debug)]
pub struct Connection {
    session: Session,
    stream: Stream,
    heartbeat: Option<Heartbeat>,
    /// The socket takes no more; what it still has to say is read first.
    write_error: Option<io::Error>,
    is_flushed: bool,
    is_receiving: bool,
    secrets: Option<Secrets>,
    answer_timeout: Duration,
}

/// Waits for the next secret: a token that is about to expire has a successor.
struct Secrets {
    next: Pin<Box<dyn Future<Output = watch::Receiver<String>> + Send>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    fn new(mut receiver: watch::Receiver<String>) -> Self {
        Secrets {
            next: Box::pin(async move {
                if receiver.changed().await.is_err() {
                    // No more secrets are made.
                    std::future::pending::<()>().await;
                }
                receiver
            }),
        }
    }
}

/// Both sides send something at least twice in the time agreed on, and give the other up after twice that time.
#[derive(Debug)]
struct Heartbeat {
    interval: Duration,
    timer: Pin<Box<Sleep>>,
    has_sent: bool,
    has_received: bool,
    silent_count: u32,
}

/// Half intervals without a word from the broker after which it is lost: two whole intervals. Those in which the caller does not listen do
/// not count.
const SILENT_COUNT_MAX: u32 = 4;

impl Heartbeat {
    fn new(interval_s: u16) -> Option<Self> {
        (interval_s > 0).then(|| {
            let interval = Duration::from_secs(interval_s.into()) / 2;
            let timer = Box::pin(tokio::time::sleep(interval));
            Heartbeat { interval, timer, has_sent: false, has_received: true, silent_count: 0 }
        })
    }
}

impl Deref for Connection {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl Connection {
    /// Connects, logs in and opens the vhost.
    pub async fn open(uri: &Uri, options: &ConnectOptions) -> Result<Self, OpenError> {
        let tls = match (uri.is_tls, &options.tls) {
            (true, Some(tls)) => Some(tls.clone()),
            (true, None) => {
                let tls = net::ClientTls::new(&net::ClientTlsOptions::trusting(net::Trust::System));
                Some(tls.map_err(|error| {
                    OpenError::Dial(net::DialError::Tls {
                        host: uri.host.clone(),
                        port: uri.port,
                        source: io::Error::other(error),
                    })
                })?)
            }
            (false, _) => None,
        };
        let mut dial = options.dial.clone();
        if let Some(timeout) = uri.connection_timeout.filter(|timeout| !timeout.is_zero()) {
            dial.timeout = timeout;
        }
        let stream = net::dial(&uri.host, uri.port, tls.as_ref(), &dial).await?;
        Self::over(stream, uri, options).await
    }

    /// Logs in and opens the vhost over a socket that is connected, with TLS if there is to be any.
    pub async fn over(mut stream: Stream, uri: &Uri, options: &ConnectOptions) -> Result<Self, OpenError> {
        let opening = shake_hands(&mut stream, uri, options);
        let session = match tokio::time::timeout(options.timeout, opening).await {
            Ok(result) => result?,
            Err(_) => return Err(OpenError::TimedOut { address: uri.address(), timeout: options.timeout }),
        };
        let heartbeat = Heartbeat::new(session.tune().heartbeat);
        let secrets = options.secrets.clone().map(|mut receiver| {
            receiver.mark_unchanged();
            Secrets::new(receiver)
        });
        Ok(Connection {
            session,
            stream,
            heartbeat,
            write_error: None,
            is_flushed: true,
            is_receiving: true,
            secrets,
            answer_timeout: options.answer_timeout,
        })
    }

    /// Waits for the socket: until something came, or until all output is sent. Take all events before.
    ///
    /// May be dropped at any time: nothing is lost.
    pub async fn turn(&mut self) -> Result<Turn, Closed> {
        poll_fn(|cx| self.poll_turn(cx)).await
    }

    /// As [`turn`](Self::turn), to wait for other things beside it.
    pub fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<Result<Turn, Closed>> {
        let mut turn = Turn { received: 0, sent: 0 };
        self.poll_heartbeat(cx)?;
        self.poll_secrets(cx);
        turn.sent = self.poll_send(cx);
        let received = if self.is_receiving { self.poll_receive(cx) } else { Poll::Pending };
        match received {
            Poll::Ready(result) => turn.received = result?,
            Poll::Pending if turn.sent > 0 && self.session.output.len() == 0 => {}
            Poll::Pending => return Poll::Pending,
        }
        Poll::Ready(Ok(turn))
    }

    /// Whether turns receive anything. A caller that cannot deal with more lets the socket fill, and so the broker wait.
    pub fn set_receiving(&mut self, is_receiving: bool) {
        self.is_receiving = is_receiving;
    }

    /// What the kernel knows of the way to the broker and back; `None` where it does not say.
    #[must_use]
    pub fn tcp_info(&self) -> Option<net::TcpInfo> {
        self.stream.tcp_info()
    }

    /// Sends all output. Events are left for later, and nothing is received meanwhile.
    pub async fn flush(&mut self) -> Result<(), Closed> {
        poll_fn(|cx| {
            self.poll_send(cx);
            if let Some(error) = self.write_error.take() {
                return Poll::Ready(Err(Closed::Lost(error)));
            }
            if self.session.output.len() == 0 && self.is_flushed { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    /// Sends a request and waits for its answer. Events that come in between are kept, and given by
    /// [`next_event`](Session::next_event) afterwards, in their order; a message that answers
    /// `basic.get` is among them.
    pub async fn call<M: EncodeMethod + ?Sized>(&mut self, channel: u16, method: &M) -> Result<Answer, CallError> {
        self.session.send(channel, method);
        self.answer(channel).await
    }

    /// Waits for the answer to a request that was sent on this channel: one wait for each request, in their order.
    pub async fn answer(&mut self, channel: u16) -> Result<Answer, CallError> {
        let mut held = VecDeque::new();
        let timeout = self.answer_timeout;
        let deadline = Instant::now() + timeout;
        let outcome = loop {
            match self.session.next_answer(channel, &mut held) {
                Ok(Some(outcome)) => break Ok(outcome),
                Ok(None) => {}
                Err(closed) => break Err(closed.into()),
            }
            match tokio::time::timeout_at(deadline, self.turn()).await {
                Ok(Ok(_)) => {}
                Ok(Err(closed)) => break Err(CallError::Closed(closed)),
                Err(_) => break Err(CallError::TimedOut(timeout)),
            }
        };
        self.session.put_back(held);
        match outcome? {
            RequestOutcome::Answer(payload) => Ok(Answer { payload }),
            RequestOutcome::Refused { code, text } => Err(CallError::Refused { code, text }),
        }
    }

    /// Opens a channel.
    pub async fn open_channel(&mut self, channel: u16) -> Result<(), CallError> {
        self.call(channel, &channel::Open::default()).await.map(drop)
    }

    /// Closes a channel.
    pub async fn close_channel(&mut self, channel: u16) -> Result<(), CallError> {
        let reply_code = amqp::ReplyCode::Success.code();
        let close = channel::Close { reply_code, reply_text: b"Goodbye", ..Default::default() };
        self.call(channel, &close).await.map(drop)
    }

    /// Asks for publishes on a channel to be confirmed.
    pub async fn select_confirms(&mut self, channel: u16) -> Result<(), CallError> {
        self.call(channel, &confirm::Select::default()).await.map(drop)
    }

    /// Declares a queue. Returns its name, how many messages it has, and how many consumers.
    pub async fn declare_queue(
        &mut self,
        channel: u16,
        declare: &queue::Declare<'_>,
    ) -> Result<(String, u32, u32), CallError> {
        let answer = self.call(channel, declare).await?;
        match answer.method() {
            Some(Method::QueueDeclareOk(ok)) => {
                Ok((String::from_utf8_lossy(ok.queue).into_owned(), ok.message_count, ok.consumer_count))
            }
            other => Err(unexpected("queue.declare", other)),
        }
    }

    /// Starts a consumer. Returns its tag.
    pub async fn consume(&mut self, channel: u16, consume: &basic::Consume<'_>) -> Result<Vec<u8>, CallError> {
        let answer = self.call(channel, consume).await?;
        match answer.method() {
            Some(Method::BasicConsumeOk(ok)) => Ok(ok.consumer_tag.to_vec()),
            other => Err(unexpected("basic.consume", other)),
        }
    }

    /// Says goodbye, and waits for the answer, at most so long. Whatever else comes meanwhile is dropped. Returns whether it was
    /// answered: the broker has taken all that was sent before.
    pub async fn close(mut self, patience: Duration) -> bool {
        self.session.close();
        self.is_receiving = true;
        let saying_goodbye = async {
            loop {
                loop {
                    match self.session.next_event() {
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(closed) => return matches!(closed, Closed::ByUs),
                    }
                }
                if self.turn().await.is_err() {
                    return false;
                }
            }
        };
        // A broker that does not answer gets the socket closed all the same.
        tokio::time::timeout(patience, saying_goodbye).await.unwrap_or(false)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> usize {
        let mut sent = 0;
        while self.session.output.len() > 0 && self.write_error.is_none() {
            match self.stream.poll_write(cx, self.session.output.rest()) {
                Poll::Ready(Ok(0)) => self.write_error = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(len)) => {
                    self.session.output.sent(len);
                    self.is_flushed = false;
                    sent += len;
                }
                Poll::Ready(Err(error)) => self.write_error = Some(error),
                Poll::Pending => break,
            }
        }
        if !self.is_flushed {
            match self.stream.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.is_flushed = true,
                Poll::Ready(Err(error)) => self.write_error = Some(error),
                Poll::Pending => {}
            }
        }
        if self.write_error.is_some() {
            self.session.output.clear();
            self.is_flushed = true;
        }
        if let Some(heartbeat) = self.heartbeat.as_mut().filter(|_| sent > 0) {
            heartbeat.has_sent = true;
        }
        sent
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, Closed>> {
        let mut buffer = ReadBuf::new(self.session.input.space());
        let Poll::Ready(result) = self.stream.poll_read(cx, &mut buffer) else {
            self.session.input.release();
            self.session.output.release();
            return Poll::Pending;
        };
        let len = buffer.filled().len();
        // A socket that broke while it was written to says why only once.
        let lost = |error: io::Error, earlier: Option<io::Error>| Closed::Lost(earlier.unwrap_or(error));
        match result {
            Ok(()) if len == 0 => {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the socket");
                Poll::Ready(Err(lost(error, self.write_error.take())))
            }
            Ok(()) => {
                self.session.input.fill(len);
                if let Some(heartbeat) = &mut self.heartbeat {
                    heartbeat.has_received = true;
                }
                Poll::Ready(Ok(len))
            }
            Err(error) => Poll::Ready(Err(lost(error, self.write_error.take()))),
        }
    }

    fn poll_secrets(&mut self, cx: &mut Context<'_>) {
        let Some(secrets) = &mut self.secrets else { return };
        while let Poll::Ready(mut receiver) = secrets.next.as_mut().poll(cx) {
            let secret = receiver.borrow_and_update().clone();
            let update = connection::UpdateSecret { new_secret: secret.as_bytes(), reason: b"the secret expires" };
            self.session.send(0, &update);
            *secrets = Secrets::new(receiver);
        }
    }

    fn poll_heartbeat(&mut self, cx: &mut Context<'_>) -> Result<(), Closed> {
        let Some(heartbeat) = &mut self.heartbeat else { return Ok(()) };
        while heartbeat.timer.as_mut().poll(cx).is_ready() {
            heartbeat.timer.as_mut().reset(Instant::now() + heartbeat.interval);
            if !std::mem::take(&mut heartbeat.has_sent) {
                self.session.heartbeat();
            }
            let is_heard = std::mem::take(&mut heartbeat.has_received) || !self.is_receiving;
            heartbeat.silent_count = if is_heard { 0 } else { heartbeat.silent_count + 1 };
            if heartbeat.silent_count >= SILENT_COUNT_MAX {
                return Err(Closed::Silent(heartbeat.interval * heartbeat.silent_count));
            }
        }
        Ok(())
    }
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    payload: Vec<u8>,
}

impl Answer {
    /// The method that it is.
    #[must_use]
    pub fn method(&self) -> Option<Method<'_>> {
        // It was decoded before it was kept.
        Method::decode(&self.payload).ok()
    }
}

fn unexpected(request: &str, answer: Option<Method<'_>>) -> CallError {
    CallError::Closed(Closed::Garbled(format!("{answer:?} as the answer to {request}")))
}

async fn shake_hands(stream: &mut Stream, uri: &Uri, options: &ConnectOptions) -> Result<Session, OpenError> {
    let (mut input, mut output) = (Input::default(), Output::default());
    let mut handshake = Handshake::new(uri, options, &mut output);
    let lost = |source| OpenError::Lost { address: uri.address(), source };
    loop {
        poll_fn(|cx| {
            while output.len() > 0 {
                let len = ready!(stream.poll_write(cx, output.rest()))?;
                output.sent(len);
            }
            stream.poll_flush(cx)
        })
        .await
        .map_err(lost)?;
        match handshake.advance(&mut input, &mut output) {
            Ok(Some(agreement)) => return Ok(Session::new(agreement, input, output)),
            Ok(None) => {}
            Err(error) => {
                // The broker's close is answered as far as that can be written at once.
                poll_fn(|cx| {
                    let _ = stream.poll_write(cx, output.rest()).map_ok(drop);
                    let _ = stream.poll_flush(cx);
                    Poll::Ready(())
                })
                .await;
                return Err(error);
            }
        }
        if output.len() > 0 {
            continue;
        }
        let len = poll_fn(|cx| {
            let mut buffer = ReadBuf::new(input.space());
            ready!(stream.poll_read(cx, &mut buffer))?;
            Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
        })
        .await
        .map_err(lost)?;
        if len == 0 {
            return Err(lost(io::Error::new(io::ErrorKind::UnexpectedEof, "end of stream")));
        }
        input.fill(len);
    }
}
