//! Tests of the bundled models: every model is legal, and those that were fitted to published
//! tables generate what the tables print.

use super::super::{Generator, Seed, parse};
use super::*;
use crate::{Op, describe::Describer};

#[test]
fn the_list_is_the_folder_and_the_aliases_are_those_of_the_files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".toml").map(str::to_owned)
        })
        .collect();
    files.sort();
    assert_eq!(names().collect::<Vec<_>>(), files);
    let mut aliases: Vec<(String, &str)> = TEXTS
        .iter()
        .flat_map(|(name, text)| {
            parse(text, name).unwrap().aliases.into_iter().map(move |alias| (alias, *name))
        })
        .collect();
    aliases.sort();
    let listed: Vec<(String, &str)> = ALIASES.iter().map(|(a, n)| ((*a).to_owned(), *n)).collect();
    assert_eq!(listed, aliases);
    assert!(ALIASES.iter().all(|(alias, _)| !names().any(|name| name == *alias)));
}

#[test]
fn every_model_and_variant_is_legal_and_states_its_sources() {
    for (name, text) in TEXTS {
        let model = bundled(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.name, *name);
        assert!(!model.source.is_empty() && !model.guesses.is_empty(), "{name}");
        assert!(text.starts_with("# ") && text.contains("# Fitted to: "), "{name}");
        for variant in &model.variants {
            let varied = bundled(&format!("{name}@{}", variant.name)).unwrap();
            assert!(Generator::new(&varied, Seed::default()).unwrap().nth(1000).is_some());
        }
        // A guess about the footprint must come with variants to check how much depends on it.
        if model.guesses.iter().any(|guess| guess.starts_with("footprint")) {
            let has = |wanted: &str| model.variants.iter().any(|v| v.name == wanted);
            assert!(has("footprint-half") && has("footprint-double"), "{name}");
        }
    }
}

#[test]
fn unknown_names_and_variants_say_what_is_near() {
    assert_eq!(bundled("tpcc").unwrap().name, "database");
    let message = bundled("prxy0").unwrap_err().to_string();
    assert!(message.contains("did you mean `prxy_0`?"), "{message}");
    let message = bundled("prxy_0@huge").unwrap_err().to_string();
    assert!(message.contains("footprint-double"), "{message}");
}

/// Checks that a generated value is at most `slack` from the printed one.
fn near(name: &str, what: &str, generated: f64, printed: f64, slack: f64) {
    let error = (generated - printed).abs();
    assert!(error <= slack, "{name}: {what} {generated} against {printed} in the table");
}

/// HAML-SSD, Table IV: millions of writes and of reads, GiB written and read.
const HAML: [(&str, [f64; 4]); 13] = [
    ("prn_1", [2.77, 8.46, 30.78, 181.35]),
    ("proj_1", [2.50, 21.14, 25.58, 750.36]),
    ("usr_2", [1.99, 8.58, 26.47, 415.28]),
    ("prxy_0", [12.14, 0.38, 53.80, 3.05]),
    ("proj_0", [3.70, 0.53, 144.27, 8.97]),
    ("ts_0", [1.49, 0.32, 11.34, 4.13]),
    ("usr_1", [3.86, 41.43, 56.13, 2079.23]),
    ("stg_1", [0.80, 1.40, 5.99, 79.52]),
    ("wdev_0", [0.91, 0.23, 7.14, 2.75]),
    ("web_2", [0.04, 5.14, 0.78, 262.82]),
    ("systor_lun0", [20.65, 47.03, 350.31, 1257.44]),
    ("systor_lun1", [17.91, 49.16, 338.89, 1456.00]),
    ("systor_lun3", [17.56, 50.82, 315.06, 1323.51]),
];

#[test]
fn haml_volumes_have_the_counts_and_volumes_of_table_iv() {
    for (name, [writes, reads, write_gb, read_gb]) in HAML {
        let model = bundled(name).unwrap();
        let totals = model.totals(model.requests);
        // The table rounds counts to 10,000, and the model shares to six decimals.
        near(name, "writes", totals.writes / 1e6, writes, 0.005 + writes * 1e-3);
        near(name, "reads", totals.reads / 1e6, reads, 0.005 + reads * 1e-3);
        let gb = |bytes: f64| bytes / f64::from(1 << 30);
        near(name, "written", gb(totals.write_bytes), write_gb, 0.005 + write_gb * 1e-3);
        near(name, "read", gb(totals.read_bytes), read_gb, 0.005 + read_gb * 1e-3);
        generates_its_totals(name);
    }
}

/// SSDKeeper, Table II: percentage of writes, percentage of reads, number of requests.
const KEEPER: [(&str, [f64; 3]); 6] = [
    ("mds_0", [88.0, 12.0, 1_211_034.0]),
    ("mds_1", [7.0, 93.0, 1_637_711.0]),
    ("rsrch_0", [91.0, 9.0, 1_433_654.0]),
    ("prxy_0", [97.0, 3.0, 12_518_968.0]),
    ("src_1", [5.0, 95.0, 45_746_222.0]),
    ("web_2", [1.0, 99.0, 5_175_367.0]),
];

