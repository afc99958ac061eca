//! The rules, each a function from the sources to what breaks it. How much of that is allowed says `ceilings`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use crate::lexer::{Token, blank, tokens};
use crate::modules::Arrows;
use crate::workspace::{Crate, SourceFile, crates, documents, root};

/// What breaks a rule, a line each, by crate; `documents` stands for the texts outside of crates.
pub type Findings = BTreeMap<String, Vec<String>>;

/// A rule with a name, and with what is allowed of it in every crate.
pub struct Rule {
    /// Its name in `ceilings`.
    pub name: &'static str,
    /// How many findings a crate may have without an entry there.
    pub allowed: usize,
    /// Why the rule is there, and what to do.
    pub advice: &'static str,
    /// What breaks it.
    pub find: fn() -> Findings,
}

/// Columns of a line, comments and texts included; rustfmt sees to code.
const WIDTH_MAX: usize = 140;
/// Lines of a file.
const FILE_LEN_MAX: usize = 700;
/// Lines of a function, from its name to its last brace.
const FUNCTION_LEN_MAX: usize = 100;
/// Words that hide who acts. `docs/dev/glossary.md` says what to write.
const BANNED: &[&str] = &["somebody", "nobody", "whoever", "anybody"];

/// The modules of `broker` from the ground up: an arrow to a later one runs upward.
///
/// Values, users and their permissions first, then channels and events, the broker and its vhosts, what operators and clients
/// may do there, and sessions and connections last. Where a module is added, renamed or removed, this list changes with it: the
/// test names modules without a place. Then `make ceilings` lowers the figures of the rules `circle` and `upward`. At 5 files
/// and 19 arrows their lines go from `ceilings`, because that is allowed everywhere.
const BROKER: &[&str] = &[
    "certificate_login",
    "machine",
    "random",
    "throttle",
    "trace_points",
    "usage",
    "limits",
    "time",
    "reply_codes",
    "changed",
    "binding_request",
    "backend",
    "identity",
    "users",
    "lockout",
    "login_sessions",
    "long_turns",
    "auth_attempts",
    "statistics",
    "history",
    "permissions",
    "connections",
    "events",
    "recent_events",
    "queue_consumers",
    "reply_to",
    "subscriptions",
    "firehose",
    "options",
    "server_properties",
    "reject_connection",
    "alarms",
    "publish_properties",
    "vhosts",
    "watched",
    "broker",
    "stop",
    "durable_wakes",
    "login",
    "vhost",
    "federation",
    "emit",
    "queue_ends",
    "view",
    "sampling",
    "vhost_access",
    "selection",
    "recovery",
    "sharding",
    "front",
    "session",
    "serving",
    "control",
    "lib",
];

/// All rules.
pub const RULES: &[Rule] = &[
    Rule {
        name: "wide-lines",
        allowed: 0,
        advice: "break lines at 140 columns; rustfmt breaks code at 120",
        find: || by_file(|file| wide_lines(&file.text)),
    },
    Rule {
        name: "long-files",
        allowed: 0,
        advice: "a file has one concept and at most 700 lines",
        find: || by_file(|file| long_file(&file.text)),
    },
    Rule {
        name: "long-functions",
        allowed: 0,
        advice: "a function has at most 100 lines",
        find: || by_file(|file| long_functions(&file.text)),
    },
    Rule {
        name: "layout",
        allowed: 0,
        advice: "a module with children is `name/mod.rs`, not `name.rs` beside `name/`",
        find: || by_file(|file| beside_its_folder(&file.path)),
    },
    Rule {
        name: "module-docs",
        allowed: 0,
        advice: "a file begins with `//!` and says what it is for",
        find: || by_file(|file| without_docs(&file.text)),
    },
    Rule {
        name: "banned-words",
        allowed: 0,
        advice: "name who acts: the publisher, the caller, the operator (docs/dev/glossary.md)",
        find: banned_words,
    },
    Rule {
        name: "unused-dependencies",
        allowed: 0,
        advice: "take it out of Cargo.toml: no source names it",
        find: unused_dependencies,
    },
    Rule {
        name: "circle",
        allowed: 5,
        advice: "these files lead to each other by what they import: move what several need below them",
        find: || by_crate(|krate| Arrows::of(krate).largest_circle_with_arrows()),
    },
    Rule {
        name: "upward",
        allowed: 19,
        advice: "a module uses those before it in the list BROKER, in crates/tidy/src/rules.rs",
        find: || by_crate(|krate| if krate.name == "broker" { upward_of_broker(krate) } else { Vec::new() }),
    },
];

