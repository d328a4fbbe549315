//! Valgrind's callgrind as the source of events: its command line, and a reader of its output.
//!
//! Two marker functions of the program cut the output into groups: callgrind counts events while
//! one of them runs, and writes them down and begins again when the other is entered. So no client
//! request of valgrind is compiled into the program. The file holds a part for each group, of which
//! only the list of events and the totals matter here.

use super::run::{DONE, MEASURED};
use std::collections::BTreeMap;
use std::path::Path;

/// What callgrind simulates in a pass over a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulated {
    /// Branches, and the first and the last level of the caches of the machine that valgrind runs
    /// on.
    HostCaches,
    /// The TLBs of a server's core: 128 entries in eight ways for instructions, 64 in four ways for
    /// data, and 1,536 in twelve ways behind them, as in Intel's Skylake.
    HostTlbs,
    /// Branches, and the caches of a Cortex-A53: 32 KiB in two ways for instructions, 32 KiB in
    /// four ways for data, and 256 KiB in sixteen ways behind them.
    CortexA53Caches,
    /// The TLBs of a Cortex-A53: ten entries each for instructions and data, and 512 in four ways
    /// behind them.
    CortexA53Tlbs,
}

/// Bytes of a page of memory. A TLB is to callgrind a cache whose lines are as long: it holds an
/// entry for each page, drops the one not used for longest, and asks the next level for the rest.
const PAGE: u32 = 4_096;
/// Bytes of a line of every cache.
const LINE: u32 = 64;
/// Where Linux describes the caches of the first CPU.
const HOST_CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";
/// Begins the names of the events that callgrind counted while it simulated TLBs: `TLB_DLmr` counts
/// the loads whose page stands in no TLB.
pub const TLB: &str = "TLB_";

impl Simulated {
    /// Whether a pass simulates TLBs in place of caches.
    pub fn is_tlbs(self) -> bool {
        matches!(self, Self::HostTlbs | Self::CortexA53Tlbs)
    }

    /// The arguments that say what is simulated.
    fn arguments(self) -> Vec<String> {
        let caches = |each: [(u32, u32); 3], line: u32| {
            let names = ["I1", "D1", "LL"].into_iter().zip(each);
            let one = |(name, (lines, ways))| format!("--{name}={},{ways},{line}", lines * line);
            names.map(one).collect::<Vec<String>>()
        };
        match self {
            // Callgrind's own finding is wrong on some CPUs: on an EPYC with a last level of 32 MiB
            // in sixteen ways it is 256 MiB, direct-mapped.
            Self::HostCaches => {
                host_caches(Path::new(HOST_CACHES)).map_or_else(Vec::new, |each| caches(each, LINE))
            }
            Self::HostTlbs => caches([(128, 8), (64, 4), (1_536, 12)], PAGE),
            Self::CortexA53Caches => caches([(512, 2), (512, 4), (4_096, 16)], LINE),
            Self::CortexA53Tlbs => caches([(10, 10), (10, 10), (512, 4)], PAGE),
        }
    }
}

/// Lines and ways of this machine's first-level caches for instructions and for data, and of its
/// last level; `None` if the system does not say, or says what callgrind cannot simulate.
fn host_caches(folder: &Path) -> Option<[(u32, u32); 3]> {
    let mut found = [None; 3];
    let mut last = 0;
    for index in 0.. {
        let index = folder.join(format!("index{index}"));
        let text = |name: &str| std::fs::read_to_string(index.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<u32>().ok();
        let Some(level) = number("level") else { break };
        let (sets, ways) = (number("number_of_sets")?, number("ways_of_associativity")?);
        if number("coherency_line_size") != Some(LINE) || !sets.is_power_of_two() {
            return None;
        }
        let place = match text("type")?.trim() {
            "Instruction" if level == 1 => 0,
            "Data" if level == 1 => 1,
            "Unified" if level > last => 2,
            _ => continue,
        };
        last = last.max(if place == 2 { level } else { 0 });
        found[place] = Some((sets * ways, ways));
    }
    let [Some(code), Some(data), Some(behind)] = found else { return None };
    Some([code, data, behind])
}

/// What callgrind wrote down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallgrindOutput {
    /// Callgrind's version, and the caches it simulated, in its own words.
    pub described: Vec<String>,
    /// Events of each group by callgrind's names, in the order of the groups.
    pub groups: Vec<BTreeMap<String, u64>>,
}

/// Why a text is not what callgrind writes for a run of the firmware.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("callgrind's output, line {line}: {problem}")]
pub struct CallgrindError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong in the line.
    pub problem: String,
}

