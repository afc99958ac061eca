//! A TCP relay that puts two programs as far from each other as it is told to: what one says, the other hears half a round trip
//! later, and throughput is not limited. TCP's own handshake takes its round trip, too: that cannot be delayed from here, so
//! the first bytes of who has connected are held back for as long.
//!
//! Two threads a direction and connection, one that reads and one that waits and writes; also where there is no delay, so that it takes as
//! much of the processors whatever the distance is, and distances can be compared.

use crate::arguments::Arguments;
use crate::json::Object;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

const READ_LEN: usize = 64 * 1024;
/// Reads that may be under way in one direction; a sender of more waits, as for a window. 100 ms of the loopback.
const UNDER_WAY_MAX: usize = 16 * 1024;

pub(crate) struct Relay {
    listen: u16,
    to: u16,
    one_way: Duration,
}

/// Bytes, and when they are to arrive.
struct Piece {
    due: Instant,
    bytes: Vec<u8>,
}

impl Relay {
    pub(crate) fn parse(arguments: &Arguments) -> Result<Relay, String> {
        let round_trip_s = arguments.get("delay-ms", 0.0)? / 1000.0;
        let one_way = Duration::try_from_secs_f64(round_trip_s / 2.0).map_err(|_| "--delay-ms: no time".to_owned())?;
        Ok(Relay { listen: arguments.required("listen")?, to: arguments.required("to")?, one_way })
    }

    /// Serves until it is killed.
    pub(crate) fn run(&self) -> io::Result<Object> {
        let listener = TcpListener::bind(("127.0.0.1", self.listen))?;
        for stream in listener.incoming() {
            let (stream, to, one_way) = (stream?, self.to, self.one_way);
            // Who cannot be connected is hung up on, which says it.
            thread::spawn(move || connect(stream, to, one_way));
        }
        Ok(Object::new())
    }
}

/// Carries both directions until both have ended.
fn connect(client: TcpStream, to: u16, one_way: Duration) -> io::Result<()> {
    let connected_at = Instant::now() + 2 * one_way;
    let server = TcpStream::connect(("127.0.0.1", to))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || carry(from_server, to_client, one_way, connected_at));
    carry(client, server, one_way, connected_at)
}

/// Carries one direction to its end. Nothing has been sent before a time.
fn carry(mut from: TcpStream, to: TcpStream, one_way: Duration, not_before: Instant) -> io::Result<()> {
    let mut input = vec![0; READ_LEN];
    let (sender, pieces) = sync_channel(UNDER_WAY_MAX);
    let source = from.try_clone()?;
    thread::spawn(move || deliver(&pieces, to, &source));
    loop {
        // An end has its way to go, too: it is a piece without bytes.
        let read_len = from.read(&mut input).unwrap_or(0);
        let due = Instant::now().max(not_before) + one_way;
        if sender.send(Piece { due, bytes: input[..read_len].to_vec() }).is_err() || read_len == 0 {
            return Ok(());
        }
    }
}

/// Writes each piece when it is due. A receiver that does not take it has gone, and the sender is told so.
fn deliver(pieces: &Receiver<Piece>, mut to: TcpStream, source: &TcpStream) -> io::Result<()> {
    for piece in pieces {
        let wait = piece.due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait);
        }
        if piece.bytes.is_empty() {
            return to.shutdown(Shutdown::Write);
        }
        if to.write_all(&piece.bytes).is_err() {
            return source.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_and_the_end_arrive_whole_and_not_too_early() {
        for one_way in [Duration::ZERO, Duration::from_millis(20)] {
            let ((mut client, from), (to, mut server)) = (pair(), pair());
            // As the other direction has one: the end has to be said, it does not come by itself.
            let _other_direction = to.try_clone().unwrap();
            server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let began_at = Instant::now();
            thread::spawn(move || carry(from, to, one_way, began_at + 2 * one_way));
            let sent: Vec<u8> = (0..300_000_u32).map(|number| number as u8).collect();
            client.write_all(&sent).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let mut received = Vec::new();
            server.read_to_end(&mut received).unwrap();
            assert!(received == sent && began_at.elapsed() >= 3 * one_way);
        }
    }
}
