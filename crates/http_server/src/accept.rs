//! A listener's connections, no more at a time than there are places.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use net::{AddressLimiter, Listener, Stream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How many connections there may be at a time.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionSlots {
    /// Of all clients.
    pub count_max: usize,
    /// Of one address.
    pub address_count_max: usize,
    /// What becomes of the next one.
    pub when_full: WhenFull,
}

/// What becomes of a connection that finds no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// It is closed.
    Close,
    /// It waits until another one has ended.
    Wait,
}

/// Serves what comes, until it is dropped: then its connections end, too. `on_refusal` is called when the process is out of open files.
pub async fn accept<F>(
    mut listener: Listener,
    places: ConnectionSlots,
    mut on_refusal: impl FnMut(&io::Error),
    serve: impl Fn(Stream, SocketAddr) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(places.count_max));
    let address_limiter = AddressLimiter::new(places.address_count_max);
    let mut connections = JoinSet::new();
    loop {
        let awaited = match places.when_full {
            WhenFull::Wait => slots.clone().acquire_owned().await.ok(),
            WhenFull::Close => None,
        };
        let (stream, peer) = listener.accept(&mut on_refusal).await;
        while connections.try_join_next().is_some() {}
        let Some(slot) = awaited.or_else(|| slots.clone().try_acquire_owned().ok()) else { continue };
        let Some(permit) = address_limiter.take(peer.ip()) else { continue };
        let serving = serve(stream, peer);
        connections.spawn(async move {
            serving.await;
            drop((slot, permit));
        });
    }
}

#[cfg(test)]
mod tests {
    use net::SocketOptions;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    /// Greets, and waits for the client to go.
    async fn greet(mut stream: Stream) {
        let _ = stream.write_all(b"!").await;
        let _ = stream.read(&mut [0]).await;
    }

    async fn start(when_full: WhenFull) -> SocketAddr {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), SocketOptions::default()).unwrap();
        let address = listener.local_addr().unwrap();
        let places = ConnectionSlots { count_max: 1, address_count_max: 8, when_full };
        tokio::spawn(accept(listener, places, |_| (), |stream, _| greet(stream)));
        address
    }

    async fn hear(client: &mut TcpStream) -> usize {
        client.read(&mut [0]).await.unwrap_or(0)
    }

    #[tokio::test]
    async fn a_connection_without_a_place_is_closed() {
        let address = start(WhenFull::Close).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        assert_eq!(hear(&mut first).await, 1);
        let mut second = TcpStream::connect(address).await.unwrap();
        assert_eq!(hear(&mut second).await, 0);
    }

    #[tokio::test]
    async fn a_connection_waits_for_a_place() {
        let address = start(WhenFull::Wait).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        assert_eq!(hear(&mut first).await, 1);
        let mut second = TcpStream::connect(address).await.unwrap();
        drop(first);
        assert_eq!(hear(&mut second).await, 1);
    }
}
