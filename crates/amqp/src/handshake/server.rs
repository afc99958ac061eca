//! The server's side.

use crate::frame::{Greeting, PROTOCOL_HEADER, put_method, read_greeting};
use crate::method::{Method, connection};
use crate::reply::ReplyCode;
use crate::server::{Violation, agree};
use crate::table::Table;

/// What a server expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerHandshake {
    /// The protocol header.
    Header,
    /// connection.start-ok: a login.
    StartOk,
    /// connection.tune-ok.
    TuneOk {
        /// What was offered.
        offered: connection::Tune,
    },
    /// connection.open: a vhost.
    Open,
    /// Nothing more: the connection is open.
    Opened,
    /// connection.close-ok: the server has closed the connection.
    CloseOk,
    /// Nothing more.
    Closed,
}

/// What a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientRequest<'a> {
    /// To be let in. [`ServerHandshake::tune`] or a close answers.
    LogIn(connection::StartOk<'a>),
    /// These limits. [`ServerHandshake::agree`] says whether it may have them; they are not answered.
    Tune(connection::TuneOk),
    /// A vhost. [`ServerHandshake::open`] or a close answers.
    Open(connection::Open<'a>),
    /// To close the connection. [`ServerHandshake::answer_close`] answers.
    Close,
    /// Nothing: it answers the server's close.
    CloseOk,
}

impl ServerHandshake {
    /// Looks at the first bytes of a connection. A client that wants another protocol, or another version, is sent ours (4.2.2).
    pub fn greet(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Greeting {
        let greeting = read_greeting(bytes);
        if greeting == Greeting::Other {
            out.extend_from_slice(&PROTOCOL_HEADER);
            *self = ServerHandshake::Closed;
        }
        greeting
    }

    /// Answers the protocol header.
    pub fn start(&mut self, server_properties: Table<'_>, mechanisms: &[u8], out: &mut Vec<u8>) {
        let start =
            connection::Start { version_major: 0, version_minor: 9, server_properties, mechanisms, locales: b"en_US" };
        put_method(out, 0, &start);
        *self = ServerHandshake::StartOk;
    }

    /// What a method of channel 0 asks for.
    pub fn request<'a>(&self, method: &Method<'a>) -> Result<ClientRequest<'a>, Violation> {
        match (*self, *method) {
            (ServerHandshake::StartOk, Method::ConnectionStartOk(start_ok)) => Ok(ClientRequest::LogIn(start_ok)),
            (ServerHandshake::TuneOk { .. }, Method::ConnectionTuneOk(tune_ok)) => Ok(ClientRequest::Tune(tune_ok)),
            (ServerHandshake::Open, Method::ConnectionOpen(open)) => Ok(ClientRequest::Open(open)),
            (_, Method::ConnectionClose(_)) => Ok(ClientRequest::Close),
            (ServerHandshake::CloseOk, Method::ConnectionCloseOk(_)) => Ok(ClientRequest::CloseOk),
            (_, other) => Err(Violation::method_in_handshake(other.name())),
        }
    }

    /// Lets a client in, and offers limits.
    pub fn tune(&mut self, offered: connection::Tune, out: &mut Vec<u8>) {
        put_method(out, 0, &offered);
        *self = ServerHandshake::TuneOk { offered };
    }

    /// Takes the limits that a client has chosen, and returns what holds. See [`agree`].
    pub fn agree(&mut self, answer: connection::TuneOk, frame_len_floor: u32) -> Result<connection::TuneOk, Violation> {
        let ServerHandshake::TuneOk { offered } = *self else {
            return Err(Violation::method_in_handshake(Method::ConnectionTuneOk(answer).name()));
        };
        let agreed = agree(offered, answer, frame_len_floor)?;
        *self = ServerHandshake::Open;
        Ok(agreed)
    }

    /// Opens the vhost: the connection is open.
    pub fn open(&mut self, out: &mut Vec<u8>) {
        put_method(out, 0, &connection::OpenOk { known_hosts: b"" });
        *self = ServerHandshake::Opened;
    }

    /// Closes the connection with a reason. A client whose login was refused understands that only if it has announced so
    /// ([`authentication_failure_close`](crate::server::ClientCapabilities::authentication_failure_close)).
    pub fn close(&mut self, code: ReplyCode, explanation: &str, out: &mut Vec<u8>) {
        let text = code.text(explanation);
        let close = connection::Close { reply_code: code.code(), reply_text: &text, class_id: 0, method_id: 0 };
        put_method(out, 0, &close);
        *self = ServerHandshake::CloseOk;
    }

    /// Answers a client that closes the connection.
    pub fn answer_close(&mut self, out: &mut Vec<u8>) {
        put_method(out, 0, &connection::CloseOk);
        *self = ServerHandshake::Closed;
    }
}
