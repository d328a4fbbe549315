//! How long the learners take, how good their models are, and how long scikit-learn takes.
//!
//! ```text
//! cargo bench -p ssdtune-learn
//! ```
//!
//! If Python has scikit-learn, its times on the same cases are measured first. `SSDTUNE_PYTHON`
//! names the interpreter; the default is `python3`. How long networks are trained is measured
//! by crate ssdtune-train.

#[path = "../tests/shared/uniform.rs"]
mod uniform;

use criterion::{Criterion, criterion_group, criterion_main};
use ndarray::{Array2, s};
use rustix::time::{ClockId, clock_gettime};
use ssdtune_learn::gp::{GpModel, GpParams, Hyperparameters, LengthScales};
use ssdtune_learn::kmeans::{Init, KMeansParams};
use ssdtune_learn::mlp::{Buffer, MlpModel};
use ssdtune_learn::pca::PcaParams;
use ssdtune_learn::ridge::RidgeParams;
use ssdtune_learn::tree::{Leaves, TreeParams};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use uniform::{Uniform, smooth};

/// Prints the least wall-clock time and the least processor time of several runs. On a shared
/// machine they are closer to what the work takes than criterion's means. With `--test` the work is
/// done once.
fn least<R>(name: &str, runs: usize, mut work: impl FnMut() -> R) {
    let runs = if std::env::args().any(|word| word == "--test") { 1 } else { runs };
    let processor = || {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
    };
    let mut least = [f64::INFINITY; 2];
    for _ in 0..runs {
        let (wall, cpu) = (Instant::now(), processor());
        black_box(work());
        least[1] = least[1].min(processor() - cpu);
        least[0] = least[0].min(wall.elapsed().as_secs_f64());
    }
    let [wall, cpu] = least.map(|seconds| 1e3 * seconds);
    println!("{name}: least of {runs}: {wall:.4} ms, processor time {cpu:.4} ms");
}

fn scikit_learn(_: &mut Criterion) {
    let python = std::env::var("SSDTUNE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/learn_sklearn.py");
    match Command::new(&python).args([script, "--time"]).output() {
        Ok(out) if out.status.success() => {
            println!("scikit-learn, ms: {}", String::from_utf8_lossy(&out.stdout).trim());
        }
        _ => println!("scikit-learn: {python} has none; set SSDTUNE_PYTHON to measure it here too"),
    }
}

