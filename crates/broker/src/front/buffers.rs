//! Buffers that a connection needs only while something happens: its thread lends it, so that a wake-up grows no vectors anew and an idle
//! connection holds none.

use std::cell::RefCell;
use std::mem::{swap, take};

use super::{Front, Protocol};
use crate::limits::OUTPUT_LEN;
use engine::batch::Batch;

/// What a thread lends to the connection that it attends to.
#[derive(Default)]
struct Buffers {
    out: Vec<u8>,
    batch: Batch,
}

/// A larger output than this, for the sake of a large message, is not kept.
const OUTPUT_LEN_KEPT: usize = 4 * OUTPUT_LEN;

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl<P: Protocol> Front<P> {
    /// Takes the thread's buffers, as far as it has none of its own.
    pub(super) fn borrow_buffers(&mut self) {
        BUFFERS.with_borrow_mut(|buffers| {
            if self.out.capacity() == 0 {
                swap(&mut self.out, &mut buffers.out);
            }
            if self.batch.has_no_room() {
                self.batch.swap_room(&mut buffers.batch);
            }
        });
    }

    /// Nothing happens for a while: leaves to the thread what is empty.
    pub(super) fn return_buffers(&mut self) {
        BUFFERS.with_borrow_mut(|buffers| {
            if self.out.is_empty() {
                let out = take(&mut self.out);
                if buffers.out.capacity() == 0 && out.capacity() <= OUTPUT_LEN_KEPT {
                    buffers.out = out;
                }
            }
            if self.batch.is_empty() {
                if buffers.batch.has_no_room() && self.batch.is_worth_keeping() {
                    self.batch.swap_room(&mut buffers.batch);
                } else {
                    self.batch.shrink();
                }
            }
        });
    }
}
