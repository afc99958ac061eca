//! The upstream's end of a queue's link: the queue there, and a consumer that gives way to all others, as long as the queue here needs
//! messages.

use amqp::{TableBuf, Value, basic, queue};
use amqp_client::Connection;
use bridge::CHANNEL;
use model::definition;
use model::shovel::AckMode;

use crate::exchange_link::is_there;
use crate::failure::Failure;
use crate::wanted::Link;

/// Below all consumers that say nothing of a priority.
const PRIORITY: (&str, Value<'static>) = ("x-priority", Value::I64(-1));

/// The upstream's end of the link.
#[derive(Debug)]
pub(crate) struct QueueEnd {
    queue: Box<str>,
    consumer_tag: Box<str>,
    no_ack: bool,
    is_consuming: bool,
}

impl QueueEnd {
    /// Finds the queue, or declares it as the one here.
    pub(crate) async fn prepare(
        connection: &mut Connection,
        link: &Link,
        here: &definition::Queue,
    ) -> Result<Self, Failure> {
        let queue = link.id.upstream_name.clone();
        let refused = |source| Failure::UpstreamRefused { what: format!("queue '{queue}'"), source };
        let passive = queue::Declare { queue: queue.as_bytes(), passive: true, ..Default::default() };
        if !is_there(connection, &passive).await.map_err(refused)? {
            let declare = queue::Declare {
                queue: queue.as_bytes(),
                durable: here.is_durable,
                auto_delete: here.is_auto_delete,
                arguments: here.arguments.table(),
                ..Default::default()
            };
            connection.declare_queue(CHANNEL, &declare).await.map_err(refused)?;
        }
        if link.ack_mode != AckMode::NoAck {
            let qos = basic::Qos { prefetch_size: 0, prefetch_count: link.prefetch_count, global: false };
            connection.call(CHANNEL, &qos).await.map_err(refused)?;
        }
        let no_ack = link.ack_mode == AckMode::NoAck;
        let consumer_tag = link.consumer_tag.clone();
        Ok(QueueEnd { consumer_tag, no_ack, is_consuming: false, queue })
    }

    /// Consumes, or does not, as the queue here needs messages. What is on its way comes all the same.
    pub(crate) fn follow(&mut self, connection: &mut Connection, is_needed: bool) {
        if is_needed == self.is_consuming {
            return;
        }
        self.is_consuming = is_needed;
        let consumer_tag = self.consumer_tag.as_bytes();
        if is_needed {
            let arguments = TableBuf::new().with(PRIORITY.0, PRIORITY.1);
            let consume = basic::Consume {
                queue: self.queue.as_bytes(),
                consumer_tag,
                no_ack: self.no_ack,
                no_wait: true,
                arguments: arguments.as_table(),
                ..Default::default()
            };
            connection.send(CHANNEL, &consume);
        } else {
            connection.send(CHANNEL, &basic::Cancel { consumer_tag, no_wait: true });
        }
    }
}
