//! The random exchanges: any one binding, each as likely as any other.
//!
//! A queue that is bound by two keys is chosen twice as often, as in RabbitMQ.

use crate::draws::Draws;
use crate::handles::BindingHandle;
use crate::target::{Destinations, Target, TargetPlace, Targets};

/// A random exchange's bindings.
#[derive(Debug, Default)]
pub(crate) struct Random {
    targets: Targets,
}

impl Random {
    pub(crate) fn bind(&mut self, target: Target) -> TargetPlace {
        TargetPlace { point: 0, position: self.targets.add(target) }
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        self.targets.remove(place.position)
    }

    #[inline]
    pub(crate) fn route(&self, draws: &mut Draws, reached: &mut Destinations) {
        let chosen = match self.targets.len() {
            0 => return,
            1 => 0,
            len => draws.below(len),
        };
        reached.add(self.targets.get(chosen).node);
    }
}
