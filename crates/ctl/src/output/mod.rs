//! What is shown: values first, texts in the end.

mod cell;
pub(crate) mod findings;
mod table;

use std::path::PathBuf;

use preflight::Report;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;

pub(crate) use cell::cell;

/// What a command shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Output {
    Nothing,
    /// Words.
    Text(String),
    /// A remark beside the result.
    Remark(String),
    /// A list of things of one kind.
    Table(Table),
    /// Words for people, and a value for programs.
    Document {
        text: String,
        value: Value,
    },
    /// What there is to say of a RabbitMQ, which may be long, and how it ends.
    Findings {
        report: Report,
        status: u8,
    },
    /// What is written as it is.
    Bytes(Vec<u8>),
    /// What is written to the file of settings, which only its owner may read, and what is printed when it is there.
    Settings {
        path: PathBuf,
        settings: String,
        text: String,
    },
    /// What is written to a file, and what is printed when it is there.
    File {
        path: PathBuf,
        bytes: Vec<u8>,
        text: String,
    },
}

/// Rows of columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Table {
    /// The rows as objects.
    fn objects(&self) -> Vec<Value> {
        let object = |row: &Vec<Value>| self.columns.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>();
        self.rows.iter().map(|row| Value::Object(object(row))).collect()
    }

    /// Sorts by a column: numbers as numbers.
    pub(crate) fn sort(&mut self, column: &str, is_reverse: bool) -> Result<(), Failure> {
        let Some(at) = self.columns.iter().position(|name| name == column) else {
            return Err(Failure::usage(format!("cannot sort by '{column}': it is not among the columns shown")));
        };
        self.rows.sort_by(|a, b| match (a[at].as_f64(), b[at].as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => cell("", &a[at]).cmp(&cell("", &b[at])),
        });
        if is_reverse {
            self.rows.reverse();
        }
        Ok(())
    }
}

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Aligned on a terminal, tabs between columns otherwise.
    Table,
    /// Tabs between columns.
    Tabs,
    /// A list of objects, one a line.
    Json,
    /// A list of objects, on one line.
    RawJson,
    /// The same, indented.
    PrettyJson,
    /// With quotes and commas.
    Csv,
    /// With lines around cells.
    Boxes(&'static Borders),
    /// A line for each column.
    Long,
    /// `name="value"` on a line for each row.
    Pairs,
    /// The first column, all on one line.
    Bash,
}

pub(crate) use table::Borders;

/// Everything that how it is shown depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) format: Format,
    pub(crate) has_headers: bool,
    pub(crate) is_terminal: bool,
}

/// rabbitmqctl's formats by their names.
pub(crate) fn ctl_format(name: &str) -> Result<Format, Failure> {
    match name {
        "table" => Ok(Format::Table),
        "json" => Ok(Format::Json),
        "csv" => Ok(Format::Csv),
        "pretty_table" => Ok(Format::Boxes(&Borders::SHARP)),
        "erlang" | "inspect" => {
            Err(Failure::usage(format!("the formatter {name} is for Erlang's terms, which no HTTP API has: use json")))
        }
        other => Err(Failure::usage(format!("unknown formatter '{other}': one of table, json, csv, pretty_table"))),
    }
}

/// rabbitmqadmin's formats by their names, and its successor's styles.
pub(crate) fn admin_format(name: Option<&str>, style: Option<&str>) -> Result<Format, Failure> {
    match (name, style) {
        (None | Some("table"), None) => Ok(Format::Boxes(&Borders::ASCII)),
        (None | Some("table"), Some(style)) => Borders::named(style).map(Format::Boxes),
        (Some("raw_json"), _) => Ok(Format::RawJson),
        (Some("json"), _) => Ok(Format::Json),
        (Some("pretty_json"), _) => Ok(Format::PrettyJson),
        (Some("tsv"), _) => Ok(Format::Tabs),
        (Some("long"), _) => Ok(Format::Long),
        (Some("kvp"), _) => Ok(Format::Pairs),
        (Some("bash"), _) => Ok(Format::Bash),
        (Some("csv"), _) => Ok(Format::Csv),
        (Some("pretty_table"), _) => Ok(Format::Boxes(&Borders::SHARP)),
        (Some(other), _) => Err(Failure::usage(format!(
            "unknown format '{other}': one of table, long, tsv, csv, kvp, bash, json, raw_json, pretty_json"
        ))),
    }
}

impl Format {
    /// Whether it is for programs, which want nothing around it.
    pub(crate) fn is_bare(self) -> bool {
        matches!(self, Format::Json | Format::RawJson | Format::PrettyJson | Format::Csv)
    }

    fn is_json(self) -> bool {
        matches!(self, Format::Json | Format::RawJson | Format::PrettyJson)
    }
}

/// The bytes for standard output, and for a file.
pub(crate) fn render(output: &Output, style: Style) -> Vec<u8> {
    let bytes = rendered(output, style);
    // Tables see to their cells themselves: their headers are bold.
    let is_clean = matches!(output, Output::Table(_)) && matches!(style.format, Format::Table | Format::Boxes(_));
    if !style.is_terminal || is_clean {
        return bytes;
    }
    // A terminal obeys what a server has written as it does what we write. Programs get it as it is.
    match String::from_utf8_lossy(&bytes) {
        text if human::printable(&text) == text => bytes,
        text => human::printable(&text).into_owned().into_bytes(),
    }
}

fn rendered(output: &Output, style: Style) -> Vec<u8> {
    match output {
        Output::Nothing => Vec::new(),
        Output::Bytes(bytes) => bytes.clone(),
        Output::Text(text) | Output::Remark(text) | Output::File { text, .. } | Output::Settings { text, .. }
            if style.format.is_json() =>
        {
            document(&json!({"result": "ok", "message": text}), style.format)
        }
        Output::Text(text) | Output::Remark(text) | Output::File { text, .. } | Output::Settings { text, .. } => {
            line(text)
        }
        Output::Document { value, .. } if style.format.is_json() => document(value, style.format),
        Output::Document { text, .. } => line(text),
        Output::Findings { report, .. } if style.format.is_json() => {
            document(&findings::document(report), style.format)
        }
        Output::Findings { report, .. } => line(&findings::text(report)),
        Output::Table(rows) => match style.format {
            Format::Json => listed(&rows.objects()),
            Format::RawJson | Format::PrettyJson => document(&Value::Array(rows.objects()), style.format),
            _ => table::render(rows, style).into_bytes(),
        },
    }
}

/// Words for people, possibly in a pager.
fn line(text: &str) -> Vec<u8> {
    if text.is_empty() { Vec::new() } else { format!("{}\n", human::printable(text)).into_bytes() }
}

fn document(value: &impl Serialize, format: Format) -> Vec<u8> {
    let text = match format {
        Format::PrettyJson => serde_json::to_string_pretty(value),
        _ => serde_json::to_string(value),
    };
    line(&text.unwrap_or_default())
}

/// A list with a line for each object, as rabbitmqctl writes it.
fn listed(objects: &[Value]) -> Vec<u8> {
    let objects: Vec<String> = objects.iter().map(|object| format!("{object}\n")).collect();
    format!("[\n{}]\n", objects.join(",")).into_bytes()
}

#[cfg(test)]
mod tests;
