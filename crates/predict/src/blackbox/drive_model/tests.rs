//! Tests of models of few points, on a drive that is a formula.

use super::super::results::ResultsSource;
use super::super::simulated_drive::Performance;
use super::*;

/// A drive that takes 80 us alone and serves 400,000 requests a second, as fast again with
/// `speed`; every third point is 3 % slower.
fn drive(speed: f64) -> Results {
    let mut points = Vec::new();
    for (number, depth) in [1u32, 2, 4, 8, 16, 32, 64, 128].into_iter().enumerate() {
        for jobs in [1, 4] {
            for kib in [4, 16] {
                let name = match jobs {
                    1 => format!("w0-q{depth}-R{kib}k.r100"),
                    _ => format!("w0-q{depth}-j{jobs}-R{kib}k.r100"),
                };
                let outstanding = f64::from(depth * jobs);
                let alone = 80e3 + f64::from(kib) * 500.0;
                let queued = outstanding * 2_500.0;
                let wobble = if (number + kib as usize / 4).is_multiple_of(3) { 1.03 } else { 1.0 };
                let latency_ns = wobble * (alone.powi(4) + queued.powi(4)).powf(0.25) / speed;
                let iops = outstanding * 1e9 / latency_ns;
                let bandwidth_bps = iops * f64::from(kib * 1024);
                let performance = Performance {
                    latency_ns,
                    iops,
                    bandwidth_bps,
                    offered_iops: None,
                    requests: 0,
                };
                points.push((name.parse::<Point>().unwrap(), performance));
            }
        }
    }
    let (device, files, sources) = (format!("formula {speed}"), Vec::new(), Vec::new());
    let source = ResultsSource::Measured {
        version: Version,
        device,
        files,
        drive: None,
        only: None,
        sources,
    };
    Results::new(source, &points)
}

fn options(train: usize) -> FitOptions {
    FitOptions { train, seed: 1, folds: 5, program: "test".to_owned(), command: String::new() }
}

fn error(report: &DriveReport, model: &str) -> f64 {
    let is = |one: &&DriveEntry| one.model == model && one.target == Target::Latency;
    report.entries.iter().find(is).unwrap().mre
}

#[test]
fn a_third_of_the_points_tells_the_others_and_the_intervals_hold() {
    let (model, report) = fit_few(&drive(1.0), &[], &options(10)).unwrap();
    assert!(error(&report, "bottlenecks and process") < 0.05, "{report:#?}");
    assert!(error(&report, "nearest point") > 0.15, "{report:#?}");
    assert!((0.8..1.0).contains(&report.inside.unwrap()), "{report:#?}");
    let point = "w0-q1-R4k.r100".parse().unwrap();
    let found = model.predict(&point, None).unwrap();
    assert!((found.latency.value / 82e3 - 1.0).abs() < 0.05, "{found:?}");
    assert!((found.iops.value * found.latency.value / 1e9 - 1.0).abs() < 1e-9, "{found:?}");
    let Interval { low, high } = found.iops.interval.unwrap();
    assert!(low < found.iops.value && found.iops.value < high, "{found:?}");
    assert!(found.warnings.is_empty(), "{found:?}");
    let beyond = model.predict(&"w0-q1024-R1k.r100".parse().unwrap(), None).unwrap();
    assert_eq!(beyond.warnings.len(), 2, "{beyond:?}");
    let open = model.predict(&"w0-l50-R4k.r100".parse().unwrap(), None);
    assert_eq!(open, Err(LoopError::RateOfClosedLoop));
}

#[test]
fn a_model_is_the_same_from_its_file_and_for_any_number_of_threads() {
    let of = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit_few(&drive(1.0), &[], &options(10))).unwrap()
    };
    let (model, report) = of(1);
    let (again, other) = of(3);
    assert_eq!(model, again);
    assert_eq!(report.entries, other.entries);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    std::fs::write(&path, model.to_json()).unwrap();
    let AnyModel::Few(read) = AnyModel::read(&path).unwrap() else { panic!("of few points") };
    assert_eq!(*read, model);
    std::fs::write(&path, model.to_json().replace("\"log2 jobs\"", "\"a\"")).unwrap();
    assert!(DriveModel::read(&path).is_ok(), "names of columns are words for people");
    std::fs::write(&path, model.to_json().replace("\"bottleneck\":[", "\"bottleneck\":[1e3,"))
        .unwrap();
    assert!(DriveModel::read(&path).is_err());
}

#[test]
fn the_drive_that_is_most_alike_is_found() {
    let [fast, slow] = [2.0, 0.1].map(|speed| fit_few(&drive(speed), &[], &options(10)).unwrap().0);
    let (_, report) = fit_few(&drive(1.9), &[slow, fast], &options(5)).unwrap();
    assert_eq!(report.like.as_deref(), Some("formula 2"));
    let [with, without] =
        ["bottlenecks and process", "without other drives"].map(|model| error(&report, model));
    assert!(with < without, "{with} with, {without} without");
}

#[test]
fn too_few_points_are_refused() {
    let mut few = drive(1.0);
    few.rows.truncate(9);
    let error = fit_few(&few, &[], &options(5)).unwrap_err().to_string();
    assert!(error.starts_with("9 points, 5 of them to learn from"), "{error}");
    assert!(few.are_few(None) && few.are_few(Some(5)));
}
