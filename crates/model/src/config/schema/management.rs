//! The management plugin's keys.

use std::time::Duration;

use super::super::http_url::HTTP_URL;
use super::super::management::HTTP_BODY_LEN_MAX;
use super::{Key, Row, Section, Type, alias, effective, no_effect, not_built};
use crate::pattern::Pattern;

pub(super) const SECTION: Section = Section { title: "Management", keys: KEYS };

pub(crate) const LOAD_DEFINITIONS_SKIP_UNSUPPORTED: Key<bool> = Key::bool(
    "management.load_definitions_skip_unsupported",
    "false",
    "Whether `load_definitions` leaves out what this broker does not support, and logs a warning for each of these. Otherwise it \
         refuses the file.",
);
pub(crate) const ENABLED: Key<bool> = Key::bool("warren.management.enabled", "true", "Whether the HTTP API is served.");
pub(crate) const PATH_PREFIX: Key<String> =
    Key::text("management.path_prefix", Type::Text, "", "The prefix of all paths of the HTTP API, such as `/rabbit`.");
pub(crate) const HTTP_MAX_BODY_SIZE: Key<u64> = Key::size(
    "management.http.max_body_size",
    Type::Size(1, HTTP_BODY_LEN_MAX),
    "10000000",
    "The maximum size of the body of an HTTP request in bytes, for example of an upload of definitions.",
);
pub(crate) const HTTP_HIDE_ALLOW_HEADER: Key<bool> =
    Key::bool("management.http.hide_allow_header", "false", "Whether responses leave out the header `allow`.");
pub(crate) const CORS_ALLOW_ORIGINS: Key<String> = Key::text(
    "management.cors.allow_origins",
    Type::OneOf(&["none"]),
    "",
    "`none`: no page of another origin may use the API.",
);
pub(crate) const CORS_MAX_AGE: Key<u64> = Key::integer(
    "management.cors.max_age",
    Type::Integer(0, 31_536_000),
    "1800",
    "How many seconds a browser may cache the permission of an origin.",
);
pub(crate) const CSP_POLICY: Key<String> = Key::text(
    "management.csp.policy",
    Type::Header,
    "script-src 'self'; object-src 'self'",
    "The header `content-security-policy` of responses.",
);
pub(crate) const HSTS_POLICY: Key<String> =
    Key::text("management.hsts.policy", Type::Header, "", "The header `strict-transport-security` of responses.");
pub(crate) const HEADERS_CONTENT_TYPE_OPTIONS: Key<String> = Key::text(
    "management.headers.content_type_options",
    Type::Header,
    "",
    "The header `x-content-type-options` of responses.",
);
pub(crate) const HEADERS_XSS_PROTECTION: Key<String> =
    Key::text("management.headers.xss_protection", Type::Header, "", "The header `x-xss-protection` of responses.");
pub(crate) const HEADERS_FRAME_OPTIONS: Key<String> =
    Key::text("management.headers.frame_options", Type::Header, "", "The header `x-frame-options` of responses.");
pub(crate) const HEADERS_REFERRER_POLICY: Key<String> =
    Key::text("management.headers.referrer_policy", Type::Header, "", "The header `referrer-policy` of responses.");
pub(crate) const DEFINITIONS_REQUIRE_JSON_EXTENSION: Key<bool> = Key::bool(
    "management.definitions.require_json_extension",
    "false",
    "Whether the name of an uploaded file of definitions must end in `.json`.",
);
pub(crate) const DISABLE_BASIC_AUTH: Key<bool> =
    Key::bool("management.disable_basic_auth", "false", "Whether the HTTP API refuses logins with name and password.");
