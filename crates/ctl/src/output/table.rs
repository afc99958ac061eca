//! Tables as text.

use std::fmt::Write as _;

use serde_json::Value;

use crate::failure::Failure;
use crate::output::cell::{cell, visible};
use crate::output::{Format, Style, Table};

/// What is drawn around cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Borders {
    /// Left, between columns, right, and what fills the rest; nothing if there is no such line.
    top: Option<[&'static str; 4]>,
    below_header: Option<[&'static str; 4]>,
    bottom: Option<[&'static str; 4]>,
    /// Left, between columns, right.
    cells: [&'static str; 3],
}

const ASCII_LINE: Option<[&str; 4]> = Some(["+", "+", "+", "-"]);

const DOTTED_LINE: Option<[&str; 4]> = Some([".", ".", ".", "."]);

impl Borders {
    pub(crate) const ASCII: Borders =
        Borders { top: ASCII_LINE, below_header: ASCII_LINE, bottom: ASCII_LINE, cells: ["| ", " | ", " |"] };
    pub(crate) const SHARP: Borders = Borders {
        top: Some(["┌", "┬", "┐", "─"]),
        below_header: Some(["├", "┼", "┤", "─"]),
        bottom: Some(["└", "┴", "┘", "─"]),
        cells: ["│ ", " │ ", " │"],
    };
    const DOTS: Borders =
        Borders { top: DOTTED_LINE, below_header: DOTTED_LINE, bottom: DOTTED_LINE, cells: [": ", " : ", " :"] };
    const MARKDOWN: Borders =
        Borders { top: None, below_header: Some(["|", "|", "|", "-"]), bottom: None, cells: ["| ", " | ", " |"] };
    const PSQL: Borders =
        Borders { top: None, below_header: Some(["", "+", "", "-"]), bottom: None, cells: [" ", " | ", " "] };
    pub(crate) const NONE: Borders = Borders { top: None, below_header: None, bottom: None, cells: [" ", "  ", ""] };

    /// By the name of a style.
    pub(crate) fn named(style: &str) -> Result<&'static Self, Failure> {
        match style {
            "ascii" => Ok(&Borders::ASCII),
            "modern" | "sharp" => Ok(&Borders::SHARP),
            "markdown" => Ok(&Borders::MARKDOWN),
            "psql" => Ok(&Borders::PSQL),
            "borderless" => Ok(&Borders::NONE),
            "dots" => Ok(&Borders::DOTS),
            other => Err(Failure::usage(format!(
                "unknown table style '{other}': one of ascii, modern, sharp, dots, psql, markdown, borderless"
            ))),
        }
    }
}

/// A table in one of the formats that are not JSON.
pub(crate) fn render(table: &Table, style: Style) -> String {
    let shown = |(column, value): (&String, &Value)| match style.format {
        // Quotes hold anything.
        Format::Csv => cell(column, value),
        Format::Table | Format::Boxes(_) if style.is_terminal => {
            human::printable(&visible(&cell(column, value))).into_owned()
        }
        _ => visible(&cell(column, value)),
    };
    let cells: Vec<Vec<String>> =
        table.rows.iter().map(|row| table.columns.iter().zip(row).map(shown).collect()).collect();
    let columns: Vec<String> = table.columns.iter().map(|column| human::printable(column).into_owned()).collect();
    match style.format {
        Format::Table if style.is_terminal => aligned(&columns, &cells, style),
        Format::Csv => csv(table, &cells, style),
        Format::Boxes(borders) => boxes(&columns, &cells, borders, style),
        Format::Long => long(table, &cells),
        Format::Pairs => pairs(table, &cells),
        Format::Bash => {
            let names: Vec<&str> = cells.iter().filter_map(|row| row.first()).map(String::as_str).collect();
            if names.is_empty() { String::new() } else { format!("{}\n", names.join(" ")) }
        }
        _ => tabs(table, &cells, style),
    }
}

/// As rabbitmqctl: no header above nothing.
fn tabs(table: &Table, cells: &[Vec<String>], style: Style) -> String {
    let mut out = String::new();
    if style.has_headers && !cells.is_empty() {
        let _ = writeln!(out, "{}", table.columns.join("\t"));
    }
    for row in cells {
        let _ = writeln!(out, "{}", row.join("\t"));
    }
    out
}

fn csv(table: &Table, cells: &[Vec<String>], style: Style) -> String {
    let line = |row: &[String]| {
        let row: Vec<String> = row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
        format!("{}\n", row.join(","))
    };
    let header = if style.has_headers { line(&table.columns) } else { String::new() };
    header + &cells.iter().map(|row| line(row)).collect::<String>()
}

fn widths(columns: &[String], cells: &[Vec<String>]) -> Vec<usize> {
    let width = |at: usize| {
        let column = cells.iter().filter_map(|row| row.get(at)).chain([&columns[at]]);
        column.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    (0..columns.len()).map(width).collect()
}

fn aligned(columns: &[String], cells: &[Vec<String>], style: Style) -> String {
    let widths = widths(columns, cells);
    let line = |row: &[String]| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut out = String::new();
    if style.has_headers && !cells.is_empty() {
        let _ = writeln!(out, "\x1b[1m{}\x1b[0m", line(columns));
    }
    for row in cells {
        let _ = writeln!(out, "{}", line(row));
    }
    out
}

fn boxes(columns: &[String], cells: &[Vec<String>], borders: &Borders, style: Style) -> String {
    if cells.is_empty() {
        return "No items\n".to_owned();
    }
    let widths = widths(columns, cells);
    let ruler = |line: [&str; 4]| {
        let [left, between, right, fill] = line;
        let fills: Vec<String> = widths.iter().map(|width| fill.repeat(width + 2)).collect();
        format!("{left}{}{right}\n", fills.join(between))
    };
    let line = |row: &[String], is_header: bool| {
        let [left, between, right] = borders.cells;
        let padded = row.iter().zip(&widths).map(|(cell, width)| {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            if is_header && style.is_terminal {
                format!("\x1b[1m{cell}\x1b[0m{padding}")
            } else {
                format!("{cell}{padding}")
            }
        });
        let line = format!("{left}{}{right}", padded.collect::<Vec<_>>().join(between));
        format!("{}\n", line.trim_end())
    };
    let mut out = borders.top.map(ruler).unwrap_or_default();
    if style.has_headers {
        out += &line(columns, true);
        out += &borders.below_header.map(ruler).unwrap_or_default();
    }
    for row in cells {
        out += &line(row, false);
    }
    out + &borders.bottom.map(ruler).unwrap_or_default()
}

fn long(table: &Table, cells: &[Vec<String>]) -> String {
    const RULER: &str = "--------------------------------------------------------------------------------";
    let width = table.columns.iter().map(|column| column.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in cells {
        let _ = writeln!(out, "{RULER}\n");
        for (column, cell) in table.columns.iter().zip(row) {
            let _ = writeln!(out, "{column:>width$}: {cell}");
        }
        out.push('\n');
    }
    if !cells.is_empty() {
        let _ = writeln!(out, "{RULER}");
    }
    out
}

fn pairs(table: &Table, cells: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| {
        let pairs = table.columns.iter().zip(row).map(|(column, cell)| format!("{column}=\"{cell}\""));
        format!("{}\n", pairs.collect::<Vec<_>>().join(" "))
    };
    cells.iter().map(line).collect()
}
