//! What `check` has found, as text for people and as JSON for programs.

use std::collections::BTreeMap;

use preflight::{Group, Noun, Place, Report, Severity};
use serde::{Serialize, Serializer};

/// Columns of a line.
const WIDTH: usize = 110;
/// Places that are shown for example.
const EXAMPLE_COUNT_MAX: usize = 3;
/// A space at which no line ends.
const UNBROKEN: &str = "\u{a0}";
/// Places of what is to be read one by one.
const LISTED_COUNT_MAX: usize = 40;

pub(crate) fn text(report: &Report) -> String {
    let mut out: Vec<String> =
        report.sources.iter().map(|(name, kind)| format!("{name}: {}", kind.description())).collect();
    out.push(summary(report));
    for (severity, title) in [(Severity::Refused, "Refused"), (Severity::Different, "Works differently")] {
        let mut groups = report.of_severity(severity).peekable();
        if groups.peek().is_some() {
            out.push(format!("\n{title}"));
        }
        groups.for_each(|group| put_group(&mut out, group));
    }
    if !report.working.is_empty() {
        out.push(String::new());
        wrap(&mut out, "", "  ", &format!("Works as it is: {}.", counted(&report.working)));
    }
    if !report.notes.is_empty() {
        out.push(String::new());
    }
    report.notes.iter().for_each(|note| wrap(&mut out, "", "  ", &format!("Note: {note}.")));
    out.push(String::new());
    wrap(&mut out, "", "", verdict(report));
    out.join("\n")
}

fn summary(report: &Report) -> String {
    let total = report.total();
    let families = match report.families.as_slice() {
        [] => return "It contains nothing to check.".to_owned(),
        [one] => (*one).to_owned(),
        [several @ .., last] => format!("{} and {last}", several.join(", ")),
    };
    if report.works == total {
        return format!("All {} {families} work as they are.", grouped(total));
    }
    let mut parts = vec![format!(
        "{} of {} {families} {} as {}",
        grouped(report.works),
        grouped(total),
        verb(report.works, "works", "work"),
        verb(report.works, "it is", "they are")
    )];
    if report.different > 0 {
        parts.push(format!("{} {} differently", grouped(report.different), verb(report.different, "works", "work")));
    }
    if report.refused > 0 {
        parts.push(format!("{} {} refused", grouped(report.refused), verb(report.refused, "is", "are")));
    }
    format!("{}.", parts.join("; "))
}

fn verb(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn verdict(report: &Report) -> &'static str {
    if report.refused == 0 {
        return "Nothing is refused.";
    }
    if report.can_be_left_out() {
        return "What is refused can be left out: `warren ctl import_definitions FILE --skip-unsupported` imports \
                everything else, and lists it.";
    }
    "Resolve what is refused first."
}

fn put_group(out: &mut Vec<String>, group: &Group) {
    out.push(String::new());
    wrap(
        out,
        "  ",
        "  ",
        &format!("{}. ({})", capitalized(&group.text), counted(&group.counts).replace(' ', UNBROKEN)),
    );
    let shown = if group.is_a_list { LISTED_COUNT_MAX } else { EXAMPLE_COUNT_MAX };
    // One more is as short as saying so.
    let shown = if group.places.len() == shown + 1 { shown + 1 } else { shown };
    for place in group.places.iter().take(shown) {
        out.push(format!("    {place}"));
    }
    if group.places.len() > shown {
        out.push(format!("    and {} more", grouped(group.places.len() - shown)));
    }
    if !group.advice.is_empty() {
        wrap(out, "    ", "      ", &format!("To do: {}.", group.advice));
    }
    if !group.page.is_empty() {
        out.push(format!("    See {}", group.page));
    }
}

fn counted(counts: &[(Noun, usize)]) -> String {
    counts.iter().map(|(noun, count)| noun.counted(*count)).collect::<Vec<_>>().join(", ")
}

fn grouped(number: usize) -> String {
    preflight::grouped(number)
}

/// A sentence with a capital letter, unless it begins with the name of a file.
fn capitalized(text: &str) -> String {
    if text.split(' ').next().is_some_and(|first| first.contains('.')) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Lines of a text, the first with other space before it than the rest. Line ends in the text are kept.
fn wrap(out: &mut Vec<String>, first: &str, rest: &str, text: &str) {
    let mut indent = first;
    for paragraph in text.lines() {
        let mut line = indent.to_owned();
        let mut is_empty = true;
        for word in paragraph.split(' ').map(|word| word.replace(UNBROKEN, " ")) {
            if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
                out.push(std::mem::replace(&mut line, rest.to_owned()));
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(&word);
            is_empty = false;
        }
        out.push(line);
        indent = rest;
    }
}

/// A report for programs, written as it is: it may have a million places.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    counts: Counts,
    findings: Vec<Finding<'a>>,
    notes: &'a [String],
    sources: Vec<Source<'a>>,
    verdict: &'static str,
    works: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct Counts {
    different: usize,
    refused: usize,
    total: usize,
    works: usize,
}

#[derive(Serialize)]
struct Source<'a> {
    kind: &'static str,
    name: &'a str,
}

#[derive(Serialize)]
struct Finding<'a> {
    advice: &'a str,
    can_be_left_out: bool,
    counts: BTreeMap<&'static str, usize>,
    page: &'static str,
    #[serde(serialize_with = "places")]
    places: &'a [Place],
    severity: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Where<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<&'static str>,
    object: &'a str,
    source: &'a str,
}

fn by_noun(counts: &[(Noun, usize)]) -> BTreeMap<&'static str, usize> {
    counts.iter().map(|(noun, count)| (noun.many, *count)).collect()
}

fn places<S: Serializer>(places: &&[Place], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(places.iter().map(|place| Where {
        entry: place.entry.map(|entry| entry.number),
        line: place.line,
        list: place.entry.map(|entry| entry.list),
        object: &place.object,
        source: &place.source,
    }))
}

fn finding(group: &Group) -> Finding<'_> {
    let Group { severity, text, advice, page, can_be_left_out, counts, places, .. } = group;
    let (severity, counts) = (severity.name(), by_noun(counts));
    Finding { advice, can_be_left_out: *can_be_left_out, counts, page, places, severity, text }
}

pub(crate) fn document(report: &Report) -> Document<'_> {
    Document {
        counts: Counts {
            different: report.different,
            refused: report.refused,
            total: report.total(),
            works: report.works,
        },
        findings: report.groups.iter().map(finding).collect(),
        notes: &report.notes,
        sources: report.sources.iter().map(|(name, kind)| Source { kind: kind.name(), name }).collect(),
        verdict: report.severity().name(),
        works: by_noun(&report.working),
    }
}
