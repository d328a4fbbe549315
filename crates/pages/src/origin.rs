//! Where a page comes from: what made it, when, on what machine, from which files.

use ssdtune_model::Bytes;
use ssdtune_report::{Page, Table};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Files up to this size are told by a digest too, which takes a second here.
const DIGEST_MAX: u64 = 1 << 30;
const DAY_S: u64 = 86_400;

/// What has made the results of a page.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The program and its version.
    pub program: &'a str,
    /// The command line.
    pub command: &'a str,
    /// The seed that the command line states.
    pub seed: Option<u64>,
    /// The files that were read.
    pub inputs: &'a [PathBuf],
}

impl Origin<'_> {
    /// Adds the last section of a page.
    pub fn add_to(&self, page: &mut Page) {
        let mut table = Table::new(["", ""]);
        let seed = self
            .seed
            .map_or("as the files and the defaults say".to_owned(), |seed| seed.to_string());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let (system, kind) = (std::env::consts::OS, std::env::consts::ARCH);
        table.add_row(["program", self.program]).add_row(["command", self.command]);
        table.add_row(["seed", &seed]).add_row(["written", &now()]);
        let processor = processor().map(|name| format!(" ({name})")).unwrap_or_default();
        let machine = format!("{system} on {kind}, {cores} processors{processor}");
        table.add_row(["machine", &machine]);
        let inputs: BTreeSet<&PathBuf> = self.inputs.iter().collect();
        for path in inputs {
            table.add_row(["input", &described(path)]);
        }
        page.heading("Where this comes from").table(&table);
    }
}

/// What the processor calls itself, where Linux tells it.
fn processor() -> Option<String> {
    let about = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let of = |line: &str| Some(line.strip_prefix("model name")?.split_once(": ")?.1.to_owned());
    about.lines().find_map(of)
}

/// The path of a file, its size, and the digest of what it holds.
fn described(path: &Path) -> String {
    let name = path.display();
    let Ok(about) = std::fs::metadata(path) else { return format!("{name}, gone meanwhile") };
    let size = Bytes(about.len());
    let written = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let written = written.map(|since| format!(", written {}", told(since.as_secs())));
    let written = written.unwrap_or_default();
    let digest = || {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path).ok()?).ok()?;
        Some(hasher.finalize().to_hex())
    };
    match (about.len() <= DIGEST_MAX).then(digest).flatten() {
        Some(digest) => format!("{name}, {size}, BLAKE3 {}{written}", &digest[..32]),
        None => format!("{name}, {size}{written}"),
    }
}

/// The time now, as `2026-01-31 12:00 UTC`.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    told(since)
}

/// Seconds since 1970 as a date and a time.
fn told(seconds: u64) -> String {
    let (days, time) = (seconds / DAY_S, seconds % DAY_S);
    let (mut year, mut day) = (1970, days);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if day < length {
            break;
        }
        day -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    let (hour, minute) = (time / 3600, time % 3600 / 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02} UTC", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_told_as_a_date() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_200, "2024-03-01 00:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(told(seconds), date);
        }
    }
}
