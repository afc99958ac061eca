//! EXTERNAL: the client's identity by its certificate, which TLS has verified before.

use amqp::frame::PROTOCOL_HEADER;
use amqp::table::{Table, TableBuf, Value};
use model::config::{AuthMechanism, CertificateLogin};
use net::{PeerCertificate, TlsInfo};

use super::client::{Client, Heard};
use super::node::Node;
use crate::options::Options;

fn node(mechanisms: &[AuthMechanism]) -> Node {
    let certificate_login = CertificateLogin::CommonName;
    Node::with(Options { mechanisms: mechanisms.to_vec(), certificate_login, ..Options::default() })
}

const CONFIGURED: &[AuthMechanism] = &[AuthMechanism::Plain, AuthMechanism::External];

/// What TLS says of a client with a certificate of this common name, or without one.
fn tls(name: Option<&str>) -> Option<TlsInfo> {
    let certificate = |name: &str| PeerCertificate {
        subject: format!("CN={name},O=Org"),
        issuer: "CN=ca".to_owned(),
        validity: "2026-01-01T00:00:00Z - 2027-01-01T00:00:00Z".to_owned(),
        serial_number: "1".to_owned(),
        common_names: vec![name.to_owned()],
        alternative_names: Vec::new(),
    };
    let peer = name.map(certificate);
    Some(TlsInfo { protocol: "tlsv1.3", cipher: "aes_256_gcm", key_exchange: "any", hash: "aead", peer })
}

fn client(node: &Node, peer: &str, tls: Option<TlsInfo>) -> Client {
    node.accept_over(peer, tls)
}

/// What a client hears last that logs in by EXTERNAL.
fn log_in(node: &Node, peer: &str, tls: Option<TlsInfo>) -> Heard {
    let capabilities = TableBuf::new().with("authentication_failure_close", Value::Bool(true));
    let properties = TableBuf::new().with("capabilities", Value::Table(capabilities.as_table()));
    let heard = client(node, peer, tls).try_log_in_by(b"EXTERNAL", b"", properties.as_table());
    heard.last().expect("an answer").clone()
}

fn refused() -> Heard {
    let text = "ACCESS_REFUSED - Login was refused using authentication mechanism EXTERNAL. For details see the broker logfile.";
    Heard::ConnectionClose { code: 403, text: text.to_owned() }
}

fn unknown_mechanism() -> Heard {
    Heard::ConnectionClose {
        code: 503,
        text: "COMMAND_INVALID - unknown authentication mechanism 'EXTERNAL'".to_owned(),
    }
}

#[test]
fn the_certificate_says_who_it_is() {
    let node = node(CONFIGURED);
    assert_eq!(log_in(&node, "127.0.0.1:5", tls(Some("guest"))), Heard::Other("connection.open-ok"));
}

#[test]
fn without_a_certificate_or_a_user_of_its_name_the_login_is_refused() {
    let node = node(CONFIGURED);
    assert_eq!(log_in(&node, "127.0.0.1:5", tls(None)), refused());
    assert_eq!(log_in(&node, "127.0.0.1:5", tls(Some("stranger"))), refused());
    assert_eq!(log_in(&node, "127.0.0.1:5", tls(Some(""))), refused());
}

#[test]
fn a_certificate_is_no_way_around_loopback_users() {
    let node = node(CONFIGURED);
    assert_eq!(log_in(&node, "192.0.2.1:5", tls(Some("guest"))), refused());
}

#[test]
fn who_guesses_passwords_does_not_keep_a_certificate_out() {
    let node = node(CONFIGURED);
    for _ in 0..101 {
        client(&node, "127.0.0.1:5", None).try_log_in("guest", "wrong", Table::EMPTY);
    }
    assert_eq!(log_in(&node, "127.0.0.1:5", tls(Some("guest"))), Heard::Other("connection.open-ok"));
}

#[test]
fn it_is_there_over_tls_and_where_it_is_configured_only() {
    let offered = |node: &Node, tls| {
        let mut client = client(node, "127.0.0.1:5", tls);
        client.send_bytes(&PROTOCOL_HEADER);
        client.session.front.output().windows(8).any(|window| window == b"EXTERNAL")
    };
    let configured = node(CONFIGURED);
    assert!(offered(&configured, tls(Some("guest"))));
    assert!(offered(&configured, tls(None)));
    assert!(!offered(&configured, None));
    assert_eq!(log_in(&configured, "127.0.0.1:5", None), unknown_mechanism());
    let usual = Node::new();
    assert!(!offered(&usual, tls(Some("guest"))));
    assert_eq!(log_in(&usual, "127.0.0.1:5", tls(Some("guest"))), unknown_mechanism());
}
