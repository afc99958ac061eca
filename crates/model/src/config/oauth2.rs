//! What tokens may be for, and which issuers they are from (`auth_oauth2`).

use std::collections::BTreeMap;

use super::remark::{Origin, Remark, Warning};
use super::value::Kind;
use super::values::Values;

/// What tokens may be for. Fields are named as their keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuth2ResourceServer {
    /// What tokens have to be for, and what scopes begin with.
    pub id: String,
    /// What scopes begin with, where that is something else.
    pub scope_prefix: Option<String>,
    /// Whether tokens have to be for this resource server.
    pub verify_aud: bool,
    /// Claims that may have the user's name, in their order.
    pub preferred_username_claims: Vec<String>,
    /// Claims that have scopes, too.
    pub additional_scopes_keys: Vec<String>,
    /// What scopes of other names stand for.
    pub scope_aliases: BTreeMap<String, Vec<String>>,
    /// The issuer of the tokens.
    pub provider: OAuth2Provider,
}

/// An issuer of tokens. Fields are named as their keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuth2Provider {
    /// What its keys begin with.
    pub prefix: String,
    /// The issuer that tokens have to name.
    pub issuer: Option<String>,
    /// Where the issuer publishes its keys.
    pub jwks_uri: Option<String>,
    /// Where it says that, if nothing else is known of its keys.
    pub discovery_url: Option<String>,
    /// Signatures that are accepted, by their names; empty: all but those with shared keys, of which there are none.
    pub algorithms: Vec<String>,
    /// The key's id where a token names none.
    pub default_key: Option<String>,
    /// Keys by their ids.
    pub signing_keys: BTreeMap<String, SigningKey>,
    /// File of the authorities that the issuer's certificate is to be from; None: the system's.
    pub cacertfile: Option<String>,
    /// Whether its certificate is looked at.
    pub verifies_peer: bool,
}

/// A key that signatures are checked by.
#[derive(Clone, PartialEq, Eq)]
pub enum SigningKey {
    /// A public key in this PEM file.
    File(String),
    /// A public key in PEM.
    Pem(String),
    /// A JSON Web Key. It may be shared, and is then a secret.
    WebKey(String),
}

impl SigningKey {
    fn of(text: &str) -> SigningKey {
        match text.trim_start() {
            pem if pem.starts_with(PEM) => SigningKey::Pem(pem_lines(pem)),
            key if key.starts_with('{') => SigningKey::WebKey(key.to_owned()),
            _ => SigningKey::File(text.to_owned()),
        }
    }
}

impl SigningKey {
    /// Whether the signer has the same key.
    fn is_shared(&self) -> bool {
        match self {
            SigningKey::WebKey(key) => {
                serde_json::from_str(key).is_ok_and(|key: serde_json::Value| key["kty"] == "oct")
            }
            SigningKey::File(_) | SigningKey::Pem(_) => false,
        }
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SigningKey::File(path) => f.debug_tuple("File").field(path).finish(),
            SigningKey::Pem(_) => f.write_str("Pem"),
            SigningKey::WebKey(_) => f.write_str("WebKey"),
        }
    }
}

/// All signatures. Those with shared keys are accepted where such a key is configured, or where they are named.
pub(super) const ALGORITHMS: &[&str] =
    &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "HS256", "HS384", "HS512"];

const PEM: &str = "-----BEGIN";

/// A PEM text whose lines may have been joined, in lines again.
fn pem_lines(text: &str) -> String {
    let parts: Vec<&str> = text.trim().splitn(5, "-----").collect();
    match parts[..] {
        ["", begin, body, end, _] => {
            let body = body.split_whitespace().collect::<Vec<_>>().join("\n");
            format!("-----{begin}-----\n{body}\n-----{end}-----\n")
        }
        _ => text.to_owned(),
    }
}

