//! Tests of whole models, from the text to the stream.

use super::*;
use crate::{Op, Request};
use proptest::prelude::*;
use ssdtune_model::Bytes;

const EVERYTHING: &str = r#"
name = "everything"
aliases = ["all"]
description = "Every key."
source = "none"
guesses = ["all of it"]
requests = 1000

[[tenant]]
name = "a"
[tenant.arrival]
process = "bursty"
rate_bytes_per_s = 40e6
burst_share = 0.2
burst_factor = 3.0
burst_s = 0.05
[tenant.read]
share = 3
size = [
  { bytes = "8 KiB", share = 0.9 },
  { from = "16 KiB", to = "64 KiB", step = "16 KiB", share = 0.1 },
]
working_set = "1 GiB"
cell = "8 KiB"
skew = { kind = "zipf", theta = 0.9, drift_cells_per_million = 1000 }
runs = { share = 0.3, mean_length = 8, streams = 4 }
recent = { share = 0.1, window = 64, of = "writes" }
[tenant.write]
share = 1
size = [{ bytes = "4 KiB" }]
offset = "1 GiB"
working_set = "256 MiB"
skew = { kind = "hot-cold", hot_space = 0.2, hot_share = 0.8 }
stride = { share = 0.2, distance = "64 KiB", mean_length = 4 }
walk_share = 0.25
[tenant.trim]
share = 0.1
size = [{ bytes = "1 MiB" }]
working_set = "256 MiB"
alignment = "1 MiB"
[tenant.flush]
share = 0.05

[[tenant]]
name = "b"
[tenant.read]
share = 1
size = [{ bytes = 512 }]
working_set = "1 MiB"
alignment = 512
[[tenant.phase]]
requests = 50
arrival = { process = "fixed", rate_requests_per_s = 1000 }
[[tenant.phase]]
duration_s = 0.5
arrival = { process = "hyperexponential", rate_requests_per_s = 2000, gap_variation = 2 }
[[tenant.phase]]
requests = 10
[tenant.phase.arrival]
process = "measured"
persistence = 0.5
gaps = [{ from_ns = 1000, to_ns = 2000, share = 1 }, { from_ns = 1e6, to_ns = 2e6, share = 0.5 }]

[[variant]]
name = "footprint-half"
working_set = 0.5

[[variant]]
name = "local-heat"
neighbourhood = "1 MiB"
"#;

fn stream(model: &Model, seed: Seed, n: usize) -> Vec<Request> {
    Generator::new(model, seed).unwrap().take(n).collect()
}

fn single(body: &str) -> Model {
    let head =
        "name = \"t\"\nrequests = 1\n[arrival]\nprocess = \"poisson\"\nrate_requests_per_s = 1e4\n";
    parse(&format!("{head}{body}"), "test").unwrap()
}

#[test]
fn text_survives_a_round_trip() {
    let model = parse(EVERYTHING, "test").unwrap();
    let text = model.to_toml("A header.\n\nWith a gap.");
    assert!(text.starts_with("# A header.\n#\n# With a gap.\n"));
    assert_eq!(parse(&text, "again").unwrap(), model, "{text}");
}

#[test]
fn the_example_of_the_documentation_is_legal() {
    let page = include_str!("../../../../docs/workload-models.md");
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let model = parse(example, "docs").unwrap_or_else(|error| panic!("{error}"));
    assert!(model.variant("footprint-half").is_some());
}

#[test]
fn every_fault_is_listed_with_its_line_and_the_nearest_key() {
    let text = "name = \"t\"\nrequests = 10\n[arrival]\nproces = \"poisson\"\n\
                rate_requests_per_s = 5\n[read]\nshare = \"much\"\n\
                size = [{ bytes = \"4 kB\" }]\nworking_set = \"1 GiB\"\nzzz = 1\n";
    let error = parse(text, "bad.toml").unwrap_err();
    let shown = error.to_string();
    for part in [
        "bad.toml:4: `arrival.proces`: unknown key; did you mean `process`?",
        "bad.toml:7: `read.share`: expected a number",
        "bad.toml:8: `read.size[0].bytes`: expected bytes",
        "bad.toml:10: `read.zzz`: unknown key; legal here: ",
        "bad.toml:3: `arrival`: `process` is missing",
    ] {
        assert!(shown.contains(part), "{part} not in\n{shown}");
    }
    assert_eq!(error.faults.len(), 5, "{shown}");
}

