//! The parameter catalogue: one row for every tunable of a drive, and everything that is generated
//! from it.
//!
//! Validation, the TOML and MQSim XML files, `key=value` overrides, the search space, `ssdtune
//! config params` and `docs/parameters.md` read these rows and nothing else, so that a parameter is
//! described in one place. The rows stand in one file per part of the drive, in the order the files
//! list them.
//!
//! A look-up walks the rows (about a hundred): configurations are read, not simulated, through it.

mod ageing;
mod compat;
mod describe;
mod energy;
mod flash;
mod ftl;
mod host;
mod markdown;
mod slc_cache;

pub use crate::value::{Candidates, Field, Kind, Legal, Unit, Value};
pub use describe::{Description, Difference, differences, select};
pub use markdown::markdown;

use crate::config::DeviceConfig;
use crate::fault::{Fault, Faults, Problem};
use crate::nearest::closest_name;

/// The element of MQSim's XML that holds a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `Host_Parameter_Set`.
    Host,
    /// `Device_Parameter_Set`.
    Device,
    /// `Flash_Parameter_Set`, inside `Device_Parameter_Set`.
    Flash,
}

/// How MQSim's XML writes a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Mqsim {
    /// The element that holds the tag.
    pub group: Group,
    /// The tags that are written: more than one if published versions disagree on the spelling.
    pub tags: &'static [&'static str],
    /// Further spellings in files of users. They are read but not written.
    pub also: &'static [&'static str],
    /// What MQSim takes if the tag is absent; `None` if that is ssdtune's default.
    pub absent: Option<Value>,
}

/// Whether a setting can change a result.
#[derive(Clone, Copy)]
pub enum Effect {
    /// It can change a result.
    Yes,
    /// It cannot change a result, for this reason.
    Never(&'static str),
    /// It cannot change a result in a configuration for which the function gives a reason.
    Unless(fn(&DeviceConfig) -> Option<&'static str>),
}

/// When a row of the catalogue came in, beside what had been stored by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Since {
    /// Before anything was stored.
    Start,
    /// With placement policies, after measurements of drives had been stored.
    Placement,
    /// With the mechanisms of real drives, after labels and results of predictors had been stored.
    RealDrives,
}

/// A parameter: one row of the catalogue.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Its path in a TOML file, as in `gc.threshold`. The unit comes last in the name.
    pub key: &'static str,
    /// What it does, in one sentence.
    pub meaning: &'static str,
    /// How a search may vary it.
    pub kind: Kind,
    /// The unit of its value.
    pub unit: Unit,
    /// Every value it may take.
    pub legal: Legal,
    /// The values that drives on the market have.
    pub commodity: Candidates,
    /// The values that a what-if search may try.
    pub what_if: Candidates,
    /// Whether it can change a result.
    pub effect: Effect,
    /// How MQSim's XML writes it; `None` if it does not.
    pub mqsim: Option<Mqsim>,
    /// When the row came in. Texts from which keys are made leave later rows out while they have
    /// their default, so that earlier keys stay what they were.
    pub since: Since,
    get: fn(&DeviceConfig) -> Value,
    set: fn(&mut DeviceConfig, Value) -> bool,
}

/// The parameters of one part of the drive: one table of a TOML file.
#[derive(Clone, Copy)]
pub struct Section {
    /// The name of the table.
    pub name: &'static str,
    /// What it describes. Files that are written hold it, and stored digests are made of them: it
    /// may not change.
    pub title: &'static str,
    /// The parameters, in the order in which files list them.
    pub rows: &'static [Parameter],
}

/// All sections, in the order in which files list them.
pub const SECTIONS: &[Section] = &[
    host::RUN,
    host::HOST,
    host::CONTROLLER,
    host::CACHE,
    ftl::MAPPING,
    ftl::PLACEMENT,
    ftl::GC,
    ftl::WEAR,
    flash::SUSPENSION,
    flash::BUS,
    flash::FLASH,
    slc_cache::SLC_CACHE,
    ageing::AGEING,
    energy::ENERGY,
    compat::COMPAT,
];

