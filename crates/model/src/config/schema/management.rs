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
        "Whether `load_definitions` leaves out what this broker cannot do, with a line in the log for each, rather than refuse the file.",
    ),
    effective("warren.management.enabled", Type::Bool, "true", "Whether the HTTP API is served."),
    effective(
        "management.path_prefix",
        Type::Text,
        "",
        "What comes before every path of the HTTP API, such as `/rabbit`.",
    ),
    effective(
        "management.http.max_body_size",
        Type::Size(1, HTTP_BODY_LEN_MAX),
        "10000000",
        "Largest body of an HTTP request, in bytes: that of an upload of definitions, for one.",
    ),
    effective(
        "management.http.hide_allow_header",
        Type::Bool,
        "false",
        "Whether answers leave out the header `allow`.",
    ),
    effective(
        "management.cors.allow_origins",
        Type::OneOf(&["none"]),
        "",
        "`none`: no page of another origin may ask.",
    ),
    effective(
        "management.cors.allow_origins.$name",
        Type::Text,
        "",
        "Another origin whose pages may use the API, such as `https://example.org`, or `*` for every one.",
    ),
    effective(
        "management.cors.max_age",
        Type::Integer(0, 31_536_000),
        "1800",
        "Seconds for which a browser may remember that an origin may ask.",
    ),
    effective(
        "management.csp.policy",
        Type::Header,
        "script-src 'self'; object-src 'self'",
        "The header `content-security-policy` of answers.",
    ),
    effective("management.hsts.policy", Type::Header, "", "Their header `strict-transport-security`."),
    effective("management.headers.content_type_options", Type::Header, "", "Their header `x-content-type-options`."),
    effective("management.headers.xss_protection", Type::Header, "", "Their header `x-xss-protection`."),
    effective("management.headers.frame_options", Type::Header, "", "Their header `x-frame-options`."),
    effective("management.headers.referrer_policy", Type::Header, "", "Their header `referrer-policy`."),
    effective(
        "management.definitions.require_json_extension",
        Type::Bool,
        "false",
        "Whether a file of definitions that a form uploads must be named `*.json`.",
    ),
    effective(
        "management.disable_basic_auth",
        Type::Bool,
        "false",
        "Whether names and passwords are refused over HTTP.",
    ),
    effective(
        "management.disable_stats",
        Type::Bool,
        "false",
        "Whether listings leave out statistics, whatever a request says.",
    ),
    effective(
        "management.enable_queue_totals",
        Type::Bool,
        "false",
        "Whether listings without statistics still have the counts of each queue's messages.",
    ),
    effective(
        "management.restrictions.operator_policy_changes.disabled",
        Type::Bool,
        "false",
        "Whether operator policies cannot be changed over HTTP.",
    ),
    effective(
        "management.require_auth_for_api_reference",
        Type::Bool,
        "false",
        "Whether the description of the API can be read only by who logs in.",
    ),
    effective(
        "warren.queue_info.require_auth",
        Type::Bool,
        "true",
        "Whether `/list_queues` asks for a login. Without it everybody is told of the queues of the vhost `/`.",
    ),
    no_effect(
        "management.restrictions.quorum_queue_replica_operations.disabled",
        Type::Bool,
        "one node has no replicas to add or to delete",
    ),
    no_effect("management.db_cache_multiplier", Type::COUNT, "listings are made from counters, so nothing is cached"),
    no_effect("management.delegate_count", Type::COUNT, "one thread answers all requests"),
    effective(
        "management.login_session_timeout",
        Type::Integer(1, 525_600),
        "480",
        "Minutes that a login to `/api/session` lasts, which browsers keep as a cookie. See [http-api.md](http-api.md#sessions).",
    ),
    no_effect("management.credential_encryption_secret", Type::Secret, "no credentials are kept in a browser"),
    not_built("management.http_log_dir", Type::Text, "requests are not logged one by one"),
    effective(
        "management.rates_mode",
        Type::OneOf(&["none", "basic", "detailed"]),
        "basic",
        "`none`: there are neither rates nor histories. The other two are the same here.",
    ),
    effective(
        "management.sample_retention_policies.{global,basic}.$age",
        Type::Integer(0, 86_400),
        "",
        "Seconds between samples that are kept for so long: `minute`, `hour`, `day` or a number of seconds; 5,000 samples at most. 0: none \
         are. `global` is for the node and for vhosts, `basic` for other objects that are looked at. Unset: 5 s for ten minutes in \
         each; for `basic` 60 s for an hour besides; for `global` 60 s for an hour, 10 min for eight hours and half an hour for a day.",
    ),
    no_effect(
        "management.sample_retention_policies.detailed.$age",
        Type::Integer(0, 86_400),
        "no history is kept of the ways between channels, exchanges and queues",
    ),
    effective(
        "collect_statistics_interval",
        Type::DurationMs(100, 3_600_000),
        "5000",
        "How often is looked at what has changed; rates are those between the last two looks.",
    ),
    effective(
        "warren.statistics.watched_queues",
        Type::Pattern,
        "",
        "Queues with such names are watched: it is counted for each of them how long its messages are in each stage of their way, see \
        [latency](latency.md). At most 64 queues are watched. Unset: those that operators name.",
    ),
    effective(
        "warren.statistics.histograms",
        Type::Bool,
        "true",
        "Whether each queue counts how large its messages are and how long they wait.",
    ),
    not_built("management.{tcp,ssl}.compress", Type::Text, "answers are not compressed"),
    not_built("management.listener.server.compress", Type::Text, "answers are not compressed"),
    no_effect(
        "management.{tcp,ssl}.shutdown_timeout",
        Type::ANY_DURATION,
        "a stop waits for requests for five seconds",
    ),
    no_effect(
        "management.listener.server.shutdown_timeout",
        Type::ANY_DURATION,
        "a stop waits for requests for five seconds",
    ),
    effective(
        "management.oauth_enabled",
        Type::Bool,
        "false",
        "Whether users of the console log in by OAuth 2. See [http-api.md](http-api.md#login-by-oauth-2).",
    ),
    effective("management.oauth_client_id", Type::Text, "", "The id that the provider knows the broker by."),
    effective("management.oauth_client_secret", Type::Secret, "", "Its secret; unset: the broker is a public client."),
    effective(
        "management.oauth_provider_url",
        Type::Own(&HTTP_URL),
        "",
        "The provider. Unset: `auth_oauth2.issuer`, or that of the default provider.",
    ),
    effective(
        "management.oauth_metadata_url",
        Type::Own(&HTTP_URL),
        "",
        "Where the provider describes itself. Unset: `.well-known/openid-configuration` below its URL.",
    ),
    effective("management.oauth_scopes", Type::Text, "openid profile", "The scopes that are asked for."),
    effective(
        "management.oauth_disable_basic_auth",
        Type::Bool,
        "true",
        "Whether names and passwords are refused by the HTTP API where users log in by OAuth 2.",
    ),
    effective(
        "management.oauth_initiated_logon_type",
        Type::OneOf(&["sp_initiated", "idp_initiated"]),
        "sp_initiated",
        "`idp_initiated`: the console only leads to the provider's URL.",
    ),
    no_effect("management.oauth_response_type", Type::Text, "the broker always asks for a code"),
    effective(
        "management.oauth_authorization_endpoint_params.$name",
        Type::Secret,
        "",
        "Further parameters of the request for a login, such as `resource`.",
    ),
    effective(
        "management.oauth_token_endpoint_params.$name",
        Type::Secret,
        "",
        "Further parameters of requests for tokens.",
    ),
    effective(
        "management.oauth_resource_servers.$name.id",
        Type::Text,
        "",
        "A resource server that the console logs in for, `$name` if that is not set. What it does not say is as above. The first that is \
         not disabled counts.",
    ),
    effective(
        "management.oauth_resource_servers.$name.disabled",
        Type::Bool,
        "",
        "Whether the console passes it over.",
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
    no_effect(
        "management.oauth_resource_servers.$name.{label,oauth_response_type}",
        Type::Text,
        "the console has no choice of resource servers, and always asks for a code",
    ),
    not_built("management_agent.**", Type::Text, "there is one node, which has no agents"),
    no_effect("collect_statistics", Type::OneOf(&["none", "coarse", "fine"]), "counters are always kept"),
];
