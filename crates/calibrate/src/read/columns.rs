//! Points, or runs of writes, in columns separated by commas.
//!
//! The first line that is no comment (`#`) names the columns, in any order; unknown columns are
//! allowed, and missing cells of figures.

use super::{BLOCK_BYTES_LEGAL, Fault, block_bytes, count, with_bandwidth};
use crate::point::{
    Direction, Figures, MibPerSecond, Micros, Operation, PerSecond, Point, TimedJob,
};
use crate::run::{Pattern, Run, Sample};

/// The columns, each with its spellings. `bs` must be there, and `op` (points) or `pattern` and
/// `span_gib` (runs of writes; with `t_s` each line is a sample of one).
const COLUMNS: [(&str, &[&str]); 23] = [
    ("op", &["op", "operation"]),
    ("bs", &["bs", "block_bytes"]),
    ("source", &["source"]),
    ("drive", &["drive"]),
    ("run", &["run"]),
    ("rwmix_read", &["rwmix_read", "rwmixread", "read_percent"]),
    ("iodepth", &["iodepth"]),
    ("numjobs", &["numjobs"]),
    ("offered_iops", &["offered_iops", "offered"]),
    ("iops", &["iops"]),
    ("bw", &["bw", "bw_mibps"]),
    ("lat_mean_us", &["lat_mean_us", "lat_mean", "mean_us"]),
    ("lat_p50", &["lat_p50", "lat_p50_us", "p50", "p50_us"]),
    ("p99", &["p99", "lat_p99", "lat_p99_us", "p99_us"]),
    ("p999", &["p999", "lat_p999", "lat_p999_us", "p999_us"]),
    ("notes", &["notes"]),
    ("pattern", &["pattern"]),
    ("details", &["details"]),
    ("span_gib", &["span_gib"]),
    ("run_s", &["run_s"]),
    ("write_mb_s", &["write_mb_s", "write_mib_s"]),
    ("t_s", &["t_s"]),
    ("wa", &["wa", "write_amplification"]),
];

/// Whether a text begins with names of columns that make points.
pub(super) fn is_header(text: &str) -> bool {
    let Some((_, line)) = lines(text).next() else { return false };
    let Ok(cells) = cells(line) else { return false };
    let names = Names::of(&cells);
    names.place("op").is_some() && names.place("bs").is_some()
}

/// Whether a text begins with names of columns that make runs of writes.
pub(super) fn is_header_of_runs(text: &str) -> bool {
    let Some((_, line)) = lines(text).next() else { return false };
    let Ok(cells) = cells(line) else { return false };
    let names = Names::of(&cells);
    ["pattern", "span_gib", "bs"].iter().all(|name| names.place(name).is_some())
}

/// The names of columns that are not read.
pub(super) fn unread(text: &str) -> Vec<String> {
    let header = lines(text).next().and_then(|(_, line)| cells(line).ok()).unwrap_or_default();
    let is_known = |cell: &str| COLUMNS.iter().any(|(_, spellings)| spellings.contains(&cell));
    header.into_iter().filter(|cell| !is_known(&cell.to_ascii_lowercase())).collect()
}

/// Reads the points; the error is a place and what is wrong there.
pub(super) fn read(file: &str, source: &str, text: &str) -> Result<Vec<Point>, Fault> {
    let point = |row: &Row<'_>, at: String| Ok(Point { at, ..row.point(source)? });
    rows(file, text, point)
}

/// Reads the runs of writes; the error is a place and what is wrong there.
pub(super) fn read_runs(file: &str, source: &str, text: &str) -> Result<Vec<Run>, Fault> {
    let run = |row: &Row<'_>, at: String| Ok(Run { at, ..row.run(source)? });
    let mut runs: Vec<Run> = Vec::new();
    for run in rows(file, text, run)? {
        match runs.iter_mut().rev().find(|own| !run.samples.is_empty() && own.is_same(&run)) {
            Some(own) => own.samples.extend(run.samples),
            None => runs.push(run),
        }
    }
    match runs.iter_mut().find_map(|run| run.end_samples().err().map(|problem| (run, problem))) {
        Some((run, problem)) => Err((format!("run {}", run.run), problem)),
        None => Ok(runs),
    }
}

