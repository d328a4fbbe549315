//! Tests of categories on streams of bundled models.

use super::*;
use crate::memory::{AutoDb, RecordKind};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::workload::{Generator, Seed, SeedSet, bundled};
use ssdtune_trace::{Op, Request, TenantId};

/// The requests of whole windows from a bundled model.
fn stream(model: &str, set: SeedSet, index: u64, windows: usize) -> Vec<Request> {
    let model = bundled(model).expect("a bundled model");
    let generator = Generator::new(&model, Seed { set, index }).expect("a sound model");
    generator.take(windows * WINDOW_REQUESTS).collect()
}

fn material<'a>(name: &'a str, requests: &'a [Request]) -> TraceToLearn<'a> {
    TraceToLearn { name, category: None, requests }
}

const THREE: [&str; 3] = ["database", "websearch", "kvstore"];

fn three(features: FeatureSet) -> Categories {
    let streams = THREE.map(|name| stream(name, SeedSet::Training, 0, 10));
    let material: Vec<_> =
        THREE.iter().zip(&streams).map(|(name, requests)| material(name, requests)).collect();
    Categories::found(features, &material).expect("three categories")
}

#[test]
fn held_out_windows_fall_into_their_own_category() {
    let categories = three(FeatureSet::Profile);
    for (number, name) in THREE.iter().enumerate() {
        let held_out = stream(name, SeedSet::HeldOut, 0, 20);
        let verdict = categories.classify(name, &held_out, Threshold::default()).unwrap();
        assert!(verdict.inside && verdict.category == number as u32, "{verdict:?}");
        assert!(verdict.windows_share >= 0.95 && verdict.windows == 20, "{verdict:?}");
        assert!(verdict.distances.is_sorted_by(|a, b| a.1 <= b.1));
    }
}

#[test]
fn the_unit_makes_the_papers_threshold_the_reach_of_a_category() {
    let categories = three(FeatureSet::Profile);
    let least = categories.category_distance_min().unwrap();
    let mut brute = f64::INFINITY;
    for a in categories.list() {
        for b in categories.list().iter().filter(|b| b.number != a.number) {
            let squares = a.centre.iter().zip(&b.centre).map(|(a, b)| (a - b).powi(2));
            brute = brute.min(squares.sum::<f64>().sqrt());
        }
    }
    assert!((least - brute).abs() < 1e-9);
    // Models hardly vary, so a third of the deviation of all windows is the reach.
    let points: Vec<WindowPoint> =
        categories.members().flat_map(|member| member.points.iter().copied()).collect();
    let squares = (0..DIMENSIONS).map(|axis| {
        let mean = points.iter().map(|point| point[axis]).sum::<f64>() / points.len() as f64;
        points.iter().map(|point| (point[axis] - mean).powi(2)).sum::<f64>()
    });
    let deviation = (squares.sum::<f64>() / points.len() as f64).sqrt();
    assert!((deviation / 3.0 - PAPER_THRESHOLD).abs() < 1e-9, "{deviation}");
    assert!(least > PAPER_THRESHOLD / 0.75, "{least}");
    let ratios = categories.basis().explained_variance_ratio();
    assert!(ratios.len() == DIMENSIONS && ratios.is_sorted_by(|a, b| a >= b));
    assert!((0.7..=1.0).contains(&ratios.iter().sum::<f64>()), "{ratios:?}");
}

/// Windows of seven phases: the slower, the larger are the requests. What makes a category are
/// `larger` doublings of all sizes.
fn phases(larger: u32, seed: u64, windows: u64) -> Vec<Request> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut at = 0;
    let mut request = |phase: u32| {
        at += rng.random_range(500..1500u64) << phase;
        let lba = Sectors(rng.random_range(0..100_000) * 256);
        let sectors = 8 << (rng.random_range(0..2) + phase + larger);
        let op = if rng.random_range(0..2) == 0 { Op::Read } else { Op::Write };
        Request { at: Nanos(at), lba, sectors, tenant: TenantId(0), op }
    };
    let phase = |number: u64| (number / WINDOW_REQUESTS as u64 * 5 % 7) as u32;
    (0..windows * WINDOW_REQUESTS as u64).map(|number| request(phase(number))).collect()
}

