//! A sheet for a terminal: the answer first; then a line for each number, with its formula beside it, and below that where its figures are
//! from and whether the machine has it.

use terminal::table::{Column, row};

use crate::limits::Fit;
use crate::sheet::{Line, Sheet};

/// Columns of the whole.
const WIDTH: usize = 120;
const NAME_WIDTH: usize = 35;
const VALUE_WIDTH: usize = 13;
/// A blank column, then names, numbers, and what belongs to them.
const COLUMNS: [Column; 4] =
    [Column::left(0), Column::left(NAME_WIDTH), Column::right(VALUE_WIDTH).after(1), Column::left(0)];
/// Where formulas begin.
const FORMULA_AT: usize = 2 + NAME_WIDTH + 1 + VALUE_WIDTH + 2;

/// The sheet as a text.
#[must_use]
pub fn text(sheet: &Sheet) -> String {
    let mut out = String::new();
    write_answer(&mut out, sheet);
    for section in &sheet.sections {
        out.push('\n');
        put(&mut out, &section.title);
        let mut source_before = "";
        for line in &section.lines {
            write_line(&mut out, line, source_before);
            source_before = &line.source;
        }
    }
    out
}

/// What is needed of each machine, and whether it is there. Where it comes from follows below.
fn write_answer(out: &mut String, sheet: &Sheet) {
    put(out, "Answer");
    for line in sheet.answers() {
        let fit = line.fit.as_ref().map(|fit| fit.show(line.quantity.unit)).unwrap_or_default();
        put_row(out, line, &fit);
    }
    match sheet.fits() {
        None => {}
        Some(true) => put(out, "It fits, as far as is known."),
        Some(false) => {
            let misfits = sheet.lines().filter(|line| line.fit.as_ref().is_some_and(Fit::is_too_much));
            let names: Vec<&str> = misfits.map(|line| line.quantity.name.as_str()).collect();
            put(out, &format!("A node does not have enough of: {}.", names.join(", ")));
        }
    }
    sheet.remarks.iter().for_each(|remark| put(out, remark));
}

fn put(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The quantity of a line, and what belongs to it.
fn put_row(out: &mut String, line: &Line, text: &str) {
    put(out, &row(&COLUMNS, &["", &line.quantity.name, &line.quantity.show(), text]));
}

fn write_line(out: &mut String, line: &Line, source_before: &str) {
    let Some(formula) = &line.formula else { return put_row(out, line, &line.source) };
    let mut pieces = wrap(&in_pieces(&format!("= {}", formula.in_numbers())));
    put_row(out, line, &pieces.remove(0));
    let below = |out: &mut String, text: &str| put(out, &format!("{:FORMULA_AT$}{text}", ""));
    pieces.iter().for_each(|piece| below(out, &format!("  {piece}")));
    let in_words = |text: &str| wrap(&text.split_inclusive(' ').map(str::to_owned).collect::<Vec<_>>());
    if !line.source.is_empty() && line.source != source_before {
        in_words(&format!("({})", line.source)).iter().for_each(|words| below(out, words));
    }
    if let Some(fit) = &line.fit {
        in_words(&fit.show(line.quantity.unit)).iter().for_each(|words| below(out, words));
    }
}

/// A formula cut where it may be broken: before an operator outside of brackets, and inside of those that are too long for a line.
fn in_pieces(formula: &str) -> Vec<String> {
    let pieces = split(formula, false);
    pieces
        .into_iter()
        .flat_map(|piece| if is_too_wide(0, &piece) { split(&piece, true) } else { vec![piece] })
        .collect()
}

fn split(formula: &str, is_inside: bool) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut depth = 0_i32;
    for word in formula.split_inclusive(' ') {
        let is_operator = matches!(word.trim_end(), "+" | "×" | "/" | "−");
        if is_operator && (depth == 0 || is_inside) {
            pieces.push(String::new());
        }
        if let Some(last) = pieces.last_mut() {
            last.push_str(word);
        }
        depth += word.matches(['(', '⌈']).count() as i32 - word.matches([')', '⌉']).count() as i32;
        if word.trim_end().ends_with(';') && is_inside {
            pieces.push(String::new());
        }
    }
    pieces
}

/// Whether a piece behind so many columns of a formula would be too wide.
fn is_too_wide(before: usize, piece: &str) -> bool {
    FORMULA_AT + before + piece.trim_end().chars().count() > WIDTH
}

/// Pieces put together to lines that are not too wide; at least one.
fn wrap(pieces: &[String]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in pieces {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && is_too_wide(last, piece) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(piece);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Formula, product, sum};
    use crate::limits::Resource;
    use crate::quantity::{Quantity, Unit};

    #[track_caller]
    fn check(sheet: &Sheet, expected: &str) {
        let text = text(sheet);
        assert_eq!(text, expected, "\n{text}");
    }

    fn term(name: &str, value: f64) -> Formula {
        (&Quantity::new(name, value, Unit::BitsPerSecond)).into()
    }

    #[test]
    fn each_line_shows_its_arithmetic() {
        let mut sheet = Sheet::default();
        sheet.section("workload", "Workload");
        sheet.input("rate", Quantity::new("rate", 20_000.0, Unit::PerSecond), "given".to_owned());
        sheet.section("network", "Network");
        let all = sum([term("in", 5e9), term("out", 5e9)]);
        let both = sheet.line("both", "both ways", Unit::BitsPerSecond, all, "where it is from");
        let twice = product([(&both).into(), 2.0.into()]);
        sheet.line("twice", "twice", Unit::BitsPerSecond, twice, "where it is from");
        let long =
            sum([term("a long name for something", 1.0), term("another one for more", 2.0), term("a third", 3.0)]);
        let need = sheet.need("need", "needed", Resource::Network, long, "");
        assert_eq!(need.value, 6.0);
        sheet.remarks.push("A remark.".to_owned());
        check(
            &sheet,
            "\
Answer
  needed                                    6 bit/s
A remark.

Workload
  rate                                     20,000/s  given

Network
  both ways                               10 Gbit/s  = in 5 Gbit/s + out 5 Gbit/s
                                                     (where it is from)
  twice                                   20 Gbit/s  = both ways 10 Gbit/s × 2
  needed                                    6 bit/s  = a long name for something 1 bit/s + another one for more 2 bit/s
                                                       + a third 3 bit/s
",
        );
    }

    #[test]
    fn each_line_says_whether_it_fits() {
        let mut sheet = Sheet::default();
        sheet.section("a", "A");
        for (id, fit) in [
            ("one", Fit::Known { limit: 10.0, share: 0.6 }),
            ("two", Fit::Known { limit: 3.0, share: 2.0 }),
            ("three", Fit::Unknown { reason: "it does not say".to_owned() }),
        ] {
            sheet.need(id, id, Resource::Files, sum([6.0.into()]), "");
            let line = sheet.lines_mut().last().unwrap();
            line.fit = Some(fit);
        }
        check(
            &sheet,
            "\
Answer
  one                                             6  fits: 60 % of 10
  two                                             6  DOES NOT FIT: 3 is available, and 2 times that is required
  three                                           6  unknown whether it fits: it does not say
A node does not have enough of: two.

A
  one                                             6  = 6
                                                     fits: 60 % of 10
  two                                             6  = 6
                                                     DOES NOT FIT: 3 is available, and 2 times that is required
  three                                           6  = 6
                                                     unknown whether it fits: it does not say
",
        );
    }
}
