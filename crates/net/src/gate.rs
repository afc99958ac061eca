//! Suspending a listener while others accept from it: new connections are refused, and the port is kept.
//!
//! On Linux `shutdown` ends nothing but the listening. The socket stays bound to its port, connections that wait to be accepted are reset,
//! later ones are refused, and `listen` begins anew. Closing the socket instead would let another process have the port, and a port below
//! 1024 could not be bound again without rights that the process may have given up. A Unix-domain socket cannot listen again: connections
//! there are accepted and closed at once.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use socket2::Socket;
use tokio::sync::watch;

/// Suspends a listener and resumes it. It does not keep the socket open.
#[derive(Debug, Clone)]
pub struct Gate {
    suspended: watch::Sender<bool>,
    /// None at a Unix-domain socket. One change at a time.
    tcp: Option<Arc<Mutex<TcpGate>>>,
}

#[derive(Debug)]
struct TcpGate {
    /// Dropped with the listener.
    socket: Weak<Socket>,
    address: SocketAddr,
    backlog: i32,
}

impl Gate {
    pub(crate) fn of_unix(suspended: watch::Sender<bool>) -> Self {
        Self { suspended, tcp: None }
    }

    pub(crate) fn of_tcp(suspended: watch::Sender<bool>, socket: &Arc<Socket>, backlog: i32) -> io::Result<Self> {
        let address = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::Unsupported)?;
        let tcp = TcpGate { socket: Arc::downgrade(socket), address, backlog };
        Ok(Self { suspended, tcp: Some(Arc::new(Mutex::new(tcp))) })
    }

    /// Whether new connections are refused.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        *self.suspended.borrow()
    }

    /// Refuses new connections from now on. Those that have been accepted stay.
    pub fn suspend(&self) -> io::Result<()> {
        let Some(tcp) = &self.tcp else {
            self.suspended.send_replace(true);
            return Ok(());
        };
        let tcp = tcp.lock();
        let Some(socket) = tcp.socket.upgrade() else { return Ok(()) };
        // First, so that acceptors do not take what follows for a failure. And it notifies them even if nothing changes.
        if !self.suspended.send_replace(true) {
            socket.shutdown(Shutdown::Read).map_err(|error| {
                self.suspended.send_replace(false);
                tcp.named(&error)
            })?;
        }
        Ok(())
    }

    /// Accepts new connections again. It fails where another process has got hold of the port.
    pub fn resume(&self) -> io::Result<()> {
        let Some(tcp) = &self.tcp else {
            self.suspended.send_replace(false);
            return Ok(());
        };
        let tcp = tcp.lock();
        let Some(socket) = tcp.socket.upgrade() else { return Ok(()) };
        if !self.is_suspended() {
            return Ok(());
        }
        // A port that the system had chosen was given back with the listening. One that is still bound cannot be bound again.
        match socket.bind(&tcp.address.into()) {
            Err(error) if error.kind() != io::ErrorKind::InvalidInput => return Err(tcp.named(&error)),
            _ => {}
        }
        socket.listen(tcp.backlog).map_err(|error| tcp.named(&error))?;
        self.suspended.send_replace(false);
        Ok(())
    }
}

