//! A study: how well categories of workloads recognise requests they have not seen. It prints the
//! figures of docs/results/clustering.md.
//!
//!     cargo run --release -p ssdtune-tune --example clustering -- [--develop] [TRACES]
//!
//! Categories of bundled models are learned from training seeds and tested on held-out seeds. If
//! TRACES, a directory of real traces, is given, categories are also learned from the first 70 % of
//! each trace and tested on the rest. `--develop` is for making choices without looking at held-out
//! data: it tests on validation seeds, and learns the first half of each trace and tests on the
//! windows between 50 % and 70 %.

use ndarray::Array2;
use ssdtune_learn::kmeans::{Init, KMeansParams};
use ssdtune_learn::scale::{Method, ScaleParams};
use ssdtune_trace::Devices;
use ssdtune_trace::workload::{Generator, Seed, SeedSet, bundled};
use ssdtune_trace::{Op, ReadOptions, Request, open};
use ssdtune_tune::cluster::{Categories, FeatureSet, Threshold, TraceToLearn, WINDOW_REQUESTS};
use ssdtune_tune::workload::published_categories;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const NEW_SIX: [&str; 6] = ["vdi", "fiu", "radiusauth", "leveldb", "mysql", "hdfs"];
/// The number of windows in each stream of a model.
const WINDOWS: usize = 40;
/// The number of streams of each model that are learned, and of those that are tested.
const STREAMS: u64 = 2;
/// The least number of windows in a real trace that becomes a category.
const REAL_WINDOWS_MIN: usize = 10;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// A stream of a known category.
struct Labelled {
    category: String,
    requests: Vec<Request>,
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let develop = arguments.iter().any(|argument| argument == "--develop");
    let judged = if develop { SeedSet::Validation } else { SeedSet::HeldOut };
    let seven = published_categories();
    let learned = streams(&seven, SeedSet::Training, STREAMS)?;
    let tested = streams(&seven, judged, STREAMS)?;
    println!("## Bundled models: {} seeds\n", judged.name());
    judge_all(&learned, &tested)?;
    let real = match arguments.iter().find(|argument| !argument.starts_with("--")) {
        Some(directory) => real_traces(Path::new(directory))?,
        None => Vec::new(),
    };
    strangers(&learned, &real)?;
    if !real.is_empty() {
        let cut = |from: usize, to: usize| -> Vec<Labelled> {
            let part = |(name, requests): &(String, Vec<Request>)| {
                let whole = requests.len() / WINDOW_REQUESTS;
                let at = |percent: usize| whole * percent / 100 * WINDOW_REQUESTS;
                Labelled { category: name.clone(), requests: requests[at(from)..at(to)].to_vec() }
            };
            let long =
                |one: &&(String, Vec<Request>)| one.1.len() >= REAL_WINDOWS_MIN * WINDOW_REQUESTS;
            real.iter().filter(long).map(part).collect()
        };
        let (until, end) = if develop { (50, 70) } else { (70, 100) };
        println!("\n## Real traces, each a category: learned to {until} %, judged to {end} %\n");
        judge_all(&cut(0, until), &cut(until, end))?;
    }
    timing(&learned, &tested[0].requests)
}

fn streams(models: &[&str], set: SeedSet, count: u64) -> Outcome<Vec<Labelled>> {
    let mut all = Vec::new();
    for name in models {
        let model = bundled(name)?;
        for index in 0..count {
            let generator = Generator::new(&model, Seed { set, index })?;
            let requests = generator.take(WINDOWS * WINDOW_REQUESTS).collect();
            all.push(Labelled { category: (*name).to_owned(), requests });
        }
    }
    Ok(all)
}

/// The traces of a directory that have at least one window, with their names.
fn real_traces(directory: &Path) -> Outcome<Vec<(String, Vec<Request>)>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    paths.sort();
    let mut traces = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".md") || name.contains(".tar") {
            continue;
        }
        let options =
            ReadOptions { lenient: true, devices: Devices::Merged, ..ReadOptions::default() };
        let requests = open(&path, &options)?.read_all()?;
        if requests.len() >= WINDOW_REQUESTS {
            let stem = name.split('.').next().unwrap_or_default().replace('_', "-");
            traces.push((stem, requests));
        }
    }
    Ok(traces)
}

