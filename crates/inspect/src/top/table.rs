//! An answer of `/api/top` as lines.

use serde_json::Value;
use terminal::table::{Column, row};

use super::view::View;

/// Lines that are no rows: two above them, and the one with the keys.
const OTHER_COUNT: usize = 4;

/// Behind the mark of the row that is chosen.
const COLUMNS: [Column; 7] = [
    Column::right(7),
    Column::right(7).after(1),
    Column::right(10).after(1),
    Column::right(10).after(1),
    Column::right(9).after(1),
    Column::right(10).after(1),
    Column::left(0),
];

/// How many rows there is room for.
pub(super) fn room(height: usize) -> usize {
    height.saturating_sub(OTHER_COUNT)
}

/// The lines of an answer; which row is chosen, if one can be.
pub(super) fn lines(view: &View, answer: &Value, selected: Option<usize>, width: usize) -> Vec<String> {
    let rows = answer["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let mut lines = vec![
        summary(view, answer),
        trouble(answer),
        format!("  {}", row(&COLUMNS, &["CPU%", "WAIT%", "MSG/s", "BYTES/s", "MEMORY", "MESSAGES", heading(view)])),
    ];
    for (place, shown) in rows.iter().enumerate() {
        let mark = if selected == Some(place) { "> " } else { "  " };
        let number = |name: &str| shown[name].as_f64();
        let cells = [
            percent(number("cpu_percent")),
            percent(number("waiting_percent")),
            short(number("messages_per_second")),
            short(number("bytes_per_second")),
            short(number("memory")),
            short(number("messages")),
            name(view, shown),
        ];
        lines.push(fit(&format!("{mark}{}", row(&COLUMNS, &cells)), width));
    }
    lines
}

/// A line that is no wider, with a mark where it is cut.
pub(super) fn fit(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).take(width).collect()
}

fn heading(view: &View) -> &'static str {
    match view.of.as_str() {
        "queues" => "QUEUE (VHOST)",
        "connections" => "CONNECTION (USER IN VHOST)",
        "channels" => "CHANNEL (USER IN VHOST)",
        "vhosts" => "VHOST",
        _ => "USER",
    }
}

fn summary(view: &View, answer: &Value) -> String {
    let narrowed = view.narrowed();
    let order = if view.is_reversed { "least" } else { "most" };
    let what = format!("{} by {}, the {order} first{narrowed}", view.of, view.by);
    let Some(compared) = answer["compared"].as_u64() else { return format!("{what} · looking") };
    let process = match answer["process_cpu_percent"].as_f64() {
        Some(percent) => format!(" · the process takes {percent:.0} % of a processor"),
        None => String::new(),
    };
    let seconds = answer["interval_ms"].as_f64().unwrap_or_default() / 1e3;
    format!("{what} · {compared} in all, for {seconds:.1} s{process}")
}

/// What is out of order in the cluster, in the line that is empty else.
fn trouble(answer: &Value) -> String {
    let Some(all) = answer["cluster_troubles"].as_array() else { return String::new() };
    let first = all.first().and_then(|trouble| trouble["text"].as_str()).unwrap_or_default();
    let more = match all.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more: warren diagnose)", count - 1),
    };
    printable(&format!("{first}{more}"))
}

/// A text without what would move the cursor or turn the direction of writing, in one line.
fn printable(text: &str) -> String {
    let text: String = text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect();
    human::printable(&text).into_owned()
}

/// A name as it is shown: without what would move the cursor.
fn name(view: &View, shown: &Value) -> String {
    let text = |name: &str| shown[name].as_str().unwrap_or_default();
    let whole = match view.of.as_str() {
        "queues" => format!("{} ({})", text("name"), text("vhost")),
        "connections" | "channels" => format!("{} ({} in {})", text("name"), text("user"), text("vhost")),
        _ => text("name").to_owned(),
    };
    printable(&whole)
}

fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1}"))
}

/// A number in at most six characters.
fn short(number: Option<f64>) -> String {
    let Some(number) = number else { return "-".to_owned() };
    let mut rest = number;
    for unit in ["", "k", "M", "G", "T"] {
        if rest < 999.5 {
            return if unit.is_empty() || rest >= 99.95 {
                format!("{rest:.0}{unit}")
            } else {
                format!("{rest:.1}{unit}")
            };
        }
        rest /= 1000.0;
    }
    format!("{rest:.0}P")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_out_of_order_in_the_cluster_is_told_above_the_table() {
        let view = View { of: "queues".to_owned(), by: "cpu".to_owned(), ..View::default() };
        let second = |answer: Value| lines(&view, &answer, None, 100)[1].clone();
        assert_eq!(second(json!({"rows": []})), "");
        let troubles = json!([{"text": "rabbit@b\u{7}\u{202e} is gone."}, {"text": "late"}]);
        assert_eq!(
            second(json!({"rows": [], "cluster_troubles": troubles})),
            "rabbit@b\u{fffd}\\u202e is gone. (and 1 more: warren diagnose)"
        );
    }

    #[test]
    fn numbers_are_short() {
        for (number, expected) in [
            (0.0, "0"),
            (999.4, "999"),
            (999.6, "1.0k"),
            (12_345.0, "12.3k"),
            (123_456.0, "123k"),
            (999_900.0, "1.0M"),
            (5e9, "5.0G"),
        ] {
            assert_eq!(short(Some(number)), expected);
        }
        assert_eq!(short(None), "-");
    }

    #[test]
    fn a_table_has_a_line_for_each_row() {
        let view =
            View { of: "queues".to_owned(), by: "cpu".to_owned(), vhost: Some("/".to_owned()), ..View::default() };
        let answer = json!({"interval_ms": 1002, "compared": 7, "process_cpu_percent": 31.2, "rows": [
            {"name": "orders\u{1b}[2J", "vhost": "/", "cpu_percent": 12.34, "waiting_percent": 0.0, "messages_per_second": 1234.0,
             "bytes_per_second": 5e6, "memory": 4096, "messages": 3},
            {"name": "idle", "vhost": "/", "cpu_percent": 0.0},
        ]});
        let lines = lines(&view, &answer, Some(1), 200);
        assert_eq!(
            lines,
            [
                "queues by cpu, the most first · vhost '/' · 7 in all, for 1.0 s · the process takes 31 % of a processor",
                "",
                "     CPU%   WAIT%      MSG/s    BYTES/s    MEMORY   MESSAGES  QUEUE (VHOST)",
                "     12.3     0.0       1.2k       5.0M      4.1k          3  orders\u{fffd}[2J (/)",
                ">     0.0       -          -          -         -          -  idle (/)",
            ]
        );
    }
}
