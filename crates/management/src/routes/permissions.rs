//! Permissions: what a user may do in a vhost.

use model::definition::UserPermission;
use model::name::{UserName, VhostName};

use super::users;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, list, single};
use crate::problem::Problem;
use crate::route::Kind::Text;
use crate::route::Role::Administrator;
use crate::route::{AnswerFuture, Field, LIST, Operation, Route, SINGLE, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/permissions",
        &[Operation::list(Administrator, all, "Lists permissions.", Shape::Many(&TABLE)).query(LIST)],
    ),
    at(
        "/api/permissions/{vhost}/{user}",
        &[
            Operation::get(Administrator, one, "Returns a user's permissions in a vhost.", Shape::One(&TABLE))
                .query(SINGLE),
            Operation::put(Administrator, put, "Sets a user's permissions in a vhost.", PERMISSION),
            Operation::delete(Administrator, delete, "Deletes a user's permissions in a vhost."),
        ],
    ),
    at(
        "/api/users/{user}/permissions",
        &[Operation::list(Administrator, of_user, "Lists a user's permissions.", Shape::Many(&TABLE)).query(LIST)],
    ),
    at(
        "/api/vhosts/{vhost}/permissions",
        &[Operation::list(Administrator, of_vhost, "Lists the permissions in a vhost.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
];

const PERMISSION: &[Field] = &[
    Field::required("configure", Text, "A regular expression for the names that the user may declare and delete."),
    Field::required("write", Text, "A regular expression for the names that the user may publish to."),
    Field::required("read", Text, "A regular expression for the names that the user may consume from."),
];

pub(super) static TABLE: Table<UserPermission, Service> = Table {
    title: "Permission",
    columns: &[
        column("user", Text, |given, _, cell| cell.text(given.user.as_str())),
        column("vhost", Text, |given, _, cell| cell.text(given.vhost.as_str())),
        column("configure", Text, |given, _, cell| cell.text(given.permission.configure.as_str())),
        column("write", Text, |given, _, cell| cell.text(given.permission.write.as_str())),
        column("read", Text, |given, _, cell| cell.text(given.permission.read.as_str())),
    ],
    order: |a, b| (&a.vhost, &a.user).cmp(&(&b.vhost, &b.user)),
    name: |given| given.user.as_str().into(),
};

fn answer(call: &Call, wanted: impl Fn(&UserPermission) -> bool) -> AnswerFuture {
    let mut given = call.broker().permissions();
    given.retain(|given| wanted(given));
    list(given, &TABLE, &call.service, &call.query)
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(answer(call, |_| true))
}

fn of_user(call: &Call) -> Result<AnswerFuture, Problem> {
    let user = users::find(call)?;
    Ok(answer(call, |given| given.user == user.name))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    super::vhosts::find(call)?;
    Ok(answer(call, |given| given.vhost.as_str() == call.vhost()))
}

fn find(call: &Call) -> Result<UserPermission, Problem> {
    let (vhost, user) = (call.vhost(), call.argument("user"));
    let mut given = call.broker().permissions().into_iter();
    given.find(|given| given.vhost.as_str() == vhost && given.user.as_str() == user).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find(call)?, &TABLE, &*call.service, &call.query))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let (user, vhost) = both(call)?;
    let body = call.object()?;
    let permission = definitions::permission(Fields(&body))?;
    let given = UserPermission { vhost, user, permission };
    Ok(Answer::changed(&call.broker().put_permission(call.actor(), given)?))
}

/// The user and the vhost of the path, both of which must be there.
pub(super) fn both(call: &Call) -> Result<(UserName, VhostName), Problem> {
    let user = call.broker().user(call.argument("user"));
    let mut vhosts = call.broker().vhost_names().into_iter();
    let vhost = vhosts.find(|name| name.as_str() == call.vhost());
    match (user, vhost) {
        (Some(user), Some(vhost)) => Ok((user.name.clone(), vhost)),
        _ => Err(Problem::bad_request("vhost_or_user_not_found")),
    }
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    let given = find(call)?;
    let changed = call.broker().delete_permission(call.actor(), given.user.as_str(), given.vhost.as_str())?;
    Ok(Answer::done(&changed))
}
