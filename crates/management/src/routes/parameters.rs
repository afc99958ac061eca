//! Runtime parameters: those of vhosts by component, and global ones.
//!
//! Policies and limits of vhosts are parameters, too, as RabbitMQ shows them; policies can only be set as policies.

use std::borrow::Cow;

use broker::view::VhostView;
use model::erlang;
use model::name::VhostName;
use model::parameter::{
    COMPONENTS, GlobalParameter, VHOST_LIMITS, VHOST_LIMITS_NAME, VhostParameter, check_vhost_parameter, is_hidden,
    vhosts_here,
};
use model::policy::{Policy, PolicyKind};
use model::vhost::VhostLimits;
use serde_json::{Map, Value, json};

use super::vhosts;
use crate::answer::Answer;
use crate::call::Call;
use crate::json::Fields;
use crate::listing::{Table, column, list, single};
use crate::problem::Problem;
use crate::route::Kind::{Any, Text};
use crate::route::Role::{Policymaker, PolicymakerInVhost};
use crate::route::{AnswerFuture, Field, LIST, Operation, Route, SINGLE, Shape, at};
use crate::service::Service;
use crate::tags::is_administrator;
use observe::alerting;

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/parameters",
        &[Operation::list(Policymaker, all, "Lists the parameters of all vhosts, without user policies.", PARAMETERS)
            .query(LIST)],
    ),
    at(
        "/api/parameters/{component}",
        &[Operation::list(Policymaker, of_component, "Lists the parameters of a component.", PARAMETERS).query(LIST)],
    ),
    at(
        "/api/parameters/{component}/{vhost}",
        &[Operation::list(PolicymakerInVhost, of_vhost, "Lists the parameters of a component in a vhost.", PARAMETERS)
            .query(LIST)],
    ),
    at(
        "/api/parameters/{component}/{vhost}/{name}",
        &[
            Operation::get(PolicymakerInVhost, one, "Returns a parameter.", Shape::One(&TABLE)).query(SINGLE),
            Operation::put(PolicymakerInVhost, put, "Sets a parameter.", VALUE),
            Operation::delete(PolicymakerInVhost, delete, "Deletes a parameter."),
        ],
    ),
    at(
        "/api/global-parameters",
        &[Operation::list(Policymaker, all_global, "Lists global parameters.", Shape::Many(&GLOBAL)).query(LIST)],
    ),
    at(
        "/api/global-parameters/{name}",
        &[
            Operation::get(Policymaker, one_global, "Returns a global parameter.", Shape::One(&GLOBAL)).query(SINGLE),
            Operation::put(Policymaker, put_global, "Sets a global parameter.", VALUE),
            Operation::delete(Policymaker, delete_global, "Deletes a global parameter."),
        ],
    ),
];

const PARAMETERS: Shape = Shape::Many(&TABLE);
const VALUE: &[Field] = &[Field::required("value", Any, "The value.")];

/// What policies are as parameters.
const POLICY: &str = "policy";
const OPERATOR_POLICY: &str = "operator_policy";

/// A parameter of a vhost.
struct Parameter {
    component: Cow<'static, str>,
    vhost: String,
    name: String,
    value: Value,
}

static TABLE: Table<Parameter, Service> = Table {
    title: "Parameter",
    columns: &[
        column("value", Any, |parameter: &Parameter, _, cell| cell.value(&parameter.value)),
        column("vhost", Text, |parameter, _, cell| cell.text(&parameter.vhost)),
        column("component", Text, |parameter, _, cell| cell.text(&parameter.component)),
        column("name", Text, |parameter, _, cell| cell.text(&parameter.name)),
    ],
    order: |a, b| (&a.component, &a.vhost, &a.name).cmp(&(&b.component, &b.vhost, &b.name)),
    name: |parameter| (*parameter.name).into(),
};

