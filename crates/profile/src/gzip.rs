//! Gzip around deflate: `flate2` has it for readers and writers only, and this crate knows neither.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// Deflate, no flags, no time, no extra, an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// `content`, compressed.
pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut deflated = Vec::with_capacity(content.len() / 2 + 64);
    let mut compress = Compress::new(Compression::default(), false);
    loop {
        let rest = &content[usize::try_from(compress.total_in()).expect("a length of memory")..];
        match compress.compress_vec(rest, &mut deflated, FlushCompress::Finish) {
            Ok(flate2::Status::StreamEnd) => break,
            // No room, or not all in one go.
            Ok(_) => deflated.reserve(deflated.capacity().max(64)),
            Err(_) => unreachable!("compression fails only without a stream"),
        }
    }
    let mut crc = Crc::new();
    crc.update(content);
    let mut file = HEADER.to_vec();
    file.append(&mut deflated);
    file.extend(crc.sum().to_le_bytes());
    file.extend(crc.amount().to_le_bytes());
    file
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_was_compressed_is_read_by_others() {
        for content in
            [Vec::new(), b"abc".to_vec(), (0..200_000_u32).flat_map(|n| (n.wrapping_mul(n)).to_le_bytes()).collect()]
        {
            let mut read = Vec::new();
            flate2::read::GzDecoder::new(gzip(&content).as_slice()).read_to_end(&mut read).unwrap();
            assert_eq!(read, content);
        }
    }
}
