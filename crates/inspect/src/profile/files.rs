//! The files whose functions are named: the broker's own program, and libraries, where they are on this machine.
//! Debug information may lie in a file of its own, as packages have it.

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
    let module = modules.first().ok_or_else(|| Failure::failed("the broker does not report its program"))?;
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
            "the names of the broker's functions are not available: its program is {} with the build id {id}. Run `warren profile` of \
             the same program, or name a copy of it with --binary",
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

/// The debug information of a program that has none in it: a file of the same build, where packages install it.
pub(super) fn debug_file(program: &[u8]) -> Option<Vec<u8>> {
    use object::Object as _;
    if object::File::parse(program).ok()?.section_by_name(".debug_info").is_some() {
        return None;
    }
    debug_file_below(Path::new("/usr/lib/debug/.build-id"), program)
}

fn debug_file_below(folder: &Path, program: &[u8]) -> Option<Vec<u8>> {
    let id = build_id(program)?;
    let (first, rest) = id.split_at_checked(2)?;
    let content = fs::read(folder.join(first).join(format!("{rest}.debug"))).ok()?;
    (build_id(&content)? == id).then_some(content)
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
    fn debug_information_is_found_by_the_build_id_of_the_program() {
        let folder = tempfile_folder("debug-files");
        let own = fs::read("/proc/self/exe").unwrap();
        let id = build_id(&own).unwrap();
        assert_eq!(debug_file_below(&folder, &own), None);
        let file = folder.join(&id[..2]).join(format!("{}.debug", &id[2..]));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, b"of another build").unwrap();
        assert_eq!(debug_file_below(&folder, &own), None);
        fs::copy("/proc/self/exe", &file).unwrap();
        assert!(debug_file_below(&folder, &own).is_some_and(|found| found == own));
        assert_eq!(debug_file_below(&folder, b"no program"), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A new folder that the test removes.
    fn tempfile_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("warren-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
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
