//! Workloads by the names that a user gives them: trace files, or bundled models, perhaps with the
//! category that they are said to be of.

use ssdtune_trace::workload::bundled;
use std::path::Path;

/// A workload to read, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceName {
    /// The category that it is said to be of.
    pub category: Option<String>,
    /// A trace file, or the name of a bundled model.
    pub source: String,
}

impl std::str::FromStr for SourceName {
    type Err = String;

    /// Reads `SOURCE` or `CATEGORY=SOURCE`. A text with = in it is a path if the part before = can
    /// be no name.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = |name: &str| !name.is_empty() && !name.contains(['/', '\\', '.']);
        let (category, source) = match text.split_once('=') {
            Some((category, source)) if named(category) => (Some(category.to_owned()), source),
            _ => (None, text),
        };
        if source.is_empty() {
            return Err("write a trace file or a bundled model, or CATEGORY= and one".to_owned());
        }
        Ok(Self { category, source: source.to_owned() })
    }
}

impl SourceName {
    /// The name of the workload: that of the model, or that of the file up to its first dot.
    pub fn name(&self) -> String {
        if self.is_file() {
            let path = Path::new(&self.source);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return match name.split('.').find(|part| !part.is_empty()) {
                Some(stem) => stem.chars().map(legal).collect(),
                None => name,
            };
        }
        let Ok(model) = bundled(&self.source) else { return self.source.clone() };
        let Some((_, variant)) = self.source.split_once('@') else { return model.name };
        format!("{}@{variant}", model.name.split('@').next().unwrap_or_default())
    }

    /// Whether it is read from a file or a pipe; otherwise it is a model.
    pub fn is_file(&self) -> bool {
        self.source == "-" || Path::new(&self.source).exists()
    }
}

fn legal(c: char) -> char {
    if c.is_alphanumeric() || "-_@".contains(c) { c } else { '-' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths() {
        let parse = |text: &str| text.parse::<SourceName>();
        let source = |category: Option<&str>, source: &str| {
            Ok(SourceName { category: category.map(str::to_owned), source: source.to_owned() })
        };
        assert_eq!(parse("websearch"), source(None, "websearch"));
        assert_eq!(parse("reads=a/b.csv"), source(Some("reads"), "a/b.csv"));
        assert_eq!(parse("./a=b.csv"), source(None, "./a=b.csv"));
        assert!(parse("reads=").is_err() && parse("").is_err());
        let name = |text: &str| parse(text).expect("a source").name();
        assert_eq!(
            (name("tpcc"), name("tpcc@skew-half")),
            ("database".into(), "database@skew-half".into())
        );
        assert_eq!(name("Cargo.toml"), "Cargo");
    }
}
