//! Live-points come back from a file as they were, and nothing else comes back.

use super::super::{RECENT_PAGES, Sampler};
use super::*;
use ssdtune_model::{Sectors, TenantId, scramble};
use ssdtune_trace::{Op, Request};

/// Requests of all kinds, in bursts.
fn requests(count: u64) -> Vec<Request> {
    let request = |nth: u64| {
        let draw = scramble(nth);
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush][(draw % 13 % 5) as usize];
        Request {
            at: Nanos((nth / 8) * 5_000_000),
            lba: Sectors(draw >> 40 & 0x3fff),
            sectors: if op == Op::Flush { 0 } else { 1 + (draw >> 20) as u32 % 60 },
            tenant: TenantId(0),
            op,
        }
    };
    (0..count).map(request).collect()
}

fn points(page_bytes: u32) -> LivePoints {
    let options = SampleOptions {
        windows: 8,
        warm_up: 20,
        measured: 30,
        page_bytes,
        ..SampleOptions::default()
    };
    let mut sampler = Sampler::new(options).unwrap();
    requests(3_000).iter().for_each(|request| sampler.push(request).unwrap());
    let mut points = sampler.finish().unwrap();
    points.about.trace = "a trace, as its user calls it".to_owned();
    points
}

fn bytes(points: &LivePoints) -> Vec<u8> {
    let mut bytes = Vec::new();
    points.write_to(&mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<LivePoints, String> {
    LivePoints::read_from(&mut &bytes[..], Path::new("a.points")).map_err(|error| error.to_string())
}

#[test]
fn what_is_written_is_read_and_takes_the_bytes_that_are_said() {
    for page_bytes in [4_096, 16_384] {
        let points = points(page_bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.points");
        let said = points.write(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), said);
        assert_eq!(LivePoints::read(&path).unwrap(), points);
        assert_eq!(bytes(&points), std::fs::read(&path).unwrap());
        let used: u32 = points.windows[3].recent.iter().map(|(_, run)| run.pages).sum();
        assert!(used > 0 && used <= RECENT_PAGES);
    }
}

#[test]
fn a_file_that_was_cut_or_changed_is_refused() {
    let whole = bytes(&points(4_096));
    assert!(read(&whole).is_ok());
    let places = || (0..120).chain((120..whole.len()).step_by(whole.len() / 150));
    for length in places() {
        assert!(read(&whole[..length]).is_err(), "{length} bytes");
    }
    let mut changed = whole.clone();
    for at in places() {
        let bit = 1 << (at % 8);
        changed[at] ^= bit;
        assert!(read(&changed).is_err(), "byte {at}");
        changed[at] ^= bit;
    }
    let longer = [&whole[..], &[0]].concat();
    assert!(read(&longer).unwrap_err().contains("something follows the end"));
}

#[test]
fn files_that_are_none_say_so() {
    let whole = bytes(&points(4_096));
    assert!(read(b"time,lba\n").unwrap_err().contains("no live-points"));
    let mut later = whole.clone();
    later[8] = 3;
    assert!(read(&later).unwrap_err().contains("of version 3, and this program reads 2"));
    let error = read(&whole[..whole.len() - 5]).unwrap_err();
    assert!(error.contains("cut short here: sample the trace again"), "{error}");
}

/// A section with its checksum in order may still be nonsense.
#[test]
fn sections_that_contradict_themselves_are_refused() {
    let points = points(4_096);
    let mut raw = Vec::new();
    window::put_window(&mut raw, &points.windows[2]);
    let of = |raw: &[u8]| {
        let mut bytes = Bytes(raw);
        window::window(&mut bytes, &points.options, points.requests)
            .and_then(|window| bytes.end().map(|()| window))
    };
    assert_eq!(of(&raw).unwrap(), points.windows[2]);
    let mut refused = 0;
    for at in (0..raw.len()).step_by(7) {
        let mut changed = raw.clone();
        changed[at] ^= 1 << (at % 8);
        match of(&changed) {
            // What is taken can be written again, and is within its bounds.
            Ok(window) => {
                assert!(window != points.windows[2], "byte {at}");
                let mut again = Vec::new();
                window::put_window(&mut again, &window);
                assert!(of(&again).as_ref() == Ok(&window), "byte {at}");
            }
            Err(_) => refused += 1,
        }
        assert!(of(&raw[..at]).is_err());
    }
    assert!(refused > raw.len() / 350, "{refused} of {}", raw.len());
    // Counts beyond what is there take no memory.
    let mut huge = Vec::new();
    put(&mut huge, u64::MAX >> 8);
    assert_eq!(Bytes(&huge).count(1), Err("more is announced than there is"));
    assert_eq!(expanded(&[0; 10], 1 << 40), Err("a section is larger than its bytes can tell"));
}

/// A search divides the windows into two halves, and each has one.
#[test]
fn a_file_with_one_window_is_refused() {
    let mut points = points(4_096);
    points.windows.truncate(2);
    assert_eq!(read(&bytes(&points)).map(|points| points.windows.len()), Ok(2));
    points.windows.truncate(1);
    let refused = read(&bytes(&points)).unwrap_err();
    assert!(refused.contains("contradict each other"), "{refused}");
}

#[test]
fn numbers_come_back() {
    let values = [0, 1, 127, 128, 300, 1 << 32, u64::MAX - 1, u64::MAX];
    let mut out = Vec::new();
    values.into_iter().for_each(|value| put(&mut out, value));
    let mut bytes = Bytes(&out);
    values.into_iter().for_each(|value| assert_eq!(bytes.number(), Ok(value)));
    bytes.end().unwrap();
    for signed in [0, -1, 1, i64::MIN, i64::MAX, -12_345] {
        let mut out = Vec::new();
        numbers::put_signed(&mut out, signed);
        assert_eq!(Bytes(&out).signed(), Ok(signed));
    }
    let too_large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
    Bytes(&too_large).number().unwrap_err();
}
