//! Policies of users and of operators.

use std::sync::Arc;

use broker::{Changed, ControlError, PolicyApplication};
use hyper::StatusCode;
use model::policy::{Policy, PolicyKind};

use super::vhosts;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, list, single};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, Object, Text};
use crate::route::Role::{AdministratorInVhost, InVhost, Management, PolicymakerInVhost};
use crate::route::{AnswerFuture, Field, LIST, Operation, Route, SINGLE, Shape, at};
use crate::service::Service;

pub(super) static ROUTES: &[Route] = &[
    at("/api/policies", &[Operation::list(Management, all, "Lists policies.", Shape::Many(&TABLE)).query(LIST)]),
    at(
        "/api/policies/{vhost}",
        &[Operation::list(InVhost, of_vhost, "Lists the policies of a vhost.", Shape::Many(&TABLE)).query(LIST)],
    ),
    at(
        "/api/policies/{vhost}/{name}",
        &[
            Operation::get(PolicymakerInVhost, one, "Returns a policy.", Shape::One(&TABLE)).query(SINGLE),
            Operation::put(PolicymakerInVhost, nothing, "Creates or updates a policy.", POLICY)
                .later(|call| Box::pin(put(call, PolicyKind::User)) as AnswerFuture),
            Operation::delete(PolicymakerInVhost, nothing, "Deletes a policy.")
                .later(|call| Box::pin(delete(call, PolicyKind::User)) as AnswerFuture),
        ],
    ),
    at(
        "/api/operator-policies",
        &[Operation::list(Management, all_operator, "Lists operator policies.", Shape::Many(&TABLE)).query(LIST)],
    ),
    at(
        "/api/operator-policies/{vhost}",
        &[Operation::list(InVhost, of_vhost_operator, "Lists the operator policies of a vhost.", Shape::Many(&TABLE))
            .query(LIST)],
    ),
    at(
        "/api/operator-policies/{vhost}/{name}",
        &[
            Operation::get(AdministratorInVhost, one_operator, "Returns an operator policy.", Shape::One(&TABLE))
                .query(SINGLE),
            Operation::put(AdministratorInVhost, nothing, "Creates or updates an operator policy.", POLICY)
                .later(|call| Box::pin(put(call, PolicyKind::Operator)) as AnswerFuture)
                .refuses(UNCHANGEABLE),
            Operation::delete(AdministratorInVhost, nothing, "Deletes an operator policy.")
                .later(|call| Box::pin(delete(call, PolicyKind::Operator)) as AnswerFuture)
                .refuses(UNCHANGEABLE),
        ],
    ),
];

const UNCHANGEABLE: &[(&str, &str)] = &[("405", "The configuration forbids changes of operator policies over HTTP.")];

const POLICY: &[Field] = &[
    Field::required("pattern", Text, "A regular expression for the names of queues and exchanges."),
    Field::required("definition", Object, "The keys and values of the policy."),
    Field::optional(
        "priority",
        Integer,
        "If several policies match, the one with the highest priority applies. Default: 0.",
    ),
    Field::optional(
        "apply-to",
        Text,
        "`all`, `queues`, `classic_queues`, `quorum_queues`, `streams` or `exchanges`. Default: `all`.",
    ),
];

static TABLE: Table<Arc<Policy>, Service> = Table {
    title: "Policy",
    columns: &[
        column("vhost", Text, |policy, _, cell| cell.text(policy.vhost.as_str())),
        column("name", Text, |policy, _, cell| cell.text(&policy.name)),
        column("pattern", Text, |policy, _, cell| cell.text(policy.pattern.as_str())),
        column("apply-to", Text, |policy, _, cell| cell.text(policy.apply_to.name())),
        column("definition", Object, |policy, _, cell| {
            cell.object(|settings| {
                policy.definition.settings().iter().for_each(|(name, value)| settings.cell(name).value(value));
            });
        }),
        column("priority", Integer, |policy, _, cell| cell.signed(policy.priority)),
        column("pattern_undecided", Boolean, |policy, _, cell| {
            if policy.pattern.is_undecided() {
                cell.bool(true);
            }
        }),
    ],
    order: |a, b| (&a.vhost, &a.name).cmp(&(&b.vhost, &b.name)),
    name: |policy| (*policy.name).into(),
};

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(listed(call, PolicyKind::User, None))
}

fn all_operator(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(listed(call, PolicyKind::Operator, None))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(listed(call, PolicyKind::User, Some(call.vhost())))
}

fn of_vhost_operator(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(listed(call, PolicyKind::Operator, Some(call.vhost())))
}

fn listed(call: &Call, kind: PolicyKind, vhost: Option<&str>) -> AnswerFuture {
    let mut policies = call.broker().policies(kind);
    policies.retain(|policy| match vhost {
        Some(vhost) => policy.vhost.as_str() == vhost,
        None => call.sees_vhost(policy.vhost.as_str()),
    });
    list(policies, &TABLE, &call.service, &call.query)
}

fn find(call: &Call, kind: PolicyKind) -> Result<Arc<Policy>, Problem> {
    let (vhost, name) = (call.vhost(), call.argument("name"));
    let mut policies = call.broker().policies(kind).into_iter();
    policies.find(|policy| policy.vhost.as_str() == vhost && &*policy.name == name).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find(call, PolicyKind::User)?, &TABLE, &*call.service, &call.query))
}

fn one_operator(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find(call, PolicyKind::Operator)?, &TABLE, &*call.service, &call.query))
}

fn nothing(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

/// Operators may have ruled out that their policies are changed over HTTP.
fn check_changeable(call: &Call, kind: PolicyKind) -> Result<(), Problem> {
    if kind == PolicyKind::User || call.service.options.operator_policies_change {
        return Ok(());
    }
    Err(Problem::bare(StatusCode::METHOD_NOT_ALLOWED))
}

async fn put(call: Call, kind: PolicyKind) -> Result<Answer, Problem> {
    check_changeable(&call, kind)?;
    let vhost = vhosts::find(&call)?.facts.name.clone();
    let body = call.object()?;
    let request = definitions::policy(vhost, call.argument("name"), kind, Fields(&body))?;
    let (application, warnings) = call.broker().begin_policies(call.actor(), vec![request]).map_err(refused)?;
    for warning in warnings {
        tracing::warn!(policy = call.argument("name"), vhost = call.vhost(), "{warning}");
    }
    Ok(Answer::changed(&applied(&call, application).await?))
}

async fn delete(call: Call, kind: PolicyKind) -> Result<Answer, Problem> {
    check_changeable(&call, kind)?;
    let policy = find(&call, kind)?;
    let begun = call.broker().begin_policy_deletion(call.actor(), kind, policy.vhost.as_str(), &policy.name)?;
    Ok(Answer::done(&applied(&call, begun).await?))
}

/// Applies changed policies to their objects, with other requests served in between. A task of its own does: it continues when the caller
/// has disconnected.
async fn applied(call: &Call, mut application: PolicyApplication) -> Result<Changed, Problem> {
    let broker = call.broker().clone();
    let applying = tokio::spawn(async move {
        loop {
            if let Some(changed) = application.turn(&broker) {
                return changed;
            }
            tokio::task::yield_now().await;
        }
    });
    applying.await.map_err(|_| Problem::bare(StatusCode::INTERNAL_SERVER_ERROR))
}

/// Why a policy cannot be set.
fn refused(error: ControlError) -> Problem {
    match error {
        ControlError::Invalid(text) => Problem::validation_failed(&text),
        other => other.into(),
    }
}
