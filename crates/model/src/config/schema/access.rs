//! Which users may log in, how, and what the first start creates.

use std::time::Duration;

use super::{Key, Row, Section, Type, effective, no_effect, refused};
use crate::config::http_url::HTTP_URL;
use crate::name::{UserName, VhostName};
use crate::pattern::Pattern;

pub(super) const SECTION: Section = Section { title: "Users and access", keys: KEYS };

const NO_LDAP: &str = "this back end is not supported";
const BACKEND: Type = Type::OneOf(&[
    "internal",
    "http",
    "oauth2",
    "cache",
    "oauth",
    "uaa",
    "rabbit_auth_backend_internal",
    "rabbit_auth_backend_http",
    "rabbit_auth_backend_oauth2",
    "rabbit_auth_backend_cache",
]);
const METHODS: Type = Type::OneOf(&["get", "post"]);
const VERIFY: Type = Type::OneOf(&["verify_peer", "verify_none"]);
const VALIDATORS: Type = Type::OneOf(&[
    "rabbit_credential_validator_accept_everything",
    "rabbit_credential_validator_min_password_length",
    "rabbit_credential_validator_password_regexp",
]);

pub(crate) const DEFAULT_USER: Key<UserName> =
    Key::user_name("default_user", "guest", "The user that the first start creates.");
pub(crate) const DEFAULT_PASS: Key<String> =
    Key::text("default_pass", Type::Secret, "guest", "The password of this user.");
pub(crate) const DEFAULT_VHOST: Key<VhostName> =
    Key::vhost_name("default_vhost", "/", "The vhost that the first start creates.");
pub(crate) const DEFAULT_PERMISSIONS_CONFIGURE: Key<Pattern> = Key::pattern(
    "default_permissions.configure",
    ".*",
    "The objects that this user may declare and delete in this vhost.",
);
pub(crate) const DEFAULT_PERMISSIONS_WRITE: Key<Pattern> =
    Key::pattern("default_permissions.write", ".*", "The objects that this user may publish to.");
pub(crate) const DEFAULT_PERMISSIONS_READ: Key<Pattern> =
    Key::pattern("default_permissions.read", ".*", "The objects that this user may consume from.");
pub(crate) const LOOPBACK_USERS: Key<String> =
    Key::text("loopback_users", Type::OneOf(&["none"]), "", "`none`: every user may log in from any address.");
pub(crate) const ANONYMOUS_LOGIN_USER: Key<UserName> = Key::user_name(
    "anonymous_login_user",
    "guest",
    "The user of clients that log in by ANONYMOUS. `none` refuses such logins.",
);
pub(crate) const ANONYMOUS_LOGIN_PASS: Key<String> =
    Key::text("anonymous_login_pass", Type::Secret, "guest", "The password of this user.");
pub(crate) const AUTH_HTTP_HTTP_METHOD: Key<String> =
    Key::text("auth_http.http_method", METHODS, "get", "The method of requests to the HTTP service.");
pub(crate) const AUTH_HTTP_USER_PATH: Key<String> = Key::text(
    "auth_http.user_path",
    Type::Own(&HTTP_URL),
    "http://localhost:8000/auth/user",
    "The URL that checks logins. It answers `allow` with the user's tags, or `deny`.",
);
pub(crate) const AUTH_HTTP_VHOST_PATH: Key<String> = Key::text(
    "auth_http.vhost_path",
    Type::Own(&HTTP_URL),
    "http://localhost:8000/auth/vhost",
    "The URL that checks access to vhosts.",
);
pub(crate) const AUTH_HTTP_RESOURCE_PATH: Key<String> = Key::text(
    "auth_http.resource_path",
    Type::Own(&HTTP_URL),
    "http://localhost:8000/auth/resource",
    "The URL that checks permissions for exchanges and queues.",
);
pub(crate) const AUTH_HTTP_TOPIC_PATH: Key<String> = Key::text(
    "auth_http.topic_path",
    Type::Own(&HTTP_URL),
    "http://localhost:8000/auth/topic",
    "The URL that checks permissions for routing keys.",
);
pub(crate) const AUTH_HTTP_REQUEST_TIMEOUT: Key<Duration> = Key::duration(
    "auth_http.request_timeout",
    Type::DurationMs(1, 600_000),
    "15000",
    "How long an answer of the HTTP service may take.",
);
pub(crate) const AUTH_HTTP_SSL_OPTIONS_CACERTFILE: Key<String> = Key::text(
    "auth_http.ssl_options.cacertfile",
    Type::Text,
    "",
    "File of the authorities that may have signed the service's certificate. Unset: the system's.",
);
pub(crate) const AUTH_HTTP_SSL_OPTIONS_VERIFY: Key<String> =
    Key::text("auth_http.ssl_options.verify", VERIFY, "verify_peer", "Whether the service's certificate is checked.");
pub(crate) const AUTH_CACHE_CACHED_BACKEND: Key<String> = Key::text(
    "auth_cache.cached_backend",
    BACKEND,
    "internal",
    "The back end whose answers the back end `cache` stores: `http` or `oauth2`.",
);
pub(crate) const AUTH_CACHE_CACHE_TTL: Key<Duration> =
    Key::duration("auth_cache.cache_ttl", Type::DurationMs(1, 86_400_000), "15000", "How long an answer is stored.");
