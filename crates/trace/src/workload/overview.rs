//! Models in a list, where a model comes from as a comment, and what a model of a trace is called.

use super::model::Model;
use serde::Serialize;
use std::path::Path;

/// What a model is, without its streams. Field names are part of the result document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelOverview {
    /// The name in commands and reports.
    pub name: String,
    /// Other names of the model.
    pub aliases: Vec<String>,
    /// The names of its variants.
    pub variants: Vec<String>,
    /// The number of requests in a trace of the model, unless another is asked for.
    pub requests: u64,
    /// A description in one sentence.
    pub description: String,
    /// The published figures that the model was fitted to.
    pub source: String,
    /// The parts of the model that are guesses.
    pub guesses: Vec<String>,
}

impl From<Model> for ModelOverview {
    fn from(model: Model) -> Self {
        Self {
            name: model.name,
            aliases: model.aliases,
            variants: model.variants.into_iter().map(|variant| variant.name).collect(),
            requests: model.requests,
            description: model.description,
            source: model.source,
            guesses: model.guesses,
        }
    }
}

impl Model {
    /// What the model was fitted to and what of it is guessed, as the comment of its text.
    pub fn origin_comment(&self) -> String {
        let guesses: Vec<String> = self.guesses.iter().map(|guess| format!("- {guess}")).collect();
        format!("Fitted to: {}\n\nGuesses:\n{}", self.source, guesses.join("\n"))
    }
}

/// The name of a model of a trace: the file's name up to its first dot, in the letters that a
/// model's name may have.
pub fn name_of_trace(path: &Path) -> String {
    let stem = path.file_name().and_then(|name| name.to_str()).unwrap_or("trace");
    let stem = stem.split('.').next().unwrap_or("trace").to_ascii_lowercase();
    let legal =
        |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(legal).collect();
    if name.is_empty() { "trace".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_become_names_of_models() {
        let name = |path: &str| name_of_trace(Path::new(path));
        assert_eq!(name("dir/Web Search_1.csv.gz"), "web-search_1");
        assert_eq!([name(".hidden"), name("..")], ["trace", "trace"]);
    }
}
