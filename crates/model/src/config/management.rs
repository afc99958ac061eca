//! The keys of the HTTP API, typed.

use std::fmt;
use std::time::Duration;

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
    /// How the console logs in by OAuth 2; None: it does not.
    pub oauth: Option<ManagementOAuth>,
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
    /// The broker's id at the provider.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// The provider.
    pub provider_url: Option<String>,
    /// Where it describes itself; None: where its URL says by the rules.
    pub metadata_url: Option<String>,
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
    let header = |key| values.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
    ManagementOptions {
        is_enabled: values.bool("warren.management.enabled"),
        path_prefix: path_prefix(values.text("management.path_prefix").unwrap_or_default()),
        http_max_body_size: values.required_size("management.http.max_body_size"),
        cors_allow_origins: cors_origins(values),
        cors_max_age: values.integer("management.cors.max_age"),
        headers: ManagementHeaders {
            csp: header("management.csp.policy"),
            hsts: header("management.hsts.policy"),
            content_type_options: header("management.headers.content_type_options"),
            xss_protection: header("management.headers.xss_protection"),
            frame_options: header("management.headers.frame_options"),
            referrer_policy: header("management.headers.referrer_policy"),
            hide_allow: values.bool("management.http.hide_allow_header"),
        },
        definitions_require_json_extension: values.bool("management.definitions.require_json_extension"),
        disable_basic_auth: values.bool("management.disable_basic_auth"),
        login_session_timeout: Duration::from_secs(60 * values.integer::<u64>("management.login_session_timeout")),
        oauth: values.bool("management.oauth_enabled").then(|| oauth(values)),
        disable_stats: values.bool("management.disable_stats"),
        enable_queue_totals: values.bool("management.enable_queue_totals"),
        operator_policy_changes_disabled: values.bool("management.restrictions.operator_policy_changes.disabled"),
        require_auth_for_api_reference: values.bool("management.require_auth_for_api_reference"),
        queue_info_require_auth: values.bool("warren.queue_info.require_auth"),
    }
}

fn oauth(values: &Values) -> ManagementOAuth {
    let text = |key| values.text(key).filter(|text| !text.is_empty()).map(str::to_owned);
    let family = |name| {
        let prefix = ["management", name];
        let members = values.below(&prefix);
        members.filter_map(|(rest, text, _)| Some((rest.first()?.clone(), text.to_owned()))).collect()
    };
    ManagementOAuth {
        client_id: text("management.oauth_client_id"),
        client_secret: text("management.oauth_client_secret"),
        provider_url: text("management.oauth_provider_url"),
        metadata_url: text("management.oauth_metadata_url"),
        scopes: values.required("management.oauth_scopes").to_owned(),
        disable_basic_auth: values.bool("management.oauth_disable_basic_auth"),
        is_idp_initiated: values.required("management.oauth_initiated_logon_type") == "idp_initiated",
        authorization_endpoint_params: family("oauth_authorization_endpoint_params"),
        token_endpoint_params: family("oauth_token_endpoint_params"),
    }
}

pub(super) fn path_prefix(text: &str) -> String {
    match text.trim_matches('/') {
        "" => String::new(),
        prefix => format!("/{prefix}"),
    }
}

fn cors_origins(values: &Values) -> Vec<String> {
    if values.text("management.cors.allow_origins") == Some("none") {
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
    fn no_other_origin_may_ask_unless_named() {
        assert!(parsed("").cors_allow_origins.is_empty());
        let two = "management.cors.allow_origins.1 = https://a.example\nmanagement.cors.allow_origins.2 = *";
        assert_eq!(parsed(two).cors_allow_origins, ["https://a.example", "*"]);
        assert!(parsed(&format!("{two}\nmanagement.cors.allow_origins = none")).cors_allow_origins.is_empty());
    }
}