#[test]
fn values_out_of_range_are_faults_on_their_lines() {
    let text = EVERYTHING
        .replace("burst_factor = 3.0", "burst_factor = 9.0")
        .replace("window = 64", "window = 63")
        .replace("duration_s = 0.5", "duration_s = -1");
    let shown = parse(&text, "bad").unwrap_err().to_string();
    let line = |needle: &str| text.lines().position(|l| l.contains(needle)).unwrap() + 1;
    for (needle, key) in [
        ("burst_factor", "tenant[0].arrival.burst_factor"),
        ("window = 63", "tenant[0].read.recent.window"),
        ("duration_s", "tenant[1].phase[1].duration_s"),
    ] {
        let expected = format!("bad:{}: `{key}`", line(needle));
        assert!(shown.contains(&expected), "{expected} not in\n{shown}");
    }
}

#[test]
fn broken_toml_is_one_fault_with_a_line() {
    let error = parse("name = \"t\"\nrequests = = 3\n", "bad").unwrap_err();
    assert_eq!(error.faults.len(), 1);
    assert_eq!(error.faults[0].line, Some(2));
}

#[test]
fn one_seed_gives_one_stream_and_sets_share_nothing() {
    let model = parse(EVERYTHING, "test").unwrap();
    let seed = |set| Seed { set, index: 7 };
    let training = stream(&model, seed(SeedSet::Training), 5000);
    assert_eq!(training, stream(&model, seed(SeedSet::Training), 5000));
    for set in [SeedSet::Validation, SeedSet::HeldOut] {
        let other = stream(&model, seed(set), 5000);
        let same = training.iter().zip(&other).filter(|(a, b)| a.at == b.at).count();
        assert!(same < 50, "{same} requests at the same times in {set:?}");
    }
}

#[test]
fn a_neighbourhood_keeps_hot_cells_together() {
    let body = "[write]\nshare = 1\nsize = [{ bytes = \"4 KiB\" }]\nworking_set = \"65 MiB\"\n\
                skew = { kind = \"zipf\", theta = 1 }\n";
    // Writes of each whole MiB, and the MiB of each page.
    let share_of_hottest = |model: &Model| {
        let mut writes = vec![0_u32; 65];
        for request in stream(model, Seed::default(), 20_000) {
            writes[(request.lba.0 / 2_048) as usize] += 1;
        }
        f64::from(writes.into_iter().max().unwrap()) / 20_000.0
    };
    let (scattered, near) = (single(body), single(&format!("{body}neighbourhood = \"1 MiB\"\n")));
    // 256 of 16,640 ranks take ln 256 / ln 16,640 = 57 % and more of the draws.
    assert!(share_of_hottest(&near) > 0.55, "{}", share_of_hottest(&near));
    assert!(share_of_hottest(&scattered) < 0.25, "{}", share_of_hottest(&scattered));
    // A walk still visits every cell once, those after the last whole neighbourhood too.
    let body = body.replace("65 MiB", "65792 KiB");
    let walk = single(&format!("{body}neighbourhood = \"1 MiB\"\nwalk_share = 1\n"));
    let places: std::collections::BTreeSet<u64> =
        stream(&walk, Seed::default(), 16_448).iter().map(|request| request.lba.0).collect();
    assert_eq!(places.len(), 16_448);
    let odd = format!("{body}neighbourhood = 6000\n");
    let head =
        "name = \"t\"\nrequests = 1\n[arrival]\nprocess = \"poisson\"\nrate_requests_per_s = 1e4\n";
    let message = parse(&format!("{head}{odd}"), "test").unwrap_err().to_string();
    assert!(message.contains("6000 is not a multiple of the cell 4096"), "{message}");
}

