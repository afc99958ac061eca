//! Logging in, and opening a vhost: what this client answers in a [`ClientHandshake`], without I/O.

use amqp::handshake::{
    ClientHandshake, HandshakeError, ServerReply, choose_limits, client_capabilities, offers_mechanism,
};
use amqp::uri::Uri;
use amqp::{TableBuf, Value, connection, sasl};

use crate::buffers::{Input, Output};
use crate::error::OpenError;
use crate::options::{ConnectOptions, Mechanism};
use crate::session::{Server, Tune};

/// What both sides have agreed on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agreement {
    pub(crate) tune: Tune,
    pub(crate) server: Server,
}

/// The handshake of one connection.
#[derive(Debug)]
pub(crate) struct Handshake<'a> {
    uri: &'a Uri,
    options: &'a ConnectOptions,
    state: ClientHandshake,
    agreement: Agreement,
}

impl<'a> Handshake<'a> {
    /// Begins: writes the protocol header.
    pub(crate) fn new(uri: &'a Uri, options: &'a ConnectOptions, output: &mut Output) -> Self {
        let state = ClientHandshake::begin(output.bytes());
        Handshake { uri, options, state, agreement: Agreement::default() }
    }

    /// Takes what has come. `Ok(None)` asks for more.
    pub(crate) fn advance(&mut self, input: &mut Input, output: &mut Output) -> Result<Option<Agreement>, OpenError> {
        loop {
            let (len, reply) = self.state.receive(input.rest(), output.bytes()).map_err(|error| self.failed(error))?;
            match reply {
                Some(ServerReply::Started(start)) => self.log_in(&start, output)?,
                Some(ServerReply::Tuned(offered)) => self.open(offered, output),
                Some(ServerReply::Opened) | None => {}
                Some(ServerReply::Closed { close, expected }) => return Err(self.closed(&close, expected)),
            }
            let is_waiting = reply.is_none();
            input.take(len);
            if self.state == ClientHandshake::Open {
                return Ok(Some(std::mem::take(&mut self.agreement)));
            }
            if is_waiting {
                return Ok(None);
            }
        }
    }

    fn log_in(&mut self, start: &connection::Start<'_>, output: &mut Output) -> Result<(), OpenError> {
        let mechanism: &[u8] = match self.options.mechanism {
            Mechanism::Plain => b"PLAIN",
            Mechanism::External => b"EXTERNAL",
        };
        if !offers_mechanism(start, mechanism) {
            return Err(self.login_refused(format!(
                "it offers {}, not {}",
                String::from_utf8_lossy(start.mechanisms),
                String::from_utf8_lossy(mechanism)
            )));
        }
        let response = match (self.options.mechanism, &self.options.secrets) {
            (Mechanism::Plain, Some(secrets)) => sasl::plain_response(self.user(), secrets.borrow().as_bytes()),
            (Mechanism::Plain, None) => sasl::plain_response(self.user(), self.password().as_bytes()),
            (Mechanism::External, _) => Vec::new(),
        };
        self.state.log_in(self.properties().as_table(), mechanism, &response, output.bytes());
        self.agreement.server = Server::of(start.server_properties);
        Ok(())
    }

    fn open(&mut self, offered: connection::Tune, output: &mut Output) {
        let limits = self.limits(offered);
        self.agreement.tune =
            Tune { channel_max: limits.channel_max, frame_len_max: limits.frame_max, heartbeat: limits.heartbeat };
        self.state.open(limits, &self.uri.vhost, output.bytes());
    }

    fn limits(&self, offered: connection::Tune) -> connection::TuneOk {
        let own = connection::TuneOk {
            channel_max: self.uri.channel_max.unwrap_or(self.options.channel_max),
            frame_max: self.uri.frame_max.unwrap_or(self.options.frame_max),
            heartbeat: self.uri.heartbeat.unwrap_or(self.options.heartbeat),
        };
        let limits = choose_limits(own, offered);
        match self.options.is_without_heartbeat {
            true => connection::TuneOk { heartbeat: 0, ..limits },
            false => limits,
        }
    }

    fn properties(&self) -> TableBuf {
        let capabilities = client_capabilities();
        let mut properties = self.options.properties.clone();
        if self.options.properties.as_table().get("product").is_none() {
            properties = properties
                .with("product", Value::LongStr(b"Warren client"))
                .with("version", Value::LongStr(env!("CARGO_PKG_VERSION").as_bytes()))
                .with("platform", Value::LongStr(b"Rust"));
        }
        properties = properties.with("capabilities", Value::Table(capabilities.as_table()));
        match &self.options.name {
            Some(name) => properties.with("connection_name", Value::LongStr(name.as_bytes())),
            None => properties,
        }
    }

    fn user(&self) -> &str {
        self.options.credentials.as_ref().map_or(&self.uri.user, |credentials| &credentials.user)
    }

    fn password(&self) -> &str {
        self.options.credentials.as_ref().map_or(&self.uri.password, |credentials| &credentials.password)
    }

    /// The server has closed the connection instead of what was expected.
    fn closed(&self, close: &connection::Close<'_>, expected: ClientHandshake) -> OpenError {
        let (code, text) = (close.reply_code, String::from_utf8_lossy(close.reply_text).into_owned());
        // Before the tuning only a login can be refused.
        let has_logged_in = matches!(expected, ClientHandshake::LoggedIn | ClientHandshake::OpenOk);
        if !has_logged_in && code == amqp::ReplyCode::AccessRefused.code() {
            return self.login_refused(text);
        }
        OpenError::Refused { address: self.uri.address(), code, text, has_logged_in }
    }

    fn login_refused(&self, text: String) -> OpenError {
        OpenError::LoginRefused { address: self.uri.address(), user: self.user().to_owned(), text }
    }

    fn failed(&self, error: HandshakeError) -> OpenError {
        match error {
            HandshakeError::Challenge => self.login_refused(error.to_string()),
            _ => OpenError::NotAmqp { address: self.uri.address(), reason: error.to_string() },
        }
    }
}