pub(crate) const DISABLE_STATS: Key<bool> = Key::bool(
    "management.disable_stats",
    "false",
    "Whether lists leave out statistics, even if a request asks for them.",
);
pub(crate) const ENABLE_QUEUE_TOTALS: Key<bool> = Key::bool(
    "management.enable_queue_totals",
    "false",
    "Whether lists without statistics include the message counts of each queue.",
);
pub(crate) const OPERATOR_POLICY_CHANGES_DISABLED: Key<bool> = Key::bool(
    "management.restrictions.operator_policy_changes.disabled",
    "false",
    "Whether the HTTP API refuses changes of operator policies.",
);
pub(crate) const REQUIRE_AUTH_FOR_API_REFERENCE: Key<bool> = Key::bool(
    "management.require_auth_for_api_reference",
    "false",
    "Whether reading the description of the API needs a login.",
);
pub(crate) const QUEUE_INFO_REQUIRE_AUTH: Key<bool> = Key::bool(
    "warren.queue_info.require_auth",
    "true",
    "Whether `/list_queues` needs a login. Without a login, it lists the queues of the vhost `/` to every client.",
);
pub(crate) const LOGIN_SESSION_TIMEOUT: Key<u64> = Key::integer(
    "management.login_session_timeout",
    Type::Integer(1, 525_600),
    "480",
    "How many minutes a login to `/api/session` is valid. Browsers store it as a cookie. See [http-api.md](http-api.md#sessions).",
);
pub(crate) const RATES_MODE: Key<String> = Key::text(
    "management.rates_mode",
    Type::OneOf(&["none", "basic", "detailed"]),
    "basic",
    "`none`: no rates and no histories. The other two values are the same in Warren.",
);
pub(crate) const COLLECT_STATISTICS_INTERVAL: Key<Duration> = Key::duration(
    "collect_statistics_interval",
    Type::DurationMs(100, 3_600_000),
    "5000",
    "How often statistics are collected. Rates are those between the last two samples.",
);
pub(crate) const STATISTICS_WATCHED_QUEUES: Key<Pattern> = Key::pattern(
    "warren.statistics.watched_queues",
    "",
    "Queues whose names match are watched: for each of them, the broker measures how long its messages spend in each stage. See \
         [latency](latency.md). At most 64 queues are watched. Unset: only queues that operators choose.",
);
pub(crate) const STATISTICS_HISTOGRAMS: Key<bool> = Key::bool(
    "warren.statistics.histograms",
    "true",
    "Whether each queue records how large its messages are and how long they wait.",
);
pub(crate) const OAUTH_ENABLED: Key<bool> = Key::bool(
    "management.oauth_enabled",
    "false",
    "Whether users of the console log in with OAuth 2. See [http-api.md](http-api.md#login-by-oauth-2).",
);
pub(crate) const OAUTH_CLIENT_ID: Key<String> =
    Key::text("management.oauth_client_id", Type::Text, "", "The client id of the broker at the provider.");
pub(crate) const OAUTH_DISABLE_BASIC_AUTH: Key<bool> = Key::bool(
    "management.oauth_disable_basic_auth",
    "true",
    "Whether the HTTP API refuses logins with name and password if users log in with OAuth 2.",
);

