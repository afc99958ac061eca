//! An entry of the audit log: who did what, from where, and when.

use std::time::{Duration, UNIX_EPOCH};

use broker::Event;
use serde_json::Value;

use crate::json::{Object, Writer};

/// An entry as a line of the audit log's file has it, without the end of the line.
#[must_use]
pub fn audit_entry(event: &Event) -> String {
    let mut out = Vec::new();
    Writer::new(&mut out).object(|members| {
        write(event, members, true);
    });
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes an entry's members. From where it was done is for administrators.
pub(crate) fn write(event: &Event, members: &mut Object<'_>, has_origin: bool) {
    let mut about = model::json::from_table(event.fields.as_table());
    about.remove("user_who_performed_action");
    members.cell("at").text(&time(event.at_ms));
    members.cell("event").text(event.name);
    if let Some(user) = &event.user {
        members.cell("user").text(user);
    }
    if let Some(origin) = event.origin.filter(|_| has_origin) {
        members.cell("via").text(origin.interface.name());
        if let Some(peer) = origin.peer {
            members.cell("from").text(&peer.to_string());
        }
    }
    members.cell("about").value(&Value::Object(about));
}

/// RFC 3339, in UTC, with milliseconds.
fn time(at_ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(at_ms)).to_string()
}
