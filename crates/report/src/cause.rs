//! Errors in words.

use std::error::Error;
use std::fmt::Write as _;

/// An error and its causes, a line for each. A cause that the text before it contains is left out.
///
/// ```
/// let error = std::io::Error::other("the disk is full");
/// assert_eq!(ssdtune_report::in_full(&error), "the disk is full");
/// ```
pub fn in_full(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            // A text takes every line.
            let _ = write!(text, "\n  cause: {cause}");
        }
    }
    text
}
