//! `warren profile wall`: the time of calls from their beginning to their end, waiting included.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::api::{Api, path};
use crate::failure::Failure;
use crate::run::print_line;
use crate::target::Target;

#[derive(Debug, clap::Args)]
pub(super) struct Wall {
    /// The functions, as `warren trace list` names them; * stands for any text.
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// For how long.
    #[arg(short, long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=300))]
    seconds: u64,
    /// Print what the broker sends: JSON.
    #[arg(long)]
    json: bool,
}

impl Wall {
    pub(super) async fn run(&self, target: &Target) -> Result<(), Failure> {
        let mut api = Api::of(target)?;
        api.allow(Duration::from_secs(self.seconds));
        let given = [("pattern", Some(self.pattern.clone())), ("seconds", Some(self.seconds.to_string()))];
        let mut lines = api.lines(&path("/api/profile/wall", &given)).await?;
        let mut last = None;
        while let Some(line) = lines.next().await? {
            last = Some(line).filter(|line| !line.is_empty()).or(last);
        }
        let last = last.ok_or_else(|| Failure::failed("the broker went without a word"))?;
        if self.json {
            return print_line(&last);
        }
        let profile: Value =
            serde_json::from_str(&last).map_err(|_| Failure::failed("the broker sent a profile that is no JSON"))?;
        let frames = Frames::of(&profile);
        print_line(&frames.tree())?;
        print_line(&frames.table())?;
        eprintln!("{}", summary(&profile));
        Ok(())
    }
}

/// A frame of the tree that the broker sends.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    parent: Option<usize>,
    name: String,
    count: u64,
    total_us: f64,
    own_us: f64,
}

struct Frames(Vec<Frame>);

/// What a function is in the table, wherever it was called from.
#[derive(Debug, Default, PartialEq)]
struct Row {
    count: u64,
    total_us: f64,
    own_us: f64,
    /// How much of its time was on behalf of each caller, and in each callee.
    callers: BTreeMap<String, (u64, f64)>,
    callees: BTreeMap<String, (u64, f64)>,
}

impl Frames {
    fn of(profile: &Value) -> Frames {
        let frames = profile["frames"].as_array().into_iter().flatten().map(|frame| Frame {
            parent: frame["parent"].as_u64().and_then(|parent| usize::try_from(parent).ok()),
            name: label(frame),
            count: frame["count"].as_u64().unwrap_or_default(),
            total_us: frame["total_us"].as_f64().unwrap_or_default(),
            own_us: frame["own_us"].as_f64().unwrap_or_default(),
        });
        Frames(frames.collect())
    }

    /// The tree, the longest of siblings first.
    fn tree(&self) -> String {
        let mut lines = vec![format!("{:>9} {:>12} {:>12}  CALL", "CNT", "ACC", "OWN")];
        self.branch(None, 0, &mut lines);
        lines.join("\n")
    }

    fn branch(&self, parent: Option<usize>, depth: usize, lines: &mut Vec<String>) {
        let mut below: Vec<usize> = (0..self.0.len()).filter(|place| self.0[*place].parent == parent).collect();
        below.sort_by(|one, other| self.0[*other].total_us.total_cmp(&self.0[*one].total_us));
        for place in below {
            let frame = &self.0[place];
            let name = format!("{}{}", "  ".repeat(depth), frame.name);
            lines.push(format!("{:>9} {:>12} {:>12}  {name}", frame.count, time(frame.total_us), time(frame.own_us)));
            // The broker names frames before those below them; a tree that does not is not followed into a circle.
            if parent.is_none_or(|parent| parent < place) {
                self.branch(Some(place), depth + 1, lines);
            }
        }
    }

    fn rows(&self) -> BTreeMap<&str, Row> {
        let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
        for frame in &self.0 {
            let is_recursive = self.is_within_itself(frame);
            let row = rows.entry(&frame.name).or_default();
            row.count += frame.count;
            row.own_us += frame.own_us;
            // Time within itself is in that of the outermost call already.
            if !is_recursive {
                row.total_us += frame.total_us;
            }
            let Some(caller) = frame.parent.and_then(|parent| self.0.get(parent)) else { continue };
            let of = |calls: &mut (u64, f64)| {
                calls.0 += frame.count;
                calls.1 += frame.total_us;
            };
            of(row.callers.entry(caller.name.clone()).or_default());
            of(rows.entry(&caller.name).or_default().callees.entry(frame.name.clone()).or_default());
        }
        rows
    }

