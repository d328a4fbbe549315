//! k-means against brute force, membership, empty clusters, storing, wrong input.

use super::*;
use crate::{DataError, random};
use ndarray::{Array2, array};
use proptest::prelude::*;
use rand::RngExt;

/// Points around the corners of a square of side 10, one corner after the other.
fn corners(points: usize, seed: u64) -> Array2<f64> {
    let mut rng = random::stream(seed, 0);
    Array2::from_shape_fn((points, 2), |(row, column)| {
        let corner = if (row % 4) >> column & 1 == 1 { 10.0 } else { 0.0 };
        corner + rng.random_range(-1.0..1.0)
    })
}

fn inertia_by_hand(x: &Array2<f64>, model: &KMeansModel) -> f64 {
    let square = |row: usize, cluster: usize| -> f64 {
        let gap = &x.row(row) - &model.centroids().row(cluster);
        gap.dot(&gap)
    };
    let clusters = model.counts().len();
    (0..x.nrows()).map(|r| (0..clusters).map(|c| square(r, c)).fold(f64::INFINITY, f64::min)).sum()
}

#[test]
fn separate_groups_are_found() {
    let x = corners(200, 1);
    let model = KMeansParams::new(4).fit(x.view()).unwrap();
    assert_eq!(model.counts(), [50; 4]);
    assert!(model.converged());
    let labels = model.training_labels();
    assert!((0..200).all(|row| labels[row] == labels[row % 4]));
    assert!((model.inertia() - inertia_by_hand(&x, &model)).abs() < 1e-9);
}

#[test]
fn one_seed_gives_one_model() {
    let x = corners(300, 2);
    let params = KMeansParams::new(6).seed(11);
    assert_eq!(params.fit(x.view()).unwrap(), params.fit(x.view()).unwrap());
}

#[test]
fn thresholds_decide_membership() {
    let x = corners(200, 3);
    let model = KMeansParams::new(4).fit(x.view()).unwrap();
    let inside = model.membership(&[0.5, 0.5], 3.0).unwrap();
    assert!(matches!(inside, Membership::Inside(near) if near.distance < 1.5));
    let strangers = array![[30.0, 30.0], [32.0, 30.0]];
    let outside = model.group_membership(strangers.view(), 20.0).unwrap();
    let Membership::Outside(near) = outside else { panic!("{outside:?}") };
    let centre = model.centroids().row(near.cluster).to_vec();
    assert!((near.distance - (31.0 - centre[0]).hypot(30.0 - centre[1])).abs() < 1e-12);
}

#[test]
fn one_more_cluster_leaves_the_others() {
    let mut model = KMeansParams::new(4).fit(corners(200, 3).view()).unwrap();
    let before = model.centroids().to_owned();
    let added = model.add_cluster(array![[30.0, 30.0], [32.0, 30.0]].view()).unwrap();
    assert_eq!(added, 4);
    assert_eq!(model.centroids().slice(ndarray::s![..4, ..]), before);
    assert_eq!(model.centroids().row(4), array![31.0, 30.0]);
    assert_eq!(model.nearest(&[29.0, 30.0]).unwrap(), Nearest { cluster: 4, distance: 2.0 });
}

#[test]
fn an_empty_cluster_moves_or_stays() {
    let x = array![[0.0], [1.0], [2.0], [9.0]];
    let start = Init::Given(array![[1.0], [100.0]]);
    let params = KMeansParams::new(2).init(start);
    let kept = params.clone().empty(EmptyCluster::Keep).fit(x.view()).unwrap();
    assert_eq!(kept.counts(), [4, 0]);
    assert_eq!(kept.centroids()[[1, 0]], 100.0);
    let moved = params.fit(x.view()).unwrap();
    assert_eq!(moved.counts(), [3, 1]);
    assert_eq!(moved.centroids(), array![[1.0], [9.0]]);
}

#[test]
fn what_cannot_be_clustered_is_an_error() {
    let x = array![[1.0], [1.0], [2.0]];
    let fit = |params: KMeansParams| params.fit(x.view()).unwrap_err();
    assert_eq!(fit(KMeansParams::new(0)), KMeansError::NoClusters);
    assert_eq!(fit(KMeansParams::new(4)), KMeansError::TooFewPoints { clusters: 4, points: 3 });
    assert_eq!(fit(KMeansParams::new(3)), KMeansError::TooFewDistinct { clusters: 3, distinct: 2 });
    assert_eq!(fit(KMeansParams::new(1).runs(0)), KMeansError::Zero("runs"));
    assert_eq!(fit(KMeansParams::new(1).tolerance(0.0)), KMeansError::Tolerance(0.0));
    let wrong = KMeansParams::new(2).init(Init::Given(array![[1.0, 2.0]]));
    assert!(matches!(fit(wrong), KMeansError::Centroids { rows: 1, columns: 2, .. }));
    let nan = array![[1.0], [f64::NAN]];
    let error = KMeansParams::new(1).fit(nan.view()).unwrap_err();
    assert!(matches!(error, KMeansError::Data(DataError::NotFinite { row: 1, column: 0, .. })));
}

#[test]
fn a_model_survives_its_file() {
    let model = KMeansParams::new(4).fit(corners(40, 5).view()).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    let read: KMeansModel = serde_json::from_str(&text).unwrap();
    assert_eq!(read.centroids(), model.centroids());
    let damaged = text.replace("\"columns\":2", "\"columns\":3");
    assert!(
        serde_json::from_str::<KMeansModel>(&damaged).unwrap_err().to_string().contains("columns")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// By brute force: every label is the nearest centroid, every centroid the mean of its points.
    #[test]
    fn a_settled_model_is_a_fixed_point(
        cells in prop::collection::vec(-9.0f64..9.0, 3 * 40),
        clusters in 1usize..8,
        seed: u64,
    ) {
        let x = Array2::from_shape_vec((40, 3), cells).unwrap();
        let model = KMeansParams::new(clusters).seed(seed).runs(2).fit(x.view()).unwrap();
        prop_assert!(model.converged());
        let distances = model.distances(x.view()).unwrap();
        for (row, &label) in model.training_labels().iter().enumerate() {
            prop_assert!(distances.row(row).iter().all(|&d| distances[[row, label]] <= d + 1e-12));
        }
        for cluster in 0..clusters {
            let members: Vec<usize> =
                (0..40).filter(|&row| model.training_labels()[row] == cluster).collect();
            prop_assert_eq!(members.len() as u64, model.counts()[cluster]);
            let mean = x.select(ndarray::Axis(0), &members).mean_axis(ndarray::Axis(0)).unwrap();
            let gap = &mean - &model.centroids().row(cluster);
            prop_assert!(gap.iter().all(|g| g.abs() < 1e-12));
        }
        prop_assert!((model.inertia() - inertia_by_hand(&x, &model)).abs() < 1e-9);
    }
}
