//! Listings of messages, which come page by page.

use serde_json::Value;

use super::browsing::{answered, with_query};
use crate::listing::{self, Column};
use crate::step::{Ask, StepResult, escaped};

/// What one request is asked for at most.
const PAGE_COUNT: u64 = 1000;

/// Pages of messages, one after the other, until there are enough.
pub(super) struct Pages {
    pub(super) place: String,
    /// The parameter that says behind or from which message the next page begins.
    pub(super) behind: &'static str,
    /// What holds for every page.
    pub(super) query: Vec<String>,
    pub(super) missing: String,
    pub(super) columns: Vec<&'static Column>,
    pub(super) count_left: u64,
    pub(super) items: Vec<Value>,
}

impl Pages {
    pub(super) fn ask(mut self, mut query: Vec<String>) -> StepResult {
        query.push(format!("count={}", self.count_left.min(PAGE_COUNT)));
        Ask::get(with_query(&self.place, &query)).then(move |reply| {
            let mut answer = answered(reply, self.missing.clone())?;
            if let Some(Value::Array(messages)) = answer.get_mut("messages").map(Value::take) {
                self.count_left = self.count_left.saturating_sub(messages.len() as u64);
                self.items.extend(messages);
            }
            match answer.get("next").and_then(Value::as_str).filter(|_| self.count_left > 0) {
                Some(next) => {
                    let mut query = self.query.clone();
                    query.push(format!("{}={}", self.behind, escaped(next)));
                    self.ask(query)
                }
                None => listing::show(&self.columns, &self.items),
            }
        })
    }
}
