//! Which messages of a queue a request means.

use broker::{MessageFilter, MessageId, Selection};

use super::request_params::{RequestParams, check_meant};
use crate::call::Call;
use crate::problem::Problem;

/// Messages that can be named in one request.
const IDS_MAX: usize = 1000;

/// A message's id.
pub(super) fn id(text: &str) -> Result<MessageId, Problem> {
    text.parse().map_err(|()| Problem::bad_request(format!("'{text}' is not the id of a message")))
}

/// What messages must have.
pub(super) fn filter(call: &Call, params: &dyn RequestParams) -> Result<MessageFilter, Problem> {
    let header = params.text("header")?;
    let value = params.text("header_value")?;
    if header.is_none() && value.is_some() {
        return Err(Problem::bad_request("'header_value' needs 'header'"));
    }
    let now_ms = call.broker().now_ms();
    let bytes = |name| params.text(name).map(|text| text.map(String::into_bytes));
    let body = bytes("body")?;
    if body.as_ref().is_some_and(Vec::is_empty) {
        return Err(Problem::bad_request("'body' must not be empty"));
    }
    let reason = params.text("death_reason")?;
    if let Some(other) = reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        return Err(Problem::bad_request(format!(
            "'death_reason' must be one of {}, not '{other}'",
            REASONS.join(", ")
        )));
    }
    Ok(MessageFilter {
        entered_from_ms: params.number("younger_than")?.map(|age_ms| now_ms.saturating_sub(age_ms)),
        entered_to_ms: params.number("older_than")?.map(|age_ms| now_ms.saturating_sub(age_ms)),
        exchange: bytes("exchange")?,
        routing_key: bytes("routing_key")?,
        header: header.map(|name| (name, value)),
        body,
        is_redelivered: params.truth("redelivered")?,
        is_dead: params.truth("dead")?,
        death_reason: reason,
    })
}

const REASONS: [&str; 4] = ["rejected", "expired", "maxlen", "delivery_limit"];

/// Which messages something is to be done with: not all of a queue's unless that is said.
pub(super) fn selection(call: &Call, params: &dyn RequestParams) -> Result<Selection, Problem> {
    let filter = filter(call, params)?;
    let (from, limit) = (params.text("from")?, params.number("limit")?);
    let is_filtered = filter != MessageFilter::default() || from.is_some() || limit.is_some();
    let Some(ids) = params.ids()? else {
        check_meant(params, is_filtered)?;
        let from = from.as_deref().map(id).transpose()?;
        return Ok(Selection::Filter { filter, from, count_max: limit.unwrap_or(u64::MAX) });
    };
    if is_filtered || params.truth("all")? == Some(true) {
        return Err(Problem::bad_request("'ids' and other filters exclude each other"));
    }
    if ids.len() > IDS_MAX {
        return Err(Problem::bad_request(format!(
            "'ids' must not have more than {IDS_MAX} ids, but has {}",
            ids.len()
        )));
    }
    Ok(Selection::Ids(ids.iter().map(|text| id(text)).collect::<Result<_, _>>()?))
}
