//! Whether a user may look into this node is asked of the node that leads, which knows the users: by a request of this node's in the
//! client's name.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::{HeaderMap, StatusCode};
use management::Doorkeeper;
use net::proxy_protocol::Endpoints;
use net::{Stream, TlsInfo};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;

/// How long the answer is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The headers of the client's request that identify the user and the page that asks.
const SHOWN: [&str; 3] = ["authorization", "cookie", "sec-fetch-site"];
/// Of the answer only the first line is looked at, which is no longer.
const LINE_LEN_MAX: usize = 1 << 10;

/// Asks the leader whether the sender of a request may ask for `path`, which is for administrators. `carry` takes a connection to the
/// leader, on which this has been received already, and says whether that was possible.
pub(super) fn doorkeeper<C, F>(carry: C, client: &Stream, peer: SocketAddr, path: String) -> Doorkeeper
where
    C: Fn(Stream, Vec<u8>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = bool> + Send,
{
    let peer = client.peer_addr().unwrap_or(peer);
    let endpoints = Endpoints { peer, local: client.local_addr().unwrap_or(peer) };
    let (tls, path) = (client.tls_info(), Arc::<str>::from(path));
    Arc::new(move |headers| {
        let (carry, tls, path) = (carry.clone(), tls.clone(), path.clone());
        Box::pin(async move {
            let asked = ask(carry, endpoints, tls, request(&path, &headers));
            match tokio::time::timeout(TIMEOUT, asked).await {
                Ok(Ok(StatusCode::OK)) => Ok(()),
                Ok(Ok(status)) => Err(status),
                Ok(Err(_)) => Err(StatusCode::BAD_GATEWAY),
                Err(_) => Err(StatusCode::GATEWAY_TIMEOUT),
            }
        })
    })
}

fn request(path: &str, headers: &HeaderMap) -> Vec<u8> {
    let mut request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n").into_bytes();
    // No value of a header has an end of a line in it.
    for name in SHOWN {
        for value in headers.get_all(name) {
            request.extend_from_slice(name.as_bytes());
            request.extend_from_slice(b": ");
            request.extend_from_slice(value.as_bytes());
            request.extend_from_slice(b"\r\n");
        }
    }
    request.extend_from_slice(b"\r\n");
    request
}

/// Sends the request as the client's, and reads the status of the answer.
async fn ask<F: Future<Output = bool>>(
    carry: impl FnOnce(Stream, Vec<u8>) -> F,
    endpoints: Endpoints,
    tls: Option<TlsInfo>,
    request: Vec<u8>,
) -> io::Result<StatusCode> {
    let (mut own, other) = UnixStream::pair()?;
    let mut answer = Vec::new();
    let mut carrying = pin!(carry(Stream::forwarded(Stream::Unix(other), endpoints, tls), request));
    // All that is wanted of the answer is at its beginning: what carries it ends with this.
    let is_there = tokio::select! {
        biased;
        read = read_line(&mut own, &mut answer) => read,
        is_carried = &mut carrying => match is_carried {
            true => read_line(&mut own, &mut answer).await,
            false => Err(io::ErrorKind::HostUnreachable.into()),
        },
    };
    is_there?;
    let status = answer.split(|byte| *byte == b' ').nth(1);
    status.and_then(|status| StatusCode::from_bytes(status).ok()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Reads at least a line, if there is one.
async fn read_line(stream: &mut UnixStream, line: &mut Vec<u8>) -> io::Result<()> {
    while !line.contains(&b'\n') && line.len() < LINE_LEN_MAX {
        if stream.read_buf(line).await? == 0 {
            break;
        }
    }
    Ok(())
}
