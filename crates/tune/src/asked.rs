//! Space, limits and baseline as a user asks for them: by names, files and single limits.

use crate::aim::Aim;
use crate::limits::{Bounds, Limits, Prices, StatedLimits};
use crate::space::Space;
use ssdtune_model::source::{LoadError, read_text};
use ssdtune_model::{CheckedConfig, Faults};
use std::path::{Path, PathBuf};

/// The space where the user names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultSpace {
    /// What can be bought, for the baseline's price and a tenth.
    Market,
    /// What can be bought for any price, which is an aim and so needs a price list.
    MarketAtAnyPrice,
    /// Beyond that.
    WhatIf,
}

impl DefaultSpace {
    /// That of a search with these aims. Where the price is an aim, it has no limit but a stated
    /// one.
    pub fn of_search(aims: &[Aim]) -> Self {
        if aims.contains(&Aim::Price) { Self::MarketAtAnyPrice } else { Self::Market }
    }

    /// The preset to beat where none is named, in the space of this name or file. Parts that can be
    /// bought are compared with a drive that was sold: the published baseline has dies that nobody
    /// makes, and most of what is gained over it is the step to others.
    pub fn baseline(self, space: Option<&str>) -> &'static str {
        let (parts, stated) = (&[][..], StatedLimits::default());
        let asked = AskedSpace { space, default: self, parts, constraints: None, stated };
        // A space that cannot be read is refused when the job is loaded.
        let has_parts = asked.space().is_ok_and(|space| space.has_parts());
        if has_parts { "intel-750-400gb" } else { "intel-750" }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Market | Self::MarketAtAnyPrice => "market",
            Self::WhatIf => "what-if",
        }
    }

    /// Where limits come from that are not stated. A question what it would take has few, whatever
    /// space it is asked in.
    fn bounds(self, space: &Space) -> Bounds {
        match self {
            Self::MarketAtAnyPrice if space.has_parts() => Bounds::Wide,
            Self::Market | Self::MarketAtAnyPrice => Bounds::of_search(space),
            Self::WhatIf => Bounds::Wide,
        }
    }
}

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct AskedSpace<'a> {
    /// The name of a space that is built in, or a file.
    pub space: Option<&'a str>,
    /// The space if that names none.
    pub default: DefaultSpace,
    /// Files of further flash parts.
    pub parts: &'a [PathBuf],
    /// A file of constraints.
    pub constraints: Option<&'a Path>,
    /// Limits beside those of the file.
    pub stated: StatedLimits,
}

/// Why a user cannot have what is asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskedError {
    /// The space has a name that stands for nothing.
    #[error("--space {0}: write market, autoblox, what-if, or a .toml file")]
    NoSpace(String),
    /// A file cannot be read, or has faults.
    #[error(transparent)]
    File(#[from] LoadError),
    /// The limits do not go together with the baseline.
    #[error(transparent)]
    Limits(Faults),
}

/// The space that is asked for, around the baseline, and the limits.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The baseline, with the capacity that is asked for.
    pub base: CheckedConfig,
    /// The space around it.
    pub space: Space,
    /// The limits.
    pub limits: Limits,
    /// What was changed in the baseline, in words; `None` if nothing was.
    pub note: Option<String>,
}

impl AskedSpace<'_> {
    /// Reads the files, and completes the limits from the baseline.
    ///
    /// # Errors
    /// A name stands for nothing, a file cannot be read or has faults, or the baseline cannot have
    /// the capacity.
    pub fn around(&self, base: CheckedConfig) -> Result<Asked, AskedError> {
        let space = self.space()?;
        let list = space.has_parts().then(Prices::market);
        let mut limits = match self.constraints {
            Some(path) => read(path, |text| Limits::parse_onto(text, list))?,
            None => Limits::default(),
        };
        let bounds = self.default.bounds(&space);
        let completed = self.stated.complete(&mut limits, base, &space, bounds);
        let (base, note) = completed.map_err(AskedError::Limits)?;
        if self.default == DefaultSpace::MarketAtAnyPrice {
            limits.prices.get_or_insert_with(Prices::market);
        }
        Ok(Asked { space: space.around(&base), base, limits, note })
    }

    /// The space, with the parts of the user's files.
    fn space(&self) -> Result<Space, AskedError> {
        let name = self.space.unwrap_or(self.default.name());
        let mut space = match Space::named(name) {
            Some(space) => space,
            None if name.ends_with(".toml") => read(Path::new(name), Space::parse)?,
            None => return Err(AskedError::NoSpace(name.to_owned())),
        };
        for path in self.parts {
            space = read(path, |text| space.with_parts(text))?;
        }
        Ok(space)
    }
}

/// Reads a file and makes something of its text.
fn read<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, Faults>) -> Result<T, LoadError> {
    let text = read_text(path)?;
    parse(&text).map_err(|faults| LoadError::Faulty(faults.in_file(&path.display().to_string())))
}