#[test]
fn phases_of_a_workload_do_not_hide_its_category() {
    let learned = [phases(0, 1, 14), phases(3, 2, 14)];
    let material = [material("small", &learned[0]), material("large", &learned[1])];
    let categories = Categories::found(FeatureSet::Profile, &material).unwrap();
    for (number, larger) in [0, 3].into_iter().enumerate() {
        let held_out = phases(larger, 3, 7);
        let points = categories.basis().points(&held_out).unwrap();
        assert_eq!(categories.nearest(&points), [number as u32; 7]);
    }
}

#[test]
fn what_was_never_seen_makes_a_category_however_few_are_known() {
    for known in 1..=3 {
        let streams = THREE.map(|name| stream(name, SeedSet::Training, 0, 10));
        let material: Vec<_> =
            THREE.iter().zip(&streams).map(|(name, all)| material(name, all)).take(known).collect();
        let categories = Categories::found(FeatureSet::Profile, &material).unwrap();
        for name in ["fiu", "livemaps", "batch-analytics", "lpm-sequential-write"] {
            let new = stream(name, SeedSet::Validation, 0, 5);
            let verdict = categories.classify(name, &new, Threshold::default()).unwrap();
            assert!(!verdict.inside && verdict.outliers >= 4, "{known} known: {verdict:?}");
        }
        for name in &THREE[..known] {
            let more = stream(name, SeedSet::Validation, 0, 5);
            let verdict = categories.classify(name, &more, Threshold::default()).unwrap();
            assert!(verdict.inside && verdict.name == *name, "{known} known: {verdict:?}");
        }
    }
}

#[test]
fn windows_of_no_category_are_counted_one_by_one() {
    let categories = three(FeatureSet::Profile);
    let mut mixed = stream("database", SeedSet::Validation, 0, 5);
    mixed.extend(stream("lpm-sequential-write", SeedSet::Validation, 0, 2));
    let verdict = categories.classify("x", &mixed, Threshold::default()).unwrap();
    assert_eq!((verdict.windows, verdict.outliers), (7, 2));
    let none = categories.classify("x", &mixed, Threshold::Fixed(1e-6)).unwrap();
    assert_eq!(none.outliers, 7);
    let points = categories.basis().points(&mixed).unwrap();
    let far = categories.distances(&points);
    let brute = |point: &WindowPoint| {
        let to = |category: &Category| {
            let squares = category.centre.iter().zip(point).map(|(a, b)| (a - b).powi(2));
            squares.sum::<f64>().sqrt()
        };
        categories.list().iter().map(to).fold(f64::INFINITY, f64::min)
    };
    assert!(points.iter().zip(far).all(|(point, far)| (brute(point) - far).abs() < 1e-9));
}

#[test]
fn time_and_place_of_a_trace_do_not_count() {
    let categories = three(FeatureSet::Profile);
    let here = stream("database", SeedSet::Validation, 0, 3);
    let there: Vec<Request> = here
        .iter()
        .map(|r| Request { at: r.at + Nanos(1 << 40), lba: r.lba + Sectors(1 << 30), ..*r })
        .collect();
    let verdict = |requests: &[Request]| {
        categories.classify("x", requests, Threshold::default()).expect("a verdict")
    };
    assert_eq!(verdict(&here), verdict(&there));
}

