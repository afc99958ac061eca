//! TLS of accepted connections: files, clients' certificates, names, versions, and what changes while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use net::{
    Admission, AdmitError, ClientVerification, Identity, Listener, Reload, ServerTls, ServerTlsOptions, SniIdentity,
    SocketOptions, Stream, TlsInfo, TlsSetupError, TlsVersion,
};
use rcgen::{DnType, SanType};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::authority::Authority;

const TIMEOUT: Duration = Duration::from_secs(10);

fn identity(authority: &Authority, name: &str) -> Identity {
    let file = |end| authority.file(&format!("{name}.{end}"));
    Identity { chain: file("pem"), key: file("key"), password: None }
}

pub(crate) fn options(authority: &Authority) -> ServerTlsOptions {
    ServerTlsOptions {
        identity: identity(authority, "localhost"),
        sni: Vec::new(),
        clients: ClientVerification::None,
        versions: vec![TlsVersion::V1_2, TlsVersion::V1_3],
        cipher_suites: Vec::new(),
        is_cipher_order_ours: false,
    }
}

/// An authority with a certificate for `localhost`.
fn authority(test: &str) -> Authority {
    let authority = Authority::new(test);
    authority.sign("localhost");
    authority
}

fn optional(authorities: PathBuf) -> ClientVerification {
    ClientVerification::Optional { authorities, depth: 10 }
}

fn required(authorities: PathBuf, depth: u8) -> ClientVerification {
    ClientVerification::Required { authorities, depth }
}

/// A server of one connection at a time.
struct Server {
    listener: Listener,
    tls: Arc<ServerTls>,
    timeout: Duration,
}

impl Server {
    fn new(options: ServerTlsOptions) -> Self {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), SocketOptions::default()).unwrap();
        Self { listener, tls: Arc::new(ServerTls::new(options).unwrap()), timeout: TIMEOUT }
    }

    async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.listener.local_addr().unwrap()).await.unwrap()
    }

    async fn admit(&mut self) -> Result<Stream, AdmitError> {
        let (stream, _) = self.listener.accept(|_| ()).await;
        Admission { tls: Some((Arc::clone(&self.tls), self.timeout)), ..Admission::default() }.admit(stream).await
    }

    /// Both ends' views of one connection: what the server knows, and which certificate it showed.
    async fn meet(&mut self, client: &Client) -> Result<(TlsInfo, Vec<u8>), String> {
        let tcp = self.tcp().await;
        let connecting = client.speak(tcp);
        let (admitted, spoken) = tokio::join!(self.answer(), connecting);
        let info = admitted.map_err(|error| error.to_string())?;
        Ok((info, spoken?))
    }

    async fn answer(&mut self) -> Result<TlsInfo, AdmitError> {
        let mut stream = self.admit().await?;
        let mut text = [0; 5];
        stream.read_exact(&mut text).await.unwrap();
        stream.write_all(&text).await.unwrap();
        stream.flush().await.unwrap();
        Ok(stream.tls_info().unwrap())
    }
}

/// How a client comes.
pub(crate) struct Client {
    roots: RootCertStore,
    identity: Option<Identity>,
    versions: Vec<&'static SupportedProtocolVersion>,
    name: &'static str,
}

impl Client {
    pub(crate) fn new(authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.issuer.der().clone()).unwrap();
        Self { roots, identity: None, versions: rustls::ALL_VERSIONS.to_vec(), name: "localhost" }
    }

    fn with(self, identity: Identity) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// Says something and waits for the echo. Gives the server's certificate.
    pub(crate) async fn speak(&self, tcp: TcpStream) -> Result<Vec<u8>, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(Identity { chain, key, .. }) => {
                let chain = CertificateDer::pem_file_iter(chain).unwrap().map(Result::unwrap).collect();
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap()
            }
        };
        let name = ServerName::try_from(self.name).unwrap();
        let mut stream =
            TlsConnector::from(Arc::new(config)).connect(name, tcp).await.map_err(|error| error.to_string())?;
        let mut text = [0; 5];
        stream.write_all(b"hello").await.map_err(|error| error.to_string())?;
        stream.read_exact(&mut text).await.map_err(|error| error.to_string())?;
        assert_eq!(&text, b"hello");
        Ok(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec())
    }
}

