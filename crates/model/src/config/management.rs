//! The keys of the HTTP API, typed.

use std::fmt;
use std::time::Duration;

use super::key::Key;
use super::oauth2::{self, OAuth2Provider};
use super::remark::{Origin, Remark, Warning};
use super::schema as keys;
use super::values::Values;

/// The largest `management.http.max_body_size`.
pub(crate) const HTTP_BODY_LEN_MAX: u64 = 256 << 20;

/// Options of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagementOptions {
    /// Whether it is served.
    pub is_enabled: bool,
    /// What comes before every path: empty, or with a `/` in front and none at the end.
    pub path_prefix: String,
    /// Largest body of a request, in bytes.
    pub http_max_body_size: u64,
    /// Other origins whose pages may ask.
    pub cors_allow_origins: Vec<String>,
    /// Seconds for which a browser may remember that.
    pub cors_max_age: u64,
    /// Headers of answers.
    pub headers: ManagementHeaders,
    /// Whether an uploaded file of definitions must be named `*.json`.
    pub definitions_require_json_extension: bool,
    /// Whether names and passwords are refused.
    pub disable_basic_auth: bool,
    /// How long a login by a cookie lasts.
    pub login_session_timeout: Duration,
    /// How the console logs in by OAuth 2, for each resource server that users may choose; empty: it does not.
    pub oauth: Vec<ManagementOAuth>,
    /// Whether listings leave out statistics.
    pub disable_stats: bool,
    /// Whether they then still have the counts of queues' messages.
    pub enable_queue_totals: bool,
    /// Whether operator policies cannot be changed.
    pub operator_policy_changes_disabled: bool,
    /// Whether the description of the API needs a login.
    pub require_auth_for_api_reference: bool,
    /// Whether the short list of queues needs a login.
    pub queue_info_require_auth: bool,
}

/// How the console logs in by OAuth 2. Fields are named as their keys are.
#[derive(Clone, PartialEq, Eq)]
pub struct ManagementOAuth {
    /// The resource server that tokens are to be for.
    pub id: String,
    /// What users choose it by.
    pub label: String,
    /// The broker's id at the provider; None where users only begin there.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// The provider.
    pub provider_url: String,
    /// Where it describes itself.
    pub metadata_url: String,
    /// How it is trusted: as where its keys are from, if tokens are taken.
    pub provider: Option<OAuth2Provider>,
    /// The scopes that are asked for.
    pub scopes: String,
    /// Whether names and passwords are refused besides.
    pub disable_basic_auth: bool,
    /// Whether users begin at the provider.
    pub is_idp_initiated: bool,
    /// Further parameters of the request for a login.
    pub authorization_endpoint_params: Vec<(String, String)>,
    /// Further parameters of the request for a token.
    pub token_endpoint_params: Vec<(String, String)>,
}

impl fmt::Debug for ManagementOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the secret, nor parameters, which may be some.
        f.debug_struct("ManagementOAuth").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// Headers that a browser heeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagementHeaders {
    /// `content-security-policy`.
    pub csp: Option<String>,
    /// `strict-transport-security`.
    pub hsts: Option<String>,
    /// `x-content-type-options`.
    pub content_type_options: Option<String>,
    /// `x-xss-protection`.
    pub xss_protection: Option<String>,
    /// `x-frame-options`.
    pub frame_options: Option<String>,
    /// `referrer-policy`.
    pub referrer_policy: Option<String>,
    /// Whether `allow` is left out.
    pub hide_allow: bool,
}

pub(super) fn read(values: &Values) -> ManagementOptions {
    let header = |key: &Key<String>| values.find(key).filter(|text| !text.is_empty());
    ManagementOptions {
        is_enabled: values.get(&keys::management::ENABLED),
        path_prefix: path_prefix(&values.find(&keys::management::PATH_PREFIX).unwrap_or_default()),
        http_max_body_size: values.get(&keys::management::HTTP_MAX_BODY_SIZE),
        cors_allow_origins: cors_origins(values),
        cors_max_age: values.get(&keys::management::CORS_MAX_AGE),
        headers: ManagementHeaders {
            csp: header(&keys::management::CSP_POLICY),
            hsts: header(&keys::management::HSTS_POLICY),
            content_type_options: header(&keys::management::HEADERS_CONTENT_TYPE_OPTIONS),
            xss_protection: header(&keys::management::HEADERS_XSS_PROTECTION),
            frame_options: header(&keys::management::HEADERS_FRAME_OPTIONS),
            referrer_policy: header(&keys::management::HEADERS_REFERRER_POLICY),
            hide_allow: values.get(&keys::management::HTTP_HIDE_ALLOW_HEADER),
        },
        definitions_require_json_extension: values.get(&keys::management::DEFINITIONS_REQUIRE_JSON_EXTENSION),
        disable_basic_auth: values.get(&keys::management::DISABLE_BASIC_AUTH),
        login_session_timeout: Duration::from_secs(60 * values.get(&keys::management::LOGIN_SESSION_TIMEOUT)),
        oauth: oauth(values).logins,
        disable_stats: values.get(&keys::management::DISABLE_STATS),
        enable_queue_totals: values.get(&keys::management::ENABLE_QUEUE_TOTALS),
        operator_policy_changes_disabled: values.get(&keys::management::OPERATOR_POLICY_CHANGES_DISABLED),
        require_auth_for_api_reference: values.get(&keys::management::REQUIRE_AUTH_FOR_API_REFERENCE),
        queue_info_require_auth: values.get(&keys::management::QUEUE_INFO_REQUIRE_AUTH),
    }
}

