//! Arrows between the files of one crate: a file that names something of another one has an arrow to it.
//!
//! A name is followed through re-exports and imports to the file that defines it, so a `mod.rs` that only lists its children is in
//! no circle. Read are imports, re-exports (`pub use`) and paths that begin with `crate`, `self` or `super`. Not arrows: declarations
//! (`mod child;`), an import of a module by name, what a parent calls of its children by their name, and tests. Methods are not seen:
//! what a file calls on a value that it was given needs no name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path};

use crate::lexer::{Token, blank, tokens, without_tests};
use crate::workspace::Crate;

/// A path below the crate: `["session", "frames"]`.
type ModulePath = Vec<String>;

/// The arrows between files, each file named by its module.
#[derive(Debug, Default)]
pub struct Arrows {
    /// Files, by module. The crate's root is the empty path.
    files: Vec<ModulePath>,
    /// From and to, by position in `files`.
    arrows: BTreeSet<(usize, usize)>,
}

/// What one file has, declares and names.
#[derive(Debug, Default)]
struct File {
    module: ModulePath,
    items: HashSet<String>,
    imports: HashMap<String, ModulePath>,
    globs: Vec<ModulePath>,
    named: Vec<ModulePath>,
    test_modules: Vec<ModulePath>,
}

/// A leaf of a `use`: the path as written, and the name it is known by here, `*` for all.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    path: Vec<String>,
    name: String,
}

impl Arrows {
    /// Of a crate's sources, tests and examples left out.
    pub fn of(krate: &Crate) -> Self {
        let texts = krate.files.iter().filter_map(|file| Some((module_of(&file.path)?, file.text.as_str())));
        Self::of_texts(texts.collect())
    }

    /// Of texts by their modules.
    fn of_texts(texts: BTreeMap<ModulePath, &str>) -> Self {
        let modules: HashSet<ModulePath> = texts.keys().cloned().collect();
        let mut files: Vec<File> = texts.into_iter().map(|(module, text)| read(module, text, &modules)).collect();
        let of_tests: HashSet<ModulePath> = files.iter().flat_map(|file| file.test_modules.clone()).collect();
        files.retain(|file| !(1..=file.module.len()).any(|len| of_tests.contains(&file.module[..len])));

        let positions = files.iter().enumerate().map(|(position, file)| (file.module.clone(), position)).collect();
        let names = Names { files: &files, positions };
        let mut arrows = BTreeSet::new();
        for (from, file) in files.iter().enumerate() {
            arrows.extend(
                file.named.iter().filter_map(|path| names.resolve(path)).filter(|to| *to != from).map(|to| (from, to)),
            );
        }
        Self { files: files.into_iter().map(|file| file.module).collect(), arrows }
    }

    /// The largest set of files of which each leads to each other; empty if no two do.
    pub fn largest_circle(&self) -> Vec<String> {
        let forwards = self.reachable(|(from, to)| (from, to));
        let backwards = self.reachable(|(from, to)| (to, from));
        let circles = (0..self.files.len())
            .map(|file| forwards[file].intersection(&backwards[file]).copied().collect::<BTreeSet<_>>());
        let largest = circles.filter(|circle| circle.len() > 1).max_by_key(BTreeSet::len).unwrap_or_default();
        largest.into_iter().map(|file| self.name(file)).collect()
    }

    /// The largest circle, each of its files with those of it that it leads to: where to cut.
    pub fn largest_circle_with_arrows(&self) -> Vec<String> {
        let circle = self.largest_circle();
        let within = |from: &String| {
            let to = self.all().into_iter().filter(|(start, end)| start == from && circle.contains(end));
            to.map(|(_, end)| end).collect::<Vec<_>>().join(", ")
        };
        circle.iter().map(|file| format!("{file} -> {}", within(file))).collect()
    }

    /// For each file those that it leads to, itself included.
    fn reachable(&self, direction: impl Fn((usize, usize)) -> (usize, usize)) -> Vec<BTreeSet<usize>> {
        let mut next = vec![Vec::new(); self.files.len()];
        for arrow in &self.arrows {
            let (from, to) = direction(*arrow);
            next[from].push(to);
        }
        let reach = |start: usize| {
            let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
            while let Some(file) = open.pop() {
                open.extend(next[file].iter().copied().filter(|to| seen.insert(*to)));
            }
            seen
        };
        (0..self.files.len()).map(reach).collect()
    }

    /// Arrows that lead from a module to one that stands later in `order`, as `from -> to`; and top modules that have no place in it.
    pub fn upward(&self, order: &[&str]) -> (Vec<String>, Vec<String>) {
        let top = |file: usize| self.files[file].first().map_or("lib", String::as_str);
        let place = |file: usize| order.iter().position(|module| *module == top(file));
        let homeless: BTreeSet<_> =
            (0..self.files.len()).filter(|file| place(*file).is_none()).map(|file| top(file).to_owned()).collect();
        let upward = self.arrows.iter().filter(|(from, to)| place(*from) < place(*to));
        (
            upward.map(|(from, to)| format!("{} -> {}", self.name(*from), self.name(*to))).collect(),
            homeless.into_iter().collect(),
        )
    }

