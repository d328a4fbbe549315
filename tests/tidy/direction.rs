//! In which direction the modules of a crate use each other: never in a circle.
//!
//! A module and all below it are one thing told in several files: parents and children may name
//! each other, and two modules beside each other are in a circle also if it is their children that
//! use each other.

use crate::hold;
use crate::modules::{Crate, Id, Target};
use crate::source::{crates, root, root_file};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// For each module, here named by its file, those beside it that it uses, and how.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[test]
fn modules_use_each_other_in_one_direction() {
    let mut faults = Vec::new();
    for name in crates() {
        for uses in uses(&read(&name)).values() {
            for circle in circles(uses) {
                let faulty = circle.iter().map(|file| describe(file, &circle, uses));
                faults.extend(faulty);
            }
        }
    }
    hold("circles", faults);
}

#[test]
fn no_command_uses_another() {
    let faults = strangers(&read("ssdtune"))
        .into_iter()
        .map(|(from, to)| format!("{from} uses {to}"))
        .collect();
    hold("commands", faults);
}

/// The modules of a crate of the workspace.
pub fn read(name: &str) -> Crate {
    let file = root_file(name);
    let text = |path: &str| fs::read_to_string(root().join(path)).ok();
    Crate::read(&format!("crates/{name}/src/{file}"), &text)
}

/// Which modules of its circle a module uses, and how.
fn describe(file: &str, circle: &BTreeSet<String>, uses: &Uses) -> String {
    let others = uses[file].iter().filter(|(other, _)| circle.contains(*other));
    let how =
        |names: &BTreeSet<String>| Vec::from_iter(names.iter().map(String::as_str)).join(", ");
    let others: Vec<String> =
        others.map(|(other, names)| format!("{other} ({})", how(names))).collect();
    format!("{file} uses {}", others.join(" and "))
}

/// For every parent, what the modules right below it use of each other.
fn uses(whole: &Crate) -> BTreeMap<Id, Uses> {
    let mut levels: BTreeMap<Id, Uses> = BTreeMap::new();
    for (from, to, name) in edges(whole) {
        let (user, used) = (whole.way_to(from), whole.way_to(to));
        let shared = user.iter().zip(&used).take_while(|(one, other)| one == other).count();
        let (Some(&one), Some(&other)) = (user.get(shared), used.get(shared)) else { continue };
        let file = |id: Id| whole.modules[id].file.clone();
        if file(one) != file(other) {
            let uses = levels.entry(user[shared - 1]).or_default();
            let how = match (one == from, other == to) {
                (true, true) => name,
                _ => format!("{} uses {name} of {}", file(from), file(to)),
            };
            uses.entry(file(one)).or_default().entry(file(other)).or_default().insert(how);
        }
    }
    levels
}

/// Every use of a module's item by another: user, used, name.
fn edges(whole: &Crate) -> Vec<(Id, Id, String)> {
    let mut edges = Vec::new();
    for (from, module) in whole.modules.iter().enumerate() {
        for path in &module.mentions {
            if let Some(Target::Item(to)) = whole.resolve(from, path) {
                edges.push((from, to, path.last().cloned().unwrap_or_default()));
            }
        }
    }
    edges
}

