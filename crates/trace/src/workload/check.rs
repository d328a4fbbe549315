//! The rules that a model must keep. A check reports all faults at once.

use super::model::{
    Access, Arrival, GapRange, Model, Phase, PhaseLength, Rate, Recent, Runs, SizeRange, Skew,
    Stride, Tenant,
};
use ssdtune_model::SECTOR_BYTES;
use std::collections::BTreeSet;
use std::fmt;

/// The largest number of cells. Tables of skew index cells with 31 bits, which leaves room for the
/// fraction of a drifting ranking.
const CELLS_MAX: u64 = 1 << 31;
const WINDOW_MAX: u32 = 1 << 20;
const TENANTS_MAX: usize = 1024;
const STREAMS_MAX: u32 = 1024;
const SIZE_MAX: u64 = 1 << 30;

/// One fault of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The key, such as `write.runs.share` or `tenant[1].phase[0].arrival`.
    pub key: String,
    /// The line of the text, from 1; `None` if the model was not read from a text.
    pub line: Option<usize>,
    /// What is wrong, and what is legal.
    pub message: String,
}

/// All faults of a model that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    /// The file or bundled model that it came from, if known.
    pub origin: Option<String>,
    /// The faults, at least one, in the order of the text.
    pub faults: Vec<Fault>,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.origin.as_deref().unwrap_or("workload model");
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            match fault.line {
                Some(line) => write!(f, "{origin}:{line}: ")?,
                None => write!(f, "{origin}: ")?,
            }
            if !fault.key.is_empty() {
                write!(f, "`{}`: ", fault.key)?;
            }
            f.write_str(&fault.message)?;
        }
        Ok(())
    }
}

/// Checks all rules.
pub fn check(model: &Model) -> Result<(), ModelError> {
    let mut faults = Faults::default();
    faults.model(model);
    if faults.0.is_empty() { Ok(()) } else { Err(ModelError { origin: None, faults: faults.0 }) }
}

/// Whether `name` can name a model in commands and files.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
}

/// The beginning of the keys inside a tenant. A single tenant is written without a table of its
/// own.
pub(crate) fn tenant_key(tenants: usize, index: usize) -> String {
    if tenants == 1 { String::new() } else { format!("tenant[{index}].") }
}

/// The beginning of the keys inside a phase. A single phase is written without a table of its own.
pub(crate) fn phase_key(tenant: &str, phases: usize, index: usize) -> String {
    if phases == 1 { tenant.to_owned() } else { format!("{tenant}phase[{index}].") }
}

/// The faults found so far.
#[derive(Default)]
struct Faults(Vec<Fault>);

impl Faults {
    fn say(&mut self, key: impl Into<String>, message: impl Into<String>) {
        self.0.push(Fault { key: key.into(), line: None, message: message.into() });
    }

    fn demand(&mut self, holds: bool, key: impl Into<String>, message: impl FnOnce() -> String) {
        if !holds {
            self.say(key, message());
        }
    }

    fn share(&mut self, value: f64, key: String) {
        self.demand((0.0..=1.0).contains(&value), key, || {
            format!("{value} is not a share in 0..=1")
        });
    }

    fn positive(&mut self, value: f64, key: String) {
        self.demand(value > 0.0 && value < 1e18, key, || {
            format!("{value} is not a positive, finite number below 1e18")
        });
    }

