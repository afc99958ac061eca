//! From the protocol header to `connection.open-ok`, without I/O.
//!
//! ```text
//!  we:     header      start-ok       tune-ok, open
//!  broker:       start         tune                 open-ok
//! ```

use amqp::frame::{FRAME_OVERHEAD, FrameKind, PROTOCOL_HEADER, decode_frame, put_method};
use amqp::negotiation::lesser;
use amqp::{Method, TableBuf, Value, connection};

use crate::buffers::{Input, Output};
use crate::error::OpenError;
use crate::options::{ConnectOptions, Mechanism};
use crate::session::{Server, Tune};
use amqp::uri::Uri;

/// Before anything is agreed on, frames are bounded generously: a broker's properties are long, but not this long.
const FRAME_LEN_MAX_UNTUNED: u32 = 64 * 1024;

/// What both sides have agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    pub(crate) tune: Tune,
    pub(crate) server: Server,
}

/// The handshake of one connection.
#[derive(Debug)]
pub(crate) struct Handshake<'a> {
    uri: &'a Uri,
    options: &'a ConnectOptions,
    server: Option<Server>,
    tune: Option<Tune>,
}

impl<'a> Handshake<'a> {
    /// Begins: the protocol header goes out.
    pub(crate) fn new(uri: &'a Uri, options: &'a ConnectOptions, output: &mut Output) -> Self {
        output.bytes().extend_from_slice(&PROTOCOL_HEADER);
        Handshake { uri, options, server: None, tune: None }
    }

    /// Takes what has come. `Ok(None)` asks for more.
    pub(crate) fn advance(&mut self, input: &mut Input, output: &mut Output) -> Result<Option<Agreement>, OpenError> {
        loop {
            let rest = input.rest();
            // A broker that wants another protocol says which, in eight bytes that are no frame.
            if self.server.is_none() && rest.first() == Some(&b'A') {
                if rest.len() < PROTOCOL_HEADER.len() {
                    return Ok(None);
                }
                let version = rest[4..8].iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
                return Err(self.not_amqp(format!("it asks for protocol {version}")));
            }
            let decoded =
                decode_frame(rest, FRAME_LEN_MAX_UNTUNED).map_err(|error| self.not_amqp(error.to_string()))?;
            let Some((frame, len)) = decoded else { return Ok(None) };
            let agreement = if frame.kind == FrameKind::Heartbeat {
                None
            } else {
                let method = Method::decode(frame.payload).map_err(|error| self.not_amqp(error.to_string()))?;
                self.answer(method, output)?
            };
            input.take(len);
            if agreement.is_some() {
                return Ok(agreement);
            }
        }
    }

    fn answer(&mut self, method: Method<'_>, output: &mut Output) -> Result<Option<Agreement>, OpenError> {
        match method {
            Method::ConnectionStart(start) if self.server.is_none() => {
                self.start(&start, output)?;
                Ok(None)
            }
            Method::ConnectionTune(tune) if self.server.is_some() && self.tune.is_none() => {
                let tune = self.agree(tune);
                let tune_ok = connection::TuneOk {
                    channel_max: tune.channel_max,
                    frame_max: tune.frame_len_max,
                    heartbeat: tune.heartbeat,
                };
                put_method(output.bytes(), 0, &tune_ok);
                let open = connection::Open { virtual_host: self.uri.vhost.as_bytes(), ..Default::default() };
                put_method(output.bytes(), 0, &open);
                self.tune = Some(tune);
                Ok(None)
            }
            Method::ConnectionOpenOk(_) => match (self.tune, self.server.take()) {
                (Some(tune), Some(server)) => Ok(Some(Agreement { tune, server })),
                _ => Err(self.not_amqp("it opens the connection before anything was agreed on".to_owned())),
            },
            Method::ConnectionSecure(_) => Err(OpenError::LoginRefused {
                address: self.uri.address(),
                user: self.user().to_owned(),
                text: "it asks for a challenge to be answered, which this client cannot".to_owned(),
            }),
            Method::ConnectionClose(close) => {
                put_method(output.bytes(), 0, &connection::CloseOk);
                let (code, text) = (close.reply_code, String::from_utf8_lossy(close.reply_text).into_owned());
                let address = self.uri.address();
                // Before the tuning only a login can be refused.
                if self.tune.is_none() && code == amqp::ReplyCode::AccessRefused.code() {
                    return Err(OpenError::LoginRefused { address, user: self.user().to_owned(), text });
                }
                Err(OpenError::Refused { address, code, text, has_logged_in: self.tune.is_some() })
            }
            other => Err(self.not_amqp(format!("it sends {other:?} where the handshake has another step"))),
        }
    }

