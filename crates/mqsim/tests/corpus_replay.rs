//! Replays what fuzzing found worth keeping: for each input, what the fuzz target demands must
//! hold.

use ssdtune_model::testing::replay_corpus;
use ssdtune_mqsim::testing;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

#[test]
fn ssd_xml() {
    replay_corpus(CORPUS, "ssd_xml", testing::ssd_xml);
}

#[test]
fn workload_xml() {
    replay_corpus(CORPUS, "workload_xml", testing::workload_xml);
}
