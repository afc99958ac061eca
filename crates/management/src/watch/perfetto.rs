//! What the flight recorder has, as Perfetto and Chrome read it: the JSON of Chrome's trace events.
//!
//! <https://perfetto.dev/docs/getting-started/other-formats> describes it: a complete event (`X`) for each call, and a name (`M`) for each
//! task, which is a thread there.

use std::time::UNIX_EPOCH;

use telemetry::trace::Recording;

use crate::json::Writer;

/// The process of all events.
const PROCESS: u64 = 1;

/// Writes a recording.
pub(crate) fn perfetto(recording: &Recording, node: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(recording.moments.len() * 160 + 4_096);
    Writer::new(&mut out).object(|members| {
        members.cell("displayTimeUnit").text("ms");
        let names = [(None, node)].into_iter().chain(recording.tasks.iter().map(|(task, name)| (Some(*task), &**name)));
        let count = recording.tasks.len() + 1;
        let mut moments = recording.moments.iter();
        let mut names = names;
        members.cell("traceEvents").list(0..count + recording.moments.len(), |place, writer| {
            if place < count {
                let Some((task, name)) = names.next() else { return writer.null() };
                write_name(writer, task, name);
            } else if let Some(moment) = moments.next() {
                let start = moment.at.duration_since(UNIX_EPOCH).unwrap_or_default();
                writer.object(|event| {
                    event.cell("ph").text("X");
                    event.cell("name").text(moment.name);
                    event.cell("cat").text(moment.name.split("::").next().unwrap_or_default());
                    event.cell("pid").int(PROCESS);
                    event.cell("tid").int(u64::from(moment.task) + 1);
                    event.cell("ts").float(start.as_nanos() as f64 / 1e3);
                    event.cell("dur").float(moment.duration.as_nanos() as f64 / 1e3);
                    event.cell("args").object(|arguments| {
                        if !moment.text.is_empty() {
                            arguments.cell("about").text(&moment.text);
                        }
                    });
                });
            }
        });
    });
    out
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
    use std::time::Duration;

    use telemetry::trace::Moment;

    use super::*;

    #[test]
    fn each_moment_is_a_complete_event_of_a_named_task() {
        let moment = Moment {
            name: "amqp::queue.declare",
            text: "orders".to_owned(),
            task: 7,
            at: UNIX_EPOCH + Duration::from_micros(1_500_000),
            duration: Duration::from_nanos(2_500),
        };
        let recording = Recording { moments: vec![moment], tasks: vec![(7, "connection 1".into())] };
        let json: serde_json::Value = serde_json::from_slice(&perfetto(&recording, "warren@host")).expect("it is JSON");
        let expected = serde_json::json!({"displayTimeUnit": "ms", "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "warren@host"}},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 8, "args": {"name": "connection 1"}},
            {"ph": "X", "name": "amqp::queue.declare", "cat": "amqp", "pid": 1, "tid": 8, "ts": 1_500_000.0, "dur": 2.5,
             "args": {"about": "orders"}},
        ]});
        assert_eq!(json, expected);
    }
}
