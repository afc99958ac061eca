//! The parts of a form (`multipart/form-data`), as a browser uploads a file.

/// One part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// The field's name.
    pub(crate) name: &'a str,
    /// The file's name, for files.
    pub(crate) file_name: Option<&'a str>,
    /// What it says.
    pub(crate) content: &'a [u8],
}

/// Parts of a form; more than this many, and the rest is not looked at.
const PART_COUNT_MAX: usize = 64;

/// The parts between boundaries. None: this is no such form, or it is cut off.
pub(crate) fn parts<'a>(body: &'a [u8], boundary: &str) -> Option<Vec<Part<'a>>> {
    let delimiter = format!("\r\n--{boundary}");
    let first = &delimiter.as_bytes()[2..];
    let mut rest = match body.strip_prefix(first) {
        Some(rest) => rest,
        None => after(body, delimiter.as_bytes())?.1,
    };
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        if parts.len() == PART_COUNT_MAX {
            return None;
        }
        rest = after(rest, b"\r\n")?.1;
        let (part, next) = after(rest, delimiter.as_bytes())?;
        parts.extend(part_of(part));
        rest = next;
    }
    Some(parts)
}

/// What comes before the first `pattern`, and what after.
fn after<'a>(bytes: &'a [u8], pattern: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (first, _) = pattern.split_first()?;
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| byte == first)?;
        if bytes[at..].starts_with(pattern) {
            return Some((&bytes[..at], &bytes[at + pattern.len()..]));
        }
        from = at + 1;
    }
}

fn part_of(part: &[u8]) -> Option<Part<'_>> {
    let (head, content) = match part.strip_prefix(b"\r\n") {
        Some(content) => (&b""[..], content),
        None => after(part, b"\r\n\r\n")?,
    };
    let head = std::str::from_utf8(head).ok()?;
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    let parameter = |wanted: &str| {
        disposition.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().trim_matches('"'))
        })
    };
    Some(Part { name: parameter("name")?, file_name: parameter("filename"), content })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] = b"--xx\r\nContent-Disposition: form-data; name=\"file\"; filename=\"d.json\"\r\n\
        Content-Type: application/json\r\n\r\n{\"a\":\r\n1}\r\n--xx\r\n\
        content-disposition: form-data; name=vhost\r\n\r\n/\r\n--xx--\r\n";

    #[test]
    fn parts_have_names_and_contents() {
        let parts = parts(FORM, "xx").unwrap();
        assert_eq!(
            parts,
            [
                Part { name: "file", file_name: Some("d.json"), content: b"{\"a\":\r\n1}" },
                Part { name: "vhost", file_name: None, content: b"/" },
            ]
        );
    }

    #[test]
    fn a_form_that_is_cut_off_is_none() {
        for len in 0..FORM.len() - 5 {
            assert_eq!(parts(&FORM[..len], "xx").map(|parts| parts.len()), None, "{len}");
        }
        assert_eq!(parts(FORM, "yy"), None);
    }
}