static GLOBAL: Table<GlobalParameter, Service> = Table {
    title: "GlobalParameter",
    columns: &[
        column("name", Text, |parameter, _, cell| cell.text(&parameter.name)),
        column("value", Any, |parameter, _, cell| cell.value(&parameter.value)),
    ],
    order: |a, b| a.name.cmp(&b.name),
    name: |parameter| (*parameter.name).into(),
};

fn of_policy(policy: &Policy, component: &'static str) -> Parameter {
    let value = json!({
        "pattern": policy.pattern.as_str(),
        "definition": policy.definition.settings(),
        "priority": policy.priority,
        "apply-to": policy.apply_to.name(),
    });
    Parameter { component: component.into(), vhost: policy.vhost.to_string(), name: policy.name.to_string(), value }
}

fn of_limits(view: &VhostView) -> Option<Parameter> {
    let value: Map<String, Value> =
        view.facts.limits.iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let (vhost, name) = (view.facts.name.to_string(), VHOST_LIMITS_NAME.to_owned());
    (!value.is_empty()).then(|| Parameter { component: VHOST_LIMITS.into(), vhost, name, value: value.into() })
}

fn of_kept(parameter: VhostParameter) -> Parameter {
    let VhostParameter { vhost, component, name, value } = parameter;
    Parameter { component: String::from(component).into(), vhost: vhost.to_string(), name: name.into(), value }
}

/// All parameters of one component, or of all but the policies of users.
fn parameters(call: &Call, component: Option<&str>, vhost: Option<&str>) -> Vec<Parameter> {
    let broker = call.broker();
    let mut found = Vec::new();
    if component == Some(POLICY) {
        found.extend(broker.policies(PolicyKind::User).iter().map(|policy| of_policy(policy, POLICY)));
    }
    if component.is_none_or(|component| component == OPERATOR_POLICY) {
        found.extend(broker.policies(PolicyKind::Operator).iter().map(|policy| of_policy(policy, OPERATOR_POLICY)));
    }
    if component.is_none_or(|component| component == VHOST_LIMITS) {
        found.extend(broker.vhost_views().iter().filter_map(of_limits));
    }
    if !component.is_some_and(is_hidden) {
        found.extend(broker.vhost_parameters(component, vhost).into_iter().map(of_kept));
    }
    found.retain(|parameter| match vhost {
        Some(vhost) => parameter.vhost == vhost,
        None => call.sees_vhost(&parameter.vhost),
    });
    found
}

fn all(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(parameters(call, None, None), &TABLE, &call.service, &call.query))
}

fn of_component(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(parameters(call, Some(call.argument("component")), None), &TABLE, &call.service, &call.query))
}

fn of_vhost(call: &Call) -> Result<AnswerFuture, Problem> {
    let found = parameters(call, Some(call.argument("component")), Some(call.vhost()));
    Ok(list(found, &TABLE, &call.service, &call.query))
}

fn find(call: &Call) -> Result<Parameter, Problem> {
    let name = call.argument("name");
    let mut found = parameters(call, Some(call.argument("component")), Some(call.vhost())).into_iter();
    found.find(|parameter| parameter.name == name).ok_or_else(Problem::not_found)
}

fn one(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find(call)?, &TABLE, &*call.service, &call.query))
}

fn put(call: &Call) -> Result<Answer, Problem> {
    let body = call.object()?;
    let value = Fields(&body).required("value")?;
    match call.argument("component") {
        VHOST_LIMITS => put_limits(call, value),
        POLICY | OPERATOR_POLICY => Err(Problem::bad_request("policies may not be set using this method")),
        component if COMPONENTS.contains(&component) => put_kept(call, component, value),
        component => Err(Problem::validation_failed(&format!("component {component} not found"))),
    }
}

