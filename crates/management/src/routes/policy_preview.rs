//! What a policy would do before it is set or deleted, and why the policies that there are do what they do. Nothing is changed.

use std::sync::Arc;

use model::name::VhostName;
use model::policy::{EffectivePolicy, Policy, PolicyKind, PolicyRanking, Target};
use serde_json::{Map, Value};

use super::{exchanges, queues, vhosts};
use crate::answer::Answer;
use crate::call::Call;
use crate::json::{Fields, Object, Writer};
use crate::problem::Problem;
use crate::route::Kind::{Boolean, Integer, List, Object as ObjectKind, Text};
use crate::route::Role::{AdministratorInVhost, InVhost, PolicymakerInVhost};
use crate::route::{AnswerFuture, Field, Operation, Parameters, Route, Shape, at};

pub(super) static ROUTES: &[Route] = &[
    at(
        "/api/policies/{vhost}/{name}/preview",
        &[Operation::post(PolicymakerInVhost, nothing, PREVIEWS, BODY)
            .later(|call| Box::pin(preview(call, PolicyKind::User)) as AnswerFuture)
            .answers(PREVIEW)
            .query(PAGE)],
    ),
    at(
        "/api/operator-policies/{vhost}/{name}/preview",
        &[Operation::post(AdministratorInVhost, nothing, PREVIEWS, BODY)
            .later(|call| Box::pin(preview(call, PolicyKind::Operator)) as AnswerFuture)
            .answers(PREVIEW)
            .query(PAGE)],
    ),
    at(
        "/api/queues/{vhost}/{queue}/policies",
        &[Operation::get(
            InVhost,
            of_queue,
            "Returns the policies that match a queue, and their effective definition.",
            MATCHING,
        )],
    ),
    at(
        "/api/exchanges/{vhost}/{exchange}/policies",
        &[Operation::get(
            InVhost,
            of_exchange,
            "Returns the policies that match an exchange, and their effective definition.",
            MATCHING,
        )],
    ),
];

const PREVIEWS: &str =
    "Returns what would change if a policy had this definition, or were deleted. Nothing is changed.";
const BODY: &[Field] = &[
    Field::optional("delete", Boolean, "`true`: previews the deletion of the policy. No other field is required then."),
    Field::optional("pattern", Text, "A regular expression for the names of queues and exchanges."),
    Field::optional("definition", ObjectKind, "The keys and values of the policy."),
    Field::optional(
        "priority",
        Integer,
        "If several policies match, the one with the highest priority applies. Default: 0.",
    ),
    Field::optional("apply-to", Text, "The objects that the policy applies to. Default: `all`."),
];
const PREVIEW: Shape = Shape::Object(&[
    Field::required("matched", ObjectKind, "The number of queues and exchanges that the policy matches."),
    Field::required(
        "changed_count",
        Integer,
        "The number of queues and exchanges whose effective definition would change.",
    ),
    Field::required(
        "changed",
        List,
        "The queues and exchanges that would change, at most 100: exchanges, then queues, each in the order of names.",
    ),
    Field::optional("next", Text, "If there are more: the value of `after` for the next page."),
]);
const PAGE: &[Parameters] = &[Parameters::Other("after", "Where to continue: `next` of the previous page.")];
const MATCHING: Shape = Shape::Object(&[
    Field::required(
        "policies",
        List,
        "The policies and operator policies that match, in the order of their precedence.",
    ),
    Field::required("effective_definition", ObjectKind, "The effective definition."),
    Field::required("sources", ObjectKind, "For each key, the policy that it comes from."),
]);

/// Changed things on a page.
const PAGE_COUNT_MAX: usize = 100;
/// So many things are looked at before other requests have their turn.
const TURN_COUNT: usize = 64;

fn nothing(_: &Call) -> Result<Answer, Problem> {
    Err(Problem::not_found())
}

/// What a preview has found.
struct Preview<'a> {
    policy: Option<Arc<Policy>>,
    before: PolicyRanking<'a>,
    after: PolicyRanking<'a>,
    kind: PolicyKind,
    /// What is on this page begins after it.
    start: Option<(&'a str, &'a str)>,
    matched: [u64; 2],
    changed_count: u64,
    page: Vec<ChangedObject>,
    has_more: bool,
}

