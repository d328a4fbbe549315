//! The speed of reading on one core, in requests per second, from inputs made in memory.
//!
//! Targets: MSR CSV 4 million lines/s, MQSim text 15 million lines/s, binary 50 million requests/s.
//! A benchmark times the whole path (buffering, parsing, ordering, counting time from the first
//! request), not only the parser. Each first checks that the requests read are those written. It
//! measures processor time, not wall time.

#[path = "shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::binary::{MappedTrace, SsdtWriter};
use ssdtune_trace::{Format, Op, ReadOptions, Request, Source, TenantId, read_from};
use std::fmt::Write;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Cursor};

const REQUESTS: usize = 1_000_000;

/// Requests to random addresses over 1 TiB, of 4 to 128 KiB, 100 us apart on average, of one
/// device.
fn requests() -> Vec<Request> {
    let mut rng = Pcg64::seed_from_u64(1);
    let mut at = 0;
    let mut one = || {
        at += rng.random_range(0..200_000);
        Request {
            at: Nanos(at),
            lba: Sectors(rng.random_range(0..1u64 << 28) * 8),
            sectors: 8 * rng.random_range(1..=32),
            tenant: TenantId(0),
            op: if rng.random_range(0..10) < 3 { Op::Read } else { Op::Write },
        }
    };
    let mut all: Vec<_> = (0..REQUESTS).map(|_| one()).collect();
    let origin = all[0].at;
    all.iter_mut().for_each(|r| r.at -= origin);
    all
}

fn mqsim(requests: &[Request]) -> String {
    let mut text = String::new();
    for r in requests {
        let kind = u8::from(r.op == Op::Read);
        let _ = writeln!(text, "{} 0 {} {} {kind}", 938_513_000 + r.at.0, r.lba.0, r.sectors);
    }
    text
}

fn msr(requests: &[Request]) -> String {
    let mut text = String::new();
    for r in requests {
        let (ticks, offset, size) = (r.at.0 / 100, r.lba.0 * 512, r.sectors * 512);
        let _ = writeln!(
            text,
            "{},prxy,0,{:?},{offset},{size},{}",
            128_166_385_295_514_663 + ticks,
            r.op,
            r.lba.0 % 9000
        );
    }
    text
}

fn drain(mut source: impl Source) -> usize {
    let (mut batch, mut count) = (Vec::new(), 0);
    while source.fill(&mut batch).expect("reads") > 0 {
        count += batch.len();
        black_box(&batch);
        batch.clear();
    }
    count
}

type Group<'a> = BenchmarkGroup<'a, CpuTime>;

fn text(c: &mut Group, name: &str, format: Format, text: String, expected: &[Request]) {
    let text: &'static [u8] = Box::leak(text.into_bytes().into_boxed_slice());
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let open = || read_from(Cursor::new(text), "bench", &options).expect("opens");
    let back = open().read_all().expect("reads");
    let same = |(a, b): (&Request, &Request)| (a.lba, a.sectors, a.op) == (b.lba, b.sectors, b.op);
    assert!(back.len() == expected.len() && back.iter().zip(expected).all(same));
    c.bench_function(name, |b| b.iter(|| drain(open())));
}

fn parse(c: &mut Group) {
    let all = requests();
    text(c, "mqsim", Format::Mqsim, mqsim(&all), &all);
    text(c, "msr", Format::Msr, msr(&all), &all);

    let path = std::env::temp_dir().join(format!("ssdtune-bench-{}.ssdt", std::process::id()));
    let mut writer =
        SsdtWriter::new(BufWriter::new(File::create(&path).expect("creates"))).expect("starts");
    writer.write(&all).expect("writes");
    writer.finish(0, &[]).expect("finishes");
    let bytes = std::fs::metadata(&path).expect("is there").len();
    println!("binary: {:.2} bytes per request", bytes as f64 / REQUESTS as f64);
    let mut back = Vec::new();
    let mut mapped = MappedTrace::open(&path).expect("opens");
    while mapped.fill(&mut back).expect("reads") > 0 {}
    assert!(back == all);
    c.bench_function("binary, mapped", |b| {
        b.iter(|| drain(MappedTrace::open(&path).expect("opens")));
    });
    let stream = std::fs::read(&path).expect("reads");
    let stream: &'static [u8] = Box::leak(stream.into_boxed_slice());
    c.bench_function("binary, streamed", |b| {
        b.iter(|| {
            let options = ReadOptions::default();
            drain(read_from(Cursor::new(stream), "bench", &options).expect("opens"))
        });
    });
    std::fs::remove_file(&path).expect("removes");
}

fn benches(c: &mut Criterion<CpuTime>) {
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Elements(REQUESTS as u64));
    parse(&mut group);
    group.finish();
}

criterion_group! {
    name = all;
    config = Criterion::default().with_measurement(CpuTime).sample_size(20);
    targets = benches
}
criterion_main!(all);
