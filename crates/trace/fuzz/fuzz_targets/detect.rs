//! The `detect` reader with arbitrary bytes.
#![no_main]
ssdtune_trace_fuzz::parser!(None);
