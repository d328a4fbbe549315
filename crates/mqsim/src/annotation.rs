//! What MQSim's format cannot say of a drive, in a comment of its `ssdconfig.xml`.
//!
//! MQSim (commit 722cd84) skips every comment, so it reads the file as if the annotation were not
//! there. The comment begins with `ssdtune:1`, where 1 is the version of its form; the rest of it
//! is TOML as in ssdtune's own files: the drive's name, and every parameter that MQSim has no tag
//! for.
//! What a tag can say stands in the elements alone, so there is nothing that the two could
//! contradict each other in.

use crate::xml::Comment;
use ssdtune_model::catalogue;
use ssdtune_model::config::DeviceConfig;
use ssdtune_model::document::{Part, write_part};
use ssdtune_model::{Fault, Faults, Problem};
use std::fmt::Write as _;

/// How a comment begins that is an annotation; the version of its form comes behind.
const MARK: &str = "ssdtune:";
/// The version that is read and written.
const VERSION: &str = "1";

/// The annotation of a drive: a comment, and a line end.
pub(crate) fn write(config: &DeviceConfig) -> String {
    format!(
        "<!-- {MARK}{VERSION}\n# What MQSim's format cannot say of this drive, for ssdtune. \
         MQSim skips it.\nname = \"{}\"\n{}-->\n",
        escaped(&config.name),
        write_part(config, |row| row.mqsim.is_none())
    )
}

/// A name inside a TOML string, in the plain letters that a comment of XML may hold: no two hyphens
/// beside each other.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        let hyphens = letter == '-' && text.ends_with('-');
        let plain = letter == ' ' || letter.is_ascii_graphic() && !"\"\\<>&".contains(letter);
        // Writing to a String cannot fail.
        let _ = match plain && !hyphens {
            true => write!(text, "{letter}"),
            false => write!(text, "\\U{:08X}", u32::from(letter)),
        };
    }
    text
}

/// What the annotation among the comments states, and its faults, with the lines of the file;
/// `None` if no comment is one.
///
/// # Errors
/// There are several, or its form is of another version.
pub(crate) fn read(comments: &[Comment]) -> Result<Option<(Part, Faults)>, Faults> {
    let is_one = |comment: &&Comment| comment.text.trim_start().starts_with(MARK);
    let mut found = comments.iter().filter(is_one);
    let Some(comment) = found.next() else { return Ok(None) };
    let wrong = |line, reason| Faults::from(Fault::new("", conflict(reason)).at_line(line));
    if let Some(second) = found.next() {
        let reason = format!(
            "a second comment that begins with {MARK} (the first is in line {}); keep one",
            comment.line
        );
        return Err(wrong(second.line, reason));
    }
    let body = comment.text.trim_start();
    let line = comment.line + newlines(&comment.text) - newlines(body);
    let (head, toml) = body.split_once('\n').unwrap_or((body, ""));
    let version = head[MARK.len()..].trim();
    if version != VERSION {
        let reason = format!(
            "a comment for ssdtune whose first line is {MARK}{version}; this version reads \
             {MARK}{VERSION}. Take the ssdtune that wrote it, or remove the comment: the drive is \
             then what MQSim makes of the file"
        );
        return Err(wrong(line, reason));
    }
    // Empty lines before it give every fault the line that it has in the file.
    let (mut part, mut faults) = Part::parse(&("\n".repeat(line) + toml))?;
    for (key, line) in &part.lines {
        let tags = catalogue::find(key).and_then(|row| row.mqsim).map(|mqsim| mqsim.tags[0]);
        if let Some(tag) = tags {
            let reason = format!("<{tag}> says it, for MQSim too: set it there, remove this line");
            faults.push(Fault::new(*key, conflict(reason)).at_line(*line));
        }
    }
    part.lines.retain(|key, _| catalogue::find(key).is_some_and(|row| row.mqsim.is_none()));
    Ok(Some((part, faults)))
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn conflict(reason: String) -> Problem {
    Problem::Conflict { reason }
}
