//! A report of everything: what several commands show, one after the other. Users' passwords and messages are in none.

use serde_json::Value;

use super::memory::Unit;
use super::report;
use crate::commands::list::all_columns;
use crate::listing::text;
use crate::output::{Format, Output, Style, render};
use crate::step::{Ask, StepResult, path, say};

/// A heading, and the list that is below it.
type Part = (String, String);

/// Of the whole broker.
const LISTS: &[(&str, &str)] = &[
    ("Connections", "connections"),
    ("Channels", "channels"),
    ("Virtual hosts", "vhosts"),
    ("Permissions", "permissions"),
    ("Feature flags", "feature-flags"),
];

/// Of each virtual host.
const LISTS_OF_VHOSTS: &[(&str, &str)] = &[
    ("Queues", "queues"),
    ("Exchanges", "exchanges"),
    ("Bindings", "bindings"),
    ("Consumers", "consumers"),
    ("Policies", "policies"),
    ("Operator policies", "operator-policies"),
    ("Limits", "vhost-limits"),
];

pub(super) fn report() -> StepResult {
    super::overview_and_nodes_then(|overview, nodes| {
        let mut out = vec![
            format!("Reporting server status of node {} ...", text(&overview, "node")),
            shown(&report::status(&overview, &nodes, Unit::Giga)),
            shown(&report::cluster_status(&overview, &nodes)),
        ];
        Ask::get("config/effective".to_owned()).then(move |reply| {
            // A RabbitMQ may refuse to answer.
            if reply.is_accepted() {
                out.push(headed("Configuration", String::from_utf8_lossy(&reply.body).trim_end()));
            }
            Ask::get("vhosts".to_owned()).then(move |reply| {
                let mut parts: Vec<Part> =
                    LISTS.iter().map(|(title, place)| ((*title).to_owned(), (*place).to_owned())).collect();
                for vhost in reply.list()? {
                    let name = text(&vhost, "name");
                    let of_vhost = |(title, place): &(&str, &str)| {
                        (format!("{title} of virtual host {name}"), path(&[place, name]))
                    };
                    parts.extend(LISTS_OF_VHOSTS.iter().map(of_vhost));
                }
                lists(parts, out)
            })
        })
    })
}

fn lists(mut parts: Vec<Part>, mut out: Vec<String>) -> StepResult {
    if parts.is_empty() {
        return say(out.join("\n\n"));
    }
    let (title, place) = parts.remove(0);
    Ask::get(place).then(move |reply| {
        // An object that was deleted meanwhile has nothing to report.
        if reply.status != 404 {
            out.push(headed(&title, &rows(&reply.list()?)));
        }
        lists(parts, out)
    })
}

fn rows(items: &[Value]) -> String {
    shown(&Output::Table(all_columns(items, 1)))
}

fn headed(title: &str, lines: &str) -> String {
    format!("{title}\n\n{}", if lines.is_empty() { "(none)" } else { lines })
}

fn shown(output: &Output) -> String {
    let style = Style { format: Format::Tabs, has_headers: true, is_terminal: false };
    String::from_utf8_lossy(&render(output, style)).trim_end().to_owned()
}