#[test]
fn a_variant_moves_places_but_not_times() {
    let model = parse(EVERYTHING, "test").unwrap();
    let half = model.variant("footprint-half").unwrap();
    assert_eq!(half.tenants[0].phases[0].read.as_ref().unwrap().working_set, Bytes(1 << 29));
    let (a, b) = (stream(&model, Seed::default(), 2000), stream(&half, Seed::default(), 2000));
    assert!(a.iter().zip(&b).all(|(a, b)| (a.at, a.op) == (b.at, b.op)));
    assert!(a.iter().zip(&b).any(|(a, b)| a.lba != b.lba));
    assert!(model.variant("absent").is_none());
}

#[test]
fn requests_are_ordered_aligned_and_inside_their_regions() {
    let model = parse(EVERYTHING, "test").unwrap();
    let requests = stream(&model, Seed::default(), 50_000);
    assert!(requests.windows(2).all(|w| w[0].at <= w[1].at));
    for request in &requests {
        let (start, end) = (request.lba.bytes().0, request.end().bytes().0);
        match (request.tenant.0, request.op) {
            (_, Op::Flush) => assert_eq!((start, end), (0, 0)),
            (0, Op::Write) => assert!(start >= 1 << 30 && end <= (1 << 30) + (256 << 20)),
            (0, Op::Trim) => assert!(start % (1 << 20) == 0 && end <= 256 << 20),
            (0, Op::Read) => assert!(start % 4096 == 0 && end <= (1 << 30) + (256 << 20)),
            _ => assert!(end <= 1 << 20 && request.sectors == 1),
        }
    }
}

#[test]
fn mix_and_bytes_come_out_as_the_totals_say() {
    let model = parse(EVERYTHING, "test").unwrap();
    let n = 400_000;
    let totals = model.totals(n as u64);
    let requests = stream(&model, Seed::default(), n);
    let count = |op| requests.iter().filter(|r| r.op == op).count() as f64;
    let bytes =
        |op| requests.iter().filter(|r| r.op == op).map(|r| r.sectors as f64 * 512.0).sum::<f64>();
    // A read that repeats a write has the size of the write: 10 % of the reads of tenant a.
    for (seen, expected, slack) in [
        (count(Op::Read), totals.reads, 0.03),
        (count(Op::Write), totals.writes, 0.05),
        (bytes(Op::Write), totals.write_bytes, 0.05),
    ] {
        assert!((seen / expected - 1.0).abs() < slack, "{seen} against {expected}");
    }
}

#[test]
fn a_pure_run_is_sequential_and_wraps() {
    let model = single(
        "[write]\nshare = 1\nsize = [{ bytes = \"16 KiB\" }]\nworking_set = \"160 KiB\"\n\
         runs = { share = 1, mean_length = 1 }\n",
    );
    let requests = stream(&model, Seed::default(), 25);
    for (index, request) in requests.iter().enumerate() {
        assert_eq!(request.lba.0, (index as u64 % 10) * 32);
    }
}

#[test]
fn a_walk_touches_every_cell_once_a_lap() {
    let model = single(
        "[write]\nshare = 1\nsize = [{ bytes = \"4 KiB\" }]\nworking_set = \"4000 KiB\"\n\
         walk_share = 1\n",
    );
    let requests = stream(&model, Seed::default(), 3000);
    for lap in requests.chunks(1000) {
        let mut seen: Vec<u64> = lap.iter().map(|r| r.lba.0 / 8).collect();
        assert!(seen.windows(2).filter(|w| w[1] == w[0] + 1).count() < 20, "in order of address");
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(i, &cell)| cell == i as u64));
    }
}

