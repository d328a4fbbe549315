//! Categories as text, tables and a chart: what became of workloads, where traces belong, and how
//! the windows lie.

use super::basis::{FeatureSet, WindowPoint};
use super::model::{
    Categories, Category, Classification, LearnOutcome, PAPER_THRESHOLD, Threshold,
};
use serde::Serialize;
use ssdtune_report::{Axis, Chart, Series, Svg, Table, Text};
use std::fmt;

impl LearnOutcome {
    /// The distance from the workload's centre to that of a category; `None` where none was
    /// measured.
    pub fn distance(&self) -> Option<f64> {
        match self {
            Self::Joined { distance, .. }
            | Self::Added { distance, .. }
            | Self::Outlier { distance, .. } => Some(*distance),
            Self::Founded { .. } | Self::Seceded { .. } | Self::Known { .. } => None,
        }
    }
}

impl fmt::Display for LearnOutcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Founded { category } => write!(out, "in category {category}, new"),
            Self::Joined { category, .. } => write!(out, "joined category {category}"),
            Self::Added { category, .. } => write!(out, "near no category: {category} is new"),
            Self::Outlier { category, count, .. } => {
                write!(out, "outlier {count} of category {category}")
            }
            Self::Seceded { from, category } => {
                write!(out, "the outliers of {from} are category {category} now")
            }
            Self::Known { category } => write!(out, "known already, in category {category}"),
        }
    }
}

/// All categories with their workloads. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The features of the windows.
    pub features: FeatureSet,
    /// The share of the variance that each dimension explains.
    pub explained_variance_ratio: Vec<f64>,
    /// The least distance between two categories; `None` if there is one category.
    pub category_distance_min: Option<f64>,
    /// The categories, by number.
    pub categories: Vec<CategoryOverview>,
}

/// A category with the names of its workloads. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct CategoryOverview {
    /// The number of the category.
    pub number: u32,
    /// The name of the category.
    pub name: String,
    /// The centre of its cluster.
    pub centre: WindowPoint,
    /// The number of learned windows in its cluster, of any workload.
    pub windows: u64,
    /// The names of the workloads in the category, in order.
    pub workloads: Vec<String>,
    /// The names of its outliers, in order: workloads that are known to belong to the category and
    /// lie outside of its cluster.
    pub outliers: Vec<String>,
}

impl Overview {
    /// The overview of these categories.
    pub fn of(categories: &Categories) -> Self {
        let members = |number: u32, outliers: bool| {
            let members = categories.members().filter(|member| member.category == number);
            let members = members.filter(|member| member.outlier_of.is_some() == outliers);
            members.map(|member| member.name.clone()).collect()
        };
        let overview = |category: Category| CategoryOverview {
            number: category.number,
            name: category.name,
            centre: category.centre,
            windows: category.windows,
            workloads: members(category.number, false),
            outliers: members(category.number, true),
        };
        Self {
            features: categories.basis().features(),
            explained_variance_ratio: categories.basis().explained_variance_ratio(),
            category_distance_min: categories.category_distance_min(),
            categories: categories.list().into_iter().map(overview).collect(),
        }
    }

    /// The categories as a table for terminals.
    pub fn table(&self) -> Table {
        let mut table = Table::new(["number", "category", "windows", "workloads", "outliers"]);
        for category in &self.categories {
            table.add_row([
                category.number.to_string(),
                category.name.clone(),
                category.windows.to_string(),
                category.workloads.join(", "),
                category.outliers.join(", "),
            ]);
        }
        table
    }
}

/// What became of workloads that were learned. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct LearnReport {
    /// The workloads, in the order of learning.
    pub workloads: Vec<LearnedWorkload>,
    /// The features of the windows.
    pub features: FeatureSet,
    /// The share of the variance that each dimension explains.
    pub explained_variance_ratio: Vec<f64>,
    /// The threshold that holds unless another is given.
    pub threshold_default: f64,
    /// The least distance between two categories; `None` if there is one category.
    pub category_distance_min: Option<f64>,
}

/// What became of one workload. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct LearnedWorkload {
    /// The name of the workload.
    pub workload: String,
    /// The number of its windows that were learned.
    pub windows: usize,
    /// What became of it.
    #[serde(flatten)]
    pub learned: LearnOutcome,
}