/// Makes something of each line below the line of names.
fn rows<T>(
    file: &str,
    text: &str,
    make: impl Fn(&Row<'_>, String) -> Result<T, String>,
) -> Result<Vec<T>, Fault> {
    let mut lines = lines(text);
    let Some((_, header)) = lines.next() else { return Ok(Vec::new()) };
    let header = cells(header).map_err(|problem| ("line 1".to_owned(), problem))?;
    let names = Names::of(&header);
    let mut made = Vec::new();
    for (number, line) in lines {
        let place = format!("line {number}");
        let cells = cells(line).map_err(|problem| (place.clone(), problem))?;
        if cells.len() != header.len() {
            let (found, wanted) = (cells.len(), header.len());
            let problem = format!(
                "{found} cells, and the line of names has {wanted}: put text with commas into \
                 double quotes"
            );
            return Err((place, problem));
        }
        let row = Row { names: &names, cells: &cells };
        made.push(make(&row, format!("{file}:{number}")).map_err(|problem| (place, problem))?);
    }
    Ok(made)
}

/// The lines that are neither empty nor comments, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.trim_start_matches('\u{feff}').lines().enumerate();
    numbered
        .map(|(number, line)| (number + 1, line))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

/// The cells of a line. A cell in double quotes may hold commas, and two quotes for one.
fn cells(line: &str) -> Result<Vec<String>, String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                cell.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            letter => cell.push(letter),
        }
    }
    cells.push(cell.trim().to_owned());
    if quoted { Err("a double quote has no second one in its line".to_owned()) } else { Ok(cells) }
}

/// Where the known columns are.
struct Names(Vec<(&'static str, usize)>);

impl Names {
    fn of(header: &[String]) -> Self {
        let known = COLUMNS.iter().filter_map(|(name, spellings)| {
            let is_it = |cell: &String| spellings.contains(&cell.to_ascii_lowercase().as_str());
            Some((*name, header.iter().position(is_it)?))
        });
        Self(known.collect())
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, place)| *place)
    }
}

/// A line of cells.
struct Row<'a> {
    names: &'a Names,
    cells: &'a [String],
}