#[test]
fn run_and_stride_shares_are_what_was_asked() {
    let model = single(
        "[read]\nshare = 1\nsize = [{ bytes = \"4 KiB\" }]\nworking_set = \"1 TiB\"\n\
         runs = { share = 0.5, mean_length = 4 }\n\
         stride = { share = 0.2, distance = \"1 MiB\", mean_length = 6 }\n",
    );
    let requests = stream(&model, Seed::default(), 200_000);
    let share = |ok: &dyn Fn(&Request, &Request) -> bool| {
        requests.windows(2).filter(|w| ok(&w[0], &w[1])).count() as f64 / 199_999.0
    };
    let run = share(&|a, b| b.lba == a.end());
    let stride = share(&|a, b| b.lba.0 == a.lba.0 + 2048);
    assert!((run - 0.5).abs() < 0.01, "{run}");
    assert!((stride - 0.2).abs() < 0.01, "{stride}");
}

#[test]
fn repeats_copy_a_recent_extent() {
    let model = single(
        "[write]\nshare = 1\nsize = [{ from = \"4 KiB\", to = \"64 KiB\" }]\n\
         working_set = \"1 TiB\"\nrecent = { share = 0.4, window = 256, of = \"writes\" }\n",
    );
    let requests = stream(&model, Seed::default(), 100_000);
    let extent = |r: &Request| (r.lba, r.sectors);
    let repeats = requests
        .windows(257)
        .filter(|w| w[..256].iter().any(|r| extent(r) == extent(&w[256])))
        .count() as f64;
    let share = repeats / (requests.len() - 256) as f64;
    assert!((share - 0.4).abs() < 0.01, "{share}");
}

#[test]
fn drift_moves_the_hot_set() {
    let body = "[write]\nshare = 1\nsize = [{ bytes = \"4 KiB\" }]\nworking_set = \"40 MiB\"\n\
                skew = { kind = \"hot-cold\", hot_space = 0.01, hot_share = 1.0, \
                drift_cells_per_million = ";
    let hot = |drift: &str| {
        let requests = stream(&single(&format!("{body}{drift} }}\n")), Seed::default(), 40_000);
        let cells = |part: &[Request]| {
            part.iter().map(|r| r.lba.0 / 8).collect::<std::collections::BTreeSet<_>>()
        };
        let (early, late) = (cells(&requests[..10_000]), cells(&requests[30_000..]));
        early.intersection(&late).count()
    };
    assert_eq!(hot("0"), 102);
    // 30,000 draws at 20,000 cells per million rotate the ranking by 600 cells, past the 102 hot
    // ones.
    assert_eq!(hot("20000"), 0);
}

proptest! {
    #[test]
    fn no_text_panics(text in "[\\[\\]a-z_=0-9.\"{},\n -]{0,300}") {
        let _ = parse(&text, "fuzz");
    }

    #[test]
    fn no_number_panics(
        key in prop::sample::select(vec![
            "share", "working_set", "burst_factor", "burst_s", "theta", "mean_length", "window",
            "requests", "gap_variation", "walk_share", "drift_cells_per_million",
            "rate_bytes_per_s",
        ]),
        value in prop::sample::select(vec![
            "0", "-1", "1", "1e300", "1e17", "inf", "nan", "9223372036854775807", "0.5", "512",
            "\"8 TiB\"",
        ]),
    ) {
        let mut changed = String::new();
        for line in EVERYTHING.lines() {
            match line.find(&format!("{key} = ")) {
                Some(at) => {
                    let rest = &line[at..];
                    let end = rest.find([',', '}']).unwrap_or(rest.len());
                    changed.push_str(&format!("{}{key} = {value} {}\n", &line[..at], &rest[end..]));
                }
                None => { changed.push_str(line); changed.push('\n'); }
            }
        }
        if let Ok(model) = parse(&changed, "fuzz") {
            let requests = stream(&model, Seed::default(), 200);
            prop_assert!(requests.iter().all(|r| r.end().0 < 1 << 54));
        }
    }
}
