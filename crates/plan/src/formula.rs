//! Arithmetic that can be shown: a line's value is worked out from the very tree that is printed, so the two cannot differ.

use crate::quantity::Quantity;

/// How a number comes about.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A number with a name: an input, an assumption, or a line further up.
    Term(Quantity),
    /// A bare number.
    Number(f64),
    /// All of them together.
    Sum(Vec<Formula>),
    /// What is left of the first without the second.
    Difference(Box<[Formula; 2]>),
    /// One times the other.
    Product(Vec<Formula>),
    /// The first divided by the second.
    Quotient(Box<[Formula; 2]>),
    /// Rounded up to a whole number.
    Ceiling(Box<Formula>),
    /// The largest of them.
    Largest(Vec<Formula>),
    /// The smallest of them.
    Smallest(Vec<Formula>),
}

impl From<&Quantity> for Formula {
    fn from(term: &Quantity) -> Self {
        Formula::Term(term.clone())
    }
}

impl From<f64> for Formula {
    fn from(number: f64) -> Self {
        Formula::Number(number)
    }
}

/// All parts together.
pub(crate) fn sum<const N: usize>(parts: [Formula; N]) -> Formula {
    Formula::Sum(parts.into())
}

/// The parts multiplied.
pub(crate) fn product<const N: usize>(parts: [Formula; N]) -> Formula {
    Formula::Product(parts.into())
}

/// One divided by the other.
pub(crate) fn quotient(upper: impl Into<Formula>, lower: impl Into<Formula>) -> Formula {
    Formula::Quotient(Box::new([upper.into(), lower.into()]))
}

/// One without the other.
pub(crate) fn difference(from: impl Into<Formula>, without: impl Into<Formula>) -> Formula {
    Formula::Difference(Box::new([from.into(), without.into()]))
}

/// The next whole number.
pub(crate) fn ceiling(of: Formula) -> Formula {
    Formula::Ceiling(Box::new(of))
}

impl Formula {
    /// What it comes to.
    #[must_use]
    pub fn value(&self) -> f64 {
        let values = |parts: &[Formula]| parts.iter().map(Formula::value).collect::<Vec<_>>();
        match self {
            Formula::Term(term) => term.value,
            Formula::Number(number) => *number,
            Formula::Sum(parts) => values(parts).iter().sum(),
            Formula::Product(parts) => values(parts).iter().product(),
            Formula::Difference(of) => of[0].value() - of[1].value(),
            Formula::Quotient(of) => of[0].value() / of[1].value(),
            Formula::Ceiling(of) => of.value().ceil(),
            Formula::Largest(parts) => values(parts).into_iter().fold(f64::NEG_INFINITY, f64::max),
            Formula::Smallest(parts) => values(parts).into_iter().fold(f64::INFINITY, f64::min),
        }
    }

    /// In names alone: `peak rate × body`.
    #[must_use]
    pub fn in_names(&self) -> String {
        self.write(&|term| term.name.clone(), Binding::Loose)
    }

    /// In names and numbers: `peak rate 3,000/s × body 1,024 B`.
    #[must_use]
    pub fn in_numbers(&self) -> String {
        self.write(&|term| format!("{} {}", term.name, term.show()), Binding::Loose)
    }

    /// Its terms, each once, in the order in which they stand.
    #[must_use]
    pub fn terms(&self) -> Vec<&Quantity> {
        let mut found: Vec<&Quantity> = Vec::new();
        self.gather(&mut found);
        found
    }

