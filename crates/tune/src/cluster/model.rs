//! The categories: making them, adding workloads, and classifying traces.

use super::ClusterError;
use super::basis::{Basis, FeatureSet, WindowPoint, centre, distance, matrix};
use super::paper::WINDOW_REQUESTS;
use super::unit::{least_distance, reach};
use crate::digest::{Digest, digest_requests};
use ndarray::{Array2, Axis, concatenate};
use serde::{Deserialize, Serialize};
use ssdtune_learn::kmeans::{EmptyCluster, Init, KMeansModel, KMeansParams};
use ssdtune_trace::Request;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// The threshold of the paper: a trace within this distance of a category's centre belongs to it.
pub const PAPER_THRESHOLD: f64 = 20.0;
/// The number of outliers of one category that become a category of their own.
pub const OUTLIERS_FOR_A_CATEGORY: usize = 20;

/// The greatest distance from a category's centre at which a trace belongs to the category. The
/// default is [`PAPER_THRESHOLD`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A given distance.
    Fixed(f64),
    /// The least distance between the centres of two categories.
    Derived,
}

impl Default for Threshold {
    fn default() -> Self {
        Self::Fixed(PAPER_THRESHOLD)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(distance) => write!(f, "{distance}"),
            Self::Derived => write!(f, "derived"),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = || text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        match text {
            "derived" => Ok(Self::Derived),
            _ => number().map(Self::Fixed).ok_or_else(|| {
                "write derived (the least distance between two categories), or a distance above 0"
                    .to_owned()
            }),
        }
    }
}

/// A workload to learn: a trace and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct TraceToLearn<'a> {
    /// The name of the workload.
    pub name: &'a str,
    /// The name of the category that it is known to belong to, if any.
    pub category: Option<&'a str>,
    /// The requests, at least one window.
    pub requests: &'a [Request],
}

/// A workload that was learned. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedTrace {
    /// The name of the workload.
    pub name: String,
    /// The number of its category.
    pub category: u32,
    /// The name of the category that it is known to belong to, if it lies outside of its cluster.
    pub outlier_of: Option<String>,
    /// The digest of its requests.
    pub content: Digest,
    /// The points of its windows.
    pub points: Vec<WindowPoint>,
}

/// A category of workloads. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// The number of the category, from 0. It never changes.
    pub number: u32,
    /// The name of the category.
    pub name: String,
    /// The centre of its cluster.
    pub centre: WindowPoint,
    /// The number of learned windows in its cluster, of any workload.
    pub windows: u64,
}

/// Which category a trace is nearest to, and whether it belongs there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Classification {
    /// The number of the nearest category.
    pub category: u32,
    /// The name of the nearest category.
    pub name: String,
    /// Whether the trace belongs to that category.
    pub inside: bool,
    /// The distance from the trace's centre to that category's centre.
    pub distance: f64,
    /// The greatest distance at which a trace belongs to a category.
    pub threshold: f64,
    /// The least distance between two categories; `None` if there is one category.
    pub category_distance_min: Option<f64>,
    /// The names of all categories with the distances to them, nearest first.
    pub distances: Vec<(String, f64)>,
    /// The number of whole windows in the trace.
    pub windows: usize,
    /// The share of windows that lie nearest to that category, each judged alone, 0 to 1.
    pub windows_share: f64,
    /// The number of windows that belong to no category, each judged alone.
    pub outliers: usize,
}

/// What became of a workload when it was learned. Names are part of the result document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum LearnOutcome {
    /// The workload was among the first, from which the categories were made.
    Founded {
        /// The name of its category.
        category: String,
    },
    /// The workload belongs to a category that existed before.
    Joined {
        /// The name of that category.
        category: String,
        /// The distance from the workload's centre to the category's.
        distance: f64,
    },
    /// The workload lies outside of every category and became a new one.
    Added {
        /// The name of the new category.
        category: String,
        /// The distance from the workload's centre to the nearest earlier category.
        distance: f64,
    },
    /// The workload lies outside of the category that it is known to belong to. It is kept as an
    /// outlier.
    Outlier {
        /// The name of that category.
        category: String,
        /// The distance from the workload's centre to that category's.
        distance: f64,
        /// The number of outliers of that category so far, this one included.
        count: usize,
    },
    /// The workload was the last outlier needed: the outliers of a category became a new category.
    Seceded {
        /// The name of the category that the outliers were known to belong to.
        from: String,
        /// The name of the new category.
        category: String,
    },
    /// The workload was learned before.
    Known {
        /// The name of its category.
        category: String,
    },
}

