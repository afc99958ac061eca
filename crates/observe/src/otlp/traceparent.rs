//! The header `traceparent`, by which programs pass on which trace a message belongs to (W3C Trace Context).
//!
//! ```text
//!  00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//!  version  trace-id                   parent-id        flags: the lowest bit says that it is sampled
//! ```

/// Which trace a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub(super) trace_id: [u8; 16],
    /// The publisher's span.
    pub(super) parent_id: [u8; 8],
    pub(super) is_sampled: bool,
}

const LEN: usize = 2 + 1 + 32 + 1 + 16 + 1 + 2;

impl TraceParent {
    /// None: it is none. Of later versions the parts that are known count.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (head, rest) = text.split_at_checked(LEN)?;
        let [version] = hex(&head[..2])?;
        let has_dashes = [2, 35, 52].iter().all(|at| head[*at] == b'-');
        let is_whole = if version == 0 { rest.is_empty() } else { rest.first().is_none_or(|next| *next == b'-') };
        let (trace_id, parent_id, [flags]) = (hex(&head[3..35])?, hex(&head[36..52])?, hex(&head[53..])?);
        let is_valid = has_dashes && is_whole && version != 0xff && trace_id != [0; 16] && parent_id != [0; 8];
        is_valid.then_some(TraceParent { trace_id, parent_id, is_sampled: flags & 1 == 1 })
    }

    /// Whether it is among this part of all traces: the same for all that take the same part.
    pub(super) fn is_within(&self, rate: f64) -> bool {
        let mut low = [0; 8];
        low.copy_from_slice(&self.trace_id[8..]);
        // 53 bits are what a float has.
        let place = (u64::from_be_bytes(low) >> 11) as f64 / (1_u64 << 53) as f64;
        place < rate
    }
}

/// Lower case, as the standard has it.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_standards_example_is_read() {
        let parent = TraceParent::parse(GOOD.as_bytes()).unwrap();
        assert_eq!((parent.trace_id[0], parent.parent_id[7], parent.is_sampled), (0x4b, 0xb7, true));
        assert!(!TraceParent::parse(GOOD.replace("-01", "-00").as_bytes()).unwrap().is_sampled);
        let later = format!("{}-more", GOOD.replace("00-4b", "01-4b"));
        assert!(TraceParent::parse(later.as_bytes()).is_some());
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "00",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_a_client_sends_is_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = TraceParent::parse(&bytes);
        }

        #[test]
        fn a_part_is_a_part(low in any::<u64>()) {
            let mut parent = TraceParent::parse(GOOD.as_bytes()).unwrap();
            parent.trace_id[8..].copy_from_slice(&low.to_be_bytes());
            prop_assert!(parent.is_within(1.0) && !parent.is_within(0.0));
            prop_assert!(!parent.is_within(0.3) || parent.is_within(0.6));
        }
    }
}
