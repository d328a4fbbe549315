//! The models that come with the crate. Their texts are part of the program.

use super::check::{Fault, ModelError};
use super::model::Model;
use super::read::parse;

macro_rules! texts {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../traces/", $name, ".toml")))),*]
    };
}

/// The names and texts, sorted by name for the binary search. A test compares the list with the
/// folder.
static TEXTS: &[(&str, &str)] = texts![
    "batch-analytics",
    "cloud-storage",
    "database",
    "fiu",
    "hdfs",
    "kvstore",
    "leveldb",
    "livemaps",
    "lpm-fileserver",
    "lpm-linkbench",
    "lpm-random-read",
    "lpm-random-write",
    "lpm-sequential-read",
    "lpm-sequential-write",
    "lpm-tpcc",
    "lpm-varmail",
    "lpm-webserver",
    "lpm-ycsb-a",
    "lpm-ycsb-b",
    "lpm-ycsb-c",
    "lpm-ycsb-d",
    "lpm-ycsb-e",
    "lpm-ycsb-f",
    "mds_0",
    "mds_1",
    "mysql",
    "prn_1",
    "proj_0",
    "proj_1",
    "prxy_0",
    "radiusauth",
    "recomm",
    "rsrch_0",
    "src_1",
    "stg_1",
    "systor_lun0",
    "systor_lun1",
    "systor_lun3",
    "ts_0",
    "usr_1",
    "usr_2",
    "vdi",
    "wdev_0",
    "web_2",
    "websearch",
];

/// Aliases and the names they stand for, sorted by alias. A test compares them with the models.
static ALIASES: &[(&str, &str)] = &[
    ("adspay", "recomm"),
    ("lpm-fs", "lpm-fileserver"),
    ("lpm-lb", "lpm-linkbench"),
    ("lpm-rr", "lpm-random-read"),
    ("lpm-rw", "lpm-random-write"),
    ("lpm-sr", "lpm-sequential-read"),
    ("lpm-sw", "lpm-sequential-write"),
    ("lpm-tc", "lpm-tpcc"),
    ("lpm-vm", "lpm-varmail"),
    ("lpm-ws", "lpm-webserver"),
    ("lpm-ya", "lpm-ycsb-a"),
    ("lpm-yb", "lpm-ycsb-b"),
    ("lpm-yc", "lpm-ycsb-c"),
    ("lpm-yd", "lpm-ycsb-d"),
    ("lpm-ye", "lpm-ycsb-e"),
    ("lpm-yf", "lpm-ycsb-f"),
    ("lun0", "systor_lun0"),
    ("lun1", "systor_lun1"),
    ("lun3", "systor_lun3"),
    ("mapreduce", "batch-analytics"),
    ("tpcc", "database"),
    ("tpch", "mysql"),
    ("ycsb", "kvstore"),
];

/// How alike two names are if one may be meant by the other, in Jaro and Winkler's measure: one
/// letter wrong or two exchanged in five.
const LIKE: f64 = 0.85;

/// The names of the bundled models, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// The bundled model with this name or alias, or one of its variants: `prxy_0`, `tpcc`,
/// `src_1@footprint-half`.
///
/// # Errors
/// There is no such model or variant.
pub fn bundled(name: &str) -> Result<Model, ModelError> {
    let (base, variant) = match name.split_once('@') {
        Some((base, variant)) => (base, Some(variant)),
        None => (name, None),
    };
    let by_name = TEXTS.binary_search_by_key(&base, |(name, _)| name).ok();
    let by_alias = || {
        let found = ALIASES.binary_search_by_key(&base, |(alias, _)| alias).ok()?;
        TEXTS.binary_search_by_key(&ALIASES[found].1, |(name, _)| name).ok()
    };
    let Some(index) = by_name.or_else(by_alias) else {
        let meant = nearest(base, names().chain(ALIASES.iter().map(|(alias, _)| *alias)));
        let meant = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        return Err(unknown(format!(
            "no file and no bundled workload `{base}`{meant}; `ssdtune trace models` lists the \
             bundled ones"
        )));
    };
    let (file, text) = TEXTS[index];
    let model = parse(text, &format!("traces/{file}.toml"))?;
    let Some(variant) = variant else { return Ok(model) };
    model.variant(variant).ok_or_else(|| {
        let legal: Vec<&str> = model.variants.iter().map(|v| v.name.as_str()).collect();
        unknown(format!("`{base}` has no variant `{variant}`; it has: {}", legal.join(", ")))
    })
}

/// The name that looks most like `wanted`; `None` if none looks like it, or `wanted` is the name of
/// a file.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let alike = names
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .filter(|(likeness, _)| *likeness >= LIKE && !wanted.contains(['.', '/', '\\']));
    alike.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

fn unknown(message: String) -> ModelError {
    ModelError { origin: None, faults: vec![Fault { key: String::new(), line: None, message }] }
}

#[cfg(test)]
mod tests;