/// The categories of workloads, with the learned workloads they were made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Categories {
    pub(super) basis: Basis,
    pub(super) kmeans: KMeansModel,
    pub(super) names: Vec<String>,
    pub(super) members: BTreeMap<String, LearnedTrace>,
}

impl Categories {
    /// Makes the first categories from workloads: one for each category that they name, and one for
    /// each workload that names none.
    ///
    /// # Errors
    /// There is no workload, a name is not legal or occurs twice, a trace is shorter than a window,
    /// or there are too few windows.
    pub fn found(features: FeatureSet, material: &[TraceToLearn]) -> Result<Self, ClusterError> {
        let mut names: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for one in material {
            check_name(one.name)?;
            if !seen.insert(one.name) {
                return Err(ClusterError::SameName { name: one.name.to_owned() });
            }
            let category = one.category.unwrap_or(one.name);
            check_name(category)?;
            if !names.iter().any(|known| known == category) {
                names.push(category.to_owned());
            }
        }
        if material.is_empty() {
            return Err(ClusterError::Nothing);
        }
        let rows =
            material.iter().map(|one| rows_of(features, one)).collect::<Result<Vec<_>, _>>()?;
        let views: Vec<_> = rows.iter().map(Array2::view).collect();
        let together = concatenate(Axis(0), &views).expect("rows of one length");
        let number = |one: &TraceToLearn| {
            let category = one.category.unwrap_or(one.name);
            names.iter().position(|name| name == category).unwrap_or(0) as u32
        };
        let numbers: Vec<u32> = material.iter().map(number).collect();
        let labels: Vec<u32> =
            numbers.iter().zip(&rows).flat_map(|(&n, rows)| vec![n; rows.nrows()]).collect();
        let mut basis = Basis::fit(features, together.view(), &labels)?;
        let mut members = BTreeMap::new();
        let mut points =
            rows.into_iter().map(|rows| basis.project(rows)).collect::<Result<Vec<_>, _>>()?;
        if features == FeatureSet::Profile {
            let kmeans = train(&starts(&points, &numbers, names.len()), &points)?;
            let reach = reach(&centres(&kmeans), &points, &numbers);
            let factor = reach.map_or(1.0, |reach| PAPER_THRESHOLD / reach);
            basis.stretch(factor);
            points.iter_mut().flatten().flatten().for_each(|value| *value *= factor);
        }
        let kmeans = train(&starts(&points, &numbers, names.len()), &points)?;
        for ((one, points), category) in material.iter().zip(points).zip(numbers) {
            let content = digest_requests(one.requests);
            let name = one.name.to_owned();
            let member = LearnedTrace { name, category, outlier_of: None, content, points };
            members.insert(one.name.to_owned(), member);
        }
        Ok(Self { basis, kmeans, names, members })
    }

    /// Learns workloads one after the other, or makes the first categories from all of them if none
    /// is known. Returns the categories, and what became of each workload.
    ///
    /// # Errors
    /// One of the errors of [`Categories::found`] or [`Categories::learn`].
    pub fn found_or_learn(
        known: Option<Self>,
        features: FeatureSet,
        material: &[TraceToLearn],
        threshold: Threshold,
    ) -> Result<(Self, Vec<LearnOutcome>), ClusterError> {
        let Some(mut categories) = known else {
            let categories = Self::found(features, material)?;
            let founded = |one: &TraceToLearn| LearnOutcome::Founded {
                category: one.category.unwrap_or(one.name).to_owned(),
            };
            return Ok((categories, material.iter().map(founded).collect()));
        };
        let learned = material.iter().map(|one| categories.learn(*one, threshold));
        let learned = learned.collect::<Result<_, _>>()?;
        Ok((categories, learned))
    }