fn gaussian_process(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gp");
    group.sample_size(10);
    let asked = Uniform::seeded(21).matrix(1000, 58);
    for rows in [100, 300] {
        let mut draw = Uniform::seeded(20);
        let x = draw.matrix(rows, 58);
        let y = smooth(&mut draw, &x);
        // The parameters at which scikit-learn starts too.
        let start = Hyperparameters {
            rbf_variance: 0.5,
            rq_variance: 0.5,
            rq_alpha: 1.0,
            rq_ratio: 1.0,
            noise_variance: 0.01,
            length_scales: vec![3.0],
            mean: 0.0,
        };
        let name = |what: &str| format!("{what}/{rows}x58");
        let fits = [
            ("fit_one_start", GpParams::new(LengthScales::Isotropic).starts(1).warm_start(start)),
            ("fit_cold_4_starts", GpParams::new(LengthScales::Isotropic)),
            ("fit_ard_one_start", GpParams::new(LengthScales::Ard).starts(1)),
        ];
        for (what, params) in &fits {
            let model = params.fit(x.view(), y.view()).unwrap();
            println!(
                "{}: log marginal likelihood {:.4} after {} evaluations",
                name(what),
                model.log_marginal_likelihood(),
                model.evaluations()
            );
            least(&name(what), 10, || params.fit(x.view(), y.view()).unwrap());
            group
                .bench_function(name(what), |b| b.iter(|| params.fit(x.view(), y.view()).unwrap()));
        }
        let model = fits[0].1.fit(x.view(), y.view()).unwrap();
        let again = fits[0].1.clone().warm_start(model.hyperparameters().clone());
        group.bench_function(name("refit_from_optimum"), |b| {
            b.iter(|| again.fit(x.view(), y.view()).unwrap());
        });
        least(&name("score_1000"), 100, || model.predict(asked.view()).unwrap());
        group.bench_function(name("score_1000"), |b| {
            b.iter(|| model.predict(black_box(asked.view())).unwrap());
        });
        let head = (x.slice(s![..rows - 1, ..]), y.slice(s![..rows - 1]));
        let hyper = model.hyperparameters().clone();
        let short = GpModel::with_hyperparameters(head.0, head.1, hyper).unwrap();
        let (row, target) = (x.row(rows - 1).to_vec(), y[rows - 1]);
        let mut copies = vec![short.clone(); 50].into_iter();
        least(&name("add_one"), 50, || {
            let mut model = copies.next().unwrap();
            model.add(&row, target).unwrap();
            model
        });
        group.bench_function(name("add_one"), |b| {
            b.iter_batched(
                || short.clone(),
                |mut model| {
                    model.add(&row, target).unwrap();
                    model
                },
                criterion::BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn clusters_and_components(criterion: &mut Criterion) {
    let mut draw = Uniform::seeded(22);
    let centres = draw.matrix(6, 2) * 10.0;
    let mut points = Array2::zeros((2560, 2));
    for ((row, column), cell) in points.indexed_iter_mut() {
        let noise = draw.draw() + draw.draw() + draw.draw() - 1.5;
        *cell = centres[[row % 6, column]] + 2.0 * noise;
    }
    let start = points.slice(s![..6, ..]).to_owned();
    let params = KMeansParams::new(6).max_iterations(10).init(Init::Given(start));
    let model = params.fit(points.view()).unwrap();
    println!("kmeans/2560x2: inertia {:.2} after {} steps", model.inertia(), model.iterations());
    least("kmeans/2560x2_k6_10_steps", 1000, || params.fit(points.view()).unwrap());
    criterion.bench_function("kmeans/2560x2_k6_10_steps", |b| {
        b.iter(|| params.fit(black_box(points.view())).unwrap());
    });
    let cold = KMeansParams::new(6);
    println!(
        "kmeans/2560x2: inertia {:.2} from 10 starts",
        cold.fit(points.view()).unwrap().inertia()
    );
    let mut group = criterion.benchmark_group("cold");
    group.sample_size(10);
    group.bench_function("kmeans/2560x2_k6_10_starts", |b| {
        b.iter(|| cold.fit(black_box(points.view())).unwrap());
    });
    let wide = Uniform::seeded(24).matrix(400, 12_000);
    let pca = PcaParams::new(5);
    let explained: f64 = pca.fit(wide.view()).unwrap().explained_variance_ratio().iter().sum();
    println!("pca/400x12000: {:.4} of the variance in 5 components", explained);
    least("pca/400x12000_to_5", 10, || pca.fit(wide.view()).unwrap());
    group.bench_function("pca/400x12000_to_5", |b| {
        b.iter(|| pca.fit(black_box(wide.view())).unwrap())
    });
    group.finish();
}

fn regressions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("regression");
    group.sample_size(10);
    let mut draw = Uniform::seeded(25);
    let x = draw.matrix(2000, 8);
    let y = smooth(&mut draw, &x);
    group.bench_function("ridge/2000x8", |b| {
        b.iter(|| RidgeParams::new(1.0).fit(x.view(), y.view()).unwrap());
    });
    for (name, leaves) in [("constant", Leaves::Constant), ("linear", Leaves::Linear)] {
        let params = TreeParams::new(leaves);
        let model = params.fit(x.view(), y.view()).unwrap();
        println!("tree_{name}/2000x8: {} leaves", model.leaves());
        least(&format!("tree_{name}/2000x8_pruned_by_10_folds"), 3, || {
            params.fit(x.view(), y.view()).unwrap()
        });
        group.bench_function(format!("tree_{name}/2000x8_pruned_by_10_folds"), |b| {
            b.iter(|| params.fit(x.view(), y.view()).unwrap());
        });
    }
    group.finish();
}

/// A network of random weights, read from its stored form, so that no libtorch is needed.
fn network(inputs: usize, hidden: usize, outputs: usize) -> MlpModel {
    let mut draw = Uniform::seeded(26);
    let mut layer = |from: usize, to: usize| {
        let mut cells = |count: usize| (0..count).map(|_| draw.draw() - 0.5).collect::<Vec<f64>>();
        let (weights, bias) = (cells(from * to), cells(to));
        format!(r#"{{"inputs":{from},"weights":{weights:?},"bias":{bias:?}}}"#)
    };
    let (first, second) = (layer(inputs, hidden), layer(hidden, outputs));
    let head = r#"{"version":1,"activation":"logistic","output":"softmax","layers":"#;
    serde_json::from_str(&format!("{head}[{first},{second}]}}")).unwrap()
}

fn perceptron(criterion: &mut Criterion) {
    let model = network(9, 64, 42);
    let (row, mut buffer) =
        (Uniform::seeded(27).matrix(1, 9).into_raw_vec_and_offset().0, Buffer::default());
    least("mlp/infer_9_64_42, 1000 times", 100, || {
        (0..1000).map(|_| model.predict_one(black_box(&row), &mut buffer).unwrap()[0]).sum::<f64>()
    });
    criterion.bench_function("mlp/infer_9_64_42", |b| {
        b.iter(|| model.predict_one(black_box(&row), &mut buffer).unwrap()[0]);
    });
}

criterion_group!(
    benches,
    scikit_learn,
    gaussian_process,
    clusters_and_components,
    regressions,
    perceptron
);
criterion_main!(benches);
