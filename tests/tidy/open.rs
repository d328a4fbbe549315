//! Where a rule of the house is not yet kept: `tests/tidy/open.txt`, a list that may only shrink.
//!
//! Each line says rule, place and how many faults the place has. More faults than listed are an
//! error, and so are fewer: then the list is to be shortened, which
//! `SSDTUNE_TIDY_WRITE=1 cargo test -p ssdtune-tests --test tidy` does. A rule without lines is in
//! force everywhere.

use crate::source::root;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

/// One breach of a rule.
pub struct Fault {
    place: String,
    text: String,
}

impl Fault {
    /// A breach in a file or crate, and what to tell about it.
    pub fn at(place: &str, text: String) -> Self {
        Self { place: place.to_owned(), text }
    }
}

/// Faults by rule and place.
type List = BTreeMap<(String, String), usize>;

/// Held while the list is read and written: tests run side by side.
static LIST: Mutex<()> = Mutex::new(());

/// Compares the faults found with those that are listed.
///
/// # Panics
/// They are not the same.
pub fn hold(rule: &str, faults: Vec<Fault>) {
    let _guard = LIST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for fault in faults {
        found.entry(fault.place).or_default().push(fault.text);
    }
    let list = read();
    let listed = |place: &str| list.get(&(rule.to_owned(), place.to_owned())).copied().unwrap_or(0);
    if let Some(how) = std::env::var_os("SSDTUNE_TIDY_WRITE") {
        return rewrite(rule, list, &found, how == "grow");
    }
    let mut said = String::new();
    for (place, texts) in &found {
        if texts.len() > listed(place) {
            let text = texts.join("\n    ");
            let _ =
                writeln!(said, "{place}: {}, listed {}\n    {text}", texts.len(), listed(place));
        }
    }
    for ((_, place), &count) in list.iter().filter(|((of, _), _)| of == rule) {
        let now = found.get(place).map_or(0, Vec::len);
        if now < count {
            let _ = writeln!(
                said,
                "{place}: {now}, listed {count}; shorten tests/tidy/open.txt: \
                 SSDTUNE_TIDY_WRITE=1 cargo test -p ssdtune-tests --test tidy"
            );
        }
    }
    assert!(said.is_empty(), "rule `{rule}`:\n{said}");
}

/// Puts the faults found in the place of those listed, if there are no more of them in sum: a file
/// with faults may be renamed. `SSDTUNE_TIDY_WRITE=grow` takes more as well.
fn rewrite(rule: &str, mut list: List, found: &BTreeMap<String, Vec<String>>, may_grow: bool) {
    let was: usize = list.iter().filter(|((of, _), _)| of == rule).map(|(_, count)| count).sum();
    let new: usize = found.values().map(Vec::len).sum();
    let said: Vec<String> = found.values().flatten().cloned().collect();
    assert!(may_grow || new <= was, "rule `{rule}`: {new}, listed {was}\n{}", said.join("\n"));
    list.retain(|(of, _), _| of != rule);
    for (place, texts) in found {
        list.insert((rule.to_owned(), place.clone()), texts.len());
    }
    let line =
        |((rule, place), count): (&(String, String), &usize)| format!("{rule} {place} {count}\n");
    fs::write(path(), list.iter().map(line).collect::<String>()).expect("the list is writable");
}

fn path() -> PathBuf {
    root().join("tests/tidy/open.txt")
}

fn read() -> List {
    let text = fs::read_to_string(path()).unwrap_or_default();
    let entry = |line: &str| -> ((String, String), usize) {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_else(|| panic!("open.txt: {line}"));
        let key = (word().to_owned(), word().to_owned());
        (key, word().parse().unwrap_or_else(|error| panic!("open.txt: {line}: {error}")))
    };
    let mut list = List::new();
    for (key, count) in text.lines().map(entry) {
        // Merging two shortened lists leaves both lines of a place.
        let most = list.entry(key).or_default();
        *most = count.max(*most);
    }
    list
}
