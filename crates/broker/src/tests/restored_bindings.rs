//! What the log says of a binding that a damaged store names and that cannot be put back.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use amqp::table::TableBuf;
use routing::{BindingSpec, Destination};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::node::Node;

/// Keeps each event as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The log did not name the binding.
#[test]
fn a_binding_that_cannot_be_restored_is_named() {
    let node = Node::new();
    let mut client = node.connect();
    client.declare("shipments");
    let vhost = node.broker.vhosts.get("/").unwrap();
    let queue = vhost.queue(b"shipments").unwrap().id();
    let arguments = TableBuf::new();
    let lines = Lines::default();
    for destination in [Destination::Queue(queue), Destination::Exchange(b"other")] {
        let spec = BindingSpec { source: b"gone", destination, routing_key: b"k", arguments: arguments.as_table() };
        tracing::subscriber::with_default(lines.clone(), || vhost.restore_binding(&spec));
    }
    let lines = lines.0.lock().unwrap();
    let start = "message=a binding could not be restored vhost=/ source=gone";
    assert_eq!(lines.len(), 2, "{lines:?}");
    let to_queue = format!("{start} destination_kind=\"queue\" destination=\"shipments\" routing_key=k error=");
    assert!(lines[0].starts_with(&to_queue), "{lines:?}");
    let to_exchange = format!("{start} destination_kind=\"exchange\" destination=\"other\" routing_key=k error=");
    assert!(lines[1].starts_with(&to_exchange), "{lines:?}");
}
