//! Logging in once for many requests, as a browser does: a session that a cookie stands for.

use std::time::{Duration, UNIX_EPOCH};

use broker::Identity;
use hyper::StatusCode;
use hyper::header::SET_COOKIE;

use crate::answer::Answer;
use crate::call::Call;
use crate::cookie::{self, now_ms};
use crate::json::{Fields, Writer};
use crate::problem::Problem;
use crate::route::Kind::{List, Text};
use crate::route::Role::Public;
use crate::route::{AnswerFuture, Field, LOGIN_REFUSED, Operation, Route, Shape, at};
use crate::tags::check_management;

pub(super) static ROUTES: &[Route] = &[at(
    "/api/session",
    &[
        Operation::post(
            Public,
            |_| Err(Problem::not_found()),
            "Opens a session for further requests, and sets its cookie.",
            CREDENTIALS,
        )
        .later(|call| Box::pin(open(call)) as AnswerFuture)
        .answers(Shape::Object(SESSION))
        .strict()
        .refuses(LOGIN_REFUSED),
        Operation::get(
            Public,
            show,
            "Returns the user of the session that belongs to the request's cookie.",
            Shape::Object(SESSION),
        )
        .refuses(LOGIN_REFUSED),
        Operation::delete(Public, close, "Ends the session that belongs to the request's cookie."),
    ],
)];

const CREDENTIALS: &[Field] = &[
    Field::optional("name", Text, "The user's name. Needs `password`."),
    Field::optional("password", Text, "The user's password."),
    Field::optional("token", Text, "A token, instead of a name and a password."),
];
const SESSION: &[Field] = &[
    Field::required("name", Text, "The user's name."),
    Field::required("tags", List, "The user's tags."),
    Field::required("expires", Text, "When the session expires, in the format of RFC 3339."),
];

async fn open(call: Call) -> Result<Answer, Problem> {
    cookie::check_page(&call.headers)?;
    let body = call.object()?;
    let fields = Fields(&body);
    let origin = call.actor().origin;
    let (actor, secret) = match (fields.text("name")?, fields.text("password")?, fields.text("token")?) {
        (None, None, Some(token)) => (call.service.log_in_by_token(token.as_bytes(), origin).await?, token),
        (Some(name), Some(password), None) if call.service.options.refuses_basic => {
            let _ = (name, password);
            return Err(Problem::not_authenticated());
        }
        (Some(name), Some(password), None) => (call.service.log_in(name, password.as_bytes(), origin).await?, password),
        _ => return Err(Problem::bad_request("a session needs a name and a password, or a token")),
    };
    check_management(&actor.identity)?;
    opened(&call, &actor.identity, secret)
}

/// Opens a session for the user who has logged in with this password or token.
fn opened(call: &Call, identity: &Identity, secret: &str) -> Result<Answer, Problem> {
    let (service, now_ms) = (&call.service, now_ms());
    let lifetime = service.options.session_lifetime;
    let opened = call.broker().open_login_session(identity, secret.as_bytes(), &call.actor().origin, lifetime, now_ms);
    let opened =
        opened.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", error.to_string()))?;
    let session = opened.ok_or_else(Problem::not_authenticated)?;
    let left = Duration::from_millis(session.expires_at_ms.saturating_sub(now_ms));
    let cookie = cookie::set(&session.token, &service.options.path_prefix, left, &call.headers, call.is_over_tls);
    let answer = described(identity, session.expires_at_ms).with_status(StatusCode::CREATED).with(SET_COOKIE, cookie);
    Ok(Answer { position: session.position, ..answer })
}

fn show(call: &Call) -> Result<Answer, Problem> {
    let (broker, origin, now_ms) = (call.broker(), call.actor().origin, now_ms());
    let found = cookie::tokens(&call.headers).find_map(|token| broker.login_session(token, &origin, now_ms));
    let (identity, expires_at_ms) = found.ok_or_else(no_session)?;
    check_management(&identity)?;
    Ok(described(&identity, expires_at_ms))
}

/// Not a question for a name and a password: this is about a cookie.
fn no_session() -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "not_authorized", "no session, or it has expired: log in")
}

fn close(call: &Call) -> Result<Answer, Problem> {
    let mut tokens = cookie::tokens(&call.headers).peekable();
    if tokens.peek().is_some() {
        cookie::check_origin(&hyper::Method::DELETE, &call.headers)?;
    }
    tokens.for_each(|token| call.broker().close_login_session(token));
    Ok(Answer::no_content().with(SET_COOKIE, cookie::clear(&call.service.options.path_prefix)))
}

fn described(identity: &Identity, expires_at_ms: u64) -> Answer {
    let mut out = Vec::new();
    let expires_at = UNIX_EPOCH + Duration::from_millis(expires_at_ms);
    Writer::new(&mut out).object(|members| {
        members.cell("name").text(identity.name());
        members.cell("tags").texts(identity.user.tags.iter());
        members.cell("expires").text(&humantime::format_rfc3339_seconds(expires_at).to_string());
    });
    Answer::json(out)
}
