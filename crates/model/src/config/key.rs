//! A configuration key that is read: its row in the table, and the type of its values. A key is declared once; the reference, the checks,
//! the default and the reader all take it from there.

use std::time::Duration;

use super::row::{Row, effective};
use super::syntax::KeyPath;
use super::value::{Type, parse_duration, parse_float, parse_integer};
use crate::name::{UserName, VhostName};
use crate::pattern::Pattern;

/// A key whose values are read as `T`.
pub struct Key<T> {
    /// What the table and the reference say of it.
    pub row: Row,
    parse: fn(&str) -> Option<T>,
}

impl<T> Key<T> {
    /// A key that does what its text says. `parse` reads what `kind` accepts. An empty default means unset.
    #[must_use]
    pub const fn new(
        name: &'static str,
        kind: Type,
        default: &'static str,
        text: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Key<T> {
        Key { row: effective(name, kind, default, text), parse }
    }

    /// With new values counting without a restart.
    #[must_use]
    pub const fn reloadable(self) -> Key<T> {
        Key { row: self.row.reloadable(), parse: self.parse }
    }

    /// The key that it is for one word: its name has `$name` in place of that.
    #[must_use]
    pub fn named(&self, word: &str) -> KeyPath {
        let segments: Vec<&str> =
            self.name().split('.').map(|part| if part == "$name" { word } else { part }).collect();
        KeyPath::of(&segments)
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.row.pattern
    }

    /// A text that its type has accepted, as a value.
    pub(super) fn read(&self, text: &str) -> T {
        (self.parse)(text).unwrap_or_else(|| panic!("what the table accepts for {} can be read", self.name()))
    }
}

impl Key<bool> {
    /// `true` or `false`.
    pub const fn bool(name: &'static str, default: &'static str, text: &'static str) -> Key<bool> {
        Key::new(name, Type::Bool, default, text, |text| Some(text == "true"))
    }
}

impl<T: TryFrom<i64>> Key<T> {
    /// A whole number, of a range that fits `T`.
    pub const fn integer(name: &'static str, kind: Type, default: &'static str, text: &'static str) -> Key<T> {
        assert!(matches!(kind, Type::Integer(..)));
        Key::new(name, kind, default, text, |text| T::try_from(parse_integer(text)?).ok())
    }
}

impl<T: TryFrom<u64>> Key<T> {
    /// Bytes, of a range that fits `T`.
    pub const fn size(name: &'static str, kind: Type, default: &'static str, text: &'static str) -> Key<T> {
        assert!(matches!(kind, Type::Size(..)));
        Key::new(name, kind, default, text, |text| T::try_from(human::parse_size(text)?).ok())
    }
}

impl Key<Option<u64>> {
    /// A whole number; none for `infinity`.
    pub const fn unbounded(
        name: &'static str,
        kind: Type,
        default: &'static str,
        text: &'static str,
    ) -> Key<Option<u64>> {
        assert!(matches!(kind, Type::Unbounded(0..)));
        Key::new(name, kind, default, text, |text| {
            Some(parse_integer(text).and_then(|number| u64::try_from(number).ok()))
        })
    }
}

impl Key<f64> {
    /// A number.
    pub const fn float(name: &'static str, kind: Type, default: &'static str, text: &'static str) -> Key<f64> {
        assert!(matches!(kind, Type::Float(..)));
        Key::new(name, kind, default, text, parse_float)
    }
}

impl Key<Duration> {
    /// How long something takes.
    pub const fn duration(name: &'static str, kind: Type, default: &'static str, text: &'static str) -> Key<Duration> {
        assert!(matches!(kind, Type::DurationMs(..)));
        Key::new(name, kind, default, text, parse_duration)
    }
}

impl Key<String> {
    /// A text, or one of some words.
    pub const fn text(name: &'static str, kind: Type, default: &'static str, text: &'static str) -> Key<String> {
        Key::new(name, kind, default, text, |text| Some(text.to_owned()))
    }
}

impl Key<UserName> {
    /// A user's name.
    pub const fn user_name(name: &'static str, default: &'static str, text: &'static str) -> Key<UserName> {
        Key::new(name, Type::UserName, default, text, |text| UserName::parse(text.as_bytes()).ok())
    }
}

impl Key<VhostName> {
    /// A vhost's name.
    pub const fn vhost_name(name: &'static str, default: &'static str, text: &'static str) -> Key<VhostName> {
        Key::new(name, Type::VhostName, default, text, |text| VhostName::parse(text.as_bytes()).ok())
    }
}

impl Key<Pattern> {
    /// A regular expression.
    pub const fn pattern(name: &'static str, default: &'static str, text: &'static str) -> Key<Pattern> {
        Key::new(name, Type::Pattern, default, text, |text| Pattern::parse(text).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::super::remark::Origin;
    use super::super::row::{Section, Table};
    use super::super::values::Values;
    use super::*;

    const WEIGHT: Key<u32> = Key::integer("a.$name.weight", Type::Integer(0, 9), "1", "");
    const URL: Key<String> = Key::text("a.$name.url", Type::Text, "", "");
    static TABLE: Table = Table(&[Section { title: "", keys: &[WEIGHT.row, URL.row] }]);

    #[test]
    fn a_key_with_a_placeholder_has_a_value_for_each_word() {
        let mut values = Values::new(&TABLE);
        values.assign(&WEIGHT.named("b.c"), "5", Origin::Set);
        assert_eq!(WEIGHT.named("b.c").segments(), ["a", "b.c", "weight"]);
        assert_eq!((values.find_named(&WEIGHT, "b.c"), values.find_named(&WEIGHT, "d")), (Some(5), Some(1)));
        assert_eq!(values.find_named(&URL, "b.c"), None);
    }
}
