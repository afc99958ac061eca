//! Virtual hosts, with what they say of themselves.

use definitions::{Fields, VhostEntry};

use super::expected::Expected;
use super::refusal::{Judgement, Refusal};
use crate::pages;
use crate::sheet::Remark;
use crate::support::WITHOUT_STREAMS;

pub(super) fn vhost(_: &mut Expected, fields: Fields<'_>) -> Judgement {
    let (_, remarks) = VhostEntry::read(fields)?;
    Ok(remarks.iter().map(of_default_queue_type).collect())
}

fn of_default_queue_type(remark: &definitions::Remark) -> Remark {
    match remark {
        definitions::Remark::UnbuiltQueueType(queue_type) => {
            let text = format!("the default queue type '{}' is not supported", queue_type.name());
            let advice = format!("choose another default; {WITHOUT_STREAMS}");
            Refusal::unsupported(text, advice, pages::QUEUES).into()
        }
        other => Remark::different(other.to_string(), pages::QUEUES),
    }
}