    /// Learns one more workload.
    ///
    /// # Errors
    /// The trace is shorter than a window, its name is not legal or belongs to another workload, or
    /// it names a category that does not exist.
    pub fn learn(
        &mut self,
        material: TraceToLearn,
        threshold: Threshold,
    ) -> Result<LearnOutcome, ClusterError> {
        check_name(material.name)?;
        let content = digest_requests(material.requests);
        if let Some(known) = self.members.get(material.name) {
            return if known.content == content {
                Ok(LearnOutcome::Known { category: self.names[known.category as usize].clone() })
            } else {
                Err(ClusterError::Known { name: material.name.to_owned() })
            };
        }
        let points = self.basis.project(rows_of(self.basis.features(), &material)?)?;
        let verdict = self.judge(&points, threshold);
        let stated = material.category.map(|name| self.number(name)).transpose()?;
        let mut member = LearnedTrace {
            name: material.name.to_owned(),
            category: verdict.category,
            outlier_of: None,
            content,
            points,
        };
        let learned = match stated {
            Some(stated) if !(verdict.inside && verdict.category == stated) => {
                let category = self.names[stated as usize].clone();
                let distance = distance(&centre(&member.points), &self.centre(stated));
                member.category = stated;
                member.outlier_of = Some(category.clone());
                self.members.insert(member.name.clone(), member);
                return self.note_outlier(category, distance);
            }
            _ if verdict.inside => {
                LearnOutcome::Joined { category: verdict.name, distance: verdict.distance }
            }
            _ => {
                let category = self.new_name(&member.name);
                self.add(category.clone(), centre(&member.points), &member.points)?;
                member.category = self.names.len() as u32 - 1;
                LearnOutcome::Added { category, distance: verdict.distance }
            }
        };
        self.members.insert(member.name.clone(), member);
        Ok(learned)
    }

    /// Finds the category of a trace. `name` is used in errors only.
    ///
    /// # Errors
    /// The trace is shorter than a window.
    pub fn classify(
        &self,
        name: &str,
        requests: &[Request],
        threshold: Threshold,
    ) -> Result<Classification, ClusterError> {
        let material = TraceToLearn { name, category: None, requests };
        let points = self.basis.project(rows_of(self.basis.features(), &material)?)?;
        Ok(self.judge(&points, threshold))
    }

    /// The basis, which maps windows to points.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Every category, by number.
    pub fn list(&self) -> Vec<Category> {
        let windows = self.kmeans.counts();
        let category = |(number, name): (usize, &String)| Category {
            number: number as u32,
            name: name.clone(),
            centre: self.centre(number as u32),
            windows: windows[number],
        };
        self.names.iter().enumerate().map(category).collect()
    }

    /// Every workload that was learned, by name.
    pub fn members(&self) -> impl Iterator<Item = &LearnedTrace> {
        self.members.values()
    }

    /// The number of a category.
    ///
    /// # Errors
    /// There is no category of that name.
    pub fn number(&self, name: &str) -> Result<u32, ClusterError> {
        let found = self.names.iter().position(|known| known == name);
        found.map(|number| number as u32).ok_or_else(|| ClusterError::NoCategory {
            name: name.to_owned(),
            known: self.names.join(", "),
        })
    }

    /// The least distance between the centres of two categories; `None` if there is one category.
    pub fn category_distance_min(&self) -> Option<f64> {
        least_distance(&centres(&self.kmeans))
    }

    /// The number of the category nearest to each point.
    pub fn nearest(&self, points: &[WindowPoint]) -> Vec<u32> {
        self.nearest_with_distance(points).map(|(number, _)| number).collect()
    }

    /// The distance of each point to the centre of the category nearest to it.
    pub fn distances(&self, points: &[WindowPoint]) -> Vec<f64> {
        self.nearest_with_distance(points).map(|(_, distance)| distance).collect()
    }

    fn nearest_with_distance(&self, points: &[WindowPoint]) -> impl Iterator<Item = (u32, f64)> {
        points.iter().map(|point| {
            let found = self.kmeans.nearest(point).expect("points have the model's dimensions");
            (found.cluster as u32, found.distance)
        })
    }

    pub(super) fn centre(&self, number: u32) -> WindowPoint {
        let row = self.kmeans.centroids().row(number as usize).to_vec();
        std::array::from_fn(|i| row[i])
    }

    fn judge(&self, points: &[WindowPoint], threshold: Threshold) -> Classification {
        let middle = centre(points);
        let mut distances: Vec<(u32, f64)> = (0..self.names.len() as u32)
            .map(|number| (number, distance(&middle, &self.centre(number))))
            .collect();
        distances.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let (category, distance) = distances[0];
        let category_distance_min = self.category_distance_min();
        let threshold = match threshold {
            Threshold::Fixed(distance) => distance,
            Threshold::Derived => category_distance_min.unwrap_or(PAPER_THRESHOLD),
        };
        let in_category =
            self.nearest(points).into_iter().filter(|&number| number == category).count();
        let outliers = self.distances(points).into_iter().filter(|&far| far > threshold).count();
        let named =
            |(number, distance): (u32, f64)| (self.names[number as usize].clone(), distance);
        Classification {
            category,
            name: self.names[category as usize].clone(),
            inside: distance <= threshold,
            distance,
            threshold,
            category_distance_min,
            distances: distances.into_iter().map(named).collect(),
            windows: points.len(),
            windows_share: in_category as f64 / points.len() as f64,
            outliers,
        }
    }

