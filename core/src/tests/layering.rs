//! Layers call down only: a module of the core uses nothing that comes after it in `lib.rs`.
//!
//! Read from the sources, so that a slip is named with file and line. Paths written with `super`
//! count as well; comments do not.

use std::fs;
use std::path::{Path, PathBuf};

/// The order of `lib.rs`: the way of the data, after what all stages share.
const ORDER: [&str; 21] = [
    "error",
    "cursor",
    "wire_enum",
    "capture",
    "packet",
    "stream",
    "rdma",
    "rpc",
    "nfs",
    "names",
    "roles",
    "table",
    "witness",
    "conversation",
    "foresight",
    "order",
    "decode",
    "redact",
    "annotate",
    "walk",
    "intervals",
];

/// Top modules that one line of a file names. `depth` is how many modules down the file stands:
/// that many times `super` lead to the crate's root.
fn named(line: &str, depth: usize) -> Vec<&str> {
    let code = line.split("//").next().unwrap_or_default();
    let from_root = code.match_indices("crate::").map(|(at, word)| &code[at + word.len()..]);
    let climb = "super::".repeat(depth);
    let climbed = code.match_indices(climb.as_str()).filter_map(|(at, word)| {
        let begins = !code[..at].ends_with("super::");
        begins.then_some(&code[at + word.len()..])
    });
    from_root
        .chain(climbed)
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
        .collect()
}

/// Modules between a source file and the crate's root: `names/mod.rs` is 1 below, `names/paths.rs` 2.
fn depth(file: &Path) -> usize {
    let folders = file.components().count() - 1;
    folders + usize::from(!file.ends_with("mod.rs"))
}

/// What a file of the top module `module` uses though it comes later; with the lines' numbers.
fn climbs(module: &str, file: &Path, text: &str) -> Vec<String> {
    let rank = |name: &str| ORDER.iter().position(|module| *module == name);
    let own = rank(module);
    let numbered = text.lines().enumerate();
    numbered
        .flat_map(|(line, code)| named(code, depth(file)).into_iter().map(move |name| (line + 1, name)))
        .filter(|(_, name)| rank(name) > own)
        .map(|(line, name)| format!("{}:{line} uses {name}", file.display()))
        .collect()
}

/// All but the tests of the crate as a whole, which use what they like.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("an entry can be read").path();
            if path == root.join("tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("sources are text");
                found.push((path.strip_prefix(&root).expect("below src").to_owned(), text));
            }
        }
    }
    found
}

/// `names/paths.rs` and `names.rs` belong to `names`.
fn top_module(file: &Path) -> String {
    let first = file.iter().next().expect("a file has a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

#[test]
fn lib_declares_the_pipeline_in_its_order() {
    let sources = sources();
    let (_, lib) = sources.iter().find(|(file, _)| file.ends_with("lib.rs")).expect("lib.rs is there");
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .filter(|module| *module != "tests")
        .collect();
    assert_eq!(declared, ORDER);
}

#[test]
fn no_module_uses_one_that_comes_after_it() {
    let sources = sources();
    assert!(sources.len() > ORDER.len(), "only {} sources were found", sources.len());
    let slips: Vec<String> = sources
        .iter()
        .filter(|(file, _)| !file.ends_with("lib.rs"))
        .flat_map(|(file, text)| climbs(&top_module(file), file, text))
        .collect();
    assert!(slips.is_empty(), "{slips:#?}");
}

/// Otherwise a use could hide from the test above.
#[test]
fn uses_name_one_top_module_a_line_and_every_file_belongs_to_one() {
    for (file, text) in sources() {
        assert!(!text.contains("crate::{"), "{}: one use per top module", file.display());
        let module = top_module(&file);
        assert!(module == "lib" || ORDER.contains(&module.as_str()), "{} is in no layer", file.display());
    }
}

#[test]
fn a_slip_is_found() {
    let file = Path::new("rpc/message.rs");
    let text =
        "use crate::cursor::Cursor;\nuse crate::table::Tables; // crate::decode\n//! [`crate::decode`]\n";
    assert_eq!(climbs("rpc", file, text), ["rpc/message.rs:2 uses table"]);
    assert_eq!(
        climbs("rpc", file, "let name = super::super::names::paths::text(bytes);"),
        ["rpc/message.rs:1 uses names"]
    );
    assert_eq!(climbs("rpc", Path::new("rpc/mod.rs"), "use super::nfs::Walk;"), ["rpc/mod.rs:1 uses nfs"]);
    assert_eq!(climbs("rpc", file, "use super::record::Record;"), Vec::<String>::new());
    assert_eq!(climbs("cursor", Path::new("cursor.rs"), "crate::rpc"), ["cursor.rs:1 uses rpc"]);
}
