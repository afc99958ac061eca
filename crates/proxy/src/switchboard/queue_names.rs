//! Methods that name no queue, and mean the one that was declared last on their channel.

use amqp::method::Method;

/// Names the queue. Where neither a queue nor a routing key is named, both mean it.
pub(super) fn name_queue<'a>(method: &mut Method<'a>, name: &'a [u8]) {
    let name_key = |key: &mut &'a [u8]| {
        if key.is_empty() {
            *key = name;
        }
    };
    match method {
        Method::QueueBind(bind) => {
            bind.queue = name;
            name_key(&mut bind.routing_key);
        }
        Method::QueueUnbind(unbind) => {
            unbind.queue = name;
            name_key(&mut unbind.routing_key);
        }
        Method::QueuePurge(purge) => purge.queue = name,
        Method::QueueDelete(delete) => delete.queue = name,
        Method::BasicConsume(consume) => consume.queue = name,
        Method::BasicGet(get) => get.queue = name,
        _ => {}
    }
}
