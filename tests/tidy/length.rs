//! How long lines, functions and files may be.

use crate::hold;
use crate::source::{Source, sources};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Characters of a line.
const COLUMNS_MAX: usize = 100;
/// Lines of a function, from the one with `fn` to the one with its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Lines of a file.
const FILE_LINES_MAX: usize = 600;

#[test]
fn lines_have_at_most_100_columns() {
    let mut faults = Vec::new();
    for source in sources() {
        for line in long_lines(&source.text) {
            faults.push(format!("{}:{line}", source.path));
        }
    }
    hold("columns", faults);
}

#[test]
fn functions_have_at_most_70_lines() {
    let mut faults = Vec::new();
    for source in sources() {
        for (name, line, lines) in long_functions(&source) {
            let text = format!("{}:{line}: {name} has {lines} lines", source.path);
            faults.push(text);
        }
    }
    hold("functions", faults);
}

#[test]
fn files_have_at_most_600_lines() {
    let mut faults = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{} has {lines} lines", source.path));
        }
    }
    hold("files", faults);
}

/// The numbers of the lines that are too long.
fn long_lines(text: &str) -> impl Iterator<Item = usize> {
    let long =
        |(number, line): (usize, &str)| (line.chars().count() > COLUMNS_MAX).then_some(number + 1);
    text.lines().enumerate().filter_map(long)
}

/// The functions that are too long: name, first line, lines.
fn long_functions(source: &Source) -> Vec<(String, usize, usize)> {
    let mut functions = Vec::new();
    collect(source.tokens(), &mut functions);
    functions.retain(|&(_, _, lines)| lines > FUNCTION_LINES_MAX);
    functions
}

/// Every function with a body, also inside macros and other functions: name, first line, lines.
///
/// Tokens suffice: `fn`, a name, and the next braces at the same depth are the body. A pointer to a
/// function has no name, a method without a body ends with a semicolon.
fn collect(tokens: TokenStream, into: &mut Vec<(String, usize, usize)>) {
    let mut begun: Option<(String, usize)> = None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(word) if word == "fn" => {
                if let Some(TokenTree::Ident(name)) = tokens.peek() {
                    begun = Some((name.to_string(), word.span().start().line));
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => begun = None,
            TokenTree::Group(group) => {
                if group.delimiter() == Delimiter::Brace
                    && let Some((name, line)) = begun.take()
                {
                    into.push((name, line, group.span_close().end().line - line + 1));
                }
                collect(group.stream(), into);
            }
            _ => {}
        }
    }
}

mod checker {
    //! The checker finds what it looks for.

    use super::*;

    #[test]
    fn long_lines_are_found_by_characters() {
        let text = format!("{}\n{}\n{}\n", "x".repeat(100), "x".repeat(101), "é".repeat(100));
        assert_eq!(long_lines(&text).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn long_functions_are_found_wherever_they_stand() {
        let body = |lines: usize| "    //\n".repeat(lines - 2);
        // Braces and `fn` in text, characters and comments are no code.
        let tricks = "let a = (\"{ fn x() {\", '{', b'}', r#\"}\"#); // } fn y() {\n/* { */\n";
        let text = format!(
            "fn fits() {{\n{}}}\nfn long() {{\n{}}}\n\
             trait T {{ fn bare(); fn own(&self) -> fn(u8) -> u8\nwhere Self: Sized {{\n{}}} }}\n\
             some! {{ fn within(a in 0..2) {{\n{tricks}{}}} }}\n",
            body(70),
            body(71),
            body(70),
            body(69),
        );
        let found = long_functions(&Source { path: "x.rs".to_owned(), text });
        let found: Vec<(&str, usize, usize)> =
            found.iter().map(|(name, line, lines)| (name.as_str(), *line, *lines)).collect();
        assert_eq!(found, [("long", 71, 71), ("own", 142, 71), ("within", 213, 71)]);
    }
}
