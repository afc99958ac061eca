//! Room that a connection needs only while something happens: its thread lends it, so that a wake-up grows no vectors anew and an idle
//! connection holds none.

use std::cell::RefCell;
use std::mem::{swap, take};

use crate::limits::OUTPUT_LEN;
use crate::session::Session;
use engine::batch::Batch;

/// What a thread lends to the connection that it attends to.
#[derive(Default)]
struct Room {
    out: Vec<u8>,
    batch: Batch,
}

/// A larger output than this, for the sake of a large message, is not kept.
const OUTPUT_LEN_KEPT: usize = 4 * OUTPUT_LEN;

thread_local! {
    static ROOM: RefCell<Room> = RefCell::default();
}

impl Session {
    /// Takes the thread's room, as far as it has none of its own.
    pub(crate) fn borrow_buffers(&mut self) {
        ROOM.with_borrow_mut(|room| {
            if self.out.capacity() == 0 {
                swap(&mut self.out, &mut room.out);
            }
            if self.batch.has_no_room() {
                self.batch.swap_room(&mut room.batch);
            }
        });
    }

    /// Nothing happens for a while: leaves to the thread what is empty.
    pub(super) fn return_buffers(&mut self) {
        ROOM.with_borrow_mut(|room| {
            if self.out.is_empty() {
                let out = take(&mut self.out);
                if room.out.capacity() == 0 && out.capacity() <= OUTPUT_LEN_KEPT {
                    room.out = out;
                }
            }
            if self.batch.is_empty() {
                if room.batch.has_no_room() && self.batch.is_worth_keeping() {
                    self.batch.swap_room(&mut room.batch);
                } else {
                    self.batch.shrink();
                }
            }
        });
    }
}
