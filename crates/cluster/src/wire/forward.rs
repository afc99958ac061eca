//! A client's stream, passed on to the node that serves it: one frame of this before the client's own bytes, which are then carried both
//! ways as they are.
//!
//! ```text
//!  | listener kind u8 | number u16 | peer, an endpoint | local, an endpoint | tls u8, 0 or 1 |, and if 1:
//!  | protocol | cipher | key exchange | hash |, texts | certificate u8, 0 or 1 |, and if 1:
//!  | subject | issuer | validity | serial number |, texts | count u8 of common names | them | count u8 of others | kind u8 and text each |
//!
//!  an endpoint   | 4 | address, 4 bytes | port u16 |   or   | 6 | address, 16 bytes | port u16 |
//!  other names   1 host, 2 mail, 3 address, 4 URI, 5 any other
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use net::{AlternativeName, PeerCertificate, TlsInfo};

use crate::wire::error::FrameError;
use crate::wire::frame::OutgoingFrame;
use crate::wire::lane::Lane;
use crate::wire::limits::{CERTIFICATE_NAMES_MAX, CERTIFICATE_TEXT_LEN_MAX};
use crate::wire::reader::{Reader, put_text};

/// What a listener is for. TLS and headers of proxies have been done with before a stream is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListenerKind {
    /// AMQP.
    Amqp,
    /// The management API, and WebSockets.
    Management,
    /// Prometheus' metrics.
    Metrics,
}

/// Whose stream it is, and where it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardHeader {
    /// What the client connected to.
    pub listener: ListenerKind,
    /// Which of its kind, in the order of the configuration.
    pub number: u16,
    /// The client's address.
    pub peer: SocketAddr,
    /// The address it connected to.
    pub local: SocketAddr,
    /// What TLS agreed on, and whose certificate was shown; none without TLS.
    pub tls: Option<TlsInfo>,
}

impl ForwardHeader {
    /// A frame. Of a certificate with absurdly many names, or absurdly long ones, some is left out.
    #[must_use]
    pub fn encode(&self) -> OutgoingFrame {
        OutgoingFrame::of(Lane::Forward, |to| {
            to.push(match self.listener {
                ListenerKind::Amqp => 1,
                ListenerKind::Management => 2,
                ListenerKind::Metrics => 3,
            });
            to.extend_from_slice(&self.number.to_le_bytes());
            put_endpoint(to, self.peer);
            put_endpoint(to, self.local);
            to.push(self.tls.is_some().into());
            if let Some(tls) = &self.tls {
                put_tls(to, tls);
            }
        })
    }

    /// What a frame says.
    ///
    /// # Errors
    ///
    /// Nothing that a node sends on this lane.
    pub fn decode(body: &[u8]) -> Result<Self, FrameError> {
        let mut reader = Reader(body);
        let listener = match reader.u8()? {
            1 => ListenerKind::Amqp,
            2 => ListenerKind::Management,
            3 => ListenerKind::Metrics,
            _ => return Err(FrameError::Impossible("listener")),
        };
        let number = reader.u16()?;
        let (peer, local) = (reader.endpoint()?, reader.endpoint()?);
        let tls = if reader.flag()? { Some(reader.tls()?) } else { None };
        reader.end()?;
        Ok(ForwardHeader { listener, number, peer, local, tls })
    }
}

fn put_endpoint(to: &mut Vec<u8>, endpoint: SocketAddr) {
    match endpoint.ip() {
        IpAddr::V4(ip) => {
            to.push(4);
            to.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            to.push(6);
            to.extend_from_slice(&ip.octets());
        }
    }
    to.extend_from_slice(&endpoint.port().to_le_bytes());
}

