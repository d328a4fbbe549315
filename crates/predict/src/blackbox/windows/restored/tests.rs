//! Checks on restored windows beside the windows themselves, and beside runs of the whole trace.

use super::super::WindowsReport;
use super::*;
use crate::blackbox::simulated_drive::{MeasureSettings, SampleSize};
use ssdtune_experiment::sampled::Comparison;
use ssdtune_model::{CheckedConfig, Sectors, presets};
use ssdtune_trace::Request;
use ssdtune_trace::workload::{Generator, Seed, bundled};
use std::path::Path;
use std::sync::atomic::AtomicBool;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn model() -> BlackBoxModel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/former/model.json");
    BlackBoxModel::read(&path).unwrap()
}

fn device() -> CheckedConfig {
    let mut config = presets::load("intel-750").unwrap();
    (config.bus.channels, config.bus.chips_per_channel) = (12, 1);
    config.cache.capacity = ssdtune_model::Bytes(8 << 20);
    config.check().unwrap()
}

fn drive<'a>(device: &'a CheckedConfig, start: &str, ages: &[&str]) -> SimulatedDrive<'a> {
    let ages = ages.iter().map(|age| age.parse().unwrap()).collect();
    let preparation = Preparation { start: start.parse().unwrap(), ages, erases: 0, seed: 0 };
    let settings = MeasureSettings::new(preparation, SampleSize::default(), 1).unwrap();
    SimulatedDrive { config: device, settings, stop: &GO_ON }
}

fn requests() -> Vec<Request> {
    let model = bundled("database").unwrap();
    Generator::new(&model, Seed::default()).unwrap().take(20_000).collect()
}

fn source() -> RequestSource {
    RequestSource::of_requests("database", requests())
}

const WINDOWS: Windows = Windows { most: 24, length: 300, seed: 1 };

/// The figure of a line is what its window gives on a drive that a server restores; the prediction
/// is the model's for the measured requests.
#[test]
fn a_line_is_its_window_and_the_models_answer() {
    let (device, model) = (device(), model());
    for depth in [None, Some(4)] {
        let drive = drive(&device, "sequential:0.5", &[]);
        let lines = check_restored(&model, &drive, source(), WINDOWS, &[depth]).unwrap();
        let points = drive.sample(source(), WINDOWS).unwrap();
        assert_eq!((points.options.warm_up, points.options.measured), (100, 200));
        let kept = points.windows.len();
        assert!((12..=24).contains(&kept) && lines.len() == kept, "{kept} {}", lines.len());
        let preparation = drive.settings.preparation(device.run.seed);
        let replay = depth.map_or(Replay::Open, Replay::Closed);
        let task =
            WindowTask { points: &points, device: &device, preparation: &preparation, replay };
        let every: Vec<usize> = (0..kept).collect();
        let server = WindowServer::new(task, &every, &GO_ON).unwrap();
        let all = requests();
        for line in [&lines[0], &lines[kept / 2], &lines[kept - 1]] {
            let at = line.window - 1;
            let run = server.serve(&[at], &GO_ON, &|_| {}).unwrap().remove(0);
            let latency = run.since_arrival.sum() / run.since_arrival.len() as f64;
            assert_eq!(line.latency_ns, latency);
            let first = line.restored.unwrap().first_request as usize;
            assert_eq!(first, points.windows[at].start as usize + 100);
            let own = Window {
                trace: "database".to_owned(),
                number: at,
                requests: all[first..first + 200].to_vec(),
            };
            let predicted = model.predict(&own.seen(depth, Sectors(1 << 30)).unwrap().workload);
            assert_eq!(line.strong_ns, predicted.strong[0].value);
            assert_eq!(line.tree_ns, predicted.tree[0].value);
        }
        let report = WindowsReport::of(lines).unwrap();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["lines"][0]["collects"], false);
        assert!(json["lines"][1]["first_request"].as_u64() > Some(100));
    }
}

/// Restored windows give what the whole run gives there, on drives that begin as a model's do.
#[test]
fn windows_are_those_of_the_whole_run() {
    let (device, requests) = (device(), requests());
    let drive = drive(&device, "sequential", &[]);
    let points = drive.sample(source(), Windows { most: 60, ..WINDOWS }).unwrap();
    let preparation = drive.settings.preparation(device.run.seed);
    let task = WindowTask {
        points: &points,
        device: &device,
        preparation: &preparation,
        replay: Replay::Open,
    };
    let every: Vec<usize> = (0..points.windows.len()).collect();
    let compared = Comparison::of(task, &every, &requests).unwrap();
    let (bias, error) = compared.bias(|one| one.latency_ns);
    assert!(bias.abs() < 0.05 + 2.0 * error && error < 0.05, "{bias} +- {error}");
    // A window on a drive whose caches know nothing of what came before is far off.
    let cold: f64 = every
        .iter()
        .map(|&at| {
            let kept = &points.windows[at];
            let end = kept.requests.len() - TAIL as usize;
            let requests = kept.requests[..end].to_vec();
            let performance = drive.replay(None, kept.warm_up.into(), |_| requests).unwrap();
            performance.latency_ns * 200.0
        })
        .sum();
    let truth: f64 = compared.full.iter().map(|one| one.latency_ns).sum();
    let off = (cold / truth - 1.0).abs();
    assert!(off > 2.0 * bias.abs(), "cold windows are {off} off, restored ones {bias}");
}

#[test]
fn starts_that_windows_cannot_be_restored_for_are_refused() {
    let device = device();
    let refused = |start: &str, ages: &[&str]| {
        let drive = drive(&device, start, ages);
        let error = check_restored(&model(), &drive, source(), WINDOWS, &[Some(4)]).unwrap_err();
        error.to_string()
    };
    assert!(refused("empty", &[]).starts_with("--start empty: a drive is restored at a window"));
    let aged = refused("sequential", &["random:1"]);
    assert!(aged.starts_with("--start sequential with --age: a drive is"), "{aged}");
    let few = RequestSource::of_requests("few", requests()[..300].to_vec());
    let drive = drive(&device, "sequential", &[]);
    let error = check_restored(&model(), &drive, few, WINDOWS, &[Some(4)]).unwrap_err().to_string();
    assert!(error.contains("two windows need"), "{error}");
    let stop = AtomicBool::new(true);
    let stopped = SimulatedDrive { stop: &stop, ..drive };
    let error = check_restored(&model(), &stopped, source(), WINDOWS, &[Some(4)]).unwrap_err();
    assert!(matches!(error, CheckError::Measure(MeasureError::Interrupted)), "{error}");
}
