//! Users.

use std::sync::Arc;

use broker::{PasswordChange, UserRequest};
use model::name::UserName;
use model::user::{HashingAlgorithm, PasswordHash, Tags, User};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, wrong_type};
use crate::listing::{Table, column, list, paged_list, single};
use crate::problem::Problem;
use crate::route::Kind::{Any, Boolean, List, Object, Text};
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Field, LIST, Operation, PAGED, Route, SINGLE, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at("/api/users", &[Operation::list(Administrator, all, "Lists users.", Shape::Many(&TABLE)).query(PAGED)]),
    at(
        "/api/users/without-permissions",
        &[Operation::list(
            Administrator,
            without_permissions,
            "Lists users without permissions in any vhost.",
            Shape::Many(&TABLE),
        )
        .query(LIST)],
    ),
    at(
        "/api/users/bulk-delete",
        &[Operation::post(
            Administrator,
            delete_many,
            "Deletes users. Unknown and protected users are skipped.",
            &[Field::required("users", List, "The names of the users.")],
        )],
    ),
    at(
        "/api/users/{user}",
        &[
            Operation::get(Administrator, one, "Returns a user.", Shape::One(&TABLE)).query(SINGLE),
            Operation::put(Administrator, put, "Creates or updates a user.", USER),
            Operation::delete(Administrator, delete, "Deletes a user and closes its connections."),
        ],
    ),
];

const USER: &[Field] = &[
    Field::required("tags", Any, "The tags: a list of texts, or one text separated by commas."),
    Field::optional(
        "password",
        Text,
        "The password. Without it and without a hash, the user cannot log in with a password.",
    ),
    Field::optional("password_hash", Text, "A salt and a hash in base64, instead of the password."),
    Field::optional("hashing_algorithm", Text, "The hashing algorithm. Default: `rabbit_password_hashing_sha256`."),
    Field::optional("second_password", Text, "A second valid password."),
    Field::optional("second_password_hash", Text, "A salt and a hash in base64, instead of the second password."),
    Field::optional("keep_old_password", Boolean, "Whether the old password stays valid in addition to the new one."),
];

pub(super) static TABLE: Table<Arc<User>, Service> = Table {
    title: "User",
    columns: &[
        column("hashing_algorithm", Text, |user, _, cell| cell.text(algorithm(user).name())),
        column("limits", Object, |user, _, cell| {
            cell.object(|limits| user.limits.iter().for_each(|(name, value)| limits.cell(name).signed(value)));
        }),
        column("name", Text, |user, _, cell| cell.text(user.name.as_str())),
        column("password_hash", Text, |user, _, cell| {
            cell.text(&user.password_hash.as_ref().map(ToString::to_string).unwrap_or_default());
        }),
        column("tags", List, |user, _, cell| cell.texts(user.tags.iter())),
    ],
    order: |a, b| a.name.cmp(&b.name),
    name: |user| user.name.as_str().into(),
};

/// Of a user without a password, what a password would be hashed with.
fn algorithm(user: &User) -> HashingAlgorithm {
    user.password_hash.as_ref().map_or(HashingAlgorithm::default(), PasswordHash::algorithm)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    paged_list(call.broker().users(), &TABLE, &call.service, &call.query)
}

fn without_permissions(call: &Call) -> Result<AnswerFuture, Problem> {
    let permitted = call.broker().permissions();
    let mut users = call.broker().users();
    users.retain(|user| permitted.iter().all(|permission| permission.user != user.name));
    Ok(list(users, &TABLE, &call.service, &call.query))
}

/// The user of the path.
pub(super) fn find(call: &Call) -> Result<Arc<User>, Problem> {
    call.broker().user(call.argument("user")).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find(call)?, &TABLE, &*call.service, &call.query))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let change = change(call.argument("user"), Fields(&body))?;
    Ok(Answer::changed(&call.broker().put_user(call.actor(), change)?))
}

