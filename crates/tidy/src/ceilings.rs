//! How much breaks a rule today, by crate, where it is more than the rule allows. These figures may only go down.
//!
//! `crates/tidy/ceilings` has a line each: the rule, the crate, the figure. `make ceilings` writes today's figures. It refuses where a
//! rule's figures would grow in all, so figures can move with files from one crate to another, and not rise.

use std::collections::BTreeMap;
use std::fs;

use crate::rules::{Findings, RULES};
use crate::workspace::root;

const HEADING: &str = "\
# What breaks a rule of crates/tidy/src/rules.rs, where it is more than the rule allows: the rule, the crate, how often.
# These figures may only go down. `make ceilings` writes those of today; `make figures` shows all.
";

/// Figures by rule and crate.
pub type Figures = BTreeMap<(String, String), usize>;

fn path() -> std::path::PathBuf {
    root().join("crates/tidy/ceilings")
}

/// What is allowed.
pub fn read() -> Figures {
    parse(&fs::read_to_string(path()).expect("the ceilings are there"))
}

fn parse(text: &str) -> Figures {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let figure = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [rule, krate, figure] = words[..] else { panic!("not a rule, a crate and a figure: {line}") };
        ((rule.to_owned(), krate.to_owned()), figure.parse().unwrap_or_else(|_| panic!("not a figure: {line}")))
    };
    lines.map(figure).collect()
}

fn render(figures: &Figures) -> String {
    let lines: Vec<_> = figures.iter().map(|((rule, krate), figure)| format!("{rule} {krate} {figure}\n")).collect();
    HEADING.to_owned() + &lines.concat()
}

/// Writes today's figures, if no rule is broken more often than before, all crates together. Returns what would have grown.
pub fn write(found: &[(&str, Findings)]) -> Result<(), String> {
    let lowered = lower(&read(), found)?;
    fs::write(path(), render(&lowered)).map_err(|error| error.to_string())
}

fn lower(before: &Figures, found: &[(&str, Findings)]) -> Result<Figures, String> {
    let mut figures = Figures::new();
    for (name, findings) in found {
        let allowed = RULES.iter().find(|rule| rule.name == *name).map_or(0, |rule| rule.allowed);
        let above = findings.iter().filter(|(_, lines)| lines.len() > allowed);
        let now: Figures = above.map(|(krate, lines)| (((*name).to_owned(), krate.clone()), lines.len())).collect();
        let was: usize = before.iter().filter(|((rule, _), _)| rule == name).map(|(_, figure)| figure).sum();
        let is: usize = now.values().sum();
        if is > was {
            return Err(format!("{name}: {is} now, {was} before; these figures do not go up"));
        }
        figures.extend(now);
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_move_and_fall_and_do_not_rise() {
        let before = parse("# x\n\nlong-files broker 3\nlong-files store 1\n");
        let found = |counts: &[(&str, usize)]| {
            let lines = counts.iter().map(|(krate, count)| ((*krate).to_owned(), vec!["x".to_owned(); *count]));
            [("long-files", lines.collect::<Findings>())]
        };
        let moved = lower(&before, &found(&[("broker", 1), ("engine", 2), ("store", 0)])).expect("fewer in all");
        assert_eq!(render(&moved), format!("{HEADING}long-files broker 1\nlong-files engine 2\n"));
        assert!(lower(&before, &found(&[("broker", 3), ("engine", 2)])).is_err());
    }
}