const KEYS: &[Row] = &[
    alias("management.load_definitions", "load_definitions", Type::Text),
    LOAD_DEFINITIONS_SKIP_UNSUPPORTED.row,
    ENABLED.row,
    PATH_PREFIX.row,
    HTTP_MAX_BODY_SIZE.row,
    HTTP_HIDE_ALLOW_HEADER.row,
    CORS_ALLOW_ORIGINS.row,
    effective(
        "management.cors.allow_origins.$name",
        Type::Text,
        "",
        "Another origin whose pages may use the API, such as `https://example.org`, or `*` for all.",
    ),
    CORS_MAX_AGE.row,
    CSP_POLICY.row,
    HSTS_POLICY.row,
    HEADERS_CONTENT_TYPE_OPTIONS.row,
    HEADERS_XSS_PROTECTION.row,
    HEADERS_FRAME_OPTIONS.row,
    HEADERS_REFERRER_POLICY.row,
    DEFINITIONS_REQUIRE_JSON_EXTENSION.row,
    DISABLE_BASIC_AUTH.row,
    DISABLE_STATS.row,
    ENABLE_QUEUE_TOTALS.row,
    OPERATOR_POLICY_CHANGES_DISABLED.row,
    REQUIRE_AUTH_FOR_API_REFERENCE.row,
    QUEUE_INFO_REQUIRE_AUTH.row,
    no_effect(
        "management.restrictions.quorum_queue_replica_operations.disabled",
        Type::Bool,
        "all nodes store all queues, so no replicas can be added or deleted",
    ),
    no_effect("management.db_cache_multiplier", Type::COUNT, "lists are made from counters, without a cache"),
    no_effect("management.delegate_count", Type::COUNT, "requests are not delegated to other processes"),
    LOGIN_SESSION_TIMEOUT.row,
    no_effect("management.credential_encryption_secret", Type::Secret, "no credentials are stored in browsers"),
    not_built("management.http_log_dir", Type::Text, "single requests are not logged"),
    RATES_MODE.row,
    effective(
        "management.sample_retention_policies.{global,basic}.$age",
        Type::Integer(0, 86_400),
        "",
        "The seconds between samples that are stored for this time: `minute`, `hour`, `day` or a number of seconds. At most 5,000 \
         samples. 0: none. `global` applies to the node and to vhosts, `basic` to other objects whose histories are requested. Unset: \
         both have 5 s for ten minutes; `basic` also has 60 s for an hour; `global` also has 60 s for an hour, 10 min for eight hours \
         and half an hour for a day.",
    ),
    no_effect(
        "management.sample_retention_policies.detailed.$age",
        Type::Integer(0, 86_400),
        "there are no histories for pairs of channels, exchanges and queues",
    ),
    COLLECT_STATISTICS_INTERVAL.row,
    STATISTICS_WATCHED_QUEUES.row,
    STATISTICS_HISTOGRAMS.row,
    not_built("management.{tcp,ssl}.compress", Type::Text, "responses are not compressed"),
    not_built("management.listener.server.compress", Type::Text, "responses are not compressed"),
    no_effect(
        "management.{tcp,ssl}.shutdown_timeout",
        Type::ANY_DURATION,
        "a shutdown waits five seconds for requests",
    ),
    no_effect(
        "management.listener.server.shutdown_timeout",
        Type::ANY_DURATION,
        "a shutdown waits five seconds for requests",
    ),
    OAUTH_ENABLED.row,
    OAUTH_CLIENT_ID.row,
    effective(
        "management.oauth_client_secret",
        Type::Secret,
        "",
        "The client secret. Unset: the broker is a public client.",
    ),
    effective(
        "management.oauth_provider_url",
        Type::Own(&HTTP_URL),
        "",
        "The provider's URL. Unset: `auth_oauth2.issuer`, or the issuer of the default provider.",
    ),
    effective(
        "management.oauth_metadata_url",
        Type::Own(&HTTP_URL),
        "",
        "The URL of the provider's metadata. Unset: `.well-known/openid-configuration` below the provider's URL.",
    ),
    effective("management.oauth_scopes", Type::Text, "openid profile", "The scopes that the console requests."),
    OAUTH_DISABLE_BASIC_AUTH.row,
    effective(
        "management.oauth_initiated_logon_type",
        Type::OneOf(&["sp_initiated", "idp_initiated"]),
        "sp_initiated",
        "`idp_initiated`: the console only links to the provider's URL.",
    ),
    no_effect("management.oauth_response_type", Type::Text, "the broker always requests a code"),
    effective(
        "management.oauth_authorization_endpoint_params.$name",
        Type::Secret,
        "",
        "Additional parameters of authorization requests, such as `resource`.",
    ),
    effective(
        "management.oauth_token_endpoint_params.$name",
        Type::Secret,
        "",
        "Additional parameters of token requests.",
    ),
    effective(
        "management.oauth_resource_servers.$name.id",
        Type::Text,
        "",
        "The id of a resource server that users of the console can log in to. Unset: `$name`. Keys that are not set for it are taken \
         from the keys above. Users choose among the resource servers that are not disabled.",
    ),
    effective(
        "management.oauth_resource_servers.$name.disabled",
        Type::Bool,
        "",
        "Whether the console leaves this resource server out.",
    ),
    effective(
        "management.oauth_resource_servers.$name.{oauth_client_id,oauth_scopes}",
        Type::Text,
        "",
        "As above, for this resource server.",
    ),
    effective("management.oauth_resource_servers.$name.oauth_client_secret", Type::Secret, "", "As above."),
    effective(
        "management.oauth_resource_servers.$name.{oauth_provider_url,oauth_metadata_url}",
        Type::Own(&HTTP_URL),
        "",
        "As above.",
    ),
    effective(
        "management.oauth_resource_servers.$name.oauth_initiated_logon_type",
        Type::OneOf(&["sp_initiated", "idp_initiated"]),
        "",
        "As above.",
    ),
    effective(
        "management.oauth_resource_servers.$name.{oauth_authorization_endpoint_params,oauth_token_endpoint_params}.$param",
        Type::Secret,
        "",
        "As above.",
    ),
    effective(
        "management.oauth_resource_servers.$name.label",
        Type::Text,
        "",
        "The label of this resource server in the console. Unset: its id.",
    ),
    no_effect(
        "management.oauth_resource_servers.$name.oauth_response_type",
        Type::Text,
        "the broker always requests a code",
    ),
    not_built("management_agent.**", Type::Text, "nodes report statistics without agents"),
    no_effect("collect_statistics", Type::OneOf(&["none", "coarse", "fine"]), "statistics are always counted"),
];
