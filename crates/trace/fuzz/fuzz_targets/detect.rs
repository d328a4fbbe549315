//! The `detect` reader under arbitrary bytes.
#![no_main]
ssdtune_trace_fuzz::parser!(None);