/// Such a key, as a key of the configuration has it.
pub(super) const SIGNING_KEY: Kind = Kind {
    what: "a PEM file of a public key, a PEM text, or a JSON Web Key",
    refusal: |text| match SigningKey::of(text) {
        SigningKey::File(path) if path.is_empty() => Some(String::new()),
        SigningKey::WebKey(key) => match serde_json::from_str::<serde_json::Map<_, _>>(&key) {
            Ok(members) if members.get("kty").is_some_and(serde_json::Value::is_string) => None,
            Ok(_) => Some("its kind (kty) is missing".to_owned()),
            Err(error) => Some(format!("it is not a JSON object: {error}")),
        },
        SigningKey::File(_) | SigningKey::Pem(_) => None,
    },
    shown: |text| match SigningKey::of(text) {
        SigningKey::File(path) => path,
        SigningKey::Pem(_) | SigningKey::WebKey(_) => "…".to_owned(),
    },
};

const ROOT: &str = "auth_oauth2";
const SERVERS: &str = "resource_servers";
const PROVIDERS: &str = "oauth_providers";
/// Where issuers describe themselves (OpenID Connect Discovery 1.0, 4).
const DISCOVERY_PATH: &str = ".well-known/openid-configuration";

/// The keys below a prefix.
struct Keys<'a>(BTreeMap<Vec<&'a str>, &'a str>);

impl<'a> Keys<'a> {
    fn below(values: &'a Values, prefix: &[&str]) -> Keys<'a> {
        let words = |rest: &'a [String]| rest.iter().map(String::as_str).collect();
        Keys(values.below(prefix).map(|(rest, text, _)| (words(rest), text)).collect())
    }

    fn text(&self, path: &[&str]) -> Option<String> {
        self.0.get(path).map(|text| (*text).to_owned())
    }

    fn family(&self, name: &str) -> BTreeMap<String, String> {
        let of_family = self.0.iter().filter_map(|(path, text)| match path[..] {
            [family, member] if family == name => Some((member.to_owned(), (*text).to_owned())),
            _ => None,
        });
        of_family.collect()
    }

    fn list(&self, name: &str) -> Vec<String> {
        self.family(name).into_values().collect()
    }

    /// The second words of the keys below `name`.
    fn names(&self, name: &str) -> Vec<&'a str> {
        let mut names: Vec<&str> =
            self.0.keys().filter(|path| path[0] == name && path.len() > 2).map(|path| path[1]).collect();
        names.dedup();
        names
    }
}

