//! A trace that is written into files, as operators ask for it and as it is written down.

use serde_json::{Map, Value, json};

use super::filter::Filter;
use super::format::Format;

/// A trace that is written into files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The vhost that it is listed in, and whose messages it traces.
    pub vhost: String,
    /// Its name, and that of its file.
    pub name: String,
    /// How its file is written.
    pub format: Format,
    /// Which keys of the firehose are wanted; None: everything that happens.
    pub pattern: Option<String>,
    /// So many bytes of each body; None: all.
    pub body_len_max: Option<u64>,
    /// What is wanted besides.
    pub filter: Filter,
    /// The user that RabbitMQ would log in as.
    pub tracer_username: Option<String>,
}

impl Definition {
    /// As JSON, to be read again.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut members = self.filter.to_json();
        let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
        put("vhost", json!(self.vhost));
        put("name", json!(self.name));
        put("format", json!(self.format.name()));
        if let Some(pattern) = &self.pattern {
            put("pattern", json!(pattern));
        }
        if let Some(len) = self.body_len_max {
            put("max_payload_bytes", json!(len));
        }
        if let Some(user) = &self.tracer_username {
            put("tracer_connection_username", json!(user));
        }
        Value::Object(members)
    }

    /// Reads it back. None: `value` is no definition.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Definition {
            vhost: text("vhost")?,
            name: text("name")?,
            format: Format::parse(&text("format")?)?,
            pattern: text("pattern"),
            body_len_max: value.get("max_payload_bytes").and_then(Value::as_u64),
            filter: Filter::from_json(value.as_object()?).ok()?,
            tracer_username: text("tracer_connection_username"),
        })
    }
}

/// The members of a filter that are texts.
const TEXTS: [&str; 6] = ["connection", "user", "queue", "exchange", "routing_key", "message_id"];

impl Filter {
    fn text_mut(&mut self, name: &str) -> Option<&mut Option<String>> {
        match name {
            "connection" => Some(&mut self.connection),
            "user" => Some(&mut self.user),
            "queue" => Some(&mut self.queue),
            "exchange" => Some(&mut self.exchange),
            "routing_key" => Some(&mut self.routing_key),
            "message_id" => Some(&mut self.message_id),
            _ => None,
        }
    }

    /// As members of an object, but for the vhost, which has a place of its own.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let mut members = Map::new();
        let mut filter = self.clone();
        for name in TEXTS {
            if let Some(Some(text)) = filter.text_mut(name) {
                members.insert(name.to_owned(), json!(text));
            }
        }
        if !self.headers.is_empty() {
            let headers: Map<_, _> = self.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            members.insert("headers".to_owned(), Value::Object(headers));
        }
        if self.sample > 1 {
            members.insert("sample".to_owned(), json!(self.sample));
        }
        members
    }

    /// Reads the members that are a filter's; others are passed over. What is wrong is said.
    pub fn from_json(members: &Map<String, Value>) -> Result<Self, String> {
        let mut filter = Filter::default();
        for name in TEXTS {
            match (members.get(name), filter.text_mut(name)) {
                (None | Some(Value::Null), _) | (_, None) => {}
                (Some(Value::String(text)), Some(slot)) => *slot = Some(text.clone()),
                (Some(other), _) => return Err(format!("'{name}' must be a text, not {other}")),
            }
        }
        match members.get("headers") {
            None | Some(Value::Null) => {}
            Some(Value::Object(headers)) => {
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                filter.headers = headers.iter().map(|(name, value)| (name.clone(), text(value))).collect();
            }
            Some(other) => return Err(format!("'headers' must be an object, not {other}")),
        }
        match members.get("sample") {
            None | Some(Value::Null) => {}
            Some(value) => {
                let sample = value.as_u64().and_then(|sample| u32::try_from(sample).ok()).filter(|sample| *sample > 0);
                filter.sample = sample.ok_or_else(|| format!("'sample' must be a whole number from 1, not {value}"))?;
            }
        }
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn definitions_are_read_as_they_were_written(
            texts in proptest::collection::vec(proptest::option::of(".{0,8}"), 8),
            format in proptest::sample::select(vec![Format::Text, Format::Json, Format::Events]),
            body_len_max in proptest::option::of(any::<u64>()),
            headers in proptest::collection::btree_map("[a-z]{1,4}", ".{0,4}", 0..3),
            sample in proptest::sample::select(vec![0_u32, 2, 100]),
        ) {
            let text = |at: usize| texts[at].clone();
            let filter = Filter {
                connection: text(0), user: text(1), vhost: None, queue: text(2), exchange: text(3),
                routing_key: text(4), message_id: text(5), headers: headers.into_iter().collect(), sample,
            };
            let definition = Definition {
                vhost: "/".into(), name: "t".into(), format, pattern: text(6), body_len_max, filter,
                tracer_username: text(7),
            };
            prop_assert_eq!(Definition::from_json(&definition.to_json()), Some(definition));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            (r#"{"queue": 1}"#, "'queue' must be a text, not 1"),
            (r#"{"headers": []}"#, "'headers' must be an object, not []"),
            (r#"{"sample": 0}"#, "'sample' must be a whole number from 1, not 0"),
        ] {
            let members = serde_json::from_str(text).unwrap();
            assert_eq!(Filter::from_json(&members), Err(expected.to_owned()));
        }
    }
}
