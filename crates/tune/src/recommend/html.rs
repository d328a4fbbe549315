//! A recommendation as one HTML file without references to anything outside it.

use super::Recommendation;

/// The page.
pub fn page(recommendation: &Recommendation) -> String {
    format!("<pre>{}</pre>", super::markdown(recommendation))
}
