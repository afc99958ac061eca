//! From the protocol header to connection.open-ok (AMQP 0-9-1, 2.2.4): the client's identity, and what both sides can do.

use amqp::frame::put_method;
use amqp::handshake::ClientRequest;
use amqp::limits::FRAME_LEN_MAX_INITIAL;
use amqp::method::{Method, connection};
use amqp::sasl;
use amqp::server::{ClientCapabilities, Violation};
use model::config::AuthMechanism;

use super::exception::{Exception, Handled};
use super::{Agreed, Session, Site};
use crate::backend::LoginAttempt;
use crate::certificate_login;
use crate::connections::ConnectionState;
use crate::front::{Negotiated, Renewal};
use crate::identity::Identity;

/// Why a login failed, for the log; the client learns only that it did.
enum LoginError {
    Refused(String),
    Protocol(Box<Exception>),
}

impl Session {
    /// What is offered. EXTERNAL needs TLS, as in RabbitMQ: without a certificate it fails, but the log says why.
    fn mechanisms(&self) -> impl Iterator<Item = AuthMechanism> {
        let is_offered =
            |mechanism: &AuthMechanism| *mechanism != AuthMechanism::External || self.front.handle().tls.is_some();
        self.front.broker().options.mechanisms.iter().copied().filter(is_offered)
    }

    /// connection.start.
    pub(super) fn start(&mut self) {
        let mechanisms = self.mechanisms().map(AuthMechanism::name).collect::<Vec<_>>().join(" ");
        let server_properties = self.front.broker().server_properties.read().clone();
        self.handshake.start(server_properties.as_table(), mechanisms.as_bytes(), self.front.out());
    }

    /// A method of channel 0 before the connection is open.
    pub(super) fn handshake_method(&mut self, method: Method<'_>) -> Handled<()> {
        match self.handshake.request(&method)? {
            ClientRequest::LogIn(start_ok) => self.start_ok(&start_ok),
            ClientRequest::Tune(tune_ok) => self.tune_ok(tune_ok),
            ClientRequest::Open(open) => self.open(&open),
            ClientRequest::Close => {
                self.part();
                Ok(())
            }
            // The session closes by its phase, and takes what answers that itself.
            ClientRequest::CloseOk => Ok(()),
        }
    }

    fn start_ok(&mut self, start_ok: &connection::StartOk<'_>) -> Handled<()> {
        let capabilities = ClientCapabilities::of(&start_ok.client_properties);
        let name = String::from_utf8_lossy(start_ok.mechanism).into_owned();
        match self.authenticate(&name, start_ok.response) {
            // The same comes again when it is known.
            Ok(None) => Ok(()),
            Ok(Some(identity)) => {
                self.front.agreed_mut().capabilities = capabilities;
                self.front.log_in(identity, &name, start_ok.client_properties.to_owned());
                let offered = self.offered_limits();
                self.handshake.tune(offered, self.front.out());
                Ok(())
            }
            Err(LoginError::Protocol(exception)) => Err(exception),
            Err(LoginError::Refused(reason)) => {
                tracing::warn!(peer = %self.front.peer(), mechanism = %name, %reason, "login was refused");
                self.refuse_login(&name, capabilities);
                Ok(())
            }
        }
    }

    /// What is offered to every client.
    fn offered_limits(&self) -> connection::Tune {
        let options = &self.front.broker().options;
        connection::Tune {
            channel_max: options.channel_max,
            frame_max: options.frame_len_max,
            heartbeat: options.heartbeat_s,
        }
    }

    fn refuse_login(&mut self, mechanism: &str, capabilities: ClientCapabilities) {
        if !capabilities.authentication_failure_close {
            self.front.refuse_silently();
            return;
        }
        let exception: Box<Exception> = Violation::login_refused(mechanism).into();
        self.fail_connection(&exception, Site::default());
    }

    /// The client's identity. None: a back end has to be asked first.
    fn authenticate(&mut self, mechanism: &str, response: &[u8]) -> Result<Option<Identity>, LoginError> {
        let answer = match self.front.take_login_answer() {
            Some(answer) => Some(answer),
            None => {
                let attempt = self.attempt(mechanism, response)?;
                self.front.try_login(attempt)
            }
        };
        answer.transpose().map_err(|refused| LoginError::Refused(refused.to_string()))
    }

    fn attempt(&self, mechanism: &str, response: &[u8]) -> Result<LoginAttempt, LoginError> {
        let offered = self.mechanisms().find(|offered| offered.name() == mechanism);
        let with_password = |(name, password)| (name, Some(password));
        let credentials = match offered {
            Some(AuthMechanism::Plain) => sasl::plain(response).map(with_password),
            Some(AuthMechanism::Amqplain) => sasl::amqplain(response).map(with_password),
            Some(AuthMechanism::Anonymous) => {
                let login = self.front.broker().options.anonymous_login.as_ref();
                login.map(|login| (login.name.to_string(), Some(login.password.clone().into_bytes())))
            }
            // TLS has verified the certificate: that is the proof.
            Some(AuthMechanism::External) => Some((self.certified_name()?, None)),
            None => return Err(LoginError::Protocol(Violation::unknown_mechanism(mechanism).into())),
        };
        let unreadable = || LoginError::Refused("the response could not be read".to_owned());
        let (name, password) = credentials.ok_or_else(unreadable)?;
        Ok(LoginAttempt { name, password, origin: self.front.origin() })
    }

    /// The client's name, by its certificate.
    fn certified_name(&self) -> Result<String, LoginError> {
        let refused = |reason: &str| LoginError::Refused(reason.to_owned());
        let peer = self.front.handle().tls.as_ref().and_then(|tls| tls.peer.as_ref());
        let certificate = peer.ok_or_else(|| refused("no peer certificate"))?;
        let from = self.front.broker().options.certificate_login;
        certificate_login::user_name(certificate, from).ok_or_else(|| refused("no name found"))
    }

    fn tune_ok(&mut self, tune_ok: connection::TuneOk) -> Handled<()> {
        let floor = self.front.broker().options.initial_frame_len_max.min(FRAME_LEN_MAX_INITIAL);
        let agreed = self.handshake.agree(tune_ok, floor)?;
        let (frame_len_max, channel_max, heartbeat_s) = (agreed.frame_max, agreed.channel_max, agreed.heartbeat);
        let capabilities = self.front.agreed().capabilities;
        *self.front.agreed_mut() = Agreed { capabilities, frame_len_max, channel_max, heartbeat_s };
        self.front.handle().set_state(ConnectionState::Opening);
        Ok(())
    }

    fn open(&mut self, open: &connection::Open<'_>) -> Handled<()> {
        let name = String::from_utf8_lossy(open.virtual_host).into_owned();
        let Agreed { frame_len_max: frame_max, channel_max, heartbeat_s, .. } = *self.front.agreed();
        self.front.open(&name, Negotiated { channel_max, frame_max, heartbeat_s })?;
        self.handshake.open(self.front.out());
        Ok(())
    }

    /// connection.update-secret: the same user logs in again.
    pub(super) fn update_secret(&mut self, update: &connection::UpdateSecret<'_>) -> Handled<()> {
        match self.front.renew(update.new_secret)? {
            Renewal::Done => put_method(self.front.out(), 0, &connection::UpdateSecretOk),
            Renewal::Pending => {}
            Renewal::Refused => return Err(Violation::secret_refused().into()),
        }
        Ok(())
    }
}