/// The sets of modules of which each reaches every other.
fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached = |from: &str| {
        let mut reached: BTreeSet<String> = BTreeSet::new();
        let mut open = vec![from.to_owned()];
        while let Some(file) = open.pop() {
            for other in uses.get(&file).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        uses.keys().map(|file| (file, reached(file))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (&file, there) in reached.iter().filter(|(file, there)| there.contains(**file)) {
        let back = |other: &&String| reached.get(other).is_some_and(|there| there.contains(file));
        circles.insert(there.iter().filter(back).cloned().collect());
    }
    circles.into_iter().collect()
}

/// Files of one command that use files of another: user, used.
///
/// A command is a module whose type a variant of a subcommand holds, with all below it, except
/// those commands that are below it themselves.
fn strangers(whole: &Crate) -> BTreeSet<(String, String)> {
    let mut commands: BTreeSet<Id> = BTreeSet::new();
    for (id, module) in whole.modules.iter().enumerate() {
        for path in &module.commands {
            if let Some(Target::Item(command)) = whole.resolve(id, path) {
                commands.insert(whole.of_file(&whole.modules[command].file));
            }
        }
    }
    // The commands a module is part of.
    let of = |id: Id| -> BTreeSet<Id> {
        whole.way_to(id).into_iter().filter(|id| commands.contains(id)).collect()
    };
    let mut strangers = BTreeSet::new();
    for (from, to, _) in edges(whole) {
        let (user, used) = (of(from), of(to));
        if !used.is_subset(&user) && !user.is_subset(&used) {
            strangers.insert((whole.modules[from].file.clone(), whole.modules[to].file.clone()));
        }
    }
    strangers
}

mod checker {
    //! The checker finds what it looks for.

    use super::*;

    fn parse(files: &[(&str, &str)]) -> Crate {
        let text = |path: &str| {
            let file = files.iter().find(|(name, _)| format!("src/{name}") == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        Crate::read("src/lib.rs", &text)
    }

    /// The circles, their files without directory and end.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let levels = uses(&parse(files));
        let short = |file: &String| file.replace("src/", "").replace(".rs", "");
        let text = |circle: BTreeSet<String>| Vec::from_iter(circle.iter().map(short)).join(" ");
        levels.values().flat_map(circles).map(text).collect()
    }

    #[test]
    fn circles_are_found_however_a_name_is_reached() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::*;");
        let a = |text: &'static str| ("a.rs", text);
        let back = "pub struct B; fn f(_: crate::a::A) {}";
        for text in [
            "use crate::b::B; pub struct A;",
            "use crate::B; pub struct A;",
            "use crate::{b as c}; pub struct A(c::B);",
            "use super::*; pub struct A(B);",
            "pub struct A; fn f() { let _ = crate::b::B; }",
            "pub struct A; fn f() { use super::b; let _ = vec![0, b::B]; }",
            "pub struct A; impl A { fn f() { crate::b::m!() } }",
            "#[x(y = crate::b::B)] pub struct A;",
            "pub struct A; mod inner { use super::super::b::B; }",
        ] {
            assert_eq!(found(&[lib, a(text), ("b.rs", back)]), ["a b"], "{text}");
        }
        let children = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod c; pub struct A;"),
            ("a/c.rs", "use crate::b::B;"),
            ("b.rs", "mod d; pub struct B;"),
            ("b/d.rs", "use crate::a::A;"),
        ];
        assert_eq!(found(&children), ["a b"], "a module is one with its children");
        let third = ("lib.rs", "mod a; mod b; mod c;");
        let through = [
            third,
            a("pub struct A(crate::c::C);"),
            ("b.rs", back),
            ("c.rs", "pub use crate::b::B as C;"),
        ];
        assert_eq!(found(&through), ["a b"], "a re-export hides no use");
    }

    #[test]
    fn parents_children_tests_and_one_way_are_no_circle() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub fn root() {}");
        let back = ("b.rs", "pub struct B; fn f(_: crate::a::A) {}");
        for text in [
            "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }",
            "pub struct A; #[cfg(test)] use crate::b::B;",
            "pub struct A; #[cfg(all(test, unix))] fn f(_: crate::b::B) {}",
            "/// [`crate::b::B`]\npub struct A; // crate::b::B\nconst X: &str = \"crate::b::B\";",
            "use crate::root; use b::B; pub struct A;",
        ] {
            assert!(found(&[lib, ("a.rs", text), back]).is_empty(), "{text}");
        }
        let family = [
            ("lib.rs", "mod a; pub use a::A;"),
            ("a.rs", "mod c; pub struct A; use c::C;"),
            ("a/c.rs", "pub struct C; use super::A; use crate::a::A as D;"),
        ];
        assert!(found(&family).is_empty());
    }

    #[test]
    fn commands_that_use_each_other_are_found() {
        let files = |one: &'static str| {
            [
                ("lib.rs", "mod cmd; mod neutral;"),
                ("neutral.rs", "pub fn f() {}"),
                (
                    "cmd.rs",
                    "mod a; mod b; mod shared; #[derive(Debug, Subcommand)]
                    enum C { A(Box<a::Args>), B(b::Command) }",
                ),
                ("cmd/a.rs", one),
                (
                    "cmd/b.rs",
                    "mod c; mod d; #[derive(Subcommand)]
                    pub enum Command { C(c::Args), D(d::Args) } pub fn help() {}",
                ),
                ("cmd/b/c.rs", "pub struct Args; use super::help;"),
                ("cmd/b/d.rs", "pub struct Args; fn f() { super::c::x() }"),
                ("cmd/shared.rs", "pub fn g() {}"),
            ]
        };
        let within = ("src/cmd/b/d.rs".to_owned(), "src/cmd/b/c.rs".to_owned());
        let clean = "pub struct Args; use crate::neutral::f; use super::shared::g;";
        assert_eq!(strangers(&parse(&files(clean))), BTreeSet::from([within.clone()]));
        let fault = "pub struct Args; use crate::cmd::b::help;";
        let across = ("src/cmd/a.rs".to_owned(), "src/cmd/b.rs".to_owned());
        assert_eq!(strangers(&parse(&files(fault))), BTreeSet::from([across, within]));
    }
}
