//! Compares descriptions with brute force on small random traces.

use super::*;
use proptest::prelude::*;
use ssdtune_model::{Nanos, Sectors};
use std::collections::{BTreeMap, BTreeSet};

fn request(at: u64, lba: u64, sectors: u32, op: Op, tenant: u16) -> Request {
    Request { at: Nanos(at), lba: Sectors(lba), sectors, tenant: TenantId(tenant), op }
}

prop_compose! {
    fn any_request()(
        gap in 0u64..3_000_000,
        lba in 0u64..800,
        sectors in 1u32..40,
        op in prop::sample::select(vec![Op::Read, Op::Write, Op::Write, Op::Trim]),
        tenant in 0u16..2,
        follow in any::<bool>(),
    ) -> (u64, u64, u32, Op, u16, bool) {
        (gap, lba, sectors, op, tenant, follow)
    }
}

fn traces() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(any_request(), 1..200).prop_map(|parts| {
        let mut at = 0;
        let mut ends = BTreeMap::new();
        parts
            .into_iter()
            .map(|(gap, lba, sectors, op, tenant, follow)| {
                at += gap;
                let lba = if follow { *ends.get(&(tenant, op)).unwrap_or(&lba) } else { lba };
                ends.insert((tenant, op), lba + u64::from(sectors));
                request(at, lba, sectors, op, tenant)
            })
            .collect()
    })
}

fn pages(request: &Request) -> impl Iterator<Item = (u16, u64)> {
    let tenant = request.tenant.0;
    (request.lba.0 / 8..=(request.end().0 - 1) / 8).map(move |page| (tenant, page))
}

fn accesses(trace: &[Request]) -> impl Iterator<Item = &Request> {
    trace.iter().filter(|r| matches!(r.op, Op::Read | Op::Write))
}

