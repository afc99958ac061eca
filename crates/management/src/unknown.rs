//! Refuses what an operation does not know, in its query and in its body. What a misspelt filter leaves unsaid would mean more messages
//! than were meant.

use crate::json::parse_object;
use crate::listing::Query;
use crate::problem::Problem;
use crate::route::Operation;

/// Checks that an operation knows all parameters and members of a request, and that none is given twice.
pub(crate) fn check(operation: &Operation, query: &Query, body: &[u8]) -> Result<(), Problem> {
    let parameters: Vec<&str> = operation.query.iter().flat_map(|group| group.names()).collect();
    let fields: Vec<&str> = operation.body.iter().map(|field| field.name).collect();
    let mut seen: Vec<&str> = Vec::new();
    for name in query.names() {
        if !parameters.contains(&name) {
            return Err(unknown("parameter", name, &parameters, ("the body", &fields)));
        }
        if seen.contains(&name) {
            return Err(Problem::bad_request(format!("the parameter '{name}' is given more than once")));
        }
        seen.push(name);
    }
    let members = parse_object(body).map_err(|_| Problem::bad_request("the body must be a JSON object"))?;
    match members.keys().find(|name| !fields.contains(&name.as_str())) {
        Some(name) => Err(unknown("member of the body", name, &fields, ("the query", &parameters))),
        None => Ok(()),
    }
}

fn unknown(kind: &str, name: &str, known: &[&str], (elsewhere, known_there): (&str, &[&str])) -> Problem {
    let hint = match (nearest(name, known), nearest(name, known_there)) {
        (Some(near), _) => format!("did you mean '{near}'?"),
        (None, Some(near)) => format!("'{near}' belongs in {elsewhere}"),
        (None, None) if known.is_empty() => "there is none".to_owned(),
        (None, None) => format!("one of {}", known.join(", ")),
    };
    Problem::bad_request(format!("unknown {kind} '{name}': {hint}"))
}

fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    human::closest(&name.to_lowercase().replace('-', "_"), known.iter().copied())
}
