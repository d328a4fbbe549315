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
mod energy;
mod flash;
mod ftl;
mod host;
mod markdown;
mod value;

pub use markdown::markdown;
pub use value::{Candidates, Field, Kind, Legal, Unit, Value};

use crate::config::DeviceConfig;
use crate::fault::{Fault, Faults, Problem};
use crate::nearest::closest_name;

/// Where MQSim's XML holds a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `Host_Parameter_Set`.
    Host,
    /// `Device_Parameter_Set`.
    Device,
    /// `Flash_Parameter_Set`, inside the device's.
    Flash,
}

/// A parameter in MQSim's XML.
#[derive(Clone, Copy, Debug)]
pub struct Mqsim {
    /// The element that holds it.
    pub group: Group,
    /// The tags that are written; more than one where published versions disagree on the spelling.
    pub tags: &'static [&'static str],
    /// Further spellings found in the wild, read but not written.
    pub also: &'static [&'static str],
    /// What MQSim takes when the tag is absent, where that is not ssdtune's default.
    pub absent: Option<Value>,
}

/// Whether a setting can change a result.
#[derive(Clone, Copy)]
pub enum Effect {
    /// It can.
    Yes,
    /// It cannot, for this reason.
    Never(&'static str),
    /// It cannot when the function gives a reason.
    Unless(fn(&DeviceConfig) -> Option<&'static str>),
}

/// One row.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Its path in the TOML file, unit last.
    pub key: &'static str,
    /// One sentence on what it does.
    pub meaning: &'static str,
    /// How a search may vary it.
    pub kind: Kind,
    /// What its number counts.
    pub unit: Unit,
    /// Every value it may take.
    pub legal: Legal,
    /// What drives on the market have.
    pub commodity: Candidates,
    /// What a what-if search may try besides.
    pub what_if: Candidates,
    /// Whether it can have an effect.
    pub effect: Effect,
    /// Its place in MQSim's XML, if it has one.
    pub mqsim: Option<Mqsim>,
    /// The drive without it is the drive with its default, so a canonical text leaves the default
    /// out: adding the row has left every earlier text as it was.
    pub is_later: bool,
    get: fn(&DeviceConfig) -> Value,
    set: fn(&mut DeviceConfig, Value) -> bool,
}

/// The rows of one part of the drive: one table of the TOML file.
#[derive(Clone, Copy)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// What it describes.
    pub title: &'static str,
    /// Its rows.
    pub rows: &'static [Parameter],
}

/// All sections, in the order files list them.
pub const SECTIONS: &[Section] = &[
    host::RUN,
    host::HOST,
    host::CACHE,
    ftl::MAPPING,
    ftl::PLACEMENT,
    ftl::GC,
    ftl::WEAR,
    flash::SUSPENSION,
    flash::BUS,
    flash::FLASH,
    ageing::AGEING,
    energy::ENERGY,
    compat::COMPAT,
];

/// All parameters, in the order files list them.
pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
    SECTIONS.iter().flat_map(|section| section.rows)
}

/// The parameter of that key, or of that MQSim tag.
pub fn find(key: &str) -> Option<&'static Parameter> {
    parameters()
        .find(|row| row.key == key)
        .or_else(|| parameters().find(|row| row.aliases().any(|alias| alias == key)))
}

/// The key that resembles `key` most, if any resembles it at all. A bare last part ("page_bytes")
/// names the key that ends in it.
pub fn nearest(key: &str) -> Option<&'static str> {
    let last = parameters().find(|row| row.key.rsplit('.').next() == Some(key));
    let names = || parameters().flat_map(|row| std::iter::once(row.key).chain(row.aliases()));
    last.map(|row| row.key).or_else(|| closest_name(key, names()))
}

/// Sets one parameter from text, as `--set gc.threshold=0.1` does. `key` is a key of the catalogue
/// or an MQSim tag; sizes and times may carry a suffix (`256MiB`, `75us`).
///
/// # Errors
/// The one fault: the key, the value, what is legal and the nearest legal name. Nothing is changed.
pub fn set(config: &mut DeviceConfig, key: &str, text: &str) -> Result<(), Faults> {
    let wrong = |problem| Faults::from(Fault::new(key, problem).with_value(text));
    let Some(row) = find(key) else {
        return Err(wrong(Problem::UnknownKey { nearest: nearest(key).map(str::to_owned) }));
    };
    row.parse(text).and_then(|value| row.set(config, value)).map_err(wrong)
}

impl Parameter {
    /// The value in `config`.
    pub fn get(&self, config: &DeviceConfig) -> Value {
        (self.get)(config)
    }

    /// Sets the value in `config`, if it is legal.
    ///
    /// # Errors
    /// What is wrong with the value; `config` is unchanged then.
    pub fn set(&self, config: &mut DeviceConfig, value: Value) -> Result<(), Problem> {
        match self.legal.allows(value) && (self.set)(config, value) {
            true => Ok(()),
            false => Err(self.illegal(&value.to_string())),
        }
    }

    /// Reads a value from text.
    ///
    /// # Errors
    /// The text is no value of this parameter's type.
    pub fn parse(&self, text: &str) -> Result<Value, Problem> {
        self.legal.parse(text, self.unit).ok_or_else(|| self.illegal(text))
    }

    /// The complaint that `text` is no legal value of this parameter.
    pub fn illegal(&self, text: &str) -> Problem {
        let nearest = closest_name(text, self.legal.names()).map(str::to_owned);
        let unit = self.unit.sign();
        let legal = match (&self.legal, unit) {
            (Legal::Names(_), _) | (_, "") => self.legal.to_string(),
            _ => format!("{} {unit}", self.legal),
        };
        Problem::Illegal { expected: self.legal.type_name(), legal, nearest }
    }

    /// The value in the default drive.
    pub fn default_value(&self) -> Value {
        self.get(&DeviceConfig::default())
    }

    /// Names it goes by elsewhere: the spellings of MQSim's tag.
    pub fn aliases(&self) -> impl Iterator<Item = &'static str> {
        let (tags, also) = self.mqsim.map_or((&[][..], &[][..]), |mqsim| (mqsim.tags, mqsim.also));
        tags.iter().chain(also).copied()
    }

    /// Why the setting has no effect in `config`; `None` where it has one.
    pub fn inert(&self, config: &DeviceConfig) -> Option<&'static str> {
        match self.effect {
            Effect::Yes => None,
            Effect::Never(reason) => Some(reason),
            Effect::Unless(reason) => reason(config),
        }
    }

    /// Whether there is only one legal value, so that files need not state it.
    pub fn is_constant(&self) -> bool {
        matches!(self.legal, Legal::Names([_]))
    }

    /// The table it stands in and its name there.
    pub fn path(&self) -> (&'static str, &'static str) {
        self.key.split_once('.').unwrap_or(("", self.key))
    }
}

/// Rows are written as chains: `row(key, get, set).ints(1, 64).says("…")`.
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
            is_later: false,
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

    /// A duration below a quarter of an hour, so that sums of many stay far from the 64-bit range.
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

    const fn later(mut self) -> Self {
        self.is_later = true;
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

/// A row for what MQSim lets one choose and ssdtune models in one way only.
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