/// Arguments for valgrind that stand before the program. With `begin_idle` callgrind looks at
/// nothing until it is told to.
pub fn arguments(out: &Path, simulated: Simulated, begin_idle: bool) -> Vec<String> {
    let fixed =
        ["--tool=callgrind", "--quiet", "--cache-sim=yes", "--combine-dumps=yes", "--dump-line=no"];
    let mut all: Vec<String> = fixed.map(str::to_owned).to_vec();
    if !simulated.is_tlbs() {
        // Real CPUs fetch ahead in streams; without this a sequential read misses as often as a
        // random one. They do so within a page, which spares no entry of a TLB.
        all.extend(["--branch-sim=yes", "--simulate-hwpref=yes"].map(str::to_owned));
    }
    all.push(format!("--instr-atstart={}", if begin_idle { "no" } else { "yes" }));
    all.push(format!("--toggle-collect={MEASURED}"));
    all.push(format!("--dump-before={DONE}"));
    all.push(format!("--callgrind-out-file={}", out.display()));
    all.extend(simulated.arguments());
    all
}

impl CallgrindOutput {
    /// Adds what another pass over the same groups counted while it simulated TLBs. Each pass has
    /// as many groups as it served, so both have equally many.
    pub fn add_tlbs(&mut self, tlbs: Self) {
        let new = tlbs.described.into_iter().filter(|words| !self.described.contains(words));
        let new: Vec<String> = new.map(|words| format!("as a TLB: {words}")).collect();
        self.described.extend(new);
        for (group, counted) in self.groups.iter_mut().zip(tlbs.groups) {
            let misses = counted.into_iter().filter(|(event, _)| event.contains('m'));
            group.extend(misses.map(|(event, count)| (format!("{TLB}{event}"), count)));
        }
    }
}

/// Reads the text of callgrind's output.
///
/// # Errors
/// The text is cut short, or holds no group.
pub fn parse(text: &str) -> Result<CallgrindOutput, CallgrindError> {
    let mut output = CallgrindOutput { described: Vec::new(), groups: Vec::new() };
    let mut events: Vec<&str> = Vec::new();
    let mut is_group = false;
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        last = number + 1;
        let fault = |problem: String| CallgrindError { line: number + 1, problem };
        let Some((key, value)) = line.split_once(": ") else { continue };
        match key {
            "creator" => note(&mut output.described, value),
            "desc" => match value.split_once(": ") {
                Some(("Trigger", trigger)) => is_group = trigger.contains("--dump-before"),
                Some((what, _)) if what.ends_with("cache") => note(&mut output.described, value),
                _ => {}
            },
            "events" => events = value.split_ascii_whitespace().collect(),
            "totals" if is_group => {
                is_group = false;
                output.groups.push(totals(&events, value).map_err(fault)?);
            }
            _ => {}
        }
    }
    match output.groups.is_empty() {
        true => Err(CallgrindError {
            line: last,
            problem: "no group: the program's symbols are needed, so it must not be stripped"
                .to_owned(),
        }),
        false => Ok(output),
    }
}

/// Adds a description that is not there yet.
fn note(described: &mut Vec<String>, value: &str) {
    let value = value.trim();
    if !described.iter().any(|known| known == value) {
        described.push(value.to_owned());
    }
}