fn learn(features: FeatureSet, learned: &[Labelled]) -> Outcome<Categories> {
    let names: Vec<String> =
        learned.iter().enumerate().map(|(i, one)| format!("{}-{i}", one.category)).collect();
    let material: Vec<TraceToLearn> = learned
        .iter()
        .zip(&names)
        .map(|(one, name)| TraceToLearn {
            name,
            category: Some(&one.category),
            requests: &one.requests,
        })
        .collect();
    Ok(Categories::found(features, &material)?)
}

/// How well one set of features recognises the tested streams.
struct Judged {
    name: String,
    /// The share of the variance that five components explain.
    variance: Option<f64>,
    /// For each stream: the number of windows in their own category, the number of all windows, and
    /// the distance from the stream's centre to its category's.
    rows: Vec<(usize, usize, Option<f64>)>,
    /// The least distance between two categories.
    least: Option<f64>,
}

fn judge_all(learned: &[Labelled], tested: &[Labelled]) -> Outcome {
    let mut columns = Vec::new();
    for features in FeatureSet::ALL {
        let categories = learn(features, learned)?;
        let mut rows = Vec::new();
        for one in tested {
            let number = categories.number(&one.category)?;
            let points = categories.basis().points(&one.requests)?;
            let recognised =
                categories.nearest(&points).into_iter().filter(|&c| c == number).count();
            let verdict = categories.classify("x", &one.requests, Threshold::default())?;
            let distance =
                verdict.distances.iter().find(|(name, _)| *name == one.category).map(|d| d.1);
            rows.push((recognised, points.len(), distance));
        }
        columns.push(Judged {
            name: features.to_string(),
            variance: Some(categories.basis().explained_variance_ratio().iter().sum()),
            rows,
            least: categories.category_distance_min(),
        });
    }
    columns.push(baseline(learned, tested)?);
    print(&columns, tested);
    Ok(())
}

/// For comparison: categories by arrival rate and share of reads alone, with scaling and k-means.
fn baseline(learned: &[Labelled], tested: &[Labelled]) -> Outcome<Judged> {
    let two = |requests: &[Request]| -> Vec<[f64; 2]> {
        let row = |window: &[Request]| {
            let span = window[WINDOW_REQUESTS - 1].at.0.saturating_sub(window[0].at.0).max(1);
            let reads = window.iter().filter(|request| request.op == Op::Read).count();
            let count = WINDOW_REQUESTS as f64;
            [(count / span as f64).ln(), reads as f64 / count]
        };
        requests.chunks_exact(WINDOW_REQUESTS).map(row).collect()
    };
    let mut names: Vec<&str> = learned.iter().map(|one| one.category.as_str()).collect();
    names.dedup();
    let rows: Vec<(usize, [f64; 2])> = learned
        .iter()
        .flat_map(|one| {
            let number = names.iter().position(|name| *name == one.category).unwrap_or(0);
            two(&one.requests).into_iter().map(move |row| (number, row))
        })
        .collect();
    let matrix = |rows: &[[f64; 2]]| Array2::from_shape_fn((rows.len(), 2), |(i, j)| rows[i][j]);
    let plain: Vec<[f64; 2]> = rows.iter().map(|(_, row)| *row).collect();
    let scaler = ScaleParams::new(Method::Standard).fit(matrix(&plain).view())?;
    let scaled = scaler.transform(matrix(&plain).view())?;
    let start = Array2::from_shape_fn((names.len(), 2), |(number, j)| {
        let members = rows.iter().enumerate().filter(|(_, (n, _))| *n == number);
        let values: Vec<f64> = members.map(|(i, _)| scaled[[i, j]]).collect();
        values.iter().sum::<f64>() / values.len() as f64
    });
    let kmeans = KMeansParams::new(names.len()).init(Init::Given(start)).fit(scaled.view())?;
    let mut judged = Vec::new();
    for one in tested {
        let number = names.iter().position(|name| *name == one.category).unwrap_or(0);
        let points = scaler.transform(matrix(&two(&one.requests)).view())?;
        let recognised = kmeans.predict(points.view())?.iter().filter(|&&c| c == number).count();
        judged.push((recognised, points.nrows(), None));
    }
    Ok(Judged { name: "rate and read share".to_owned(), variance: None, rows: judged, least: None })
}