#[tokio::test]
async fn what_was_agreed_is_told_in_rabbitmqs_words() {
    let authority = authority("server-agreed");
    let mut server = Server::new(options(&authority));
    let (info, _) = server.meet(&Client::new(&authority)).await.unwrap();
    assert_eq!((info.protocol, info.cipher, info.key_exchange, info.hash), ("tlsv1.3", "aes_256_gcm", "any", "aead"));
    assert_eq!(info.peer, None);
    let older = Client { versions: vec![&rustls::version::TLS12], ..Client::new(&authority) };
    let (info, _) = server.meet(&older).await.unwrap();
    assert_eq!((info.protocol, info.cipher, info.key_exchange), ("tlsv1.2", "aes_256_gcm", "ecdhe_ecdsa"));
}

#[tokio::test]
async fn client_that_shows_a_certificate_is_known_by_it() {
    let authority = authority("server-known");
    let mut params = authority.params("client");
    params.distinguished_name.push(DnType::OrganizationName, "Org, Inc.");
    params.subject_alt_names.push(SanType::Rfc822Name("a@b.c".try_into().unwrap()));
    authority.sign_as("client", params);
    let mut server =
        Server::new(ServerTlsOptions { clients: optional(authority.file("ca.pem")), ..options(&authority) });
    let client = Client::new(&authority).with(identity(&authority, "client"));
    let older = Client { versions: vec![&rustls::version::TLS12], ..Client::new(&authority) };
    for client in [client, older.with(identity(&authority, "client"))] {
        let peer = server.meet(&client).await.unwrap().0.peer.unwrap();
        assert_eq!(peer.subject, "O=Org\\, Inc.,CN=client");
        assert_eq!(peer.issuer, "CN=server-known");
        assert_eq!(peer.common_names, ["client"]);
        let names = [net::AlternativeName::Dns("client".into()), net::AlternativeName::Email("a@b.c".into())];
        assert_eq!(peer.alternative_names, names);
    }
}

#[tokio::test]
async fn client_without_a_certificate_comes_in_only_where_none_is_required() {
    let authority = authority("server-required");
    let anonymous = Client::new(&authority);
    let ca = || authority.file("ca.pem");
    let mut server = Server::new(ServerTlsOptions { clients: optional(ca()), ..options(&authority) });
    assert_eq!(server.meet(&anonymous).await.unwrap().0.peer, None);
    let mut server = Server::new(ServerTlsOptions { clients: required(ca(), 10), ..options(&authority) });
    let refused = server.meet(&anonymous).await.unwrap_err();
    assert_eq!(refused, "the TLS handshake failed: peer sent no certificates");
}

#[tokio::test]
async fn certificate_of_another_authority_is_refused() {
    let (authority, other) = (authority("server-stranger"), Authority::new("server-stranger-other"));
    other.sign("client");
    let clients = optional(authority.file("ca.pem"));
    let mut server = Server::new(ServerTlsOptions { clients, ..options(&authority) });
    let refused = server.meet(&Client::new(&authority).with(identity(&other, "client"))).await.unwrap_err();
    assert!(refused.contains("UnknownIssuer"), "{refused}");
    // A client that is not asked may show any certificate.
    let mut server = Server::new(options(&authority));
    assert_eq!(server.meet(&Client::new(&authority).with(identity(&other, "client"))).await.unwrap().0.peer, None);
}

#[tokio::test]
async fn chains_may_be_as_long_as_the_depth() {
    let authority = authority("server-depth");
    authority.sign("direct");
    authority.sign_through("between", "indirect");
    for (depth, name, is_let_in) in
        [(0, "direct", true), (0, "indirect", false), (1, "indirect", true), (10, "indirect", true)]
    {
        let clients = required(authority.file("ca.pem"), depth);
        let mut server = Server::new(ServerTlsOptions { clients, ..options(&authority) });
        let met = server.meet(&Client::new(&authority).with(identity(&authority, name))).await;
        assert_eq!(met.is_ok(), is_let_in, "{name} at depth {depth}: {met:?}");
        if let Err(error) = met {
            assert!(error.contains("TooDeep { depth: 0 }"), "{error}");
        }
    }
}

#[tokio::test]
async fn the_name_that_is_asked_for_chooses_the_certificate() {
    let authority = authority("server-names");
    let sni = |name: &str, file: &str| {
        authority.sign_as(file, authority.params(name));
        SniIdentity { hostname: name.to_owned(), identity: identity(&authority, file) }
    };
    let sni = vec![sni("Mq.Example.com", "exact"), sni("*.example.com", "domain")];
    let mut server = Server::new(ServerTlsOptions { sni, ..options(&authority) });
    let der = |file: &str| CertificateDer::from_pem_file(authority.file(&format!("{file}.pem"))).unwrap().to_vec();
    for (name, file) in [("mq.example.com", "exact"), ("other.example.com", "domain"), ("localhost", "localhost")] {
        let (_, shown) = server.meet(&Client { name, ..Client::new(&authority) }).await.unwrap();
        assert_eq!(shown, der(file), "{name}");
    }
    let deeper = server.meet(&Client { name: "a.b.example.com", ..Client::new(&authority) }).await;
    assert!(deeper.is_err(), "a star stands for one label, and the usual certificate is not for this name");
}