    fn start(&mut self, start: &connection::Start<'_>, output: &mut Output) -> Result<(), OpenError> {
        let mechanism: &[u8] = match self.options.mechanism {
            Mechanism::Plain => b"PLAIN",
            Mechanism::External => b"EXTERNAL",
        };
        if !start.mechanisms.split(|byte| *byte == b' ').any(|offered| offered == mechanism) {
            return Err(OpenError::LoginRefused {
                address: self.uri.address(),
                user: self.user().to_owned(),
                text: format!(
                    "it offers {}, not {}",
                    String::from_utf8_lossy(start.mechanisms),
                    String::from_utf8_lossy(mechanism)
                ),
            });
        }
        let mut response = Vec::new();
        if self.options.mechanism == Mechanism::Plain {
            response.push(0);
            response.extend_from_slice(self.user().as_bytes());
            response.push(0);
            match &self.options.secrets {
                Some(secrets) => response.extend_from_slice(secrets.borrow().as_bytes()),
                None => response.extend_from_slice(self.password().as_bytes()),
            }
        }
        let properties = self.properties();
        let start_ok = connection::StartOk {
            client_properties: properties.as_table(),
            mechanism,
            response: &response,
            locale: b"en_US",
        };
        put_method(output.bytes(), 0, &start_ok);
        self.server = Some(Server::of(start.server_properties));
        Ok(())
    }

    fn properties(&self) -> TableBuf {
        let capabilities = [
            "publisher_confirms",
            "exchange_exchange_bindings",
            "basic.nack",
            "consumer_cancel_notify",
            "connection.blocked",
            "authentication_failure_close",
        ];
        let capabilities = capabilities.iter().fold(TableBuf::new(), |table, name| table.with(name, Value::Bool(true)));
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

    fn agree(&self, offered: connection::Tune) -> Tune {
        let channel_max = self.uri.channel_max.unwrap_or(self.options.channel_max);
        let frame_max = self.uri.frame_max.unwrap_or(self.options.frame_max);
        let heartbeat = self.uri.heartbeat.unwrap_or(self.options.heartbeat);
        Tune {
            channel_max: match lesser(channel_max.into(), offered.channel_max.into()) {
                0 => u16::MAX,
                max => u16::try_from(max).unwrap_or(u16::MAX),
            },
            frame_len_max: match lesser(frame_max, offered.frame_max) {
                0 => amqp::limits::FRAME_LEN_MAX,
                max => max.max(FRAME_OVERHEAD + 1),
            },
            heartbeat: if self.options.is_without_heartbeat {
                0
            } else {
                u16::try_from(lesser(heartbeat.into(), offered.heartbeat.into())).unwrap_or(u16::MAX)
            },
        }
    }

    fn user(&self) -> &str {
        self.options.credentials.as_ref().map_or(&self.uri.user, |credentials| &credentials.user)
    }

    fn password(&self) -> &str {
        self.options.credentials.as_ref().map_or(&self.uri.password, |credentials| &credentials.password)
    }

    fn not_amqp(&self, reason: String) -> OpenError {
        OpenError::NotAmqp { address: self.uri.address(), reason }
    }
}
