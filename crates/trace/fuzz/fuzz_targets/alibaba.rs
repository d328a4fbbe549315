//! The `alibaba` reader with arbitrary bytes.
#![no_main]
use ssdtune_trace::Format;
ssdtune_trace_fuzz::parser!(Some(Format::Alibaba));
