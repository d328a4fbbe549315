//! Valgrind's callgrind as the source of events: its command line, and a reader of its output.
//!
//! Two marker functions of the program cut the output into groups: callgrind counts events while
//! one of them runs, and writes them down and begins again when the other is entered. So no client
//! request of valgrind is compiled into the program. The file holds a part for each group, of which
//! only the list of events and the totals matter here.

use super::run::{DONE, MEASURED};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The caches that callgrind simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caches {
    /// The first and the last level of the machine that valgrind runs on.
    Host,
    /// The caches of a Cortex-A53: 32 KiB in two ways for instructions, 32 KiB in four ways for
    /// data, and 256 KiB in sixteen ways behind them.
    CortexA53,
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
pub fn arguments(out: &Path, caches: Caches, begin_idle: bool) -> Vec<String> {
    let mut all: Vec<String> = [
        "--tool=callgrind",
        "--quiet",
        "--cache-sim=yes",
        "--branch-sim=yes",
        // Real CPUs fetch ahead in streams; without this a sequential read misses as often as a
        // random one.
        "--simulate-hwpref=yes",
        "--combine-dumps=yes",
        "--dump-line=no",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push(format!("--instr-atstart={}", if begin_idle { "no" } else { "yes" }));
    all.push(format!("--toggle-collect={MEASURED}"));
    all.push(format!("--dump-before={DONE}"));
    all.push(format!("--callgrind-out-file={}", out.display()));
    if caches == Caches::CortexA53 {
        all.extend(["--I1=32768,2,64", "--D1=32768,4,64", "--LL=262144,16,64"].map(str::to_owned));
    }
    all
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