/// All parameters, in the order in which files list them.
pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The parameter with this key or MQSim tag.
pub fn find(key: &str) -> Option<&'static Parameter> {
    parameters()
        .find(|row| row.key == key)
        .or_else(|| parameters().find(|row| row.aliases().any(|alias| alias == key)))
}

/// The key or MQSim tag that `key` was probably meant to be. The last part of a key alone
/// (`page_bytes`) stands for the whole key.
pub fn nearest(key: &str) -> Option<&'static str> {
    let last = parameters().find(|row| row.key.rsplit('.').next() == Some(key));
    let names = || parameters().flat_map(|row| std::iter::once(row.key).chain(row.aliases()));
    last.map(|row| row.key).or_else(|| closest_name(key, names()))
}

/// Sets one parameter from text, as `--set gc.threshold=0.1` does. `key` is a key of the catalogue
/// or an MQSim tag; sizes and times may carry a suffix (`256MiB`, `1GB`, `75us`).
///
/// # Errors
/// The key or the value is wrong; the fault says what is legal. Nothing is changed.
pub fn set(config: &mut DeviceConfig, key: &str, text: &str) -> Result<(), Faults> {
    let wrong = |problem| Faults::from(Fault::new(key, problem).with_value(text));
    let Some(row) = find(key) else {
        return Err(wrong(Problem::UnknownKey { nearest: nearest(key).map(str::to_owned) }));
    };
    row.parse(text).and_then(|value| row.set(config, value)).map_err(wrong)
}

impl Parameter {
    /// The parameter's value in `config`.
    pub fn get(&self, config: &DeviceConfig) -> Value {
        (self.get)(config)
    }

    /// Sets the parameter in `config`.
    ///
    /// # Errors
    /// The value is illegal; `config` is unchanged.
    pub fn set(&self, config: &mut DeviceConfig, value: Value) -> Result<(), Problem> {
        match self.legal.allows(value) && (self.set)(config, value) {
            true => Ok(()),
            false => Err(self.illegal(&value.to_string())),
        }
    }

    /// Reads a value from text.
    ///
    /// # Errors
    /// The text is not a value of the parameter's type.
    pub fn parse(&self, text: &str) -> Result<Value, Problem> {
        self.legal.parse(text, self.unit).ok_or_else(|| self.illegal(text))
    }

    /// The problem that `text` is not a legal value of this parameter.
    pub fn illegal(&self, text: &str) -> Problem {
        let nearest = closest_name(text, self.legal.names()).map(str::to_owned);
        let unit = self.unit.sign();
        let legal = match (&self.legal, self.unit) {
            (Legal::Ints { .. }, Unit::Bytes) => {
                format!("{} B, or a text such as \"64 MiB\" or \"1 GB\"", self.legal)
            }
            (Legal::Names(_), _) | (_, Unit::None) => self.legal.to_string(),
            _ => format!("{} {unit}", self.legal),
        };
        Problem::Illegal { expected: self.legal.type_name(), legal, nearest }
    }

    /// The parameter's value in the default drive.
    pub fn default_value(&self) -> Value {
        self.get(&DeviceConfig::default())
    }

    /// The parameter's tags in MQSim's XML, in every spelling.
    pub fn aliases(&self) -> impl Iterator<Item = &'static str> {
        let (tags, also) = self.mqsim.map_or((&[][..], &[][..]), |mqsim| (mqsim.tags, mqsim.also));
        tags.iter().chain(also).copied()
    }

    /// Why the parameter has no effect in `config`; `None` if it has one.
    pub fn inert(&self, config: &DeviceConfig) -> Option<&'static str> {
        match self.effect {
            Effect::Yes => None,
            Effect::Never(reason) => Some(reason),
            Effect::Unless(reason) => reason(config),
        }
    }

    /// Whether there is only one legal value. Files leave such a parameter out.
    pub fn is_constant(&self) -> bool {
        matches!(self.legal, Legal::Names([_]))
    }

    /// The table of a TOML file that holds the parameter, and its name there.
    pub fn path(&self) -> (&'static str, &'static str) {
        self.key.split_once('.').unwrap_or(("", self.key))
    }
}

