//! How long it takes to read and check a configuration, and to pack an address.
//!
//! A search checks every candidate's configuration. So a check has to take far less time than a
//! simulation, which takes milliseconds.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{Criterion, criterion_group, criterion_main};
use ssdtune_model::document::Document;
use ssdtune_model::{Ppn, presets};
use ssdtune_mqsim as mqsim;
use std::hint::black_box;

fn files(c: &mut Criterion) {
    let toml = presets::text("intel-750").expect("a preset");
    let config = presets::load("intel-750").expect("a preset");
    let xml = mqsim::write_device(&config).expect("MQSim can express it").value;
    c.bench_function("config/parse_toml", |b| b.iter(|| Document::parse(black_box(toml))));
    c.bench_function("config/parse_xml", |b| b.iter(|| mqsim::read_device(black_box(&xml))));
    c.bench_function("config/check", |b| b.iter(|| black_box(&config).check()));
    c.bench_function("config/set", |b| {
        let mut config = config.clone();
        b.iter(|| ssdtune_model::set(&mut config, black_box("gc.threshold"), black_box("0.1")));
    });
}

fn addresses(c: &mut Criterion) {
    let geometry = presets::load("intel-750").expect("a preset").geometry();
    let pages = geometry.pages();
    c.bench_function("geometry/unpack_pack", |b| {
        let mut next = 0;
        b.iter(|| {
            // With this stride, planes and blocks follow in an order that no branch predictor
            // learns.
            next = (next + 0x9E37_79B9) % pages;
            geometry.pack(geometry.unpack(black_box(Ppn(next))))
        });
    });
}

criterion_group!(benches, files, addresses);
criterion_main!(benches);
