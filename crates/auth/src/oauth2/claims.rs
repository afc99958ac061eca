//! What a token says.

use serde_json::{Map, Value};

/// A token's claims, verified.
#[derive(Debug)]
pub(super) struct Claims(pub(super) Map<String, Value>);

/// Claims that have a name if none of the preferred ones has.
const USERNAME_CLAIMS: [&str; 2] = ["sub", "client_id"];

impl Claims {
    /// Who it is about.
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

    /// Its scopes: a list, or a text with spaces between them.
    pub(super) fn scopes(&self, additional: &[String]) -> Vec<String> {
        let places = std::iter::once("scope").chain(additional.iter().map(String::as_str));
        places.filter_map(|place| self.at(place)).flat_map(texts).collect()
    }

    /// The claim at a dotted path; a claim whose own name has dots goes before.
    fn at(&self, path: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(path) {
            return Some(value);
        }
        let mut words = path.split('.');
        let first = self.0.get(words.next()?)?;
        words.try_fold(first, |value, word| value.get(word))
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.split_whitespace().map(str::to_owned).collect(),
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
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
        let additional = ["roles".to_owned(), "realm.access".to_owned()];
        let token = claims(json!({"scope": "a b", "roles": ["c", "d e"], "realm": {"access": {"x": ["f"]}}}));
        assert_eq!(token.scopes(&additional), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(claims(json!({"scope": ["a", "b"]})).scopes(&[]), ["a", "b"]);
        assert!(claims(json!({"scope": 5})).scopes(&[]).is_empty());
    }

    #[test]
    fn a_token_says_until_when_it_holds() {
        assert_eq!(claims(json!({"exp": 5})).expires_at_s(), Some(5));
        assert_eq!(claims(json!({"exp": 5.9})).expires_at_s(), Some(5));
        assert_eq!(claims(json!({})).expires_at_s(), None);
    }
}
