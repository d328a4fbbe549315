//! Replays what fuzzing found worth keeping: what the targets demand holds for each input, and for
//! the input cut short, since files that were cut short are among what users hand in.

use ssdtune_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::path::Path;

/// Cuts of an input at most, so that long ones do not take long.
const CUTS_MAX: usize = 32;

#[test]
fn every_input_is_read_or_refused() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));
    for target in TARGETS {
        let mut inputs = 0;
        for entry in std::fs::read_dir(corpus.join(target.name)).expect("a corpus") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("an input");
            println!("{}", path.display());
            (target.demand)(&bytes);
            let step = bytes.len().div_ceil(CUTS_MAX).max(37);
            (0..bytes.len()).step_by(step).for_each(|length| (target.demand)(&bytes[..length]));
            inputs += 1;
        }
        assert!(inputs > 0, "the corpus of {} is empty", target.name);
    }
}

#[test]
fn every_corpus_has_a_target() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"));
    let folders: BTreeSet<String> = std::fs::read_dir(corpus)
        .expect("corpora")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(folders, targets);
}
