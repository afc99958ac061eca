//! Who may log in, how, and what the first start creates.

use super::{Key, Section, Type, effective, no_effect, refused};
use crate::config::http_url::HTTP_URL;

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

const KEYS: &[Key] = &[
    effective("default_user", Type::UserName, "guest", "The user that the first start creates."),
    effective("default_pass", Type::Secret, "guest", "The password of this user."),
    effective("default_vhost", Type::VhostName, "/", "The vhost that the first start creates."),
    effective("default_permissions.configure", Type::Pattern, ".*", "The objects that this user may declare and delete in this vhost."),
    effective("default_permissions.write", Type::Pattern, ".*", "The objects that this user may publish to."),
    effective("default_permissions.read", Type::Pattern, ".*", "The objects that this user may consume from."),
    effective("default_user_tags.$tag", Type::Bool, "", "The tags of this user: those that are `true`.")
        .family(&[("default_user_tags.administrator", "true")]),
    effective("loopback_users", Type::OneOf(&["none"]), "", "`none`: every user may log in from any address."),
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
    effective("anonymous_login_user", Type::UserName, "guest", "The user of clients that log in by ANONYMOUS. `none` refuses such logins."),
    effective("anonymous_login_pass", Type::Secret, "guest", "The password of this user."),
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
    effective("auth_http.http_method", METHODS, "get", "The method of requests to the HTTP service."),
    effective(
        "auth_http.user_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/user",
        "The URL that checks logins. It answers `allow` with the user's tags, or `deny`.",
    ),
    effective(
        "auth_http.vhost_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/vhost",
        "The URL that checks access to vhosts.",
    ),
    effective(
        "auth_http.resource_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/resource",
        "The URL that checks permissions for exchanges and queues.",
    ),
    effective(
        "auth_http.topic_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/topic",
        "The URL that checks permissions for routing keys.",
    ),
    effective("auth_http.request_timeout", Type::DurationMs(1, 600_000), "15000", "How long an answer of the HTTP service may take."),
    effective(
        "auth_http.ssl_options.cacertfile",
        Type::Text,
        "",
        "File of the authorities that may have signed the service's certificate. Unset: the system's.",
    ),
    effective("auth_http.ssl_options.verify", VERIFY, "verify_peer", "Whether the service's certificate is checked."),
    no_effect(
        "auth_http.{connection_timeout,authorization_failure_disclosure}",
        Type::Text,
        "request_timeout includes the connection, and clients never receive the reason",
    ),
    effective(
        "auth_cache.cached_backend",
        BACKEND,
        "internal",
        "The back end whose answers the back end `cache` stores: `http` or `oauth2`.",
    ),
    effective("auth_cache.cache_ttl", Type::DurationMs(1, 86_400_000), "15000", "How long an answer is stored."),
    no_effect("auth_cache.**", Type::Text, "there is one kind of cache"),
    refused("{auth_ldap,auth_amqp}.**", Type::Text, NO_LDAP),
    effective(
        "credential_validator.validation_backend",
        VALIDATORS,
        "rabbit_credential_validator_accept_everything",
        "Which passwords may be set: all, those with a minimum length, or those that match a regular expression.",
    ),
    effective(
        "credential_validator.min_length",
        Type::Integer(0, 4096),
        "8",
        "The minimum length of a password in bytes, with `rabbit_credential_validator_min_password_length`.",
    ),
    effective(
        "credential_validator.regexp", Type::Pattern, "",
        "The regular expression that a password must match, with `rabbit_credential_validator_password_regexp`.",
    ),
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
