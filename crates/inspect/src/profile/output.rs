//! The file that a profile is written to: its ending says in which form.

use std::fs;
use std::path::Path;

use profile::{Profile, svg};

use crate::failure::Failure;

/// A form of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Svg,
    Folded,
    Pprof,
    Speedscope,
}

const ENDINGS: &[(&str, Form)] = &[
    (".svg", Form::Svg),
    (".folded", Form::Folded),
    (".txt", Form::Folded),
    (".pb.gz", Form::Pprof),
    (".speedscope.json", Form::Speedscope),
];

impl Form {
    /// The form of a file of this name.
    pub(super) fn of(path: &Path) -> Result<Form, Failure> {
        let name = path.to_string_lossy();
        let form = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| *form);
        form.ok_or_else(|| {
            let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
            Failure::usage(format!("a profile's file ends in {}, not as {name} does", endings.join(", ")))
        })
    }

    /// The file's content, of a profile of these times.
    pub(super) fn content(self, profile: &Profile, (at_ns, duration_ns): (u64, u64)) -> Vec<u8> {
        match self {
            Form::Svg => svg::flame_graph(profile).into_bytes(),
            Form::Folded => profile.to_folded().into_bytes(),
            Form::Pprof => profile.to_pprof(at_ns, duration_ns),
            Form::Speedscope => profile.to_speedscope().into_bytes(),
        }
    }
}

/// Writes a file, and reports it.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    fs::write(path, content)
        .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))?;
    eprintln!("Written to {}.", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_which_form() {
        for (name, form) in [
            ("a.svg", Form::Svg),
            ("dir.x/a.folded", Form::Folded),
            ("a.txt", Form::Folded),
            ("a.pb.gz", Form::Pprof),
            ("a.speedscope.json", Form::Speedscope),
        ] {
            assert_eq!(Form::of(Path::new(name)), Ok(form));
        }
        let failure = Form::of(Path::new("a.json")).unwrap_err();
        assert_eq!(failure.status, 2);
        assert_eq!(
            failure.text,
            "a profile's file ends in .svg, .folded, .txt, .pb.gz, .speedscope.json, not as a.json does"
        );
    }
}
