//! The route of a lane's last publish.

use std::sync::Arc;

use routing::Epoch;

use super::incoming::Incoming;
use engine::targets::Targets;

/// The route of the lane's last publish: most lanes publish to one place.
#[derive(Debug)]
pub(super) struct LastRoute {
    epoch: Epoch,
    is_delayed: bool,
    exchange: Vec<u8>,
    routing_key: Vec<u8>,
    pub(super) targets: Arc<Targets>,
}

impl LastRoute {
    /// Remembers the route of a message in the place of another's, whose room it takes.
    pub(super) fn remember(
        place: &mut Option<Box<Self>>,
        epoch: Epoch,
        message: &Incoming<'_>,
        is_delayed: bool,
        targets: &Arc<Targets>,
    ) {
        let (exchange, routing_key) = (message.exchange, message.routing_key);
        match place {
            Some(last) => {
                (last.epoch, last.is_delayed) = (epoch, is_delayed);
                last.exchange.clear();
                last.exchange.extend_from_slice(exchange);
                last.routing_key.clear();
                last.routing_key.extend_from_slice(routing_key);
                last.targets.clone_from(targets);
            }
            None => {
                let (exchange, routing_key) = (exchange.to_vec(), routing_key.to_vec());
                *place = Some(Box::new(Self { epoch, is_delayed, exchange, routing_key, targets: targets.clone() }));
            }
        }
    }

    /// Whether a message has the same route.
    #[inline(always)]
    pub(super) fn is_for(&self, epoch: Epoch, message: &Incoming<'_>, is_delayed: bool) -> bool {
        self.epoch == epoch
            && self.is_delayed == is_delayed
            && *self.exchange == *message.exchange
            && *self.routing_key == *message.routing_key
    }
}
