//! The sheet of lines that a plan is: sections, lines with their arithmetic, and what of a machine each needs.

use crate::formula::Formula;
use crate::limits::{Fit, Resource};
use crate::quantity::{Quantity, Unit};

/// A line: a number, and how it comes about.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name, for programs: `network.wire-in`. Does not change.
    pub id: String,
    /// Its name, for people, and what it comes to.
    pub quantity: Quantity,
    /// How. None: it is an input.
    pub formula: Option<Formula>,
    /// Where the figures come from that are no inputs; for an input, its origin.
    pub source: String,
    /// What of a machine it needs.
    pub needs: Option<Resource>,
    /// Whether the machine has that.
    pub fit: Option<Fit>,
}

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The first part of its lines' ids.
    pub id: &'static str,
    /// For people.
    pub title: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// Lines that are answers, though no machine has to have them; the first of them comes first.
const ANSWERS: [&str; 3] = ["count.nodes", "latency.mean", "latency.most"];

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// In the order in which they follow from each other.
    pub sections: Vec<Section>,
    /// What has to be said besides, a sentence each.
    pub remarks: Vec<String>,
}

impl Sheet {
    /// Begins a section.
    pub(crate) fn section(&mut self, id: &'static str, title: impl Into<String>) {
        self.sections.push(Section { id, title: title.into(), lines: Vec::new() });
    }

    /// Adds what was said.
    pub(crate) fn input(&mut self, id: &str, quantity: Quantity, source: String) {
        self.push(Line { id: id.to_owned(), quantity, formula: None, source, needs: None, fit: None });
    }

    /// Adds a line, and gives its result to continue with.
    pub(crate) fn line(&mut self, id: &str, name: &str, unit: Unit, formula: Formula, source: &str) -> Quantity {
        self.add(id, name, unit, formula, source, None)
    }

    /// The same for what a machine has to have.
    pub(crate) fn need(
        &mut self,
        id: &str,
        name: &str,
        resource: Resource,
        formula: Formula,
        source: &str,
    ) -> Quantity {
        self.add(id, name, resource.unit(), formula, source, Some(resource))
    }

    fn add(
        &mut self,
        id: &str,
        name: &str,
        unit: Unit,
        formula: Formula,
        source: &str,
        needs: Option<Resource>,
    ) -> Quantity {
        let quantity = Quantity::new(name, formula.value(), unit);
        let (formula, source) = (Some(formula), source.to_owned());
        self.push(Line { id: id.to_owned(), quantity: quantity.clone(), formula, source, needs, fit: None });
        quantity
    }

    fn push(&mut self, line: Line) {
        let section = self.sections.last_mut().expect("a section is begun before its lines");
        section.lines.push(Line { id: format!("{}.{}", section.id, line.id), ..line });
    }

    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.sections.iter().flat_map(|section| &section.lines)
    }

    /// All lines, to be held against a machine.
    pub(crate) fn lines_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.sections.iter_mut().flat_map(|section| &mut section.lines)
    }

    /// Whether the machine has all that is needed, as far as that is known. None: nothing is known of it.
    #[must_use]
    pub fn fits(&self) -> Option<bool> {
        let known = self.lines().filter_map(|line| line.fit.as_ref()).filter(|fit| matches!(fit, Fit::Known { .. }));
        known.map(|fit| !fit.is_too_much()).reduce(|all, fits| all && fits)
    }

    /// The lines that answer what a machine has to have, how many there have to be, and how long a confirm takes.
    pub fn answers(&self) -> impl Iterator<Item = &Line> {
        let is_answer = |line: &&Line| line.needs.is_some() || ANSWERS.contains(&line.id.as_str());
        let (count, rest): (Vec<_>, Vec<_>) = self.lines().filter(is_answer).partition(|line| line.id == ANSWERS[0]);
        count.into_iter().chain(rest)
    }

    /// What a line comes to, by its id.
    #[must_use]
    pub fn value(&self, id: &str) -> Option<f64> {
        self.lines().find(|line| line.id == id).map(|line| line.quantity.value)
    }
}
