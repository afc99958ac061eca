//! `warren trace list`: what can be traced.

use serde_json::Value;
use terminal::table::{Column, row};

use crate::api::{Api, path};
use crate::failure::Failure;
use crate::run::print_line;
use crate::target::Target;

/// Calls, and what they are about.
const COLUMNS: [Column; 2] = [Column::left(58), Column::left(0)];

#[derive(Debug, clap::Args)]
pub(super) struct List {
    /// Only functions whose names match; * stands for any text.
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
}

impl List {
    pub(super) async fn run(&self, target: &Target) -> Result<(), Failure> {
        let mut api = Api::of(target)?;
        let points = api.get(&path("/api/trace/points", &[("pattern", self.pattern.clone())])).await?;
        let points = points.as_array().map(Vec::as_slice).unwrap_or_default();
        if points.is_empty() {
            return Err(Failure::failed("no trace point has such a name: warren trace list names all"));
        }
        points.iter().try_for_each(|point| print_line(&line(point)))
    }
}

/// `queue::declare(vhost, queue)  Declares a queue.`
fn line(point: &Value) -> String {
    let arguments: Vec<&str> = point["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let call = format!("{}({})", point["name"].as_str().unwrap_or_default(), arguments.join(", "));
    row(&COLUMNS, &[call.as_str(), point["about"].as_str().unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_point_is_shown_as_a_function() {
        let point = json!({"name": "users::log_in", "arguments": ["user", "method"], "about": "Checks a login."});
        let expected = format!("{:<58}  Checks a login.", "users::log_in(user, method)");
        assert_eq!(super::line(&point), expected);
    }
}