/// The totals of a group by the names of the events. Callgrind leaves out zeros at the end.
fn totals(events: &[&str], value: &str) -> Result<BTreeMap<String, u64>, String> {
    let counts = value.split_ascii_whitespace().map(|count| {
        count.parse::<u64>().map_err(|_| format!("`{count}` in the totals is no count"))
    });
    let counts: Vec<u64> = counts.collect::<Result<_, _>>()?;
    if events.is_empty() || counts.len() > events.len() {
        return Err(format!("{} totals of {} events", counts.len(), events.len()));
    }
    if counts.first().is_none_or(|&instructions| instructions == 0) {
        return Err("a group without an instruction: nothing was collected in it".to_owned());
    }
    let filled = counts.into_iter().chain(std::iter::repeat(0));
    Ok(events.iter().map(|event| (*event).to_owned()).zip(filled).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: &str = "part: 1\n\ndesc: I1 cache: 32768 B, 64 B, 8-way associative\n\
        desc: Timerange: Basic block 0 - 238277\n\
        desc: Trigger: --dump-before=a::firmware::run::group_done\n\n\
        positions: line\nevents: Ir Dr Dw Bc\nsummary: 10 2 1\n\n\
        fn=(1) a::firmware::run::measured_group\n0 10 2 1\n\ntotals: 10 2 1\n";

    fn file(parts: &[&str]) -> String {
        format!("# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n{}", parts.concat())
    }

    #[test]
    fn each_part_that_a_marker_ended_is_a_group() {
        let rest =
            PART.replace("--dump-before=a::firmware::run::group_done", "Program termination");
        let second = PART.replace("totals: 10 2 1", "totals: 7 2 1 4");
        let output = parse(&file(&[PART, &second, &rest])).unwrap();
        let caches = "I1 cache: 32768 B, 64 B, 8-way associative";
        assert_eq!(output.described, ["callgrind-3.19.0", caches]);
        let group = |counts: [u64; 4]| -> BTreeMap<String, u64> {
            ["Ir", "Dr", "Dw", "Bc"].map(str::to_owned).into_iter().zip(counts).collect()
        };
        assert_eq!(output.groups, [group([10, 2, 1, 0]), group([7, 2, 1, 4])]);
    }

    #[test]
    fn tlbs_are_caches_whose_lines_are_pages() {
        let words = arguments(Path::new("x"), Simulated::CortexA53Tlbs, true);
        for word in ["--I1=40960,10,4096", "--D1=40960,10,4096", "--LL=2097152,4,4096"] {
            assert!(words.iter().any(|known| known == word), "{word} in {words:?}");
        }
        assert!(!words.iter().any(|word| word.contains("hwpref")));
        let words = arguments(Path::new("x"), Simulated::CortexA53Caches, true);
        for word in ["--I1=32768,2,64", "--D1=32768,4,64", "--LL=262144,16,64"] {
            assert!(words.iter().any(|known| known == word), "{word} in {words:?}");
        }
    }

    #[test]
    fn the_caches_of_the_host_are_read_or_left_to_callgrind() {
        let folder = tempfile::tempdir().unwrap();
        let describe = |index: u32, level: u32, kind: &str, ways: u32, sets: u32| {
            let at = folder.path().join(format!("index{index}"));
            std::fs::create_dir_all(&at).unwrap();
            let write = |name: &str, text: String| std::fs::write(at.join(name), text).unwrap();
            write("level", format!("{level}\n"));
            write("type", format!("{kind}\n"));
            write("ways_of_associativity", format!("{ways}\n"));
            write("number_of_sets", format!("{sets}\n"));
            write("coherency_line_size", "64\n".to_owned());
        };
        assert_eq!(host_caches(folder.path()), None, "no caches");
        describe(0, 1, "Data", 8, 64);
        describe(1, 1, "Instruction", 8, 64);
        describe(2, 2, "Unified", 8, 1_024);
        describe(3, 3, "Unified", 16, 32_768);
        let found = host_caches(folder.path());
        assert_eq!(found, Some([(512, 8), (512, 8), (524_288, 16)]));
        describe(3, 3, "Unified", 11, 53_248);
        assert_eq!(host_caches(folder.path()), None, "callgrind wants a power of two of sets");
    }

    #[test]
    fn misses_of_tlbs_stand_beside_those_of_caches() {
        let tlbs = PART
            .replace("32768 B, 64 B", "524288 B, 4096 B")
            .replace("Ir Dr Dw Bc", "Ir D1mr DLmr ILmr");
        let mut output = parse(&file(&[PART])).unwrap();
        output.add_tlbs(parse(&file(&[&tlbs])).unwrap());
        let group = &output.groups[0];
        assert_eq!((group["Ir"], group["TLB_D1mr"], group["TLB_DLmr"]), (10, 2, 1));
        assert_eq!(group["TLB_ILmr"], 0, "counted, and there were none");
        assert_eq!(group.len(), 4 + 3, "instructions are counted once");
        let described = "as a TLB: I1 cache: 524288 B, 4096 B, 8-way associative";
        assert_eq!(output.described.last().unwrap(), described);
        assert_eq!(output.described.len(), 3, "one version of callgrind");
    }

    #[test]
    fn faults_are_named() {
        for (text, problem) in [
            (file(&[]), "must not be stripped"),
            (file(&[&PART.replace("totals: 10", "totals: x")]), "line 17: `x`"),
            (file(&[&PART.replace("totals: 10 2 1", "totals: 0")]), "without an instruction"),
            (file(&[&PART.replace("totals: 10 2 1", "totals: 1 2 3 4 5")]), "5 totals of 4"),
            (file(&[&PART.replace("events: Ir Dr Dw Bc\n", "")]), "of 0 events"),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_a_panic(
            text in "(?s)(totals: |events: |desc: Trigger: --dump-before|[a-z0-9 :\n]){0,40}"
        ) {
            let _ = parse(&text);
        }
    }
}
