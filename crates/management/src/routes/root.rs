//! What a browser finds beside the console: the description of the API, and what old bookmarks lead to.

use hyper::StatusCode;
use hyper::header::HeaderValue;

use crate::answer::Answer;
use crate::call::Call;
use crate::openapi;
use crate::problem::Problem;
use crate::route::Role::Public;
use crate::route::{LOGIN_REFUSED, Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at("/api", &[Operation::get(Public, to_reference, "Redirects to the description of the API.", Shape::Page(HTML))]),
    at(
        "/api/index.html",
        &[Operation::get(Public, reference, "Returns a page with all requests of the API.", Shape::Page(HTML))
            .refuses(LOGIN_REFUSED)],
    ),
    at(
        "/api/openapi.json",
        &[Operation::get(Public, open_api, "Returns the description of the API in OpenAPI 3.1.", Shape::Object(&[]))
            .refuses(LOGIN_REFUSED)],
    ),
    at("/mgmt", &[Operation::get(Public, to_page, "Redirects to the console.", Shape::Page(HTML))]),
    at(
        "/js/oidc-oauth/bootstrap.js",
        &[Operation::get(
            Public,
            oauth_bootstrap,
            "Returns whether logins with OAuth 2 are enabled, as a script for pages.",
            Shape::Page(SCRIPT),
        )],
    ),
    at(
        "/doc/stats.html",
        &[Operation::get(Public, to_reference, "Redirects to the description of the API.", Shape::Page(HTML))],
    ),
];

const HTML: &str = "text/html";
const SCRIPT: &str = "text/javascript";

fn moved(call: &Call, path: &str) -> Result<Answer, Problem> {
    let location = HeaderValue::from_str(&format!("{}{path}", call.service.options.path_prefix));
    location.map(Answer::moved).map_err(|_| Problem::bare(StatusCode::NOT_FOUND))
}

fn to_reference(call: &Call) -> Result<Answer, Problem> {
    moved(call, "/api/index.html")
}

fn to_page(call: &Call) -> Result<Answer, Problem> {
    moved(call, "/")
}

/// What RabbitMQ's pages load first to learn how users log in. There is no page yet: a proxy, or an operator's own page, may ask.
fn oauth_bootstrap(call: &Call) -> Result<Answer, Problem> {
    let is_enabled = !call.service.options.oauth.is_empty();
    let script = format!("globalThis.set_oauth_settings?.({{\"oauth_enabled\":{is_enabled}}});\n");
    Ok(Answer::other("text/javascript; charset=utf-8", script))
}

/// The description is open to all unless the configuration says otherwise.
fn check_may_read(call: &Call) -> Result<(), Problem> {
    if call.service.options.reference_needs_login && !call.is_logged_in {
        return Err(Problem::login_required());
    }
    Ok(())
}

fn reference(call: &Call) -> Result<Answer, Problem> {
    check_may_read(call)?;
    let mut page =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>HTTP API</title>\n<h1>HTTP API</h1>\n\
                    <table>\n"
            .to_owned();
    for route in super::all() {
        for operation in route.operations {
            let (method, path, summary) = (operation.method.name(), escaped(route.path), escaped(operation.summary));
            page.push_str(&format!("<tr><td>{method}</td><td><code>{path}</code></td><td>{summary}</td></tr>\n"));
        }
    }
    page.push_str("</table>\n</html>\n");
    Ok(Answer::other(HTML, page))
}

fn open_api(call: &Call) -> Result<Answer, Problem> {
    check_may_read(call)?;
    Ok(Answer::json(openapi::description().to_string().into_bytes()))
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