impl Row<'_> {
    /// The text of a column; `None` if there is no such column or its cell is empty.
    fn text(&self, name: &str) -> Option<&str> {
        let cell = self.cells.get(self.names.place(name)?)?;
        (!cell.is_empty()).then_some(cell.as_str())
    }

    /// A figure: `None` where the cell is empty or 0, which stands for one that was not measured.
    fn figure(&self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|n| n.is_finite() && (0.0..1e15).contains(n));
        let number = number.ok_or_else(|| {
            format!("{name} is {text:?}: write a number that is not negative, or leave it empty")
        })?;
        Ok((number > 0.0).then_some(number))
    }

    /// A depth or a number of jobs.
    fn count(&self, name: &str) -> Result<Option<u32>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let wrong = || format!("{name} is {text:?}: write a whole number up to 65536");
        Ok(Some(count(text).ok_or_else(wrong)?).filter(|count| *count > 0))
    }

    fn operation(&self) -> Result<Operation, String> {
        let text = self.text("op").unwrap_or("");
        Operation::of_name(text).ok_or_else(|| {
            let names: Vec<&str> = Operation::NAMES.iter().map(|(_, name)| *name).collect();
            format!("op is {text:?}: write one of {}", names.join(", "))
        })
    }

    fn read_percent(&self, operation: Operation) -> Result<f64, String> {
        let pure = match operation.direction() {
            Direction::Read => 100.0,
            Direction::Write => 0.0,
        };
        let Some(text) = self.text("rwmix_read") else {
            return match operation.is_mixed() {
                true => {
                    Err(format!("{operation} is a mix: write its reads in percent as rwmix_read"))
                }
                false => Ok(pure),
            };
        };
        let percent = text.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
        let percent =
            percent.ok_or_else(|| format!("rwmix_read is {text:?}: write 0 to 100 percent"))?;
        match operation.is_mixed() || percent == pure {
            true => Ok(percent),
            false => Err(format!(
                "{operation} with {percent} % reads: write {pure}, or the operation of a mix \
                 (randrw-r, randrw-w)"
            )),
        }
    }

    fn block_bytes(&self) -> Result<u32, String> {
        let bs = self.text("bs").unwrap_or("");
        block_bytes(bs).ok_or_else(|| format!("bs is {bs:?}: write {BLOCK_BYTES_LEGAL}"))
    }

    fn run(&self, source: &str) -> Result<Run, String> {
        let pattern = self.text("pattern").unwrap_or("");
        let (name, behind) = pattern.split_once(' ').unwrap_or((pattern, ""));
        let pattern = Pattern::new(name, self.text("details").unwrap_or(behind));
        let span_gib =
            self.figure("span_gib")?.ok_or("span_gib: write the part that is written")?;
        let amplification = self.figure("wa")?;
        if let Some(small) = amplification.filter(|factor| *factor < 1.0) {
            return Err(format!("wa is {small}: write NAND writes over host writes, from 1 on"));
        }
        let rate = self.figure("write_mb_s")?;
        let until = self.figure("t_s")?;
        if self.names.place("t_s").is_some() && until.is_none() {
            return Err("t_s: write the seconds at the end of the sample".to_owned());
        }
        let mib_per_second = rate.unwrap_or(0.0);
        let samples = until.into_iter().map(|seconds| Sample { seconds, mib_per_second });
        Ok(Run {
            at: String::new(),
            source: self.text("source").unwrap_or(source).to_owned(),
            drive: self.text("drive").map(str::to_owned),
            run: self.text("run").unwrap_or("").to_owned(),
            pattern: pattern.map_err(|error| error.to_string())?,
            span_bytes: (span_gib * f64::from(1 << 30)) as u64,
            block_bytes: self.block_bytes()?,
            seconds: self.figure("run_s")?,
            mib_per_second: rate.filter(|_| until.is_none()),
            write_amplification: amplification,
            samples: samples.collect(),
        })
    }

    fn point(&self, source: &str) -> Result<Point, String> {
        let operation = self.operation()?;
        let block_bytes = self.block_bytes()?;
        let micros = |name: &str| self.figure(name).map(|figure| figure.map(Micros));
        let figures = Figures {
            iops: self.figure("iops")?.map(PerSecond),
            bandwidth: self.figure("bw")?.map(MibPerSecond),
            mean: micros("lat_mean_us")?,
            p50: micros("lat_p50")?,
            p99: micros("p99")?,
            p999: micros("p999")?,
        };
        let notes = self.text("notes").unwrap_or("").to_owned();
        let offered = match self.figure("offered_iops")? {
            None if operation.is_paced() => target(&notes),
            said => said,
        };
        Ok(Point {
            at: String::new(),
            source: self.text("source").unwrap_or(source).to_owned(),
            drive: self.text("drive").map(str::to_owned),
            run: self.text("run").map(str::to_owned),
            operation,
            read_percent: self.read_percent(operation)?,
            block_bytes,
            iodepth: self.count("iodepth")?,
            numjobs: self.count("numjobs")?.unwrap_or(1),
            offered: offered.map(PerSecond),
            timed: timed(&notes).filter(|_| operation.is_paced()),
            figures: with_bandwidth(figures, block_bytes),
            notes,
            written_share: 1.0,
        })
    }
}

/// The rate that notes name, as in `Poisson target 40000/s in all`.
fn target(notes: &str) -> Option<f64> {
    let (_, behind) = notes.split_once("target ")?;
    let (rate, _) = behind.split_once("/s")?;
    rate.trim().parse().ok().filter(|rate| (1.0..1e12).contains(rate))
}

