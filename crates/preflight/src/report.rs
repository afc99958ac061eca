//! What a sheet comes to.

use crate::kind::Kind;
use crate::sheet::{Group, Noun, Severity, Sheet};

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

impl Report {
    pub(crate) fn of(sources: Vec<(String, Kind)>, sheet: Sheet) -> Report {
        let Sheet { works, different, refused, families, working, mut groups, notes, .. } = sheet;
        groups.sort_by_key(|group| std::cmp::Reverse(group.severity));
        Report { sources, works, different, refused, families, groups, working, notes }
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