fn by_crate(find: impl Fn(&Crate) -> Vec<String>) -> Findings {
    crates().into_iter().map(|krate| (krate.name.clone(), find(&krate))).collect()
}

/// Of each file alone; what is found gets the file's name before it.
fn by_file(find: impl Fn(&SourceFile) -> Vec<String>) -> Findings {
    by_crate(|krate| krate.files.iter().flat_map(|file| placed(file, find(file))).collect())
}

fn placed(file: &SourceFile, found: Vec<String>) -> Vec<String> {
    found.into_iter().map(|what| format!("{}:{what}", file.path.display())).collect()
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

fn wide_lines(text: &str) -> Vec<String> {
    let wide =
        numbered(text).map(|(number, line)| (number, line.chars().count())).filter(|(_, width)| *width > WIDTH_MAX);
    wide.map(|(number, width)| format!("{number}: {width} columns")).collect()
}

fn long_file(text: &str) -> Vec<String> {
    let len = text.lines().count();
    if len > FILE_LEN_MAX { vec![format!("1: {len} lines")] } else { Vec::new() }
}

fn long_functions(text: &str) -> Vec<String> {
    let blanked = blank(text);
    let tokens = tokens(&blanked);
    let starts = (0..tokens.len()).filter(|at| tokens[*at].text == "fn");
    let long = starts.filter_map(|at| {
        let name = tokens.get(at + 1)?;
        let len = body_end(&tokens[at..])? - name.line + 1;
        (len > FUNCTION_LEN_MAX).then(|| format!("{}: {} has {len} lines", name.line, name.text))
    });
    long.collect()
}

/// The line of the brace that ends the function at the beginning; nothing if it has no body.
fn body_end(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_i32;
    for token in tokens {
        match token.text {
            ";" if depth == 0 => return None,
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return Some(token.line);
                }
            }
            _ => {}
        }
    }
    None
}

fn beside_its_folder(path: &Path) -> Vec<String> {
    if root().join(path.with_extension("")).is_dir() {
        vec!["1: it has a folder beside it".to_owned()]
    } else {
        Vec::new()
    }
}

fn without_docs(text: &str) -> Vec<String> {
    if text.starts_with("//!") { Vec::new() } else { vec!["1: no `//!`".to_owned()] }
}

fn banned_words() -> Findings {
    // The list itself, and the tests of it.
    let find =
        |file: &SourceFile| if file.path.ends_with("tidy/src/rules.rs") { Vec::new() } else { banned(&file.text) };
    let mut findings = by_file(find);
    let is_glossary = |file: &SourceFile| file.path.ends_with("glossary.md");
    let of_documents =
        documents().into_iter().filter(|file| !is_glossary(file)).flat_map(|file| placed(&file, banned(&file.text)));
    findings.insert("documents".to_owned(), of_documents.collect());
    findings
}

fn banned(text: &str) -> Vec<String> {
    let words = |line: &str| {
        line.split(|char: char| !char.is_alphanumeric() && char != '_').map(str::to_lowercase).collect::<Vec<_>>()
    };
    let found = numbered(text).flat_map(|(number, line)| words(line).into_iter().map(move |word| (number, word)));
    found
        .filter(|(_, word)| BANNED.contains(&word.as_str()))
        .map(|(number, word)| format!("{number}: {word}"))
        .collect()
}

fn upward_of_broker(krate: &Crate) -> Vec<String> {
    let (upward, homeless) = Arrows::of(krate).upward(BROKER);
    assert!(homeless.is_empty(), "modules of broker without a place in the list BROKER: {homeless:?}");
    upward
}

