//! From a path to its route.

use std::sync::LazyLock;

use crate::path::Arguments;
use crate::route::{Route, Verb};
use crate::routes;

struct RouteEntry {
    segments: Vec<Segment>,
    route: &'static Route,
    allow: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Segment {
    Word(&'static str),
    Argument(&'static str),
}

/// A route that has been found.
pub(crate) struct RouteMatch {
    pub(crate) route: &'static Route,
    pub(crate) arguments: Arguments,
    /// What the header `allow` says.
    pub(crate) allow: &'static str,
}

/// Arguments that may be empty, and then name the default exchange: `/api/exchanges/%2F//publish`.
const NAMES_THE_DEFAULT_EXCHANGE: [&str; 2] = ["exchange", "source"];

/// All routes; where two match a path, the first one has a word where the other one has an argument.
static ENTRIES: LazyLock<Vec<RouteEntry>> = LazyLock::new(|| {
    let mut entries: Vec<RouteEntry> = routes::all()
        .map(|route| RouteEntry { segments: segments_of(route.path), route, allow: allow_of(route) })
        .collect();
    let is_argument = |segment: &Segment| matches!(segment, Segment::Argument(_));
    entries.sort_by_key(|entry| entry.segments.iter().map(is_argument).collect::<Vec<_>>());
    entries
});

/// The route of a path.
pub(crate) fn find(path: &[String]) -> Option<RouteMatch> {
    ENTRIES.iter().filter(|entry| entry.segments.len() == path.len()).find_map(|entry| {
        let is_match = entry.segments.iter().zip(path).all(|(wanted, given)| match wanted {
            Segment::Word(word) => given == word,
            Segment::Argument(name) => !given.is_empty() || NAMES_THE_DEFAULT_EXCHANGE.contains(name),
        });
        is_match.then(|| {
            let arguments = entry.segments.iter().zip(path).filter_map(|(segment, given)| match segment {
                Segment::Argument(name) => Some((*name, given.clone())),
                Segment::Word(_) => None,
            });
            RouteMatch { route: entry.route, arguments: Arguments(arguments.collect()), allow: &entry.allow }
        })
    })
}

fn segments_of(path: &'static str) -> Vec<Segment> {
    let segment = |text: &'static str| match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
        Some(name) => Segment::Argument(name),
        None => Segment::Word(text),
    };
    path.split('/').filter(|text| !text.is_empty()).map(segment).collect()
}

fn allow_of(route: &Route) -> String {
    let mut verbs: Vec<Verb> = route.operations.iter().map(|operation| operation.method).collect();
    verbs.sort_unstable();
    let head = verbs.contains(&Verb::Get).then_some("HEAD");
    let names: Vec<&str> = head.into_iter().chain(verbs.iter().map(|verb| verb.name())).chain(["OPTIONS"]).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<(&'static str, Arguments)> {
        let path: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
        find(&path).map(|found| (found.route.path, found.arguments))
    }

    #[test]
    fn words_go_before_arguments() {
        assert_eq!(found("/api/queues/detailed").unwrap().0, "/api/queues/detailed");
        let (path, arguments) = found("/api/queues/shop").unwrap();
        assert_eq!((path, arguments.get("vhost")), ("/api/queues/{vhost}", Some("shop")));
        assert_eq!(found("/api/users/bulk-delete").unwrap().0, "/api/users/bulk-delete");
    }

    #[test]
    fn an_argument_is_never_empty_but_the_default_exchanges_name() {
        for path in ["/api/queues/", "/api//queues", "/api/queues/shop/", "/api/exchanges/", "/api/exchanges//x"] {
            assert!(found(path).is_none(), "{path}");
        }
        for (path, name) in [
            ("/api/exchanges/shop/", "exchange"),
            ("/api/exchanges/shop//publish", "exchange"),
            ("/api/bindings/shop/e//q/x", "source"),
        ] {
            assert_eq!(found(path).unwrap().1.get(name), Some(""), "{path}");
        }
    }

    #[test]
    fn no_path_and_no_method_is_there_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for route in routes::all() {
            let shape: Vec<String> = segments_of(route.path)
                .iter()
                .map(|segment| match segment {
                    Segment::Word(word) => (*word).to_owned(),
                    Segment::Argument(_) => "{}".to_owned(),
                })
                .collect();
            for operation in route.operations {
                assert!(seen.insert((shape.clone(), operation.method)), "{} {}", operation.method.name(), route.path);
            }
        }
    }
}
