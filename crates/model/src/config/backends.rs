//! The back ends that know users (`auth_backends`), and the options of those that are not the broker itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::oauth2::{self, OAuth2ResourceServer};
use super::schema::access as keys;
use super::values::Values;

/// A back end that knows users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackendKind {
    /// The broker itself.
    Internal,
    /// An HTTP service.
    Http,
    /// Tokens.
    OAuth2,
    /// One of the others, whose answers are remembered.
    Cache,
}

/// One step of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendStep {
    /// The back end that checks logins.
    pub authentication: BackendKind,
    /// The back end that says what a login may do.
    pub authorization: BackendKind,
}

/// The HTTP service (`auth_http`). Fields are named as their keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpBackendOptions {
    /// Whether it is asked by POST.
    pub is_post: bool,
    /// The URL that checks logins.
    pub user_path: String,
    /// The URL that checks which users may enter a vhost.
    pub vhost_path: String,
    /// The URL that checks which users may do what with an exchange or a queue.
    pub resource_path: String,
    /// The URL that checks which users may use which routing key.
    pub topic_path: String,
    /// How long an answer may take.
    pub request_timeout: Duration,
    /// File of the authorities that its certificate is to be from; None: the system's.
    pub cacertfile: Option<String>,
    /// Whether its certificate is looked at.
    pub verifies_peer: bool,
}

/// The cache (`auth_cache`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheOptions {
    /// Whose answers are remembered.
    pub cached_backend: BackendKind,
    /// For how long.
    pub cache_ttl: Duration,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backends {
    /// The chain; not empty.
    pub steps: Vec<BackendStep>,
    /// The HTTP service.
    pub http: HttpBackendOptions,
    /// The cache.
    pub cache: CacheOptions,
    /// What tokens may be for: at least one where the chain has that back end.
    pub oauth2: Vec<OAuth2ResourceServer>,
}

impl BackendKind {
    /// RabbitMQ has two names for each.
    fn parse(name: &str) -> Option<BackendKind> {
        Some(match name.trim_start_matches("rabbit_auth_backend_") {
            "internal" => BackendKind::Internal,
            "http" => BackendKind::Http,
            "oauth" | "oauth2" | "uaa" => BackendKind::OAuth2,
            "cache" => BackendKind::Cache,
            _ => return None,
        })
    }
}

/// Notes what is missing.
pub(super) fn check(values: &mut Values) {
    let steps = steps(values);
    let is_used = |kind| {
        let by = |step: &BackendStep| step.authentication == kind || step.authorization == kind;
        steps.iter().any(by) || (kind != BackendKind::Cache && cached(values) == kind && has_cache(&steps))
    };
    let mut problems = Vec::new();
    if is_used(BackendKind::OAuth2) {
        problems.extend(oauth2::problems(values));
    }
    if has_cache(&steps) && cached(values) == BackendKind::Internal {
        let text = "'auth_cache.cached_backend' must be another back end: the broker's own users need no cache";
        problems.push(text.to_owned());
    }
    let origin = values.below(&["auth_backends"]).next().map(|(.., origin)| origin.clone());
    if let Some(origin) = origin {
        problems.into_iter().for_each(|text| values.refuse(origin.clone(), text));
    }
}

fn has_cache(steps: &[BackendStep]) -> bool {
    let is_cache = |kind| kind == BackendKind::Cache;
    steps.iter().any(|step| is_cache(step.authentication) || is_cache(step.authorization))
}

fn cached(values: &Values) -> BackendKind {
    BackendKind::parse(&values.get(&keys::AUTH_CACHE_CACHED_BACKEND)).unwrap_or(BackendKind::Internal)
}

/// `auth_backends.1 = x` is both halves; `auth_backends.1.authn` and `.authz` are one each.
fn steps(values: &Values) -> Vec<BackendStep> {
    let mut by_number: BTreeMap<u64, [Option<BackendKind>; 2]> = BTreeMap::new();
    for (rest, text, _) in values.below(&["auth_backends"]) {
        let Some(kind) = BackendKind::parse(text) else { continue };
        let halves = by_number.entry(rest[0].parse().unwrap_or(u64::MAX)).or_default();
        match rest.get(1).map(String::as_str) {
            None => *halves = [Some(kind); 2],
            Some("authn") => halves[0] = Some(kind),
            Some(_) => halves[1] = Some(kind),
        }
    }
    let step = |[authentication, authorization]: [Option<BackendKind>; 2]| BackendStep {
        // As in RabbitMQ one half is enough where it is both.
        authentication: authentication.or(authorization).unwrap_or(BackendKind::Internal),
        authorization: authorization.or(authentication).unwrap_or(BackendKind::Internal),
    };
    by_number.into_values().map(step).collect()
}