/// The job that notes name as the one whose operations were timed, as in `6 at 99pc writes, 1 at
/// 50/50 and 10k/s is the one timed`: 50 % reads and 10,000 requests a second, beside jobs with 1 %
/// reads.
fn timed(notes: &str) -> Option<TimedJob> {
    let (before, _) = notes.split_once(" is the one timed")?;
    let (before, rate) = before.rsplit_once(" and ")?;
    let (before, mix) = before.rsplit_once(" at ")?;
    let rate = rate.trim().strip_suffix("/s")?;
    let (rate, unit) = rate.strip_suffix('k').map_or((rate, 1.0), |thousands| (thousands, 1e3));
    let rate = unit * rate.parse::<f64>().ok().filter(|rate| (1e-3..1e9).contains(rate))?;
    let (reads, writes) = mix.trim().split_once('/')?;
    let [reads, writes] = [reads, writes].map(|share| share.parse::<f64>().ok());
    let (read_percent, _) = reads.zip(writes).filter(|(reads, writes)| reads + writes == 100.0)?;
    let (before, _) = before.split_once("pc writes")?;
    let others: f64 = before.rsplit(' ').next()?.parse().ok()?;
    let others_read_percent = Some(100.0 - others).filter(|share| (0.0..=100.0).contains(share))?;
    Some(TimedJob { rate: PerSecond(rate), read_percent, others_read_percent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_the_job_that_was_timed() {
        let notes = "Poisson target 40000/s in all (7 threads; 6 at 99pc writes, 1 at 50/50 and \
                     10k/s is the one timed);4K uniform";
        let wanted =
            TimedJob { rate: PerSecond(10_000.0), read_percent: 50.0, others_read_percent: 1.0 };
        assert_eq!(timed(notes), Some(wanted));
        let slow = "3 at 70pc writes, 1 at 20/80 and 500/s is the one timed";
        let wanted =
            TimedJob { rate: PerSecond(500.0), read_percent: 20.0, others_read_percent: 30.0 };
        assert_eq!(timed(slow), Some(wanted));
        for other in ["target 40000/s", "1 at 50/60 and 10k/s is the one timed", "is the one timed"]
        {
            assert_eq!(timed(other), None, "{other}");
        }
    }

    const HEAD: &str = "source,drive,op,rwmix_read,bs,iodepth,numjobs,iops,bw,lat_mean_us,\
                        lat_p50,p99,p999,notes\n";

    fn read_rows(rows: &str) -> Result<Vec<Point>, Fault> {
        read("p.csv", "p", &format!("{HEAD}{rows}"))
    }

    #[test]
    fn rows_become_points_and_missing_cells_missing_figures() {
        let rows = "rig,My SSD,randread,100,4096,8,2,1000,3.91,16000,15000,,,raw\n\
                    \n# a comment\n\
                    rig,My SSD,open-w,25,4k,64,7,10.5,,,,,,\"target 40000/s, in all\"\n";
        let points = read_rows(rows).unwrap();
        assert_eq!(points[0].at, "p.csv:2");
        assert_eq!(points[0].outstanding(), Some(16));
        assert_eq!(points[0].figures.mean, Some(Micros(16000.0)));
        assert_eq!((points[0].figures.p99, points[0].drive.as_deref()), (None, Some("My SSD")));
        assert_eq!(points[1].at, "p.csv:5");
        assert_eq!((points[1].offered, points[1].outstanding()), (Some(PerSecond(40000.0)), None));
        assert_eq!(points[1].figures.bandwidth, Some(MibPerSecond(10.5 / 256.0)));
    }

    #[test]
    fn columns_may_be_few_more_and_in_any_order() {
        let text = "p99_us,colour,bs,op\n200,red,8k,read\n";
        assert!(is_header(text) && !is_header("op,size\nread,1\n"));
        let points = read("x.csv", "x", text).unwrap();
        let Point { block_bytes, read_percent, iodepth, numjobs, .. } = points[0];
        assert_eq!((block_bytes, read_percent, iodepth, numjobs), (8192, 100.0, None, 1));
        assert_eq!(points[0].figures.p99, Some(Micros(200.0)));
        assert_eq!((points[0].source.as_str(), &points[0].drive), ("x", &None));
    }

    #[test]
    fn what_is_wrong_is_said_with_line_field_and_remedy() {
        for (row, problem) in [
            ("s,d,reads,100,4096,1,1,,,,,,,", "op is \"reads\": write one of randread"),
            ("s,d,randread,100,4097,1,1,,,,,,,", "bs is \"4097\": write a multiple of 512"),
            ("s,d,randread,90,4096,1,1,,,,,,,", "randread with 90 % reads: write 100"),
            ("s,d,randrw-r,,4096,1,1,,,,,,,", "randrw-r is a mix"),
            ("s,d,randread,100,4096,x,1,,,,,,,", "iodepth is \"x\": write a whole number"),
            ("s,d,randread,100,4096,1,1,-5,,,,,,", "iops is \"-5\": write a number"),
            ("s,d,randread,100,4096,1,1,NaN,,,,,,", "iops is \"NaN\": write a number"),
            ("s,d,randread,100,4096,1,1", "7 cells, and the line of names has 14"),
            ("s,d,randread,100,4096,1,1,,,,,,,\"x", "has no second one"),
        ] {
            let (place, found) = read_rows(row).unwrap_err();
            assert!(place == "line 2" && found.contains(problem), "{place}: {found}");
        }
    }
}