    /// Counts the outliers of a category. Enough of them become a new category.
    fn note_outlier(
        &mut self,
        category: String,
        distance: f64,
    ) -> Result<LearnOutcome, ClusterError> {
        let outliers: Vec<String> = self
            .members
            .values()
            .filter(|member| member.outlier_of.as_deref() == Some(&category))
            .map(|member| member.name.clone())
            .collect();
        if outliers.len() < OUTLIERS_FOR_A_CATEGORY {
            return Ok(LearnOutcome::Outlier { category, distance, count: outliers.len() });
        }
        let new = self.new_name(&category);
        let points: Vec<WindowPoint> =
            outliers.iter().flat_map(|name| self.members[name].points.iter().copied()).collect();
        self.add(new.clone(), centre(&points), &[])?;
        let number = self.names.len() as u32 - 1;
        for name in outliers {
            if let Some(member) = self.members.get_mut(&name) {
                (member.category, member.outlier_of) = (number, None);
            }
        }
        Ok(LearnOutcome::Seceded { from: category, category: new })
    }

    /// Trains k-means again with one more cluster, which begins at `start`. `extra` are windows of
    /// a workload that is not a member yet.
    fn add(
        &mut self,
        name: String,
        start: WindowPoint,
        extra: &[WindowPoint],
    ) -> Result<(), ClusterError> {
        let mut starts: Vec<WindowPoint> =
            (0..self.names.len() as u32).map(|number| self.centre(number)).collect();
        starts.push(start);
        let mut points: Vec<Vec<WindowPoint>> =
            self.members.values().map(|member| member.points.clone()).collect();
        points.push(extra.to_vec());
        self.kmeans = train(&starts, &points)?;
        self.names.push(name);
        Ok(())
    }

    /// A free name for a new category: the wanted one, with a number behind it if it is taken.
    fn new_name(&self, wanted: &str) -> String {
        let free = |name: &String| !self.names.contains(name);
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(free).expect("numbers do not end")
    }
}

/// The mean of the windows of each category.
fn starts(points: &[Vec<WindowPoint>], numbers: &[u32], categories: usize) -> Vec<WindowPoint> {
    let of = |category: usize| {
        let members =
            points.iter().zip(numbers).filter(|(_, number)| **number as usize == category);
        centre(&members.flat_map(|(points, _)| points.iter().copied()).collect::<Vec<_>>())
    };
    (0..categories).map(of).collect()
}

/// Trains k-means on windows, from given centres.
fn train(start: &[WindowPoint], points: &[Vec<WindowPoint>]) -> Result<KMeansModel, ClusterError> {
    let all = points.concat();
    Ok(KMeansParams::new(start.len())
        .init(Init::Given(matrix(start).to_owned()))
        // A cluster that loses all its windows keeps its number and its centre.
        .empty(EmptyCluster::Keep)
        .fit(matrix(&all))?)
}

/// The centres of all clusters, by number.
fn centres(kmeans: &KMeansModel) -> Vec<WindowPoint> {
    kmeans.centroids().rows().into_iter().map(|row| std::array::from_fn(|i| row[i])).collect()
}

/// The features of a workload's windows.
fn rows_of(features: FeatureSet, material: &TraceToLearn) -> Result<Array2<f64>, ClusterError> {
    if material.requests.len() < WINDOW_REQUESTS {
        let (name, requests) = (material.name.to_owned(), material.requests.len());
        return Err(ClusterError::TooShort { name, requests });
    }
    Ok(features.rows(material.requests))
}

/// Checks that a name is legal.
fn check_name(name: &str) -> Result<(), ClusterError> {
    let legal = |c: char| c.is_alphanumeric() || "-_.@".contains(c);
    if (1..=64).contains(&name.chars().count()) && name.chars().all(legal) {
        Ok(())
    } else {
        Err(ClusterError::Name { name: name.chars().take(80).collect() })
    }
}
