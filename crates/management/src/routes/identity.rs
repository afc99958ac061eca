//! The user that asks, the logins that were tried, and this broker's name.

use broker::{Identity, Interface};
use hyper::header::{EXPIRES, HeaderValue, PRAGMA};
use serde_json::Value;

use super::nodes::check_node;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, Object, Writer, wrong_type};
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Kind::{Boolean, List, Object as ObjectKind, Text};
use crate::route::Role::{Administrator, Management, Monitoring, Public};
use crate::route::{AnswerFuture, Field, LOGIN_REFUSED, Operation, Route, Shape, at};
use crate::tags::check_management;

pub(super) static ROUTES: &[Route] = &[
    at("/api/whoami", &[Operation::get(Management, whoami, "Returns the user of the request.", Shape::Object(USER))]),
    at(
        "/api/version",
        &[Operation::get(
            Public,
            version,
            "Returns the version of RabbitMQ that Warren is compatible with.",
            Shape::Text,
        )],
    ),
    at(
        "/api/cluster-name",
        &[
            Operation::get(Management, cluster_name, "Returns the cluster's name.", Shape::Object(NAME)),
            Operation::put(Administrator, put_cluster_name, "Sets the cluster's name.", NAME).answers(Shape::NoContent),
        ],
    ),
    at(
        "/api/login",
        &[
            Operation::post(
                Public,
                |_| Err(Problem::not_found()),
                "Checks a name and a password, which are sent as a form.",
                &[],
            )
            .later(|call| Box::pin(login(call)) as AnswerFuture)
            .answers(Shape::Object(LOGIN))
            .refuses(LOGIN_REFUSED),
            Operation::delete(
                Public,
                |_| Ok(Answer::no_content()),
                "Ends a session. Has no effect, because every request logs in again.",
            ),
        ],
    ),
    at(
        "/api/auth/hash_password/{password}",
        &[Operation::get(
            Administrator,
            hash_password,
            "Hashes a password with a new salt, in the format of users and definitions.",
            Shape::Object(&[Field::required("ok", Text, "The salt and hash in base64.")]),
        )],
    ),
    at(
        "/api/auth/attempts/{node}",
        &[
            Operation::get(Monitoring, attempts, "Returns the counts of login attempts.", Shape::List),
            Operation::delete(Administrator, reset_attempts, "Resets the counts of login attempts."),
        ],
    ),
    at(
        "/api/auth/attempts/{node}/source",
        &[
            Operation::get(
                Monitoring,
                attempts_by_source,
                "Returns login attempts by source, which are not counted.",
                Shape::List,
            ),
            Operation::delete(Administrator, reset_attempts, "Resets the counts of login attempts."),
        ],
    ),
    at(
        "/api/config/effective",
        &[Operation::get(Administrator, configuration, "Returns the effective configuration.", Shape::Page(TEXT))],
    ),
    at("/api/extensions", &[Operation::get(Management, extensions, "Lists extensions of the console.", Shape::List)]),
];

const USER: &[Field] = &[
    Field::required("name", Text, "The user's name."),
    Field::required("tags", List, "The user's tags."),
    Field::required("is_internal_user", Boolean, "Whether the user is in the broker's own list of users."),
];
const NAME: &[Field] = &[Field::required("name", Text, "The name.")];
const LOGIN: &[Field] = &[
    Field::required("user", ObjectKind, "The user's name."),
    Field::required("token", ObjectKind, "The value of the header `authorization` for the next requests."),
];
const TEXT: &str = "text/plain";

fn write_user(identity: &Identity, members: &mut Object<'_>) {
    members.cell("name").text(identity.name());
    members.cell("tags").texts(identity.user.tags.iter());
    members.cell("is_internal_user").bool(identity.is_internal());
}

fn whoami(call: &Call) -> Result<Answer, Problem> {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| write_user(call.identity(), members));
    Ok(Answer::json(out))
}

fn version(call: &Call) -> Result<Answer, Problem> {
    let mut out = Vec::new();
    Writer::new(&mut out).text(&call.service.options.compatible_version);
    Ok(uncached(Answer::json(out)))
}

/// An answer that old caches do not keep either.
pub(super) fn uncached(answer: Answer) -> Answer {
    answer.with(EXPIRES, HeaderValue::from_static("0")).with(PRAGMA, HeaderValue::from_static("no-cache"))
}

fn cluster_name(call: &Call) -> Result<Answer, Problem> {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| members.cell("name").text(&call.broker().cluster_name()));
    Ok(Answer::json(out))
}

fn put_cluster_name(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let name = Fields(&body).required("name")?;
    let Value::String(_) = name else { return Err(wrong_type("name", "a string", name)) };
    Ok(Answer::done(&call.broker().put_global_parameter(call.actor(), "cluster_name", name.clone())?))
}

async fn login(call: Call) -> Result<Answer, Problem> {
    use base64::Engine as _;
    if call.service.options.refuses_basic {
        return Err(Problem::not_authenticated());
    }
    let form = Query::parse(std::str::from_utf8(&call.body).unwrap_or_default());
    let (Some(name), Some(password)) = (form.get("username"), form.get("password")) else {
        return Err(Problem::not_authenticated());
    };
    let actor = call.service.log_in(name, password.as_bytes(), call.actor().origin).await?;
    check_management(&actor.identity)?;
    let token = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("user").object(|user| write_user(&actor.identity, user));
        members.cell("token").object(|members| {
            members.cell("type").text("basic");
            members.cell("value").text(&token);
        });
    });
    Ok(Answer::json(out))
}

fn hash_password(call: &Call) -> Result<Answer, Problem> {
    let hash = call.broker().hash_password(call.argument("password"))?;
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| members.cell("ok").text(&hash.to_string()));
    Ok(Answer::json(out))
}

fn attempts(call: &Call) -> Result<Answer, Problem> {
    check_node(call)?;
    let rows = [("http", Interface::Http), ("amqp091", Interface::Amqp)]
        .map(|(protocol, interface)| (protocol, call.broker().auth_attempts(interface)))
        .into_iter()
        // As in RabbitMQ, which lists a protocol once it has been used.
        .filter(|(_, attempts)| attempts.succeeded + attempts.failed > 0);
    let mut out = Vec::new();
    Writer::new(&mut out).list(rows, |(protocol, attempts), writer| {
        writer.object(|members| {
            members.cell("protocol").text(protocol);
            members.cell("auth_attempts").int(attempts.succeeded + attempts.failed);
            members.cell("auth_attempts_failed").int(attempts.failed);
            members.cell("auth_attempts_succeeded").int(attempts.succeeded);
        });
    });
    Ok(Answer::json(out))
}

fn attempts_by_source(call: &Call) -> Result<Answer, Problem> {
    check_node(call)?;
    Ok(Answer::json(b"[]".to_vec()))
}

fn reset_attempts(call: &Call) -> Result<Answer, Problem> {
    check_node(call)?;
    call.broker().reset_auth_attempts();
    Ok(Answer::no_content())
}

fn configuration(call: &Call) -> Result<Answer, Problem> {
    let lines = call.service.options.configuration.iter().map(|(key, value)| format!("{key} = {value}\n"));
    Ok(Answer::other(TEXT, lines.collect::<String>()))
}

fn extensions(_: &Call) -> Result<Answer, Problem> {
    // RabbitMQ's console names itself, and programs detect it by that.
    Ok(Answer::json(br#"[{"javascript":"dispatcher.js"}]"#.to_vec()))
}
