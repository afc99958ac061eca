//! Policies above and below each other: which fit a thing, which are at odds, and how one is put over another.

use regex::Regex;
use serde_json::{Value, json};

use super::{definition_of, one};
use crate::command::{Argument, Command, optional, required};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::listing::text;
use crate::output::{Output, Table};
use crate::step::{Ask, Step, StepResult, path};

pub(crate) const COMMANDS: &[Command] = &[
    Command::new("policies declare_override", "puts a policy over another: its keys, and some more", over).taking(&[
        required("name"),
        optional("override-name"),
        required("definition"),
    ]),
    Command::new("policies declare_blanket", "declares a policy for objects that no other policy matches", blanket)
        .taking(&[required("name"), required("apply-to").also(&["applies-to"]), required("definition")]),
    Command::new("policies list_in", "lists policies of a virtual host, optionally for one kind of object", |input| {
        list_in("policies", input)
    })
    .taking(KIND),
    Command::new("policies list_matching_object", "lists policies that match an object, by priority", |input| {
        list_matching("policies", input)
    })
    .taking(OBJECT),
    Command::new(
        "policies list_conflicting",
        "lists policies that nothing but chance decides between: the same priority, the same kind of things",
        |_| list_conflicting(None),
    ),
    Command::new("policies list_conflicting_in", "lists those of a virtual host", |input| {
        list_conflicting(Some(input.vhost()))
    }),
    Command::new(
        "operator_policies list_in",
        "lists operator policies of a virtual host, optionally for one kind of object",
        |input| list_in("operator-policies", input),
    )
    .taking(KIND),
    Command::new("operator_policies list_matching_object", "lists operator policies that match an object", |input| {
        list_matching("operator-policies", input)
    })
    .taking(OBJECT),
];

const KIND: &[Argument] = &[optional("apply-to").also(&["applies-to"])];
const OBJECT: &[Argument] = &[required("name"), required("type")];

/// How much stronger an override is than what it overrides, as rabbitmqadmin's successor has it.
const OVERRIDE: i64 = 100;

/// A blanket is weaker than this, and than all others.
const BLANKET_PRIORITY: i64 = -20;

fn over(input: &Invocation) -> StepResult {
    let keys = definition_of(input)?;
    let (vhost, name) = (input.vhost().to_owned(), input.text("name"));
    let above = input.optional("override-name").map_or_else(|| format!("overrides.{name}"), str::to_owned);
    one("policies", &vhost.clone(), name, move |policy| {
        let mut definition = policy["definition"].as_object().cloned().unwrap_or_default();
        definition.extend(keys);
        let body = json!({
            "pattern": policy["pattern"], "apply-to": policy["apply-to"], "definition": definition,
            "priority": priority(&policy).saturating_add(OVERRIDE),
        });
        Ask::put(path(&["policies", &vhost, &above]), &body).say("policy declared")
    })
}

fn blanket(input: &Invocation) -> StepResult {
    let (definition, vhost, name) = (definition_of(input)?, input.vhost().to_owned(), input.text("name").to_owned());
    let applies_to = input.text("apply-to").to_owned();
    Ask::get(path(&["policies", &vhost])).then(move |reply| {
        let mut others = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
        others.retain(|policy| text(policy, "name") != name);
        let lowest = others.iter().map(priority).min().map_or(BLANKET_PRIORITY, |lowest| lowest.saturating_sub(1));
        let body = json!({
            "pattern": ".*", "apply-to": applies_to, "definition": definition, "priority": lowest.min(BLANKET_PRIORITY),
        });
        Ask::put(path(&["policies", &vhost, &name]), &body).say("policy declared")
    })
}

fn list_in(kind: &str, input: &Invocation) -> StepResult {
    let applies_to = input.optional("apply-to").map(target).transpose()?;
    of_vhost(kind, input, move |mut policies| {
        policies.retain(|policy| applies_to.is_none_or(|kind| overlap(kind, text(policy, "apply-to"))));
        Ok(policies)
    })
}