pub(super) fn read(values: &Values) -> Backends {
    Backends {
        steps: steps(values),
        http: HttpBackendOptions {
            is_post: values.get(&keys::AUTH_HTTP_HTTP_METHOD) == "post",
            user_path: values.get(&keys::AUTH_HTTP_USER_PATH),
            vhost_path: values.get(&keys::AUTH_HTTP_VHOST_PATH),
            resource_path: values.get(&keys::AUTH_HTTP_RESOURCE_PATH),
            topic_path: values.get(&keys::AUTH_HTTP_TOPIC_PATH),
            request_timeout: values.get(&keys::AUTH_HTTP_REQUEST_TIMEOUT),
            cacertfile: values.find(&keys::AUTH_HTTP_SSL_OPTIONS_CACERTFILE),
            verifies_peer: values.get(&keys::AUTH_HTTP_SSL_OPTIONS_VERIFY) == "verify_peer",
        },
        cache: CacheOptions { cached_backend: cached(values), cache_ttl: values.get(&keys::AUTH_CACHE_CACHE_TTL) },
        oauth2: oauth2::read(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::SigningKey;

    fn parse(sets: &[&str]) -> Result<Backends, String> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Config::parse(&[], &[], &sets).map(|(config, _)| config.backends).map_err(|error| error.to_string())
    }

    fn step(authentication: BackendKind, authorization: BackendKind) -> BackendStep {
        BackendStep { authentication, authorization }
    }

    #[test]
    fn without_a_word_the_broker_knows_its_users() {
        let backends = parse(&[]).unwrap();
        assert_eq!(backends.steps, [step(BackendKind::Internal, BackendKind::Internal)]);
    }

    #[test]
    fn the_chain_is_in_the_order_of_its_numbers() {
        let backends = parse(&[
            "auth_backends.10 = internal",
            "auth_backends.2.authn = rabbit_auth_backend_http",
            "auth_backends.2.authz = internal",
            "auth_backends.1 = http",
        ]);
        use BackendKind::{Http, Internal};
        assert_eq!(backends.unwrap().steps, [step(Http, Http), step(Http, Internal), step(Internal, Internal)]);
    }

    #[test]
    fn tokens_need_a_resource_server_and_keys() {
        let refused = parse(&["auth_backends.1 = oauth2"]).unwrap_err();
        assert!(refused.contains("needs 'auth_oauth2.resource_server_id'"), "{refused}");
        assert!(refused.contains("needs 'auth_oauth2.issuer', 'auth_oauth2.jwks_uri' or"), "{refused}");
        let backends = parse(&[
            "auth_backends.1 = oauth2",
            "auth_oauth2.resource_server_id = warren",
            "auth_oauth2.signing_keys.k1 = /etc/key.pem",
            "auth_oauth2.preferred_username_claims.1 = email",
            "auth_oauth2.scope_aliases.boss = warren.tag:administrator warren.read:*/*",
            "auth_oauth2.additional_scopes_key = roles groups",
        ]);
        let oauth2 = &backends.unwrap().oauth2[0];
        assert_eq!(oauth2.provider.signing_keys["k1"], SigningKey::File("/etc/key.pem".to_owned()));
        assert_eq!(oauth2.preferred_username_claims, ["email"]);
        assert_eq!(oauth2.scope_aliases["boss"], ["warren.tag:administrator", "warren.read:*/*"]);
        assert_eq!(oauth2.additional_scopes_keys, ["roles", "groups"]);
    }

    #[test]
    fn a_cache_is_in_front_of_somebody_else() {
        let refused = parse(&["auth_backends.1 = cache"]).unwrap_err();
        assert!(refused.contains("'auth_cache.cached_backend' must be another back end"), "{refused}");
        let backends =
            parse(&["auth_backends.1 = cache", "auth_cache.cached_backend = http", "auth_cache.cache_ttl = 5s"]);
        let cache = CacheOptions { cached_backend: BackendKind::Http, cache_ttl: Duration::from_secs(5) };
        assert_eq!(backends.unwrap().cache, cache);
    }

    #[test]
    fn others_are_refused_by_name() {
        let refused = parse(&["auth_backends.1 = ldap"]).unwrap_err();
        assert!(refused.contains("'auth_backends.1'"), "{refused}");
    }
}
