//! Pages of the book: every command in them runs and prints what they say.
//!
//! In a block that is marked `console`, a line that begins with `$ ` is a command; what follows is
//! what it prints on standard output. `...` stands for any lines, `[..]` for anything within one.
//! All commands of a page run one after the other in one directory.

use crate::support::{Shell, root};

/// The commands of a page, each with the lines that it shall print.
fn commands(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("a block has an end");
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => found.push((command, Vec::new())),
                None => found.last_mut().expect("a command before output").1.push(line),
            }
        }
    }
    found
}

/// Whether a line is as expected, but for what `[..]` stands for.
fn fits_line(wanted: &str, line: &str) -> bool {
    let parts: Vec<&str> = wanted.trim_end().split("[..]").collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    let line = line.trim_end();
    if parts.len() == 1 {
        return first == line;
    }
    let mut rest = match line.strip_prefix(first) {
        Some(rest) => rest,
        None => return false,
    };
    for part in &parts[1..parts.len() - 1] {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether lines are as expected, but for those that `...` stands for.
fn fits(wanted: &[&str], lines: &[&str]) -> bool {
    match (wanted, lines) {
        ([], []) => true,
        (["...", after @ ..], _) => (0..=lines.len()).any(|skip| fits(after, &lines[skip..])),
        ([first, after @ ..], [line, rest @ ..]) => fits_line(first, line) && fits(after, rest),
        _ => false,
    }
}

fn runs(page: &str) {
    let shell = Shell::new();
    let text = std::fs::read_to_string(root().join("docs").join(page)).unwrap();
    let all = commands(&text);
    assert!(!all.is_empty(), "{page} has no commands");
    for (words, wanted) in all {
        let out = shell.run(words);
        let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
        let lines =
            &lines[..lines.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1)];
        assert!(
            fits(&wanted, lines),
            "{page}: {words}\nwanted:\n{}\n\ngot:\n{out}",
            wanted.join("\n")
        );
    }
}

#[test]
fn the_tutorial_runs() {
    runs("tutorial.md");
}

#[test]
fn the_how_tos_run() {
    for page in ["howto-trace.md", "howto-real-drive.md", "howto-paper.md"] {
        runs(page);
    }
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for (folder, prefix) in [("docs", ""), ("docs/results", "results/")] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                let link = format!("({prefix}{name})");
                assert!(summary.contains(&link), "{link} is not in the book");
            }
        }
    }
}

#[test]
fn left_out_lines_and_words_fit_and_others_do_not() {
    assert!(fits(&["a", "...", "c [..] e"], &["a", "x", "y", "c d e"]));
    assert!(fits(&["...", "b"], &["b"]) && fits(&["a", "..."], &["a"]) && fits(&[], &[]));
    assert!(!fits(&["a", "b"], &["a"]) && !fits(&["a"], &["a", "b"]));
    assert!(!fits(&["c [..] e"], &["c d f"]) && !fits(&["a [..] b [..] c"], &["a x c"]));
}
