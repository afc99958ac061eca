//! A stack, walked by frame pointers.
//!
//! ```text
//!  higher   ┌──────────────────────┐ ◄ end of the thread's stack
//!           │ return address       │
//!           │ frame pointer before │◄─┐
//!           │ …                    │  │
//!           │ return address       │  │
//!    fp ──► │ frame pointer before │──┘
//!           │ …                    │
//!  lower    └──────────────────────┘ ◄ stack pointer
//! ```
//!
//! What is between the stack pointer and the end is the thread's own and mapped, so a word in there can be read, whatever led to it.
//! Each frame must be above the one before: the walk ends.

/// Where a thread was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers {
    pub(crate) instruction: u64,
    pub(crate) stack: u64,
    pub(crate) frame: u64,
}

/// No code is below.
const ADDRESS_MIN: u64 = 1 << 16;
const WORD: u64 = 8;

/// Passes the addresses of a stack to `found`, the innermost first, until that has no more room (false) or there are no more. `code` is
/// where the program itself is: a function of another file that has no frame of its own, as memcpy has none, returns to there.
///
/// # Safety
///
/// What is between `registers.stack` and `end` is mapped, and stays so.
#[expect(unsafe_code, reason = "reads the stack that it walks")]
pub(crate) unsafe fn walk(
    registers: Registers,
    end: u64,
    code: std::ops::Range<u64>,
    mut found: impl FnMut(u64) -> bool,
) {
    let Registers { instruction, stack, frame } = registers;
    // SAFETY: the callers of this closure have seen that the word is between the two borders.
    let read = |address: u64| unsafe { std::ptr::with_exposed_provenance::<u64>(address as usize).read() };
    let is_within = |address: u64, words: u64| {
        address.is_multiple_of(WORD)
            && address >= stack
            && address.checked_add(words * WORD).is_some_and(|after| after <= end)
    };
    if !found(instruction) {
        return;
    }
    if !code.contains(&instruction) && is_within(stack, 1) {
        let caller = read(stack);
        if code.contains(&caller) && !found(caller) {
            return;
        }
    }
    let mut frame = frame;
    while is_within(frame, 2) {
        let (before, caller) = (read(frame), read(frame + WORD));
        if caller < ADDRESS_MIN || !found(caller) || before <= frame {
            return;
        }
        frame = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a stack, written with places instead of addresses: `F(n)` is the address of the nth word.
    #[derive(Clone, Copy)]
    enum Word {
        F(usize),
        N(u64),
    }
    use Word::{F, N};

    #[track_caller]
    #[expect(unsafe_code, reason = "calls what is tested")]
    fn check(words: &[Word], frame: Word, code: std::ops::Range<u64>, room: usize, expected: &[u64]) {
        let mut stack = vec![0_u64; words.len()];
        let start = stack.as_ptr().expose_provenance() as u64;
        let number = |word: Word| match word {
            F(place) => start + place as u64 * WORD,
            N(number) => number,
        };
        for (place, word) in words.iter().enumerate() {
            stack[place] = number(*word);
        }
        let registers = Registers { instruction: 0x70_0001, stack: start, frame: number(frame) };
        let mut seen = Vec::new();
        // SAFETY: the vector is there.
        unsafe {
            walk(registers, start + words.len() as u64 * WORD, code, |address| {
                seen.push(address);
                seen.len() < room
            });
        }
        assert_eq!(seen, expected);
    }

    const NO_CODE: std::ops::Range<u64> = 0x70_0000..0x80_0000;

    #[test]
    fn frames_are_followed_to_the_end_of_the_stack() {
        let words = [N(7), F(3), N(0x50_0000), F(6), N(0x60_0000), N(9), N(0), N(0x40_0000)];
        check(&words, F(1), NO_CODE, 99, &[0x70_0001, 0x50_0000, 0x60_0000, 0x40_0000]);
        check(&words, F(1), NO_CODE, 2, &[0x70_0001, 0x50_0000]);
    }

    #[test]
    fn what_leads_out_of_the_stack_is_not_followed() {
        for frame in [N(0), N(u64::MAX), N(u64::MAX - 7), N(8), F(100), F(3), N(0x1234_5678_9abc_def1)] {
            check(&[N(7), N(7), N(7), N(0x50_0000)], frame, NO_CODE, 99, &[0x70_0001]);
        }
        for before in [N(0), N(u64::MAX), N(3), F(4), F(100)] {
            check(&[N(7), before, N(0x50_0000), N(7), N(7)], F(1), NO_CODE, 99, &[0x70_0001, 0x50_0000]);
        }
    }

    #[test]
    fn a_circle_ends() {
        check(&[F(0), N(0x50_0000)], F(0), NO_CODE, 99, &[0x70_0001, 0x50_0000]);
        check(&[F(2), N(0x50_0000), F(0), N(0x60_0000)], F(0), NO_CODE, 99, &[0x70_0001, 0x50_0000, 0x60_0000]);
    }

    #[test]
    fn what_is_no_address_of_code_is_no_caller() {
        check(&[F(2), N(12), F(4), N(0x60_0000)], F(0), NO_CODE, 99, &[0x70_0001]);
    }

    #[test]
    fn a_function_of_another_file_returns_to_what_is_on_the_stack() {
        let code = 0x10_0000..0x20_0000;
        check(
            &[N(0x15_0000), F(3), N(7), N(0), N(0x16_0000)],
            F(3),
            code.clone(),
            99,
            &[0x70_0001, 0x15_0000, 0x16_0000],
        );
        check(&[N(0x25_0000), F(3), N(7), N(0), N(0x16_0000)], F(3), code, 99, &[0x70_0001, 0x16_0000]);
    }
}
