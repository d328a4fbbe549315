//! Compares transforms, joins and writers with plain computations on whole traces in memory.

use proptest::prelude::*;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::merge::{Concat, Merge, Tenants};
use ssdtune_trace::transform::SplitPlan;
use ssdtune_trace::transform::{Chain, Transform};
use ssdtune_trace::transform::{ClipGaps, ScaleTime};
use ssdtune_trace::transform::{Cut, Deduplicate};
use ssdtune_trace::transform::{DenseOptions, DensePlan, Modulo};
use ssdtune_trace::writer::{OutputFormat, TraceWriter};
use ssdtune_trace::{Format, Op, ReadOptions, Request, Source, TenantId, TraceError, open};
use std::collections::BTreeSet;

/// A trace in memory, handed out in batches of seven requests.
struct Memory(Vec<Request>, usize);

impl Source for Memory {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let n = (self.0.len() - self.1).min(7);
        out.extend_from_slice(&self.0[self.1..self.1 + n]);
        self.1 += n;
        Ok(n)
    }
}

fn drain(mut source: impl Source) -> Vec<Request> {
    let mut all = Vec::new();
    while source.fill(&mut all).expect("reads") > 0 {}
    all
}

fn through(requests: &[Request], step: impl Transform + 'static) -> Vec<Request> {
    drain(Chain::new(Memory(requests.to_vec(), 0)).then(step))
}

prop_compose! {
    fn trace()(
        rows in proptest::collection::vec(
            (0u64..60, 0u64..400, 1u32..40, 0u16..3, 0usize..4), 1..120
        )
    ) -> Vec<Request> {
        let mut at = 0;
        let first = rows[0].0;
        rows.into_iter().map(|(gap, lba, sectors, tenant, op)| {
            at += gap;
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op];
            let (lba, sectors) = if op == Op::Flush { (0, 0) } else { (lba, sectors) };
            let (at, lba, tenant) = (Nanos(at - first), Sectors(lba), TenantId(tenant));
            Request { at, lba, sectors, tenant, op }
        }).collect()
    }
}

proptest! {
    #[test]
    fn dense_addresses_have_no_holes_and_keep_order(requests in trace(), chunk in 1u64..20) {
        let options = DenseOptions { chunk: Sectors(chunk), ..DenseOptions::default() };
        let plan = DensePlan::of(&mut Memory(requests.clone(), 0), options).expect("small");
        // Brute force: the sorted set of touched chunks, one tenant after the other.
        let chunks: BTreeSet<(TenantId, u64)> = requests
            .iter()
            .filter(|r| r.op != Op::Flush)
            .flat_map(|r| (r.lba.0 / chunk..=(r.end().0 - 1) / chunk).map(|c| (r.tenant, c)))
            .collect();
        prop_assert_eq!(plan.sectors(), Sectors(chunks.len() as u64 * chunk));
        let sorted: Vec<_> = chunks.iter().collect();
        for r in requests.iter().filter(|r| r.op != Op::Flush) {
            for sector in r.lba.0..r.end().0 {
                let found = sorted.binary_search(&&(r.tenant, sector / chunk));
                let number = found.expect("touched") as u64;
                let expected = Sectors(number * chunk + sector % chunk);
                prop_assert_eq!(plan.address(r.tenant, Sectors(sector)), Some(expected));
                // Contiguous sectors stay contiguous, so the size of a request need not change.
                let start = plan.address(r.tenant, r.lba).expect("touched");
                prop_assert_eq!(expected.0 - start.0, sector - r.lba.0);
            }
        }
    }

    #[test]
    fn merging_is_a_stable_sort_of_all(a in trace(), b in trace(), c in trace()) {
        let inputs = [a, b, c];
        let boxed = |r: &Vec<Request>| Box::new(Memory(r.clone(), 0)) as Box<dyn Source>;
        let sources = inputs.iter().map(boxed).collect();
        let merged = drain(Merge::new(sources, Tenants::PerSource).expect("three"));
        let mut expected: Vec<Request> = Vec::new();
        for (index, input) in inputs.iter().enumerate() {
            let tenant = TenantId(index as u16);
            expected.extend(input.iter().map(|r| Request { tenant, ..*r }));
        }
        expected.sort_by_key(|r| r.at);
        prop_assert_eq!(merged, expected);
    }

    #[test]
    fn repeats_are_dropped_as_by_looking_back(requests in trace(), window in 0u64..200) {
        let same = |a: &Request, b: &Request| {
            (a.op, a.lba, a.sectors, a.tenant) == (b.op, b.lba, b.sectors, b.tenant)
        };
        let repeats = |i: usize, r: &Request| {
            requests[..i].iter().any(|e| same(e, r) && r.at - e.at <= Nanos(window))
        };
        let expected: Vec<_> = requests
            .iter()
            .enumerate()
            .filter(|(i, r)| r.op == Op::Flush || !repeats(*i, r))
            .map(|(_, r)| *r)
            .collect();
        prop_assert_eq!(through(&requests, Deduplicate::new(Nanos(window))), expected);
    }

    #[test]
    fn parts_of_a_split_hold_everything_once(requests in trace()) {
        let plan = SplitPlan::of(&mut Memory(requests.clone(), 0), &[70, 20, 10]).expect("legal");
        let mut parts = vec![Vec::new(); 3];
        for batch in requests.chunks(5) {
            plan.cut(batch, |part, mut r| parts[part].append(&mut r));
        }
        let span = requests[requests.len() - 1].at.0 + 1;
        let bounds = [0, span * 70 / 100, span * 90 / 100];
        let back: Vec<Request> = parts
            .iter()
            .zip(bounds)
            .flat_map(|(part, start)| {
                part.iter().map(move |r| Request { at: r.at + Nanos(start), ..*r })
            })
            .collect();
        prop_assert_eq!(back, requests);
    }

    #[test]
    fn what_is_written_reads_back(requests in trace()) {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, format) in [
            ("t.ssdt", OutputFormat::Ssdt),
            ("t.csv", OutputFormat::Csv),
            ("t.csv.zst", OutputFormat::Csv),
            ("t.trace.gz", OutputFormat::Mqsim),
        ] {
            let path = dir.path().join(name);
            prop_assert_eq!(OutputFormat::of_name(&path).expect("known"), format);
            let mut writer = TraceWriter::create(&path, format).expect("creates");
            writer.write(&requests).expect("writes");
            let written = writer.finish(0, &[]).expect("finishes");
            let mqsim = format == OutputFormat::Mqsim;
            let kept: Vec<Request> = requests
                .iter()
                .copied()
                .filter(|r| !mqsim || matches!(r.op, Op::Read | Op::Write))
                .collect();
            prop_assert_eq!(written.requests as usize, kept.len());
            prop_assert_eq!(written.dropped as usize, requests.len() - kept.len());
            let options = ReadOptions {
                rebase: false,
                allow_empty: true,
                format: mqsim.then_some(Format::Mqsim),
                ..ReadOptions::default()
            };
            let mut back = open(&path, &options).and_then(|mut t| t.read_all()).expect("reads");
            if mqsim {
                // Reading numbers the devices anew, in order of appearance.
                back.iter_mut().zip(&kept).for_each(|(b, k)| b.tenant = k.tenant);
            }
            prop_assert_eq!(back, kept);
        }
        let files = std::fs::read_dir(dir.path()).expect("lists").count();
        prop_assert!(files == 4, "a partial file was left");
    }
}

