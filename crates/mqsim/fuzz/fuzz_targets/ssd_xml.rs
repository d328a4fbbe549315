#![no_main]
//! Fuzzes the reader; `ssdtune_mqsim::testing::ssd_xml` says what must hold.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ssdtune_mqsim::testing::ssd_xml(bytes));
