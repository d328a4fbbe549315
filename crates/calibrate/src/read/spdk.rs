//! Points in the text that SPDK's `perf` (`spdk_nvme_perf`) prints.
//!
//! The text names neither depth nor operation, so the command line must stand before its table, as
//! `set -x` writes it in a shell. Several runs may follow each other in a file. Every core that
//! `perf` uses is a job. With `-L` percentiles are read, if there is one core.
//!
//! Left out: several drives in one run, and mixes, whose reads and writes `perf` does not tell
//! apart.

use super::{BLOCK_BYTES_LEGAL, Fault, block_bytes, count};
use crate::point::{Figures, MibPerSecond, Micros, Operation, PerSecond, Point};
use std::collections::BTreeSet;

/// Whether a text has such a table.
pub(super) fn is_table(text: &str) -> bool {
    text.lines().any(is_head)
}

/// The line above the rows of a table.
fn is_head(line: &str) -> bool {
    let names = ["Device Information", "IOPS", "Average"];
    // A broken line may be both; as a command line it says more.
    line.starts_with(names[0])
        && names.iter().all(|name| line.contains(name))
        && !Command::is_one(line)
}

/// Reads the points; the error is a place and what is wrong there.
pub(super) fn read(file: &str, source: &str, text: &str) -> Result<Vec<Point>, Fault> {
    let lines: Vec<&str> = text.lines().collect();
    let heads: Vec<usize> = (0..lines.len()).filter(|&at| is_head(lines[at])).collect();
    let mut points = Vec::new();
    let mut from = 0;
    for (run, &head) in heads.iter().enumerate() {
        // What a run prints ends where the command line of the next one stands.
        let next = heads.get(run + 1).copied().unwrap_or(lines.len());
        let command = (from..head).rev().find(|&at| Command::is_one(lines[at]));
        let end = (head..next).find(|&at| Command::is_one(lines[at])).unwrap_or(next);
        let place = format!("line {}", head + 1);
        let command = command.ok_or_else(|| {
            let problem = "no command line stands before this table, so depth and operation are \
                           not known: write it there, as in spdk_nvme_perf -q 32 -o 4096 -w \
                           randread -t 60 (set -x in a shell does)";
            (place.clone(), problem.to_owned())
        })?;
        let of_command = |problem| (format!("line {}", command + 1), problem);
        let command = Command::parse(lines[command]).map_err(of_command)?;
        let table = Table::read(&lines[head + 1..end]).map_err(|problem| (place, problem))?;
        let mut point = command.point(&table);
        point.at = format!("{file}:{}", head + 1);
        source.clone_into(&mut point.source);
        points.push(point);
        from = end;
    }
    Ok(points)
}

/// What the command line says.
struct Command {
    operation: Operation,
    block_bytes: u32,
    iodepth: u32,
}

impl Command {
    /// Whether a line is a command line of `perf`.
    fn is_one(line: &str) -> bool {
        line.contains("perf ") && value(line, &["-q", "--io-depth"]).is_some()
    }

    fn parse(line: &str) -> Result<Self, String> {
        let wrong = |option: &str, legal: &str| {
            let found = value(line, &[option]).unwrap_or_default();
            format!("the option {option} is {found:?}: {legal}")
        };
        let depth = value(line, &["-q", "--io-depth"]).and_then(|text| count(&text));
        let iodepth = depth
            .filter(|depth| *depth > 0)
            .ok_or_else(|| wrong("-q", "a whole number from 1 to 65536"))?;
        let size = value(line, &["-o", "--io-size"]);
        let block_bytes = size
            .and_then(|text| block_bytes(&text))
            .ok_or_else(|| wrong("-o", BLOCK_BYTES_LEGAL))?;
        let operation = match value(line, &["-w", "--io-pattern"]).as_deref() {
            Some("randread") => Operation::RandomRead,
            Some("randwrite") => Operation::RandomWrite,
            Some("read") => Operation::SequentialRead,
            Some("write") => Operation::SequentialWrite,
            Some("rw" | "randrw") => {
                let problem = "perf does not tell reads from writes in a mix: measure it with fio";
                return Err(problem.to_owned());
            }
            _ => return Err(wrong("-w", "randread, randwrite, read or write")),
        };
        Ok(Self { operation, block_bytes, iodepth })
    }

    /// The point of a run. Where it stands is left empty.
    fn point(&self, table: &Table) -> Point {
        let reads = self.operation.direction() == crate::point::Direction::Read;
        Point {
            at: String::new(),
            source: String::new(),
            drive: None,
            run: None,
            operation: self.operation,
            read_percent: if reads { 100.0 } else { 0.0 },
            block_bytes: self.block_bytes,
            iodepth: Some(self.iodepth),
            numjobs: table.cores,
            offered: None,
            timed: None,
            figures: table.figures,
            notes: "SPDK perf".to_owned(),
            written_share: 1.0,
        }
    }
}

/// The value of an option, which is written as `-q 32`, `-q32`, `--io-depth 32` or
/// `--io-depth=32`.
fn value(line: &str, names: &[&str]) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let name = names.iter().find(|name| word.starts_with(**name))?;
        let rest = &word[name.len()..];
        let text = match rest.strip_prefix('=') {
            Some(text) => text,
            None if rest.is_empty() => words.get(at + 1)?,
            None if !name.starts_with("--") => rest,
            None => return None,
        };
        Some(text.trim_matches(['\'', '"']).to_owned())
    })
}

/// The results of a run.
struct Table {
    cores: u32,
    figures: Figures,
}

