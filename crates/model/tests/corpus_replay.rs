//! Replays what fuzzing found worth keeping: for each input, what the fuzz target demands must hold.

use ssdtune_model::testing;
use std::path::Path;

fn replay(target: &str, demand: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("a corpus") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("an input");
        println!("{}", path.display());
        demand(&bytes);
        // Truncated files are among what users hand in.
        for length in (0..bytes.len()).step_by(37) {
            demand(&bytes[..length]);
        }
        inputs += 1;
    }
    assert!(inputs > 0, "the corpus of {target} is empty");
}

#[test]
fn toml_config() {
    replay("toml_config", testing::toml_config);
}

#[test]
fn ssd_xml() {
    replay("ssd_xml", testing::ssd_xml);
}

#[test]
fn workload_xml() {
    replay("workload_xml", testing::workload_xml);
}
