//! TLS between nodes: both sides show certificates of one authority.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster::wire::{Lane, Local, Secret};
use cluster::{LinkTls, LinkTlsOptions, PeerEvent};
use net::{Identity, Reload};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::forward::check_exchange;
use super::node::{Node, heartbeat, introduce, link};
use crate::nodes::{identity, local};

/// An authority, whose files are below a directory of the test's own.
struct Authority {
    dir: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new(test: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        fs::create_dir_all(&dir).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, test);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(dir.join("ca.pem"), issuer.pem()).unwrap();
        Authority { dir, issuer }
    }

    /// A certificate for this host.
    fn sign(&self, node: &str) -> Identity {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |end: &str| self.dir.join(format!("{node}.{end}"));
        fs::write(file("pem"), certificate.pem()).unwrap();
        fs::write(file("key"), key.serialize_pem()).unwrap();
        Identity { chain: file("pem"), key: file("key"), password: None }
    }

    fn tls(&self, identity: Identity) -> Arc<LinkTls> {
        let options = LinkTlsOptions { identity, authorities: self.dir.join("ca.pem"), depth: 1 };
        Arc::new(LinkTls::new(options).unwrap())
    }
}

#[track_caller]
fn rejection(of: &Node, by: &Node) -> String {
    match of.wait_for_event(by, |event| matches!(event, PeerEvent::Rejected { .. })) {
        PeerEvent::Rejected { sentence, .. } => sentence,
        _ => unreachable!("waited for"),
    }
}

#[test]
fn nodes_of_one_authority_need_no_secret() {
    let authority = Authority::new("link-tls");
    let [a, b] = ['a', 'b'].map(|letter| {
        let tls = authority.tls(authority.sign(&letter.to_string()));
        Node::start_as(Local::new(identity(letter), Secret::absent()), letter, Some(tls))
    });
    link(&[&a, &b]);
    a.send(&b, &heartbeat('a', 'b', 1), &[]).unwrap();
    assert_eq!(b.wait_for_message().1, heartbeat('a', 'b', 1));
    check_exchange(&a, &b);
}

#[test]
fn a_node_of_another_authority_is_refused() {
    let (authority, other) = (Authority::new("link-tls-one"), Authority::new("link-tls-other"));
    let a = Node::start_as(local('a'), 'a', Some(authority.tls(authority.sign("a"))));
    // It trusts the first, and is not trusted by it.
    let b = Node::start_as(local('b'), 'b', Some(authority.tls(other.sign("b"))));
    introduce(&[&a, &b]);
    for (of, by) in [(&a, &b), (&b, &a)] {
        let sentence = rejection(of, by);
        assert!(sentence.contains("cannot be linked with"), "{sentence}");
    }
    assert!(a.links.statistics()[0].lanes.iter().all(|lane| lane.connects == 0));
    // The files are replaced by those of the right authority.
    let right = authority.sign("b");
    fs::copy(right.chain, other.dir.join("b.pem")).unwrap();
    fs::copy(right.key, other.dir.join("b.key")).unwrap();
    assert_eq!(b.tls.as_ref().unwrap().reload_if_changed().unwrap(), Reload::Reloaded);
    a.wait_for_event(&b, |event| matches!(event, PeerEvent::Connected { lane: Lane::Votes, .. }));
    b.wait_for_event(&a, |event| matches!(event, PeerEvent::Connected { lane: Lane::Votes, .. }));
}

#[test]
fn plain_and_tls_do_not_meet_and_say_so() {
    let authority = Authority::new("link-tls-plain");
    let a = Node::start_as(local('a'), 'a', Some(authority.tls(authority.sign("a"))));
    let b = Node::start('b');
    introduce(&[&a, &b]);
    let sentence =
        |of: &Node, by: &Node| match of.wait_for_event(by, |event| matches!(event, PeerEvent::Rejected { .. })) {
            PeerEvent::Rejected { sentence, .. } => sentence,
            _ => unreachable!("waited for"),
        };
    let sentence = sentence(&b, &a);
    assert!(sentence.ends_with("it speaks TLS, and this node uses none between nodes"), "{sentence}");
    let sentence = rejection(&a, &b);
    assert!(sentence.contains("TLS with 127.0.0.1"), "{sentence}");
}
