//! The drives of a sweep: one base drive with every combination of values for some parameters.

use ssdtune_model::{CheckedConfig, DeviceConfig, Faults, set};

/// A drive of a sweep.
#[derive(Clone, Debug)]
pub struct GridPoint {
    /// The parameters that the sweep has set, each with its value as text.
    pub settings: Vec<(String, String)>,
    /// The drive, checked.
    pub device: CheckedConfig,
}

/// Why a sweep is impossible.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// There are too many combinations.
    #[error("--sweep: more than {most} combinations")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// A parameter does not exist or cannot have the value.
    #[error(transparent)]
    Value(#[from] Faults),
    /// A combination of values is no possible drive.
    #[error("at the point {point}")]
    Point {
        /// The combination, as in `bus.channels=4 gc.threshold=0.1`.
        point: String,
        /// What is wrong with it.
        source: Faults,
    },
}

/// Every combination of the values of some parameters, at most `most` of them. Each axis is the
/// key of a parameter and its values with commas between them; the first axis varies slowest.
/// Without an axis there is one point, the base drive.
///
/// # Errors
/// There are more combinations, a value is illegal, or a combination is no possible drive.
pub fn grid<'a>(
    base: &DeviceConfig,
    axes: impl IntoIterator<Item = (&'a str, &'a str)>,
    most: usize,
) -> Result<Vec<GridPoint>, GridError> {
    let mut combinations: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for (key, values) in axes {
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if combinations.len().saturating_mul(values.len()) > most {
            return Err(GridError::TooMany { most });
        }
        let longer = |shorter: &Vec<(&'a str, &'a str)>| {
            let with = |value: &&'a str| [shorter.as_slice(), &[(key, *value)]].concat();
            values.iter().map(with).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    combinations.into_iter().map(|settings| point(base, &settings)).collect()
}

fn point(base: &DeviceConfig, settings: &[(&str, &str)]) -> Result<GridPoint, GridError> {
    let mut device = base.clone();
    for (key, value) in settings {
        set(&mut device, key, value)?;
    }
    let device = device.check().map_err(|source| {
        let words: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        GridError::Point { point: words.join(" "), source }
    })?;
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Ok(GridPoint { settings: settings.iter().map(owned).collect(), device })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::presets;

    #[test]
    fn the_first_axis_varies_slowest() {
        let base = presets::load("samsung-850-pro").unwrap();
        let axes = [("bus.channels", "4, 8"), ("gc.threshold", "0.05,0.1")];
        let points = grid(&base, axes, 4).unwrap();
        let found: Vec<(u32, f64)> = points
            .iter()
            .map(|point| (point.device.bus.channels, point.device.gc.threshold))
            .collect();
        assert_eq!(found, [(4, 0.05), (4, 0.1), (8, 0.05), (8, 0.1)]);
        let first = ("bus.channels".to_owned(), "4".to_owned());
        assert_eq!(points[0].settings[0], first);
        assert!(matches!(grid(&base, axes, 3), Err(GridError::TooMany { most: 3 })));
        assert_eq!(grid(&base, [], 1).unwrap().len(), 1);
        assert!(matches!(grid(&base, [("bus.channels", "x")], 9), Err(GridError::Value(_))));
    }
}
