//! What is looked at, and what keys make of it. Knows no terminal.

use std::time::Duration;

use serde_json::Value;

use super::screen::Key;
use super::table;
use crate::api::path;

/// What can be compared, as the API calls it.
pub(super) const KINDS: [&str; 5] = ["queues", "connections", "channels", "vhosts", "users"];
/// By what.
pub(super) const ORDERS: [&str; 5] = ["cpu", "messages", "bytes", "waiting", "memory"];

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct View {
    pub(super) of: String,
    pub(super) by: String,
    pub(super) is_reversed: bool,
    pub(super) filter: Option<String>,
    pub(super) vhost: Option<String>,
    pub(super) user: Option<String>,
    pub(super) connection: Option<String>,
}

impl View {
    /// Where the API has it.
    pub(super) fn path(&self, count: u64, interval: Duration) -> String {
        let reverse = self.is_reversed.then(|| "true".to_owned());
        let given = [
            ("of", Some(self.of.clone())),
            ("by", Some(self.by.clone())),
            ("count", Some(count.to_string())),
            ("interval_ms", Some(interval.as_millis().to_string())),
            ("reverse", reverse),
            ("filter", self.filter.clone()),
            ("vhost", self.vhost.clone()),
            ("user", self.user.clone()),
            ("connection", self.connection.clone()),
        ];
        path("/api/top", &given)
    }

    /// What it is narrowed down to, in words.
    pub(super) fn narrowed(&self) -> String {
        let parts = [
            ("vhost", &self.vhost),
            ("user", &self.user),
            ("connection", &self.connection),
            ("name has", &self.filter),
        ];
        parts.iter().filter_map(|(name, value)| Some(format!(" · {name} '{}'", value.as_ref()?))).collect()
    }

    /// What a row of it consists of: a vhost of queues, a user of connections, a connection of channels. None: of nothing smaller.
    fn below(&self, row: &Value) -> Option<View> {
        let name = row["name"].as_str()?.to_owned();
        let whole = View { filter: None, ..self.clone() };
        match self.of.as_str() {
            "vhosts" => Some(View { of: "queues".to_owned(), vhost: Some(name), ..whole }),
            "users" => Some(View { of: "connections".to_owned(), user: Some(name), ..whole }),
            "connections" => Some(View { of: "channels".to_owned(), connection: Some(name), ..whole }),
            _ => None,
        }
    }
}

/// What a key is followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// The viewer has seen enough.
    Quit,
    /// The broker is asked at once.
    Ask,
    /// Nothing but what is shown changes.
    Nothing,
}

/// The view, those that the viewer came from, and what is chosen of it.
#[derive(Debug)]
pub(super) struct Views {
    above: Vec<View>,
    current: View,
    selected: usize,
    /// What has been typed of a filter.
    typed: Option<String>,
}

impl Views {
    pub(super) fn new(view: View) -> Views {
        Views { above: Vec::new(), current: view, selected: 0, typed: None }
    }

    pub(super) fn current(&self) -> &View {
        &self.current
    }

    /// What is shown of an answer.
    pub(super) fn lines(&self, answer: &Value, width: usize, height: usize) -> Vec<String> {
        let mut lines = table::lines(&self.current, answer, Some(self.selected), width);
        lines.truncate(height.saturating_sub(1));
        lines.resize(height.saturating_sub(1), String::new());
        lines.push(match &self.typed {
            Some(typed) => format!("name has: {typed}_   (Enter takes it, Esc does not)"),
            None => help(width).to_owned(),
        });
        lines.iter().map(|line| table::fit(line, width)).collect()
    }

    /// A key has been pressed.
    pub(super) fn press(&mut self, key: &Key, answer: &Value) -> After {
        if let Some(typed) = &mut self.typed {
            match key {
                Key::Char(char) => typed.push(*char),
                Key::Backspace => _ = typed.pop(),
                Key::Enter => {
                    self.current.filter = self.typed.take().filter(|typed| !typed.is_empty());
                    return self.ask_anew();
                }
                Key::Escape => self.typed = None,
                Key::Quit => return After::Quit,
                Key::Up | Key::Down | Key::Tab | Key::Resize => {}
            }
            return After::Nothing;
        }
        let rows = answer["rows"].as_array().map_or(&[][..], Vec::as_slice);
        match key {
            Key::Quit | Key::Char('q') => return After::Quit,
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = (self.selected + 1).min(rows.len().saturating_sub(1)),
            Key::Enter => {
                let Some(below) = rows.get(self.selected).and_then(|row| self.current.below(row)) else {
                    return After::Nothing;
                };
                self.above.push(std::mem::replace(&mut self.current, below));
                return self.ask_anew();
            }
            Key::Escape | Key::Backspace => {
                let Some(above) = self.above.pop() else { return After::Nothing };
                self.current = above;
                return self.ask_anew();
            }
            Key::Tab => {
                let place = KINDS.iter().position(|kind| *kind == self.current.of).unwrap_or(0);
                return self.look_at(KINDS[(place + 1) % KINDS.len()]);
            }
            Key::Char('/') => self.typed = Some(self.current.filter.clone().unwrap_or_default()),
            Key::Char('r') => {
                self.current.is_reversed = !self.current.is_reversed;
                return self.ask_anew();
            }
            Key::Char('s') => {
                let place = ORDERS.iter().position(|order| *order == self.current.by).unwrap_or(0);
                ORDERS[(place + 1) % ORDERS.len()].clone_into(&mut self.current.by);
                return self.ask_anew();
            }
            Key::Char(number @ '1'..='5') => return self.look_at(KINDS[*number as usize - '1' as usize]),
            Key::Resize => return After::Ask,
            Key::Char(_) => {}
        }
        After::Nothing
    }

