//! A window as bytes: column by column, each value as its difference from the one before where
//! neighbours are alike.

use super::super::recency::LANES;
use super::super::record::Record;
use super::super::{Depth, Epoch, RECENT_PAGES, Run, SAMPLE_PAGES, SampleOptions, Window};
use super::Damage;
use super::numbers::{Bytes, ages, put, put_signed, times};
use ssdtune_model::{Nanos, Sectors, TenantId};
use ssdtune_trace::{Op, Request};

/// Addresses end below this sector, so that no sum of them overflows.
const SECTORS_END: u64 = 1 << 60;
/// Bytes that a request, a run and a depth take at least: one in each column.
const REQUEST: usize = 5;
const RUN: usize = 8;
const DEPTH: usize = 1 + LANES;

/// Appends a window.
pub(super) fn put_window(out: &mut Vec<u8>, window: &Window) {
    let Window { start, warm_up: _, requests, before, samples, recent, depths, epoch } = window;
    put(out, (*start).into());
    put(out, epoch.first.into());
    put(out, epoch.ends.0);
    put_requests(out, requests);
    put_runs(out, before, *start);
    put_runs(out, samples, *start);
    let runs: Vec<Run> = recent.iter().map(|&(_, run)| run).collect();
    put_runs(out, &runs, *start);
    let mut last = Nanos::ZERO;
    for &(at, _) in recent {
        put(out, at.0.wrapping_sub(last.0));
        last = at;
    }
    put(out, depths.len() as u64);
    let mut last = Depth { since: *start, pages: [0; LANES] };
    for depth in depths {
        put(out, last.since.wrapping_sub(depth.since).into());
        last.since = depth.since;
    }
    for lane in 0..LANES {
        for depth in depths {
            put(out, depth.pages[lane].wrapping_sub(last.pages[lane]).into());
            last.pages[lane] = depth.pages[lane];
        }
    }
}

fn put_requests(out: &mut Vec<u8>, requests: &[Request]) {
    put(out, requests.len() as u64);
    let mut last = Nanos::ZERO;
    for request in requests {
        put(out, request.at.0.wrapping_sub(last.0));
        last = request.at;
    }
    let mut end = 0;
    for request in requests {
        put_signed(out, request.lba.0.wrapping_sub(end) as i64);
        end = request.end().0;
    }
    requests.iter().for_each(|request| put(out, request.sectors.into()));
    requests.iter().for_each(|request| put(out, request.tenant.0.into()));
    requests.iter().for_each(|request| out.push(request.op as u8));
}

fn put_runs(out: &mut Vec<u8>, runs: &[Run], start: u32) {
    put(out, runs.len() as u64);
    let mut end = 0;
    for run in runs {
        put_signed(out, run.first.wrapping_sub(end) as i64);
        end = run.first + u64::from(run.pages);
    }
    runs.iter().for_each(|run| put(out, run.pages.into()));
    let mut last = 0;
    for run in runs {
        let [touch, ..] = ages(&run.record, start);
        put_signed(out, touch as i64 - last);
        last = touch as i64;
    }
    runs.iter().for_each(|run| put(out, ages(&run.record, start)[1]));
    runs.iter().for_each(|run| put(out, ages(&run.record, start)[2]));
    for part in 0..3 {
        out.extend(runs.iter().map(|run| run.record.parts().1[part]));
    }
}

/// Reads a window of a trace with this many requests.
pub(super) fn window(
    bytes: &mut Bytes<'_>,
    options: &SampleOptions,
    all: u64,
) -> Result<Window, Damage> {
    let start: u32 = bytes.small()?;
    if u64::from(start) + u64::from(options.length()) > all {
        return Err("a window lies behind the end of the trace");
    }
    let epoch = Epoch { first: bytes.small()?, ends: Nanos(bytes.number()?) };
    let requests = requests(bytes)?;
    if requests.len() != options.length() as usize || epoch.first > start {
        return Err("a window does not fit the options of the file");
    }
    let touched = requests.iter().map(|request| touched(request, options.page_bytes)).sum();
    let before = runs(bytes, start, touched)?;
    let samples = runs(bytes, start, SAMPLE_PAGES)?;
    if !are_apart(&samples) {
        return Err("a page was used last at two times");
    }
    let recent = runs(bytes, start, RECENT_PAGES.into())?;
    let mut last = Nanos::ZERO;
    let recent = recent.into_iter().map(|run| {
        last = bytes.time(last)?;
        // Requests of one time keep their order.
        let is_before = run.record.write < start && last <= requests[0].at;
        if is_before { Ok((last, run)) } else { Err("a late write is none") }
    });
    let recent = recent.collect::<Result<_, _>>()?;
    let depths = depths(bytes, start)?;
    bytes.end()?;
    let warm_up = options.warm_up;
    Ok(Window { start, warm_up, requests, before, samples, recent, depths, epoch })
}

