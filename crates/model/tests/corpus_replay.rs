//! Replays what fuzzing found worth keeping: for each input, what the fuzz target demands must
//! hold.

use ssdtune_model::testing;

#[test]
fn toml_config() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    testing::replay_corpus(corpus, "toml_config", testing::toml_config);
}
