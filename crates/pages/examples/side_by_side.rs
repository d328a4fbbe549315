//! Writes documents of ssdtune side by side into a page:
//! `cargo run -p ssdtune-pages --example side_by_side -- a.json b.json > both.html`. Without
//! arguments it shows one that is made up.

use serde_json::{Value, json};
use ssdtune_pages::{Origin, Shown, page_of};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let mut shown = Vec::new();
    for path in &files {
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        shown.push(Shown::new(path.display().to_string(), document).with_series());
    }
    if shown.is_empty() {
        let grades = json!([{"drive": "made up", "grade": 0.5, "target": {"latency": 1.6}}]);
        shown.push(Shown::new("made up", grades));
    }
    let mut page = page_of(&shown);
    let origin = Origin { program: "an example", command: "", seed: None, inputs: &files };
    origin.add_to(&mut page);
    print!("{}", page.to_html());
    Ok(())
}
