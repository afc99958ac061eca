//! The fanout exchange: every binding matches.

use crate::binding::BindingEntry;
use crate::slab::Handle;
use crate::target::{Place, Reached, Target, Targets};

/// A fanout exchange's bindings.
#[derive(Debug, Default)]
pub(crate) struct Fanout {
    targets: Targets,
}

impl Fanout {
    pub(crate) fn bind(&mut self, target: Target) -> Place {
        Place { point: 0, position: self.targets.add(target) }
    }

    pub(crate) fn unbind(&mut self, place: Place) -> Option<Handle<BindingEntry>> {
        self.targets.remove(place.position)
    }

    #[inline]
    pub(crate) fn route(&self, reached: &mut Reached) {
        reached.add_all(&self.targets);
    }
}
