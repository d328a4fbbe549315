//! The Rust files of the project: which there are, and their text as tokens.

use proc_macro2::TokenStream;
use std::fs;
use std::path::Path;

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the repository")
}

/// One Rust file.
pub struct Source {
    /// Its path below the root of the repository, with `/` between names.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// The file's tokens, which know their lines.
    pub fn tokens(&self) -> TokenStream {
        self.text.parse().unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }
}

/// Every Rust file of the project, in the order of the paths; what builds and fuzzers leave is left
/// out.
pub fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for part in ["crates", "benches", "tests"] {
        walk(part, &mut sources);
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

/// The names of the crates under `crates`, in order.
pub fn crates() -> Vec<String> {
    let mut names = names(&root().join("crates"));
    names.retain(|name| root().join("crates").join(name).join("Cargo.toml").is_file());
    names
}

/// The crate that is a module of Python: its users, its documentation and its tests are there.
pub const EXTENSION: &str = "python";

/// Whether a crate has a library that other crates can use.
pub fn is_library(name: &str) -> bool {
    name != EXTENSION && root_file(name) == "lib.rs"
}

/// The file below `src` that a crate begins with.
pub fn root_file(name: &str) -> &'static str {
    let library = root().join("crates").join(name).join("src/lib.rs").is_file();
    if library { "lib.rs" } else { "main.rs" }
}

/// The Rust files below a directory.
fn walk(directory: &str, into: &mut Vec<Source>) {
    for name in names(&root().join(directory)) {
        let path = format!("{directory}/{name}");
        let whole = root().join(&path);
        if whole.is_dir() {
            if name != "target" && !path.ends_with("fuzz/corpus") {
                walk(&path, into);
            }
        } else if path.ends_with(".rs") {
            let text = fs::read_to_string(&whole).unwrap_or_else(|error| panic!("{path}: {error}"));
            into.push(Source { path, text });
        }
    }
}

/// The names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory of the repository");
    let names =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
