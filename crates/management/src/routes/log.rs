//! The last lines of the process's log.

use model::config::LogLevel;
use observe::Search;

use super::audit::pattern_of;
use super::process::REFUSALS;
use crate::answer::Answer;
use crate::introspection::Introspection;
use crate::json::{Object, Writer};
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Kind::{Integer, List, Text};
use crate::route::Role::Administrator;
use crate::route::{Field, Operation, Parameters, Route, Shape, at};

pub(crate) const LOG: &str = "/api/log";

pub(super) static ROUTES: &[Route] = &[at(
    LOG,
    &[Operation::get(
        Administrator,
        |call| log(&Introspection::of(call)),
        "Returns the last lines of this process's log, the oldest first.",
        Shape::Object(&[
            Field::required("node", Text, "The node that answered."),
            Field::required(
                "lines",
                List,
                "The lines. With `format=json`: objects with `id`, `time`, `level` and `text`.",
            ),
            Field::optional("last_id", Integer, "With `format=json`: the id of the latest line."),
        ]),
    )
    .query(&[
        Parameters::Other("lines", "The maximum number of lines, from 1 to 100000. Default: all stored lines."),
        Parameters::Other("format", "`json`: lines are objects."),
        Parameters::Other("level", "Only lines of this level or above: `debug`, `info`, `warning` or `error`."),
        Parameters::Other("search", "Only lines that contain this text, ignoring case."),
        Parameters::Other("use_regex", "`true`: `search` is a regular expression."),
        Parameters::Other("after", "Only lines after the line with this `id`."),
    ])
    .refuses(REFUSALS)],
)];

/// More than are kept.
const LINE_COUNT_MAX: usize = 100_000;

/// A line as far as it is understood.
struct Line<'a> {
    time: Option<&'a str>,
    level: Option<&'static str>,
    text: &'a str,
}

/// Levels by their words in lines, the least severe first.
const LEVELS: [(&str, &str); 5] =
    [("TRACE", "debug"), ("DEBUG", "debug"), ("INFO", "info"), ("WARN", "warning"), ("ERROR", "error")];

impl Line<'_> {
    /// `2026-11-27T07:05:13.123456Z  INFO broker: text and fields`; what is not so is all text.
    fn of(line: &str) -> Line<'_> {
        let read = || {
            let (time, rest) = line.split_once(' ')?;
            let (word, text) = rest.trim_start().split_once(' ')?;
            let (_, level) = LEVELS.iter().find(|(own, _)| *own == word)?;
            humantime::parse_rfc3339(time).ok()?;
            Some(Line { time: Some(time), level: Some(level), text: text.trim_start() })
        };
        read().unwrap_or(Line { time: None, level: None, text: line })
    }

    /// How severe it is; what is not understood counts as most severe, so that it is not overlooked.
    fn severity(&self) -> usize {
        self.level.and_then(severity_of).unwrap_or(usize::MAX)
    }
}

fn severity_of(level: &str) -> Option<usize> {
    LEVELS.iter().rposition(|(_, own)| *own == level)
}

/// Writes the members of a line.
pub(crate) fn write_line(id: u64, line: &str, members: &mut Object<'_>) {
    let line = Line::of(line);
    members.cell("id").int(id);
    members.cell("time").text_if(line.time);
    members.cell("level").text_if(line.level);
    members.cell("text").text(line.text);
}

/// Which lines are wanted.
struct Filter {
    severity_min: usize,
    text: Option<String>,
    pattern: Option<Search>,
    after: u64,
}

impl Filter {
    fn parse(query: &Query) -> Result<Filter, Problem> {
        let severity_min = match query.get("level") {
            None => 0,
            Some(name) => LogLevel::parse(name).and_then(|_| severity_of(name)).ok_or_else(|| {
                Problem::bad_request(format!("level must be debug, info, warning or error, not '{name}'"))
            })?,
        };
        let after = match query.get("after").map(str::parse) {
            None => 0,
            Some(Ok(id)) => id,
            Some(Err(_)) => return Err(Problem::bad_request("after must be the id of a line")),
        };
        let search = query.get("search").filter(|text| !text.is_empty());
        let (text, pattern) = match search {
            Some(pattern) if query.is_true("use_regex") => (None, Some(pattern_of("search", pattern)?)),
            text => (text.map(str::to_lowercase), None),
        };
        Ok(Filter { severity_min, text, pattern, after })
    }

    fn wants(&self, line: &str) -> bool {
        (self.severity_min == 0 || Line::of(line).severity() >= self.severity_min)
            && self.text.as_ref().is_none_or(|text| line.to_lowercase().contains(text))
            && self.pattern.as_ref().is_none_or(|pattern| pattern.finds(line))
    }
}

pub(crate) fn log(introspection: &Introspection) -> Result<Answer, Problem> {
    let query = &introspection.query;
    let count = match query.get("lines").map(str::parse) {
        None => LINE_COUNT_MAX,
        Some(Ok(count @ 1..=LINE_COUNT_MAX)) => count,
        Some(_) => return Err(Problem::bad_request(format!("lines must be 1 to {LINE_COUNT_MAX}"))),
    };
    let is_json = match query.get("format") {
        None => false,
        Some("json") => true,
        Some(other) => return Err(Problem::bad_request(format!("format must be json, not '{other}'"))),
    };
    let filter = Filter::parse(query)?;
    let recent = introspection.process()?.recent_lines();
    let last_id = recent.last_id();
    let mut lines = recent.after(filter.after);
    lines.retain(|(_, line)| filter.wants(line));
    lines.drain(..lines.len().saturating_sub(count));
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("node").text(&introspection.node);
        if is_json {
            members.cell("last_id").int(last_id);
            members
                .cell("lines")
                .list(lines, |(id, line), writer| writer.object(|members| write_line(id, &line, members)));
        } else {
            members.cell("lines").texts(lines.iter().map(|(_, line)| &**line));
        }
    });
    Ok(Answer::json(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_time_a_level_and_a_text() {
        let line = Line::of("2026-11-27T07:05:13.123456Z  WARN broker::login: refused user=\"x\"");
        assert_eq!(line.time, Some("2026-11-27T07:05:13.123456Z"));
        assert_eq!((line.level, line.text), (Some("warning"), "broker::login: refused user=\"x\""));
        for other in ["", "x", "a line of another kind", "2026-11-27T07:05:13Z LOUD x", "yesterday INFO x"] {
            let line = Line::of(other);
            assert_eq!((line.time, line.level, line.text), (None, None, other));
        }
    }

    #[test]
    fn lines_are_filtered_by_level_and_text() {
        let wants = |query: &str, line: &str| Filter::parse(&Query::parse(query)).unwrap().wants(line);
        let line = "2026-11-27T07:05:13Z  WARN broker: Refused";
        for query in ["", "level=debug", "level=warning", "search=refUSED", "search=R.*d&use_regex=true"] {
            assert!(wants(query, line), "{query}");
        }
        for query in ["level=error", "search=x", "search=r.*x&use_regex=true"] {
            assert!(!wants(query, line), "{query}");
        }
        assert!(wants("level=error", "of another kind"));
        for query in ["level=loud", "after=x", "search=(&use_regex=true"] {
            assert!(Filter::parse(&Query::parse(query)).is_err(), "{query}");
        }
    }
}