impl TcpGate {
    /// An error that says at which listener.
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.address))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::Ipv4Addr;
    use std::pin::pin;
    use std::time::Duration;

    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpStream, UnixStream};
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    use super::*;
    use crate::{Listener, SocketOptions};

    fn bind(port: u16) -> (Listener, SocketAddr) {
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, port).into(), SocketOptions::default()).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Accepts all the time, and sends each client's address.
    fn accept_from(mut listener: Listener, tx: UnboundedSender<SocketAddr>) {
        tokio::spawn(async move { while tx.send(listener.accept(|_| ()).await.1).is_ok() {} });
    }

    async fn check_accepted(address: SocketAddr, comers: &mut UnboundedReceiver<SocketAddr>) {
        let client = TcpStream::connect(address).await.unwrap();
        assert_eq!(comers.recv().await, Some(client.local_addr().unwrap()));
    }

    async fn check_refused(address: SocketAddr) {
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    async fn check_suspension(gate: Gate, address: SocketAddr, comers: &mut UnboundedReceiver<SocketAddr>) {
        check_accepted(address, comers).await;
        for _ in 0..3 {
            gate.suspend().unwrap();
            gate.suspend().unwrap();
            assert!(gate.is_suspended());
            check_refused(address).await;
            gate.resume().unwrap();
            gate.resume().unwrap();
            assert!(!gate.is_suspended());
            check_accepted(address, comers).await;
        }
    }

    #[tokio::test]
    async fn who_comes_while_it_is_suspended_is_refused() {
        // A port that the system chooses, and one that the operator does.
        let port = bind(0).1.port();
        for port in [0, port] {
            let (mut listener, address) = bind(port);
            let gate = listener.gate().unwrap();
            let (tx, mut comers) = unbounded_channel();
            accept_from(listener, tx);
            check_suspension(gate, address, &mut comers).await;
        }
    }

    #[tokio::test]
    async fn what_shares_its_socket_is_suspended_with_it() {
        let (mut listener, address) = bind(0);
        let gate = listener.gate().unwrap();
        let (tx, mut comers) = unbounded_channel();
        accept_from(listener.share().unwrap().listen().unwrap(), tx.clone());
        check_suspension(gate.clone(), address, &mut comers).await;
        gate.suspend().unwrap();
        accept_from(listener.share().unwrap().listen().unwrap(), tx.clone());
        accept_from(listener, tx);
        gate.resume().unwrap();
        check_suspension(gate, address, &mut comers).await;
    }

    #[tokio::test]
    async fn a_suspension_that_is_over_before_it_is_seen_harms_nothing() {
        let (mut listener, address) = bind(0);
        let gate = listener.gate().unwrap();
        let (tx, mut comers) = unbounded_channel();
        accept_from(listener, tx);
        check_accepted(address, &mut comers).await;
        gate.suspend().unwrap();
        gate.resume().unwrap();
        check_accepted(address, &mut comers).await;
    }

    /// The reactor says of a socket that was shut down that it is ready, for ever.
    #[tokio::test]
    async fn who_accepts_sleeps_while_none_comes() {
        let (mut listener, _) = bind(0);
        let gate = listener.gate().unwrap();
        for change in [Gate::suspend, Gate::resume] {
            change(&gate).unwrap();
            let mut poll_count = 0;
            let mut accepting = pin!(listener.accept(|_| ()));
            let counted = poll_fn(|cx| {
                poll_count += 1;
                accepting.as_mut().poll(cx)
            });
            assert!(tokio::time::timeout(Duration::from_millis(20), counted).await.is_err(), "none comes");
            assert!(poll_count < 10, "{poll_count}");
        }
    }

    #[tokio::test]
    async fn it_does_not_keep_the_port_from_others() {
        let (mut listener, address) = bind(0);
        let gate = listener.gate().unwrap();
        drop(listener);
        check_refused(address).await;
        let _other = bind(address.port());
        gate.suspend().unwrap();
        gate.resume().unwrap();
        TcpStream::connect(address).await.unwrap();
    }

    #[tokio::test]
    async fn a_port_that_another_process_took_is_not_taken_back() {
        let (mut listener, address) = bind(0);
        let gate = listener.gate().unwrap();
        gate.suspend().unwrap();
        let other = bind(address.port());
        assert_eq!(gate.resume().unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(gate.is_suspended());
        drop(other);
        gate.resume().unwrap();
        let client = TcpStream::connect(address).await.unwrap();
        assert_eq!(listener.accept(|_| ()).await.1, client.local_addr().unwrap());
    }

    #[tokio::test]
    async fn who_comes_to_a_suspended_unix_domain_socket_is_sent_away() {
        let path = std::env::temp_dir().join(format!("warren-net-gate-{}", std::process::id()));
        let mut listener = Listener::bind_unix(&path, 128).unwrap();
        let gate = listener.gate().unwrap();
        let (tx, mut comers) = unbounded_channel();
        accept_from(listener, tx);
        gate.suspend().unwrap();
        let mut client = UnixStream::connect(&path).await.unwrap();
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        assert!(comers.is_empty());
        gate.resume().unwrap();
        let _client = UnixStream::connect(&path).await.unwrap();
        assert!(comers.recv().await.is_some());
    }
}