/// Finds reuse distances by walking back through the references, and the references to each page.
fn reuse_by_force(trace: &[Request]) -> (Vec<Option<u64>>, Vec<u64>) {
    let references: Vec<(u16, u64)> = accesses(trace).flat_map(pages).collect();
    let distances = (0..references.len())
        .map(|i| {
            let before = references[..i].iter().rposition(|page| *page == references[i])?;
            Some(references[before + 1..i].iter().collect::<BTreeSet<_>>().len() as u64)
        })
        .collect();
    let mut counts: BTreeMap<(u16, u64), u64> = BTreeMap::new();
    references.iter().for_each(|page| *counts.entry(*page).or_default() += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    (distances, counts)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #[test]
    fn counts_and_footprint_are_those_of_a_set(trace in traces()) {
        let seen = describe(&trace);
        let count = |op| trace.iter().filter(|r| r.op == op).count() as u64;
        let counts = [count(Op::Read), count(Op::Write), count(Op::Trim)];
        prop_assert_eq!([seen.reads, seen.writes, seen.trims], counts);
        let all: BTreeSet<_> = accesses(&trace).flat_map(pages).collect();
        prop_assert_eq!(seen.footprint.pages, all.len() as u64);
        let written: Vec<_> = trace.iter().filter(|r| r.op == Op::Write).flat_map(pages).collect();
        let distinct: BTreeSet<_> = written.iter().collect();
        prop_assert_eq!(seen.footprint.write_pages, distinct.len() as u64);
        if !written.is_empty() {
            let factor = written.len() as f64 / distinct.len() as f64;
            prop_assert!(close(seen.overwrite_factor, factor));
        }
        let reads = trace.iter().filter(|r| r.op == Op::Read);
        let bytes: u64 = reads.map(|r| u64::from(r.sectors) * 512).sum();
        prop_assert_eq!(seen.read_bytes, bytes);
    }

    #[test]
    fn reuse_distances_and_skew_are_those_of_brute_force(trace in traces()) {
        let seen = describe(&trace);
        let (distances, counts) = reuse_by_force(&trace);
        prop_assert_eq!(seen.reuse.references, distances.len() as u64);
        if distances.is_empty() {
            return Ok(());
        }
        let total = distances.len() as f64;
        let cold = distances.iter().filter(|d| d.is_none()).count() as f64;
        prop_assert!(close(seen.reuse.cold_share, cold / total));
        let mut shares = 0.0;
        for bucket in &seen.reuse.histogram {
            let range = bucket.from_pages..=bucket.to_pages;
            let inside = distances.iter().flatten().filter(|d| range.contains(d)).count() as f64;
            prop_assert!(close(bucket.share, inside / total));
            shares += bucket.share;
        }
        prop_assert!(close(shares + cold / total, 1.0));
        let hottest = counts[..counts.len().div_ceil(10)].iter().sum::<u64>() as f64;
        prop_assert!(close(seen.skew.top_10_share, hottest / counts.iter().sum::<u64>() as f64));
    }

    #[test]
    fn runs_and_strides_are_those_of_a_scan(trace in traces()) {
        let seen = describe(&trace);
        let (mut reads, mut sequential, mut strided) = (0u64, 0u64, 0u64);
        for tenant in 0..2 {
            let reads_of: Vec<&Request> =
                trace.iter().filter(|r| r.op == Op::Read && r.tenant.0 == tenant).collect();
            reads += reads_of.len() as u64;
            sequential += reads_of.windows(2).filter(|w| w[1].lba == w[0].end()).count() as u64;
            strided += reads_of
                .windows(3)
                .filter(|w| {
                    let step = |a: &Request, b: &Request| b.lba.0 as i64 - a.lba.0 as i64;
                    let last = step(w[1], w[2]);
                    last == step(w[0], w[1]) && last != 0 && w[2].lba != w[1].end()
                })
                .count() as u64;
        }
        prop_assert!(close(seen.read_sequence.sequential_share, ratio(sequential, reads)));
        prop_assert!(close(seen.read_sequence.stride_share, ratio(strided, reads)));
        let reads = &seen.read_sequence;
        prop_assert!(reads.near_sequential_share >= reads.sequential_share);
    }

    #[test]
    fn dispersion_is_variance_over_mean_of_window_counts(trace in traces()) {
        let seen = describe(&trace);
        let first = trace[0].at.0;
        let duration = trace.last().unwrap().at.0 - first;
        prop_assert_eq!(seen.duration_ns, duration);
        for at in &seen.arrivals.dispersion {
            let mut counts = vec![0f64; at.windows as usize + 1];
            trace.iter().for_each(|r| counts[((r.at.0 - first) / at.window_ns) as usize] += 1.0);
            counts.truncate(at.windows as usize);
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n;
            let index = variance / mean;
            prop_assert!((at.index - index).abs() < 1e-6, "{} {index}", at.index);
        }
    }
}

#[test]
fn a_small_sample_stays_within_its_bound() {
    // A skewed random stream of references over 50,000 pages. The sample keeps 1,000.
    let mut state = 1u64;
    let mut references = Vec::new();
    for _ in 0..300_000 {
        state = ssdtune_model::split_mix(state);
        let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
        references.push((unit * unit * 50_000.0) as u64);
    }
    let (mut exact, mut sampled) = (Shards::new(1 << 20), Shards::new(1000));
    for &page in &references {
        exact.push(page);
        sampled.push(page);
    }
    let (exact, sampled) = (exact.reuse(), sampled.reuse());
    assert_eq!((exact.sample_rate, exact.error_95), (1.0, 0.0));
    assert!(sampled.sample_rate < 0.05 && sampled.sampled_pages == 1000);
    let below = |of: &ReuseDescription, pages: u64| -> f64 {
        of.histogram.iter().filter(|b| b.to_pages <= pages).map(|b| b.share).sum()
    };
    for bits in [10, 12, 14, 16] {
        let pages = (1u64 << bits) - 1;
        let error = (below(&exact, pages) - below(&sampled, pages)).abs();
        assert!(error <= sampled.error_95, "{bits}: {error} above {}", sampled.error_95);
    }
}

#[test]
fn the_zipf_fit_finds_the_exponent() {
    for theta in [0.5, 0.9, 1.2] {
        let counts: Vec<u64> =
            (1..=2000).map(|rank| (1e7 * f64::from(rank).powf(-theta)) as u64).collect();
        let found = shards::zipf_theta(&counts);
        assert!((found - theta).abs() < 0.01, "{found} for {theta}");
    }
}

#[test]
fn nothing_and_odd_requests_are_described_without_harm() {
    assert_eq!(describe(&[]).requests, 0);
    let odd = [
        request(5, u64::MAX, u32::MAX, Op::Write, u16::MAX),
        request(3, 0, 0, Op::Read, 0),
        request(u64::MAX, 0, 0, Op::Flush, 9),
    ];
    let seen = describe(&odd);
    assert_eq!((seen.requests, seen.tenants, seen.flushes), (3, 3, 1));
    assert!(seen.to_string().contains("overwrite factor"));
}
