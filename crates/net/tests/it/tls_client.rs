//! TLS of outgoing connections, against a server with certificates of its own making.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use net::{ClientTls, ClientTlsOptions, DialError, DialOptions, Stream, Trust, dial, start_tls};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::authority::Authority;

/// Answers each of so many connections with what it was sent, in capitals. Returns the port.
async fn serve(authority: &Authority, name: &str, wants_identity: bool, count: usize) -> u16 {
    let (certificate, key) = authority.sign(name);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
    let builder = if wants_identity {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(authority.issuer.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = builder.with_single_cert(vec![certificate.into()], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for _ in 0..count {
            let (tcp, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = TlsAcceptor::from(Arc::new(config.clone())).accept(tcp).await else { continue };
            let mut text = [0; 5];
            // A client that refuses us says nothing.
            if stream.read_exact(&mut text).await.is_ok() {
                stream.write_all(&text.to_ascii_uppercase()).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    });
    port
}

fn options(trust: Trust) -> ClientTlsOptions {
    ClientTlsOptions::trusting(trust)
}

async fn connect(host: &str, port: u16, options: &ClientTlsOptions) -> Result<Stream, DialError> {
    dial(host, port, Some(&ClientTls::new(options).unwrap()), &DialOptions::default()).await
}

async fn is_answered(stream: &mut Stream) -> bool {
    let mut text = [0; 5];
    stream.write_all(b"hello").await.is_ok()
        && stream.flush().await.is_ok()
        && stream.read_exact(&mut text).await.is_ok()
        && text == *b"HELLO"
}

#[tokio::test]
async fn server_that_the_authority_vouches_for_is_trusted() {
    let authority = Authority::new("tls-trusted");
    let port = serve(&authority, "localhost", false, 1).await;
    let trust = Trust::File(authority.file("ca.pem"));
    assert!(is_answered(&mut connect("localhost", port, &options(trust)).await.unwrap()).await);
}

#[tokio::test]
async fn handshake_may_come_after_the_connection() {
    let authority = Authority::new("tls-later");
    let port = serve(&authority, "localhost", false, 2).await;
    let tls = ClientTls::new(&options(Trust::File(authority.file("ca.pem")))).unwrap();
    let plain = || async { dial("localhost", port, None, &DialOptions::default()).await.unwrap() };
    let start = async |stream, host| start_tls(stream, host, port, &tls, Duration::from_secs(10)).await;
    let refused = start(plain().await, "other.example").await.unwrap_err();
    assert!(matches!(&refused, DialError::Tls { host, .. } if host == "other.example"), "{refused:?}");
    let mut stream = start(plain().await, "localhost").await.unwrap();
    assert!(is_answered(&mut stream).await);
    let twice = start(stream, "localhost").await.unwrap_err();
    assert!(twice.to_string().ends_with("it is not a plain TCP connection"), "{twice}");
}

#[tokio::test]
async fn server_of_another_authority_or_name_is_refused() {
    let (authority, other) = (Authority::new("tls-refused"), Authority::new("tls-other"));
    let port = serve(&authority, "localhost", false, 2).await;
    let stranger = options(Trust::File(other.file("ca.pem")));
    let error = connect("localhost", port, &stranger).await.unwrap_err();
    assert!(matches!(error, DialError::Tls { .. }), "{error}");
    let renamed = ClientTlsOptions {
        server_name: Some("elsewhere".to_owned()),
        ..options(Trust::File(authority.file("ca.pem")))
    };
    let error = connect("localhost", port, &renamed).await.unwrap_err();
    assert!(error.to_string().contains("not valid for name"), "{error}");
}

#[tokio::test]
async fn anybody_is_trusted_when_asked_for() {
    let authority = Authority::new("tls-any-server");
    let port = serve(&authority, "elsewhere", false, 1).await;
    assert!(is_answered(&mut connect("127.0.0.1", port, &options(Trust::AnyServer)).await.unwrap()).await);
}

#[tokio::test]
async fn client_shows_who_it_is() {
    let authority = Authority::new("tls-identity");
    let port = serve(&authority, "localhost", true, 2).await;
    authority.sign("client");
    let anonymous = options(Trust::File(authority.file("ca.pem")));
    let identity =
        Some(net::Identity { chain: authority.file("client.pem"), key: authority.file("client.key"), password: None });
    let known = ClientTlsOptions { identity, ..anonymous.clone() };
    // In TLS 1.3 the server's refusal comes after the handshake.
    match connect("localhost", port, &anonymous).await {
        Ok(mut stream) => assert!(!is_answered(&mut stream).await),
        Err(error) => assert!(matches!(error, DialError::Tls { .. }), "{error}"),
    }
    assert!(is_answered(&mut connect("localhost", port, &known).await.unwrap()).await);
}

#[test]
fn files_that_are_no_certificates_are_named() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tls-files");
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("empty.pem");
    fs::write(&file, "nothing").unwrap();
    let error = ClientTls::new(&options(Trust::File(file.clone()))).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read certificates from {}: the file contains none", file.display()));
    let error = ClientTls::new(&options(Trust::File(dir.join("none.pem")))).unwrap_err();
    assert!(error.to_string().starts_with("cannot read certificates from "), "{error}");
}
