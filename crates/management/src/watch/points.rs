//! What can be watched of the HTTP API: a point for each operation.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::http::request::Parts;
use telemetry::trace::{self, Arguments, Point};

use crate::listing::Query;
use crate::login::Credentials;
use crate::route::{Operation, Route, Verb};
use crate::router::RouteMatch;
use crate::routes;

/// By path and verb. There are as many as there are operations, for as long as the process lives.
static POINTS: LazyLock<BTreeMap<(&'static str, Verb), &'static Point>> = LazyLock::new(|| {
    operations().map(|(route, operation)| ((route.path, operation.method), leaked(route, operation))).collect()
});

fn operations() -> impl Iterator<Item = (&'static Route, &'static Operation)> {
    routes::all().flat_map(|route| route.operations.iter().map(move |operation| (route, operation)))
}

/// An argument of a path that is never shown: a password to be hashed.
const SECRET: &str = "password";

fn leaked(route: &Route, operation: &Operation) -> &'static Point {
    let name = format!("http::{} {}", operation.method.name(), route.path).leak();
    let mut arguments: Vec<&str> =
        route.path.split('/').filter_map(argument_of).filter(|name| *name != SECRET).collect();
    arguments.extend(["user", "query"]);
    Box::leak(Box::new(Point::new(name, arguments.leak(), operation.summary)))
}

/// The name of an argument in a path.
fn argument_of(segment: &'static str) -> Option<&'static str> {
    segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}'))
}

/// The point of an operation.
pub(crate) fn point_of(route: &Route, method: Verb) -> Option<&'static Point> {
    POINTS.get(&(route.path, method)).copied()
}

/// Whether requests of this point take as long as was asked for, so that one that takes long is not slow.
pub(crate) fn is_as_long_as_asked(name: &str) -> bool {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let asked = operations().filter(|(_, operation)| operation.is_as_long_as_asked);
        asked.filter_map(|(route, operation)| Some(point_of(route, operation.method)?.name())).collect()
    });
    NAMES.contains(&name)
}

/// The path as it may be shown.
pub(crate) fn path_of(parts: &Parts, route: &'static Route) -> Box<str> {
    let has_secret = route.path.split('/').filter_map(argument_of).any(|name| name == SECRET);
    if has_secret { route.path.into() } else { parts.uri.path().into() }
}

/// What a request asks for: the arguments of its path, its user, and the parameters that the operation knows. No other ones: there are
/// clients that put secrets there.
pub(crate) fn arguments_of(parts: &Parts, found: &RouteMatch) -> impl FnOnce(&mut Arguments) + use<> {
    let user = match Credentials::of(&parts.headers) {
        Credentials::Basic { name, .. } => name,
        Credentials::Bearer { .. } => "(by a token)".to_owned(),
        _ => String::new(),
    };
    let path = found.arguments.clone();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let method = Verb::of(&parts.method);
    let operation = found.route.operations.iter().find(|operation| Some(operation.method) == method);
    let known: Vec<&str> =
        operation.iter().flat_map(|operation| operation.query).flat_map(|known| known.names()).collect();
    let shown: Vec<String> =
        query.pairs().filter(|(name, _)| known.contains(name)).map(|(name, value)| format!("{name}={value}")).collect();
    move |arguments| {
        for (name, value) in path.iter().filter(|(name, _)| *name != SECRET) {
            arguments.text(name, value);
        }
        arguments.text("user", &user).text("query", &shown.join("&"));
    }
}

/// Makes all points known: those of the API, of the broker, and of the cluster.
pub(crate) fn register() {
    let of_cluster = cluster::TRACE_POINTS.iter().copied();
    trace::register(POINTS.values().copied().chain(broker::trace_points()).chain(of_cluster));
}
