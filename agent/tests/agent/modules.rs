//! # Modules import one way

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The source of each module of the library by its path, as in `traffic::sink`; that of the crate is empty.
type Sources = BTreeMap<String, String>;

#[test]
fn no_module_imports_itself_by_way_of_others() {
    let sources = sources();
    assert!(sources.contains_key("api::registry"), "{sources:?}");
    let imports: BTreeMap<_, _> = sources
        .iter()
        .map(|(module, source)| (module.as_str(), imports(&sources, module, source)))
        .collect();
    assert!(imports["api::registry"].contains("traffic::sink"));
    for module in sources.keys() {
        if let Some(circle) = circle(&imports, module) {
            panic!("these import one another: {}", circle.join(" > "));
        }
    }
}

#[test]
fn paths_are_found_however_they_are_written() {
    let sources: Sources = ["", "a", "a::b", "a::c", "d"]
        .map(|module| (module.to_owned(), String::new()))
        .into();
    for (module, source, expected) in [
        (
            "d",
            "use crate::a::{\n    self, b::{X, Y},\n    c,\n};",
            &["a", "a::b", "a::c"][..],
        ),
        ("a::b", "use super::c::Z as W;", &["a::c"]),
        (
            "a::b",
            "fn f() { super::c::run(crate::d::NOW) }",
            &["a::c", "d"],
        ),
        (
            "a",
            "mod b;\nuse self::b::X;\nfn f() { b::run() }",
            &["a::b"],
        ),
        ("a", "pub use b::X;", &["a::b"]),
        (
            "d",
            "// use crate::a;\n#[cfg(test)]\nmod tests { use crate::a; }",
            &[],
        ),
        ("a::b", "use super::X;", &["a"]),
    ] {
        let found = imports(&sources, module, source);
        assert_eq!(Vec::from_iter(found), expected, "{source}");
    }
}

/// All but modules of tests.
fn sources() -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Sources::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let relative = path.strip_prefix(&root).unwrap().with_extension("");
            let mut parts: Vec<_> = relative.iter().map(|part| part.to_str().unwrap()).collect();
            if parts == ["main"] || parts.iter().any(|part| part.starts_with("test")) {
                continue;
            }
            if ["mod", "lib"].contains(parts.last().unwrap()) {
                parts.pop();
            }
            sources.insert(parts.join("::"), fs::read_to_string(&path).unwrap());
        }
    }
    sources
}

/// The modules that `module` names, by `use` or in its code.
fn imports(sources: &Sources, module: &str, source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut paths = Vec::new();
    // The `use` that is not whole yet.
    let mut tree = String::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap();
        if tree.is_empty() && !is_use(line) {
            let words =
                line.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
            paths.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
            continue;
        }
        tree.push_str(line);
        if let Some(whole) = tree.trim_end().strip_suffix(';') {
            let (_, whole) = whole.split_once("use ").unwrap();
            list(whole, "", &mut paths);
            tree.clear();
        }
    }
    let found = paths
        .iter()
        .filter_map(|path| resolve(sources, module, path));
    found.filter(|found| found != module).collect()
}

fn is_use(line: &str) -> bool {
    let line = line.trim_start();
    let is_visible = line.starts_with("pub") && line.contains(" use ");
    line.starts_with("use ") || is_visible
}

/// Lists the paths of the tree of a `use`.
fn list(tree: &str, before: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((stem, branches)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap();
        paths.push(format!("{before}{path}"));
        return;
    };
    let before = format!("{before}{}", stem.trim());
    let (mut depth, mut start) = (0, 0);
    let branches = branches.strip_suffix('}').unwrap();
    for (at, letter) in branches.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                list(&branches[start..at], &before, paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !branches[start..].trim().is_empty() {
        list(&branches[start..], &before, paths);
    }
}

/// The module that a path leads into; None where that is none of ours.
fn resolve(sources: &Sources, module: &str, path: &str) -> Option<String> {
    let mut at: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts = path.split("::").peekable();
    match *parts.peek()? {
        "crate" => at.clear(),
        "self" | "super" => {}
        child => {
            let named = [&at[..], &[child]].concat().join("::");
            sources.get(&named)?;
        }
    }
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(at.pop()?),
            part => {
                at.push(part);
                if !sources.contains_key(&at.join("::")) {
                    at.pop();
                    break;
                }
            }
        }
    }
    Some(at.join("::"))
}

/// A way from `start` back to itself.
fn circle(imports: &BTreeMap<&str, BTreeSet<String>>, start: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in imports
            .get(way.last().unwrap().as_str())
            .into_iter()
            .flatten()
        {
            let longer = [&way[..], std::slice::from_ref(next)].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                ways.push(longer);
            }
        }
    }
    None
}
