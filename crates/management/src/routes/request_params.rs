//! What a request of our own says, in its query or in its body. What is wrong with it is answered in a sentence; RabbitMQ's routes have
//! RabbitMQ's words.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::json::{Fields, wrong_type};
use crate::listing::Query;
use crate::problem::Problem;

/// A query's parameters, or a body's members.
pub(super) trait RequestParams {
    fn text(&self, name: &str) -> Result<Option<String>, Problem>;
    /// A whole number that is not negative.
    fn number(&self, name: &str) -> Result<Option<u64>, Problem>;
    /// One within bounds.
    fn number_in(&self, name: &str, bounds: RangeInclusive<u64>) -> Result<Option<u64>, Problem> {
        match self.number(name)? {
            Some(number) if !bounds.contains(&number) => Err(out_of_bounds(name, number, &bounds)),
            number => Ok(number),
        }
    }
    fn truth(&self, name: &str) -> Result<Option<bool>, Problem>;
    fn ids(&self) -> Result<Option<Vec<String>>, Problem>;
}

impl RequestParams for Query {
    fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        Ok(self.get(name).map(str::to_owned))
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        self.get(name).map(|text| text.parse().map_err(|_| not_a_number(name, text))).transpose()
    }

    fn truth(&self, name: &str) -> Result<Option<bool>, Problem> {
        match self.get(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => Err(Problem::bad_request(format!("'{name}' must be 'true' or 'false', not '{other}'"))),
        }
    }

    fn ids(&self) -> Result<Option<Vec<String>>, Problem> {
        Ok(self.get("ids").map(|ids| ids.split(',').map(str::to_owned).collect()))
    }
}

impl RequestParams for Fields<'_> {
    fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        Ok(Fields::text(*self, name)?.map(str::to_owned))
    }

    /// The digits of one as a text will do.
    fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        };
        number.map(Some).ok_or_else(|| wrong_type(name, "a whole number, zero or above", value))
    }

    fn truth(&self, name: &str) -> Result<Option<bool>, Problem> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(is)) => Ok(Some(*is)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(other) => Err(wrong_type(name, "true or false", other)),
        }
    }

    fn ids(&self) -> Result<Option<Vec<String>>, Problem> {
        let Some(ids) = self.get("ids") else { return Ok(None) };
        let Value::Array(list) = ids else { return Err(wrong_type("ids", "a list of texts", ids)) };
        let texts = list.iter().map(|id| id.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>().map(Some).ok_or_else(|| wrong_type("ids", "a list of texts", ids))
    }
}

fn not_a_number(name: &str, text: &str) -> Problem {
    Problem::bad_request(format!("'{name}' must be a whole number, zero or above, not '{text}'"))
}

fn out_of_bounds(name: &str, number: u64, bounds: &RangeInclusive<u64>) -> Problem {
    let is_bounded = *bounds.end() < u64::MAX;
    let most = if is_bounded { format!("to {}", bounds.end()) } else { "or more".to_owned() };
    Problem::bad_request(format!("'{name}' must be {} {most}, not {number}", bounds.start()))
}

/// How many messages are to be on a page. A page without room for one would say neither what there is nor where to go on.
pub(super) fn page_count(params: &dyn RequestParams, default: u64, count_max: u64) -> Result<usize, Problem> {
    let count = params.number("count")?.unwrap_or(default);
    if count == 0 {
        return Err(Problem::bad_request("'count' must be 1 or more"));
    }
    Ok(usize::try_from(count.min(count_max)).unwrap_or(usize::MAX))
}

/// That nothing says which messages are meant, while all of them may be very many.
pub(super) fn check_meant(params: &dyn RequestParams, is_given: bool) -> Result<(), Problem> {
    let is_all = params.truth("all")?.unwrap_or(false);
    if is_given || is_all {
        return Ok(());
    }
    Err(Problem::bad_request("a filter is required; to select all messages, set 'all' to true"))
}
