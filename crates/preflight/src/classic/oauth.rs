//! OAuth 2 in Erlang's terms: what tokens are for, their issuers, and the keys that are written out in the file itself.
//!
//! ```text
//!  {resource_server_id, <<"rabbitmq">>},
//!  {key_config, [{default_key, <<"id">>}, {jwks_url, "https://…"}, {algorithms, [<<"RS256">>]},
//!                {signing_keys, #{<<"id">> => {pem, <<"…">>} | {pem_file, "/path"} | {json, …} | {map, #{…}}}}]},
//!  {scope_aliases, #{<<"name">> => [<<"scope">>]}},
//!  {resource_servers, #{<<"id">> => [{scope_prefix, <<"…">>}]}}, {oauth_providers, #{<<"id">> => [{issuer, "…"}]}}
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::{Position, Translator, escaped, unknown};
use crate::terms::{Node, Term};

const ROOT: &str = "auth_oauth2";

/// Settings of TLS with an issuer, which `rabbitmq.conf` has below another word.
const OF_TLS: &[&str] = &[
    "cacertfile",
    "crl_check",
    "depth",
    "fail_if_no_peer_cert",
    "hostname_verification",
    "peer_verification",
    "verify",
];

pub(super) fn translate(out: &mut Translator, place: Position<'_>, key: &str, value: &Node) {
    match key {
        "resource_servers" => named(out, place, &format!("{ROOT}.resource_servers"), value),
        "oauth_providers" => named(out, place, &format!("{ROOT}.oauth_providers"), value),
        "key_config" => {
            for (name, inner) in value.members().unwrap_or_default() {
                setting(out, place, ROOT, name, inner);
            }
        }
        _ => setting(out, place, ROOT, key, Some(value)),
    }
}

/// The resource servers that the console lets users choose from.
pub(super) fn console(out: &mut Translator, place: Position<'_>, value: &Node) {
    for (id, settings) in value.members().unwrap_or_default() {
        let prefix = format!("management.oauth_resource_servers.{}", escaped(id));
        out.say(place, &format!("{prefix}.id"), id);
        for (name, inner) in settings.and_then(Node::members).unwrap_or_default() {
            if name != "id" {
                out.below(place, &format!("{prefix}.{}", escaped(name)), inner);
            }
        }
    }
}

/// Resource servers, or issuers, by their ids. An id may be what no key can be called, so it is said besides.
fn named(out: &mut Translator, place: Position<'_>, prefix: &str, value: &Node) {
    for (id, settings) in value.members().unwrap_or_default() {
        let prefix = format!("{prefix}.{}", escaped(id));
        if prefix.starts_with("auth_oauth2.resource_servers") {
            out.say(place, &format!("{prefix}.id"), id);
        }
        for (name, inner) in settings.and_then(Node::members).unwrap_or_default() {
            if name != "id" {
                setting(out, place, &prefix, name, inner);
            }
        }
    }
}

fn setting(out: &mut Translator, place: Position<'_>, prefix: &str, name: &str, value: Option<&Node>) {
    match (name, value) {
        ("signing_keys", Some(keys)) => signing_keys(out, place, prefix, keys),
        ("extra_scopes_source" | "additional_scopes_key", Some(value)) => {
            let words: Vec<&str> = value.list().unwrap_or_default().iter().filter_map(Node::scalar).collect();
            let text = value.scalar().map_or_else(|| words.join(" "), str::to_owned);
            out.say(place, &format!("{prefix}.additional_scopes_key"), &text);
        }
        ("scope_aliases", Some(aliases)) => scope_aliases(out, place, prefix, aliases),
        ("preferred_username_claims", Some(claim)) if claim.scalar().is_some() => {
            out.below(place, &format!("{prefix}.preferred_username_claims.1"), Some(claim));
        }
        ("https" | "ssl_options" | "key_config", Some(options)) => {
            for (name, inner) in options.members().unwrap_or_default() {
                setting(out, place, prefix, name, inner);
            }
        }
        (name, value) if OF_TLS.contains(&name) => out.below(place, &format!("{prefix}.https.{name}"), value),
        (name, value) => out.below(place, &format!("{prefix}.{}", escaped(name)), value),
    }
}

/// `#{<<"admin">> => [<<"rabbitmq.tag:administrator">>], <<"other">> => <<"one two">>}`.
fn scope_aliases(out: &mut Translator, place: Position<'_>, prefix: &str, aliases: &Node) {
    for (number, (alias, scopes)) in (1..).zip(aliases.members().unwrap_or_default()) {
        let Some(scopes) = scopes else { continue };
        let words: Vec<&str> = scopes.list().unwrap_or_default().iter().filter_map(Node::scalar).collect();
        let text = scopes.scalar().map_or_else(|| words.join(" "), str::to_owned);
        out.say(place, &format!("{prefix}.scope_aliases.{number}.alias"), alias);
        out.say(place, &format!("{prefix}.scope_aliases.{number}.scope"), &text);
    }
}

/// Keys by their ids, in each of the four ways of writing one.
fn signing_keys(out: &mut Translator, place: Position<'_>, prefix: &str, keys: &Node) {
    for (id, key) in keys.members().unwrap_or_default() {
        let written = key.and_then(Node::tuple).and_then(|tuple| match tuple {
            [kind, value] => Some((kind.atom()?, value)),
            _ => None,
        });
        let text = match written {
            Some(("pem" | "pem_file" | "json", value)) if value.scalar().is_some() => value.scalar().map(str::to_owned),
            Some(("json" | "map", value)) => web_key(value),
            _ => None,
        };
        match text {
            Some(text) => out.say(place, &format!("{prefix}.signing_keys.{}", escaped(id)), &text),
            None => out.pass_over(place.line, &format!("{} {id}", place.path), unknown()),
        }
    }
}

/// A key as a JSON Web Key. RabbitMQ's examples have a shared key as `kty` MAC and `value`, which is not in the standard.
fn web_key(value: &Node) -> Option<String> {
    let mut members = Map::new();
    for (name, value) in value.members()? {
        members.insert(name.to_owned(), json(value?));
    }
    let is_shared = members.get("kty").and_then(Value::as_str).is_some_and(|kty| ["MAC", "oct"].contains(&kty));
    if is_shared && let Some(Value::String(secret)) = members.remove("value") {
        members.insert("k".to_owned(), URL_SAFE_NO_PAD.encode(secret).into());
    }
    if is_shared {
        members.insert("kty".to_owned(), "oct".into());
    }
    Some(Value::Object(members).to_string())
}

fn json(node: &Node) -> Value {
    match &node.term {
        Term::Number(text) => text.parse::<serde_json::Number>().map_or_else(|_| text.clone().into(), Value::Number),
        Term::List(items) => Value::Array(items.iter().map(json).collect()),
        _ => node.scalar().unwrap_or_default().into(),
    }
}
