//! What a token says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

/// A token's claims, verified.
#[derive(Debug)]
pub(super) struct Claims(pub(super) Map<String, Value>);

/// Claims that have a name if none of the preferred ones has.
const USERNAME_CLAIMS: [&str; 2] = ["sub", "client_id"];

impl Claims {
    /// The name of the user that it is about.
    pub(super) fn username(&self, preferred: &[String]) -> Option<String> {
        let mut names = preferred.iter().map(String::as_str).chain(USERNAME_CLAIMS);
        names.find_map(|claim| match self.at(claim)? {
            Value::String(name) if !name.is_empty() => Some(name.clone()),
            // As in RabbitMQ the first of several.
            Value::Array(names) => names.first()?.as_str().map(str::to_owned),
            _ => None,
        })
    }

    /// Until when it holds, in seconds since 1970.
    pub(super) fn expires_at_s(&self) -> Option<u64> {
        let expires = self.0.get("exp")?;
        expires.as_u64().or_else(|| expires.as_f64().map(|seconds| seconds as u64))
    }

    /// Its scopes: a list, or a text with spaces between them. Those of a further place may also be an object that has
    /// such for each resource server: then the right one's are taken, whose prefix they do not have.
    pub(super) fn scopes(&self, additional: &[String], resource_server_id: &str) -> Vec<String> {
        let usual = self.at("scope").map(texts).unwrap_or_default();
        let further = additional.iter().filter_map(|place| self.at(place)).flat_map(|place| match place {
            Value::Object(servers) => {
                let own = servers.get(resource_server_id).map(texts).unwrap_or_default();
                own.into_iter().map(|scope| format!("{resource_server_id}.{scope}")).collect()
            }
            other => texts(other),
        });
        usual.into_iter().chain(further).collect()
    }

    /// The claim at a dotted path; a claim whose own name has dots precedes it.
    fn at(&self, path: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(path) {
            return Some(value);
        }
        let mut words = path.split('.');
        let first = self.0.get(words.next()?)?;
        words.try_fold(first, |value, word| value.get(word))
    }
}

/// What a token says it is for, whichever issuer has signed it.
pub(super) fn unverified_audience(token: &str) -> Vec<String> {
    let payload = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims: Option<Value> = payload.and_then(|payload| serde_json::from_slice(&payload).ok());
    match claims.as_ref().and_then(|claims| claims.get("aud")) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        let Value::Object(fields) = value else { panic!("no object") };
        Claims(fields)
    }

    fn additional() -> [String; 2] {
        ["roles".to_owned(), "realm.access".to_owned()]
    }

    #[test]
    fn the_name_is_in_the_first_claim_that_has_one() {
        let token = claims(json!({"sub": "1234", "user": {"name": "ann"}, "names": ["bob", "eve"], "empty": ""}));
        let name =
            |preferred: &[&str]| token.username(&preferred.iter().map(|claim| (*claim).to_owned()).collect::<Vec<_>>());
        assert_eq!(name(&["user.name"]).as_deref(), Some("ann"));
        assert_eq!(name(&["missing", "names"]).as_deref(), Some("bob"));
        assert_eq!(name(&["empty"]).as_deref(), Some("1234"));
        assert_eq!(claims(json!({"client_id": "app"})).username(&[]).as_deref(), Some("app"));
        assert_eq!(claims(json!({})).username(&[]), None);
    }

    #[test]
    fn scopes_are_listed_or_written_with_spaces() {
        let token = claims(json!({"scope": "a b", "roles": ["c", "d"], "realm": {"access": "e f"}}));
        assert_eq!(token.scopes(&additional(), "warren"), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(claims(json!({"scope": ["a", "b"]})).scopes(&[], "warren"), ["a", "b"]);
        assert!(claims(json!({"scope": 5})).scopes(&[], "warren").is_empty());
    }

    #[test]
    fn of_scopes_by_resource_server_only_its_own_are_taken() {
        let token = claims(json!({
            "scope": {"warren": "a"},
            "roles": {"warren": ["read:*/*", "tag:management"], "other": ["warren.tag:administrator"]},
            "realm": {"access": {"other": ["b"], "warren": "c d"}},
        }));
        let expected = ["warren.read:*/*", "warren.tag:management", "warren.c", "warren.d"];
        assert_eq!(token.scopes(&additional(), "warren"), expected);
        assert!(token.scopes(&additional(), "third").is_empty());
    }

    #[test]
    fn an_entry_of_a_list_is_one_scope() {
        let token = claims(json!({
            "scope": ["a b", ["c"], {"warren": ["d"]}, 5],
            "roles": {"warren": [["e"], {"warren": ["f"]}, "g h"]},
        }));
        assert_eq!(token.scopes(&additional(), "warren"), ["a b", "warren.g h"]);
    }

    #[test]
    fn a_token_says_until_when_it_holds() {
        assert_eq!(claims(json!({"exp": 5})).expires_at_s(), Some(5));
        assert_eq!(claims(json!({"exp": 5.9})).expires_at_s(), Some(5));
        assert_eq!(claims(json!({})).expires_at_s(), None);
    }
}
