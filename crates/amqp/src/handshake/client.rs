//! The client's side.

use crate::frame::{FRAME_OVERHEAD, FrameError, FrameKind, PROTOCOL_HEADER, decode_frame, put_method};
use crate::limits::FRAME_LEN_MAX;
use crate::method::{DecodeError, Method, connection};
use crate::table::{Table, TableBuf, Value};

/// The bound of frames before one is agreed on. A server's properties are long, but not this long.
const FRAME_LEN_MAX_UNTUNED: u32 = 64 * 1024;

/// What our own clients can do, as RabbitMQ's client libraries list it.
const CLIENT_CAPABILITIES: [&str; 6] = [
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "authentication_failure_close",
];

/// What our own clients can do (`client-properties.capabilities`).
#[must_use]
pub fn client_capabilities() -> TableBuf {
    CLIENT_CAPABILITIES.iter().fold(TableBuf::new(), |table, name| table.with(name, Value::Bool(true)))
}

/// What a client expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientHandshake {
    /// connection.start, as the answer to the protocol header.
    Start,
    /// connection.tune: then the login was accepted.
    Tune,
    /// Nothing: the server waits for the client to open a vhost.
    LoggedIn,
    /// connection.open-ok: then the vhost is open.
    OpenOk,
    /// Nothing more: the connection is open.
    Open,
    /// Nothing more: the server has closed the connection.
    Closed,
}

/// What a server has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerReply<'a> {
    /// It has described itself. [`ClientHandshake::log_in`] answers.
    Started(connection::Start<'a>),
    /// It has accepted the login, and offers limits. [`ClientHandshake::open`] answers.
    Tuned(connection::Tune),
    /// It has opened the vhost.
    Opened,
    /// It has closed the connection, and was answered.
    Closed {
        /// Code and text.
        close: connection::Close<'a>,
        /// What the client expected instead: it distinguishes a refused login from a refused vhost.
        expected: ClientHandshake,
    },
}

/// Why a handshake cannot continue: the server broke the rules, or wants what the client cannot do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// It answers the protocol header with another one.
    #[error("it asks for protocol {}.{}.{}.{}", .0[0], .0[1], .0[2], .0[3])]
    OtherProtocol([u8; 4]),
    /// Bytes that are no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A payload that is no method.
    #[error(transparent)]
    Method(#[from] DecodeError),
    /// Content, or a channel's frame.
    #[error("it sends a frame of channel {channel} before the connection is open")]
    NoMethod {
        /// The channel.
        channel: u16,
    },
    /// A login by challenges, which no client of ours knows.
    #[error("it requires a challenge-response login")]
    Challenge,
    /// A method that does not come next; its name.
    #[error("unexpected {0} in the handshake")]
    Unexpected(&'static str),
}

impl ClientHandshake {
    /// Begins: the protocol header is sent.
    pub fn begin(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&PROTOCOL_HEADER);
        ClientHandshake::Start
    }

    /// Takes what is at the front of `bytes`, up to one reply. Returns how many bytes that was; without a reply more have to come.
    pub fn receive<'a>(
        &mut self,
        bytes: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Option<ServerReply<'a>>), HandshakeError> {
        // A server that speaks another protocol says which, in eight bytes that are no frame.
        if *self == ClientHandshake::Start && bytes.first() == Some(&PROTOCOL_HEADER[0]) {
            return match bytes.first_chunk::<8>() {
                Some(&[_, _, _, _, version @ ..]) => Err(HandshakeError::OtherProtocol(version)),
                None => Ok((0, None)),
            };
        }
        let mut at = 0;
        while let Some((frame, len)) = decode_frame(&bytes[at..], FRAME_LEN_MAX_UNTUNED)? {
            at += len;
            match (frame.kind, frame.channel) {
                (FrameKind::Heartbeat, _) => {}
                (FrameKind::Method, 0) => {
                    let reply = self.receive_method(&Method::decode(frame.payload)?, out)?;
                    return Ok((at, Some(reply)));
                }
                (_, channel) => return Err(HandshakeError::NoMethod { channel }),
            }
        }
        Ok((at, None))
    }

    /// Takes a method of channel 0.
    pub fn receive_method<'a>(
        &mut self,
        method: &Method<'a>,
        out: &mut Vec<u8>,
    ) -> Result<ServerReply<'a>, HandshakeError> {
        match (*self, *method) {
            (ClientHandshake::Start, Method::ConnectionStart(start)) => Ok(ServerReply::Started(start)),
            (ClientHandshake::Tune, Method::ConnectionTune(tune)) => {
                *self = ClientHandshake::LoggedIn;
                Ok(ServerReply::Tuned(tune))
            }
            (ClientHandshake::OpenOk, Method::ConnectionOpenOk(_)) => {
                *self = ClientHandshake::Open;
                Ok(ServerReply::Opened)
            }
            (expected, Method::ConnectionClose(close)) => {
                put_method(out, 0, &connection::CloseOk);
                *self = ClientHandshake::Closed;
                Ok(ServerReply::Closed { close, expected })
            }
            (_, Method::ConnectionSecure(_)) => Err(HandshakeError::Challenge),
            (_, other) => Err(HandshakeError::Unexpected(other.name())),
        }
    }

    /// Answers connection.start.
    pub fn log_in(&mut self, client_properties: Table<'_>, mechanism: &[u8], response: &[u8], out: &mut Vec<u8>) {
        put_method(out, 0, &connection::StartOk { client_properties, mechanism, response, locale: b"en_US" });
        *self = ClientHandshake::Tune;
    }

    /// Answers connection.tune, and opens a vhost.
    pub fn open(&mut self, limits: connection::TuneOk, vhost: &str, out: &mut Vec<u8>) {
        put_method(out, 0, &limits);
        put_method(out, 0, &connection::Open { virtual_host: vhost.as_bytes(), ..Default::default() });
        *self = ClientHandshake::OpenOk;
    }
}

/// Whether a server takes logins by this mechanism.
#[must_use]
pub fn offers_mechanism(start: &connection::Start<'_>, mechanism: &[u8]) -> bool {
    start.mechanisms.split(|byte| *byte == b' ').any(|offered| offered == mechanism)
}

/// What a client answers to connection.tune: the lesser of its own limits and the server's, of which 0 is none.
#[must_use]
pub fn choose_limits(own: connection::TuneOk, offered: connection::Tune) -> connection::TuneOk {
    connection::TuneOk {
        channel_max: match lesser(own.channel_max, offered.channel_max) {
            0 => u16::MAX,
            channel_max => channel_max,
        },
        frame_max: match lesser(own.frame_max, offered.frame_max) {
            0 => FRAME_LEN_MAX,
            // Whatever is agreed on, a frame of content has room for a byte.
            frame_max => frame_max.max(FRAME_OVERHEAD + 1),
        },
        heartbeat: lesser(own.heartbeat, offered.heartbeat),
    }
}

/// The lesser of two limits, of which 0 is none.
fn lesser<T: Ord + Default>(own: T, offered: T) -> T {
    if own == T::default() || offered == T::default() { own.max(offered) } else { own.min(offered) }
}
