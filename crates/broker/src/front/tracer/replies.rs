//! Direct replies, as taps see them. They are in no queue: as in RabbitMQ, taps see one that is named after the reply's address.

use engine::lane::LaneNumber;
use engine::queue_handle::QueueHandle;
use engine::tap::{Event, What};
use engine::targets::Targets;
use message::{History, Parts};
use model::arguments::QueueArguments;
use model::definition;
use model::features::QueueFeatures;
use model::ids::QueueId;
use model::name::QueueName;
use model::policy::EffectivePolicy;

use crate::front::incoming::Incoming;
use crate::front::{Front, Protocol};

impl<P: Protocol> Front<P> {
    /// A reply is published, to the client that has its address.
    #[cold]
    pub(in crate::front) fn report_reply_published(&mut self, lane: LaneNumber, message: &Incoming<'_>) {
        let publish = self.broker.engine.taps.number_publish();
        let parts = message.parts(self.turn.now_ms, History::default());
        self.report_reply(lane, publish, What::Published(&Targets::default()), None, &parts);
    }

    /// A requester has been sent a reply.
    #[cold]
    pub(in crate::front) fn report_reply_delivered(
        &mut self,
        lane: LaneNumber,
        consumer_tag: &[u8],
        address: &str,
        parts: &Parts<'_>,
    ) {
        let queue = self.queue_of_address(address);
        let what = What::Delivered { is_redelivered: false, consumer_tag, no_ack: true };
        self.report_reply(lane, 0, what, queue.as_ref(), parts);
    }

    fn report_reply(
        &mut self,
        lane: LaneNumber,
        publish: u64,
        what: What<'_>,
        queue: Option<&QueueHandle>,
        message: &Parts<'_>,
    ) {
        let Some(client) = self.tracing_client() else { return };
        self.broker.engine.taps.report(&Event {
            what,
            vhost: self.vhost().name().as_str(),
            queue,
            seq: None,
            client: Some(&client),
            lane,
            publish,
            message: Some(*message),
        });
    }

    /// A queue that has an address for its name. Nothing is ever in it, and no other client knows of it.
    fn queue_of_address(&self, address: &str) -> Option<QueueHandle> {
        let vhost = self.vhost();
        let definition = definition::Queue {
            vhost: vhost.name().clone(),
            name: QueueName::parse(address.as_bytes()).ok()?,
            id: QueueId(0),
            is_durable: false,
            is_auto_delete: false,
            is_exclusive: true,
            arguments: QueueArguments::default(),
        };
        let policy = EffectivePolicy::default();
        let features = QueueFeatures::of(&definition.arguments, &policy);
        let (counters, clock) = (vhost.counters.clone(), self.broker.engine.clock.clone());
        Some(QueueHandle::new(definition, 0, Some(self.handle.id), counters, clock, policy, features))
    }
}
