//! The recorded cases that come with the repository agree, and a difference is found.

use ssdtune_mqsim::agreement::{
    Battery, CaseResult, Metrics, Status, Summary, Tier, compare, run_case,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn battery() -> Battery {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agreement");
    Battery::open(Path::new(directory)).expect("the cases of the repository")
}

fn run(battery: &Battery, is_wanted: impl Fn(&str) -> bool) -> Vec<CaseResult> {
    let stop = AtomicBool::new(false);
    let wanted = battery.cases.iter().filter(|case| is_wanted(&case.id));
    wanted.map(|case| run_case(battery, case, &stop, &|_, _| {})).collect()
}

#[test]
fn all_cases_agree_and_all_but_the_loose_ones_to_the_nanosecond() {
    let results = run(&battery(), |_| true);
    let summary = Summary::of(&results);
    assert_eq!((summary.pass, summary.total.passed), (true, 12), "{:#?}", summary.reasons);
    for result in &results {
        let agreement = result.agreement.as_ref().expect("it was run");
        let must = result.tier <= Tier::Tight;
        assert!(agreement.identical || !must, "{}: {:#?}", result.id, agreement.worst);
    }
}

#[test]
fn every_judged_figure_that_moves_is_a_miss() {
    let battery = battery();
    let ours = |id: &str| {
        let result = run(&battery, |own| own == id).remove(0);
        let case = battery.cases.iter().find(|case| case.id == id).expect("the case");
        (case, result.metrics.expect("it was run"))
    };
    let misses = |id: &str, change: fn(&mut Metrics)| {
        let (case, mut metrics) = ours(id);
        change(&mut metrics);
        let agreement = compare(case, &metrics);
        assert_eq!(agreement.pass, agreement.misses.is_empty());
        agreement.misses.into_iter().map(|miss| miss.figure).collect::<Vec<String>>()
    };
    let exact = misses("u_base_off", |metrics| {
        metrics.requests.as_mut().expect("rows")[3][4] += 1;
    });
    assert_eq!(exact, ["requests (equal rows)"]);
    let tight = misses("h_sata_rw8k_short", |metrics| {
        metrics.device_response_ns.all.as_mut().expect("requests").mean *= 1.031;
    });
    assert_eq!(tight, ["device_response_ns.all.mean"]);
    let loose = misses("g_pre_op28", |metrics| {
        metrics.gc.moved_pages = metrics.gc.moved_pages.map(|pages| pages * 5 / 4);
    });
    assert_eq!(loose, ["gc.moved_pages"]);
}

#[test]
fn a_case_that_cannot_be_run_says_why() {
    let directory = tempfile::tempdir().expect("a directory");
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/agreement/cases.json");
    std::fs::copy(list, directory.path().join("cases.json")).expect("a copy");
    let copied = Battery::open(directory.path()).expect("a list of cases");
    let absent = run(&copied, |id| id == "u_base_off").remove(0);
    assert_eq!(absent.status, Status::Skipped);
    let summary = Summary::of(&[absent]);
    assert!(!summary.pass && summary.reasons == ["no case was run"], "{:?}", summary.reasons);
    let traces = directory.path().join("traces");
    std::fs::create_dir(&traces).expect("a folder");
    std::fs::write(traces.join("unl_sizes.trace"), "0 0 0 8 1\n").expect("a trace");
    let faulty = run(&copied, |id| id == "u_base_off").remove(0);
    assert_eq!(faulty.status, Status::Invalid);
    assert!(faulty.reason.is_some_and(|reason| reason.contains("u_base_off.xml")));
}
