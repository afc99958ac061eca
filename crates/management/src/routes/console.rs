//! The console: its page, and the files that the page consists of.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};

use crate::answer::Answer;
use crate::call::Call;
use crate::media;
use crate::problem::Problem;
use crate::route::Role::Public;
use crate::route::{Operation, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at("/", &[Operation::get(Public, page, "Returns the console.", Shape::Page(HTML))]),
    at("/index.html", &[Operation::get(Public, page, "Returns the console.", Shape::Page(HTML))]),
    at("/static/{version}/console/{file}", &[file("Returns a file of the console.")]),
    at("/static/{version}/console/{folder}/{file}", &[file("Returns a file of the console.")]),
];

const HTML: &str = "text/html";

/// The page may run only scripts of this broker, and talk to it alone. Text can never become a script.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);
/// Files never change under their addresses, which have the build's version in them.
const FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

const fn file(summary: &'static str) -> Operation {
    Operation::get(Public, send, summary, Shape::Page("*/*")).refuses(&[
        ("304", "The client's copy is current."),
        ("404", "The file does not exist, or belongs to another version."),
    ])
}

fn page(call: &Call) -> Result<Answer, Problem> {
    let base = format!("{}/", super::root::escaped(&call.service.options.path_prefix));
    let page = console::page(&base).unwrap_or_else(|| without_console(call, &base));
    Ok(Answer::other("text/html; charset=utf-8", page).with(header::CONTENT_SECURITY_POLICY, POLICY))
}

/// What a build shows that has not all of the console.
fn without_console(call: &Call, base: &str) -> String {
    let options = &call.service.options;
    let escaped = super::root::escaped;
    let (name, version) = (escaped(&options.product_name), escaped(&options.product_version));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{name}</title>\n<h1>{name} {version}</h1>\n\
         <p>This build has no console: the modules of others that it is built on (Preact, htm, uPlot) were not there. \
         <code>make web</code> fetches them with npm; then <code>make build</code> builds them in.</p>\n\
         <p>All that the console does <a href=\"{base}api/index.html\">the HTTP API</a> does, too, compatible with that of RabbitMQ {}; \
         <a href=\"{base}api/openapi.json\">for programs</a> it is described in OpenAPI 3.1.</p>\n</html>\n",
        escaped(&options.compatible_version)
    )
}

fn send(call: &Call) -> Result<Answer, Problem> {
    let (folder, file) = (call.argument("folder"), call.argument("file"));
    let path = if folder.is_empty() { format!("console/{file}") } else { format!("console/{folder}/{file}") };
    // A page of the version before must not get files of this one.
    let is_ours = call.argument("version") == console::VERSION;
    let asset = console::asset(&path).filter(|_| is_ours).ok_or_else(Problem::not_found)?;
    let etag = HeaderValue::from_static(asset.etag);
    let known = call.headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let answer =
        if known.flat_map(|value| value.split(',')).any(|one| matches!(one.trim(), "*") || one.trim() == asset.etag) {
            Answer::empty(StatusCode::NOT_MODIFIED)
        } else if media::accepts_gzip(&call.headers) {
            Answer::other(asset.content_type, Bytes::from_static(asset.gzip))
                .with(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))
        } else {
            Answer::other(asset.content_type, Bytes::from_static(asset.plain))
        };
    Ok(answer.with(header::ETAG, etag).with(header::CACHE_CONTROL, FOR_GOOD))
}
