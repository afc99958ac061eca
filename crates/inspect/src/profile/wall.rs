//! `warren profile wall`: the time of calls from their beginning to their end, waiting included.

use std::path::PathBuf;
use std::time::Duration;

use profile::{Cost, Frame, Functions, Kind, Node, Profile, Tree, Unit, svg};
use serde_json::Value;
use terminal::Interrupt;
use terminal::table::{Column, row};

use crate::api::Api;
use crate::failure::Failure;
use crate::run::{print_line, remark};
use crate::target::Target;

/// How many functions the table has, and how many callers and callees of each are named.
const FUNCTION_COUNT: usize = 20;
const NEIGHBOUR_COUNT: usize = 5;

/// How often, how long with what was called, how long alone, and the call.
const CALLS: [Column; 4] = [Column::right(9), Column::right(10).after(1), Column::right(10).after(1), Column::left(0)];

#[derive(Debug, clap::Args)]
pub(super) struct Wall {
    /// The functions, with the names from `warren trace list`; * stands for any text.
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// The duration in seconds.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=300))]
    seconds: u64,
    /// Write a file, in the format of its extension: .svg (a flame graph), .speedscope.json, .folded or .txt.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the broker's answer as JSON.
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

impl Wall {
    pub(super) async fn run(&self, target: &Target, interrupt: &Interrupt) -> Result<(), Failure> {
        let form = self.output.as_deref().map(Form::of).transpose()?;
        let mut api = Api::of(target)?;
        api.allow(Duration::from_secs(self.seconds));
        let given = [("pattern", Some(self.pattern.clone())), ("seconds", Some(self.seconds.to_string()))];
        let mut lines = api.session("/api/profile/wall", &given, interrupt).await?;
        let mut last = None;
        while let Some(line) = lines.next().await? {
            last = Some(line).filter(|line| !line.is_empty()).or(last);
        }
        let last = last.ok_or_else(|| Failure::failed("the broker closed the connection without an end message"))?;
        if self.json {
            return print_line(&last);
        }
        let sent: Value = serde_json::from_str(&last)
            .map_err(|_| Failure::failed("the broker sent a profile that is not valid JSON"))?;
        let mut profile = profile_of(&sent, &self.pattern);
        let summary = summary(&sent);
        profile.note(&summary);
        if let (Some(file), Some(form)) = (&self.output, form) {
            std::fs::write(file, form.text(&profile))
                .map_err(|error| Failure::failed(format!("cannot write {}: {error}", file.display())))?;
        } else if !profile.is_empty() {
            print_line(&shown(&profile))?;
        }
        remark(&summary);
        Ok(())
    }
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Svg,
    Speedscope,
    Folded,
}

impl Form {
    fn of(file: &std::path::Path) -> Result<Form, Failure> {
        let name = file.to_string_lossy();
        let forms = [
            (".svg", Form::Svg),
            (".speedscope.json", Form::Speedscope),
            (".folded", Form::Folded),
            (".txt", Form::Folded),
        ];
        forms.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| form).ok_or_else(|| {
            Failure::usage(format!("{name}: the file name must end with .svg, .speedscope.json, .folded or .txt"))
        })
    }

    fn text(self, profile: &Profile) -> String {
        match self {
            Form::Svg => svg::flame_graph(profile),
            Form::Speedscope => profile.to_speedscope(),
            Form::Folded => profile.to_folded(),
        }
    }
}

/// The profile that the broker sent: its frames, each with the place of the one that it was called from, which comes before it.
fn profile_of(sent: &Value, pattern: &str) -> Profile {
    let mut profile = Profile::new(&format!("wall-clock time of {pattern}"), Unit::Nanoseconds);
    let mut stacks: Vec<Vec<Frame>> = Vec::new();
    for frame in sent["frames"].as_array().into_iter().flatten() {
        let above = frame["parent"].as_u64().and_then(|parent| stacks.get(usize::try_from(parent).ok()?));
        let mut stack = above.cloned().unwrap_or_default();
        stack.push(frame_of(frame));
        let own_us = frame["own_us"].as_f64().unwrap_or_default();
        let cost = Cost { weight: (own_us * 1e3) as u64, calls: frame["count"].as_u64().unwrap_or_default() };
        profile.add(&stack, cost);
        stacks.push(stack);
    }
    profile
}

/// A call, or a wait: for what, and which task had it.
fn frame_of(frame: &Value) -> Frame {
    let name = frame["name"].as_str().unwrap_or_default();
    let holder = frame["holder"].as_str().map(|holder| format!(" ({holder})")).unwrap_or_default();
    let (kind, before) = match frame["kind"].as_str() {
        Some("call") => return Frame::work(name),
        Some("elsewhere") => (Kind::Waiting, "meanwhile: "),
        Some("lock") => (Kind::Waiting, "waits for lock: "),
        Some("disk") => (Kind::Waiting, "waits for disk: "),
        Some("socket") => (Kind::Waiting, "waits for socket: "),
        _ => (Kind::Waiting, "waits for task: "),
    };
    Frame::new(kind, &format!("{before}{name}{holder}"))
}

