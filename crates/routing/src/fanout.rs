//! The fanout exchange: every binding matches.

use crate::handles::BindingHandle;
use crate::target::{Destinations, Target, TargetPlace, Targets};

/// A fanout exchange's bindings.
#[derive(Debug, Default)]
pub(crate) struct Fanout {
    targets: Targets,
}

impl Fanout {
    pub(crate) fn bind(&mut self, target: Target) -> TargetPlace {
        TargetPlace { point: 0, position: self.targets.add(target) }
    }

    pub(crate) fn unbind(&mut self, place: TargetPlace) -> Option<BindingHandle> {
        self.targets.remove(place.position)
    }

    #[inline]
    pub(crate) fn route(&self, reached: &mut Destinations) {
        reached.add_all(&self.targets);
    }
}
