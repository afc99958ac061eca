//! The keys that an issuer publishes: a JSON Web Key Set.

use std::collections::HashMap;
use std::sync::Arc;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use serde_json::Value;

/// Those that signatures can be checked by.
#[derive(Default)]
pub(super) struct KeySet {
    keys: HashMap<String, Arc<DecodingKey>>,
    /// The key of a set with only one, which needs no id.
    only: Option<Arc<DecodingKey>>,
}

impl KeySet {
    /// Reads what an issuer has answered. Keys of unknown kinds may be for other programs, and are skipped.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let set: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let listed = set.get("keys").and_then(Value::as_array).ok_or("it has no list of keys")?;
        let (mut keys, mut all) = (HashMap::new(), Vec::new());
        for listed in listed {
            let Some((id, key)) = read(listed) else {
                tracing::debug!(kid = %listed["kid"], "published key ignored");
                continue;
            };
            let key = Arc::new(key);
            all.push(key.clone());
            if let Some(id) = id {
                keys.insert(id, key);
            }
        }
        let only = if let [only] = &all[..] { Some(only.clone()) } else { None };
        Ok(Self { keys, only })
    }

    /// The key of this id; without one, the only key there is.
    pub(super) fn get(&self, id: Option<&str>) -> Option<Arc<DecodingKey>> {
        match id {
            Some(id) => self.keys.get(id).cloned(),
            None => self.only.clone(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.only.is_none()
    }
}

/// One key, as a configuration has it.
pub fn web_key(text: &str) -> Result<DecodingKey, String> {
    let jwk: Jwk = serde_json::from_str(text).map_err(|error| format!("unknown kind of JSON Web Key: {error}"))?;
    DecodingKey::from_jwk(&jwk).map_err(|error| format!("unusable JSON Web Key: {error}"))
}

fn read(listed: &Value) -> Option<(Option<String>, DecodingKey)> {
    let jwk: Jwk = serde_json::from_value(listed.clone()).ok()?;
    if jwk.common.public_key_use == Some(PublicKeyUse::Encryption) {
        return None;
    }
    Some((jwk.common.key_id.clone(), DecodingKey::from_jwk(&jwk).ok()?))
}
