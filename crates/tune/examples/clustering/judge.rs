//! How many windows are put into their own category, by several methods.

use crate::Outcome;
use crate::material::Labelled;
use ndarray::Array2;
use ssdtune_learn::kmeans::{Init, KMeansParams};
use ssdtune_learn::scale::{Method, ScaleParams};
use ssdtune_trace::{Op, Request};
use ssdtune_tune::cluster::{Categories, FeatureSet, Threshold, TraceToLearn, WINDOW_REQUESTS};

/// What is known of one stream under one method.
#[derive(Clone, Copy)]
pub struct Row {
    /// The number of windows in their own category.
    pub hits: usize,
    /// The number of all windows.
    pub windows: usize,
    /// The distance from the stream's centre to its category's.
    pub distance: Option<f64>,
    /// Whether the stream's centre lies nearest to its category's.
    pub whole: Option<bool>,
}

/// How well one method recognises the tested streams.
pub struct Judged {
    pub name: String,
    /// The share of the variance that five components explain.
    pub variance: Option<f64>,
    /// The least distance between two categories.
    pub least: Option<f64>,
    /// A row for each stream.
    pub rows: Vec<Row>,
}

/// Categories of streams that name them.
pub fn learn(features: FeatureSet, learned: &[Labelled]) -> Outcome<Categories> {
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

/// The verdicts of every method: both sets of features, and two baselines.
pub fn all_methods(learned: &[Labelled], tested: &[Labelled]) -> Outcome<Vec<Judged>> {
    let mut columns = Vec::new();
    for features in FeatureSet::ALL {
        let categories = learn(features, learned)?;
        let mut rows = Vec::new();
        for one in tested {
            let number = categories.number(&one.category)?;
            let points = categories.basis().points(&one.requests)?;
            let nearest = categories.nearest(&points);
            let verdict = categories.classify("x", &one.requests, Threshold::default())?;
            let own = verdict.distances.iter().find(|(name, _)| *name == one.category);
            rows.push(Row {
                hits: nearest.into_iter().filter(|&found| found == number).count(),
                windows: points.len(),
                distance: own.map(|own| own.1),
                whole: Some(verdict.category == number),
            });
        }
        columns.push(Judged {
            name: features.to_string(),
            variance: Some(categories.basis().explained_variance_ratio().iter().sum()),
            least: categories.category_distance_min(),
            rows,
        });
    }
    columns.push(rate_and_reads(learned, tested)?);
    columns.push(largest(learned, tested));
    Ok(columns)
}

/// The names of the categories, in the order of their numbers.
fn names(learned: &[Labelled]) -> Vec<&str> {
    let mut names: Vec<&str> = learned.iter().map(|one| one.category.as_str()).collect();
    names.dedup();
    names
}

/// For comparison: categories by arrival rate and share of reads alone, with scaling and k-means.
fn rate_and_reads(learned: &[Labelled], tested: &[Labelled]) -> Outcome<Judged> {
    let two = |requests: &[Request]| -> Vec<[f64; 2]> {
        let row = |window: &[Request]| {
            let span = window[WINDOW_REQUESTS - 1].at.0.saturating_sub(window[0].at.0).max(1);
            let reads = window.iter().filter(|request| request.op == Op::Read).count();
            let count = WINDOW_REQUESTS as f64;
            [(count / span as f64).ln(), reads as f64 / count]
        };
        requests.chunks_exact(WINDOW_REQUESTS).map(row).collect()
    };
    let names = names(learned);
    let number = |one: &Labelled| names.iter().position(|name| *name == one.category);
    let rows: Vec<(usize, [f64; 2])> = learned
        .iter()
        .flat_map(|one| two(&one.requests).into_iter().map(|row| (number(one).unwrap_or(0), row)))
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
        let points = scaler.transform(matrix(&two(&one.requests)).view())?;
        let found = kmeans.predict(points.view())?;
        let hits = found.iter().filter(|&&found| Some(found) == number(one)).count();
        judged.push(Row { hits, windows: points.nrows(), distance: None, whole: None });
    }
    let name = "rate and read share".to_owned();
    Ok(Judged { name, variance: None, least: None, rows: judged })
}

/// For comparison: everything belongs to the category of which most windows were learned.
fn largest(learned: &[Labelled], tested: &[Labelled]) -> Judged {
    let windows = |name: &str| -> usize {
        let of_it = learned.iter().filter(|one| one.category == name);
        of_it.map(|one| one.requests.len() / WINDOW_REQUESTS).sum()
    };
    let largest = names(learned).into_iter().rev().max_by_key(|name| windows(name));
    let row = |one: &Labelled| {
        let windows = one.requests.len() / WINDOW_REQUESTS;
        let hits = if Some(one.category.as_str()) == largest { windows } else { 0 };
        Row { hits, windows, distance: None, whole: None }
    };
    let rows = tested.iter().map(row).collect();
    Judged { name: "largest category".to_owned(), variance: None, least: None, rows }
}