/// Whether no page is in two runs.
fn are_apart(runs: &[Run]) -> bool {
    let mut ranges: Vec<_> = runs.iter().map(Run::pages).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.windows(2).all(|pair| pair[0].end <= pair[1].start)
}

/// Pages that a request touches at most.
fn touched(request: &Request, page_bytes: u32) -> u64 {
    u64::from(request.sectors) / u64::from(page_bytes / 512) + 2
}

fn requests(bytes: &mut Bytes<'_>) -> Result<Vec<Request>, Damage> {
    let count = bytes.count(REQUEST)?;
    let mut last = Nanos::ZERO;
    let times = bytes.column(count, |bytes| {
        last = bytes.time(last)?;
        Ok(last)
    })?;
    // An address is told from the end of the request before, whose size stands in another column.
    let steps = bytes.column(count, Bytes::signed)?;
    let sizes = bytes.column(count, Bytes::small::<u32>)?;
    let tenants = bytes.column(count, Bytes::small::<u16>)?;
    let ops = bytes.slice(count)?;
    let mut end = 0_u64;
    (0..count)
        .map(|nth| {
            let lba = end.checked_add_signed(steps[nth]).filter(|&lba| lba < SECTORS_END);
            let lba = lba.ok_or("an address is out of range")?;
            let sectors = sizes[nth];
            end = lba + u64::from(sectors);
            let (at, lba, tenant) = (times[nth], Sectors(lba), TenantId(tenants[nth]));
            Ok(Request { at, lba, sectors, tenant, op: op(ops[nth])? })
        })
        .collect()
}

fn op(code: u8) -> Result<Op, Damage> {
    let ops = [Op::Read, Op::Write, Op::Trim, Op::Flush];
    ops.get(usize::from(code)).copied().ok_or("there is no such operation")
}

/// Runs of pages, of not more than `most` pages together.
fn runs(bytes: &mut Bytes<'_>, start: u32, most: u64) -> Result<Vec<Run>, Damage> {
    let count = bytes.count(RUN)?;
    let steps = bytes.column(count, Bytes::signed)?;
    let pages = bytes.column(count, Bytes::small::<u32>)?;
    let mut last = 0_i64;
    let touches = bytes.column(count, |bytes| {
        last = last.checked_add(bytes.signed()?).ok_or("a number is too large")?;
        u64::try_from(last).map_err(|_| "a time is too late")
    })?;
    let writes = bytes.column(count, Bytes::number)?;
    let rewrites = bytes.column(count, Bytes::number)?;
    let [eighths, gaps, flags] = [bytes.slice(count)?, bytes.slice(count)?, bytes.slice(count)?];
    let (mut end, mut sum) = (0_u64, 0);
    (0..count)
        .map(|nth| {
            let first = end.checked_add_signed(steps[nth]).filter(|&page| page < SECTORS_END / 8);
            let (first, pages) = (first.ok_or("an address is out of range")?, pages[nth]);
            end = first + u64::from(pages);
            sum += u64::from(pages);
            if pages == 0 || sum > most {
                return Err("runs of pages are too long");
            }
            let times = times([touches[nth], writes[nth], rewrites[nth]], start)?;
            let parts = [eighths[nth], gaps[nth], flags[nth]];
            let record = Record::of_parts(times, parts);
            if record.is_known() { Ok(Run { first, pages, record }) } else { Err("a wrong flag") }
        })
        .collect()
}

fn depths(bytes: &mut Bytes<'_>, start: u32) -> Result<Vec<Depth>, Damage> {
    let count = bytes.count(DEPTH)?;
    let mut since = start;
    let mut depths = bytes.column(count, |bytes| {
        since = since.checked_sub(bytes.small()?).ok_or("a time is too early")?;
        Ok(Depth { since, pages: [0; LANES] })
    })?;
    for lane in 0..LANES {
        let mut pages = 0_u32;
        for depth in &mut depths {
            pages = pages.checked_add(bytes.small()?).ok_or("too many pages")?;
            depth.pages[lane] = pages;
        }
    }
    if depths.is_empty() { Err("nothing is said of the order of last uses") } else { Ok(depths) }
}
