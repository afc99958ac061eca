//! What the flight recorder has, as Perfetto and Chrome read it: the JSON of Chrome's trace events.
//!
//! <https://perfetto.dev/docs/getting-started/other-formats> describes it. Each task is a thread there, with a name (`M`), and each call
//! and wait a complete event (`X`) of it: those of a thread have to lie one within the other, or beside each other. A call that was
//! answered later is an asynchronous pair (`b`, `e`) besides, with a number of its own, since others began before it was over.
//!
//! Times are those since the first moment of the recording. Since 1970 they would be too long for a number of JSON, which most readers
//! take for a double: what is within a call would seem to end after it. When it began is among `otherData`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use telemetry::trace::{Moment, Recording};

use crate::json::Writer;

/// The process of all events.
const PROCESS: u64 = 1;

/// One event.
enum Event<'a> {
    /// The name of a task, or of the process.
    Name(Option<u32>, &'a str),
    /// A call or a wait.
    Complete(&'a Moment),
    /// A call that was answered later begins, with its number.
    Begin(&'a Moment, usize),
    /// It was answered.
    End(&'a Moment, usize),
}

/// Writes a recording.
pub(crate) fn perfetto(recording: &Recording, node: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(recording.moments.len() * 160 + 4_096);
    let start = recording.moments.iter().map(|moment| moment.at).min().unwrap_or(UNIX_EPOCH);
    let names = recording.tasks.iter().map(|(task, name)| Event::Name(Some(*task), name));
    let moments = recording.moments.iter().enumerate().flat_map(|(number, moment)| match moment.is_answered {
        false => [Some(Event::Complete(moment)), None],
        true => [Some(Event::Begin(moment, number)), Some(Event::End(moment, number))],
    });
    let events = [Event::Name(None, node)].into_iter().chain(names).chain(moments.flatten());
    Writer::new(&mut out).object(|members| {
        // First: readers look for it there. Members that they do not know end the file for some.
        members.cell("displayTimeUnit").text("ms");
        members.cell("otherData").object(|data| {
            data.cell("began_at").text(&humantime::format_rfc3339_nanos(start).to_string());
        });
        members.cell("traceEvents").list(events, |event, writer| write_event(writer, &event, start));
    });
    out
}

fn write_event(writer: Writer<'_>, event: &Event<'_>, start: SystemTime) {
    let (phase, moment) = match event {
        Event::Name(task, name) => return write_name(writer, *task, name),
        Event::Complete(moment) => ("X", moment),
        Event::Begin(moment, _) => ("b", moment),
        Event::End(moment, _) => ("e", moment),
    };
    let us = |time: Duration| time.as_nanos() as f64 / 1e3;
    let since_start = moment.at.duration_since(start).unwrap_or_default();
    writer.object(|members| {
        members.cell("ph").text(phase);
        members.cell("name").text(moment.name);
        members.cell("cat").text(moment.name.split("::").next().unwrap_or_default());
        members.cell("pid").int(PROCESS);
        members.cell("tid").int(u64::from(moment.task) + 1);
        if let Event::Begin(_, number) | Event::End(_, number) = event {
            members.cell("id").text(&number.to_string());
        }
        let at = if let Event::End(..) = event { since_start + moment.duration } else { since_start };
        members.cell("ts").float(us(at));
        if let Event::Complete(_) = event {
            members.cell("dur").float(us(moment.duration));
        }
        if let Event::Complete(_) | Event::Begin(..) = event {
            members.cell("args").object(|arguments| {
                if !moment.text.is_empty() {
                    arguments.cell("about").text(&moment.text);
                }
            });
        }
    });
}

fn write_name(writer: Writer<'_>, task: Option<u32>, name: &str) {
    writer.object(|event| {
        event.cell("ph").text("M");
        event.cell("name").text(if task.is_some() { "thread_name" } else { "process_name" });
        event.cell("pid").int(PROCESS);
        if let Some(task) = task {
            event.cell("tid").int(u64::from(task) + 1);
        }
        event.cell("args").object(|arguments| arguments.cell("name").text(name));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_moment_is_an_event_of_a_named_task() {
        let moment = |at_ns: u64, duration_ns: u64, is_answered| Moment {
            name: "amqp::basic.publish",
            text: "orders".to_owned(),
            task: 7,
            at: UNIX_EPOCH + Duration::from_secs(1_795_000_000) + Duration::from_nanos(at_ns),
            duration: Duration::from_nanos(duration_ns),
            is_answered,
        };
        // As the recorder has them, by their ends.
        let moments = vec![moment(1_001, 2_500, false), moment(0, 5_001, true)];
        let recording = Recording { moments, tasks: vec![(7, "connection 1".into())] };
        let json: serde_json::Value = serde_json::from_slice(&perfetto(&recording, "warren@host")).expect("it is JSON");
        let name = "amqp::basic.publish";
        let expected = serde_json::json!({
            "displayTimeUnit": "ms",
            "otherData": {"began_at": "2026-11-18T11:06:40.000000000Z"},
            "traceEvents": [
                {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "warren@host"}},
                {"ph": "M", "name": "thread_name", "pid": 1, "tid": 8, "args": {"name": "connection 1"}},
                {"ph": "X", "name": name, "cat": "amqp", "pid": 1, "tid": 8, "ts": 1.001, "dur": 2.5, "args": {"about": "orders"}},
                {"ph": "b", "name": name, "cat": "amqp", "pid": 1, "tid": 8, "id": "1", "ts": 0.0, "args": {"about": "orders"}},
                {"ph": "e", "name": name, "cat": "amqp", "pid": 1, "tid": 8, "id": "1", "ts": 5.001},
            ],
        });
        assert_eq!(json, expected);
    }
}