    /// All arrows, as `from -> to`.
    pub fn all(&self) -> Vec<(String, String)> {
        self.arrows.iter().map(|(from, to)| (self.name(*from), self.name(*to))).collect()
    }

    fn name(&self, file: usize) -> String {
        if self.files[file].is_empty() { "lib".to_owned() } else { self.files[file].join("::") }
    }
}

/// The module of a file below a crate's `src`, tests left out.
fn module_of(path: &Path) -> Option<ModulePath> {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| if let Component::Normal(name) = part { name.to_str() } else { None })
        .collect();
    let below = parts.iter().position(|part| *part == "src")?;
    let mut module: ModulePath =
        parts[below + 1..].iter().map(|part| part.trim_end_matches(".rs").to_owned()).collect();
    if module.iter().any(|part| part == "tests") {
        return None;
    }
    match module.last()?.as_str() {
        "mod" => drop(module.pop()),
        "lib" | "main" if module.len() == 1 => module.clear(),
        _ => {}
    }
    Some(module)
}

fn read(module: ModulePath, text: &str, modules: &HashSet<ModulePath>) -> File {
    let blanked = blank(text);
    let (tokens, test_modules) = without_tests(&tokens(&blanked));
    let child = |name: &str| [module.clone(), vec![name.to_owned()]].concat();
    let test_modules = test_modules.into_iter().map(child).collect();
    let mut file = File { test_modules, module, ..File::default() };

    let mut at = 0;
    while at < tokens.len() {
        let is_start = at == 0 || tokens[at - 1].text != "::";
        match tokens[at].text {
            "use" => at = read_use(&mut file, &tokens, at, modules),
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" | "mod" => {
                file.items.extend(tokens.get(at + 1).map(|token| token.text.to_owned()));
                at += 1;
            }
            "crate" | "self" | "super" if is_start && tokens.get(at + 1).is_some_and(|next| next.text == "::") => {
                let path = path_at(&tokens[at..]);
                at += 2 * path.len() - 1;
                file.named.extend(absolute(&file.module, &path, modules));
            }
            _ => at += 1,
        }
    }
    file
}

/// Takes in a `use` whose word is at `at`; where it ends.
fn read_use(file: &mut File, tokens: &[Token<'_>], at: usize, modules: &HashSet<ModulePath>) -> usize {
    let mut imports = Vec::new();
    let end = read_tree(tokens, at + 1, &[], &mut imports);
    for Import { path, name } in imports {
        let Some(path) = absolute(&file.module, &path, modules) else { continue };
        if !modules.contains(&path) {
            file.named.push(path.clone());
        }
        match name.as_str() {
            "*" => file.globs.push(path),
            _ => drop(file.imports.insert(name, path)),
        }
    }
    end
}

/// A tree of imports: `a::{b, c::d as e, f::*}`.
fn read_tree(tokens: &[Token<'_>], mut at: usize, above: &[String], imports: &mut Vec<Import>) -> usize {
    let mut path = above.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = read_tree(tokens, at, &path, imports);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.text == ","));
                }
                return at + 1;
            }
            "*" => {
                imports.push(Import { path, name: "*".to_owned() });
                return at + 1;
            }
            word if is_word(word) && word != "as" => {
                path.push(word.to_owned());
                at += 1;
            }
            _ => break,
        }
    }
    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
        path.pop();
    }
    let Some(mut name) = path.last().cloned() else { return at };
    if tokens.get(at).is_some_and(|token| token.text == "as") {
        name = tokens.get(at + 1).map_or(name, |token| token.text.to_owned());
        at += 2;
    }
    imports.push(Import { path, name });
    at
}