    fn gather<'a>(&'a self, found: &mut Vec<&'a Quantity>) {
        match self {
            Formula::Term(term) if found.iter().all(|other| other.name != term.name) => found.push(term),
            Formula::Term(_) | Formula::Number(_) => {}
            Formula::Sum(parts) | Formula::Product(parts) | Formula::Largest(parts) | Formula::Smallest(parts) => {
                parts.iter().for_each(|part| part.gather(found));
            }
            Formula::Difference(parts) | Formula::Quotient(parts) => parts.iter().for_each(|part| part.gather(found)),
            Formula::Ceiling(of) => of.gather(found),
        }
    }

    fn write(&self, term: &dyn Fn(&Quantity) -> String, around: Binding) -> String {
        let each = |parts: &[Formula], binding| parts.iter().map(|part| part.write(term, binding)).collect::<Vec<_>>();
        let (text, own) = match self {
            Formula::Term(quantity) => (term(quantity), Binding::Whole),
            Formula::Number(number) => (format!("{number}"), Binding::Whole),
            // Brackets around one part would say nothing.
            Formula::Sum(parts) | Formula::Product(parts) | Formula::Largest(parts) if parts.len() == 1 => {
                return parts[0].write(term, around);
            }
            Formula::Sum(parts) => (each(parts, Binding::Loose).join(" + "), Binding::Loose),
            Formula::Difference(of) => (
                format!("{} − {}", of[0].write(term, Binding::Loose), of[1].write(term, Binding::Tight)),
                Binding::Loose,
            ),
            Formula::Product(parts) => (each(parts, Binding::Tight).join(" × "), Binding::Tight),
            Formula::Quotient(of) => (
                format!("{} / {}", of[0].write(term, Binding::Tight), of[1].write(term, Binding::Whole)),
                Binding::Tight,
            ),
            Formula::Ceiling(of) => (format!("⌈{}⌉", of.write(term, Binding::Loose)), Binding::Whole),
            Formula::Largest(parts) => {
                (format!("largest of ({})", each(parts, Binding::Loose).join("; ")), Binding::Whole)
            }
            Formula::Smallest(parts) => {
                (format!("smallest of ({})", each(parts, Binding::Loose).join("; ")), Binding::Whole)
            }
        };
        if own < around { format!("({text})") } else { text }
    }
}

/// How closely a formula's parts hold together: one that is looser than what is around it stands in brackets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loose,
    Tight,
    Whole,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Unit;

    fn term(name: &str, value: f64) -> Formula {
        Formula::Term(Quantity::new(name, value, Unit::Count))
    }

    #[track_caller]
    fn check(formula: &Formula, value: f64, names: &str, numbers: &str) {
        assert_eq!(formula.value(), value);
        assert_eq!(formula.in_names(), names);
        assert_eq!(formula.in_numbers(), numbers);
    }

    #[test]
    fn what_is_shown_is_what_is_worked_out() {
        let both = || sum([term("in", 5.0), term("out", 5.0)]);
        check(&both(), 10.0, "in + out", "in 5 + out 5");
        check(&product([both(), 2.0.into()]), 20.0, "(in + out) × 2", "(in 5 + out 5) × 2");
        check(&sum([product([term("a", 2.0), term("b", 3.0)]), 1.0.into()]), 7.0, "a × b + 1", "a 2 × b 3 + 1");
        check(&ceiling(quotient(term("a", 5.0), 2.0)), 3.0, "⌈a / 2⌉", "⌈a 5 / 2⌉");
        check(&quotient(term("a", 8.0), product([2.0.into(), 2.0.into()])), 2.0, "a / (2 × 2)", "a 8 / (2 × 2)");
        check(&quotient(sum([term("a", 8.0)]), 2.0), 4.0, "a / 2", "a 8 / 2");
        check(&difference(1.0, difference(3.0, 2.5)), 0.5, "1 − (3 − 2.5)", "1 − (3 − 2.5)");
        check(&Formula::Largest(vec![1.0.into(), term("b", 3.0)]), 3.0, "largest of (1; b)", "largest of (1; b 3)");
        check(&Formula::Smallest(vec![1.0.into(), term("b", 3.0)]), 1.0, "smallest of (1; b)", "smallest of (1; b 3)");
    }

    #[test]
    fn each_term_is_named_once() {
        let formula = sum([term("a", 1.0), product([term("b", 2.0), term("a", 1.0)])]);
        assert_eq!(formula.terms().iter().map(|term| term.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
