//! The examples that helps show: every command has one, and every one runs.

use crate::support::Shell;
use std::collections::BTreeSet;

const EXAMPLES: &str = include_str!("../crates/ssdtune/examples.txt");

/// The commands without commands below them.
fn leaves(command: &clap::Command, path: &str, into: &mut BTreeSet<String>) {
    let below: Vec<&clap::Command> = command.get_subcommands().collect();
    if below.is_empty() && !path.is_empty() {
        into.insert(path.to_owned());
    }
    for one in below {
        leaves(one, format!("{path} {}", one.get_name()).trim_start(), into);
    }
}

fn lines() -> impl Iterator<Item = &'static str> {
    EXAMPLES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn every_command_has_an_example_of_its_own() {
    let mut commands = BTreeSet::new();
    leaves(&ssdtune::command_line(), "", &mut commands);
    let mut described = BTreeSet::new();
    let mut now = "";
    for line in lines() {
        match line.strip_prefix("  ") {
            None => {
                now = line;
                assert!(described.insert(line.to_owned()), "{line} stands there twice");
            }
            Some(example) => {
                let words = example.trim_start_matches("~ ");
                assert!(words.starts_with("ssdtune "), "{line}");
                assert!(words.split("   # ").next().unwrap().len() <= 116, "{line}: too long");
            }
        }
        assert!(!now.is_empty());
    }
    assert_eq!(commands, described, "crates/ssdtune/examples.txt");
    for command in &commands {
        let has = lines().any(|line| {
            let own = line.trim_start().trim_start_matches("~ ");
            own.starts_with(&format!("ssdtune {command}"))
        });
        assert!(has, "no example uses {command}");
    }
}

/// Where there are many options, each stands under a heading that says what it is about.
#[test]
fn options_stand_under_headings() {
    const MANY: usize = 5;
    fn walk(command: &clap::Command, path: &str, bare: &mut Vec<String>) {
        let options = || command.get_arguments().filter(|arg| !arg.is_positional());
        let own = || options().filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
        if own().count() > MANY {
            let without = own().filter(|arg| arg.get_help_heading().is_none());
            let names = without.filter_map(|arg| Some(format!("{path} --{}", arg.get_long()?)));
            bare.extend(names);
        }
        for below in command.get_subcommands() {
            walk(below, format!("{path} {}", below.get_name()).trim_start(), bare);
        }
    }
    let mut bare = Vec::new();
    walk(&ssdtune::command_line(), "", &mut bare);
    assert_eq!(bare, [""; 0], "crates/ssdtune/headings.txt");
    // Options of one name are about different things in different commands.
    for (command, option, heading) in [
        (["keeper", "compare"], "model", "The network"),
        (["predict-perf", "check"], "model", "What is predicted"),
        (["predict-perf", "sweep"], "sample", "What to measure"),
        (["trace", "fit"], "output", "The model"),
        (["workload", "learn"], "db", "What is remembered"),
    ] {
        let mut at = &ssdtune::command_line();
        for name in command {
            at = at.find_subcommand(name).unwrap();
        }
        let mut options = at.get_arguments().filter(|arg| arg.get_long() == Some(option));
        let found = options.next().unwrap().get_help_heading();
        assert_eq!(found, Some(heading), "{command:?} --{option}");
    }
}

#[test]
fn every_example_runs() {
    let shell = Shell::new();
    for line in lines().filter_map(|line| line.strip_prefix("  ")) {
        let (words, _) = line.split_once("   # ").unwrap_or((line, ""));
        if words.starts_with('~') {
            println!("not run: {line}");
        } else {
            shell.run(words);
        }
    }
}