/// A queue or an exchange for which something else would hold.
struct ChangedObject {
    kind: &'static str,
    name: String,
    before: EffectivePolicy,
    after: EffectivePolicy,
}

const EXCHANGE: &str = "exchange";
const QUEUE: &str = "queue";

impl Preview<'_> {
    fn look_at(&mut self, kind: &'static str, target: Target, name: &str) {
        if self.policy.as_ref().is_some_and(|policy| policy.matches(target, name)) {
            self.matched[usize::from(kind == EXCHANGE)] += 1;
        }
        let (before, after) = (self.before.effective(target, name), self.after.effective(target, name));
        if before == after || before.definition().unwrap_or_default() == after.definition().unwrap_or_default() {
            return;
        }
        self.changed_count += 1;
        // Exchanges come first, as the words for both do.
        if self.start.is_some_and(|start| (kind, name) <= start) {
            return;
        }
        if self.page.len() == PAGE_COUNT_MAX {
            self.has_more = true;
            return;
        }
        self.page.push(ChangedObject { kind, name: name.to_owned(), before, after });
    }

    fn described(&self) -> Answer {
        let name_of = |policy: &EffectivePolicy| match self.kind {
            PolicyKind::User => policy.user.as_ref().map(|policy| policy.name.to_string()),
            PolicyKind::Operator => policy.operator.as_ref().map(|policy| policy.name.to_string()),
        };
        let mut out = Vec::new();
        Writer::new(&mut out).object(|members| {
            members.cell("matched").object(|matched| {
                matched.cell("queues").int(self.matched[0]);
                matched.cell("exchanges").int(self.matched[1]);
            });
            members.cell("changed_count").int(self.changed_count);
            members.cell("changed").list(&self.page, |changed, writer| {
                writer.object(|members| {
                    members.cell("kind").text(changed.kind);
                    members.cell("name").text(&changed.name);
                    members.cell("policy_before").text_or_null(name_of(&changed.before).as_deref());
                    members.cell("policy_after").text_or_null(name_of(&changed.after).as_deref());
                    write_changes(&changed.before, &changed.after, members);
                });
            });
            if let Some(last) = self.page.last().filter(|_| self.has_more) {
                members.cell("next").text(&format!("{}:{}", last.kind, last.name));
            }
        });
        Answer::json(out)
    }
}

/// Keys that would have another value, or none.
fn write_changes(before: &EffectivePolicy, after: &EffectivePolicy, members: &mut Object<'_>) {
    let (before, after) = (before.definition().unwrap_or_default(), after.definition().unwrap_or_default());
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| before.get(*key) != after.get(*key));
    members.cell("changes").list(keys, |key, writer| {
        writer.object(|members| {
            members.cell("key").text(key);
            members.cell("from").value(before.get(key).unwrap_or(&Value::Null));
            members.cell("to").value(after.get(key).unwrap_or(&Value::Null));
        });
    });
}

async fn preview(call: Call, kind: PolicyKind) -> Result<Answer, Problem> {
    let vhost = vhosts::find(&call)?.facts.name.clone();
    let policies = call.broker().all_policies_of(vhost.as_str());
    let name = call.argument("name");
    let is_it = |policy: &Arc<Policy>| policy.kind == kind && *policy.name == *name;
    let wanted = wanted(&call, vhost, kind)?;
    let existing = policies.iter().find(|policy| is_it(policy)).cloned();
    if wanted.is_none() && existing.is_none() {
        return Err(Problem::not_found());
    }
    let mut after: Vec<Arc<Policy>> = policies.iter().filter(|policy| !is_it(policy)).cloned().collect();
    after.extend(wanted.iter().cloned());
    let start = call.query.get("after").map(|text| match text.split_once(':') {
        Some((kind @ (EXCHANGE | QUEUE), name)) => Ok((kind, name)),
        _ => Err(Problem::bad_request("after must be the 'next' of the previous page")),
    });
    let mut preview = Preview {
        policy: wanted.or(existing),
        before: PolicyRanking::of(&policies),
        after: PolicyRanking::of(&after),
        kind,
        start: start.transpose()?,
        matched: [0; 2],
        changed_count: 0,
        page: Vec::new(),
        has_more: false,
    };
    let mut exchanges = call.broker().exchange_names(call.vhost());
    exchanges.sort_unstable();
    let exchanges = exchanges.into_iter().map(|name| (EXCHANGE, Target::Exchange, name));
    let queues = call.broker().walk_queues([call.vhost()]).map(|view| {
        let definition = view.definition();
        (QUEUE, Target::Queue(definition.arguments.queue_type()), definition.name.to_string())
    });
    for (number, (kind, target, name)) in exchanges.chain(queues).enumerate() {
        if number % TURN_COUNT == TURN_COUNT - 1 {
            tokio::task::yield_now().await;
        }
        preview.look_at(kind, target, &name);
    }
    Ok(preview.described())
}