/// The tree of calls, and the functions by what they took themselves, with callers and callees: what fprof prints.
fn shown(profile: &Profile) -> String {
    let tree = Tree::of(profile);
    let mut text = row(&CALLS, &["CNT", "ACC", "OWN", "call"]) + "\n";
    branch(&tree.root, tree.unit, 0, &mut text);
    let functions = Functions::of(profile);
    text.push('\n');
    text.push_str(&functions.table(FUNCTION_COUNT));
    for (frame, _) in functions.rows().iter().take(FUNCTION_COUNT) {
        if let Some(neighbours) = functions.neighbours(frame.name(), NEIGHBOUR_COUNT) {
            text.push('\n');
            text.push_str(&neighbours);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// What is below a frame, the longest of siblings first.
fn branch(node: &Node<'_>, unit: Unit, depth: usize, text: &mut String) {
    let mut below: Vec<(&&Frame, &Node<'_>)> = node.children.iter().collect();
    below.sort_by_key(|(_, node)| std::cmp::Reverse(node.total));
    for (frame, node) in below {
        let name = format!("{}{}", "  ".repeat(depth), frame.name());
        let cells = [node.calls.to_string(), unit.show(node.total), unit.show(node.own), name];
        text.push_str(&(row(&CALLS, &cells) + "\n"));
        branch(node, unit, depth + 1, text);
    }
}

fn summary(sent: &Value) -> String {
    let number = |name: &str| sent[name].as_f64().unwrap_or_default();
    let lost = match sent["lost"].as_u64().unwrap_or_default() {
        0 => String::new(),
        lost => format!(" {lost} frames found no room in it."),
    };
    let ended = sent["reason"].as_str().map(|reason| format!(" It ended early: {reason}.")).unwrap_or_default();
    let calls = match sent["calls"].as_u64() {
        Some(1) => "1 call".to_owned(),
        calls => format!("{} calls", calls.unwrap_or_default()),
    };
    format!(
        "{calls} in {:.1} s.{lost}{ended} Overhead: {} of the broker's time, {:.3} % of a processor.",
        number("seconds"),
        Unit::Nanoseconds.show((number("cost_us") * 1e3) as u64),
        number("cost_us") / (number("seconds") * 1e4).max(1.0),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent() -> Profile {
        let frames = json!({"frames": [
            {"kind": "call", "name": "list", "count": 2, "own_us": 10.0},
            {"parent": 0, "kind": "call", "name": "sort", "count": 2, "own_us": 20.0},
            {"parent": 1, "kind": "call", "name": "sort", "count": 1, "own_us": 10.0},
            {"parent": 0, "kind": "lock", "name": "rows, held by hold", "holder": "a task", "count": 1, "own_us": 60.0},
        ]});
        profile_of(&frames, "list")
    }

    #[test]
    fn the_tree_has_counts_and_times_and_the_longest_first() {
        let text = shown(&sent());
        let tree: Vec<&str> = text.lines().take(5).collect();
        assert_eq!(
            tree,
            [
                "      CNT        ACC        OWN  call",
                "        2     100 µs    10.0 µs  list",
                "        1    60.0 µs    60.0 µs    waits for lock: rows, held by hold (a task)",
                "        2    30.0 µs    20.0 µs    sort",
                "        1    10.0 µs    10.0 µs      sort",
            ],
            "{text}"
        );
        assert!(text.contains("CNT              ACC              OWN  function"), "{text}");
    }

    #[test]
    fn the_ending_says_the_form_and_waiting_is_drawn_as_such() {
        let form = |name: &str| Form::of(std::path::Path::new(name)).map_err(|failure| failure.status);
        assert_eq!(form("a.svg"), Ok(Form::Svg));
        assert_eq!(form("a.speedscope.json"), Ok(Form::Speedscope));
        assert_eq!(form("a.json"), Err(2));
        let folded = form("a.folded").unwrap().text(&sent());
        assert!(folded.contains("list;waits for lock: rows, held by hold (a task)_[w] 60000"), "{folded}");
    }

    #[test]
    fn the_summary_says_what_it_cost() {
        let text = summary(&json!({"calls": 1, "seconds": 2.0, "cost_us": 200.0}));
        assert_eq!(text, "1 call in 2.0 s. Overhead: 200 µs of the broker's time, 0.010 % of a processor.");
    }
}
