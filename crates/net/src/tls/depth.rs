//! How long the chain of a client's certificate may be (`ssl_options.depth`).

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore, SignatureScheme,
};
use webpki::{EndEntityCert, KeyUsage};

/// The library follows no more than so many certificates between a client's and its authority's.
pub(super) const DEPTH_MAX: u8 = 6;

/// Verifies as another verifier does, and refuses longer chains.
#[derive(Debug)]
pub(super) struct DepthLimited {
    inner: Arc<dyn ClientCertVerifier>,
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
    depth: u8,
}

/// Why a certificate that is otherwise good is refused.
#[derive(Debug, thiserror::Error)]
#[error("more than {depth} certificates are between the client's certificate and its authority's")]
struct ChainTooDeep {
    depth: u8,
}

impl DepthLimited {
    pub(super) fn new(
        inner: Arc<dyn ClientCertVerifier>,
        roots: Arc<RootCertStore>,
        algorithms: WebPkiSupportedAlgorithms,
        depth: u8,
    ) -> Self {
        Self { inner, roots, algorithms, depth }
    }

    /// Whether any path to an authority is short enough.
    fn is_short(&self, end: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>], now: UnixTime) -> bool {
        let Ok(end) = EndEntityCert::try_from(end) else { return false };
        let depth = usize::from(self.depth);
        let check = |path: &webpki::VerifiedPath<'_>| match path.intermediate_certificates().count() {
            count if count <= depth => Ok(()),
            _ => Err(webpki::Error::MaximumPathDepthExceeded),
        };
        let usage = KeyUsage::client_auth();
        let roots = &self.roots.roots;
        end.verify_for_usage(self.algorithms.all, roots, intermediates, now, usage, None, Some(&check)).is_ok()
    }
}

impl ClientCertVerifier for DepthLimited {
    fn offer_client_auth(&self) -> bool {
        self.inner.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.inner.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.inner.verify_client_cert(end_entity, intermediates, now)?;
        if self.is_short(end_entity, intermediates, now) {
            return Ok(verified);
        }
        let why = OtherError(Arc::new(ChainTooDeep { depth: self.depth }));
        Err(Error::InvalidCertificate(CertificateError::Other(why)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
