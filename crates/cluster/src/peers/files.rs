//! Files: fetched from a peer, and given to one.

use crc32c::crc32c_append;
use tokio::sync::mpsc;

use super::dialler::connect;
use super::file_answer::{FileAnswer, Reply};
use super::framed::FrameStream;
use super::limits::PIECES_COUNT_MAX;
use super::peer::PeerState;
use super::shared::Shared;
use super::statistics::LaneCounters;
use crate::wire::{FileFrame, FileRequest, Identity, Lane};

/// Why a file did not come whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// There is no such peer.
    #[error("there is no such peer")]
    UnknownPeer,
    /// The peer has it no more: what names it is out of date.
    #[error("the peer no longer has the file")]
    Missing,
    /// The peer cannot read it.
    #[error("the peer cannot read the file")]
    Broken,
    /// What came is not what was sent.
    #[error("the file was damaged on its way")]
    Damaged,
    /// There is no connection, or it was lost. Each piece that came until then is right, and may be continued.
    #[error("{0}")]
    Lost(String),
}

type Part = Result<FilePart, FetchError>;

enum FilePart {
    Begins(u64),
    Piece(Vec<u8>),
    End,
}

/// A file that comes from a peer. Dropped, it stops coming.
///
/// No more than some pieces wait for the reader: the peer is slowed.
#[derive(Debug)]
pub struct Fetch(mpsc::Receiver<Part>);

impl Fetch {
    /// Waits until the file is there: how long it is, with what comes before the offset.
    ///
    /// # Errors
    ///
    /// It is not.
    pub async fn begin(&mut self) -> Result<u64, FetchError> {
        begun(self.0.recv().await)
    }

    /// The next piece; none when all have come, and are what the peer has sent.
    ///
    /// # Errors
    ///
    /// The rest does not come.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        piece(self.0.recv().await)
    }

    /// As [`begin`](Self::begin), for a thread that belongs to no runtime.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub fn begin_blocking(&mut self) -> Result<u64, FetchError> {
        begun(self.0.blocking_recv())
    }

    /// As [`next`](Self::next), for a thread that belongs to no runtime.
    ///
    /// # Errors
    ///
    /// The rest does not come.
    pub fn next_blocking(&mut self) -> Result<Option<Vec<u8>>, FetchError> {
        piece(self.0.blocking_recv())
    }

    pub(super) fn new() -> (FetchSender, Self) {
        let (tx, rx) = mpsc::channel(PIECES_COUNT_MAX);
        (FetchSender(tx), Fetch(rx))
    }
}

fn begun(part: Option<Part>) -> Result<u64, FetchError> {
    match part {
        Some(Ok(FilePart::Begins(len))) => Ok(len),
        Some(Err(error)) => Err(error),
        _ => Err(FetchError::Lost("the link is closed".to_owned())),
    }
}

fn piece(part: Option<Part>) -> Result<Option<Vec<u8>>, FetchError> {
    match part {
        Some(Ok(FilePart::Piece(bytes))) => Ok(Some(bytes)),
        Some(Ok(FilePart::End)) => Ok(None),
        Some(Err(error)) => Err(error),
        _ => Err(FetchError::Lost("the link is closed".to_owned())),
    }
}

/// Where the parts of a file are sent.
pub(super) struct FetchSender(mpsc::Sender<Part>);

impl FetchSender {
    pub(super) fn fail(self, error: FetchError) {
        // The channel is empty: nothing was sent before.
        let _ = self.0.try_send(Err(error));
    }
}

/// Fetches a file. The connection stays for the next one if all went well.
pub(super) async fn fetch(shared: &Shared, peer: &PeerState, request: FileRequest, to: FetchSender) {
    let Ok(_place) = peer.fetches.acquire().await else { return };
    let received = tokio::select! {
        received = receive_over_any(shared, peer, request, &to.0) => received,
        // It is no longer wanted, and the connection is closed.
        () = to.0.closed() => return,
    };
    let _ = to.0.send(received.map(|()| FilePart::End)).await;
}

