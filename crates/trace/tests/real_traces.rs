//! Checks that real samples of traces have the figures of their published table. Needs the folder
//! of shared traces; without it the tests pass and say so.

// An overwrite factor of the table is 3.14.
#![allow(clippy::approx_constant)]

use ssdtune_trace::Devices;
use ssdtune_trace::{Op, ReadOptions, Request, Source, open};
use std::path::PathBuf;

/// The folder of samples: in `SSDTUNE_SHARED`, or in `../shared` beside the workspace.
fn traces_dir() -> Option<PathBuf> {
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
    let shared = std::env::var_os("SSDTUNE_SHARED").map_or(beside, PathBuf::from);
    let dir = shared.join("traces");
    if dir.is_dir() {
        return Some(dir);
    }
    println!(
        "skipped: no folder of real traces (set SSDTUNE_SHARED to the folder that holds `traces`)"
    );
    assert!(std::env::var("CI").as_deref() != Ok("true"), "the real traces must be present in CI");
    None
}

/// The figures of one sample in the table, as far as they can be checked on any trace.
struct Expected {
    file: &'static str,
    format: &'static str,
    rows: usize,
    duration_s: f64,
    read_percent: f64,
    mean_kib: f64,
    pages: u64,
    written_gb: f64,
    read_gb: f64,
    overwrite: f64,
    /// Lines that lenient reading skips.
    skipped: u64,
}

/// The figures of a trace, counted directly.
#[derive(Default)]
struct Measured {
    reads: u64,
    written: u64,
    read: u64,
    pages: u64,
    page_writes: u64,
    pages_written: u64,
}

fn measure(requests: &[Request]) -> Measured {
    let mut m = Measured::default();
    let (mut touched, mut dirty) = (Vec::new(), Vec::new());
    for r in requests {
        let bytes = u64::from(r.sectors) * 512;
        let pages = (r.tenant.0, r.lba.0 / 8, (r.end().0).div_ceil(8));
        match r.op {
            Op::Read => {
                m.reads += 1;
                m.read += bytes;
                touched.push(pages);
            }
            Op::Write => {
                m.written += bytes;
                m.page_writes += pages.2 - pages.1;
                dirty.push(pages);
                touched.push(pages);
            }
            Op::Trim | Op::Flush => {}
        }
    }
    m.pages = union(touched);
    m.pages_written = union(dirty);
    m
}

/// The number of pages in at least one of the ranges (tenant, first page, end).
fn union(mut ranges: Vec<(u16, u64, u64)>) -> u64 {
    ranges.sort_unstable();
    let (mut pages, mut covered) = (0, (0, 0));
    for (tenant, first, end) in ranges {
        let first = if covered.0 == tenant { first.max(covered.1) } else { first };
        pages += end.saturating_sub(first);
        covered = if covered.0 == tenant { (tenant, end.max(covered.1)) } else { (tenant, end) };
    }
    pages
}

#[test]
fn pages_in_several_ranges_count_once() {
    assert_eq!(union(vec![(0, 5, 9), (0, 0, 6), (0, 1, 2), (1, 1, 2), (0, 12, 13)]), 9 + 1 + 1);
    assert_eq!(union(vec![(0, 0, 10), (0, 2, 3), (0, 4, 11)]), 11);
}

/// Whether `value` differs from `expected` by at most one unit of the last decimal. The table
/// rounds some figures up and others down.
fn near(value: f64, expected: f64, decimals: i32) -> bool {
    let tolerance = if decimals == 0 { 0.5 } else { 10f64.powi(-decimals) };
    (value - expected).abs() <= tolerance + 1e-9
}

