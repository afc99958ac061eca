//! A server that speaks TLS, with a certificate of its own making. For tests, so it panics where those do.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Answers with 200 and `{}`, and closes without TLS's goodbye, as many servers do.
pub struct TlsServer {
    /// Where it listens, on localhost.
    pub port: u16,
    /// The authority's certificate, as a PEM file that is deleted with the server.
    pub ca: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl TlsServer {
    /// Starts one for the test `name`.
    pub async fn start(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = std::env::temp_dir().join(format!("warren-http-{name}-{}.pem", std::process::id()));
        std::fs::write(&ca, issuer.pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                // A client that refuses us has disconnected.
                let Ok(mut stream) = acceptor.accept(tcp).await else { continue };
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    assert!(stream.read_buf(&mut request).await.unwrap() > 0);
                }
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.unwrap();
                stream.flush().await.unwrap();
            }
        });
        TlsServer { port, ca, task }
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.task.abort();
        let _ = std::fs::remove_file(&self.ca);
    }
}