    fn model(&mut self, model: &Model) {
        for name in std::iter::once(&model.name).chain(&model.aliases) {
            self.demand(is_name(name), "name", || {
                format!("`{name}` is not a name: use lower-case letters, digits, `-` and `_`")
            });
        }
        self.demand(model.requests > 0, "requests", || "0 requests: use 1 or more".into());
        let count = model.tenants.len();
        self.demand((1..=TENANTS_MAX).contains(&count), "tenant", || {
            format!("{count} tenants: use 1 to {TENANTS_MAX}")
        });
        for (index, tenant) in model.tenants.iter().enumerate() {
            self.tenant(tenant, &tenant_key(count, index));
        }
        let mut seen = BTreeSet::new();
        for (index, variant) in model.variants.iter().enumerate() {
            let key = format!("variant[{index}]");
            let fresh = is_name(&variant.name) && seen.insert(variant.name.as_str());
            self.demand(fresh, format!("{key}.name"), || {
                format!("`{}` is taken or not a name (lower case, digits, `-`, `_`)", variant.name)
            });
            for (name, factor) in [
                ("working_set", variant.working_set),
                ("rate", variant.rate),
                ("skew", variant.skew),
                ("recent", variant.recent),
                ("walk", variant.walk),
            ] {
                self.demand(factor > 0.0 && factor <= 1000.0, format!("{key}.{name}"), || {
                    format!("{factor} is not a factor above 0 and up to 1000")
                });
            }
        }
        if self.0.is_empty() {
            self.varied(model);
        }
    }

    /// Checks that every variant of a legal model is a legal model.
    fn varied(&mut self, model: &Model) {
        for (index, variant) in model.variants.iter().enumerate() {
            let faults = model
                .variant(&variant.name)
                .map(|m| check(&m))
                .and_then(Result::err)
                .map(|e| e.faults);
            for fault in faults.into_iter().flatten() {
                let message = format!("makes `{}` illegal: {}", fault.key, fault.message);
                self.say(format!("variant[{index}]"), message);
            }
        }
    }

    fn tenant(&mut self, tenant: &Tenant, key: &str) {
        let count = tenant.phases.len();
        self.demand(count > 0, format!("{key}phase"), || "no phase: give at least one".into());
        for (index, phase) in tenant.phases.iter().enumerate() {
            let key = phase_key(key, count, index);
            self.demand(count == 1 || phase.length.is_some(), format!("{key}requests"), || {
                "a phase among several needs `requests` or `duration_s`".into()
            });
            match phase.length {
                Some(PhaseLength::Requests(0)) => {
                    self.say(format!("{key}requests"), "a phase of 0 requests: use 1 or more");
                }
                Some(PhaseLength::Seconds(s)) => self.positive(s, format!("{key}duration_s")),
                _ => {}
            }
            self.phase(phase, &key);
        }
    }

    fn phase(&mut self, phase: &Phase, key: &str) {
        for (name, access) in ["read", "write", "trim"].into_iter().zip(phase.accesses()) {
            if let Some(access) = access {
                self.access(access, &format!("{key}{name}."));
            }
        }
        let flush = phase.flush_share;
        self.demand((0.0..1e18).contains(&flush), format!("{key}flush.share"), || {
            format!("{flush} is not a weight of 0 or more")
        });
        let total: f64 = phase.shares().iter().sum();
        self.demand(total > 0.0, format!("{key}read"), || {
            "no operation: give a [read], [write], [trim] or [flush] with a share above 0".into()
        });
        self.arrival(&phase.arrival, phase, &format!("{key}arrival."));
    }

    fn rate(&mut self, rate: Rate, phase: &Phase, key: &str) {
        match rate {
            Rate::Requests(per_s) => self.positive(per_s, format!("{key}rate_requests_per_s")),
            Rate::Bytes(per_s) => {
                let key = format!("{key}rate_bytes_per_s");
                self.positive(per_s, key.clone());
                self.demand(phase.mean_bytes() > 0.0, key, || {
                    "nothing here moves bytes: use `rate_requests_per_s`".into()
                });
            }
        }
    }