fn list_matching(kind: &str, input: &Invocation) -> StepResult {
    let (name, applies_to) = (input.text("name").to_owned(), target(input.text("type"))?);
    of_vhost(kind, input, move |policies| {
        let mut fitting = Vec::new();
        for policy in policies {
            if overlap(applies_to, text(&policy, "apply-to")) && fits(&policy, &name)? {
                fitting.push(policy);
            }
        }
        fitting.sort_by_key(|policy| -priority(policy));
        Ok(fitting)
    })
}

fn fits(policy: &Value, name: &str) -> Result<bool, Failure> {
    let pattern = text(policy, "pattern");
    let compiled = Regex::new(pattern).map_err(|_| {
        Failure::unavailable(format!(
            "only the server can evaluate '{pattern}' of the policy '{}', see list_policies_that_match",
            text(policy, "name")
        ))
    })?;
    Ok(compiled.is_match(name))
}

fn list_conflicting(vhost: Option<&str>) -> StepResult {
    let place = path(&[&["policies"][..], vhost.as_slice()].concat());
    let vhost = vhost.unwrap_or_default().to_owned();
    Ask::get(place).then(move |reply| {
        let policies = reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?;
        let conflict = |a: &Value, b: &Value| {
            a["vhost"] == b["vhost"]
                && a["name"] != b["name"]
                && priority(a) == priority(b)
                && overlap(text(a, "apply-to"), text(b, "apply-to"))
        };
        let conflicting = policies.iter().filter(|policy| policies.iter().any(|other| conflict(policy, other)));
        Ok(table(&conflicting.collect::<Vec<_>>()))
    })
}

fn of_vhost(
    kind: &str,
    input: &Invocation,
    choose: impl FnOnce(Vec<Value>) -> Result<Vec<Value>, Failure> + 'static,
) -> StepResult {
    let vhost = input.vhost().to_owned();
    Ask::get(path(&[kind, &vhost])).then(move |reply| {
        let policies = choose(reply.unless(404, || Failure::no_such_vhost(&vhost))?.list()?)?;
        Ok(table(&policies.iter().collect::<Vec<_>>()))
    })
}

fn table(policies: &[&Value]) -> Step {
    const COLUMNS: &[&str] = &["vhost", "name", "pattern", "apply-to", "definition", "priority"];
    let row = |policy: &&Value| COLUMNS.iter().map(|column| policy[*column].clone()).collect();
    Step::Done(Output::Table(Table {
        columns: COLUMNS.iter().map(|column| (*column).to_owned()).collect(),
        rows: policies.iter().map(row).collect(),
    }))
}

fn priority(policy: &Value) -> i64 {
    policy["priority"].as_i64().unwrap_or(0)
}

/// A kind of things as policies have it: `queue` is said for `queues`.
fn target(text: &str) -> Result<&'static str, Failure> {
    const TARGETS: &[&str] = &["queues", "classic_queues", "quorum_queues", "streams", "exchanges", "all"];
    TARGETS
        .iter()
        .find(|target| target.strip_suffix('s') == Some(text) || **target == text)
        .copied()
        .ok_or_else(|| Failure::usage(format!("policies cannot apply to '{text}': one of {}", TARGETS.join(", "))))
}

/// Whether there are things that are of both kinds.
fn overlap(a: &str, b: &str) -> bool {
    let is_part = |whole: &str, part: &str| match whole {
        "all" => true,
        "queues" => matches!(part, "queues" | "classic_queues" | "quorum_queues" | "streams"),
        _ => whole == part,
    };
    is_part(a, b) || is_part(b, a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_overlap_where_a_thing_can_be_of_both() {
        for (a, b) in [("all", "exchanges"), ("queues", "streams"), ("quorum_queues", "queues"), ("streams", "streams")]
        {
            assert!(overlap(a, b) && overlap(b, a), "{a} {b}");
        }
        for (a, b) in [("queues", "exchanges"), ("streams", "classic_queues")] {
            assert!(!overlap(a, b) && !overlap(b, a), "{a} {b}");
        }
    }

    #[test]
    fn one_thing_is_said_for_its_kind() {
        assert_eq!(target("queue"), Ok("queues"));
        assert_eq!(target("streams"), Ok("streams"));
        assert!(target("all").is_ok() && target("al").is_err() && target("users").is_err());
    }
}
