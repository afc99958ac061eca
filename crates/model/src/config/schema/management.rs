//! The management plugin's keys.

use super::super::http_url::HTTP_URL;
use super::super::management::HTTP_BODY_LEN_MAX;
use super::{Key, Section, Type, alias, effective, no_effect, not_built};

pub(super) const SECTION: Section = Section { title: "Management", keys: KEYS };

const KEYS: &[Key] = &[
    alias("management.load_definitions", "load_definitions", Type::Text),
    effective(
        "management.load_definitions_skip_unsupported",
        Type::Bool,
        "false",
        "Whether `load_definitions` leaves out what this broker does not support, and logs a warning for each of these. Otherwise it \
         refuses the file.",
    ),
    effective("warren.management.enabled", Type::Bool, "true", "Whether the HTTP API is served."),
    effective("management.path_prefix", Type::Text, "", "The prefix of all paths of the HTTP API, such as `/rabbit`."),
    effective(
        "management.http.max_body_size",
        Type::Size(1, HTTP_BODY_LEN_MAX),
        "10000000",
        "The maximum size of the body of an HTTP request in bytes, for example of an upload of definitions.",
    ),
    effective(
        "management.http.hide_allow_header",
        Type::Bool,
        "false",
        "Whether responses leave out the header `allow`.",
    ),
    effective(
        "management.cors.allow_origins",
        Type::OneOf(&["none"]),
        "",
        "`none`: no page of another origin may use the API.",
    ),
    effective(
        "management.cors.allow_origins.$name",
        Type::Text,
        "",
        "Another origin whose pages may use the API, such as `https://example.org`, or `*` for all.",
    ),
    effective(
        "management.cors.max_age",
        Type::Integer(0, 31_536_000),
        "1800",
        "How many seconds a browser may cache the permission of an origin.",
    ),
    effective(
        "management.csp.policy",
        Type::Header,
        "script-src 'self'; object-src 'self'",
        "The header `content-security-policy` of responses.",
    ),
    effective("management.hsts.policy", Type::Header, "", "The header `strict-transport-security` of responses."),
    effective(
        "management.headers.content_type_options",
        Type::Header,
        "",
        "The header `x-content-type-options` of responses.",
    ),
    effective("management.headers.xss_protection", Type::Header, "", "The header `x-xss-protection` of responses."),
    effective("management.headers.frame_options", Type::Header, "", "The header `x-frame-options` of responses."),
    effective("management.headers.referrer_policy", Type::Header, "", "The header `referrer-policy` of responses."),
    effective(
        "management.definitions.require_json_extension",
        Type::Bool,
        "false",
        "Whether the name of an uploaded file of definitions must end in `.json`.",
    ),
    effective(
        "management.disable_basic_auth",
        Type::Bool,
        "false",
        "Whether the HTTP API refuses logins with name and password.",
    ),
    effective(
        "management.disable_stats",
        Type::Bool,
        "false",
        "Whether lists leave out statistics, even if a request asks for them.",
    ),
    effective(
        "management.enable_queue_totals",
        Type::Bool,
        "false",
        "Whether lists without statistics include the message counts of each queue.",
    ),
    effective(
        "management.restrictions.operator_policy_changes.disabled",
        Type::Bool,
        "false",
        "Whether the HTTP API refuses changes of operator policies.",
    ),
    effective(
        "management.require_auth_for_api_reference",
        Type::Bool,
        "false",
        "Whether reading the description of the API needs a login.",
    ),
    effective(
        "warren.queue_info.require_auth",
        Type::Bool,
        "true",
        "Whether `/list_queues` needs a login. Without a login, it lists the queues of the vhost `/` to every client.",
    ),
    no_effect(
        "management.restrictions.quorum_queue_replica_operations.disabled",
        Type::Bool,
        "all nodes store all queues, so no replicas can be added or deleted",
    ),
    no_effect("management.db_cache_multiplier", Type::COUNT, "lists are made from counters, without a cache"),
    no_effect("management.delegate_count", Type::COUNT, "requests are not delegated to other processes"),
    effective(
        "management.login_session_timeout",
        Type::Integer(1, 525_600),
        "480",
        "How many minutes a login to `/api/session` is valid. Browsers store it as a cookie. See [http-api.md](http-api.md#sessions).",
    ),
    no_effect("management.credential_encryption_secret", Type::Secret, "no credentials are stored in browsers"),
    not_built("management.http_log_dir", Type::Text, "single requests are not logged"),
    effective(
        "management.rates_mode",
        Type::OneOf(&["none", "basic", "detailed"]),
        "basic",
        "`none`: no rates and no histories. The other two values are the same in Warren.",
    ),
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
    effective(
        "collect_statistics_interval",
        Type::DurationMs(100, 3_600_000),
        "5000",
        "How often statistics are collected. Rates are those between the last two samples.",
    ),
    effective(
        "warren.statistics.watched_queues",
        Type::Pattern,
        "",
        "Queues whose names match are watched: for each of them, the broker measures how long its messages spend in each stage. See \
         [latency](latency.md). At most 64 queues are watched. Unset: only queues that operators choose.",
    ),
    effective(
        "warren.statistics.histograms",
        Type::Bool,
        "true",
        "Whether each queue records how large its messages are and how long they wait.",
    ),
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
    effective(
        "management.oauth_enabled",
        Type::Bool,
        "false",
        "Whether users of the console log in with OAuth 2. See [http-api.md](http-api.md#login-by-oauth-2).",
    ),
    effective("management.oauth_client_id", Type::Text, "", "The client id of the broker at the provider."),
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
    effective(
        "management.oauth_disable_basic_auth",
        Type::Bool,
        "true",
        "Whether the HTTP API refuses logins with name and password if users log in with OAuth 2.",
    ),
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