/// How the console logs in by OAuth 2: a login for each resource server that has all it needs, and what others lack.
#[derive(Default)]
struct OAuthLogins {
    logins: Vec<ManagementOAuth>,
    /// What is missing, by the name of the resource server; None: by the keys that are for all.
    missing: Vec<(Option<String>, String)>,
}

fn oauth(values: &Values) -> OAuthLogins {
    let mut all = OAuthLogins::default();
    if !values.get(&keys::management::OAUTH_ENABLED) {
        return all;
    }
    let mut names: Vec<Option<String>> = resource_servers(values).into_iter().map(Some).collect();
    // As in RabbitMQ, the default resource server is one of them, where the keys that are for all are enough for a login.
    if names.is_empty() || has_default_server(values) {
        names.push(None);
    }
    for name in names {
        match login_for(values, name.as_deref()) {
            Ok(login) if all.logins.iter().any(|other| other.id == login.id) => {}
            Ok(login) => all.logins.push(login),
            Err(missing) => all.missing.push((name, missing)),
        }
    }
    all
}

fn has_default_server(values: &Values) -> bool {
    let is_set = |key: &Key<String>| values.find(key).is_some_and(|text| !text.is_empty());
    is_set(&keys::oauth2::RESOURCE_SERVER_ID) && is_set(&keys::management::OAUTH_CLIENT_ID)
}