/// Packages whose library has another name.
const LIBRARIES: &[(&str, &str)] = &[("md-5", "md5"), ("rustls-webpki", "webpki")];

/// Dependencies that a crate declares and does not name in its sources, and those of the workspace that no crate declares.
fn unused_dependencies() -> Findings {
    let manifest = |folder: &Path| {
        std::fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("a crate has a manifest")
    };
    let mut declared_somewhere = Vec::new();
    let mut findings = by_crate(|krate| {
        let first = krate.files.first().expect("a crate has sources");
        let depth = if krate.name == "bench" { 1 } else { 2 };
        let folder: std::path::PathBuf = first.path.components().take(depth).collect();
        let words: HashSet<String> = krate.files.iter().flat_map(|file| words_of(&file.text)).collect();
        declared(&manifest(&folder))
            .into_iter()
            .filter(|name| *name != krate.name && !words.contains(&library(name)))
            .collect()
    });
    for krate in crates() {
        let folder = if krate.name == "bench" { "bench".into() } else { Path::new("crates").join(&krate.name) };
        declared_somewhere.extend(declared(&manifest(&folder)));
    }
    let of_workspace = declared(&manifest(Path::new(""))).into_iter().filter(|name| !declared_somewhere.contains(name));
    findings.insert("workspace".to_owned(), of_workspace.collect());
    findings
}

/// The names below the headings of dependencies.
fn declared(manifest: &str) -> Vec<String> {
    let mut is_listed = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_listed = line.trim_end().ends_with("dependencies]");
        } else if let Some((key, _)) = line.split_once('=').filter(|_| is_listed && !line.starts_with('#')) {
            let name = key.trim().split('.').next().unwrap_or_default();
            names.push(name.to_owned());
        }
    }
    names
}

fn words_of(text: &str) -> HashSet<String> {
    let blanked = blank(text);
    tokens(&blanked).into_iter().map(|token| token.text.to_owned()).collect()
}

/// The name by which sources know a package.
fn library(package: &str) -> String {
    LIBRARIES.iter().find(|(of, _)| *of == package).map_or(package, |(_, library)| library).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_finds_what_breaks_it() {
        assert_eq!(wide_lines(&format!("{}\n{}", "é".repeat(140), "x".repeat(141))), ["2: 141 columns"]);
        assert_eq!(long_file(&"\n".repeat(701)), ["1: 701 lines"]);
        assert!(long_file(&"\n".repeat(700)).is_empty());
        assert!(without_docs("//! What it is for.").is_empty());
        assert_eq!(without_docs("use a;\n//! Late.").len(), 1);
        assert_eq!(banned("// Nobody reads it; nobody_reads does.\n\"whoever\""), ["1: nobody", "2: whoever"]);
        assert_eq!(beside_its_folder(Path::new("crates/tidy/src.rs")).len(), 1);
        assert!(beside_its_folder(Path::new("crates/tidy/src/rules.rs")).is_empty());
    }

    #[test]
    fn functions_are_measured_to_their_last_brace() {
        let of_len =
            |len: usize| format!("trait T {{ fn none(); }}\nfn f(x: [u8; 2]) {{ \"}}\"\n{}}}", "x;\n".repeat(len - 2));
        assert!(long_functions(&of_len(100)).is_empty());
        assert_eq!(long_functions(&of_len(101)), ["2: f has 101 lines"]);
    }

    #[test]
    fn dependencies_are_read_from_manifests() {
        let dependencies = "[dependencies]\na.workspace = true\n# b = 1\nc-d = { version = \"1\" }\n[dev-dependencies]\nmd-5 = \"1\"\n";
        let manifest = &format!("[package]\nname = \"x\"\n{dependencies}[lints]\ne = 1\n");
        assert_eq!(declared(manifest), ["a", "c-d", "md-5"]);
        assert_eq!([library("c-d"), library("md-5")], ["c_d", "md5"]);
        assert!(words_of("use c_d::X;").contains("c_d"));
        assert!(!words_of("// c_d\nuse c_de::X;").contains("c_d"));
    }
}