#[tokio::test]
async fn new_files_are_taken_and_broken_ones_are_not() {
    let authority = authority("server-reload");
    let mut server = Server::new(options(&authority));
    let client = Client::new(&authority);
    let (_, first) = server.meet(&client).await.unwrap();
    assert_eq!(server.tls.reload_if_changed().unwrap(), Reload::Unchanged);

    let (second, _) = authority.sign("localhost");
    assert_ne!(first, second);
    assert_eq!(server.tls.reload_if_changed().unwrap(), Reload::Reloaded);
    assert_eq!(server.meet(&client).await.unwrap().1, second);

    let (chain, kept) = (authority.file("localhost.pem"), fs::read(authority.file("localhost.pem")).unwrap());
    fs::write(&chain, "-----BEGIN CERTIFICATE-----\nAAAA").unwrap();
    let error = server.tls.reload_if_changed().unwrap_err();
    assert!(error.to_string().contains(&chain.display().to_string()), "{error}");
    assert_eq!(server.tls.reload_if_changed().unwrap(), Reload::Unchanged, "one change, one complaint");
    assert_eq!(server.meet(&client).await.unwrap().1, second);

    // Gone, as between the two steps of its replacement.
    fs::remove_file(&chain).unwrap();
    server.tls.reload_if_changed().unwrap_err();
    fs::write(&chain, kept).unwrap();
    assert_eq!(server.tls.reload_if_changed().unwrap(), Reload::Reloaded);
    assert_eq!(server.meet(&client).await.unwrap().1, second);
}