fn login_for(values: &Values, name: Option<&str>) -> Result<ManagementOAuth, String> {
    let own = |key: &str| values.text(&format!("management.oauth_resource_servers.{}.{key}", escaped(name?)));
    let text = |key: &str| {
        let text = own(key).or_else(|| values.text(&format!("management.{key}")));
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let family = |key: &str| -> Vec<(String, String)> {
        let below = |prefix: &[&str]| -> Vec<(String, String)> {
            let members = values.below(prefix);
            members.filter_map(|(rest, text, _)| Some((rest.first()?.clone(), text.to_owned()))).collect()
        };
        let of_server = name.map(|name| below(&["management", RESOURCE_SERVERS, name, key]));
        of_server.filter(|own| !own.is_empty()).unwrap_or_else(|| below(&["management", key]))
    };
    let default_id = || values.text(keys::oauth2::RESOURCE_SERVER_ID.name()).unwrap_or_default();
    let id = own("id").or(name).unwrap_or_else(default_id).to_owned();
    let known = oauth2::read(values);
    let of_id = known.iter().find(|server| server.id == id).or_else(|| known.first());
    let provider = of_id.map(|server| server.provider.clone());
    let provider_url = text("oauth_provider_url").or_else(|| provider.as_ref()?.issuer.clone());
    let provider_url = provider_url.ok_or("it needs 'management.oauth_provider_url' or 'auth_oauth2.issuer'")?;
    let is_idp_initiated = text("oauth_initiated_logon_type").as_deref() == Some("idp_initiated");
    let client_id = text("oauth_client_id");
    if client_id.is_none() && !is_idp_initiated {
        return Err("it needs 'management.oauth_client_id'".to_owned());
    }
    let described = || format!("{}/.well-known/openid-configuration", provider_url.trim_end_matches('/'));
    Ok(ManagementOAuth {
        label: own("label").map_or_else(|| id.clone(), str::to_owned),
        id,
        client_id,
        client_secret: text("oauth_client_secret"),
        metadata_url: text("oauth_metadata_url").unwrap_or_else(described),
        provider_url,
        provider,
        scopes: text("oauth_scopes").unwrap_or_default(),
        disable_basic_auth: values.get(&keys::management::OAUTH_DISABLE_BASIC_AUTH),
        is_idp_initiated,
        authorization_endpoint_params: family("oauth_authorization_endpoint_params"),
        token_endpoint_params: family("oauth_token_endpoint_params"),
    })
}

const RESOURCE_SERVERS: &str = "oauth_resource_servers";

/// The names of the resource servers that the console could log in for, in their order.
fn resource_servers(values: &Values) -> Vec<String> {
    let below: Vec<_> = values.below(&["management", RESOURCE_SERVERS]).collect();
    let mut names: Vec<String> =
        below.iter().filter(|(rest, ..)| rest.len() > 1).map(|(rest, ..)| rest[0].clone()).collect();
    names.sort_by_key(|name| (name.parse::<u64>().unwrap_or(u64::MAX), name.clone()));
    names.dedup();
    let is_disabled = |name: &String| {
        below
            .iter()
            .any(|(rest, text, _)| rest.len() == 2 && rest[0] == *name && rest[1] == "disabled" && *text == "true")
    };
    names.retain(|name| !is_disabled(name));
    names
}

/// A word of a key.
fn escaped(word: &str) -> String {
    word.replace('.', "\\.")
}

/// What of the console's logins has no effect.
pub(super) fn check(values: &Values) -> Vec<Warning> {
    let OAuthLogins { logins, mut missing } = oauth(values);
    // Without any login one reason is enough: as in RabbitMQ, the form for names and passwords is shown then.
    missing.truncate(if logins.is_empty() { 1 } else { usize::MAX });
    let warning = |(name, missing): (Option<String>, String)| match name {
        Some(name) if !logins.is_empty() => {
            let origin = values.below(&["management", RESOURCE_SERVERS, &name]).next();
            let origin = origin.map_or(Origin::Default, |(.., origin)| origin.clone());
            let text = format!("'management.{RESOURCE_SERVERS}.{name}' has no effect: {missing}");
            Warning(Remark { origin, text })
        }
        _ => {
            let text = format!("'management.oauth_enabled' has no effect: {missing}");
            Warning(Remark { origin: values.origin(keys::management::OAUTH_ENABLED.name()), text })
        }
    };
    missing.into_iter().map(warning).collect()
}

pub(super) fn path_prefix(text: &str) -> String {
    match text.trim_matches('/') {
        "" => String::new(),
        prefix => format!("/{prefix}"),
    }
}

fn cors_origins(values: &Values) -> Vec<String> {
    if values.find(&keys::management::CORS_ALLOW_ORIGINS).is_some() {
        return Vec::new();
    }
    values.family(&["management", "cors", "allow_origins"]).map(|(_, origin)| origin.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Source};

    fn parsed(text: &str) -> super::ManagementOptions {
        let source = Source { name: "rabbitmq.conf".to_owned(), text: text.to_owned() };
        Config::parse(&[source], &[], &[]).unwrap().0.management
    }

    #[test]
    fn a_prefix_has_a_slash_in_front_and_none_at_the_end() {
        for (text, prefix) in [("/a/b/", "/a/b"), ("a", "/a"), ("/", "")] {
            assert_eq!(parsed(&format!("management.path_prefix = {text}")).path_prefix, prefix);
        }
        assert_eq!(parsed("").path_prefix, "");
    }

    #[test]
    fn the_console_logs_in_for_each_resource_server() {
        let base = "auth_backends.1 = oauth2\nauth_oauth2.resource_server_id = r\nauth_oauth2.issuer = https://i\n\
                    management.oauth_enabled = true\n";
        let servers = "management.oauth_resource_servers.2.id = b\nmanagement.oauth_resource_servers.2.oauth_client_id = second\n\
                       management.oauth_resource_servers.1.id = a\nmanagement.oauth_resource_servers.1.oauth_client_id = first\n\
                       management.oauth_resource_servers.1.label = First\nmanagement.oauth_resource_servers.3.id = d\n\
                       management.oauth_resource_servers.0.id = c\nmanagement.oauth_resource_servers.0.disabled = true\n";
        let all = parsed(&format!("{base}{servers}")).oauth;
        let seen: Vec<_> = all.iter().map(|one| (&*one.id, &*one.label, one.client_id.as_deref())).collect();
        assert_eq!(seen, [("a", "First", Some("first")), ("b", "b", Some("second"))]);
        let of_all = parsed(&format!("{base}management.oauth_client_id = all\n{servers}")).oauth;
        let ids: Vec<_> = of_all.iter().map(|one| &*one.id).collect();
        assert_eq!(ids, ["a", "b", "d", "r"]);
        let oauth = &all[0];
        assert_eq!((oauth.client_id.as_deref(), oauth.provider_url.as_str()), (Some("first"), "https://i"));
        assert_eq!(oauth.metadata_url, "https://i/.well-known/openid-configuration");
        assert_eq!(oauth.scopes, "openid profile");
        let idp = parsed(&format!("{base}management.oauth_initiated_logon_type = idp_initiated\n")).oauth.remove(0);
        assert_eq!((idp.client_id, idp.is_idp_initiated), (None, true));
    }

    /// As in RabbitMQ, which then shows its form for names and passwords.
    #[test]
    fn logins_that_lack_something_are_warned_of() {
        let text = "management.oauth_enabled = true\nmanagement.oauth_provider_url = https://i\n";
        let source = Source { name: "f".to_owned(), text: text.to_owned() };
        let (config, warnings) = Config::parse(&[source], &[], &[]).unwrap();
        assert!(config.management.oauth.is_empty());
        assert_eq!(
            warnings[0].to_string(),
            "f:1: 'management.oauth_enabled' has no effect: it needs 'management.oauth_client_id'"
        );
    }

    #[test]
    fn no_other_origin_may_ask_unless_named() {
        assert!(parsed("").cors_allow_origins.is_empty());
        let two = "management.cors.allow_origins.1 = https://a.example\nmanagement.cors.allow_origins.2 = *";
        assert_eq!(parsed(two).cors_allow_origins, ["https://a.example", "*"]);
        assert!(parsed(&format!("{two}\nmanagement.cors.allow_origins = none")).cors_allow_origins.is_empty());
    }
}
