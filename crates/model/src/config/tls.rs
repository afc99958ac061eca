//! The options of a listener with TLS: files, what clients have to show, versions, suites (`ssl_options.*` and its like).

use std::fmt;

use super::remark::Origin;
use super::syntax::KeyPath;
use super::table::tls_keys;
use super::values::Values;

/// Options of TLS. Fields are named as their keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The server's identity.
    pub identity: TlsIdentity,
    /// Its identities for clients that ask for other names.
    pub sni: Vec<SniIdentity>,
    /// File of the authorities that clients' certificates are to be from. There is one where clients are asked for certificates.
    pub cacertfile: Option<String>,
    /// What clients have to show.
    pub verify: PeerVerification,
    /// How many certificates may stand between a client's and its authority's.
    pub depth: u8,
    /// Which versions may be spoken.
    pub versions: Vec<TlsVersion>,
    /// Which suites may be used, the dearest first; empty: all there are.
    pub ciphers: Vec<String>,
    /// Whether that order counts, and not the client's.
    pub honor_cipher_order: bool,
}

/// Files of a certificate chain and its key.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsIdentity {
    /// The chain, the server's own certificate first.
    pub certfile: String,
    /// The key.
    pub keyfile: String,
    /// The key's password, if it is encrypted.
    pub password: Option<String>,
}

/// An identity for one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SniIdentity {
    /// The name, or `*.` and a domain.
    pub hostname: String,
    /// The server's identity then.
    pub identity: TlsIdentity,
}

/// What clients have to show (`verify` and `fail_if_no_peer_cert`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeerVerification {
    /// They are not asked.
    None,
    /// A certificate, if they have one.
    Optional,
    /// A certificate.
    Required,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsVersion {
    /// 1.2.
    V1_2,
    /// 1.3.
    V1_3,
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TlsIdentity { certfile, keyfile, .. } = self; // the password is not for logs
        f.debug_struct("TlsIdentity").field("certfile", certfile).field("keyfile", keyfile).finish_non_exhaustive()
    }
}

/// Where the broker's names for SNI are.
pub(super) const SNI: [&str; 3] = ["warren", "tls", "sni"];

/// Notes what is missing for TLS with the keys below a prefix. `user` is the key that wants it, if any does,
/// and where that comes from.
pub fn check(values: &mut Values, prefix: &str, user: Option<(Origin, String)>) {
    let key = |name: &str| format!("{prefix}.{name}");
    let missing = |name: &str| values.text(&key(name)).is_none();
    let is = |name: &str, value: &str| values.text(&key(name)) == Some(value);
    let mut problems = Vec::new();
    let wanted =
        ["certfile", "keyfile"].into_iter().filter(|name| missing(name)).map(|name| format!("'{}'", key(name)));
    let wanted: Vec<_> = wanted.collect();
    if let (Some((origin, user)), false) = (user, wanted.is_empty()) {
        problems.push((origin, format!("'{user}' needs {}", wanted.join(" and "))));
    }
    if is("verify", "verify_peer") && missing("cacertfile") {
        let text = format!("'{}' = verify_peer needs '{}'", key("verify"), key("cacertfile"));
        problems.push((values.origin(&key("verify")), text));
    }
    if is("fail_if_no_peer_cert", "true") && !is("verify", "verify_peer") {
        let text = format!("'{}' = true needs '{}' = verify_peer", key("fail_if_no_peer_cert"), key("verify"));
        problems.push((values.origin(&key("fail_if_no_peer_cert")), text));
    }
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
    for (family, what, known) in
        [("versions", "version of TLS", tls_keys::VERSIONS), ("ciphers", "cipher suite", tls_keys::CIPHERS)]
    {
        let family: Vec<&str> = prefix.split('.').chain([family]).collect();
        values.pass_over_unknown(&family, what, known);
    }
}