pub(crate) const CREDENTIAL_VALIDATOR_BACKEND: Key<String> = Key::text(
    "credential_validator.validation_backend",
    VALIDATORS,
    "rabbit_credential_validator_accept_everything",
    "Which passwords may be set: all, those with a minimum length, or those that match a regular expression.",
);
pub(crate) const CREDENTIAL_VALIDATOR_MIN_LENGTH: Key<usize> = Key::integer(
    "credential_validator.min_length",
    Type::Integer(0, 4096),
    "8",
    "The minimum length of a password in bytes, with `rabbit_credential_validator_min_password_length`.",
);
pub(crate) const CREDENTIAL_VALIDATOR_REGEXP: Key<Pattern> = Key::pattern(
    "credential_validator.regexp",
    "",
    "The regular expression that a password must match, with `rabbit_credential_validator_password_regexp`.",
);

const KEYS: &[Row] = &[
    DEFAULT_USER.row,
    DEFAULT_PASS.row,
    DEFAULT_VHOST.row,
    DEFAULT_PERMISSIONS_CONFIGURE.row,
    DEFAULT_PERMISSIONS_WRITE.row,
    DEFAULT_PERMISSIONS_READ.row,
    effective("default_user_tags.$tag", Type::Bool, "", "The tags of this user: those that are `true`.")
        .family(&[("default_user_tags.administrator", "true")]),
    LOOPBACK_USERS.row,
    effective(
        "loopback_users.$user",
        Type::Bool,
        "",
        "A user that is `true` here may log in only from the host itself. Setting one of these keys replaces the default list.",
    )
    .family(&[("loopback_users.guest", "true")]),
    effective(
        "auth_mechanisms.$name",
        Type::Text,
        "",
        "The SASL mechanisms that are offered: PLAIN, AMQPLAIN, ANONYMOUS and EXTERNAL. They are offered in the order of the names, \
         which are compared as text: `10` comes before `2`. EXTERNAL is offered over TLS only. Unknown mechanisms are ignored with a \
         warning.",
    )
    .family(&[("auth_mechanisms.1", "PLAIN"), ("auth_mechanisms.2", "AMQPLAIN"), ("auth_mechanisms.3", "ANONYMOUS")]),
    ANONYMOUS_LOGIN_USER.row,
    ANONYMOUS_LOGIN_PASS.row,
    effective(
        "auth_backends.$num",
        BACKEND,
        "",
        "The back ends that check logins, in the order of the numbers. The first that accepts a login decides. `internal` is the \
         broker's own list of users.",
    )
    .family(&[("auth_backends.1", "internal")]),
    effective(
        "auth_backends.$num.{authn,authz}",
        BACKEND,
        "",
        "The same, separately: the `authn` back end checks the login, the `authz` back end the permissions.",
    ),
    AUTH_HTTP_HTTP_METHOD.row,
    AUTH_HTTP_USER_PATH.row,
    AUTH_HTTP_VHOST_PATH.row,
    AUTH_HTTP_RESOURCE_PATH.row,
    AUTH_HTTP_TOPIC_PATH.row,
    AUTH_HTTP_REQUEST_TIMEOUT.row,
    AUTH_HTTP_SSL_OPTIONS_CACERTFILE.row,
    AUTH_HTTP_SSL_OPTIONS_VERIFY.row,
    no_effect(
        "auth_http.{connection_timeout,authorization_failure_disclosure}",
        Type::Text,
        "request_timeout includes the connection, and clients never receive the reason",
    ),
    AUTH_CACHE_CACHED_BACKEND.row,
    AUTH_CACHE_CACHE_TTL.row,
    no_effect("auth_cache.**", Type::Text, "there is one kind of cache"),
    refused("{auth_ldap,auth_amqp}.**", Type::Text, NO_LDAP),
    CREDENTIAL_VALIDATOR_BACKEND.row,
    CREDENTIAL_VALIDATOR_MIN_LENGTH.row,
    CREDENTIAL_VALIDATOR_REGEXP.row,
    refused("password_hashing_module", Type::Text, "passwords are hashed with SHA-256 only")
        .unless(&["rabbit_password_hashing_sha256"]),
    effective("default_users.$name.vhost_pattern", Type::Pattern, "", "The new vhosts that get this user. Unset: all."),
    effective(
        "default_users.$name.password",
        Type::Secret,
        "",
        "The user's password, if the user does not exist yet. Unset: the user cannot log in with a password.",
    ),
    effective("default_users.$name.tags", Type::Text, "", "The user's tags, separated by commas, if the user does not exist yet."),
    effective("default_users.$name.{configure,write,read}", Type::Pattern, "", "The user's permissions in these vhosts. Unset: all."),
    effective(
        "default_limits.vhosts.$id.pattern",
        Type::Pattern,
        "",
        "The new vhosts that get these limits. Unset: all. If several match a vhost, the first applies.",
    ),
    effective("default_limits.vhosts.$id.{max_connections,max_queues}", Type::Integer(-1, i64::MAX), "", "The limits. -1: no limit."),
];