fn check(expected: &Expected) {
    let Some(dir) = traces_dir() else { return };
    let options = ReadOptions { lenient: expected.skipped > 0, ..ReadOptions::default() };
    let mut trace = open(dir.join(expected.file), &options).expect("opens");
    assert_eq!(trace.format().name(), expected.format, "{}", expected.file);
    let requests = trace.read_all().expect("reads to its end");
    assert_eq!(trace.stats().skipped, expected.skipped, "{:?}", trace.stats());
    assert!(requests.is_sorted_by_key(|r| r.at));
    assert_eq!(requests.first().map(|r| r.at.0), Some(0));
    let m = measure(&requests);
    let rows = requests.len();
    let data = requests.iter().filter(|r| matches!(r.op, Op::Read | Op::Write)).count();
    assert_eq!(data, expected.rows, "rows of {}", expected.file);
    let duration_s = requests[rows - 1].at.0 as f64 / 1e9;
    let whole = expected.duration_s.fract() == 0.0;
    let figures = [
        ("duration", duration_s, expected.duration_s, if whole { 0 } else { 2 }),
        ("read %", 100.0 * m.reads as f64 / rows as f64, expected.read_percent, 1),
        ("mean KiB", (m.read + m.written) as f64 / 1024.0 / rows as f64, expected.mean_kib, 1),
        ("GB written", m.written as f64 / 1e9, expected.written_gb, 2),
        ("GB read", m.read as f64 / 1e9, expected.read_gb, 2),
        ("pages", m.pages as f64, expected.pages as f64, 0),
        (
            "overwrite x",
            m.page_writes as f64 / m.pages_written.max(1) as f64,
            expected.overwrite,
            2,
        ),
    ];
    for (name, measured, table, decimals) in figures {
        // A trace without writes has no overwrite factor.
        if name == "overwrite x" && m.page_writes == 0 {
            continue;
        }
        assert!(
            near(measured, table, decimals),
            "{}: {name} {measured}, not {table}",
            expected.file
        );
    }
}

/// Makes a test of each sample. A sample is its file and format, then its figures in the order of
/// the fields of [`Expected`].
macro_rules! samples {
    (
        $($test:ident: $file:literal, $format:literal,
            $rows:literal, $duration:literal, $read:literal, $mean:literal, $pages:literal,
            $written:literal, $read_gb:literal, $overwrite:literal, skipped $skipped:literal;
        )*
    ) => {
        $(#[test] fn $test() {
            check(&Expected {
                file: $file,
                format: $format,
                rows: $rows,
                duration_s: $duration,
                read_percent: $read,
                mean_kib: $mean,
                pages: $pages,
                written_gb: $written,
                read_gb: $read_gb,
                overwrite: $overwrite,
                skipped: $skipped,
            });
        })*
    };
}

