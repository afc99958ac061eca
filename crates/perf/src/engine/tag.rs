//! Consumer tags.

/// Consumer tags are the numbers of the consumer's queues.
#[inline]
pub(crate) fn tag_number(tag: &[u8]) -> u16 {
    tag.iter().fold(0, |number: u16, digit| number.wrapping_mul(10).wrapping_add(u16::from(digit.wrapping_sub(b'0'))))
}
