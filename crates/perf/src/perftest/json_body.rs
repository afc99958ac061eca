//! Random JSON documents of about a given size, from a fixed set of names and values.

use crate::plan::Random;

const LETTERS: [char; 26] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w',
    'x', 'y', 'z',
];
/// Lengths of names and of texts.
const NAME_LEN: std::ops::Range<usize> = 5..21;
const TEXT_LEN: std::ops::Range<usize> = 10..51;

/// So many documents, each an object. They reach `size` bytes and go past it by less than one field.
pub(super) fn documents(count: u32, fields: u32, size: u32, random: &mut Random) -> Vec<Vec<u8>> {
    let names: Vec<String> = (0..fields).map(|_| letters(random, NAME_LEN)).collect();
    let values: Vec<String> = (0..fields).map(|_| value(random)).collect();
    (0..count).map(|_| document(&names, &values, size, random)).collect()
}

fn document(names: &[String], values: &[String], size: u32, random: &mut Random) -> Vec<u8> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut out = b"{".to_vec();
    let mut field = 0u64;
    while out.len() + 1 < size || field == 0 {
        // A number keeps names apart: a document has each only once.
        let name = &names[random.below(names.len())];
        let value = &values[random.below(values.len())];
        let comma = if field == 0 { "" } else { "," };
        out.extend_from_slice(format!("{comma}\"{name}{field}\":{value}").as_bytes());
        field += 1;
    }
    out.push(b'}');
    out
}

fn value(random: &mut Random) -> String {
    match random.below(4) {
        0 => random.below(1_000_000).to_string(),
        1 => if random.below(2) == 0 { "false" } else { "true" }.to_owned(),
        _ => format!("\"{}\"", letters(random, TEXT_LEN)),
    }
}

fn letters(random: &mut Random, len: std::ops::Range<usize>) -> String {
    let len = len.start + random.below(len.end - len.start);
    (0..len).map(|_| LETTERS[random.below(LETTERS.len())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_json_of_about_the_size() {
        for size in [12, 200, 5000] {
            let documents = documents(3, 10, size, &mut Random::new(7, 0));
            assert_eq!(documents.len(), 3);
            for document in documents {
                assert!((size as usize..size as usize + 90).contains(&document.len()), "{size}: {}", document.len());
                let value: serde_json::Value = serde_json::from_slice(&document).unwrap();
                assert!(value.is_object());
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_documents() {
        assert_eq!(documents(2, 5, 100, &mut Random::new(1, 0)), documents(2, 5, 100, &mut Random::new(1, 0)));
        assert_ne!(documents(2, 5, 100, &mut Random::new(1, 0)), documents(2, 5, 100, &mut Random::new(2, 0)));
    }
}
