//! Methods of AMQP as calls that can be traced. Without a session, none of this is reached.

use amqp::method::Method;
use telemetry::trace::{Arguments, Call, Point};

use super::Session;
use super::channel::Channel;
use super::exception::Handled;
use crate::front::Incoming;

/// A point for each method that clients send, found by its class and number.
macro_rules! methods {
    ($($name:ident = ($class:literal, $method:literal) $text:literal, $arguments:expr, $about:literal;)*) => {
        $(static $name: Point = Point::new($text, &$arguments, $about);)*

        fn point_of(class_id: u16, method_id: u16) -> Option<&'static Point> {
            match (class_id, method_id) {
                $(($class, $method) => Some(&$name),)*
                _ => None,
            }
        }

        /// All of them.
        pub(crate) static METHODS: &[&Point] = &[$(&$name),*];
    };
}

methods! {
    CHANNEL_FLOW = (20, 20) "amqp::channel.flow", ["active"], "Stops or resumes deliveries, which is refused.";
    EXCHANGE_DECLARE = (40, 10) "amqp::exchange.declare",
        ["channel", "vhost", "exchange", "type", "passive", "durable"], "Declares an exchange.";
    EXCHANGE_DELETE = (40, 20) "amqp::exchange.delete", ["channel", "vhost", "exchange", "if_unused"], "Deletes an exchange.";
    EXCHANGE_BIND = (40, 30) "amqp::exchange.bind",
        ["channel", "vhost", "source", "destination", "routing_key"], "Binds an exchange to another.";
    EXCHANGE_UNBIND = (40, 40) "amqp::exchange.unbind",
        ["channel", "vhost", "source", "destination", "routing_key"], "Removes such a binding.";
    QUEUE_DECLARE = (50, 10) "amqp::queue.declare",
        ["channel", "vhost", "queue", "passive", "durable", "exclusive", "auto_delete"], "Declares a queue.";
    QUEUE_BIND = (50, 20) "amqp::queue.bind",
        ["channel", "vhost", "queue", "exchange", "routing_key"], "Binds a queue to an exchange.";
    QUEUE_PURGE = (50, 30) "amqp::queue.purge", ["channel", "vhost", "queue"], "Removes all ready messages of a queue.";
    QUEUE_DELETE = (50, 40) "amqp::queue.delete",
        ["channel", "vhost", "queue", "if_unused", "if_empty"], "Deletes a queue.";
    QUEUE_UNBIND = (50, 50) "amqp::queue.unbind",
        ["channel", "vhost", "queue", "exchange", "routing_key"], "Removes a binding of a queue.";
    BASIC_QOS = (60, 10) "amqp::basic.qos", ["channel", "prefetch_count", "global"], "Sets a prefetch count.";
    BASIC_CONSUME = (60, 20) "amqp::basic.consume",
        ["channel", "vhost", "queue", "consumer_tag", "no_ack", "exclusive"], "Begins to consume from a queue.";
    BASIC_CANCEL = (60, 30) "amqp::basic.cancel", ["channel", "consumer_tag"], "Ends a consumer.";
    BASIC_PUBLISH = (60, 40) "amqp::basic.publish",
        ["channel", "vhost", "exchange", "routing_key", "mandatory", "body_len", "body"], "Publishes a message.";
    BASIC_GET = (60, 70) "amqp::basic.get", ["channel", "vhost", "queue", "no_ack"], "Asks for one message of a queue.";
    BASIC_ACK = (60, 80) "amqp::basic.ack", ["channel", "delivery_tag", "multiple"], "Acknowledges deliveries.";
    BASIC_REJECT = (60, 90) "amqp::basic.reject", ["channel", "delivery_tag", "requeue"], "Rejects a delivery.";
    BASIC_RECOVER_ASYNC = (60, 100) "amqp::basic.recover-async", ["channel", "requeue"], "Asks for deliveries again.";
    BASIC_RECOVER = (60, 110) "amqp::basic.recover", ["channel", "requeue"], "Asks for deliveries again.";
    BASIC_NACK = (60, 120) "amqp::basic.nack", ["channel", "delivery_tag", "multiple", "requeue"], "Rejects deliveries.";
    CONFIRM_SELECT = (85, 10) "amqp::confirm.select", ["channel"], "Has publishes confirmed from now on.";
    TX_SELECT = (90, 10) "amqp::tx.select", ["channel"], "Begins transactions.";
    TX_COMMIT = (90, 20) "amqp::tx.commit", ["channel"], "Commits a transaction.";
    TX_ROLLBACK = (90, 30) "amqp::tx.rollback", ["channel"], "Rolls a transaction back.";
}

