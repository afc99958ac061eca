//! No crate breaks a rule more often than it may: `crates/tidy/src/rules.rs` has the rules, `crates/tidy/ceilings` what is still allowed.

use std::fmt::Write;

use tidy::ceilings;
use tidy::rules::{Findings, RULES, Rule};

/// Lines that a failure shows of each crate.
const SHOWN_MAX: usize = 60;

macro_rules! held {
    ($($test:ident: $rule:literal,)*) => {
        $(#[test]
        fn $test() {
            check($rule);
        })*

        #[test]
        fn each_rule_has_its_test() {
            assert_eq!([$($rule),*].as_slice(), RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
        }
    };
}

held! {
    lines_are_not_too_wide: "wide-lines",
    files_are_not_too_long: "long-files",
    functions_are_not_too_long: "long-functions",
    modules_are_laid_out_in_one_way: "layout",
    files_say_what_they_are_for: "module-docs",
    comments_and_documents_name_who_acts: "banned-words",
    dependencies_are_used: "unused-dependencies",
    files_stand_in_no_large_circle: "circle",
    arrows_of_broker_run_downward: "upward",
}

#[track_caller]
fn check(name: &str) {
    let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
    let ceilings = ceilings::read();
    let mut report = String::new();
    for (krate, found) in (rule.find)() {
        let ceiling = ceilings.get(&(name.to_owned(), krate.clone())).copied().unwrap_or(rule.allowed);
        if found.len() > ceiling {
            writeln!(report, "{krate}: {} where {ceiling} are allowed", found.len()).unwrap();
            for line in found.iter().take(SHOWN_MAX) {
                writeln!(report, "    {line}").unwrap();
            }
        }
    }
    assert!(report.is_empty(), "{name}: {}\n{report}", rule.advice);
}

fn all() -> Vec<(&'static str, Findings)> {
    RULES.iter().map(|rule: &Rule| (rule.name, (rule.find)())).collect()
}

#[test]
#[ignore = "shows all figures: make figures"]
fn print_figures() {
    for (name, findings) in all() {
        println!("\n{name}");
        for (krate, found) in findings.iter().filter(|(_, found)| !found.is_empty()) {
            println!("    {krate}: {}", found.len());
            for line in found.iter().take(if name == "banned-words" { 0 } else { SHOWN_MAX }) {
                println!("        {line}");
            }
        }
    }
}

#[test]
#[ignore = "writes crates/tidy/ceilings: make ceilings"]
fn write_ceilings() {
    ceilings::write(&all()).unwrap();
}
