//! Wrong input of every kind that users' files have shown. Each kind must give a typed error that
//! says where the fault is and what to do.

use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::Devices;
use ssdtune_trace::binary::{MappedTrace, SsdtWriter};
use ssdtune_trace::error::{Position, Problem};
use ssdtune_trace::{Format, Op, ReadOptions, Request, Source, TenantId, TraceError, read_from};
use std::io::{Cursor, Read, Write};

const MQSIM: &str = "100 0 8 8 0\n200 0 16 8 1\n";

fn read(bytes: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Vec<Request>, TraceError> {
    read_from(Cursor::new(bytes.into()), "t", options)?.read_all()
}

fn mqsim() -> ReadOptions {
    ReadOptions { format: Some(Format::Mqsim), ..ReadOptions::default() }
}

/// The problem of a trace whose second line is `line`, and its column. Checks that lenient reading
/// skips that line only.
fn fault(line: &str) -> (Problem, usize) {
    let text = format!("100 0 8 8 0\n{line}\n300 0 8 8 0\n");
    match read(text.as_str(), &mqsim()) {
        Err(TraceError::Malformed(m)) => {
            assert_eq!(m.position, Position::Line(2));
            assert!(m.to_string().starts_with("t: line 2"), "{m}");
            let lenient = ReadOptions { lenient: true, ..mqsim() };
            let mut trace =
                read_from(Cursor::new(text.into_bytes()), "t", &lenient).expect("opens");
            assert_eq!(trace.read_all().expect("lenient").len(), 2);
            assert_eq!(trace.stats().skipped, 1);
            assert_eq!(trace.stats().skipped_by.get(&m.problem), Some(&1));
            (m.problem, m.column)
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn faulty_lines_name_line_column_and_problem() {
    assert_eq!(fault("200 0 8 0 1"), (Problem::ZeroLength, 9));
    assert_eq!(fault("-5 0 8 8 1"), (Problem::Negative, 1));
    assert_eq!(fault("200 0 -8 8 1"), (Problem::Negative, 7));
    assert_eq!(fault("99999999999999999999 0 8 8 1"), (Problem::Overflow, 1));
    assert_eq!(fault("200 0 8 4294967296 1"), (Problem::Overflow, 9));
    assert_eq!(fault("200 0 18446744073709551615 8 1"), (Problem::BeyondCapacity, 7));
    assert_eq!(fault("200 0 8 8"), (Problem::MissingField, 10));
    assert_eq!(fault("200 0 8 8 1 7"), (Problem::ExtraField, 13));
    assert_eq!(fault("200 0 x 8 1"), (Problem::NotANumber, 7));
    assert_eq!(fault("200 0 \u{1} 8 1").0, Problem::NotText);
    // A gap of more than three years.
    assert_eq!(fault("99999999999999999 0 8 8 1").0, Problem::TimeJump);
}

/// What stands in a line that cannot be read may be a secret, so it is shown only if asked for.
#[test]
fn errors_show_content_only_if_asked() {
    let secret = "password-8d1f";
    for (text, format) in [
        (format!("100 0 8 8 0\n200 0 {secret} 8 1\n"), Some(Format::Mqsim)),
        (format!("{secret}\nsecond line\n"), None),
    ] {
        let said = |show_content| {
            let options = ReadOptions { format, show_content, ..ReadOptions::default() };
            read(text.as_str(), &options).expect_err("faulty").to_string()
        };
        assert!(said(true).contains(secret), "{}", said(true));
        assert!(!said(false).contains("8d1f"), "{}", said(false));
        assert!(said(false).contains("-v shows"), "{}", said(false));
    }
}

/// A row that is 27 hours too early is sorted in, which makes the trace last 100,001 s, so it is
/// told; `strict` refuses it, and `lenient` then skips it.
#[test]
fn a_jump_back_is_told_or_refused() {
    let row = |second: u64| format!("{}000000000 0 8 8 0\n", second);
    let mut text: String = (100_000..100_002).map(row).collect();
    text += &row(0);
    text += &row(100_001);
    let open = |options: &ReadOptions| {
        read_from(Cursor::new(text.clone().into_bytes()), "t", options).expect("opens")
    };
    let mut sorted = open(&mqsim());
    let requests = sorted.read_all().expect("sorted");
    assert_eq!((requests.len(), requests[1].at), (4, Nanos(100_000_000_000_000)));
    let jumps = sorted.stats().jumps_back.clone().expect("told");
    assert_eq!((jumps.count, jumps.position), (1, Position::Line(3)));
    let s = |seconds: u64| Nanos(seconds * 1_000_000_000);
    assert_eq!((jumps.by, jumps.span, jumps.span_without), (s(100_001), s(100_001), s(1)));
    let said = sorted.stats().warnings().join("\n");
    for part in ["t: the request in line 3", "lasts 100001.000 s, without them 1.000 s"] {
        assert!(said.contains(part), "{said}");
    }
    let strict = ReadOptions { strict: true, ..mqsim() };
    let error = open(&strict).read_all().expect_err("refused");
    assert_eq!((error.line(), error.path()), (Some(3), Some(std::path::Path::new("t"))));
    let mut lenient = open(&ReadOptions { lenient: true, ..strict });
    assert_eq!(lenient.read_all().expect("skipped").len(), 3);
    assert_eq!(lenient.stats().skipped_by.get(&Problem::JumpBack), Some(&1));
}

#[test]
fn a_request_beyond_the_drive_is_refused() {
    let options = ReadOptions { capacity: Some(Sectors(16)), ..mqsim() };
    let error = read(MQSIM, &options).expect_err("24 > 16").to_string();
    assert!(error.contains("line 2") && error.contains("--remap"), "{error}");
}

#[test]
fn an_early_request_beyond_the_window_names_its_line() {
    let mut text = String::new();
    (1..200).for_each(|n| text += &format!("{n}000 0 8 8 0\n"));
    text += "5 0 8 8 0\n";
    let options = ReadOptions { reorder_window: 10, max_line_bytes: 64, ..mqsim() };
    let error = read(text.clone(), &options).expect_err("199 places late").to_string();
    assert!(error.contains("line 200") && error.contains("--reorder-window"), "{error}");
    let sorted = read(text, &mqsim()).expect("fits the default window");
    assert_eq!((sorted[0].at, sorted[1].at), (Nanos(0), Nanos(995)));
}

#[test]
fn encodings_other_than_utf8_are_named() {
    for (bytes, name) in [
        (MQSIM.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>(), "UTF-16LE"),
        (MQSIM.encode_utf16().flat_map(u16::to_be_bytes).collect(), "UTF-16BE"),
        ([&b"\xff\xfe"[..], b"1\x000\x00"].concat(), "UTF-16LE"),
    ] {
        for options in [ReadOptions::default(), mqsim()] {
            match read(bytes.clone(), &options) {
                Err(TraceError::Encoding { encoding, .. }) => assert_eq!(encoding, name),
                other => panic!("{other:?}"),
            }
        }
    }
    let marked = [b"\xef\xbb\xbf", MQSIM.as_bytes()].concat();
    assert_eq!(read(marked, &ReadOptions::default()).expect("a UTF-8 mark is harmless").len(), 2);
}

#[test]
fn what_is_no_trace_is_refused() {
    let is_empty = |bytes: &[u8]| {
        matches!(read(bytes, &ReadOptions::default()), Err(TraceError::Empty { .. }))
    };
    assert!(is_empty(b"") && is_empty(b"\n\n\n"));
    let unknown = read("Dear diary,\ntoday I wrote no trace.\n", &ReadOptions::default());
    assert!(matches!(unknown, Err(TraceError::UnknownFormat { .. })));
    let zip = read(b"PK\x03\x04aaaaaaaaaaaaaaaaaaaaaa".as_slice(), &ReadOptions::default());
    assert!(matches!(zip, Err(TraceError::NotATrace { .. })));
    let noise: Vec<u8> =
        (0..5000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(matches!(read(noise, &ReadOptions::default()), Err(TraceError::UnknownFormat { .. })));
}

#[test]
fn formats_that_fit_equally_are_listed() {
    // Types above 1 may be flags of DiskSim, or MQSim's: it takes any type but 0 as a read.
    match read("1 0 8 8 2\n2 0 8 8 3\n", &ReadOptions::default()) {
        Err(TraceError::AmbiguousFormat { candidates, .. }) => {
            let formats: Vec<_> = candidates.iter().map(|c| c.0).collect();
            assert_eq!(formats, ["mqsim", "disksim"]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn compressed_streams_are_read_by_magic_and_cuts_are_told() {
    use ssdtune_trace::compress::{Compression, Compressor};
    for compression in [Compression::Gzip, Compression::Zstd, Compression::Xz, Compression::Bzip2] {
        let mut writer = Compressor::new(Vec::new(), compression).expect("starts");
        (0..20_000).for_each(|n| writeln!(writer, "{n} 0 {} 8 {}", n * n, n % 2).expect("writes"));
        let bytes = writer.finish().expect("finishes");
        assert_eq!(read(bytes.clone(), &mqsim()).expect("whole").len(), 20_000, "{compression:?}");
        // Two streams one after the other are one file, as `cat a.gz b.gz` makes it.
        let twice = [bytes.clone(), bytes.clone()].concat();
        assert_eq!(read(twice, &mqsim()).expect("twice").len(), 40_000, "{compression:?}");
        let cut = read(&bytes[..bytes.len() / 2], &mqsim()).map(|r| r.len());
        assert!(matches!(cut, Err(TraceError::Truncated { .. })), "{compression:?}: {cut:?}");
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0x55);
        assert!(read(damaged, &mqsim()).is_err(), "{compression:?}");
    }
}

/// Gives `unit` again and again, `left` bytes in all.
struct Endless<'a> {
    unit: &'a [u8],
    left: usize,
}

impl Read for Endless<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = (buf.len() / self.unit.len() * self.unit.len()).min(self.left);
        buf[..n].chunks_mut(self.unit.len()).for_each(|c| c.copy_from_slice(&self.unit[..c.len()]));
        self.left -= n;
        Ok(n)
    }
}

#[test]
fn endless_lines_and_barren_files_end_early() {
    let line = Endless { unit: b"1", left: 1 << 30 };
    let error = read_from(line, "t", &mqsim()).and_then(|mut t| t.read_all()).map(|r| r.len());
    match error {
        Err(TraceError::Malformed(m)) => assert_eq!(m.problem, Problem::LineTooLong),
        other => panic!("{other:?}"),
    }
    let barren = Endless { unit: b"\n\n\n\n\n\n\n\n", left: 1 << 30 };
    let error = read_from(barren, "t", &mqsim()).and_then(|mut t| t.read_all()).map(|r| r.len());
    assert!(matches!(error, Err(TraceError::Empty { .. })), "{error:?}");
}

#[test]
fn a_decompression_bomb_is_stopped() {
    // 300 MiB of one request: more than 5,000 times the size that zstd makes of it.
    let mut bomb = zstd::stream::write::Encoder::new(Vec::new(), 1).expect("starts");
    std::io::copy(&mut Endless { unit: b"1 0 8 8 0\n", left: 300 << 20 }, &mut bomb)
        .expect("writes");
    let bomb = bomb.finish().expect("finishes");
    let options = ReadOptions { reorder_window: 0, ..mqsim() };
    let mut trace = read_from(Cursor::new(bomb), "t", &options).expect("opens");
    let mut batch = Vec::new();
    let error = loop {
        batch.clear();
        match trace.fill(&mut batch) {
            Ok(0) => panic!("read to the end"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, TraceError::Bomb { .. }), "{error}");
}

#[test]
fn more_devices_than_tenants_are_refused() {
    let mut text = String::new();
    (0..70_000).for_each(|n| text += &format!("{n} {n} 8 8 0\n"));
    match read(text.clone(), &mqsim()).map(|r| r.len()) {
        Err(TraceError::Malformed(m)) => {
            assert_eq!((m.problem, m.position), (Problem::TooManyDevices, Position::Line(65_537)));
        }
        other => panic!("{other:?}"),
    }
    let merged = ReadOptions { devices: Devices::Merged, ..mqsim() };
    assert_eq!(read(text, &merged).expect("one tenant").len(), 70_000);
}

fn ssdt(count: u64) -> Vec<u8> {
    let mut writer = SsdtWriter::new(Cursor::new(Vec::new())).expect("starts");
    for n in 0..count {
        let (at, lba) = (Nanos(n * 10), Sectors(n * 7919 % 100_000));
        let request = Request { at, lba, sectors: 8, tenant: TenantId(0), op: Op::Write };
        writer.write(&[request]).expect("writes");
    }
    writer.finish(77, &["vol".into()]).expect("finishes").into_inner()
}

#[test]
fn binary_traces_cut_or_damaged_anywhere_are_told() {
    let whole = ssdt(9000);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.ssdt");
    let mapped = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("writes");
        let mut trace = MappedTrace::open(&path)?;
        let mut all = Vec::new();
        while trace.fill(&mut all)? > 0 {}
        Ok::<_, TraceError>((all, trace.tenant_names(), trace.origin_ns()))
    };
    let (requests, names, origin_ns) = mapped(&whole).expect("whole");
    assert_eq!((requests.len(), names, origin_ns), (9000, vec!["vol".to_owned()], 77));
    assert_eq!(read(whole.clone(), &ReadOptions::default()).expect("streamed"), requests);
    for step in 0..60 {
        let at = step * whole.len() / 60;
        assert!(mapped(&whole[..at]).is_err(), "cut at {at}");
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        assert!(mapped(&damaged).is_err(), "damaged at {at}");
    }
    let mut newer = whole.clone();
    newer[8] = 9;
    assert!(matches!(mapped(&newer), Err(TraceError::Version { found: 9, .. })));
}

#[test]
fn a_binary_trace_does_not_go_back_in_time() {
    let mut writer = SsdtWriter::new(Cursor::new(Vec::new())).expect("starts");
    let at = |ns| Request {
        at: Nanos(ns),
        lba: Sectors(0),
        sectors: 1,
        tenant: TenantId(0),
        op: Op::Read,
    };
    assert!(writer.write(&[at(5), at(4)]).is_err());
}
