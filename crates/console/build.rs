//! Puts the console's files into the binary, each also compressed: those of `web/console`, and those that `make web` has fetched.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Folders, as they are named in addresses.
const FOLDERS: [&str; 5] = ["console", "console/pages", "console/parts", "console/style", "console/trace"];
const FETCHED: &str = "vendor/modules";

fn main() {
    let web =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is")).join("../../web");
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write to"));
    println!("cargo::rerun-if-changed=build.rs");
    // The folder of what is fetched is always there, and is watched as a whole: watching a folder that is not there would run this at each
    // build.
    for folder in ["console", "vendor"].map(|folder| web.join(folder)).iter().filter(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    let mut files = BTreeMap::new();
    for folder in FOLDERS.iter().chain([&FETCHED]) {
        read_folder(&web, folder, &mut files);
    }
    let mut source = String::from("static ASSETS: &[(&str, Asset)] = &[\n");
    for (index, (path, bytes)) in files.iter().enumerate() {
        let (plain, gzip) = (format!("{index}.plain"), format!("{index}.gz"));
        fs::write(output.join(&plain), bytes).expect("the output folder is cargo's own");
        fs::write(output.join(&gzip), compressed(bytes)).expect("the output folder is cargo's own");
        let (content_type, etag) = (content_type(path), format!("\"{:016x}\"", hash_of(bytes)));
        writeln!(
            source,
            "({path:?}, Asset {{ content_type: {content_type:?}, etag: {etag:?}, plain: include_bytes!(concat!(env!(\"OUT_DIR\"), \
             \"/{plain}\")), gzip: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{gzip}\")) }}),"
        )
        .expect("text can be appended to text");
    }
    let version = format!("{:016x}", hash_of(&files));
    writeln!(source, "];\n/// Another one for each build with other files.\npub const VERSION: &str = {version:?};")
        .expect("text can be appended to text");
    fs::write(output.join("assets.rs"), source).expect("the output folder is cargo's own");
}

/// Those of one folder, not of folders within it.
fn read_folder(web: &Path, folder: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(web.join(folder)) else { return };
    for entry in entries.flatten().filter(|entry| entry.path().is_file()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Descriptions of types are for those who work on the console.
        if let Ok(bytes) = fs::read(entry.path())
            && !name.ends_with(".d.ts")
        {
            files.insert(format!("{folder}/{name}"), bytes);
        }
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("html") => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory cannot fail")
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
