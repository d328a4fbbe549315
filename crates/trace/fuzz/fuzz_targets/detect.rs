#![no_main]
ssdtune_trace_fuzz::parser!(None);
