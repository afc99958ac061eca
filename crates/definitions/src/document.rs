//! A document of definitions as text, of which no more is held than one entry at a time: there may be millions.
//!
//! It is read several times instead. The first time ([`Document::of`]) all of it, as strictly as if it were kept: whether it is JSON, what
//! it is of, which lists it has. Later times ([`Document::each_entry`]) the entries of some lists, and everything else is passed over.
//!
//! Where an object has a member twice, the last one counts, as everywhere.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::lists::{LISTS, is_known};

/// What a visitor makes of everything that is neither text nor list nor object.
#[macro_export]
macro_rules! scalars {
    ($made:expr) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("JSON")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($made)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($made)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($made)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($made)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($made)
        }
    };
}

/// A document that is JSON, and an object.
#[derive(Debug)]
pub struct Document<'a> {
    text: &'a str,
    /// Where the document is one of a broker's answers: which member of that name it is, from 1.
    answer: Option<usize>,
    survey: Survey,
}

impl<'a> Document<'a> {
    /// The document that a text is; nothing if it is JSON, but no object.
    pub fn of(text: &'a str) -> serde_json::Result<Option<Document<'a>>> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let survey = Surveyor.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(survey.map(|survey| Document::alone(text, survey)))
    }

    /// The document that a text is, surveyed already.
    pub fn alone(text: &'a str, survey: Survey) -> Document<'a> {
        Document { text, answer: None, survey }
    }

    /// The document among the answers that a text is, surveyed already.
    pub fn among_answers(text: &'a str, number: usize, survey: Survey) -> Document<'a> {
        Document { text, answer: Some(number), survey }
    }

    /// What it has, as far as its first reading shows.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Reads the entries of some lists, in the order of the text. If there are `keys`, only these members of an entry are kept, and of
    /// what is no object nothing.
    pub fn each_entry(&self, lists: &[&'static str], keys: Option<&[&str]>, take: &mut dyn FnMut(&'static str, Value)) {
        let walk = Walk { survey: &self.survey, lists, keys, take };
        let mut deserializer = serde_json::Deserializer::from_str(self.text);
        let walked = match self.answer {
            None => walk.deserialize(&mut deserializer),
            Some(number) => Answer { number, walk: Some(walk) }.deserialize(&mut deserializer),
        };
        walked.expect("the survey has read all of it, as strictly");
    }
}

/// Some lists of a document, as a document; nothing of what is none.
pub fn lists_of(text: &str, lists: &[&'static str]) -> serde_json::Result<Value> {
    let mut found: Map<String, Value> = Map::new();
    if let Some(document) = Document::of(text)? {
        document.each_entry(lists, None, &mut |list, entry| {
            if let Value::Array(entries) = found.entry(list).or_insert_with(|| Value::Array(Vec::new())) {
                entries.push(entry);
            }
        });
    }
    Ok(Value::Object(found))
}

/// The member of a broker's answers that is a document.
pub const DEFINITIONS: &str = "definitions";

/// What a document has.
#[derive(Debug, Default)]
pub struct Survey {
    lists: [Surveyed; LISTS.len()],
    /// Members that mean nothing.
    pub unknown: BTreeSet<String>,
    format: Option<String>,
    original_vhost: Option<String>,
    name: Option<String>,
}

/// What is known of a list.
#[derive(Debug, Default, Clone, Copy)]
struct Surveyed {
    /// How many members there are of this name. The last one counts.
    member_count: usize,
    is_list: bool,
    object_count: usize,
    /// How many objects say which virtual host they are in.
    placed_count: usize,
}

impl Survey {
    /// Whether there is a list; nothing if there is no such member at all.
    pub fn is_list(&self, name: &str) -> Option<bool> {
        self.list(name).filter(|list| list.member_count > 0).map(|list| list.is_list)
    }

    fn list(&self, name: &str) -> Option<&Surveyed> {
        LISTS.iter().position(|list| *list == name).map(|at| &self.lists[at])
    }

    /// The virtual host that the document is of, if it is of one only.
    pub fn single_vhost(&self) -> Option<String> {
        let says_so = self.format.as_deref() == Some("single_virtual_host");
        // Exports of old versions do not have this format: their entries name no virtual host.
        let names_none = || {
            let lists = ["queues", "exchanges", "policies", "bindings"].iter().filter_map(|list| self.list(list));
            let mut entries = lists.filter(|list| list.object_count > 0).peekable();
            entries.peek().is_some() && entries.all(|list| list.placed_count == 0)
        };
        let is_single = says_so
            || !["vhosts", "users", "permissions"].iter().any(|list| self.is_list(list).is_some()) && names_none();
        is_single.then(|| self.original_vhost.as_deref().or(self.name.as_deref()).unwrap_or("/").to_owned())
    }

    fn put(&mut self, member: &str, shape: Shape) {
        let text = || match &shape {
            Shape::Text(text) => Some(text.clone()),
            _ => None,
        };
        match member {
            "rabbitmq_definition_format" => self.format = text(),
            "original_vhost_name" => self.original_vhost = text(),
            "name" => self.name = text(),
            _ => {}
        }
        if let Some(at) = LISTS.iter().position(|list| *list == member) {
            let (is_list, object_count, placed_count) = match shape {
                Shape::List { object_count, placed_count } => (true, object_count, placed_count),
                _ => (false, 0, 0),
            };
            let member_count = self.lists[at].member_count + 1;
            self.lists[at] = Surveyed { member_count, is_list, object_count, placed_count };
        } else if !is_known(member) {
            self.unknown.insert(member.to_owned());
        }
    }
}

/// Reads a whole document; of what is no object nothing is known.
pub struct Surveyor;

impl<'de> DeserializeSeed<'de> for Surveyor {
    type Value = Option<Survey>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Survey>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Surveyor {
    type Value = Option<Survey>;

    scalars!(None);

    fn visit_str<E>(self, _: &str) -> Result<Option<Survey>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Option<Survey>, A::Error> {
        Outline::Within.visit_seq(list).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<Survey>, A::Error> {
        let mut survey = Survey::default();
        while let Some(member) = members.next_key::<String>()? {
            let shape = members.next_value_seed(Outline::Member)?;
            survey.put(&member, shape);
        }
        Ok(Some(survey))
    }
}

/// What a value is, without it.
pub enum Shape {
    Scalar,
    Text(String),
    List { object_count: usize, placed_count: usize },
    Object { is_placed: bool },
}

/// Reads a value as strictly as if it were kept, by what it is: a member of a document, an entry of a list, or something in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outline {
    /// A member of a document.
    Member,
    /// An entry of a list.
    Entry,
    /// Anything within one.
    Within,
}

impl<'de> DeserializeSeed<'de> for Outline {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Outline {
    type Value = Shape;

    scalars!(Shape::Scalar);

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        Ok(if self == Outline::Member { Shape::Text(text.to_owned()) } else { Shape::Scalar })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let inner = if self == Outline::Member { Outline::Entry } else { Outline::Within };
        let (mut object_count, mut placed_count) = (0, 0);
        while let Some(shape) = list.next_element_seed(inner)? {
            if let Shape::Object { is_placed } = shape {
                object_count += 1;
                placed_count += usize::from(is_placed);
            }
        }
        Ok(Shape::List { object_count, placed_count })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
        let mut is_placed = false;
        while let Some(at) = members.next_key_seed(KeyOf(&["vhost"]))? {
            is_placed |= at.is_some();
            members.next_value_seed(Outline::Within)?;
        }
        Ok(Shape::Object { is_placed })
    }
}

/// Which of some names a member has.
struct KeyOf<'k>(&'k [&'k str]);

impl<'de> DeserializeSeed<'de> for KeyOf<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<usize>, E> {
        Ok(self.0.iter().position(|known| *known == key))
    }
}

/// Reads entries of a document.
struct Walk<'w> {
    survey: &'w Survey,
    lists: &'w [&'static str],
    keys: Option<&'w [&'w str]>,
    take: &'w mut dyn FnMut(&'static str, Value),
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = [0; LISTS.len()];
        while let Some(at) = members.next_key_seed(KeyOf(&LISTS))? {
            let is_read = at.is_some_and(|at| {
                seen[at] += 1;
                let list = self.survey.lists[at];
                list.is_list && list.member_count == seen[at] && self.lists.contains(&LISTS[at])
            });
            match at.filter(|_| is_read) {
                Some(at) => {
                    let take = &mut |entry| (self.take)(LISTS[at], entry);
                    members.next_value_seed(Entries { keys: self.keys, take })?;
                }
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads the document among a broker's answers.
struct Answer<'w> {
    number: usize,
    walk: Option<Walk<'w>>,
}

impl<'de> DeserializeSeed<'de> for Answer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Answer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("answers")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut seen = 0;
        while let Some(at) = members.next_key_seed(KeyOf(&[DEFINITIONS]))? {
            seen += usize::from(at.is_some());
            match self.walk.take_if(|_| at.is_some() && seen == self.number) {
                Some(walk) => members.next_value_seed(walk)?,
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads a list, one entry after the other; what is none has no entries.
pub struct Entries<'w> {
    /// The members that are kept; None: all.
    pub keys: Option<&'w [&'w str]>,
    /// Takes each entry.
    pub take: &'w mut dyn FnMut(Value),
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    scalars!(());

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(entry) = list.next_element_seed(EntryOf(self.keys))? {
            (self.take)(entry);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        Outline::Within.visit_map(members).map(drop)
    }
}

/// An entry, or those of its members that are kept.
struct EntryOf<'k>(Option<&'k [&'k str]>);

impl<'de> DeserializeSeed<'de> for EntryOf<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.0 {
            None => Value::deserialize(deserializer),
            Some(keys) => deserializer.deserialize_any(Picked(keys)).map(Value::Object),
        }
    }
}

struct Picked<'k>(&'k [&'k str]);

impl<'de> Visitor<'de> for Picked<'_> {
    type Value = Map<String, Value>;

    scalars!(Map::new());

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Map::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Outline::Within.visit_seq(list).map(|_| Map::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut picked = Map::new();
        while let Some(at) = members.next_key_seed(KeyOf(self.0))? {
            match at {
                Some(at) => drop(picked.insert(self.0[at].to_owned(), members.next_value()?)),
                None => drop(members.next_value_seed(Outline::Within)?),
            }
        }
        Ok(picked)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(text: &str, lists: &[&'static str], keys: Option<&[&str]>) -> Vec<(&'static str, Value)> {
        let mut entries = Vec::new();
        Document::of(text).unwrap().unwrap().each_entry(lists, keys, &mut |list, entry| entries.push((list, entry)));
        entries
    }

    #[test]
    fn entries_come_one_by_one_and_of_the_last_member_of_a_name() {
        let text = r#"{"queues": [{"name": "old"}], "x": [[{"a": 1}]], "vhosts": [{"name": "v", "tags": []}, 7],
                       "queues": [{"name": "a", "b": {"name": 1}}, null, []], "bindings": 3}"#;
        let all = entries(text, &["queues", "vhosts", "bindings"], None);
        let expected: [Value; 5] = [r#"{"name":"v","tags":[]}"#, "7", r#"{"name":"a","b":{"name":1}}"#, "null", "[]"]
            .map(|text| text.parse().unwrap());
        assert_eq!(all.iter().map(|(_, entry)| entry.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(
            all.iter().map(|(list, _)| *list).collect::<Vec<_>>(),
            ["vhosts", "vhosts", "queues", "queues", "queues"]
        );
        let named: Vec<String> =
            entries(text, &["queues"], Some(&["name"])).iter().map(|(_, entry)| entry.to_string()).collect();
        assert_eq!(named, [r#"{"name":"a"}"#, "{}", "{}"]);
        let survey = Document::of(text).unwrap().unwrap().survey;
        assert_eq!(["queues", "bindings", "users"].map(|list| survey.is_list(list)), [Some(true), Some(false), None]);
        assert_eq!(survey.unknown.iter().collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn some_lists_of_a_document_are_a_document() {
        let text = r#"{"users": [{"name": "u"}], "queues": [{}], "vhosts": [1, 2], "permissions": {}}"#;
        let found = lists_of(text, &["vhosts", "users", "permissions"]).unwrap();
        assert_eq!(found.to_string(), r#"{"users":[{"name":"u"}],"vhosts":[1,2]}"#);
        assert_eq!(lists_of("[]", &["users"]).unwrap().to_string(), "{}");
        assert!(lists_of("[", &["users"]).is_err());
    }

    #[test]
    fn what_is_of_one_virtual_host_is_found_out() {
        let vhost = |text: &str| Document::of(text).unwrap().unwrap().survey().single_vhost();
        assert_eq!(
            vhost(r#"{"rabbitmq_definition_format": "single_virtual_host", "original_vhost_name": "v"}"#).as_deref(),
            Some("v")
        );
        assert_eq!(vhost(r#"{"name": "v", "queues": [3, {"name": "q"}], "bindings": []}"#).as_deref(), Some("v"));
        assert_eq!(vhost(r#"{"queues": [{"name": "q"}]}"#).as_deref(), Some("/"));
        for text in [
            r#"{"queues": [{"name": "q"}, {"name": "q", "vhost": "v"}]}"#,
            r#"{"queues": [{"name": "q"}], "vhosts": null}"#,
            r#"{"queues": [3]}"#,
            "{}",
        ] {
            assert_eq!(vhost(text), None, "{text}");
        }
    }

    proptest! {
        /// What is passed over is read as strictly as what is kept, and what is wrong is at the same place.
        #[test]
        fn what_is_no_json_is_told_as_by_reading_all_of_it(
            start in "(\\{\"queues\":){0,1}\\[{0,140}",
            middle in r#"[\]\[{}":,a0-9e+.\\udtnr \-]{0,12}"#,
            end in "\\]{0,140}\\}{0,1}",
        ) {
            let text = start + &middle + &end;
            let whole = serde_json::from_str::<Value>(&text);
            match (Document::of(&text), whole) {
                (Ok(document), Ok(value)) => prop_assert_eq!(document.is_some(), value.is_object()),
                (Err(error), Err(expected)) => prop_assert_eq!(error.to_string(), expected.to_string()),
                (found, expected) => prop_assert!(false, "{}: {:?} {:?}", text, found.is_ok(), expected),
            }
        }
    }
}