samples! {
    mobile_telegram_exec: "mobile_telegram_exec.csv.xz", "mobile",
        251_879, 7474.0, 9.6, 24.4, 1_021_153, 4.79, 1.51, 1.20, skipped 0;
    mobile_telegram_precond: "mobile_telegram_precond.csv.xz", "mobile",
        5_320, 1035.0, 0.0, 27.0, 31_820, 0.15, 0.00, 1.13, skipped 0;
    mobile_slideshow_precond: "mobile_slideshow_precond.csv.xz", "mobile",
        332_321, 4963.0, 0.0, 197.2, 16_151_139, 67.12, 0.00, 1.01, skipped 0;
    mobile_slideshow_exec: "mobile_slideshow_exec.csv.xz", "mobile",
        84_197, 65426.0, 92.3, 34.8, 497_431, 0.17, 2.84, 1.41, skipped 0;
    mobile_you_cut_exec: "mobile_you_cut_exec.csv.xz", "mobile",
        313_826, 1098.0, 87.0, 104.1, 2_657_584, 0.22, 33.24, 4.07, skipped 0;
    blkreplay_mssql: "blkreplay_windows-mssql.load.xz", "blkreplay",
        42_976, 3062.0, 5.9, 24.0, 154_742, 1.00, 0.05, 1.67, skipped 0;
    blkreplay_webserver: "blkreplay_linux-webserver-2.load.xz", "blkreplay",
        269_007, 3601.0, 55.4, 17.0, 488_036, 1.12, 3.58, 3.66, skipped 0;
    hadoop_csv: "hadoop_eternity10_D.csv.xz", "hadoop",
        137_358, 169.0, 99.4, 288.6, 9_908_918, 0.02, 40.56, 1.05, skipped 0;
    cloudphysics: "cloudphysics_libcachesim.vscsi.xz", "vscsi",
        113_872, 7200.0, 41.3, 36.1, 269_210, 2.41, 1.80, 3.14, skipped 0;
    disksim_iozone: "disksim_iozone-aligned2-100K.trace.xz", "disksim",
        100_000, 936.0, 0.0, 359.9, 271_320, 36.86, 0.00, 33.16, skipped 0;
    disksim_postmark: "disksim_postmark-aligned2.trace.xz", "disksim",
        62_257, 490.0, 83.2, 222.3, 1_533_388, 8.94, 5.24, 1.42, skipped 0;
    llm_opt7b: "llm_opt7b_512tok.trace.xz", "mqsim",
        36_873, 34.0, 86.4, 147.8, 1_361_958, 2.43, 3.15, 1.00, skipped 0;
    diskmon: "diskmon_mayun2.txt.xz", "diskmon",
        87_160, 11720.0, 42.1, 19.7, 210_304, 0.94, 0.81, 2.11, skipped 0;
    ssdsim: "ssdsim_example.ascii.xz", "mqsim",
        10_000, 260.0, 40.8, 5.4, 7_322, 0.03, 0.03, 3.32, skipped 0;
    mqsim_wsrch: "mqsim_wsrch-small.trace.xz", "mqsim",
        24_783, 60.0, 100.0, 15.1, 93_029, 0.00, 0.38, 2.00, skipped 0;
    mqsim_tpcc: "mqsim_tpcc-small.trace", "mqsim",
        6_999, 0.14, 62.6, 8.3, 20_470, 0.02, 0.04, 1.01, skipped 0;
    heimdall: "heimdall_msr.cut.per_10k.rw_20_80.105.trace.xz", "heimdall",
        10_000, 243.0, 20.2, 5.4, 7_385, 0.05, 0.00, 2.45, skipped 0;
    tencent: "caffeine_tencent_cloud_storage-sample.csv.xz", "tencent",
        50_000, 1.0, 49.0, 29.7, 348_239, 0.87, 0.65, 1.03, skipped 0;
    msr: "caffeine_msr-cambridge1-sample.csv", "msr",
        1_000, 127.0, 50.8, 9.5, 1_917, 0.00, 0.01, 1.97, skipped 0;
    systor: "caffeine_systor17-traces-sample.csv", "systor17",
        999, 2.45, 82.7, 38.2, 9_831, 0.00, 0.04, 1.12, skipped 0;
    systor_additional: "caffeine_systor17-additional-sample.csv", "systor17",
        999, 1.33, 70.1, 20.2, 5_460, 0.00, 0.02, 1.20, skipped 0;
    fiu_mail: "fiu_mail_cheetah_10k.blkparse.xz", "fiu",
        9_997, 24.0, 89.0, 4.0, 9_201, 0.01, 0.04, 1.23, skipped 4;
    ycsb_blkparse: "ycsb_blkparse_ext4.txt.xz", "blkparse",
        9_886, 810.0, 91.4, 128.4, 317_131, 0.25, 1.05, 1.00, skipped 1;
    wiscsee: "wiscsee_sqlitewal_ext4.txt.xz", "wiscsee",
        5_007, 1.41, 0.1, 13.5, 2_174, 0.07, 0.00, 7.78, skipped 0;
}

#[test]
fn strict_reading_stops_at_the_junk_before_a_trace() {
    let Some(dir) = traces_dir() else { return };
    let mut trace =
        open(dir.join("fiu_mail_cheetah_10k.blkparse.xz"), &ReadOptions::default()).expect("opens");
    let error = trace.read_all().map(|all| all.len()).expect_err("junk in line 1").to_string();
    assert!(error.contains("line 1") && error.contains("--lenient"), "{error}");
}

#[test]
fn strict_reading_stops_at_a_time_stamp_forty_years_off() {
    let Some(dir) = traces_dir() else { return };
    let mut trace =
        open(dir.join("ycsb_blkparse_ext4.txt.xz"), &ReadOptions::default()).expect("opens");
    let error =
        trace.read_all().map(|all| all.len()).expect_err("a damaged time stamp").to_string();
    assert!(error.contains("line ") && error.contains("--max-gap"), "{error}");
}