#[test]
fn a_file_that_may_be_read_now_has_changed() {
    let authority = authority("server-mode");
    let tls = ServerTls::new(options(&authority)).unwrap();
    let key = authority.file("localhost.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Reloaded);
    assert_eq!(tls.reload_if_changed().unwrap(), Reload::Unchanged);
}

#[tokio::test]
async fn who_asks_for_a_reload_gets_one() {
    let authority = authority("server-forced");
    let mut server = Server::new(options(&authority));
    let (second, _) = authority.sign("localhost");
    server.tls.reload().unwrap();
    assert_eq!(server.meet(&Client::new(&authority)).await.unwrap().1, second);
    server.tls.reload().unwrap();
    assert_eq!(server.tls.reload_if_changed().unwrap(), Reload::Unchanged, "it was read already");
    fs::write(authority.file("localhost.pem"), "nothing").unwrap();
    server.tls.reload().unwrap_err();
    server.tls.reload().unwrap_err();
    assert_eq!(server.meet(&Client::new(&authority)).await.unwrap().1, second);
}

#[tokio::test]
async fn versions_and_suites_can_be_narrowed() {
    let authority = authority("server-narrow");
    let narrow = ServerTlsOptions {
        versions: vec![TlsVersion::V1_2],
        cipher_suites: vec!["ECDHE-ECDSA-CHACHA20-POLY1305".into(), "ECDHE-ECDSA-AES128-GCM-SHA256".into()],
        is_cipher_order_ours: true,
        ..options(&authority)
    };
    let mut server = Server::new(narrow);
    let (info, _) = server.meet(&Client::new(&authority)).await.unwrap();
    assert_eq!((info.protocol, info.cipher), ("tlsv1.2", "chacha20_poly1305"));
    let newer = Client { versions: vec![&rustls::version::TLS13], ..Client::new(&authority) };
    assert!(server.meet(&newer).await.is_err());
    let suites = vec!["AES128-SHA".to_owned()];
    let error = ServerTls::new(ServerTlsOptions { cipher_suites: suites, ..options(&authority) }).unwrap_err();
    assert!(matches!(error, TlsSetupError::CipherSuite { .. }), "{error}");
}

#[tokio::test]
async fn handshake_that_never_comes_ends_in_time() {
    let authority = authority("server-slow");
    let mut server = Server { timeout: Duration::from_millis(50), ..Server::new(options(&authority)) };
    let _silent = server.tcp().await;
    let error = server.admit().await.unwrap_err();
    assert_eq!(error.to_string(), "the TLS handshake took longer than 50 ms");
}

#[tokio::test]
async fn client_that_speaks_no_tls_is_told_from_one_that_says_nothing() {
    let authority = authority("server-plain");
    let mut server = Server::new(options(&authority));
    let mut plain = server.tcp().await;
    plain.write_all(b"AMQP\x00\x00\x09\x01").await.unwrap();
    let error = server.admit().await.unwrap_err();
    assert!(matches!(error, AdmitError::Tls(_)), "{error}");
    drop(server.tcp().await);
    let error = server.admit().await.unwrap_err();
    assert!(matches!(error, AdmitError::Closed), "{error}");
}

fn setup_error(options: ServerTlsOptions) -> String {
    ServerTls::new(options).unwrap_err().to_string()
}

#[test]
fn files_that_do_not_fit_are_named() {
    let authority = authority("server-misfit");
    authority.sign("other");
    let (chain, key) = (authority.file("localhost.pem"), authority.file("other.key"));
    let misfit = Identity { chain: chain.clone(), key: key.clone(), password: None };
    let error = setup_error(ServerTlsOptions { identity: misfit, ..options(&authority) });
    let expected = format!("the certificate in {} cannot be used with the key in {}: ", chain.display(), key.display());
    assert!(error.starts_with(&expected), "{error}");
    let none = Identity { key: chain.clone(), chain, password: None };
    let error = setup_error(ServerTlsOptions { identity: none, ..options(&authority) });
    assert!(error.starts_with("cannot read a private key from "), "{error}");
}

fn openssl(arguments: &[&str], output: &Path) -> bool {
    let done = Command::new("openssl").args(arguments).arg("-out").arg(output).output();
    done.is_ok_and(|done| done.status.success())
}

/// What `openssl x509 -req` makes where it is given no extensions.
#[test]
fn a_certificate_of_an_older_version_may_be_shown() {
    let authority = authority("server-version-1");
    authority.sign("other");
    let (key, request, chain) = (authority.file("localhost.key"), authority.file("old.csr"), authority.file("old.pem"));
    let [key_path, request_path] = [&key, &request].map(|path| path.display().to_string());
    let made = openssl(&["req", "-new", "-subj", "/CN=localhost", "-key", &key_path], &request)
        && openssl(&["x509", "-req", "-days", "1", "-in", &request_path, "-signkey", &key_path], &chain);
    if !made {
        eprintln!("skipped: there is no openssl");
        return;
    }
    let with = |key: &Path| ServerTlsOptions {
        identity: Identity { chain: chain.clone(), key: key.to_owned(), password: None },
        ..options(&authority)
    };
    ServerTls::new(with(&key)).unwrap();
    let error = setup_error(with(&authority.file("other.key")));
    assert!(error.contains("cannot be used with the key in"), "{error}");
}

#[tokio::test]
async fn encrypted_key_is_opened_with_its_password() {
    let authority = authority("server-encrypted");
    let (plain, encrypted) = (authority.file("localhost.key"), authority.file("encrypted.key"));
    let plain = plain.display().to_string();
    if !openssl(&["pkcs8", "-topk8", "-v2", "aes256", "-passout", "pass:open sesame", "-in", &plain], &encrypted) {
        eprintln!("skipped: there is no openssl");
        return;
    }
    let with = |password: Option<&str>| {
        let identity = Identity {
            key: encrypted.clone(),
            password: password.map(str::to_owned),
            ..identity(&authority, "localhost")
        };
        ServerTlsOptions { identity, ..options(&authority) }
    };
    let mut server = Server::new(with(Some("open sesame")));
    server.meet(&Client::new(&authority)).await.unwrap();
    let refused = |why: &str| format!("cannot read a private key from {}: {why}", encrypted.display());
    assert_eq!(setup_error(with(Some("closed"))), refused("the password does not decrypt it"));
    assert_eq!(setup_error(with(None)), refused("it is encrypted, and no password is set for it"));
}

#[test]
fn key_in_openssls_old_encryption_is_refused_with_advice() {
    let authority = authority("server-old-key");
    let key = authority.file("old.key");
    fs::write(
        &key,
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n\
        -----END EC PRIVATE KEY-----\n",
    )
    .unwrap();
    let identity = Identity { key, password: Some("x".into()), ..identity(&authority, "localhost") };
    let error = setup_error(ServerTlsOptions { identity, ..options(&authority) });
    assert!(error.ends_with("convert it with 'openssl pkcs8 -topk8'"), "{error}");
}