#[test]
fn a_trace_that_belongs_nowhere_makes_a_category_and_the_others_keep_their_numbers() {
    let mut categories = three(FeatureSet::Profile);
    let before = categories.list();
    let new = stream("lpm-sequential-write", SeedSet::Training, 0, 10);
    let learned = categories.learn(material("copying", &new), Threshold::default()).unwrap();
    let LearnOutcome::Added { category, distance } = learned else { panic!("{learned:?}") };
    assert!(category == "copying" && distance > PAPER_THRESHOLD);
    let after = categories.list();
    assert_eq!(after.len(), 4);
    assert!(before.iter().zip(&after).all(|(a, b)| (a.number, &a.name) == (b.number, &b.name)));
    let held_out = stream("lpm-sequential-write", SeedSet::HeldOut, 0, 5);
    let verdict = categories.classify("x", &held_out, Threshold::Derived).unwrap();
    assert!(verdict.inside && verdict.name == "copying", "{verdict:?}");
    // A workload that belongs to a category joins it, under its own name, and only once.
    let more = stream("websearch", SeedSet::Validation, 0, 4);
    let join = |categories: &mut Categories| {
        categories.learn(material("search-2", &more), Threshold::default()).unwrap()
    };
    let joined = join(&mut categories);
    assert!(matches!(joined, LearnOutcome::Joined { category, .. } if category == "websearch"));
    assert_eq!(join(&mut categories), LearnOutcome::Known { category: "websearch".to_owned() });
    let other = categories.learn(material("search-2", &new), Threshold::default()).unwrap_err();
    assert!(matches!(other, ClusterError::Known { .. }), "{other}");
}

#[test]
fn twenty_outliers_become_a_category() {
    let mut categories = three(FeatureSet::Profile);
    // Sequential reads that are said to be databases.
    for number in 0..OUTLIERS_FOR_A_CATEGORY {
        let odd = stream("lpm-sequential-read", SeedSet::Training, number as u64, 1);
        let name = format!("odd-{number}");
        let one = TraceToLearn { name: &name, category: Some("database"), requests: &odd };
        let learned = categories.learn(one, Threshold::default()).unwrap();
        if number + 1 < OUTLIERS_FOR_A_CATEGORY {
            assert!(matches!(&learned, LearnOutcome::Outlier { category, count, .. }
                if category == "database" && *count == number + 1));
            assert_eq!(categories.list().len(), 3);
        } else {
            let (from, category) = ("database".to_owned(), "database-2".to_owned());
            assert_eq!(learned, LearnOutcome::Seceded { from, category });
        }
    }
    let odd = stream("lpm-sequential-read", SeedSet::HeldOut, 0, 3);
    let verdict = categories.classify("x", &odd, Threshold::default()).unwrap();
    assert!(verdict.inside && verdict.name == "database-2", "{verdict:?}");
    let database = stream("database", SeedSet::HeldOut, 0, 5);
    let verdict = categories.classify("x", &database, Threshold::default()).unwrap();
    assert_eq!(verdict.name, "database");
    assert!(categories.members().all(|member| member.outlier_of.is_none()));
}

#[test]
fn workloads_that_name_one_category_are_one() {
    let (a, b) =
        (stream("ycsb", SeedSet::Training, 0, 5), stream("websearch", SeedSet::Training, 0, 5));
    let reads = |name, requests| TraceToLearn { name, category: Some("reads"), requests };
    let categories =
        Categories::found(FeatureSet::Profile, &[reads("a", &a), reads("b", &b)]).unwrap();
    assert_eq!((categories.list().len(), categories.category_distance_min()), (1, None));
    let verdict = categories.classify("x", &a, Threshold::Derived).unwrap();
    assert_eq!((verdict.name.as_str(), verdict.inside), ("reads", true));
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let long = stream("websearch", SeedSet::Training, 0, 6);
    let found = |material: &[TraceToLearn]| Categories::found(FeatureSet::Profile, material);
    assert!(matches!(found(&[]), Err(ClusterError::Nothing)));
    let short = found(&[material("a", &long), material("b", &long[..2999])]);
    assert!(matches!(short, Err(ClusterError::TooShort { requests: 2999, .. })));
    let few = found(&[material("a", &long[..5 * WINDOW_REQUESTS])]);
    assert!(matches!(few, Err(ClusterError::TooFewWindows { windows: 5, needed: 6 })));
    let twice = found(&[material("a", &long), material("a", &long)]);
    assert!(matches!(twice, Err(ClusterError::SameName { .. })));
    for name in ["", "a b", "a/b", &"x".repeat(65)] {
        assert!(matches!(found(&[material(name, &long)]), Err(ClusterError::Name { .. })));
    }
    let mut categories = three(FeatureSet::Profile);
    let unknown = TraceToLearn { category: Some("webserach"), ..material("x", &long) };
    let error = categories.learn(unknown, Threshold::default()).unwrap_err();
    assert!(error.to_string().contains("there are database, websearch, kvstore"), "{error}");
}

