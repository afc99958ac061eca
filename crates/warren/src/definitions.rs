//! Definitions that every start imports (`load_definitions`): a file, or a directory of files, by name.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use broker::{Actor, Broker};
use definitions::{Definitions, DefinitionsError, Scope, Unsupported, parse};
use management::definitions::import;

/// Imports them, and waits until they last.
pub(crate) async fn load(broker: &Arc<Broker>, path: &str, unsupported: Unsupported) -> Result<()> {
    for file in files(Path::new(path))? {
        let named = || format!("cannot import the definitions {}", file.display());
        let text = fs::read(&file).with_context(named)?;
        let mut definitions = parse(&text, Scope::Broker).with_context(named)?;
        let imported = import(broker, &Actor::broker(), &mut definitions, Scope::Broker, unsupported);
        let imported = imported.map_err(|error| hinted(error, &definitions)).with_context(named)?;
        if !broker.until_durable(imported.position).await {
            return Err(anyhow!("data can no longer be made durable")).with_context(named);
        }
        for warning in &imported.warnings {
            tracing::warn!(file = %file.display(), %warning, "definitions imported with a remark");
        }
        for entry in &imported.left_out {
            tracing::warn!(file = %file.display(), %entry, "definitions imported without unsupported entries");
        }
        tracing::info!(file = %file.display(), "definitions imported");
    }
    if broker.users().is_empty() {
        tracing::warn!(
            "no user can log in: the definitions contain no users, and the default user is not created if definitions are \
             imported"
        );
    }
    Ok(())
}

/// A refusal, with the way on where there is one.
fn hinted(error: DefinitionsError, definitions: &Definitions) -> anyhow::Error {
    let error = anyhow::Error::from(error);
    match &*definitions.unsupported {
        [] => error,
        _ => error.context(
            "some entries are not supported; with management.load_definitions_skip_unsupported = true they are left out, and all \
             others are imported",
        ),
    }
}

/// The file; or all `*.json` of the directory, by name.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let named = || format!("cannot read load_definitions = {}", path.display());
    if !fs::metadata(path).with_context(named)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).with_context(named)? {
        let file = entry.with_context(named)?.path();
        if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_its_json_files_by_name() {
        let dir = std::env::temp_dir().join(format!("warren-definitions-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        for name in ["2.json", "1.JSON", "readme.txt"] {
            fs::write(dir.join(name), "{}").unwrap();
        }
        let found = files(&dir);
        let single = files(&dir.join("readme.txt"));
        let missing = files(&dir.join("nosuch")).unwrap_err().to_string();
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found.unwrap(), [dir.join("1.JSON"), dir.join("2.json")]);
        assert_eq!(single.unwrap(), [dir.join("readme.txt")]);
        assert!(missing.starts_with("cannot read load_definitions = "), "{missing}");
    }
}