/// `a::b::c` at the beginning.
fn path_at(tokens: &[Token<'_>]) -> Vec<String> {
    let mut path = vec![tokens[0].text.to_owned()];
    for pair in tokens[1..].chunks(2) {
        match pair {
            [colons, word] if colons.text == "::" && is_word(word.text) => path.push(word.text.to_owned()),
            _ => break,
        }
    }
    path
}

/// The path below the crate that `path` names in `module`; nothing if it leads to another crate.
fn absolute(module: &[String], path: &[String], modules: &HashSet<ModulePath>) -> Option<ModulePath> {
    let (mut base, mut rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (module.to_vec(), &path[1..]),
        "super" => (module.to_vec(), path),
        first => {
            let child = [module, &[first.to_owned()]].concat();
            return modules.contains(&child).then(|| [module, path].concat());
        }
    };
    while rest.first().is_some_and(|first| first == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

fn is_word(text: &str) -> bool {
    text.starts_with(|char: char| char.is_alphabetic() || char == '_')
}

/// Which file defines what.
struct Names<'a> {
    files: &'a [File],
    positions: HashMap<ModulePath, usize>,
}

/// Longer chains of re-exports are circles.
const CHAIN_LEN_MAX: usize = 8;

impl Names<'_> {
    /// The file that defines what the path names.
    fn resolve(&self, path: &[String]) -> Option<usize> {
        let (file, rest) = self.module(path)?;
        let Some(name) = rest.first() else { return Some(file) };
        // What no file says that it has is made by a macro, where it is asked for.
        self.definer(file, name, CHAIN_LEN_MAX).or(Some(file))
    }

    /// The longest beginning of the path that is a file, and what is left.
    fn module<'p>(&self, path: &'p [String]) -> Option<(usize, &'p [String])> {
        (0..=path.len()).rev().find_map(|len| Some((*self.positions.get(&path[..len])?, &path[len..])))
    }

    fn definer(&self, file: usize, name: &str, chain_len: usize) -> Option<usize> {
        let of = &self.files[file];
        if of.items.contains(name) || chain_len == 0 {
            return Some(file);
        }
        if let Some(path) = of.imports.get(name) {
            let (next, rest) = self.module(path)?;
            return rest.first().map_or(Some(next), |name| self.definer(next, name, chain_len - 1));
        }
        let found = of.globs.iter().filter_map(|path| self.module(path)).find(|(next, rest)| {
            rest.is_empty() && *next != file && self.definer(*next, name, chain_len - 1).is_some()
        });
        found.and_then(|(next, _)| self.definer(next, name, chain_len - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_the_file_that_defines_them() {
        let lib = "mod shop; mod b; pub use shop::Door;";
        let files = [
            ("", lib),
            ("shop", "mod door; pub use door::Door; pub(crate) struct Till;"),
            ("shop::door", "pub struct Door;"),
        ];
        check_arrows(&files, "b", "use crate::shop::Door;", &["shop::door"]);
        check_arrows(&files, "b", "use crate::Door as Gate;", &["shop::door"]);
        check_arrows(&files, "b", "use crate::{shop::{Till, Door}, shop};", &["shop", "shop::door"]);
        check_arrows(&files, "b", "fn f() { crate::shop::Till }", &["shop"]);
        check_arrows(&files, "b", "use crate::shop; fn f() { shop::Door::open() }", &[]);
        check_arrows(&files, "b", "fn f() { super::shop::Door::open() }", &["shop::door"]);
        check_arrows(&files, "b", "use super::shop::*;", &[]);
        check_arrows(&files, "b", "use super::shop::*; use std::fmt; fn f() -> fmt::Result {}", &[]);
        check_arrows(&files, "b", "//! [`crate::shop::Door`]\nconst A: &str = \"crate::shop::Door\";", &[]);
        check_arrows(&files, "b", "#[cfg(test)] mod tests { use crate::shop::Door; }", &[]);
    }

    #[track_caller]
    fn check_arrows(files: &[(&str, &str)], module: &str, text: &str, expected: &[&str]) {
        let arrows = draw(&[files, &[(module, text)]].concat());
        let found: Vec<_> = arrows.all().into_iter().filter(|(from, _)| from == module).map(|(_, to)| to).collect();
        assert_eq!(found, expected, "{text}");
    }

    fn draw(files: &[(&str, &str)]) -> Arrows {
        let module = |name: &str| name.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Arrows::of_texts(files.iter().map(|(name, text)| (module(name), *text)).collect())
    }

    #[test]
    fn circles_are_found_and_lists_of_children_are_none() {
        let listed = [
            ("", "mod a; mod b;"),
            ("a", "mod c; pub use c::C; pub use crate::b::B;"),
            ("a::c", "use super::B; struct C;"),
        ];
        let straight = [("b", "struct B;")];
        assert!(draw(&[&listed[..], &straight].concat()).largest_circle().is_empty());
        let back = [("b", "use crate::a::C; struct B;")];
        let closed = draw(&[&listed[..], &back].concat());
        assert_eq!(closed.largest_circle(), ["a::c", "b"]);
        assert_eq!(closed.largest_circle_with_arrows(), ["a::c -> b", "b -> a::c"]);
    }

    #[test]
    fn arrows_to_what_comes_later_run_upward() {
        let arrows =
            draw(&[("", "mod a; mod b;"), ("a", "use crate::b::B; struct A;"), ("b", "use crate::a::A; struct B;")]);
        assert_eq!(arrows.upward(&["lib", "a", "b"]), (vec!["a -> b".to_owned()], vec![]));
        assert_eq!(arrows.upward(&["lib", "b"]).1, ["a"]);
    }
}
