//! Random routing keys: UUIDs of version 4, as PerfTest's.

use crate::plan::Random;

pub(super) fn random_key(random: &mut Random) -> String {
    let (high, low) = (random.next_u64(), random.next_u64());
    let (high, low) = ((high & !0xF000) | 0x4000, (low & !(0b11 << 62)) | (0b10 << 62));
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF,
        low >> 48,
        low & 0xFFFF_FFFF_FFFF
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_that_it_is_random() {
        let mut random = Random::new(42, 0);
        for _ in 0..100 {
            let key = random_key(&mut random);
            assert_eq!(key.len(), 36);
            assert_eq!(key.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&key.as_bytes()[19]), "{key}");
        }
    }
}