/// Over the connection that was kept, unless the peer has closed it meanwhile, or over a new one.
async fn receive_over_any(
    shared: &Shared,
    peer: &PeerState,
    request: FileRequest,
    to: &mpsc::Sender<Part>,
) -> Result<(), FetchError> {
    let counters = peer.counters.lane(Lane::Files);
    let kept = peer.files.lock().take();
    if let Some(mut connection) = kept {
        let mut is_begun = false;
        let received = receive(&mut connection, counters, request, to, &mut is_begun).await;
        match received {
            Err(FetchError::Lost(_)) if !is_begun => {}
            Err(error) => return Err(error),
            Ok(()) => {
                *peer.files.lock() = Some(connection);
                return Ok(());
            }
        }
    }
    let connected = connect(shared, shared.local(), peer, Lane::Files).await;
    let (stream, _) = connected.map_err(|error| FetchError::Lost(error.sentence))?;
    counters.connects.add(1);
    let mut connection = FrameStream::new(stream, Lane::Files);
    receive(&mut connection, counters, request, to, &mut false).await?;
    *peer.files.lock() = Some(connection);
    Ok(())
}

async fn receive(
    connection: &mut FrameStream,
    counters: &LaneCounters,
    request: FileRequest,
    to: &mpsc::Sender<Part>,
    is_begun: &mut bool,
) -> Result<(), FetchError> {
    let lost = |reason: String| FetchError::Lost(format!("the connection for files was lost: {reason}"));
    connection.send(&FileFrame::Request(request).encode(), counters).await.map_err(lost)?;
    let (mut left, mut checksum) = (None, 0);
    loop {
        let took = |body: &[u8]| match FileFrame::decode(body) {
            Ok(FileFrame::Begins { len }) if left.is_none() && len >= request.offset => {
                left = Some(len - request.offset);
                Ok(Some(FilePart::Begins(len)))
            }
            Ok(FileFrame::Piece(bytes)) => {
                let more = left.and_then(|left: u64| left.checked_sub(bytes.len() as u64));
                left = Some(more.ok_or(FetchError::Damaged)?);
                checksum = crc32c_append(checksum, bytes);
                Ok(Some(FilePart::Piece(bytes.to_vec())))
            }
            Ok(FileFrame::End { checksum: sent }) if left == Some(0) && sent == checksum => Ok(None),
            Ok(FileFrame::End { .. }) => Err(FetchError::Damaged),
            Ok(FileFrame::Missing) => Err(FetchError::Missing),
            Ok(FileFrame::Broken) => Err(FetchError::Broken),
            Ok(_) => Err(lost("it sends what is no answer".to_owned())),
            Err(error) => Err(lost(format!("it sends {error}"))),
        };
        let closed = || lost("it closed the connection".to_owned());
        let part = connection.next(counters, took).await.map_err(lost)?.ok_or_else(closed)??;
        let Some(part) = part else { return Ok(()) };
        *is_begun = true;
        // If the receiver was dropped, the caller of this sees it, too.
        let _ = to.send(Ok(part)).await;
    }
}

/// Serves a peer that fetches: until it leaves, and why.
pub(super) async fn serve(
    shared: &Shared,
    from: &Identity,
    mut connection: FrameStream,
    counters: &LaneCounters,
) -> String {
    loop {
        let read = |body: &[u8]| match FileFrame::decode(body) {
            Ok(FileFrame::Request(request)) => Ok(request),
            Ok(_) => Err("it gives files where it only fetches".to_owned()),
            Err(error) => Err(format!("it sends {error}")),
        };
        let request = match connection.next(counters, read).await {
            Ok(Some(Ok(request))) => request,
            Ok(Some(Err(reason))) | Err(reason) => return reason,
            Ok(None) => return "it closed the connection".to_owned(),
        };
        let (to, mut parts) = mpsc::channel(PIECES_COUNT_MAX);
        let answer = FileAnswer::new(to);
        shared.handle(|handler| handler.file_wanted(from, request, answer));
        let mut is_over = false;
        while let Some(Reply { frame, is_last }) = parts.recv().await {
            is_over |= is_last;
            if let Err(reason) = connection.send(&frame, counters).await {
                return reason;
            }
        }
        if !is_over && let Err(reason) = connection.send(&FileFrame::Broken.encode(), counters).await {
            return reason;
        }
    }
}
