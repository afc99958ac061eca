//! What a sheet comes to: the same said of many items said once, and numbers.

use std::collections::HashMap;

use crate::kind::Kind;
use crate::sheet::{Item, Noun, Place, Remark, Severity, Sheet};

/// What there is to say, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was looked at, and what it was taken for.
    pub sources: Vec<(String, Kind)>,
    /// How many settings, plugins and objects work as they are.
    pub works: usize,
    /// How many work differently.
    pub different: usize,
    /// How many are refused.
    pub refused: usize,
    /// What they are together: settings, plugins, objects; in the order in which they came.
    pub families: Vec<&'static str>,
    /// What there is to say, what is refused first.
    pub groups: Vec<Group>,
    /// How many of each kind work as they are.
    pub working: Vec<(Noun, usize)>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
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

impl Report {
    pub(crate) fn of(sources: Vec<(String, Kind)>, sheet: Sheet) -> Report {
        let (mut works, mut different, mut refused) = (0, 0, 0);
        let mut families = Vec::new();
        let mut working = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<Remark, usize> = HashMap::new();
        for item in sheet.items {
            if !families.contains(&item.noun.family) {
                families.push(item.noun.family);
            }
            match item.severity() {
                Severity::Works => {
                    works += item.count;
                    add(&mut working, item.noun, item.count);
                }
                Severity::Different => different += item.count,
                Severity::Refused => refused += item.count,
            }
            let Item { noun, place, remarks, count } = item;
            for remark in remarks {
                let at = *known.entry(remark).or_insert_with_key(|remark| {
                    groups.push(Group::of(remark));
                    groups.len() - 1
                });
                add(&mut groups[at].counts, noun, count);
                // What one setting says in several lines is at one place.
                if groups[at].places.last() != Some(&place) {
                    groups[at].places.push(place.clone());
                }
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.severity));
        Report { sources, works, different, refused, families, groups, working, notes: sheet.notes }
    }

    /// How many settings, plugins and objects were looked at.
    #[must_use]
    pub fn total(&self) -> usize {
        self.works + self.different + self.refused
    }

    /// What there is to say of this severity.
    pub fn of_severity(&self, severity: Severity) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(move |group| group.severity == severity)
    }

    /// Whether all that is refused is in definitions, and can be left out when they are imported.
    #[must_use]
    pub fn can_be_left_out(&self) -> bool {
        self.refused > 0 && self.of_severity(Severity::Refused).all(|group| group.can_be_left_out)
    }

    /// The most that was found.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match (self.refused, self.different) {
            (0, 0) => Severity::Works,
            (0, _) => Severity::Different,
            (_, _) => Severity::Refused,
        }
    }
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

fn add(counts: &mut Vec<(Noun, usize)>, noun: Noun, count: usize) {
    match counts.iter_mut().find(|(known, _)| *known == noun) {
        Some((_, number)) => *number += count,
        None => counts.push((noun, count)),
    }
}
