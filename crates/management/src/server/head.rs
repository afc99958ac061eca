//! The first line of a connection's first request, read before it is decided what answers.

use std::io;
use std::time::Duration;

use hyper::{Method, Uri};
use net::Stream;
use tokio::io::AsyncReadExt as _;

use crate::limits::HEAD_LEN_MAX;

/// How much one read may bring.
const READ_LEN: usize = 1 << 10;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine {
    /// Its method.
    pub method: Method,
    /// Its path, without the query.
    pub path: String,
}

/// Reads until the line is there, for no longer than `time`; what was read is appended to `received`. None: the line is not understood, and
/// what serves the connection answers that.
pub async fn read_request_line(
    stream: &mut Stream,
    received: &mut Vec<u8>,
    time: Duration,
) -> io::Result<Option<RequestLine>> {
    let reading = async {
        while !received.contains(&b'\n') && received.len() < HEAD_LEN_MAX {
            let mut bytes = [0; READ_LEN];
            let len = stream.read(&mut bytes).await?;
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            received.extend_from_slice(&bytes[..len]);
        }
        Ok::<(), io::Error>(())
    };
    tokio::time::timeout(time, reading).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
    Ok(parse(received))
}

/// As RFC 9112 has it: method, target and version, with a space between.
fn parse(received: &[u8]) -> Option<RequestLine> {
    let line = received.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (method, target) = (words.next()?.parse().ok()?, words.next()?.parse::<Uri>().ok()?);
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    Some(RequestLine { method, path: target.path().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_method_and_path() {
        let line = |text: &str| parse(text.as_bytes()).map(|line| format!("{} {}", line.method, line.path));
        let parsed = |text: &str| Some(text.to_owned());
        assert_eq!(line("GET /api/nodes?columns=name HTTP/1.1\r\nHost: x\r\n"), parsed("GET /api/nodes"));
        assert_eq!(line("HEAD http://host:1/metrics HTTP/1.0\r\n"), parsed("HEAD /metrics"));
        for other in ["", "\r\n", "GET /x\r\n", "GET /x HTTP/2\r\n", "G\0T /x HTTP/1.1\r\n", "AMQP\0\0\x09\x01"] {
            assert_eq!(line(other), None, "{other:?}");
        }
    }
}