/// The policy that a body describes; None: it is to be deleted.
fn wanted(call: &Call, vhost: VhostName, kind: PolicyKind) -> Result<Option<Arc<Policy>>, Problem> {
    let body = call.object()?;
    let fields = Fields(&body);
    if fields.bool("delete", false)? {
        return match body.len() {
            1 => Ok(None),
            _ => Err(Problem::bad_request("a policy to delete is named by its name alone")),
        };
    }
    let request = definitions::policy(vhost, call.argument("name"), kind, fields)?;
    let (policy, _) = request.into_policy().map_err(|text| Problem::validation_failed(&text))?;
    Ok(Some(Arc::new(policy)))
}

fn of_queue(call: &Call) -> Result<Answer, Problem> {
    let view = queues::find(call)?;
    let definition = view.definition();
    Ok(matching(call, Target::Queue(definition.arguments.queue_type()), definition.name.as_str()))
}

fn of_exchange(call: &Call) -> Result<Answer, Problem> {
    Ok(matching(call, Target::Exchange, exchanges::find(call)?.definition.name.as_str()))
}

fn matching(call: &Call, target: Target, name: &str) -> Answer {
    let policies = call.broker().all_policies_of(call.vhost());
    let matching = PolicyRanking::of(&policies).matching(target, name);
    let effective = PolicyRanking::of(&policies).effective(target, name);
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        members.cell("policies").list(&matching, |policy, writer| {
            let winner = match policy.kind {
                PolicyKind::User => &effective.user,
                PolicyKind::Operator => &effective.operator,
            };
            let winner = winner.as_ref().filter(|winner| !Arc::ptr_eq(winner, policy));
            writer.object(|members| {
                members.cell("kind").text(kind_name(policy.kind));
                members.cell("name").text(&policy.name);
                members.cell("pattern").text(policy.pattern.as_str());
                members.cell("apply-to").text(policy.apply_to.name());
                members.cell("priority").signed(policy.priority);
                write_settings("definition", policy.definition.settings(), members);
                members.cell("applies").bool(winner.is_none());
                members.cell("reason").text_if(winner.map(|winner| why_not(policy, winner)).as_deref());
            });
        });
        let definition = effective.definition().unwrap_or_default();
        write_settings("effective_definition", &definition, members);
        members.cell("sources").object(|sources| {
            for (key, value) in &definition {
                let Some(policy) = source(&effective, key, value) else { continue };
                sources.cell(key).object(|members| {
                    members.cell("kind").text(kind_name(policy.kind));
                    members.cell("name").text(&policy.name);
                });
            }
        });
    });
    Answer::json(out)
}

fn kind_name(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::User => "policy",
        PolicyKind::Operator => "operator_policy",
    }
}

fn write_settings(member: &'static str, settings: &Map<String, Value>, members: &mut Object<'_>) {
    members.cell(member).object(|object| settings.iter().for_each(|(name, value)| object.cell(name).value(value)));
}

fn why_not(policy: &Policy, winner: &Policy) -> String {
    let name = &winner.name;
    match winner.priority > policy.priority {
        true => format!("'{name}' has a higher priority ({})", winner.priority),
        false => format!("'{name}' has the same priority, and its name comes first"),
    }
}

/// The policy that a value comes from: where both kinds set a key, the one or the other wins.
fn source<'a>(effective: &'a EffectivePolicy, key: &str, value: &Value) -> Option<&'a Policy> {
    let sets = |policy: &&Arc<Policy>| policy.definition.settings().get(key) == Some(value);
    let (user, operator) = (effective.user.as_ref(), effective.operator.as_ref());
    let found = user.filter(sets).or(operator.filter(sets)).or(operator).or(user)?;
    Some(found)
}