fn print(columns: &[Judged], tested: &[Labelled]) {
    let names: Vec<&str> = columns.iter().map(|one| one.name.as_str()).collect();
    println!("| held-out windows in their own category | windows | {} |", names.join(" | "));
    println!("|---|---|{}", "---|".repeat(names.len()));
    let mut categories: Vec<&str> = tested.iter().map(|one| one.category.as_str()).collect();
    categories.dedup();
    let percent = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
    for category in categories {
        let of = |one: &Judged| {
            let rows = one.rows.iter().zip(tested).filter(|(_, t)| t.category == category);
            rows.fold((0, 0, 0.0f64), |sum, (row, _)| {
                (sum.0 + row.0, sum.1 + row.1, sum.2.max(row.2.unwrap_or(0.0)))
            })
        };
        let cells = columns.iter().map(|one| {
            let (recognised, all, distance) = of(one);
            match one.least {
                Some(_) => format!("{:.1} % (centre {distance:.2})", percent(recognised, all)),
                None => format!("{:.1} %", percent(recognised, all)),
            }
        });
        let cells: Vec<String> = cells.collect();
        println!("| {category} | {} | {} |", of(&columns[0]).1, cells.join(" | "));
    }
    let total =
        |one: &Judged| one.rows.iter().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    let cells: Vec<String> = columns
        .iter()
        .map(|one| format!("**{:.1} %**", percent(total(one).0, total(one).1)))
        .collect();
    println!("| all windows | {} | {} |", total(&columns[0]).1, cells.join(" | "));
    let show = |value: Option<f64>, factor: f64, unit: &str| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}{unit}", factor * value))
    };
    let cells: Vec<String> = columns.iter().map(|one| show(one.variance, 100.0, " %")).collect();
    println!("| variance in 5 dimensions | | {} |", cells.join(" | "));
    let cells: Vec<String> = columns.iter().map(|one| show(one.least, 1.0, "")).collect();
    println!("| least distance between categories | | {} |", cells.join(" | "));
}

/// Classifies workloads that no category was learned from: six further models, and real traces.
fn strangers(learned: &[Labelled], real: &[(String, Vec<Request>)]) -> Outcome {
    println!("\n## Never learned, against the categories of the models\n");
    println!("| workload | windows | nearest | distance | inside 20 | next | windows there |");
    println!("|---|---|---|---|---|---|---|");
    let categories = learn(FeatureSet::Profile, learned)?;
    let six = streams(&NEW_SIX, SeedSet::HeldOut, 1)?;
    let six = six.iter().map(|one| (one.category.as_str(), &one.requests));
    for (name, requests) in six.chain(real.iter().map(|(name, all)| (name.as_str(), all))) {
        let verdict = categories.classify(name, requests, Threshold::default())?;
        let (next, distance) = &verdict.distances[1];
        println!(
            "| {name} | {} | {} | {:.2} | {} | {next} {distance:.2} | {:.0} % |",
            verdict.windows,
            verdict.name,
            verdict.distance,
            if verdict.inside { "yes" } else { "no" },
            100.0 * verdict.windows_share
        );
    }
    Ok(())
}

/// Prints how long it takes to classify a stream.
fn timing(learned: &[Labelled], requests: &[Request]) -> Outcome {
    let categories = learn(FeatureSet::Profile, learned)?;
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        categories.classify("x", requests, Threshold::default())?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "\nclassifying {} requests: median {:.2} ms, slowest {:.2} ms of {}",
        requests.len(),
        times[times.len() / 2],
        times[times.len() - 1],
        times.len()
    );
    Ok(())
}
