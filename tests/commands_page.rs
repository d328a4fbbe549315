//! docs/commands.md: the help of every command, and whether pages speak of commands that exist.

use crate::support::root;
use clap::Command;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Columns of the helps.
const WIDTH: usize = 100;

const PREFACE: &str = "# Every command

What `ssdtune COMMAND --help` says, command by command. The options of all commands stand once,
under `ssdtune`. This page is made from the command line itself:
`SSDTUNE_WRITE=1 cargo test -p ssdtune --test command commands_page`.
";

/// Adds a section for a command and for each one below it.
fn sections(command: &Command, path: &str, page: &mut String) {
    let name = format!("{path} {}", command.get_name()).trim_start().to_owned();
    let mut shown = command.clone().bin_name(&name).term_width(WIDTH).disable_help_flag(true);
    if !path.is_empty() {
        shown = shown.mut_args(|arg| {
            let is_everywhere =
                arg.is_global_set() || ["help", "version"].contains(&arg.get_id().as_str());
            if is_everywhere { arg.hide(true) } else { arg }
        });
    }
    let help = shown.render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        sections(below, &name, page);
    }
}

#[test]
fn the_page_of_commands_is_what_the_helps_say() {
    let mut command = ssdtune::command_line().disable_help_subcommand(true);
    command.build();
    let mut page = PREFACE.to_owned();
    sections(&command, "", &mut page);
    let path = root().join("docs/commands.md");
    if std::env::var_os("SSDTUNE_WRITE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(kept.lines()).find(|(now, then)| now != then);
    assert_eq!(differs, None, "made again with SSDTUNE_WRITE=1, see its head");
    assert_eq!(page.lines().count(), kept.lines().count());
}

/// The pages for users. Pages of results tell what was run at their time.
fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().flatten().map(|entry| entry.path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
    let mut pages: Vec<PathBuf> = docs.filter(is_page).collect();
    pages.extend(["README.md", "crates/ssdtune/README.md"].map(|page| root().join(page)));
    pages.retain(|page| page.is_file() && !page.ends_with("commands.md"));
    pages
}

/// The words of every call of `ssdtune` in the blocks of a page.
fn calls(page: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(page).unwrap().replace("\\\n", " ");
    let mut is_fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        is_fenced ^= line.starts_with("```");
        if is_fenced || line.starts_with("    ") {
            let all = commands(line.trim_start().trim_start_matches("$ ")).into_iter();
            found.extend(all.filter(|words| words.first().is_some_and(|word| word == "ssdtune")));
        }
    }
    found
}

/// The commands of a line, each with its words, as a shell would divide them: comments and
/// redirections are left out.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), String::new());
    let (mut quote, mut is_target, mut is_begun) = (None, false, false);
    for letter in line.chars().chain([' ', ';']) {
        match (letter, quote) {
            ('\'' | '"', None) => (quote, is_begun) = (Some(letter), true),
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => word.push(letter),
            (' ' | '|' | ';' | '&' | '<' | '>', None) => {
                if is_begun && !std::mem::replace(&mut is_target, false) {
                    words.push(std::mem::take(&mut word));
                }
                (word, is_begun) = (String::new(), false);
                match letter {
                    '<' | '>' => is_target = true,
                    ' ' => {}
                    _ => all.push(std::mem::take(&mut words)),
                }
            }
            ('#', None) if !is_begun => break,
            _ => {
                word.push(letter);
                is_begun = true;
            }
        }
    }
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

#[test]
fn pages_speak_of_commands_and_flags_that_exist() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        for call in calls(&page) {
            count += 1;
            if let Err(error) = ssdtune::command_line().try_get_matches_from(&call)
                && error.use_stderr()
            {
                let what = error.to_string();
                let first = what.lines().next().unwrap_or_default().to_owned();
                wrong.push(format!("{}: {}: {first}", page.display(), call.join(" ")));
            }
        }
    }
    assert!(count > 100, "{count} commands in pages");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lines_are_divided_as_a_shell_divides_them() {
    let cases: [(&str, &[&[&str]]); 6] = [
        ("ssdtune config show   # the presets", &[&["ssdtune", "config", "show"]]),
        ("ssdtune x --set 'a=1 ; 2' > out.json", &[&["ssdtune", "x", "--set", "a=1 ; 2"]]),
        ("ssdtune grade --points <in >out -v", &[&["ssdtune", "grade", "--points", "-v"]]),
        (
            "zcat a | ssdtune  x - && ssdtune y",
            &[&["zcat", "a"], &["ssdtune", "x", "-"], &["ssdtune", "y"]],
        ),
        ("ssdtune x '' # it's nothing", &[&["ssdtune", "x", ""]]),
        ("", &[]),
    ];
    for (line, wanted) in cases {
        assert_eq!(commands(line), wanted, "{line}");
    }
}
