//! Tokens: what they are for, and who issues them.

use super::{Key, Section, Type, alias, effective, no_effect, not_built, refused};
use crate::config::http_url::HTTP_URL;
use crate::config::oauth2::{self, SIGNING_KEY};

pub(super) const SECTION: Section = Section { title: "OAuth 2", keys: KEYS };

const VERIFY: Type = Type::OneOf(&["verify_peer", "verify_none"]);
const ALGORITHMS: Type = Type::OneOf(oauth2::ALGORITHMS);
const NO_CONSOLE: &str = "no console takes logins by OAuth 2";
const NO_DETAILS: &str = "authorization_details of tokens are not looked at";
const NO_REVOCATION: &str = crate::config::table::tls_keys::NO_REVOCATION;
const CHAIN: &str =
    "the chain's depth is bounded, the name is compared as RFC 6125 says, and no client certificate is shown";

const KEYS: &[Key] = &[
    effective(
        "auth_oauth2.resource_server_id",
        Type::Text,
        "",
        "What tokens have to be for (`aud`), and what scopes begin with.",
    ),
    effective(
        "auth_oauth2.scope_prefix",
        Type::Text,
        "",
        "What scopes begin with, where that is not the resource server's id and a dot.",
    ),
    effective("auth_oauth2.verify_aud", Type::Bool, "true", "Whether tokens have to be for this resource server."),
    effective(
        "auth_oauth2.issuer",
        Type::Own(&HTTP_URL),
        "",
        "Who has to have issued tokens. Without `jwks_uri` and `signing_keys` it is asked where its keys are (OpenID Connect discovery).",
    ),
    effective(
        "auth_oauth2.discovery_endpoint_path",
        Type::Text,
        "",
        "The path below the issuer that is asked. Default: `.well-known/openid-configuration`.",
    ),
    effective("auth_oauth2.discovery_endpoint_params.$param", Type::Text, "", "Parameters of that question."),
    effective("auth_oauth2.jwks_uri", Type::Own(&HTTP_URL), "", "Where the issuer publishes its keys."),
    alias("auth_oauth2.jwks_url", "auth_oauth2.jwks_uri", Type::Own(&HTTP_URL)),
    effective(
        "auth_oauth2.signing_keys.$id",
        Type::Own(&SIGNING_KEY),
        "",
        "Keys that tokens may be signed with, by their ids: a PEM file of a public key, the PEM itself, or a JSON Web Key.",
    ),
    effective("auth_oauth2.default_key", Type::Text, "", "The id of the key where a token names none."),
    effective(
        "auth_oauth2.algorithms.$n",
        ALGORITHMS,
        "",
        "Signatures that are accepted; unset: all of these, but HS256, HS384 and HS512 only where a shared key is configured.",
    ),
    effective(
        "auth_oauth2.preferred_username_claims.$n",
        Type::Text,
        "",
        "Claims that may have the user's name, before `sub` and `client_id`.",
    ),
    effective("auth_oauth2.additional_scopes_key", Type::Text, "", "Claims that have scopes besides `scope`."),
    effective("auth_oauth2.scope_aliases.$name", Type::Text, "", "The scopes that a scope of this name stands for."),
    effective(
        "auth_oauth2.scope_aliases.$index.{alias,scope}",
        Type::Text,
        "",
        "The same for names that no key can have: a scope's name, and what it stands for.",
    ),
    effective(
        "auth_oauth2.https.cacertfile",
        Type::Text,
        "",
        "File of the authorities that the issuer's certificate is to be from; unset: the system's.",
    ),
    effective(
        "auth_oauth2.https.peer_verification",
        VERIFY,
        "verify_peer",
        "Whether the issuer's certificate is looked at.",
    ),
    alias("auth_oauth2.https.verify", "auth_oauth2.https.peer_verification", VERIFY),
    effective(
        "auth_oauth2.resource_servers.$name.id",
        Type::Text,
        "",
        "A further resource server, `$name` if that is not set. The one that a token is for (`aud`) counts; what it does not say \
        is as above.",
    ),
    effective(
        "auth_oauth2.resource_servers.$name.oauth_provider_id",
        Type::Text,
        "",
        "Who issues its tokens: one of `oauth_providers`.",
    ),
    effective("auth_oauth2.resource_servers.$name.scope_prefix", Type::Text, "", "What scopes begin with."),
    effective("auth_oauth2.resource_servers.$name.verify_aud", Type::Bool, "", "Whether tokens have to be for it."),
    effective("auth_oauth2.resource_servers.$name.additional_scopes_key", Type::Text, "", "As above."),
    effective("auth_oauth2.resource_servers.$name.preferred_username_claims.$n", Type::Text, "", "As above."),
    effective("auth_oauth2.resource_servers.$name.scope_aliases.$alias", Type::Text, "", "As above."),
    effective("auth_oauth2.resource_servers.$name.scope_aliases.$index.{alias,scope}", Type::Text, "", "As above."),
    effective(
        "auth_oauth2.default_oauth_provider",
        Type::Text,
        "",
        "Which of `oauth_providers` issues tokens of resource servers that do not say; unset: who is described above.",
    ),
    effective(
        "auth_oauth2.oauth_providers.$name.{issuer,jwks_uri,jwks_url}",
        Type::Own(&HTTP_URL),
        "",
        "A further issuer, as above.",
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
    no_effect("auth_oauth2.require_exp", Type::Bool, "tokens always have to say until when they hold")
        .unless(&["true"]),
    no_effect(
        "auth_oauth2.resource_servers.$name.require_exp",
        Type::Bool,
        "tokens always have to say until when they hold",
    )
    .unless(&["true"]),
    refused("auth_oauth2.**", Type::Text, "this part of the OAuth 2 back end is not built"),
];
