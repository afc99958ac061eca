//! Everything that was looked at: counted, and what there is to say of it, the same said of many items once.
//!
//! Items of which there is nothing to say are numbers only: there may be millions.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

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
    pub source: Arc<str>,
    /// From 1.
    pub line: Option<usize>,
    /// Which entry of a document of definitions.
    pub entry: Option<Entry>,
    /// What it is called.
    pub object: Box<str>,
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
        Place { source: source.into(), line, entry: None, object: object.into().into() }
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

/// The same said of some items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// How it ends for them.
    pub severity: Severity,
    /// A sentence without its full stop.
    pub text: String,
    /// What to do about it; may be empty.
    pub advice: String,
    /// The page of documentation that says more; may be empty.
    pub page: &'static str,
    /// Whether an import of definitions can leave these out.
    pub can_be_left_out: bool,
    /// Whether all places are to be read, and not only some for example.
    pub is_a_list: bool,
    /// How many items of each kind.
    pub counts: Vec<(Noun, usize)>,
    /// Where they are.
    pub places: Vec<Place>,
}

impl Group {
    fn of(remark: &Remark) -> Group {
        Group {
            severity: remark.severity,
            text: remark.text.clone(),
            advice: remark.advice.clone(),
            page: remark.page,
            can_be_left_out: remark.can_be_left_out,
            is_a_list: remark.is_a_list,
            counts: Vec::new(),
            places: Vec::new(),
        }
    }
}

/// All that was looked at.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) works: usize,
    pub(crate) different: usize,
    pub(crate) refused: usize,
    /// In the order in which they came.
    pub(crate) families: Vec<&'static str>,
    /// How many of each kind work as they are.
    pub(crate) working: Vec<(Noun, usize)>,
    /// In the order in which they came.
    pub(crate) groups: Vec<Group>,
    known: HashMap<Remark, usize>,
    /// What is worth knowing and about no item.
    pub(crate) notes: Vec<String>,
}

impl Sheet {
    /// An item, of which nothing is said if it works.
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
        self.add_family(noun.family);
        match remarks.iter().map(|remark| remark.severity).max().unwrap_or(Severity::Works) {
            Severity::Works => {
                self.works += count;
                add(&mut self.working, noun, count);
            }
            Severity::Different => self.different += count,
            Severity::Refused => self.refused += count,
        }
        for remark in remarks {
            let group = self.group(remark);
            add(&mut group.counts, noun, count);
            // What one setting says in several lines is at one place.
            if group.places.last() != Some(&place) {
                group.places.push(place.clone());
            }
        }
    }

    /// One more that works, wherever it is.
    pub(crate) fn put_working(&mut self, noun: Noun) {
        self.add_family(noun.family);
        self.works += 1;
        add(&mut self.working, noun, 1);
    }

    /// Takes what another sheet has, as if it had been put here after all that is here.
    pub(crate) fn append(&mut self, other: Sheet) {
        let Sheet { works, different, refused, families, working, groups, known, notes } = other;
        self.works += works;
        self.different += different;
        self.refused += refused;
        families.into_iter().for_each(|family| self.add_family(family));
        working.into_iter().for_each(|(noun, count)| add(&mut self.working, noun, count));
        let mut remarks: Vec<(Remark, usize)> = known.into_iter().collect();
        remarks.sort_unstable_by_key(|(_, at)| *at);
        for ((remark, _), group) in remarks.into_iter().zip(groups) {
            let own = self.group(remark);
            group.counts.into_iter().for_each(|(noun, count)| add(&mut own.counts, noun, count));
            match own.places.is_empty() {
                true => own.places = group.places,
                false => own.places.extend(group.places),
            }
        }
        self.notes.extend(notes);
    }

    fn add_family(&mut self, family: &'static str) {
        if !self.families.contains(&family) {
            self.families.push(family);
        }
    }

    fn group(&mut self, remark: Remark) -> &mut Group {
        let groups = &mut self.groups;
        let at = *self.known.entry(remark).or_insert_with_key(|remark| {
            groups.push(Group::of(remark));
            groups.len() - 1
        });
        &mut groups[at]
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

fn add(counts: &mut Vec<(Noun, usize)>, noun: Noun, count: usize) {
    match counts.iter_mut().find(|(known, _)| *known == noun) {
        Some((_, number)) => *number += count,
        None => counts.push((noun, count)),
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

    #[test]
    fn a_sheet_that_is_appended_is_as_if_all_had_been_put_into_one() {
        const QUEUE: Noun = Noun::object("queue", "queues");
        const PLUGIN: Noun = Noun { one: "plugin", many: "plugins", family: "plugins" };
        let remark = |text: &str| Remark::different(text, "");
        let first = |sheet: &mut Sheet| {
            sheet.put(PLUGIN, Place::of("f", Some(1), "a"), vec![remark("one"), remark("two")]);
            sheet.put_working(PLUGIN);
        };
        let second = |sheet: &mut Sheet| {
            sheet.put(QUEUE, Place::of("g", None, "b"), vec![remark("three")]);
            sheet.put(QUEUE, Place::of("g", None, "c"), vec![remark("two"), Remark::refused("no", "")]);
            sheet.put(QUEUE, Place::of("g", None, "d"), vec![remark("one"), remark("one")]);
            sheet.put_many(QUEUE, Place::of("g", None, ""), Vec::new(), 3);
            sheet.note("n");
        };
        let (mut whole, mut appended, mut other) = (Sheet::default(), Sheet::default(), Sheet::default());
        first(&mut whole);
        second(&mut whole);
        first(&mut appended);
        second(&mut other);
        appended.append(other);
        assert_eq!((whole.works, whole.different, whole.refused), (4, 3, 1));
        assert_eq!(whole.groups.iter().map(|group| &*group.text).collect::<Vec<_>>(), ["one", "two", "three", "no"]);
        let parts = |sheet: Sheet| {
            let Sheet { works, different, refused, families, working, groups, notes, .. } = sheet;
            ((works, different, refused), families, working, groups, notes)
        };
        assert_eq!(parts(appended), parts(whole));
    }
}
