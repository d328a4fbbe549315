//! The fuzzer's program: it gives made-up bytes to the target that `SSDTUNE_FUZZ_TARGET` names. One
//! program serves all targets, because each takes minutes to link.
#![no_main]

use std::sync::OnceLock;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    static DEMAND: OnceLock<fn(&[u8])> = OnceLock::new();
    let demand = DEMAND.get_or_init(|| {
        let name = std::env::var("SSDTUNE_FUZZ_TARGET").expect("SSDTUNE_FUZZ_TARGET names one");
        let target = ssdtune_fuzz::TARGETS.iter().find(|target| target.name == name);
        target.expect("a target of this name").demand
    });
    demand(bytes);
});