#[test]
fn out_of_order_rows_beyond_the_window_name_their_line() {
    let Some(dir) = traces_dir() else { return };
    let options = ReadOptions { reorder_window: 1, max_line_bytes: 512, ..ReadOptions::default() };
    let mut trace = open(dir.join("caffeine_systor17-traces-sample.csv"), &options).expect("opens");
    let error = trace
        .read_all()
        .map(|all| all.len())
        .expect_err("rows are in order of completion")
        .to_string();
    assert!(error.contains("line ") && error.contains("--reorder-window"), "{error}");
}

#[test]
fn one_volume_of_a_trace_of_many() {
    let Some(dir) = traces_dir() else { return };
    let path = dir.join("mqsim_wsrch-small.trace.xz");
    let all = open(&path, &ReadOptions::default()).and_then(|mut t| t.read_all()).expect("reads");
    let only = Devices::Only(vec!["2".into()]);
    let mut trace =
        open(&path, &ReadOptions { devices: only, ..ReadOptions::default() }).expect("opens");
    let mut two = Vec::new();
    while trace.fill(&mut two).expect("reads") > 0 {}
    assert_eq!(two.len() as u64 + trace.stats().deselected, all.len() as u64);
    assert!(two.iter().all(|r| r.tenant.0 == 0) && !two.is_empty());
    let only = Devices::Only(vec!["77".into()]);
    let mut trace =
        open(&path, &ReadOptions { devices: only, ..ReadOptions::default() }).expect("opens");
    let error = trace.read_all().map(|all| all.len()).expect_err("no such device").to_string();
    assert!(error.contains("`77`") && error.contains("0, 1, 2"), "{error}");
}

/// The binary files of all CPUs, merged, give the same requests as the decoded CSV of the trace.
#[test]
fn hadoop_raw_blktrace_agrees_with_its_csv() {
    use ssdtune_trace::merge::{blktrace_files, open_blktrace};
    let Some(dir) = traces_dir() else { return };
    let unpacked = tempfile::tempdir().expect("a directory");
    let status = std::process::Command::new("tar")
        .arg("-xJf")
        .arg(dir.join("hadoop_eternity10_raw_blktrace.tar.xz"))
        .arg("-C")
        .arg(unpacked.path())
        .status();
    if !status.is_ok_and(|s| s.success()) {
        println!("skipped: no tar with xz here");
        return;
    }
    let files = blktrace_files(&unpacked.path().join("eternity10")).expect("lists");
    let mut merged = open_blktrace(&files, &ReadOptions::default()).expect("opens");
    let mut raw = Vec::new();
    while merged.fill(&mut raw).expect("reads") > 0 {}
    let csv = open(dir.join("hadoop_eternity10_D.csv.xz"), &ReadOptions::default())
        .and_then(|mut t| t.read_all())
        .expect("reads");
    assert_eq!(raw.len(), 137_358);
    // Requests at the same time on different CPUs have no order among themselves.
    let sorted = |mut all: Vec<Request>| {
        all.sort_by_key(|r| (r.at, r.lba, r.sectors, r.op));
        all
    };
    assert!(sorted(raw) == sorted(csv));
}

/// Checks the counts of the table without the requests that a layered device or a requeue repeated.
#[test]
fn capture_artefacts_are_dropped_as_the_table_counts_them() {
    use ssdtune_model::Nanos;
    use ssdtune_trace::transform::{Chain, Deduplicate};
    let Some(dir) = traces_dir() else { return };
    for (file, window, expected) in [
        ("mobile_telegram_exec.csv.xz", Nanos::from_ms(5), 209_959),
        ("mobile_slideshow_exec.csv.xz", Nanos::from_ms(5), 57_061),
        ("mobile_you_cut_exec.csv.xz", Nanos::from_ms(5), 275_972),
        ("blkreplay_linux-webserver-2.load.xz", Nanos::from_us(100), 182_526),
    ] {
        let trace = open(dir.join(file), &ReadOptions::default()).expect("opens");
        let mut chain = Chain::new(trace).then(Deduplicate::new(window));
        let mut kept = Vec::new();
        while chain.fill(&mut kept).expect("reads") > 0 {}
        assert_eq!(kept.len(), expected, "{file}");
    }
}
