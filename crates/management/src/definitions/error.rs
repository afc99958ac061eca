//! Why a document cannot be imported.

/// Why definitions cannot be imported, with the entry that is in the way. Nothing has been imported unless it says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DefinitionsError(pub String);

impl From<crate::problem::Problem> for DefinitionsError {
    fn from(problem: crate::problem::Problem) -> Self {
        DefinitionsError(match problem.body.map(|body| body.reason) {
            Some(serde_json::Value::String(text)) => missing_keys(&text).unwrap_or(text),
            Some(other) => other.to_string(),
            None => "the definitions are invalid".to_owned(),
        })
    }
}

/// What of an entry is missing, in words: a request of its own is told as Erlang prints it, as by RabbitMQ.
fn missing_keys(text: &str) -> Option<String> {
    let names: Vec<String> =
        text.split("{key_missing,").skip(1).filter_map(|rest| Some(format!("'{}'", rest.split_once('}')?.0))).collect();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("the key {name} is missing")),
        names => Some(format!("the keys {} are missing", names.join(", "))),
    }
}