    fn is_within_itself(&self, frame: &Frame) -> bool {
        let mut above = frame.parent;
        while let Some(place) = above.filter(|place| *place < self.0.len()) {
            if self.0[place].name == frame.name {
                return true;
            }
            above = self.0[place].parent.filter(|parent| *parent < place);
        }
        false
    }

    /// Functions with their callers above and their callees below, those first that take the longest by themselves: what fprof prints.
    fn table(&self) -> String {
        let rows = self.rows();
        let mut order: Vec<(&&str, &Row)> = rows.iter().collect();
        order.sort_by(|(_, one), (_, other)| other.own_us.total_cmp(&one.own_us));
        let mut lines = Vec::new();
        for (name, row) in order {
            lines.push(String::new());
            for (caller, (count, total_us)) in &row.callers {
                lines.push(format!("{count:>9} {:>12} {:>12}    called by {caller}", time(*total_us), ""));
            }
            lines.push(format!("{:>9} {:>12} {:>12}  {name}", row.count, time(row.total_us), time(row.own_us)));
            for (callee, (count, total_us)) in &row.callees {
                lines.push(format!("{count:>9} {:>12} {:>12}    calls {callee}", time(*total_us), ""));
            }
        }
        lines.join("\n")
    }
}

/// What a frame is called: a wait says so, and names the task that had what was waited for.
fn label(frame: &Value) -> String {
    let name = frame["name"].as_str().unwrap_or_default();
    let holder = frame["holder"].as_str().map(|holder| format!(" ({holder})")).unwrap_or_default();
    match frame["kind"].as_str() {
        Some("lock") => format!("[waits for lock] {name}{holder}"),
        Some("disk") => format!("[waits for disk] {name}"),
        Some("socket") => format!("[waits for socket] {name}"),
        Some("task") => format!("[waits for task] {name}"),
        Some("elsewhere") => format!("[elsewhere] {name}"),
        _ => name.to_owned(),
    }
}

fn time(us: f64) -> String {
    format!("{:.3} ms", us / 1_000.0)
}

fn summary(profile: &Value) -> String {
    let number = |name: &str| profile[name].as_f64().unwrap_or_default();
    let lost = match profile["lost"].as_u64().unwrap_or_default() {
        0 => String::new(),
        lost => format!(" {lost} frames found no room in it."),
    };
    let ended = profile["reason"].as_str().map(|reason| format!(" It ended early: {reason}.")).unwrap_or_default();
    format!(
        "{} calls in {:.1} s.{lost}{ended} Overhead: {} of the broker's time, {:.3} %.",
        number("calls"),
        number("seconds"),
        time(number("cost_us")),
        number("cost_us") / (number("seconds") * 1e4).max(1.0),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn profile() -> Frames {
        Frames::of(&json!({"frames": [
            {"kind": "call", "name": "list", "count": 2, "total_us": 100.0, "own_us": 10.0},
            {"parent": 0, "kind": "call", "name": "sort", "count": 2, "total_us": 30.0, "own_us": 20.0},
            {"parent": 1, "kind": "call", "name": "sort", "count": 1, "total_us": 10.0, "own_us": 10.0},
            {"parent": 0, "kind": "lock", "name": "rows, held by hold", "holder": "a task", "count": 1, "total_us": 60.0, "own_us": 60.0},
        ]}))
    }

    #[test]
    fn the_longest_of_siblings_is_first() {
        let tree = profile().tree();
        let names: Vec<&str> = tree.lines().skip(1).map(|line| line[37..].trim_end()).collect();
        assert_eq!(names, ["list", "  [waits for lock] rows, held by hold (a task)", "  sort", "    sort"]);
        assert_eq!(tree.lines().nth(1), Some("        2     0.100 ms     0.010 ms  list"));
    }

    #[test]
    fn a_function_within_itself_is_not_counted_twice() {
        let frames = profile();
        let rows = frames.rows();
        assert_eq!((rows["sort"].count, rows["sort"].total_us, rows["sort"].own_us), (3, 30.0, 30.0));
        assert_eq!(rows["sort"].callers["list"], (2, 30.0));
        assert_eq!(rows["list"].callees.len(), 2);
        assert!(frames.table().contains("called by list"));
    }

    #[test]
    fn the_summary_says_what_it_cost() {
        let text = summary(&json!({"calls": 3, "seconds": 2.0, "cost_us": 200.0}));
        assert_eq!(text, "3 calls in 2.0 s. Overhead: 0.200 ms of the broker's time, 0.010 %.");
    }
}