#[test]
fn keeper_volumes_have_the_mix_and_counts_of_table_ii() {
    for (name, [writes, reads, requests]) in KEEPER {
        let model = bundled(name).unwrap();
        let totals = model.totals(model.requests);
        let all = totals.reads + totals.writes;
        near(name, "write %", 100.0 * totals.writes / all, writes, 0.5);
        near(name, "read %", 100.0 * totals.reads / all, reads, 0.5);
        // Table IV of HAML-SSD gives the counts of the same volumes, rounded to 10,000.
        near(name, "requests", model.requests as f64, requests, 5_500.0);
        generates_its_totals(name);
    }
}

/// "Learned performance model", Table 4: thousands of requests, percentage of writes, percentage of
/// reads, written footprint, read footprint, data written and data read (the last four in GiB).
const LPM: [(&str, [f64; 7]); 15] = [
    ("lpm-sequential-read", [10000.0, 0.0, 100.0, 0.0, 152.6, 0.0, 152.6]),
    ("lpm-sequential-write", [10000.0, 100.0, 0.0, 152.6, 0.0, 152.6, 0.0]),
    ("lpm-random-read", [10000.0, 0.0, 100.0, 0.0, 152.6, 0.0, 152.6]),
    ("lpm-random-write", [10000.0, 100.0, 0.0, 152.6, 0.0, 152.6, 0.0]),
    ("lpm-ycsb-a", [1240.0, 41.0, 59.0, 3.8, 4.0, 3.9, 5.6]),
    ("lpm-ycsb-b", [951.0, 34.0, 66.0, 2.4, 3.4, 2.4, 4.8]),
    ("lpm-ycsb-c", [912.0, 33.0, 67.0, 2.2, 3.3, 2.3, 4.7]),
    ("lpm-ycsb-d", [849.0, 36.0, 64.0, 2.3, 3.2, 2.3, 4.2]),
    ("lpm-ycsb-e", [834.0, 37.0, 63.0, 2.3, 3.3, 2.3, 4.0]),
    ("lpm-ycsb-f", [1245.0, 41.0, 59.0, 3.8, 4.0, 3.9, 5.6]),
    ("lpm-fileserver", [3258.0, 100.0, 0.0, 21.7, 0.0, 518.8, 0.0]),
    ("lpm-tpcc", [637.0, 52.0, 48.0, 1.1, 2.1, 2.5, 2.3]),
    ("lpm-varmail", [1305.0, 100.0, 0.0, 4.2, 0.0, 16.0, 0.0]),
    ("lpm-webserver", [1877.0, 100.0, 0.0, 60.5, 0.0, 228.4, 0.0]),
    ("lpm-linkbench", [2225.0, 86.0, 14.0, 4.8, 1.9, 14.6, 2.3]),
];

#[test]
fn learned_model_workloads_have_the_data_and_footprints_of_table_4() {
    for (name, [records, writes, reads, write_fp, read_fp, write_gib, read_gib]) in LPM {
        let model = bundled(name).unwrap();
        near(name, "requests", model.requests as f64, records * 1000.0, 0.0);
        let totals = model.totals(model.requests);
        let all = totals.reads + totals.writes;
        near(name, "write %", 100.0 * totals.writes / all, writes, 0.5);
        near(name, "read %", 100.0 * totals.reads / all, reads, 0.5);
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        near(name, "written", gib(totals.write_bytes), write_gib, 0.05);
        near(name, "read", gib(totals.read_bytes), read_gib, 0.05);
        // The streams of ten million requests never return to a cell: their footprint is their
        // data.
        if model.requests > 4_000_000 {
            continue;
        }
        let mut describer = Describer::new();
        let stream = Generator::new(&model, Seed::default()).unwrap();
        for request in stream.take(model.requests as usize) {
            describer.push_footprint(&request);
        }
        let seen = describer.finish().footprint;
        // The table prints one decimal. Random draws miss or repeat a percent or two of the cells.
        let gib = |pages: u64| pages as f64 / f64::from(1 << 18);
        near(name, "written footprint", gib(seen.write_pages), write_fp, 0.05 + 0.03 * write_fp);
        near(name, "read footprint", gib(seen.read_pages), read_fp, 0.05 + 0.03 * read_fp);
    }
}

/// Checks that a sample of the stream adds up to the totals of the model, within five standard
/// errors plus 2 %.
fn generates_its_totals(name: &str) {
    let model = bundled(name).unwrap();
    let n = 200_000u64;
    let totals = model.totals(n);
    let (mut counts, mut bytes) = ([0.0; 2], [0.0; 2]);
    for request in Generator::new(&model, Seed::default()).unwrap().take(n as usize) {
        let op = usize::from(request.op == Op::Write);
        counts[op] += 1.0;
        bytes[op] += f64::from(request.sectors) * 512.0;
    }
    let slack = |total: f64, count: f64| total * (0.02 + 5.0 / count.sqrt());
    near(name, "sampled reads", counts[0], totals.reads, slack(totals.reads, totals.reads));
    near(name, "sampled writes", counts[1], totals.writes, slack(totals.writes, totals.writes));
    near(
        name,
        "sampled read bytes",
        bytes[0],
        totals.read_bytes,
        slack(totals.read_bytes, totals.reads),
    );
    near(
        name,
        "sampled written bytes",
        bytes[1],
        totals.write_bytes,
        slack(totals.write_bytes, totals.writes),
    );
}
