//! Names by number: `perf-test-%d`.

/// Names from a pattern with one `%d`, which may have a width: `%03d`.
pub(super) fn numbered(pattern: &str, from: u32, to: u32) -> Result<Vec<String>, String> {
    let wrong = || "has no %d, or something else after a '%'; a '%' itself is '%%'".to_owned();
    let mut parts: Vec<Part> = vec![Part::Text(String::new())];
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        push_text(&mut parts, before);
        if let Some(after) = after.strip_prefix('%') {
            push_text(&mut parts, "%");
            rest = after;
            continue;
        }
        let end = after.find('d').ok_or_else(wrong)?;
        let flags = &after[..end];
        let width =
            if flags.is_empty() { 0 } else { flags.parse().ok().filter(|width| *width <= 64).ok_or_else(wrong)? };
        parts.push(Part::Number { width, has_zeros: flags.starts_with('0') });
        rest = &after[end + 1..];
    }
    push_text(&mut parts, rest);
    if from != to && !parts.iter().any(|part| matches!(part, Part::Number { .. })) {
        return Err(wrong());
    }
    Ok((from..=to).map(|number| parts.iter().map(|part| part.render(number)).collect()).collect())
}

enum Part {
    Text(String),
    Number { width: usize, has_zeros: bool },
}

impl Part {
    fn render(&self, number: u32) -> String {
        match self {
            Part::Text(text) => text.clone(),
            Part::Number { width, has_zeros: true } => format!("{number:0width$}"),
            Part::Number { width, has_zeros: false } => format!("{number:width$}"),
        }
    }
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn numbers_may_have_a_width() {
        assert_eq!(numbered("q-%d", 9, 10).unwrap(), ["q-9", "q-10"]);
        assert_eq!(numbered("q-%03d-x", 9, 10).unwrap(), ["q-009-x", "q-010-x"]);
        assert_eq!(numbered("%2d%%", 9, 9).unwrap(), [" 9%"]);
        assert_eq!(numbered("only", 1, 1).unwrap(), ["only"]);
    }

    #[test]
    fn a_pattern_without_a_number_names_one_queue_only() {
        for wrong in ["only", "q-%s", "q-%", "%xd", "%999d"] {
            assert!(numbered(wrong, 1, 2).is_err(), "{wrong}");
        }
    }
}