fn words(text: &str) -> Vec<String> {
    text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// What is missing, where tokens are to be taken.
pub(super) fn problems(values: &Values) -> Vec<String> {
    let keys = Keys::below(values, &[ROOT]);
    let known = keys.names(PROVIDERS);
    let mut problems = Vec::new();
    let servers = keys.names(SERVERS);
    if keys.text(&["resource_server_id"]).is_none() && servers.is_empty() {
        problems.push(
            "the oauth2 back end needs 'auth_oauth2.resource_server_id' or 'auth_oauth2.resource_servers.$name.id'"
                .to_owned(),
        );
    }
    let of_servers = servers.iter().filter_map(|server| keys.text(&[SERVERS, server, "oauth_provider_id"]));
    for name in keys.text(&["default_oauth_provider"]).into_iter().chain(of_servers) {
        if !known.contains(&&*name) {
            problems.push(format!("no 'auth_oauth2.oauth_providers.{name}'"));
        }
    }
    for server in read(values) {
        let OAuth2Provider { prefix, jwks_uri, discovery_url, signing_keys, .. } = server.provider;
        let has_keys = jwks_uri.is_some() || discovery_url.is_some() || !signing_keys.is_empty();
        let text =
            format!("the oauth2 back end needs '{prefix}.issuer', '{prefix}.jwks_uri' or '{prefix}.signing_keys.$id'");
        if !has_keys && !problems.contains(&text) {
            problems.push(text);
        }
    }
    // A configuration that names no issuer at all lacks it, too.
    if keys.text(&["resource_server_id"]).is_none() && servers.is_empty() && !provider(values, None).has_keys() {
        problems.push(
            "the oauth2 back end needs 'auth_oauth2.issuer', 'auth_oauth2.jwks_uri' or 'auth_oauth2.signing_keys.$id'"
                .to_owned(),
        );
    }
    problems
}

impl OAuth2Provider {
    fn has_keys(&self) -> bool {
        self.jwks_uri.is_some() || self.discovery_url.is_some() || !self.signing_keys.is_empty()
    }
}

/// A warning for each place over whose way a stranger could change the keys that tokens are checked by.
pub(super) fn unprotected(values: &Values) -> Vec<Warning> {
    // The broker's own issuer, and `oauth_providers.NAME`.
    let is_place = |rest: &[String]| {
        let name = rest.last().map(String::as_str);
        name.is_some_and(|name| ["issuer", "jwks_uri", "jwks_url"].contains(&name)) && matches!(rest.len(), 1 | 3)
    };
    let places = values
        .below(&[ROOT])
        .filter(|(rest, text, origin)| is_place(rest) && text.starts_with("http://") && **origin != Origin::Default);
    let warned = places.map(|(rest, _, origin)| {
        let text = format!(
            "'{ROOT}.{}' is not https: an attacker on the network could replace the keys that verify tokens, and RabbitMQ refuses it",
            rest.join(".")
        );
        Warning(Remark { origin: origin.clone(), text })
    });
    warned.collect()
}

/// All resource servers: the one of the top-level keys first.
pub(super) fn read(values: &Values) -> Vec<OAuth2ResourceServer> {
    let keys = Keys::below(values, &[ROOT]);
    let default_provider = keys.text(&["default_oauth_provider"]);
    let verify_aud = |keys: &Keys<'_>| keys.text(&["verify_aud"]).map(|text| text == "true");
    let base = OAuth2ResourceServer {
        id: keys.text(&["resource_server_id"]).unwrap_or_default(),
        scope_prefix: keys.text(&["scope_prefix"]),
        verify_aud: verify_aud(&keys).unwrap_or(true),
        preferred_username_claims: keys.list("preferred_username_claims"),
        additional_scopes_keys: keys.text(&["additional_scopes_key"]).as_deref().map(words).unwrap_or_default(),
        scope_aliases: aliases(&keys),
        provider: provider(values, default_provider.as_deref()),
    };
    let named = keys.names(SERVERS).into_iter().map(|name| {
        let own = Keys::below(values, &[ROOT, SERVERS, name]);
        let or = |list: Vec<String>, base: &Vec<String>| if list.is_empty() { base.clone() } else { list };
        let own_aliases = aliases(&own);
        let own_scopes = own.text(&["additional_scopes_key"]).as_deref().map(words).unwrap_or_default();
        let provider_id = own.text(&["oauth_provider_id"]).or_else(|| default_provider.clone());
        OAuth2ResourceServer {
            id: own.text(&["id"]).unwrap_or_else(|| name.to_owned()),
            scope_prefix: own.text(&["scope_prefix"]).or_else(|| base.scope_prefix.clone()),
            verify_aud: verify_aud(&own).unwrap_or(base.verify_aud),
            preferred_username_claims: or(own.list("preferred_username_claims"), &base.preferred_username_claims),
            additional_scopes_keys: or(own_scopes, &base.additional_scopes_keys),
            scope_aliases: if own_aliases.is_empty() { base.scope_aliases.clone() } else { own_aliases },
            provider: provider(values, provider_id.as_deref()),
        }
    });
    let named: Vec<_> = named.collect();
    let is_by_itself = !base.id.is_empty();
    is_by_itself.then_some(base).into_iter().chain(named).collect()
}

fn provider(values: &Values, name: Option<&str>) -> OAuth2Provider {
    let (keys, prefix) = match name {
        None => (Keys::below(values, &[ROOT]), ROOT.to_owned()),
        Some(name) => (Keys::below(values, &[ROOT, PROVIDERS, name]), format!("{ROOT}.{PROVIDERS}.{name}")),
    };
    let verify = ["verify", "peer_verification"].into_iter().find_map(|key| keys.text(&["https", key]));
    let signing_keys = keys.family("signing_keys").into_iter().map(|(id, text)| (id, SigningKey::of(&text)));
    let (issuer, signing_keys) = (keys.text(&["issuer"]), signing_keys.collect::<BTreeMap<_, _>>());
    let mut algorithms = keys.list("algorithms");
    if algorithms.is_empty() && signing_keys.values().any(SigningKey::is_shared) {
        algorithms = ALGORITHMS.iter().map(|name| (*name).to_owned()).collect();
    }
    let jwks_uri = keys.text(&["jwks_uri"]).or_else(|| keys.text(&["jwks_url"]));
    let is_discovered = jwks_uri.is_none() && signing_keys.is_empty();
    OAuth2Provider {
        discovery_url: issuer.as_deref().filter(|_| is_discovered).map(|issuer| discovery_url(issuer, &keys)),
        prefix,
        issuer,
        jwks_uri,
        algorithms,
        default_key: keys.text(&["default_key"]),
        signing_keys,
        cacertfile: keys.text(&["https", "cacertfile"]),
        verifies_peer: verify.is_none_or(|verify| verify == "verify_peer"),
    }
}

fn discovery_url(issuer: &str, keys: &Keys<'_>) -> String {
    let path = keys.text(&["discovery_endpoint_path"]).unwrap_or_else(|| DISCOVERY_PATH.to_owned());
    let mut url = format!("{}/{}", issuer.trim_end_matches('/'), path.trim_start_matches('/'));
    for (index, (name, value)) in keys.family("discovery_endpoint_params").iter().enumerate() {
        let separator = if index == 0 { '?' } else { '&' };
        url.push_str(&format!("{separator}{}={}", escaped(name), escaped(value)));
    }
    url
}

/// As a query's parameter.
fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// `scope_aliases.NAME = SCOPES`, and `scope_aliases.1.alias = NAME` with `scope_aliases.1.scope = SCOPES`.
fn aliases(keys: &Keys<'_>) -> BTreeMap<String, Vec<String>> {
    let named = keys.family("scope_aliases").into_iter();
    let mut found: BTreeMap<String, Vec<String>> = named.map(|(name, scopes)| (name, words(&scopes))).collect();
    for index in keys.names("scope_aliases") {
        let part = |part: &str| keys.text(&["scope_aliases", index, part]);
        if let (Some(alias), Some(scopes)) = (part("alias"), part("scope")) {
            found.insert(alias, words(&scopes));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn parsed(sets: &[&str]) -> Vec<super::OAuth2ResourceServer> {
        let sets: Vec<String> = ["auth_backends.1 = oauth2"].iter().chain(sets).map(|set| (*set).to_owned()).collect();
        Config::parse(&[], &[], &sets).unwrap_or_else(|error| panic!("{error}")).0.backends.oauth2
    }

    #[test]
    fn a_key_is_a_file_or_written_out() {
        let own = [
            "auth_oauth2.resource_server_id = r",
            "auth_oauth2.signing_keys.a = /key.pem",
            "auth_oauth2.signing_keys.b = -----BEGIN PUBLIC KEY----- MAo= MAs= -----END PUBLIC KEY-----",
            r#"auth_oauth2.signing_keys.c = {"kty":"oct","k":"c2VjcmV0"}"#,
        ];
        let provider = parsed(&own).remove(0).provider;
        assert_eq!(provider.signing_keys["a"], super::SigningKey::File("/key.pem".to_owned()));
        let lines = "-----BEGIN PUBLIC KEY-----\nMAo=\nMAs=\n-----END PUBLIC KEY-----\n";
        assert_eq!(provider.signing_keys["b"], super::SigningKey::Pem(lines.to_owned()));
        assert!(!format!("{:?}", provider.signing_keys).contains("c2VjcmV0"));
        assert!(provider.algorithms.contains(&"HS256".to_owned()) && provider.algorithms.contains(&"RS256".to_owned()));
        assert!(parsed(&own[..2]).remove(0).provider.algorithms.is_empty());
        let sets: Vec<String> = own.iter().map(|set| (*set).to_owned()).collect();
        let (config, _) = Config::parse(&[], &[], &sets).unwrap();
        assert!(!format!("{:?}", config.effective()).contains("c2VjcmV0"));
        for bad in ["{}", "{", r#"{"k":"x"}"#] {
            let set = format!("auth_oauth2.signing_keys.a = {bad}");
            assert!(Config::parse(&[], &[], &[set]).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_issuer_without_tls_is_warned_of() {
        let warned = |set: &str| Config::parse(&[], &[], &[set.to_owned()]).unwrap().1.len();
        assert_eq!(warned("auth_oauth2.issuer = http://i"), 1);
        assert_eq!(warned("auth_oauth2.oauth_providers.k.jwks_uri = http://i"), 1);
        assert_eq!(warned("auth_oauth2.issuer = https://i"), 0);
    }

    #[test]
    fn an_issuer_alone_is_asked_where_its_keys_are() {
        let base = ["auth_oauth2.resource_server_id = r", "auth_oauth2.issuer = https://i/realms/a/"];
        let provider = parsed(&base).remove(0).provider;
        assert_eq!(provider.discovery_url.as_deref(), Some("https://i/realms/a/.well-known/openid-configuration"));
        let own = [
            &base[..],
            &["auth_oauth2.discovery_endpoint_path = own/path", "auth_oauth2.discovery_endpoint_params.a = b c"],
        ]
        .concat();
        let provider = parsed(&own).remove(0).provider;
        assert_eq!(provider.discovery_url.as_deref(), Some("https://i/realms/a/own/path?a=b%20c"));
        let known = [&base[..], &["auth_oauth2.jwks_url = https://i/keys"]].concat();
        let provider = parsed(&known).remove(0).provider;
        assert_eq!((provider.discovery_url, provider.jwks_uri.as_deref()), (None, Some("https://i/keys")));
    }

    #[test]
    fn resource_servers_say_what_is_different() {
        let servers = parsed(&[
            "auth_oauth2.resource_server_id = main",
            "auth_oauth2.issuer = https://i",
            "auth_oauth2.preferred_username_claims.1 = email",
            "auth_oauth2.scope_aliases.1.alias = api://x/admin",
            "auth_oauth2.scope_aliases.1.scope = rabbitmq.tag:administrator",
            "auth_oauth2.resource_servers.prod.scope_prefix = p:",
            "auth_oauth2.resource_servers.2.id = dev",
            "auth_oauth2.resource_servers.2.verify_aud = false",
            "auth_oauth2.resource_servers.2.oauth_provider_id = k",
            "auth_oauth2.oauth_providers.k.jwks_uri = https://k/keys",
            "auth_oauth2.oauth_providers.k.https.verify = verify_none",
        ]);
        let ids: Vec<_> = servers.iter().map(|server| (&*server.id, server.verify_aud)).collect();
        assert_eq!(ids, [("main", true), ("dev", false), ("prod", true)]);
        assert_eq!(servers[2].scope_prefix.as_deref(), Some("p:"));
        assert!(servers.iter().all(|server| server.preferred_username_claims == ["email"]));
        assert_eq!(servers[1].scope_aliases["api://x/admin"], ["rabbitmq.tag:administrator"]);
        let provider = &servers[1].provider;
        assert_eq!((provider.jwks_uri.as_deref(), provider.verifies_peer), (Some("https://k/keys"), false));
        assert_eq!(servers[2].provider.issuer.as_deref(), Some("https://i"));
    }
}