/// A user as JSON describes it.
pub(crate) fn change(name: &str, fields: Fields<'_>) -> Result<UserRequest, Problem> {
    let name = UserName::parse(name.as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))?;
    let tags = fields.get("tags").ok_or_else(|| Problem::bad_request("tags_not_present"))?;
    Ok(UserRequest {
        name,
        // RabbitMQ, too, takes the password away where none is given. A second one stays until it is taken away by name.
        password: password(fields, "password", "password_hash")?.unwrap_or(PasswordChange::Clear),
        second_password: password(fields, "second_password", "second_password_hash")?.unwrap_or(PasswordChange::Keep),
        keeps_old_password: fields.bool("keep_old_password", false)?,
        tags: Some(tags_of(tags)?),
        limits: None,
    })
}

/// A password, or the hash of one; an empty hash takes it away.
fn password(fields: Fields<'_>, plain: &str, hash: &str) -> Result<Option<PasswordChange>, Problem> {
    match (fields.text(plain)?, fields.text(hash)?) {
        (Some(_), Some(_)) => Err(Problem::bad_request("both_password_and_password_hash_are_provided")),
        (Some(password), None) => Ok(Some(PasswordChange::Plain(password.to_owned()))),
        (None, Some(hash)) => {
            let hash = password_hash(hash, fields.text("hashing_algorithm")?)?;
            Ok(Some(hash.map_or(PasswordChange::Clear, PasswordChange::Hash)))
        }
        (None, None) => Ok(None),
    }
}

fn password_hash(text: &str, algorithm: Option<&str>) -> Result<Option<PasswordHash>, Problem> {
    use base64::Engine as _;
    let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(text) else {
        return Err(Problem::bad_request(json!(["not_base64", text])));
    };
    let algorithm = match algorithm {
        // RabbitMQ takes any hash for its default's, by which no login succeeds.
        None => HashingAlgorithm::of_len(bytes.len()).unwrap_or_default(),
        Some(name) => HashingAlgorithm::parse(name)
            .ok_or_else(|| Problem::bad_request(format!("unknown hashing algorithm '{name}'")))?,
    };
    PasswordHash::parse(text, algorithm).map_err(|error| Problem::bad_request(error.to_string()))
}

/// Whether the hash has a length that no password's has: RabbitMQ takes it all the same, and no login by a password succeeds.
pub(crate) fn is_useless_hash(fields: Fields<'_>) -> Result<bool, Problem> {
    use base64::Engine as _;
    let Some(text) = fields.text("password_hash")? else { return Ok(false) };
    let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(text) else { return Ok(false) };
    let is_useless = |algorithm| PasswordHash::parse(text, algorithm).is_err();
    Ok(match fields.text("hashing_algorithm")? {
        None => is_useless(HashingAlgorithm::of_len(bytes.len()).unwrap_or_default()),
        Some(name) => HashingAlgorithm::parse(name).is_some_and(is_useless),
    })
}

/// Roles as a list of texts, or as one text with commas.
fn tags_of(value: &Value) -> Result<Tags, Problem> {
    match value {
        Value::String(text) => Ok(Tags::parse(text)),
        Value::Array(items) => items
            .iter()
            .map(|item| item.as_str().ok_or_else(|| wrong_type("tags", "a list of strings", value)))
            .collect(),
        other => Err(wrong_type("tags", "a string or a list of strings", other)),
    }
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    let user = find(call)?;
    Ok(Answer::done(&call.broker().delete_user(call.actor(), user.name.as_str())?))
}

fn delete_many(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let names = Fields(&body).required("users")?;
    let wrong = || wrong_type("users", "a list of strings", names);
    let names: Vec<&str> = names
        .as_array()
        .ok_or_else(wrong)?
        .iter()
        .map(|name| name.as_str().ok_or_else(wrong))
        .collect::<Result<_, _>>()?;
    let mut answer = Answer::no_content();
    for name in names {
        // Those who are not there, and those who are protected, are passed over, as by RabbitMQ.
        if let Ok(changed) = call.broker().delete_user(call.actor(), name) {
            answer = answer.after(&changed);
        }
    }
    Ok(answer)
}