fn at(ns: u64, lba: u64, sectors: u32) -> Request {
    Request { at: Nanos(ns), lba: Sectors(lba), sectors, tenant: TenantId(0), op: Op::Write }
}

#[test]
fn times_scale_and_silences_shrink() {
    let requests = [at(0, 0, 8), at(10, 0, 8), at(1_000_010, 0, 8), at(1_000_020, 0, 8)];
    let times = |r: Vec<Request>| r.iter().map(|r| r.at.0).collect::<Vec<_>>();
    let halved = through(&requests, ScaleTime::new(0.5).expect("legal"));
    assert_eq!(times(halved), [0, 5, 500_005, 500_010]);
    assert_eq!(times(through(&requests, ClipGaps::new(Nanos(100)))), [0, 10, 110, 120]);
    assert!(ScaleTime::new(0.0).is_err() && ScaleTime::new(f64::NAN).is_err());
}

#[test]
fn a_cut_stops_reading() {
    let requests: Vec<_> = (0..100).map(|n| at(n * 10, n, 8)).collect();
    let cut = through(&requests, Cut::new(Nanos(100)..Nanos(500), 2, 5));
    assert_eq!(
        cut.iter().map(|r| (r.at.0, r.lba.0)).collect::<Vec<_>>(),
        [(20, 12), (30, 13), (40, 14), (50, 15), (60, 16)]
    );
}

#[test]
fn folding_cuts_a_request_over_the_end() {
    let capacity = 1 << 21;
    let folded = through(
        &[at(0, 3 * capacity + 5, 8), at(1, capacity - 3, 8)],
        Modulo::new(Sectors(capacity)).expect("legal"),
    );
    assert_eq!(folded, [at(0, 5, 8), at(1, capacity - 3, 3), at(1, 0, 5)]);
}

#[test]
fn concatenated_traces_follow_after_a_pause() {
    let sources: Vec<Box<dyn Source>> = vec![
        Box::new(Memory(vec![at(0, 1, 8), at(9, 2, 8)], 0)),
        Box::new(Memory(vec![at(0, 3, 8), at(4, 4, 8)], 0)),
    ];
    let all = drain(Concat::new(sources, Tenants::ByName, Nanos(100)).expect("two"));
    assert_eq!(
        all.iter().map(|r| (r.at.0, r.lba.0, r.tenant.0)).collect::<Vec<_>>(),
        [(0, 1, 0), (9, 2, 0), (109, 3, 0), (113, 4, 0)]
    );
}
