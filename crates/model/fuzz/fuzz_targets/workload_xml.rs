#![no_main]
//! See `ssdtune_model::testing::workload_xml` for what must hold.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ssdtune_model::testing::workload_xml(bytes));
