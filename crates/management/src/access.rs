//! Who may do what: the one place that decides, from the table of routes.

use broker::{Broker, Identity};
use hyper::StatusCode;
use model::user::Tags;

use crate::path::Arguments;
use crate::problem::Problem;
use crate::request_context::RequestContext;
use crate::route::{Operation, Role, Verb};
use crate::tags::{check_management, has_any, is_administrator, is_monitor};

/// Whether the user may call an operation with these arguments.
pub(crate) fn check(
    broker: &Broker,
    operation: &Operation,
    context: &RequestContext,
    arguments: &Arguments,
) -> Result<(), Problem> {
    check_role(operation.role, &context.actor.identity)?;
    if !is_in_vhost(operation.role) {
        return Ok(());
    }
    let Some(vhost) = arguments.get("vhost") else { return Ok(()) };
    let is_list = operation.method == Verb::Get && arguments.len() == 1;
    if !broker.has_vhost(vhost) {
        return Err(match operation.method {
            Verb::Get | Verb::Delete => Problem::not_found(),
            Verb::Put | Verb::Post => Problem::new(StatusCode::NOT_FOUND, "not_found", "vhost_not_found"),
        });
    }
    // An administrator sees what is in every vhost; what it may do there is for the broker to decide.
    let identity = &context.actor.identity;
    let sees_all = match operation.role {
        Role::MonitoringOrInVhost => is_monitor(identity),
        _ => is_administrator(identity),
    };
    if !sees_all && context.enter(vhost).is_none() {
        return Err(if is_list {
            Problem::not_found()
        } else {
            Problem::new(StatusCode::NOT_FOUND, "not_found", "Not Found")
        });
    }
    Ok(())
}

fn check_role(role: Role, identity: &Identity) -> Result<(), Problem> {
    if role == Role::Public {
        return Ok(());
    }
    check_management(identity)?;
    let (tags, refusal): (&[&str], _) = match role {
        Role::Public | Role::Configured | Role::Management | Role::InVhost | Role::MonitoringOrInVhost => {
            return Ok(());
        }
        Role::Policymaker | Role::PolicymakerInVhost => {
            (&[Tags::ADMINISTRATOR, Tags::POLICYMAKER], "User not authorised to access object")
        }
        Role::Monitoring => (&[Tags::ADMINISTRATOR, Tags::MONITORING], "Not monitor user"),
        Role::MonitoringOfObject => (&[Tags::ADMINISTRATOR, Tags::MONITORING], "User not authorised to access object"),
        Role::Administrator | Role::AdministratorInVhost => (&[Tags::ADMINISTRATOR], "Not administrator user"),
    };
    if has_any(identity, tags) { Ok(()) } else { Err(Problem::not_authorised(refusal)) }
}

fn is_in_vhost(role: Role) -> bool {
    let in_vhost = [Role::InVhost, Role::MonitoringOrInVhost, Role::PolicymakerInVhost, Role::AdministratorInVhost];
    in_vhost.contains(&role)
}
