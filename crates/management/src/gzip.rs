//! A long answer, compressed while it is made.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use http_server::PIECE_LEN;
use http_server::Pieces;

/// Text of one kind of line after another is a tenth as long even so, and a scrape holds up whatever else its thread does.
const LEVEL: Compression = Compression::fast();

pub(crate) struct Gzip {
    pieces: Box<dyn Pieces>,
    /// None: it has ended.
    encoder: Option<GzEncoder<Vec<u8>>>,
    plain: Vec<u8>,
}

impl Gzip {
    pub(crate) fn new(pieces: Box<dyn Pieces>) -> Self {
        Self { pieces, encoder: Some(GzEncoder::new(Vec::new(), LEVEL)), plain: Vec::with_capacity(PIECE_LEN) }
    }
}

impl Pieces for Gzip {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(mut encoder) = self.encoder.take() else { return false };
        loop {
            self.plain.clear();
            let has_more = self.pieces.write_next(&mut self.plain);
            // Writing to memory cannot fail.
            let _ = encoder.write_all(&self.plain);
            if !has_more {
                out.extend(encoder.finish().unwrap_or_default());
                return false;
            }
            // It keeps to itself what it may still compress better. Where nothing is there to compress, others have their turn.
            if self.plain.is_empty() || !encoder.get_ref().is_empty() {
                out.append(encoder.get_mut());
                self.encoder = Some(encoder);
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    struct Lines(u32);

    impl Pieces for Lines {
        fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
            while out.len() < PIECE_LEN && self.0 > 0 {
                self.0 -= 1;
                writeln!(out, "rabbitmq_queue_messages{{queue=\"{}\"}} {}", self.0, self.0 ^ 77).unwrap();
            }
            self.0 > 0
        }
    }

    fn whole(mut pieces: impl Pieces) -> Vec<u8> {
        let mut whole = Vec::new();
        loop {
            let mut out = Vec::new();
            let has_more = pieces.write_next(&mut out);
            whole.append(&mut out);
            if !has_more {
                return whole;
            }
        }
    }

    #[test]
    fn what_is_compressed_is_the_same_text() {
        for count in [0, 1, 50_000] {
            let compressed = whole(Gzip::new(Box::new(Lines(count))));
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut text).unwrap();
            assert!(text == whole(Lines(count)), "{count} lines");
        }
    }

    #[test]
    fn what_is_long_in_coming_is_not_waited_for() {
        /// Two turns in which nothing comes, and then a text.
        struct Slow(u32);

        impl Pieces for Slow {
            fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
                self.0 += 1;
                out.extend_from_slice(if self.0 > 2 { b"text" } else { b"" });
                self.0 <= 2
            }
        }

        let (mut gzip, mut out) = (Gzip::new(Box::new(Slow(0))), Vec::new());
        assert_eq!([(); 3].map(|()| gzip.write_next(&mut out)), [true, true, false]);
    }

    #[test]
    fn a_piece_is_never_empty_and_never_long() {
        let mut gzip = Gzip::new(Box::new(Lines(50_000)));
        let mut count = 0;
        loop {
            let mut out = Vec::new();
            let has_more = gzip.write_next(&mut out);
            assert!(!out.is_empty() && out.len() < 2 * PIECE_LEN, "{} bytes", out.len());
            count += 1;
            if !has_more {
                break;
            }
        }
        assert!(count > 3, "{count} pieces");
    }
}
