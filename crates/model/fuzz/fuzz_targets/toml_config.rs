#![no_main]
//! Fuzzes the reader; `ssdtune_model::testing::toml_config` says what must hold.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ssdtune_model::testing::toml_config(bytes));
