//! Users.

use std::sync::Arc;

use definitions::UserRequest;
use model::user::{HashingAlgorithm, PasswordHash, User};

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
    let request = UserRequest::of_body(call.argument("user"), Fields(&body))?;
    Ok(Answer::changed(&call.broker().put_user(call.actor(), request)?))
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
        // Users that do not exist, and protected ones, are passed over, as by RabbitMQ.
        if let Ok(changed) = call.broker().delete_user(call.actor(), name) {
            answer = answer.after(&changed);
        }
    }
    Ok(answer)
}
