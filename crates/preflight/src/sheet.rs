//! Everything that was looked at, item by item, with what there is to say of each.

use std::fmt;

/// How it ends for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// As it is.
    Works,
    /// It does something else, or nothing; whatever that is does no harm.
    Different,
    /// Not at all.
    Refused,
}

impl Severity {
    /// Its name for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Works => "works",
            Severity::Different => "different",
            Severity::Refused => "refused",
        }
    }
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Noun {
    /// Of one.
    pub one: &'static str,
    /// Of several.
    pub many: &'static str,
    /// What many kinds of things are together: settings, plugins, objects.
    pub family: &'static str,
}

impl Noun {
    pub(crate) const fn object(one: &'static str, many: &'static str) -> Noun {
        Noun { one, many, family: "objects" }
    }

    /// A number of them.
    #[must_use]
    pub fn counted(self, count: usize) -> String {
        format!("{} {}", grouped(count), if count == 1 { self.one } else { self.many })
    }
}

/// A number as people read it: `12,000`.
#[must_use]
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Where an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, or the address of the broker.
    pub source: String,
    /// From 1.
    pub line: Option<usize>,
    /// Which entry of a document of definitions.
    pub entry: Option<Entry>,
    /// What it is called.
    pub object: String,
}

/// An entry of a document of definitions: the list that it is in, and its number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Such as `queues`.
    pub list: &'static str,
    /// From 1.
    pub number: usize,
}

impl Place {
    pub(crate) fn of(source: &str, line: Option<usize>, object: impl Into<String>) -> Place {
        Place { source: source.to_owned(), line, entry: None, object: object.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if self.object.is_empty() { Ok(()) } else { write!(f, ": {}", self.object) }
    }
}

/// What there is to say of an item. Of items that have the same said of them only some are shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Remark {
    pub(crate) severity: Severity,
    /// A sentence without its full stop.
    pub(crate) text: String,
    /// What to do about it; may be empty.
    pub(crate) advice: String,
    pub(crate) page: &'static str,
    /// Whether an import can leave it out.
    pub(crate) can_be_left_out: bool,
    /// Whether all places are to be read, and not only some for example.
    pub(crate) is_a_list: bool,
}

impl Remark {
    fn new(severity: Severity, text: String, page: &'static str) -> Remark {
        Remark { severity, text, advice: String::new(), page, can_be_left_out: false, is_a_list: false }
    }

    pub(crate) fn refused(text: impl Into<String>, page: &'static str) -> Remark {
        Remark::new(Severity::Refused, text.into(), page)
    }

    pub(crate) fn different(text: impl Into<String>, page: &'static str) -> Remark {
        Remark::new(Severity::Different, text.into(), page)
    }

    pub(crate) fn advising(self, advice: impl Into<String>) -> Remark {
        Remark { advice: advice.into(), ..self }
    }

    pub(crate) fn that_can_be_left_out(self) -> Remark {
        Remark { can_be_left_out: true, ..self }
    }

    pub(crate) fn in_full(self) -> Remark {
        Remark { is_a_list: true, ..self }
    }
}

/// Something that was looked at.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) noun: Noun,
    pub(crate) place: Place,
    /// Nothing if it works.
    pub(crate) remarks: Vec<Remark>,
    /// How many such things it stands for.
    pub(crate) count: usize,
}

impl Item {
    pub(crate) fn severity(&self) -> Severity {
        self.remarks.iter().map(|remark| remark.severity).max().unwrap_or(Severity::Works)
    }
}

/// All that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) items: Vec<Item>,
    /// What is worth knowing and about no item.
    pub(crate) notes: Vec<String>,
}

impl Sheet {
    pub(crate) fn put(&mut self, noun: Noun, place: Place, remarks: Vec<Remark>) {
        self.put_many(noun, place, remarks, 1);
    }

    /// What is said twice of one item counts once.
    pub(crate) fn put_many(&mut self, noun: Noun, place: Place, said: Vec<Remark>, count: usize) {
        let mut remarks: Vec<Remark> = Vec::with_capacity(said.len());
        for remark in said {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        self.items.push(Item { noun, place, remarks, count });
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_groups_of_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(Noun::object("policy", "policies").counted(1), "1 policy");
        assert_eq!(Noun::object("policy", "policies").counted(2000), "2,000 policies");
    }
}