fn put_limits(call: &Call, value: &Value) -> Result<Answer, Problem> {
    let Value::Object(values) = value else {
        return Err(Problem::validation_failed(&format!(
            "limits should be an object, actually was {}",
            erlang::term(value)
        )));
    };
    let mut limits = VhostLimits::default();
    for (name, value) in values {
        let Some(number) = value.as_i64() else {
            return Err(Problem::validation_failed(&format!(
                "{name} should be a number, actually was {}",
                erlang::term(value)
            )));
        };
        limits.set(name, number).map_err(|error| Problem::validation_failed(&error.to_string()))?;
    }
    let is_new = vhosts::find(call)?.facts.limits == VhostLimits::default();
    let changed = call.broker().set_vhost_limits(call.actor(), call.vhost(), |own| *own = limits)?;
    Ok(Answer::changed(&broker::Changed { is_new, ..changed }))
}

fn put_kept(call: &Call, component: &str, value: &Value) -> Result<Answer, Problem> {
    let name = call.argument("name");
    check_vhost_parameter(component, name, value).map_err(|error| Problem::validation_failed(&error.to_string()))?;
    for vhost in vhosts_here(component, name, value) {
        if call.context.enter(&vhost).is_none() {
            let user = call.identity().name();
            return Err(Problem::validation_failed(&format!("user \"{user}\" may not connect to vhost \"{vhost}\"")));
        }
    }
    let vhost = VhostName::parse(call.vhost().as_bytes()).map_err(|error| Problem::bad_request(error.to_string()))?;
    let (component, name, value) = (component.into(), name.into(), value.clone());
    let parameter = VhostParameter { vhost, component, name, value };
    Ok(Answer::changed(&call.broker().put_vhost_parameter(call.actor(), parameter)?))
}

fn delete(call: &Call) -> Result<Answer, Problem> {
    let parameter = find(call)?;
    let broker = call.broker();
    let changed = match &*parameter.component {
        VHOST_LIMITS => broker.set_vhost_limits(call.actor(), &parameter.vhost, |own| *own = VhostLimits::default())?,
        component if COMPONENTS.contains(&component) => {
            broker.delete_vhost_parameter(call.actor(), &parameter.vhost, component, &parameter.name)?
        }
        _ => return Err(Problem::bad_request("policies may not be cleared using this method")),
    };
    Ok(Answer::done(&changed))
}

fn all_global(call: &Call) -> Result<AnswerFuture, Problem> {
    Ok(list(shown_global(call), &GLOBAL, &call.service, &call.query))
}

/// Those of alerts may have secrets, and are for administrators.
fn shown_global(call: &Call) -> Vec<GlobalParameter> {
    let mut parameters = call.broker().global_parameters();
    if !is_administrator(call.identity()) {
        parameters.retain(|parameter| !alerting::is_parameter(&parameter.name));
    }
    parameters
}

/// What is to be checked is set where it is.
fn check_is_plain(call: &Call) -> Result<(), Problem> {
    if alerting::is_parameter(call.argument("name")) {
        return Err(Problem::bad_request("alert rules and webhooks are set at /api/alerts"));
    }
    Ok(())
}

fn find_global(call: &Call) -> Result<GlobalParameter, Problem> {
    let name = call.argument("name");
    let mut found = shown_global(call).into_iter();
    found.find(|parameter| &*parameter.name == name).ok_or_else(Problem::not_found)
}

fn one_global(call: &Call) -> Result<Answer, Problem> {
    Ok(single(&find_global(call)?, &GLOBAL, &*call.service, &call.query))
}

fn put_global(call: &Call) -> Result<Answer, Problem> {
    check_is_plain(call)?;
    let body = call.object()?;
    let value = Fields(&body).required("value")?.clone();
    Ok(Answer::changed(&call.broker().put_global_parameter(call.actor(), call.argument("name"), value)?))
}

fn delete_global(call: &Call) -> Result<Answer, Problem> {
    check_is_plain(call)?;
    let parameter = find_global(call)?;
    Ok(Answer::done(&call.broker().delete_global_parameter(call.actor(), &parameter.name)?))
}