    fn arrival(&mut self, arrival: &Arrival, phase: &Phase, key: &str) {
        match arrival {
            Arrival::Fixed(rate) | Arrival::Poisson(rate) => self.rate(*rate, phase, key),
            Arrival::Hyperexponential { rate, gap_variation } => {
                self.rate(*rate, phase, key);
                let legal = (1.0..=1e6).contains(gap_variation);
                self.demand(legal, format!("{key}gap_variation"), || {
                    format!("{gap_variation} is outside 1..=1e6; for less than 1 use `fixed`")
                });
            }
            &Arrival::Bursty { rate, burst_share, burst_factor, burst_s } => {
                self.rate(rate, phase, key);
                let legal = burst_share > 0.0 && burst_share < 1.0;
                self.demand(legal, format!("{key}burst_share"), || {
                    format!("{burst_share} is not a share between 0 and 1, both excluded")
                });
                let most = 1.0 / burst_share;
                let legal = (1.0..=most * (1.0 + 1e-9)).contains(&burst_factor);
                self.demand(legal, format!("{key}burst_factor"), || {
                    format!(
                        "{burst_factor} is outside 1..=1/burst_share = {most}: bursts would carry \
                         more than all requests"
                    )
                });
                self.positive(burst_s, format!("{key}burst_s"));
            }
            Arrival::Measured { gaps, persistence } => self.gaps(gaps, *persistence, key),
        }
    }

    fn gaps(&mut self, gaps: &[GapRange], persistence: f64, key: &str) {
        for (index, gap) in gaps.iter().enumerate() {
            let ordered = gap.from_ns >= 0.0 && gap.from_ns <= gap.to_ns && gap.to_ns < 1e18;
            self.demand(ordered, format!("{key}gaps[{index}]"), || {
                format!("{} to {} ns is not a range from 0 up", gap.from_ns, gap.to_ns)
            });
            self.demand(
                (0.0..1e18).contains(&gap.share),
                format!("{key}gaps[{index}].share"),
                || format!("{} is not a weight of 0 or more", gap.share),
            );
        }
        let mean: f64 = gaps.iter().map(|g| g.share * (g.from_ns + g.to_ns)).sum();
        self.demand(mean > 0.0, format!("{key}gaps"), || {
            "the mean gap is 0: give a gap above 0 ns with a share above 0".into()
        });
        self.demand((0.0..1.0).contains(&persistence), format!("{key}persistence"), || {
            format!("{persistence} is not a probability below 1")
        });
    }

    fn access(&mut self, access: &Access, key: &str) {
        self.positive(access.share, format!("{key}share"));
        self.demand(!access.sizes.is_empty(), format!("{key}size"), || "no size: give one".into());
        for (index, size) in access.sizes.iter().enumerate() {
            self.size(size, format!("{key}size[{index}]"));
        }
        let weight: f64 = access.sizes.iter().map(|s| s.share).sum();
        self.demand(weight > 0.0, format!("{key}size"), || "all sizes have weight 0".into());
        let align = access.alignment.0;
        let aligned = align > 0 && align.is_multiple_of(SECTOR_BYTES);
        self.demand(aligned, format!("{key}alignment"), || {
            format!("{align} is not a positive multiple of {SECTOR_BYTES}")
        });
        if aligned {
            self.region(access, key);
        }
        self.skew(access.skew, access.working_set.0 / access.cell.0.max(1), &format!("{key}skew."));
        self.share(access.walk_share, format!("{key}walk_share"));
        self.chain(access.runs, access.stride, key);
        if let Some(Recent { share, window, .. }) = access.recent {
            self.demand((0.0..1.0).contains(&share), format!("{key}recent.share"), || {
                format!("{share} is not a share below 1")
            });
            let legal = window.is_power_of_two() && window <= WINDOW_MAX;
            self.demand(legal, format!("{key}recent.window"), || {
                format!("{window} is not a power of two up to {WINDOW_MAX}")
            });
        }
    }

