//! What TLS agreed on, as plain values.

use rustls::{CommonState, ProtocolVersion};

use super::certificate::PeerCertificate;
use super::suites::{UNKNOWN, known_part, shown_parts};

const V1_2: &str = "tlsv1.2";
const V1_3: &str = "tlsv1.3";
const HASH: &str = "aead";

/// A connection's TLS, in RabbitMQ's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsInfo {
    /// `ssl_protocol`: `tlsv1.2` or `tlsv1.3`.
    pub protocol: &'static str,
    /// `ssl_cipher`, such as `aes_256_gcm`.
    pub cipher: &'static str,
    /// `ssl_key_exchange`, such as `ecdhe_rsa`; `any` in TLS 1.3.
    pub key_exchange: &'static str,
    /// `ssl_hash`: always `aead`.
    pub hash: &'static str,
    /// The other side's certificate. A server knows it only of clients that it asked and that showed a certificate.
    pub peer: Option<PeerCertificate>,
}

impl TlsInfo {
    /// What was agreed on a connection; `None` before the handshake is over.
    pub(crate) fn of(state: &CommonState) -> Option<Self> {
        let (key_exchange, cipher) = shown_parts(state.negotiated_cipher_suite()?);
        let protocol = match state.protocol_version()? {
            ProtocolVersion::TLSv1_2 => V1_2,
            ProtocolVersion::TLSv1_3 => V1_3,
            _ => UNKNOWN,
        };
        let peer = state.peer_certificates().and_then(<[_]>::first).and_then(|der| PeerCertificate::parse(der));
        Some(Self { protocol, cipher, key_exchange, hash: HASH, peer })
    }

    /// The same by its words, as another node sends them, and without a certificate. `None`: these words are said of no connection.
    #[must_use]
    pub fn named(protocol: &str, cipher: &str, key_exchange: &str, hash: &str) -> Option<Self> {
        let protocol = [V1_2, V1_3, UNKNOWN].into_iter().find(|known| *known == protocol)?;
        let (key_exchange, cipher) = (known_part(key_exchange)?, known_part(cipher)?);
        (hash == HASH).then_some(Self { protocol, cipher, key_exchange, hash: HASH, peer: None })
    }
}