    /// Looks at all objects of another kind.
    fn look_at(&mut self, of: &str) -> After {
        self.above.clear();
        let View { by, is_reversed, .. } = std::mem::take(&mut self.current);
        self.current = View { of: of.to_owned(), by, is_reversed, ..View::default() };
        self.ask_anew()
    }

    fn ask_anew(&mut self) -> After {
        self.selected = 0;
        After::Ask
    }
}

/// What keys do, in fewer and fewer words.
const HELP: [&str; 3] = [
    "q quit  ↑↓ choose  Enter look into it  Esc back  s sort  r reverse  / filter  1 queues 2 connections 3 channels 4 vhosts 5 users",
    "q quit  ↑↓ Enter Esc move  s sort  r reverse  / filter  Tab queues, connections, …",
    "q quit  ↑↓ Enter Esc  s r sort  / filter  Tab",
];

/// The most words that there is room for.
fn help(width: usize) -> &'static str {
    let [.., least] = HELP;
    HELP.into_iter().find(|help| help.chars().count() <= width).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn views(of: &str) -> Views {
        Views::new(View { of: of.to_owned(), by: "cpu".to_owned(), ..View::default() })
    }

    fn path(views: &Views) -> String {
        views.current().path(3, Duration::from_secs(2))
    }

    #[test]
    fn what_keys_do_is_whole_at_any_usual_width() {
        for width in [200, 110, 100, 80, 50] {
            assert!(help(width).chars().count() <= width && help(width).starts_with("q quit"), "{width}");
        }
        assert!(help(140).ends_with("5 users") && help(110).contains("Tab"));
    }

    #[test]
    fn a_viewer_looks_into_a_row_and_comes_back() {
        let mut views = views("users");
        let answer = json!({"rows": [{"name": "ann"}, {"name": "bob & co"}]});
        assert_eq!(views.press(&Key::Down, &answer), After::Nothing);
        assert_eq!(views.press(&Key::Down, &answer), After::Nothing);
        assert_eq!(views.press(&Key::Enter, &answer), After::Ask);
        assert_eq!(path(&views), "/api/top?of=connections&by=cpu&count=3&interval_ms=2000&user=bob%20%26%20co");
        let answer = json!({"rows": [{"name": "a -> b"}]});
        assert_eq!(views.press(&Key::Enter, &answer), After::Ask);
        assert!(path(&views).ends_with("&user=bob%20%26%20co&connection=a%20-%3E%20b"), "{}", path(&views));
        assert_eq!(views.press(&Key::Enter, &answer), After::Nothing, "a channel has nothing smaller");
        assert_eq!(views.press(&Key::Escape, &answer), After::Ask);
        assert_eq!(views.press(&Key::Escape, &answer), After::Ask);
        assert_eq!(path(&views), "/api/top?of=users&by=cpu&count=3&interval_ms=2000");
        assert_eq!(views.press(&Key::Escape, &answer), After::Nothing);
    }

    #[test]
    fn keys_sort_filter_and_change_what_is_looked_at() {
        let mut views = views("queues");
        for (key, expected) in [
            (Key::Char('s'), "of=queues&by=messages&count=3&interval_ms=2000"),
            (Key::Char('r'), "of=queues&by=messages&count=3&interval_ms=2000&reverse=true"),
            (Key::Char('4'), "of=vhosts&by=messages&count=3&interval_ms=2000&reverse=true"),
            (Key::Tab, "of=users&by=messages&count=3&interval_ms=2000&reverse=true"),
            (Key::Tab, "of=queues&by=messages&count=3&interval_ms=2000&reverse=true"),
        ] {
            assert_eq!(views.press(&key, &Value::Null), After::Ask);
            assert_eq!(path(&views), format!("/api/top?{expected}"));
        }
        for key in [Key::Char('/'), Key::Char('q'), Key::Char('x'), Key::Backspace] {
            assert_eq!(views.press(&key, &Value::Null), After::Nothing, "a q that is typed quits nothing");
        }
        assert!(views.lines(&Value::Null, 80, 24)[23].starts_with("name has: q_"));
        assert_eq!(views.press(&Key::Enter, &Value::Null), After::Ask);
        assert!(path(&views).ends_with("&filter=q"));
        assert_eq!(views.press(&Key::Char('q'), &Value::Null), After::Quit);
    }
}