impl Session {
    /// A method of a channel, as a call.
    #[cold]
    pub(super) fn traced_method(&mut self, channel: &mut Channel, method: Method<'_>) -> Handled<()> {
        // A publish is one when its body is there.
        let point = match method {
            Method::BasicPublish(_) => None,
            _ => point_of(method.class_id(), method.method_id()),
        };
        let Some(point) = point else { return self.do_method(channel, method) };
        let mut call = point.enter(|arguments| {
            arguments.number("channel", channel.number().0);
            if point.arguments().contains(&"vhost") {
                arguments.text("vhost", self.front.vhost().name().as_str());
            }
            describe(&method, arguments);
        });
        let result = self.do_method(channel, method);
        record_result(&mut call, &result);
        self.front.follow_method(call, result.is_err());
        result
    }

    /// A publish with its body, as a call.
    #[cold]
    pub(super) fn traced_publish(&mut self, channel: &mut Channel, message: &Incoming<'_>) -> Handled<()> {
        let mut call = BASIC_PUBLISH.enter(|arguments| {
            arguments.number("channel", channel.number().0).text("vhost", self.front.vhost().name().as_str());
            arguments.bytes("exchange", message.exchange).bytes("routing_key", message.routing_key);
            arguments
                .flag("mandatory", message.is_mandatory)
                .number("body_len", message.body.len())
                .body("body", message.body);
        });
        let before = channel.last_confirm_seq();
        let result = self.publish(channel, message);
        record_result(&mut call, &result);
        let confirm_seq = channel.last_confirm_seq();
        match &result {
            Ok(()) => self.front.follow_publish(call, channel.number(), (confirm_seq > before).then_some(confirm_seq)),
            Err(_) => self.front.follow_method(call, true),
        }
        result
    }
}

fn record_result(call: &mut Call, result: &Handled<()>) {
    call.returns(|| match result {
        Ok(()) => "ok".to_owned(),
        Err(exception) => format!("{} {}", exception.code.code(), exception.text),
    });
}

/// What a method says, but for tables of arguments.
fn describe(method: &Method<'_>, arguments: &mut Arguments) {
    match method {
        Method::ChannelFlow(flow) => arguments.flag("active", flow.active),
        Method::ChannelOnBehalfOf(method) => arguments.bytes("client", method.client),
        Method::ExchangeDeclare(declare) => arguments
            .bytes("exchange", declare.exchange)
            .bytes("type", declare.kind)
            .flag("passive", declare.passive)
            .flag("durable", declare.durable),
        Method::ExchangeDelete(delete) => {
            arguments.bytes("exchange", delete.exchange).flag("if_unused", delete.if_unused)
        }
        Method::ExchangeBind(bind) => describe_binding(arguments, bind.source, bind.destination, bind.routing_key),
        Method::ExchangeUnbind(unbind) => {
            describe_binding(arguments, unbind.source, unbind.destination, unbind.routing_key)
        }
        Method::QueueDeclare(declare) => arguments
            .bytes("queue", declare.queue)
            .flag("passive", declare.passive)
            .flag("durable", declare.durable)
            .flag("exclusive", declare.exclusive)
            .flag("auto_delete", declare.auto_delete),
        Method::QueueBind(bind) => {
            arguments.bytes("queue", bind.queue).bytes("exchange", bind.exchange).bytes("routing_key", bind.routing_key)
        }
        Method::QueueUnbind(unbind) => arguments
            .bytes("queue", unbind.queue)
            .bytes("exchange", unbind.exchange)
            .bytes("routing_key", unbind.routing_key),
        Method::QueuePurge(purge) => arguments.bytes("queue", purge.queue),
        Method::QueueDelete(delete) => {
            arguments.bytes("queue", delete.queue).flag("if_unused", delete.if_unused).flag("if_empty", delete.if_empty)
        }
        Method::BasicQos(qos) => arguments.number("prefetch_count", qos.prefetch_count).flag("global", qos.global),
        Method::BasicConsume(consume) => arguments
            .bytes("queue", consume.queue)
            .bytes("consumer_tag", consume.consumer_tag)
            .flag("no_ack", consume.no_ack)
            .flag("exclusive", consume.exclusive),
        Method::BasicCancel(cancel) => arguments.bytes("consumer_tag", cancel.consumer_tag),
        Method::BasicGet(get) => arguments.bytes("queue", get.queue).flag("no_ack", get.no_ack),
        Method::BasicAck(ack) => arguments.number("delivery_tag", ack.delivery_tag).flag("multiple", ack.multiple),
        Method::BasicNack(nack) => arguments
            .number("delivery_tag", nack.delivery_tag)
            .flag("multiple", nack.multiple)
            .flag("requeue", nack.requeue),
        Method::BasicReject(reject) => {
            arguments.number("delivery_tag", reject.delivery_tag).flag("requeue", reject.requeue)
        }
        Method::BasicRecover(recover) => arguments.flag("requeue", recover.requeue),
        Method::BasicRecoverAsync(recover) => arguments.flag("requeue", recover.requeue),
        _ => arguments,
    };
}

fn describe_binding<'a>(
    arguments: &'a mut Arguments,
    source: &[u8],
    destination: &[u8],
    routing_key: &[u8],
) -> &'a mut Arguments {
    arguments.bytes("source", source).bytes("destination", destination).bytes("routing_key", routing_key)
}
