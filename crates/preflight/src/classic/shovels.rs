//! Shovels of `advanced.config`: as the keys of shovels that a configuration here has.
//!
//! ```text
//!  {shovels, [{name, [{source, [{uris, […]}, {queue, …}, {declarations, […]}]},
//!                     {destination, [{uris, […]}, {publish_fields, […]}]}, {ack_mode, …}]}]}
//! ```

use super::{Position, Translator, escaped, unknown};
use crate::pages;
use crate::sheet::Remark;
use crate::terms::Node;

pub(super) fn translate(out: &mut Translator, place: Position<'_>, key: &str, value: Option<&Node>) {
    if key != "shovels" {
        return out.pass_over(place.line, place.path, unknown());
    }
    for shovel in value.and_then(Node::list).unwrap_or_default() {
        match shovel.property() {
            Some((name, settings)) => {
                let path = format!("shovel {name}");
                let place = Position { line: shovel.line, path: &path };
                one(out, place, name, settings.and_then(Node::list).unwrap_or_default());
            }
            None => out.pass_over(shovel.line, &format!("shovel {shovel}"), unknown()),
        }
    }
}

fn one(out: &mut Translator, place: Position<'_>, name: &str, settings: &[Node]) {
    let prefix = format!("warren.shovels.{}", escaped(name));
    for (setting, value) in settings.iter().filter_map(Node::property) {
        let value = value.and_then(|value| Some((value, value.scalar()?)));
        match (setting, value) {
            ("source" | "destination" | "sources" | "destinations", _) => {}
            ("ack_mode", Some((_, mode))) => out.say(place, &format!("{prefix}.ack-mode"), &mode.replace('_', "-")),
            ("reconnect_delay", Some((_, delay))) => out.say(place, &format!("{prefix}.reconnect-delay"), delay),
            (other, _) => out.pass_over(place.line, &format!("{} {other}", place.path), unknown()),
        }
    }
    for (setting, value) in settings.iter().filter_map(Node::property) {
        let end = value.and_then(Node::list).unwrap_or_default();
        match setting {
            "source" | "sources" => source(out, place, &prefix, end),
            "destination" | "destinations" => destination(out, place, &prefix, end),
            _ => {}
        }
    }
}

/// One URI, or several by numbers.
fn uris(out: &mut Translator, place: Position<'_>, key: &str, value: &Node) {
    let several: Vec<&str> = value.list().unwrap_or_default().iter().filter_map(Node::scalar).collect();
    match (value.scalar(), several.as_slice()) {
        (Some(uri), _) => out.say(place, key, uri),
        (None, [uri]) => out.say(place, key, uri),
        (None, uris) => {
            for (number, uri) in uris.iter().enumerate() {
                out.say(place, &format!("{key}.{}", number + 1), uri);
            }
        }
    }
}

fn source(out: &mut Translator, place: Position<'_>, prefix: &str, settings: &[Node]) {
    for (setting, value) in settings.iter().filter_map(Node::property) {
        match (setting, value) {
            ("uri" | "uris", Some(value)) => uris(out, place, &format!("{prefix}.src-uri"), value),
            ("queue", Some(value)) => {
                if let Some(queue) = value.scalar().filter(|queue| !queue.is_empty()) {
                    out.say(place, &format!("{prefix}.src-queue"), queue);
                }
            }
            ("protocol", Some(value)) => out.below(place, &format!("{prefix}.src-protocol"), Some(value)),
            ("prefetch_count", Some(value)) => out.below(place, &format!("{prefix}.src-prefetch-count"), Some(value)),
            ("declarations", Some(value)) => declarations(out, place, Some(prefix), value),
            (other, _) => out.pass_over(place.line, &format!("{} source {other}", place.path), unknown()),
        }
    }
}

fn destination(out: &mut Translator, place: Position<'_>, prefix: &str, settings: &[Node]) {
    for (setting, value) in settings.iter().filter_map(Node::property) {
        match (setting, value) {
            ("uri" | "uris", Some(value)) => uris(out, place, &format!("{prefix}.dest-uri"), value),
            ("protocol", Some(value)) => out.below(place, &format!("{prefix}.dest-protocol"), Some(value)),
            ("publish_properties", Some(value)) => {
                out.below(place, &format!("{prefix}.dest-publish-properties"), Some(value));
            }
            ("publish_fields", Some(value)) => fields(out, place, prefix, value),
            ("add_forward_headers" | "add_timestamp_header", value) => {
                out.below(place, &format!("{prefix}.dest-{}", setting.replace('_', "-")), value);
            }
            ("declarations", Some(value)) => declarations(out, place, None, value),
            (other, _) => out.pass_over(place.line, &format!("{} destination {other}", place.path), unknown()),
        }
    }
}

/// What is published to: the default exchange with a key is the queue of that name.
fn fields(out: &mut Translator, place: Position<'_>, prefix: &str, value: &Node) {
    let found = |wanted: &str| {
        let mut properties = value.list().unwrap_or_default().iter().filter_map(Node::property);
        properties.find(|(name, _)| *name == wanted)?.1?.scalar()
    };
    match (found("exchange"), found("routing_key")) {
        (Some(""), Some(queue)) => out.say(place, &format!("{prefix}.dest-queue"), queue),
        (exchange, key) => {
            let said = [("dest-exchange", exchange), ("dest-exchange-key", key)];
            for (name, text) in said.into_iter().filter_map(|(name, text)| Some((name, text?))) {
                out.say(place, &format!("{prefix}.{name}"), text);
            }
        }
    }
}

/// What is declared before: of a source the binding of its own queue says which exchange it is of; the rest is for definitions.
fn declarations(out: &mut Translator, place: Position<'_>, source: Option<&str>, value: &Node) {
    let mut others = 0;
    for (method, arguments) in value.list().unwrap_or_default().iter().filter_map(Node::property) {
        let arguments = arguments.and_then(Node::list).unwrap_or_default();
        let text = |wanted: &str| {
            let mut found = arguments.iter().filter_map(Node::property).filter(|(name, _)| *name == wanted);
            found.next().and_then(|(_, value)| value?.scalar()).unwrap_or_default()
        };
        match (method, source, text("exchange")) {
            ("queue.bind", Some(prefix), exchange) if text("queue").is_empty() && !exchange.is_empty() => {
                out.say(place, &format!("{prefix}.src-exchange"), exchange);
                out.say(place, &format!("{prefix}.src-exchange-key"), text("routing_key"));
            }
            // The queue without a name is the shovel's own.
            ("queue.declare", Some(_), _) if text("queue").is_empty() => {}
            _ => others += 1,
        }
    }
    if others > 0 {
        let remark =
            Remark::different("a shovel in the configuration cannot declare exchanges and bindings", pages::SHOVELS);
        let path = format!("{} declarations", place.path);
        out.pass_over(place.line, &path, remark.advising("add them to the definitions that load_definitions names"));
    }
}
