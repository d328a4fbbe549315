//! Snapshots of a drive, and sequences of requests on drives of any kind with snapshots in between.

use crate::{corners, drives};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_sim::{Completion, Outcome, Report, Simulator, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::sync::OnceLock;

/// Requests of a run at most, so that a run ends soon.
const REQUESTS_MAX: usize = 400;

/// The bytes as a snapshot; then a true snapshot in which the bytes stand for changes, three for
/// each: where and what. A changed snapshot is refused.
pub(crate) fn snapshot(bytes: &[u8]) {
    let config = drives::small().check().expect("a legal drive");
    let tenants = [Tenant::sole(&drives::small())];
    let restore = |bytes: &[u8]| Simulator::restore(&config, &tenants, drives::WATCH, bytes);
    assert!(restore(bytes).is_err(), "made-up bytes are a drive");
    static TRUE: OnceLock<Vec<u8>> = OnceLock::new();
    let before = TRUE.get_or_init(|| {
        let mut drive = drives::new(&drives::small(), &tenants);
        drives::fill(4_000, 8, 1_000).into_iter().for_each(|request| drive.push(request));
        drive.run_until(Nanos(300_000));
        drive.snapshot().expect("a snapshot")
    });
    let mut changed = before.clone();
    for change in bytes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
        changed[at] ^= change[2];
    }
    assert_eq!(restore(&changed).is_ok(), changed == *before);
}

/// The first four bytes are the number of a drive, every further four a request. The requests are
/// served in one go, and once more with a snapshot after each that its bytes mark: the same report
/// and the same completions, each request once.
pub(crate) fn operations(bytes: &[u8]) {
    let Some((number, rest)) = bytes.split_first_chunk::<4>() else { return };
    let case = corners::case(u32::from_le_bytes(*number).into());
    let (requests, marks) = requests(&case, rest);
    let (report, completions) = serve(&case, &requests, &vec![false; requests.len()]);
    let mut numbers: Vec<(TenantId, u64)> =
        completions.iter().map(|done| (done.tenant, done.number)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), completions.len(), "a request came back twice");
    let again = serve(&case, &requests, &marks);
    assert!(again.1 == completions, "other completions after a snapshot");
    assert!(again.0 == report, "another report after a snapshot: {}\n{report}", again.0);
}

/// The requests, and which of them are followed by a snapshot.
fn requests(case: &corners::Case, bytes: &[u8]) -> (Vec<Request>, Vec<bool>) {
    let geometry = case.config.geometry();
    let tenants = case.tenants.len() as u16;
    let space = geometry.pages() * u64::from(geometry.sectors_per_page()) / u64::from(tenants);
    let mut now = Nanos::ZERO;
    let one = |word: &[u8]| {
        now += Nanos(1 << (word[3] % 24));
        let op = match word[0] % 16 {
            0..5 => Op::Read,
            5..14 => Op::Write,
            14 => Op::Trim,
            _ => Op::Flush,
        };
        let sectors = if op == Op::Flush { 0 } else { 1 + u32::from(word[0] / 16) * 7 };
        let lba = (u64::from(u16::from_le_bytes([word[1], word[2]])) * space) >> 16;
        let tenant = TenantId(u16::from(word[3] / 24) % tenants);
        let request = Request { at: now, lba: Sectors(lba), sectors, tenant, op };
        (request, word[1].is_multiple_of(64))
    };
    bytes.chunks_exact(4).take(REQUESTS_MAX).map(one).unzip()
}

/// Serves the requests, and replaces the drive by its restored snapshot after each that is marked.
fn serve(case: &corners::Case, requests: &[Request], marks: &[bool]) -> (String, Vec<Completion>) {
    let config = case.config.check().expect("legal settings");
    let mut drive = drives::new(&case.config, &case.tenants);
    let mut completions = Vec::new();
    for (request, mark) in requests.iter().zip(marks) {
        drive.run_until(request.at);
        drive.push(*request);
        if *mark {
            completions.extend(drive.take_completions());
            let bytes = drive.snapshot().expect("a snapshot");
            drive = Simulator::restore(&config, &case.tenants, drives::WATCH, &bytes)
                .expect("its own snapshot");
        }
    }
    let outcome = drive.run_to_end();
    drive.check();
    completions.extend(drive.take_completions());
    let unserved = match outcome {
        Outcome::Completed => 0,
        Outcome::OutOfSpace { unserved, .. } => unserved,
        Outcome::Interrupted => unreachable!("nobody interrupts"),
    };
    assert_eq!(completions.len() as u64 + unserved, requests.len() as u64);
    (text(drive.report()), completions)
}

/// The report less the memory of the program itself, which a snapshot may give back.
fn text(mut report: Report) -> String {
    report.simulation.ftl_memory_bytes = 0;
    serde_json::to_string(&report).expect("a report is JSON")
}
