//! The seven workloads of the AutoBlox paper, from `configs/workloads/autoblox.toml`, which is
//! built into the library.

use serde::Deserialize;
use std::sync::LazyLock;

/// A workload of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedWorkload {
    /// The name of the workload and of its bundled model.
    pub name: String,
    /// Requests outstanding in the closed loop.
    pub depth: u32,
    /// The number of its category when the seven are learned together, from 0.
    pub category: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    workload: [PublishedWorkload; 7],
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../configs/workloads/autoblox.toml"))
        .expect("a test reads the same text")
});

/// The depth of the closed loop for a workload whose depth is not published.
pub const DEFAULT_DEPTH: u32 = 16;

/// The seven workloads of the paper, in the order of all defaults and tables.
pub fn published_workloads() -> &'static [PublishedWorkload; 7] {
    &FILE.workload
}

/// The names of the seven workloads of the paper, in the order of their categories' numbers.
pub fn published_categories() -> [&'static str; 7] {
    let mut names = [""; 7];
    for workload in published_workloads() {
        names[workload.category] = &workload.name;
    }
    names
}

/// The published closed-loop depth of a workload, or of a variant of it such as
/// `websearch@skew-half`. [`DEFAULT_DEPTH`] for any other name.
pub fn published_depth(name: &str) -> u32 {
    let base = name.split('@').next().unwrap_or(name);
    let found = published_workloads().iter().find(|workload| workload.name == base);
    found.map_or(DEFAULT_DEPTH, |workload| workload.depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::workload::bundled;

    #[test]
    fn the_seven_are_bundled_and_have_depths_and_categories() {
        for workload in published_workloads() {
            assert!(bundled(&workload.name).is_ok(), "{}", workload.name);
            assert_eq!(published_depth(&format!("{}@skew-half", workload.name)), workload.depth);
            assert_eq!(published_categories()[workload.category], workload.name);
        }
        assert_eq!(published_depth("mine"), DEFAULT_DEPTH);
    }
}