    fn size(&mut self, size: &SizeRange, key: String) {
        let (from, to, step) = (size.from.0, size.to.0, size.step.0);
        let whole = |bytes: u64| bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES);
        self.demand(whole(from) && from <= to && to <= SIZE_MAX, key.clone(), || {
            format!("{from} to {to} bytes: use multiples of {SECTOR_BYTES}, up to {SIZE_MAX}")
        });
        let stepped = whole(step) && to.saturating_sub(from).is_multiple_of(step);
        self.demand(stepped, key.clone(), || {
            format!(
                "steps of {step} bytes do not lead from {from} to {to}: give a `step` that does"
            )
        });
        self.demand((0.0..1e18).contains(&size.share), key, || {
            format!("share {} is not a weight of 0 or more", size.share)
        });
    }

    fn region(&mut self, access: &Access, key: &str) {
        let (align, cell) = (access.alignment.0, access.cell.0);
        self.demand(cell > 0 && cell.is_multiple_of(align), format!("{key}cell"), || {
            format!("{cell} is not a positive multiple of the alignment {align}")
        });
        let near = access.neighbourhood.0;
        self.demand(near.is_multiple_of(cell.max(1)), format!("{key}neighbourhood"), || {
            format!("{near} is not a multiple of the cell {cell}")
        });
        let region = access.working_set.0;
        let least = access.largest().0.max(cell);
        self.demand(region >= least, format!("{key}working_set"), || {
            format!("{region} bytes cannot hold the largest request or cell, {least} bytes")
        });
        let whole = region.is_multiple_of(SECTOR_BYTES) && access.offset.0.is_multiple_of(align);
        self.demand(whole, format!("{key}working_set"), || {
            format!(
                "working sets must be multiples of {SECTOR_BYTES}, offsets of the alignment {align}"
            )
        });
        let end = access.offset.0.checked_add(region).filter(|&end| end <= 1 << 62);
        self.demand(end.is_some(), format!("{key}working_set"), || "ends beyond 2^62 bytes".into());
        let cells = region / cell.max(1);
        self.demand(cells <= CELLS_MAX, format!("{key}cell"), || {
            format!("{cells} cells: use a larger cell, for at most {CELLS_MAX}")
        });
    }

    fn skew(&mut self, skew: Skew, cells: u64, key: &str) {
        let drift = match skew {
            Skew::Uniform => 0.0,
            Skew::Zipf { theta, drift } => {
                self.demand((0.0..=10.0).contains(&theta), format!("{key}theta"), || {
                    format!("{theta} is outside 0..=10")
                });
                drift
            }
            Skew::HotCold { hot_space, hot_share, drift } => {
                self.share(hot_space, format!("{key}hot_space"));
                self.share(hot_share, format!("{key}hot_share"));
                drift
            }
        };
        let most = cells as f64 * 1e6;
        self.demand((0.0..=most).contains(&drift), format!("{key}drift_cells_per_million"), || {
            format!("{drift} is outside 0..={most}, a whole turn of the ranking per draw")
        });
    }

    fn chain(&mut self, runs: Option<Runs>, stride: Option<Stride>, key: &str) {
        let mut starts = 0.0;
        let (run, strided) = (runs.map_or(0.0, |r| r.share), stride.map_or(0.0, |s| s.share));
        let fresh = 1.0 - run - strided;
        for (name, share, length) in [
            ("runs", run, runs.map(|r| r.mean_length)),
            ("stride", strided, stride.map(|s| s.mean_length)),
        ] {
            let Some(length) = length else { continue };
            self.share(share, format!("{key}{name}.share"));
            self.demand((1.0..=1e12).contains(&length), format!("{key}{name}.mean_length"), || {
                format!("{length} is not a mean number of continuations of 1 or more")
            });
            starts += share / length;
        }
        // New places must be frequent enough to start all these runs.
        let whole = fresh == 0.0 && (run == 0.0 || strided == 0.0);
        self.demand(whole || starts <= fresh * (1.0 + 1e-9), format!("{key}runs.mean_length"), || {
            format!(
                "shares of {run} in runs and {strided} in strides leave {fresh:.4} to start them, \
                 but runs this short need {starts:.4}: lengthen the runs or lower the shares"
            )
        });
        if let Some(Runs { streams, .. }) = runs {
            self.demand((1..=STREAMS_MAX).contains(&streams), format!("{key}runs.streams"), || {
                format!("{streams} streams: use 1 to {STREAMS_MAX}")
            });
        }
        if let Some(Stride { distance, .. }) = stride {
            let legal = distance.0 > 0 && distance.0.is_multiple_of(SECTOR_BYTES);
            self.demand(legal, format!("{key}stride.distance"), || {
                format!("{} is not a positive multiple of {SECTOR_BYTES}", distance.0)
            });
        }
    }
}
