//! Texts that stand for values, as on the command line.

use crate::failure::{wrong, wrong_text};
use pyo3::prelude::*;
use ssdtune_experiment::{AddressFit, Preparation, Start};
use std::fmt::Display;
use std::str::FromStr;

/// The value of a text; `name` is the argument's.
pub(crate) fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| wrong_text(format!("{name} = {text}: {error}")))
}

/// What drives hold and have been through; each drive has its own seed.
pub(crate) fn preparation(
    start: Option<&str>,
    age: &[String],
    erases: Option<u32>,
) -> PyResult<Preparation> {
    let start = start.map(|text| parsed("start", text)).transpose()?.unwrap_or(Start::Footprint);
    let ages = age.iter().map(|text| parsed("age", text)).collect::<PyResult<_>>()?;
    let preparation = Preparation { start, ages, erases: erases.unwrap_or(0), seed: 0 };
    preparation.check().map_err(wrong)?;
    Ok(preparation)
}

/// What to do with addresses beyond the end of a drive.
pub(crate) fn fit(text: Option<&str>) -> PyResult<Option<AddressFit>> {
    text.map(|text| parsed("fit_addresses", text)).transpose()
}
