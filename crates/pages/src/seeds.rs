//! The seeds that documents hold.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Different seeds of one name that are listed; further ones are counted.
const LISTED_MAX: usize = 10;

/// The seeds of documents, by the names that they have there; `None` if there are none.
pub(crate) fn told<'a>(documents: impl Iterator<Item = &'a Value>) -> Option<String> {
    let mut found = BTreeMap::new();
    documents.for_each(|document| gather(document, "", &mut found));
    let one = |(name, seeds): (String, BTreeSet<u64>)| {
        let listed = seeds.iter().take(LISTED_MAX).map(u64::to_string);
        let listed = listed.collect::<Vec<_>>().join(", ");
        match seeds.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
            Some(more) => format!("{name}: {listed} and {more} more"),
            None => format!("{name}: {listed}"),
        }
    };
    let lines: Vec<String> = found.into_iter().map(one).collect();
    (!lines.is_empty()).then(|| format!("{}.", lines.join("; ")))
}

/// Numbers whose name ends in `seed`, with the name of what holds them.
fn gather(value: &Value, holder: &str, found: &mut BTreeMap<String, BTreeSet<u64>>) {
    match value {
        Value::Object(fields) => {
            for (name, own) in fields {
                match own.as_u64() {
                    Some(seed) if name.ends_with("seed") => {
                        let name = name.replace('_', " ");
                        let name = match holder {
                            "" | "parameters" => name,
                            _ => format!("{} {name}", holder.replace('_', " ")),
                        };
                        found.entry(name).or_default().insert(seed);
                    }
                    _ => gather(own, name, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, holder, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn seeds_are_told_once_by_their_names() {
        let cell = |seed: u64| json!({"parameters": {"run.seed": seed, "gc.threshold": 0.1}});
        let simulated = json!({"cells": [cell(321), cell(321), cell(7)]});
        let searched = json!({"question": {"settings": {"seed": 0, "budget": 4.0}}});
        let all = told([&simulated, &searched].into_iter());
        assert_eq!(all.as_deref(), Some("run.seed: 7, 321; settings seed: 0."));
        assert_eq!(told([&json!({"seed": "none"})].into_iter()), None);
        let many = json!((0..12).map(|seed| json!({"seed": seed})).collect::<Vec<_>>());
        assert!(told([&many].into_iter()).unwrap().ends_with("8, 9 and 2 more."));
    }
}
