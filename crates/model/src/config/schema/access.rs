//! Who may log in, how, and what the first start creates.

use super::{Key, Section, Type, effective, not_built, refused};

pub(super) const SECTION: Section = Section { title: "Users and access", keys: KEYS };

const MECHANISMS: Type = Type::OneOf(&["PLAIN", "AMQPLAIN", "ANONYMOUS", "EXTERNAL"]);
const NO_BACKENDS: &str = "only the internal user database is built yet";
const BACKEND: Type = Type::OneOf(&[
    "internal",
    "internal_loopback",
    "ldap",
    "http",
    "oauth",
    "oauth2",
    "cache",
    "amqp",
    "dummy",
    "ip_range",
    "uaa",
    "rabbit_auth_backend_internal",
    "rabbit_auth_backend_internal_loopback",
    "rabbit_auth_backend_ldap",
    "rabbit_auth_backend_http",
    "rabbit_auth_backend_oauth2",
    "rabbit_auth_backend_cache",
    "rabbit_auth_backend_amqp",
    "rabbit_auth_backend_dummy",
    "rabbit_auth_backend_ip_range",
    "rabbit_auth_backend_uaa",
]);
const INTERNAL: &[&str] = &["internal", "rabbit_auth_backend_internal"];
const ACCEPT_ALL: &[&str] = &["rabbit_credential_validator_accept_everything"];
const NO_VALIDATOR: &str = "passwords are not checked for strength yet";

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
        MECHANISMS,
        "",
        "SASL mechanisms that are offered, in the order of the names, which are compared as text: `10` comes before `2`. \
         EXTERNAL is offered over TLS only.",
    )
    .family(&[("auth_mechanisms.1", "PLAIN"), ("auth_mechanisms.2", "AMQPLAIN"), ("auth_mechanisms.3", "ANONYMOUS")]),
    effective("anonymous_login_user", Type::UserName, "guest", "Who logs in by ANONYMOUS; `none` for nobody."),
    effective("anonymous_login_pass", Type::Secret, "guest", "With which password."),
    refused("auth_backends.$num", BACKEND, NO_BACKENDS).unless(INTERNAL),
    refused("auth_backends.$num.{authn,authz}", BACKEND, NO_BACKENDS).unless(INTERNAL),
    refused("auth_ldap.**", Type::Text, NO_BACKENDS),
    refused("{auth_http,auth_oauth2,auth_cache,auth_amqp}.**", Type::Text, NO_BACKENDS),
    refused("credential_validator.validation_backend", Type::Text, NO_VALIDATOR).unless(ACCEPT_ALL),
    refused("credential_validator.{min_length,regexp}", Type::Text, NO_VALIDATOR),
    refused("password_hashing_module", Type::Text, "passwords are hashed with SHA-256 only")
        .unless(&["rabbit_password_hashing_sha256"]),
    not_built(
        "default_users.$name.{vhost_pattern,password,configure,read,write,tags}",
        Type::Secret,
        "a new vhost gets no users of its own",
    ),
    not_built("default_limits.vhosts.$id.{pattern,max_connections,max_queues}", Type::Text, "vhosts have no limits"),
];
