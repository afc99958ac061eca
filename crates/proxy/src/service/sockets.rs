//! One task for each socket: it hands what it reads to the switchboard, and writes what the switchboard wants said.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use net::Stream;
use tokio::io::ReadBuf;

use super::worker::Worker;
use crate::switchboard::{ClientId, Switchboard, UpstreamConnectionId, Wants};

/// Reads between two looks at what else there is to do.
const TURN_COUNT_MAX: usize = 16;

/// How long the last bytes may take to leave.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// While nothing more is read from a client that has sent much.
type Pause = Pin<Box<tokio::time::Sleep>>;

/// Whose socket it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Party {
    Client(ClientId),
    UpstreamConnection(UpstreamConnectionId),
}

impl Party {
    fn wants(self, board: &Switchboard) -> Wants {
        match self {
            Party::Client(id) => board.client_wants(id),
            Party::UpstreamConnection(id) => board.upstream_wants(id),
        }
    }

    fn output(self, board: &Switchboard) -> &[u8] {
        match self {
            Party::Client(id) => board.client_output(id),
            Party::UpstreamConnection(id) => board.upstream_output(id),
        }
    }

    fn sent(self, board: &mut Switchboard, len: usize, now_ms: u64) {
        match self {
            Party::Client(id) => board.client_sent(id, len, now_ms),
            Party::UpstreamConnection(id) => board.upstream_sent(id, len, now_ms),
        }
    }
}

/// Carries bytes until the socket is closed. Says why, where it was not as agreed.
pub(crate) async fn carry(worker: &Rc<Worker>, party: Party, stream: &mut Stream) -> Result<(), io::Error> {
    let (mut pause, mut ending) = (None, None);
    let carried = poll_fn(|cx| {
        worker.watch(party, cx.waker());
        poll_carry(worker, party, stream, &mut pause, &mut ending, cx)
    })
    .await;
    worker.unwatch(party);
    carried
}

fn poll_carry(
    worker: &Rc<Worker>,
    party: Party,
    stream: &mut Stream,
    pause: &mut Option<Pause>,
    ending: &mut Option<Pause>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), io::Error>> {
    for _ in 0..TURN_COUNT_MAX {
        let is_written = match poll_write_all(worker, party, stream, cx) {
            Err(_) if is_heard_out(worker, party) => Poll::Ready(()),
            written => written?,
        };
        let wants = party.wants(&worker.board.borrow());
        if wants.close {
            // Whether the other side still listens changes nothing.
            let is_ended = is_written.is_ready() && stream.poll_shutdown(cx).is_ready();
            if is_ended
                && (matches!(party, Party::UpstreamConnection(_)) || poll_discard(worker, stream, cx).is_ready())
            {
                return Poll::Ready(Ok(()));
            }
            // A peer that no longer reads is not waited for long, nor one that keeps writing.
            let timeout = ending.get_or_insert_with(|| Box::pin(tokio::time::sleep(END_TIMEOUT)));
            return timeout.as_mut().poll(cx).map(|()| match is_ended {
                true => Ok(()),
                false => Err(io::ErrorKind::TimedOut.into()),
            });
        }
        if !wants.read {
            return Poll::Pending;
        }
        if let Some(sleep) = pause {
            ready!(sleep.as_mut().poll(cx));
            set_pause(worker, party, pause, 0);
            continue;
        }
        let len = match ready!(poll_read(worker, party, stream, cx)) {
            Err(_) if is_heard_out(worker, party) => continue,
            read => read?,
        };
        set_pause(worker, party, pause, len);
    }
    // Others have something to say, too.
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// A socket is broken: whether what came over it before is yet to be done. Nothing more is said over it then.
fn is_heard_out(worker: &Rc<Worker>, party: Party) -> bool {
    let Party::Client(id) = party else { return false };
    let is_busy = worker.board.borrow_mut().client_broke(id, worker.now_ms());
    worker.apply(Some(party));
    is_busy
}

/// So many bytes were read: whether nothing more is to be read for a while.
fn set_pause(worker: &Rc<Worker>, party: Party, pause: &mut Option<Pause>, len: usize) {
    let time = worker.spend(party, len);
    if let Party::Client(id) = party
        && time.is_some() != pause.is_some()
    {
        worker.board.borrow_mut().client_paused(id, time.is_some(), worker.now_ms());
    }
    *pause = time.map(|time| Box::pin(tokio::time::sleep(time)));
}

/// Throws away what comes, until the other side has ended its direction, too: a socket that is closed with something unread takes back what
/// was written last.
fn poll_discard(worker: &Rc<Worker>, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<()> {
    let mut scratch = worker.scratch.borrow_mut();
    loop {
        let mut buffer = ReadBuf::new(&mut scratch);
        match ready!(stream.poll_read(cx, &mut buffer)) {
            Ok(()) if !buffer.filled().is_empty() => {}
            Ok(()) | Err(_) => return Poll::Ready(()),
        }
    }
}

/// Writes what is to be written, as far as the socket takes it.
fn poll_write_all(
    worker: &Rc<Worker>,
    party: Party,
    stream: &mut Stream,
    cx: &mut Context<'_>,
) -> io::Result<Poll<()>> {
    loop {
        let mut board = worker.board.borrow_mut();
        if party.output(&board).is_empty() {
            drop(board);
            return match stream.poll_flush(cx) {
                Poll::Ready(flushed) => flushed.map(Poll::Ready),
                Poll::Pending => Ok(Poll::Pending),
            };
        }
        match stream.poll_write(cx, party.output(&board)) {
            Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Poll::Ready(Ok(len)) => {
                party.sent(&mut board, len, worker.now_ms());
                drop(board);
                worker.apply(Some(party));
            }
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending => return Ok(Poll::Pending),
        }
    }
}

/// Reads what has come, and lets the switchboard look at it. Says how much that was.
fn poll_read(worker: &Rc<Worker>, party: Party, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
    let mut scratch = worker.scratch.borrow_mut();
    let mut buffer = ReadBuf::new(&mut scratch);
    ready!(stream.poll_read(cx, &mut buffer))?;
    let bytes = buffer.filled();
    let len = bytes.len();
    let now_ms = worker.now_ms();
    let mut board = worker.board.borrow_mut();
    match party {
        Party::Client(id) if len == 0 => {
            if let Some(peer) = worker.peer_of(id) {
                tracing::debug!(%peer, "client disconnected");
            }
            board.client_ended(id, now_ms);
        }
        Party::UpstreamConnection(_) if len == 0 => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        Party::Client(id) => board.client_received(id, bytes, now_ms),
        Party::UpstreamConnection(id) => board.upstream_received(id, bytes, now_ms),
    }
    drop(board);
    drop(scratch);
    worker.apply(Some(party));
    Poll::Ready(Ok(len))
}