fn put_tls(to: &mut Vec<u8>, tls: &TlsInfo) {
    let TlsInfo { protocol, cipher, key_exchange, hash, peer } = tls;
    [protocol, cipher, key_exchange, hash].iter().for_each(|text| put_text(to, text, CERTIFICATE_TEXT_LEN_MAX));
    to.push(peer.is_some().into());
    let Some(PeerCertificate { subject, issuer, validity, serial_number, common_names, alternative_names }) = peer
    else {
        return;
    };
    [subject, issuer, validity, serial_number].iter().for_each(|text| put_text(to, text, CERTIFICATE_TEXT_LEN_MAX));
    // Together they stay within a frame.
    let mut left: usize = CERTIFICATE_NAMES_LEN_MAX;
    let mut fits = |len: usize| {
        let is_fit = len <= left;
        left -= if is_fit { len } else { 0 };
        is_fit
    };
    let common: Vec<_> = common_names.iter().take(CERTIFICATE_NAMES_MAX).take_while(|name| fits(name.len())).collect();
    to.push(common.len() as u8);
    common.iter().for_each(|name| put_text(to, name, CERTIFICATE_TEXT_LEN_MAX));
    let others = alternative_names.iter().map(|name| match name {
        AlternativeName::Dns(name) => (1, name.clone()),
        AlternativeName::Email(name) => (2, name.clone()),
        AlternativeName::Ip(ip) => (3, ip.to_string()),
        AlternativeName::Uri(name) => (4, name.clone()),
        AlternativeName::Other(name) => (5, name.clone()),
    });
    let others: Vec<(u8, String)> =
        others.take(CERTIFICATE_NAMES_MAX).take_while(|(_, name)| fits(name.len())).collect();
    to.push(others.len() as u8);
    for (kind, name) in others {
        to.push(kind);
        put_text(to, &name, CERTIFICATE_TEXT_LEN_MAX);
    }
}

/// Bytes of all names of a certificate that are passed on.
const CERTIFICATE_NAMES_LEN_MAX: usize = 32 << 10;

impl Reader<'_> {
    fn flag(&mut self) -> Result<bool, FrameError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(FrameError::Impossible("flag")),
        }
    }

    fn endpoint(&mut self) -> Result<SocketAddr, FrameError> {
        let ip = match self.u8()? {
            4 => IpAddr::V4(Ipv4Addr::from(self.array::<4>()?)),
            6 => IpAddr::V6(Ipv6Addr::from(self.array::<16>()?)),
            _ => return Err(FrameError::Impossible("address")),
        };
        Ok(SocketAddr::new(ip, self.u16()?))
    }

    fn short_text(&mut self) -> Result<String, FrameError> {
        self.text(CERTIFICATE_TEXT_LEN_MAX).map(str::to_owned)
    }

    fn tls(&mut self) -> Result<TlsInfo, FrameError> {
        let [protocol, cipher, key_exchange, hash] =
            [self.short_text()?, self.short_text()?, self.short_text()?, self.short_text()?];
        let tls = TlsInfo::named(&protocol, &cipher, &key_exchange, &hash);
        let tls = tls.ok_or(FrameError::Impossible("TLS"))?;
        let peer = if self.flag()? { Some(self.certificate()?) } else { None };
        Ok(TlsInfo { peer, ..tls })
    }

    fn certificate(&mut self) -> Result<PeerCertificate, FrameError> {
        let [subject, issuer, validity, serial_number] =
            [self.short_text()?, self.short_text()?, self.short_text()?, self.short_text()?];
        let common_count = self.u8()?;
        let common_names = (0..common_count).map(|_| self.short_text()).collect::<Result<_, _>>()?;
        let other_count = self.u8()?;
        let alternative_names = (0..other_count).map(|_| self.alternative_name()).collect::<Result<_, _>>()?;
        Ok(PeerCertificate { subject, issuer, validity, serial_number, common_names, alternative_names })
    }

    fn alternative_name(&mut self) -> Result<AlternativeName, FrameError> {
        let (kind, name) = (self.u8()?, self.short_text()?);
        Ok(match kind {
            1 => AlternativeName::Dns(name),
            2 => AlternativeName::Email(name),
            3 => AlternativeName::Ip(name.parse().map_err(|_| FrameError::Impossible("address"))?),
            4 => AlternativeName::Uri(name),
            5 => AlternativeName::Other(name),
            _ => return Err(FrameError::Impossible("name of a certificate")),
        })
    }
}
