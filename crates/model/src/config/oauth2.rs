//! What tokens may be for, and who issues them (`auth_oauth2`).

use std::collections::BTreeMap;

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
    /// Who issues them.
    pub provider: OAuth2Provider,
}

/// Who issues tokens. Fields are named as their keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuth2Provider {
    /// What its keys begin with.
    pub prefix: String,
    /// Who has to have issued them.
    pub issuer: Option<String>,
    /// Where the issuer publishes its keys.
    pub jwks_uri: Option<String>,
    /// Where it says that, if nothing else is known of its keys.
    pub discovery_url: Option<String>,
    /// Signatures that are accepted, by their names; empty: all but those with shared keys.
    pub algorithms: Vec<String>,
    /// The key's id where a token names none.
    pub default_key: Option<String>,
    /// PEM files of public keys, by the keys' ids.
    pub signing_keys: BTreeMap<String, String>,
    /// File of the authorities that the issuer's certificate is to be from; None: the system's.
    pub cacertfile: Option<String>,
    /// Whether its certificate is looked at.
    pub verifies_peer: bool,
}

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
            problems.push(format!("there is no 'auth_oauth2.oauth_providers.{name}'"));
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
    // Of one who says nothing at all of issuers it is missed, too.
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

/// All resource servers: the one that stands by itself first.
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
    let (issuer, signing_keys) = (keys.text(&["issuer"]), keys.family("signing_keys"));
    let jwks_uri = keys.text(&["jwks_uri"]).or_else(|| keys.text(&["jwks_url"]));
    let is_discovered = jwks_uri.is_none() && signing_keys.is_empty();
    OAuth2Provider {
        discovery_url: issuer.as_deref().filter(|_| is_discovered).map(|issuer| discovery_url(issuer, &keys)),
        prefix,
        issuer,
        jwks_uri,
        algorithms: keys.list("algorithms"),
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