impl Table {
    /// Reads the lines below the head.
    fn read(lines: &[&str]) -> Result<Self, String> {
        let (mut cores, mut devices, mut total) = (0, BTreeSet::new(), None);
        for line in lines {
            let Some((name, numbers)) = line.rsplit_once(": ") else { continue };
            let numbers: Vec<f64> =
                numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
            let [iops, bandwidth, mean, ..] = numbers[..] else { continue };
            if name.trim() == "Total" {
                total = Some([iops, bandwidth, mean]);
                break;
            }
            devices.insert(name.split(" from core").next().unwrap_or(name).to_owned());
            cores += 1;
            // A run without the row of totals was cut short; one row is its own total.
            total = (cores == 1).then_some([iops, bandwidth, mean]);
        }
        if devices.len() > 1 {
            let all: Vec<&str> = devices.iter().map(|name| name.trim()).collect();
            return Err(format!("several drives ({}): measure one at a time", all.join(", ")));
        }
        let [iops, bandwidth, mean] = total
            .filter(|all| all.iter().all(|number| number.is_finite() && *number > 0.0))
            .ok_or_else(|| "its row of totals is missing or 0: run it again".to_owned())?;
        let of_one_core = |percent: &str| percentile(lines, percent).filter(|_| cores <= 1);
        let [p50, p99, p999] = ["50.", "99.", "99.9"].map(of_one_core);
        let figures = Figures {
            iops: Some(PerSecond(iops)),
            bandwidth: Some(MibPerSecond(bandwidth)),
            mean: Some(Micros(mean)),
            p50,
            p99,
            p999,
        };
        Ok(Self { cores: cores.max(1), figures })
    }
}

/// A line of the summary that `-L` adds, as ` 99.00000% :   131.072us`.
fn percentile(lines: &[&str], percent: &str) -> Option<Micros> {
    lines.iter().find_map(|line| {
        let (name, value) = line.split_once("% :")?;
        let name = name.trim().trim_end_matches('0');
        let nanos = value.trim().strip_suffix("us")?.parse::<f64>().ok()?;
        (name == percent && nanos.is_finite() && nanos > 0.0).then_some(Micros(nanos))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by hand in the form that SPDK 22.09 prints.
    const RUN: &str = "+ spdk_nvme_perf -q 32 -o 4096 -w randread -t 60 -L
Initializing NVMe Controllers
Attached to NVMe Controller at 0000:06:00.0 [8086:0a54]
Initialization complete. Launching workers.
========================================================
                                                                           Latency(us)
Device Information                     :       IOPS      MiB/s    Average        min        max
PCIE (0000:06:00.0) NSID 1 from core  0:  400000.00    1562.50      80.00       5.12    1617.14
========================================================
Total                                  :  400000.00    1562.50      80.00       5.12    1617.14

Summary latency data for PCIE (0000:06:00.0) NSID 1                  from core 0:
=================================================================================
  1.00000% :    52.000us
 50.00000% :    70.144us
 99.00000% :   191.488us
 99.90000% :   272.384us
";

    #[test]
    fn runs_in_a_file_are_points() {
        let second = RUN.replace("-q 32", "--io-depth=64").replace("400000.00", "500000.00");
        let points = read("a.txt", "a", &format!("{RUN}{second}")).unwrap();
        assert_eq!(points.len(), 2);
        let Figures { iops, mean, p50, p99, p999, .. } = points[0].figures;
        assert_eq!((iops, mean), (Some(PerSecond(400000.0)), Some(Micros(80.0))));
        assert_eq!(
            (p50, p99, p999),
            (Some(Micros(70.144)), Some(Micros(191.488)), Some(Micros(272.384)))
        );
        assert_eq!((points[0].at.as_str(), points[0].iodepth), ("a.txt:7", Some(32)));
        assert_eq!(points[1].iodepth, Some(64));
        assert_eq!(points[1].figures.iops, Some(PerSecond(500000.0)));
    }

    #[test]
    fn a_head_that_is_a_command_line_is_no_head() {
        let broken = RUN.replace("    Average ", "    Average + spdk_nvme_perf -q 32 -o 4096 ");
        assert_eq!(read("a.txt", "a", &broken).unwrap(), []);
        assert!(!is_table(&broken));
    }

    #[test]
    fn cores_are_jobs() {
        let row = "PCIE (0000:06:00.0) NSID 1 from core  0:  400000.00";
        let at = RUN.find(row).unwrap();
        let text = format!(
            "{}{}\n{}",
            &RUN[..at],
            "PCIE (0000:06:00.0) NSID 1 from core  1:  1.00  1.00  1.00 1.00 1.00",
            &RUN[at..]
        );
        let points = read("a.txt", "a", &text).unwrap();
        assert_eq!((points[0].numjobs, points[0].figures.p99), (2, None));
        assert_eq!(points[0].figures.iops, Some(PerSecond(400000.0)));
        let error = read("a", "a", &text.replacen("06:00.0) NSID 1 from core  1", "07", 1));
        assert!(error.unwrap_err().1.contains("several drives"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, problem) in [
            ("+ spdk_nvme_perf -q 32", "+ other", "no command line stands before this table"),
            ("-w randread", "-w randrw", "does not tell reads from writes"),
            ("-w randread", "-w trim", "the option -w is \"trim\""),
            ("-o 4096", "-o 5", "the option -o is \"5\""),
            ("-q 32", "-q 0", "the option -q is \"0\""),
            ("400000.00", "0.00", "its row of totals is missing or 0"),
        ] {
            assert!(RUN.contains(from), "{from}");
            let (_, found) = read("a", "a", &RUN.replace(from, to)).unwrap_err();
            assert!(found.contains(problem), "{found}");
        }
    }
}
