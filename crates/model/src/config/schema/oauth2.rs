//! Tokens: what they are for, and which issuers they are from.

use super::{Key, Row, Section, Type, alias, effective, no_effect, not_built, refused};
use crate::config::http_url::HTTP_URL;
use crate::config::oauth2::{self, SIGNING_KEY};

pub(super) const SECTION: Section = Section { title: "OAuth 2", keys: KEYS };

const VERIFY: Type = Type::OneOf(&["verify_peer", "verify_none"]);
const ALGORITHMS: Type = Type::OneOf(oauth2::ALGORITHMS);
const NO_CONSOLE: &str = "the keys `management.oauth_*` configure logins to the console";
const NO_DETAILS: &str = "authorization_details of tokens are ignored";
const NO_REVOCATION: &str = crate::config::table::tls_keys::NO_REVOCATION;
const CHAIN: &str =
    "the chain's depth is limited, the name is verified as in RFC 6125, and no client certificate is sent";

pub(crate) const RESOURCE_SERVER_ID: Key<String> = Key::text(
    "auth_oauth2.resource_server_id",
    Type::Text,
    "",
    "The audience (`aud`) of tokens, and the prefix of scopes.",
);

const KEYS: &[Row] = &[
    RESOURCE_SERVER_ID.row,
    effective(
        "auth_oauth2.scope_prefix",
        Type::Text,
        "",
        "The prefix of scopes. Default: the resource server's id and a dot.",
    ),
    effective(
        "auth_oauth2.verify_aud",
        Type::Bool,
        "true",
        "Whether the audience of tokens must include this resource server.",
    ),
    effective(
        "auth_oauth2.issuer",
        Type::Own(&HTTP_URL),
        "",
        "The issuer of tokens. Without `jwks_uri` and `signing_keys`, the URL of its keys is looked up there (OpenID Connect \
         discovery).",
    ),
    effective(
        "auth_oauth2.discovery_endpoint_path",
        Type::Text,
        "",
        "The path of the lookup below the issuer. Default: `.well-known/openid-configuration`.",
    ),
    effective("auth_oauth2.discovery_endpoint_params.$param", Type::Text, "", "Parameters of this lookup."),
    effective("auth_oauth2.jwks_uri", Type::Own(&HTTP_URL), "", "The URL of the issuer's keys."),
    alias("auth_oauth2.jwks_url", "auth_oauth2.jwks_uri", Type::Own(&HTTP_URL)),
    effective(
        "auth_oauth2.signing_keys.$id",
        Type::Own(&SIGNING_KEY),
        "",
        "The keys that tokens may be signed with, by their ids. A key is a PEM file of a public key, the PEM itself, or a JSON Web \
         Key.",
    ),
    effective("auth_oauth2.default_key", Type::Text, "", "The id of the key for tokens that name none."),
    effective(
        "auth_oauth2.algorithms.$n",
        ALGORITHMS,
        "",
        "The signature algorithms that are accepted. Unset: all of these, but HS256, HS384 and HS512 only if a shared key is \
         configured.",
    ),
    effective(
        "auth_oauth2.preferred_username_claims.$n",
        Type::Text,
        "",
        "The claims that may contain the user's name. They take precedence over `sub` and `client_id`.",
    ),
    effective(
        "auth_oauth2.additional_scopes_key",
        Type::Text,
        "",
        "The claims that contain scopes in addition to `scope`.",
    ),
    effective(
        "auth_oauth2.scope_aliases.$name",
        Type::Text,
        "",
        "The scopes that the scope with this name stands for.",
    ),
    effective(
        "auth_oauth2.scope_aliases.$index.{alias,scope}",
        Type::Text,
        "",
        "The same for names that cannot be part of a key: a scope's name, and the scopes that it stands for.",
    ),
    effective(
        "auth_oauth2.https.cacertfile",
        Type::Text,
        "",
        "File of the authorities that may have signed the issuer's certificate. Unset: the system's.",
    ),
    effective(
        "auth_oauth2.https.peer_verification",
        VERIFY,
        "verify_peer",
        "Whether the issuer's certificate is checked.",
    ),
    alias("auth_oauth2.https.verify", "auth_oauth2.https.peer_verification", VERIFY),
    effective(
        "auth_oauth2.resource_servers.$name.id",
        Type::Text,
        "",
        "The id of an additional resource server. Unset: `$name`. The audience (`aud`) of a token selects the resource server. Keys \
         that are not set for it are taken from the keys above.",
    ),
    effective(
        "auth_oauth2.resource_servers.$name.oauth_provider_id",
        Type::Text,
        "",
        "The issuer of its tokens: one of `oauth_providers`.",
    ),
    effective("auth_oauth2.resource_servers.$name.scope_prefix", Type::Text, "", "The prefix of its scopes."),
    effective(
        "auth_oauth2.resource_servers.$name.verify_aud",
        Type::Bool,
        "",
        "Whether the audience of tokens must include it.",
    ),
    effective("auth_oauth2.resource_servers.$name.additional_scopes_key", Type::Text, "", "As above."),
    effective("auth_oauth2.resource_servers.$name.preferred_username_claims.$n", Type::Text, "", "As above."),
    effective("auth_oauth2.resource_servers.$name.scope_aliases.$alias", Type::Text, "", "As above."),
    effective("auth_oauth2.resource_servers.$name.scope_aliases.$index.{alias,scope}", Type::Text, "", "As above."),
    effective(
        "auth_oauth2.default_oauth_provider",
        Type::Text,
        "",
        "The one of `oauth_providers` that issues the tokens of resource servers without `oauth_provider_id`. Unset: the issuer that \
         the keys above describe.",
    ),
    effective(
        "auth_oauth2.oauth_providers.$name.{issuer,jwks_uri,jwks_url}",
        Type::Own(&HTTP_URL),
        "",
        "An additional issuer. Its keys are as above.",
    ),
    effective("auth_oauth2.oauth_providers.$name.{default_key,discovery_endpoint_path}", Type::Text, "", "As above."),
    effective("auth_oauth2.oauth_providers.$name.discovery_endpoint_params.$param", Type::Text, "", "As above."),
    effective("auth_oauth2.oauth_providers.$name.signing_keys.$id", Type::Own(&SIGNING_KEY), "", "As above."),
    effective("auth_oauth2.oauth_providers.$name.algorithms.$n", ALGORITHMS, "", "As above."),
    effective("auth_oauth2.oauth_providers.$name.https.cacertfile", Type::Text, "", "As above."),
    effective("auth_oauth2.oauth_providers.$name.https.{verify,peer_verification}", VERIFY, "", "As above."),
    no_effect("auth_oauth2.https.{depth,hostname_verification,fail_if_no_peer_cert}", Type::Text, CHAIN),
    no_effect(
        "auth_oauth2.oauth_providers.$name.https.{depth,hostname_verification,fail_if_no_peer_cert}",
        Type::Text,
        CHAIN,
    ),
    refused("auth_oauth2.https.crl_check", Type::Text, NO_REVOCATION).unless(&["false"]),
    refused("auth_oauth2.oauth_providers.$name.https.crl_check", Type::Text, NO_REVOCATION).unless(&["false"]),
    no_effect("auth_oauth2.{token_endpoint,end_session_endpoint,authorization_endpoint}", Type::Text, NO_CONSOLE),
    no_effect(
        "auth_oauth2.oauth_providers.$name.{token_endpoint,end_session_endpoint,authorization_endpoint}",
        Type::Text,
        NO_CONSOLE,
    ),
    not_built("auth_oauth2.resource_server_type", Type::Text, NO_DETAILS),
    not_built("auth_oauth2.resource_servers.$name.resource_server_type", Type::Text, NO_DETAILS),
    no_effect("auth_oauth2.require_exp", Type::Bool, "tokens must always have an expiry time").unless(&["true"]),
    no_effect("auth_oauth2.resource_servers.$name.require_exp", Type::Bool, "tokens must always have an expiry time")
        .unless(&["true"]),
    refused("auth_oauth2.**", Type::Text, "this part of the OAuth 2 back end is not supported"),
];
