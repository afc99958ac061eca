//! From a protocol's description to Rust. The description's form is explained at its top.
//!
//! The output is one file for each class, one for the `Method` enum and one for the properties, formatted as `rustfmt`
//! would have it.

pub(crate) mod description;
mod emit;

use description::Protocol;

/// The generated files: name and text.
pub(crate) fn generate(protocol: &str) -> Result<Vec<(String, String)>, String> {
    let protocol = Protocol::parse(protocol)?;
    let mut files = vec![("mod.rs".to_owned(), emit::root(&protocol))];
    files.push(("method.rs".to_owned(), emit::method_enum(&protocol)));
    for class in &protocol.classes {
        files.push((format!("{}.rs", class.name), emit::class(class)));
        if !class.properties.is_empty() {
            files.push(("properties.rs".to_owned(), emit::properties(class)));
        }
    }
    Ok(files)
}
