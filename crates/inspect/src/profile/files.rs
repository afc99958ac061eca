//! The files whose functions are named: the broker's own program, and libraries, where they are on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use super::sampled::Module;
use crate::failure::Failure;

/// The contents of files, by the places of their modules; None for what cannot be read, or is another one by now.
///
/// The first module that has a build id decides: functions of a program that is not here cannot be named.
pub(super) fn read(modules: &[Module], pid: u64, given: Option<&Path>) -> Result<Vec<Option<Vec<u8>>>, Failure> {
    let program = program(modules, pid, given)?;
    let read = |(place, module): (usize, &Module)| {
        if modules.first().is_some_and(|first| first.path == module.path) {
            return if place == 0 { Some(program.clone()) } else { None };
        }
        let content = fs::read(&module.path).ok()?;
        (build_id(&content) == module.build_id).then_some(content)
    };
    Ok(modules.iter().enumerate().map(read).collect())
}

/// The broker's program: this one, if it is of the same build, or what is given, or the file of the broker's process.
fn program(modules: &[Module], pid: u64, given: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let module = modules.first().ok_or_else(|| Failure::failed("the broker does not say which program it is"))?;
    let of_process = PathBuf::from(format!("/proc/{pid}/exe"));
    let candidates: Vec<&Path> = match given {
        Some(given) => vec![given],
        None => vec![Path::new("/proc/self/exe"), &of_process, &module.path],
    };
    for path in &candidates {
        let Ok(content) = fs::read(path) else { continue };
        // One without a build id can only be recognized by its path.
        let is_it = match (&module.build_id, given) {
            (None, None) => *path != Path::new("/proc/self/exe"),
            (None, Some(_)) => true,
            (wanted, _) => build_id(&content) == *wanted,
        };
        if is_it {
            return Ok(content);
        }
    }
    let id = module.build_id.as_deref().unwrap_or("none");
    let text = match given {
        Some(given) => format!("{} is not the broker's program, whose build id is {id}", given.display()),
        None => format!(
            "the names of the broker's functions are not here: its program is {} with the build id {id}. Run the same program's \
             `warren profile`, or name a copy of it with --binary",
            module.path.display()
        ),
    };
    Err(Failure::failed(text))
}

/// Whether the broker's process is one of this machine.
pub(super) fn is_here(modules: &[Module], pid: u64) -> bool {
    let of_process = fs::read(format!("/proc/{pid}/exe")).ok().and_then(|content| build_id(&content));
    modules.first().is_some_and(|module| module.build_id.is_some() && module.build_id == of_process)
}

fn build_id(content: &[u8]) -> Option<String> {
    use object::Object as _;
    let file = object::File::parse(content).ok()?;
    let id = file.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, build_id: Option<String>) -> Module {
        Module { path: path.into(), build_id }
    }

    #[test]
    fn a_program_is_known_by_its_build_id() {
        let own = fs::read("/proc/self/exe").unwrap();
        let id = build_id(&own);
        assert!(id.is_some(), "the linker names no builds");
        let modules = [module("/gone/warren", id.clone()), module("/gone/libc.so", Some("ab".to_owned()))];
        let files = read(&modules, 0, None).unwrap();
        assert_eq!(files, [Some(own), None]);
        let failure = read(&[module("/gone/warren", Some("abcd".to_owned()))], 0, None).unwrap_err();
        assert!(failure.text.contains("/gone/warren with the build id abcd"), "{failure:?}");
        let failure = read(&modules, 0, Some(Path::new("/proc/self/maps"))).unwrap_err();
        assert!(failure.text.starts_with("/proc/self/maps is not the broker's program"), "{failure:?}");
    }
}
