//! Who may log in, how, and what the first start creates.

use super::{Key, Section, Type, effective, no_effect, refused};
use crate::config::http_url::HTTP_URL;

pub(super) const SECTION: Section = Section { title: "Users and access", keys: KEYS };

const NO_LDAP: &str = "this back end is not built";
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
    effective("default_pass", Type::Secret, "guest", "Its password."),
    effective("default_vhost", Type::VhostName, "/", "The vhost that the first start creates."),
    effective("default_permissions.configure", Type::Pattern, ".*", "What that user may declare and delete in it."),
    effective("default_permissions.write", Type::Pattern, ".*", "What it may publish to."),
    effective("default_permissions.read", Type::Pattern, ".*", "What it may consume from."),
    effective("default_user_tags.$tag", Type::Bool, "", "Its tags: those set to true.")
        .family(&[("default_user_tags.administrator", "true")]),
    effective("loopback_users", Type::OneOf(&["none"]), "", "`none`: every user may log in from anywhere."),
    effective(
        "loopback_users.$user",
        Type::Bool,
        "",
        "Users set to true may log in only from the host itself. Setting any replaces the default list.",
    )
    .family(&[("loopback_users.guest", "true")]),
    effective(
        "auth_mechanisms.$name",
        Type::Text,
        "",
        "SASL mechanisms that are offered: PLAIN, AMQPLAIN, ANONYMOUS, EXTERNAL, in the order of the names, which are compared as text: \
         `10` comes before `2`. EXTERNAL is offered over TLS only. Others are passed over, with a warning.",
    )
    .family(&[("auth_mechanisms.1", "PLAIN"), ("auth_mechanisms.2", "AMQPLAIN"), ("auth_mechanisms.3", "ANONYMOUS")]),
    effective("anonymous_login_user", Type::UserName, "guest", "The user of clients that log in by ANONYMOUS; `none` refuses them."),
    effective("anonymous_login_pass", Type::Secret, "guest", "With which password."),
    effective(
        "auth_backends.$num",
        BACKEND,
        "",
        "The back ends that check logins, in the order of the numbers: the first that accepts one counts. `internal` is the broker itself.",
    )
    .family(&[("auth_backends.1", "internal")]),
    effective(
        "auth_backends.$num.{authn,authz}",
        BACKEND,
        "",
        "The same for one half: `authn` checks the login, `authz` the permissions.",
    ),
    effective("auth_http.http_method", METHODS, "get", "How the HTTP service is asked."),
    effective(
        "auth_http.user_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/user",
        "The URL that checks a login: it answers `allow` and tags, or `deny`.",
    ),
    effective(
        "auth_http.vhost_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/vhost",
        "Where it says who may be in a vhost.",
    ),
    effective(
        "auth_http.resource_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/resource",
        "Where it says who may do what with an exchange or a queue.",
    ),
    effective(
        "auth_http.topic_path",
        Type::Own(&HTTP_URL),
        "http://localhost:8000/auth/topic",
        "Where it says who may use which routing key.",
    ),
    effective("auth_http.request_timeout", Type::DurationMs(1, 600_000), "15000", "How long its answer may take."),
    effective(
        "auth_http.ssl_options.cacertfile",
        Type::Text,
        "",
        "File of the authorities that its certificate is to be from; unset: the system's.",
    ),
    effective("auth_http.ssl_options.verify", VERIFY, "verify_peer", "Whether its certificate is looked at."),
    no_effect(
        "auth_http.{connection_timeout,authorization_failure_disclosure}",
        Type::Text,
        "request_timeout is for all of it; clients never learn why",
    ),
    effective(
        "auth_cache.cached_backend",
        BACKEND,
        "internal",
        "Whose answers the back end `cache` remembers: `http` or `oauth2`.",
    ),
    effective("auth_cache.cache_ttl", Type::DurationMs(1, 86_400_000), "15000", "For how long."),
    no_effect("auth_cache.**", Type::Text, "there is one kind of cache"),
    refused("{auth_ldap,auth_amqp}.**", Type::Text, NO_LDAP),
    effective(
        "credential_validator.validation_backend",
        VALIDATORS,
        "rabbit_credential_validator_accept_everything",
        "Which passwords may be set: all, those of a length, or those that match.",
    ),
    effective(
        "credential_validator.min_length",
        Type::Integer(0, 4096),
        "8",
        "Bytes that a password must have, where that is what counts.",
    ),
    effective("credential_validator.regexp", Type::Pattern, "", "What a password must match, where that is what counts."),
    refused("password_hashing_module", Type::Text, "passwords are hashed with SHA-256 only")
        .unless(&["rabbit_password_hashing_sha256"]),
    effective("default_users.$name.vhost_pattern", Type::Pattern, "", "New vhosts that get this user; unset: all."),
    effective(
        "default_users.$name.password",
        Type::Secret,
        "",
        "Its password, if there is no such user yet; unset: it cannot log in by password.",
    ),
    effective("default_users.$name.tags", Type::Text, "", "Its tags, with commas between them, if there is no such user yet."),
    effective("default_users.$name.{configure,write,read}", Type::Pattern, "", "What it may do there; unset: everything."),
    effective(
        "default_limits.vhosts.$id.pattern",
        Type::Pattern,
        "",
        "New vhosts that get these limits; unset: all. The first that are for a vhost count.",
    ),
    effective("default_limits.vhosts.$id.{max_connections,max_queues}", Type::Integer(-1, i64::MAX), "", "The limits; -1 for none."),
];