/// Rows are written as chains: `row!("bus.channels", bus.channels).ints(1, 1_024).says("…")`.
impl Parameter {
    const fn new(
        key: &'static str,
        get: fn(&DeviceConfig) -> Value,
        set: fn(&mut DeviceConfig, Value) -> bool,
    ) -> Self {
        Self {
            key,
            meaning: "",
            kind: Kind::Boolean,
            unit: Unit::None,
            legal: Legal::Bools,
            commodity: Candidates::Fixed,
            what_if: Candidates::Fixed,
            effect: Effect::Yes,
            mqsim: None,
            since: Since::Start,
            get,
            set,
        }
    }

    const fn says(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    const fn ints(mut self, min: u64, max: u64) -> Self {
        self.legal = Legal::Ints { min, max, step: 1 };
        self.kind = Kind::Discrete;
        self
    }

    const fn multiples(mut self, step: u64, min: u64, max: u64) -> Self {
        self.legal = Legal::Ints { min, max, step };
        self.kind = Kind::Discrete;
        self
    }

    const fn reals(mut self, min: f64, max: f64) -> Self {
        self.legal = Legal::Reals { min, max, open: false };
        self.kind = Kind::Continuous;
        self
    }

    const fn between(mut self, min: f64, max: f64) -> Self {
        self.legal = Legal::Reals { min, max, open: true };
        self.kind = Kind::Continuous;
        self
    }

    const fn names(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.legal = Legal::Names(names);
        self.kind = Kind::Categorical;
        self
    }

    const fn continuous(mut self) -> Self {
        self.kind = Kind::Continuous;
        self
    }

    const fn discrete(mut self) -> Self {
        self.kind = Kind::Discrete;
        self
    }

    const fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// A duration below 1,000 seconds, so that sums of many stay within the 64-bit range.
    const fn nanos(self) -> Self {
        self.ints(0, 999_999_999_999).continuous().unit(Unit::Nanos)
    }

    const fn candidates(mut self, commodity: Candidates, what_if: Candidates) -> Self {
        self.commodity = commodity;
        self.what_if = what_if;
        self
    }

    const fn all(self) -> Self {
        self.candidates(Candidates::All, Candidates::All)
    }

    const fn mqsim(mut self, group: Group, tags: &'static [&'static str]) -> Self {
        self.mqsim = Some(Mqsim { group, tags, also: &[], absent: None });
        self
    }

    const fn also(mut self, spellings: &'static [&'static str]) -> Self {
        if let Some(mqsim) = &mut self.mqsim {
            mqsim.also = spellings;
        }
        self
    }

    const fn absent(mut self, value: Value) -> Self {
        if let Some(mqsim) = &mut self.mqsim {
            mqsim.absent = Some(value);
        }
        self
    }

    const fn since(mut self, since: Since) -> Self {
        self.since = since;
        self
    }

    const fn never(mut self, reason: &'static str) -> Self {
        self.effect = Effect::Never(reason);
        self
    }

    const fn unless(mut self, reason: fn(&DeviceConfig) -> Option<&'static str>) -> Self {
        self.effect = Effect::Unless(reason);
        self
    }
}

/// A row for a field of the configuration.
macro_rules! row {
    ($key:literal, $($path:tt)+) => {
        crate::catalogue::Parameter::new(
            $key,
            |config| crate::catalogue::Field::value(&config.$($path)+),
            |config, value| crate::catalogue::Field::assign(&mut config.$($path)+, value),
        )
    };
}

/// A row for a choice of MQSim of which ssdtune models one value only.
macro_rules! only {
    ($key:literal, $own:literal, $mqsim:literal) => {
        crate::catalogue::Parameter::new(
            $key,
            |_| crate::catalogue::Value::Name($own),
            |_, value| value == crate::catalogue::Value::Name($own),
        )
        .names(&[($own, $mqsim)])
        .never("it is the only one modelled")
    };
}

use {only, row};

#[cfg(test)]
mod tests;