impl LearnReport {
    /// The report on workloads by their names, and what became of each.
    pub fn of<'a>(
        categories: &Categories,
        learned: impl IntoIterator<Item = (&'a str, LearnOutcome)>,
    ) -> Self {
        let row = |(name, learned): (&str, LearnOutcome)| {
            let member = categories.members().find(|member| member.name == name);
            let windows = member.map_or(0, |member| member.points.len());
            LearnedWorkload { workload: name.to_owned(), windows, learned }
        };
        Self {
            workloads: learned.into_iter().map(row).collect(),
            features: categories.basis().features(),
            explained_variance_ratio: categories.basis().explained_variance_ratio(),
            threshold_default: PAPER_THRESHOLD,
            category_distance_min: categories.category_distance_min(),
        }
    }

    /// As text for terminals: a row with name, number of windows and outcome for each workload,
    /// then the variance that the basis explains, and the threshold.
    pub fn text(&self, categories: &Categories, threshold: Threshold) -> Text {
        let mut table = Table::new(["workload", "windows", "what became of it", "distance"]);
        for LearnedWorkload { workload, windows, learned } in &self.workloads {
            let distance = learned.distance().map(|distance| format!("{distance:.2}"));
            let (windows, learned) = (windows.to_string(), learned.to_string());
            table.add_row([workload.clone(), windows, learned, distance.unwrap_or_default()]);
        }
        let mut text = Text::from(table);
        let shares = &self.explained_variance_ratio;
        text.line(format_args!(
            "{:.1} % of the variance of the {} features lie in {} dimensions",
            100.0 * shares.iter().sum::<f64>(),
            self.features,
            shares.len()
        ));
        text.line(threshold_line(categories, threshold));
        text
    }
}

/// Classified traces as text for terminals: a row with name and category for each, then the
/// threshold.
pub fn classified_text<'a>(
    categories: &Categories,
    verdicts: impl IntoIterator<Item = (&'a str, &'a Classification)>,
    threshold: Threshold,
) -> Text {
    let mut table = Table::new([
        "source",
        "category",
        "distance",
        "next",
        "threshold",
        "windows",
        "of them there",
        "outliers",
    ]);
    for (source, verdict) in verdicts {
        let category = match verdict.inside {
            true => verdict.name.clone(),
            false => format!("none; nearest {}", verdict.name),
        };
        let next = verdict.distances.get(1);
        let next = next.map(|(name, distance)| format!("{name} {distance:.2}"));
        table.add_row([
            source.to_owned(),
            category,
            format!("{:.2}", verdict.distance),
            next.unwrap_or_default(),
            format!("{:.2}", verdict.threshold),
            verdict.windows.to_string(),
            format!("{:.0} %", 100.0 * verdict.windows_share),
            verdict.outliers.to_string(),
        ]);
    }
    let mut text = Text::from(table);
    text.line(threshold_line(categories, threshold));
    text
}

fn threshold_line(categories: &Categories, threshold: Threshold) -> String {
    let least = categories.category_distance_min();
    let least = least.map_or("none".to_owned(), |least| format!("{least:.2}"));
    format!(
        "threshold {threshold}; default {PAPER_THRESHOLD}, least distance between two categories \
         {least}"
    )
}

/// A chart of the windows of all learned workloads over two principal components, which are counted
/// from 0 (figure 2 of the paper). A dot is a window in the colour of its category, a ring is a
/// window of an outlier, and a cross is the centre of a category.
pub fn chart(categories: &Categories, components: [usize; 2]) -> Svg {
    let shares = categories.basis().explained_variance_ratio();
    let [x, y] = components.map(|component| {
        let share = 100.0 * shares.get(component).copied().unwrap_or(0.0);
        let name = format!("principal component {}", component + 1);
        Axis::new(name).in_unit(format!("{share:.1} % of the variance"))
    });
    let mut chart = Chart::new("Windows of 3,000 requests, by category", x, y);
    let flat = |point: &WindowPoint| (point[components[0]], point[components[1]]);
    let list = categories.list();
    for category in &list {
        let windows = |outliers: bool| {
            let members = categories.members().filter(move |member| {
                member.category == category.number && member.outlier_of.is_some() == outliers
            });
            members.flat_map(|member| member.points.iter().map(flat)).collect::<Vec<_>>()
        };
        let colour = category.number as usize;
        let name = format!("{} ({})", category.name, category.windows);
        chart.add(Series::dots(windows(false)).coloured(colour).named(name));
        chart.add(Series::rings(windows(true)).coloured(colour));
    }
    chart.add(Series::crosses(list.iter().map(|category| flat(&category.centre))));
    chart.to_svg()
}
