//! Texts with variables, made ready: names are looked up once, not for every user.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::plan::{Random, Template};

/// Why a text cannot be made ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("\"{0}\" has a {{ that no }} closes; {{{{ is a brace itself")]
    Unclosed(String),
}

/// This variable has not been set yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown variable \"{0}\"")]
pub(crate) struct UnknownVariable(pub(crate) String);

/// The place of a variable among a user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(usize);

/// The names of a script's variables, those included that nothing sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<Box<str>>);

impl Names {
    /// The variable of this name.
    pub(crate) fn slot(&mut self, name: &str) -> Slot {
        let known = self.0.iter().position(|known| **known == *name);
        Slot(known.unwrap_or_else(|| {
            self.0.push(name.into());
            self.0.len() - 1
        }))
    }

    fn unknown(&self, slot: Slot) -> UnknownVariable {
        UnknownVariable(self.0.get(slot.0).map_or(String::new(), |name| name.clone().into_string()))
    }
}

/// The values of one user's variables. Takes no memory until one is set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(Vec<Option<Box<str>>>);

impl Variables {
    pub(crate) fn set(&mut self, slot: Slot, value: &str) {
        if self.0.len() <= slot.0 {
            self.0.resize(slot.0 + 1, None);
        }
        self.0[slot.0] = Some(value.into());
    }

    pub(crate) fn get(&self, slot: Slot, names: &Names) -> Result<&str, UnknownVariable> {
        self.0.get(slot.0).and_then(Option::as_deref).ok_or_else(|| names.unknown(slot))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    User,
    Uuid,
    Variable(Slot),
}

/// A text with variables, made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    parts: Box<[Part]>,
}

/// Whose text it becomes.
#[derive(Debug)]
pub(crate) struct Filling<'a> {
    pub(crate) user: u32,
    pub(crate) variables: &'a Variables,
    pub(crate) names: &'a Names,
}

impl Text {
    pub(crate) fn new(template: &Template, names: &mut Names) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = template.0.as_str();
        while let Some(start) = rest.find('{') {
            plain.push_str(&rest[..start]);
            rest = &rest[start + 1..];
            if let Some(after) = rest.strip_prefix('{') {
                plain.push('{');
                rest = after;
                continue;
            }
            let (name, after) = rest.split_once('}').ok_or_else(|| TemplateError::Unclosed(template.0.clone()))?;
            rest = after;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain).into()));
            }
            parts.push(match name {
                "user" => Part::User,
                "uuid" => Part::Uuid,
                name => Part::Variable(names.slot(name)),
            });
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into()));
        }
        Ok(Text { parts: parts.into() })
    }

    /// The text, if it is the same for all users.
    pub(crate) fn constant(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// One user's text. Every `{uuid}` is another.
    pub(crate) fn fill(&self, filling: &Filling<'_>, random: &mut Random) -> Result<Cow<'_, str>, UnknownVariable> {
        if let Some(text) = self.constant() {
            return Ok(Cow::Borrowed(text));
        }
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                // Writing to a string does not fail.
                Part::User => drop(write!(filled, "{}", filling.user)),
                Part::Uuid => filled.push_str(&random.uuid()),
                Part::Variable(slot) => filled.push_str(filling.variables.get(*slot, filling.names)?),
            }
        }
        Ok(Cow::Owned(filled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a text becomes for user 17, whose variable `a` is "x" and whose `b` has not been set.
    fn filled(template: &str) -> Result<String, String> {
        let mut names = Names::default();
        let text = Text::new(&Template(template.to_owned()), &mut names).map_err(|error| error.to_string())?;
        let mut variables = Variables::default();
        variables.set(names.slot("a"), "x");
        let filling = Filling { user: 17, variables: &variables, names: &names };
        let filled = text.fill(&filling, &mut Random::new(1, 1)).map_err(|error| error.to_string())?;
        Ok(filled.into_owned())
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        assert_eq!(filled(template).unwrap_or_else(|error| error), expected, "{template}");
    }

    #[test]
    fn variables_become_their_values() {
        check("", "");
        check("q-{user}", "q-17");
        check("{a}{user}{a}", "x17x");
        check("{{user}} {{ } {{{a}", "{user}} { } {x");
    }

    #[test]
    fn variable_that_nobody_set_is_named() {
        check("{a}-{b}", "unknown variable \"b\"");
        check("{}", "unknown variable \"\"");
        check("q-{user", "\"q-{user\" has a { that no } closes; {{ is a brace itself");
    }

    #[test]
    fn each_uuid_is_another() {
        let both = filled("{uuid} {uuid}").unwrap();
        let (one, other) = both.split_once(' ').unwrap();
        assert_ne!(one, other);
        assert_eq!(one.len(), 36);
    }

    proptest! {
        #[test]
        fn text_whose_braces_are_doubled_stays_as_it_is(text in ".{0,40}") {
            prop_assert_eq!(filled(&text.replace('{', "{{")), Ok(text));
        }

        #[test]
        fn nothing_that_is_written_breaks_it(text in "[{}a-c ]{0,20}") {
            let _ = filled(&text);
        }
    }
}