/// Notes which names for SNI, below `sni`, are not complete.
pub fn check_sni(values: &mut Values, sni: &[&str]) {
    let mut problems: Vec<(Origin, String)> = Vec::new();
    for name in sni_names(values, sni) {
        let given = |part: &str| values.below(sni).find(|(rest, ..)| rest[0] == *name && rest[1] == part);
        let missing: Vec<_> = ["hostname", "certfile", "keyfile"]
            .into_iter()
            .filter(|part| given(part).is_none())
            .map(|part| format!("'{}'", KeyPath::of(&[sni, &[&name, part]].concat())))
            .collect();
        let origin = values.below(sni).find(|(rest, ..)| rest[0] == *name).map(|(.., origin)| origin.clone());
        if let (Some(origin), false) = (origin, missing.is_empty()) {
            problems.push((origin, format!("the name '{name}' for SNI needs {}", missing.join(" and "))));
        }
    }
    problems.into_iter().for_each(|(origin, text)| values.refuse(origin, text));
}

/// TLS as the keys below a prefix say, with the names below `sni`; `None` where there is no certificate.
#[must_use]
pub fn tls_options(values: &Values, prefix: &str, sni: &[&str]) -> Option<TlsOptions> {
    let text = |name: &str| values.text(&format!("{prefix}.{name}"));
    let owned = |name: &str| text(name).map(str::to_owned);
    let identity =
        TlsIdentity { certfile: owned("certfile")?, keyfile: owned("keyfile")?, password: owned("password") };
    let verify = match (text("verify"), text("fail_if_no_peer_cert")) {
        (Some("verify_peer"), Some("false")) => PeerVerification::Optional,
        (Some("verify_peer"), _) => PeerVerification::Required,
        _ => PeerVerification::None,
    };
    let version = |name: &str| if name == "tlsv1.2" { TlsVersion::V1_2 } else { TlsVersion::V1_3 };
    let mut versions: Vec<_> = numbered(values, prefix, "versions").into_iter().map(version).collect();
    if versions.is_empty() {
        versions = vec![TlsVersion::V1_3, TlsVersion::V1_2];
    }
    Some(TlsOptions {
        identity,
        sni: sni_names(values, sni).iter().filter_map(|name| sni_identity(values, sni, name)).collect(),
        cacertfile: owned("cacertfile"),
        verify,
        depth: text("depth").map_or(DEPTH, |depth| depth.parse().expect("the schema's range fits 8 bits")),
        versions,
        ciphers: numbered(values, prefix, "ciphers").into_iter().map(str::to_owned).collect(),
        honor_cipher_order: text("honor_cipher_order") == Some("true"),
    })
}

/// Erlang's default.
const DEPTH: u8 = 10;

/// The values of `prefix.name.$number`, in the order of the numbers; other words come after them, in that of the alphabet.
fn numbered<'a>(values: &'a Values, prefix: &str, name: &str) -> Vec<&'a str> {
    let parents: Vec<&str> = prefix.split('.').chain([name]).collect();
    let mut found: Vec<_> = values
        .below(&parents)
        .filter_map(|(rest, text, _)| Some((rest.first()?.parse::<u32>().unwrap_or(u32::MAX), rest.first()?, text)))
        .collect();
    found.sort_by_key(|(number, word, _)| (*number, *word));
    found.into_iter().map(|(.., text)| text).collect()
}

fn sni_names(values: &Values, sni: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = values.below(sni).map(|(rest, ..)| rest[0].clone()).collect();
    names.dedup();
    names
}

fn sni_identity(values: &Values, sni: &[&str], name: &str) -> Option<SniIdentity> {
    let text = |part: &str| {
        values.below(sni).find(|(rest, ..)| rest[0] == *name && rest[1] == part).map(|(_, text, _)| text.to_owned())
    };
    let identity = TlsIdentity { certfile: text("certfile")?, keyfile: text("keyfile")?, password: text("password") };
    Some(SniIdentity { hostname: text("hostname")?, identity })
}
