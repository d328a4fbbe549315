//! Files of policies that are refused, and how choices are judged.

use crate::scenes::{config, policy, read, settings};
use ssdtune_keeper::evaluation::score_choices;
use ssdtune_keeper::{LabelSource, LabelledMix, MeanLatencies, PeriodDemand, StrategyOutcome};
use ssdtune_model::config::Allocation;

#[test]
fn files_that_are_no_policies_are_refused_with_a_reason() {
    let sound = serde_json::to_string(&policy("7:1")).unwrap();
    assert!(read(&sound).is_ok());
    for (from, to, problem) in [
        ("\"channels\":8", "\"channels\":9", "Isolated"),
        ("\"Shared\",", "", "9 inputs and 42 outputs where 9 and 41 are wanted"),
        ("\"ranker\"", "\"parts\"", "9 inputs and 42 outputs where 15 and 2 are wanted"),
        ("\"Shared\"", "\"1:7\"", "its first strategy is not Shared"),
        ("\"7:1\"", "\"7:2\"", "7:2 does not divide 8 channels"),
        ("\"abstain\":0.01", "\"abstain\":1e999", "number out of range"),
        ("16000.0", "-1.0", "intensity above 0"),
        ("\"collect_ns\":50000000", "\"collect_ns\":0", "collect_ns must be above 0"),
        ("\"drives\":1", "\"drives\":0", "drives must be above 0"),
        ("\"dies\":8", "\"dies\":0", "planes of its flash and its rate must be above 0"),
        ("\"seed\":0", "\"sed\":0", "unknown field `sed`"),
    ] {
        assert!(sound.contains(from), "{from}");
        let error = read(&sound.replacen(from, to, 1)).unwrap_err();
        let expected = if problem == "Isolated" { "does not divide 9 channels" } else { problem };
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn scores_count_ties_and_regret() {
    let source = LabelSource::new(&config(Allocation::Static), "t".into(), vec![2], settings());
    let means = |read_ns: f64| MeanLatencies { read_ns, write_ns: 100.0 };
    let entry = |name: &str, read_ns: f64, behind| StrategyOutcome {
        strategy: name.parse().unwrap(),
        means: means(read_ns),
        parts: Vec::new(),
        behind,
        looks: 20,
    };
    let entries = vec![
        entry("5:3", 100.0, None),
        entry("6:2", 101.0, None),
        entry("Shared", 120.0, None),
        entry("1:7", 110.0, Some(2.5)),
    ];
    let (seen, switches) = (PeriodDemand::default(), Vec::new());
    let row = LabelledMix { number: 0, mix: source.mix(0), seen, entries, switches };
    let judge = |name: &str| score_choices(&[&row], &[name.parse().unwrap()]);
    let (best, tie, bad) = (judge("5:3"), judge("6:2"), judge("1:7"));
    assert_eq!((best.accuracy, best.tie_accuracy, best.regret_mean), (1.0, 1.0, 0.0));
    assert_eq!((tie.accuracy, tie.tie_accuracy), (0.0, 1.0));
    assert!((tie.regret_p99 - 0.005).abs() < 1e-12);
    assert!((bad.regret_max - 1.5).abs() < 1e-12, "as far behind as when it was given up");
    assert!((bad.above_shared_max - (2.5 / 1.1 - 1.0)).abs() < 1e-12);
    assert_eq!((bad.worthwhile_share, bad.gain_taken), (0.0, 0.0), "the best gains 9 %");

    let entries =
        vec![entry("5:3", 100.0, None), entry("6:2", 150.0, None), entry("Shared", 300.0, None)];
    let row = LabelledMix { entries, ..row.clone() };
    let judge = |name: &str| score_choices(&[&row], &[name.parse().unwrap()]);
    assert_eq!((judge("5:3").worthwhile_share, judge("5:3").gain_taken), (1.0, 1.0));
    assert_eq!(judge("Shared").gain_taken, 0.0);
    let taken = (400.0_f64 / 250.0).ln() / (400.0_f64 / 200.0).ln();
    assert!((judge("6:2").gain_taken - taken).abs() < 1e-12);
}