#[test]
fn an_autodb_keeps_categories_and_writes_nothing_twice() {
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    assert!(matches!(Categories::load(&db), Err(ClusterError::NotLearned)));
    for features in FeatureSet::ALL {
        let mut categories = three(features);
        categories.store(&db).unwrap();
        let loaded = Categories::load(&db).unwrap();
        let generation = db.generation();
        loaded.store(&db).unwrap();
        assert_eq!(db.generation(), generation);
        let requests = stream("recomm", SeedSet::Training, 0, 4);
        let verdict =
            |from: &Categories| from.classify("x", &requests, Threshold::Derived).unwrap();
        assert_eq!(verdict(&loaded), verdict(&categories));
        categories.learn(material("more", &requests), Threshold::Fixed(1e-3)).unwrap();
        categories.store(&db).unwrap();
        assert_eq!(db.entries(RecordKind::Workload).count(), 4);
        assert_eq!(db.entries(RecordKind::Cluster).count(), 4);
    }
    // New categories replace every record of the earlier ones.
    three(FeatureSet::Profile).store(&db).unwrap();
    assert_eq!(db.entries(RecordKind::Workload).count(), 3);
    assert_eq!(db.entries(RecordKind::Cluster).count(), 3);
}

#[test]
fn stored_records_that_contradict_each_other_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    let categories = three(FeatureSet::Profile);
    categories.store(&db).unwrap();
    let mut member = categories.members().next().unwrap().clone();
    member.category = 7;
    db.put(RecordKind::Workload, member.name.as_bytes(), &member).unwrap();
    let error = Categories::load(&db).unwrap_err();
    assert!(matches!(error, ClusterError::Inconsistent { .. }), "{error}");
}

#[test]
fn categories_of_earlier_versions_are_read_and_damaged_scalings_refused() {
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    three(FeatureSet::Profile).store(&db).unwrap();
    let key = b"categories";
    let now = db.get::<serde_json::Value>(RecordKind::Model, key).unwrap().unwrap().value;
    let within = now["basis"]["scaling"]["within"].clone();
    // Earlier versions scaled each column on its own, and nothing else.
    let mut earlier = now.clone();
    earlier["basis"]["scaling"] = serde_json::json!({ "columns": within["columns"] });
    db.put(RecordKind::Model, key, &earlier).unwrap();
    let loaded = Categories::load(&db).unwrap();
    let verdict =
        loaded.classify("x", &stream("websearch", SeedSet::HeldOut, 0, 3), Threshold::default());
    assert_eq!(verdict.unwrap().distances.len(), 3);
    loaded.store(&db).unwrap();
    let again = db.get::<serde_json::Value>(RecordKind::Model, key).unwrap().unwrap().value;
    assert_eq!(again, earlier);
    let mut damaged = now;
    damaged["basis"]["scaling"]["within"]["whitening"]["triangle"] = serde_json::json!([1.0]);
    db.put(RecordKind::Model, key, &damaged).unwrap();
    let error = Categories::load(&db).unwrap_err();
    assert!(matches!(error, ClusterError::Inconsistent { .. }), "{error}");
}

#[test]
fn thresholds_are_read_as_written() {
    for (text, threshold) in [("derived", Threshold::Derived), ("7.5", Threshold::Fixed(7.5))] {
        assert_eq!(text.parse(), Ok(threshold));
        assert_eq!(threshold.to_string(), text);
    }
    for text in ["", "0", "-1", "NaN", "inf", "near"] {
        assert!(text.parse::<Threshold>().is_err(), "{text}");
    }
}
