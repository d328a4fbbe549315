//! Writes a model as text. [`parse`](super::parse) reads the same model back.

use super::model::{
    Access, Arrival, Model, Phase, PhaseLength, Rate, RecentOf, SizeRange, Skew, Variant,
};
use ssdtune_model::Bytes;
use std::fmt::{self, Display, Write};

impl Model {
    /// The model as TOML. The lines of `comment` become comments at its top.
    pub fn to_toml(&self, comment: &str) -> String {
        let mut text = String::new();
        for line in comment.lines() {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "name = {}", quoted(&self.name))?;
        if !self.aliases.is_empty() {
            writeln!(out, "aliases = {}", list(&self.aliases))?;
        }
        writeln!(out, "description = {}", quoted(&self.description))?;
        writeln!(out, "source = {}", quoted(&self.source))?;
        if !self.guesses.is_empty() {
            writeln!(out, "guesses = {}", list(&self.guesses))?;
        }
        writeln!(out, "requests = {}", self.requests)?;
        match self.tenants.as_slice() {
            [only] => write_phases(out, &only.phases, "")?,
            tenants => {
                for tenant in tenants {
                    writeln!(out, "\n[[tenant]]\nname = {}", quoted(&tenant.name))?;
                    write_phases(out, &tenant.phases, "tenant.")?;
                }
            }
        }
        self.variants.iter().try_for_each(|variant| write_variant(out, variant))
    }
}

fn write_phases(out: &mut String, phases: &[Phase], key: &str) -> fmt::Result {
    if let [Phase { length: None, .. }] = phases {
        return write_phase(out, &phases[0], key);
    }
    for phase in phases {
        writeln!(out, "\n[[{key}phase]]")?;
        match phase.length {
            Some(PhaseLength::Requests(n)) => writeln!(out, "requests = {n}")?,
            Some(PhaseLength::Seconds(s)) => writeln!(out, "duration_s = {s:?}")?,
            None => {}
        }
        write_phase(out, phase, &format!("{key}phase."))?;
    }
    Ok(())
}

fn write_phase(out: &mut String, phase: &Phase, key: &str) -> fmt::Result {
    writeln!(out, "\n[{key}arrival]")?;
    write_arrival(out, &phase.arrival)?;
    for (name, access) in ["read", "write", "trim"].into_iter().zip(phase.accesses()) {
        if let Some(access) = access {
            writeln!(out, "\n[{key}{name}]")?;
            write_access(out, access)?;
        }
    }
    if phase.flush_share > 0.0 {
        writeln!(out, "\n[{key}flush]\nshare = {:?}", phase.flush_share)?;
    }
    Ok(())
}

fn write_arrival(out: &mut String, arrival: &Arrival) -> fmt::Result {
    match arrival {
        Arrival::Fixed(rate) => writeln!(out, "process = \"fixed\"\n{}", RateLine(*rate)),
        Arrival::Poisson(rate) => writeln!(out, "process = \"poisson\"\n{}", RateLine(*rate)),
        Arrival::Hyperexponential { rate, gap_variation } => writeln!(
            out,
            "process = \"hyperexponential\"\n{}\ngap_variation = {gap_variation:?}",
            RateLine(*rate)
        ),
        Arrival::Bursty { rate, burst_share, burst_factor, burst_s } => writeln!(
            out,
            "process = \"bursty\"\n{}\nburst_share = {burst_share:?}\nburst_factor = \
             {burst_factor:?}\nburst_s = {burst_s:?}",
            RateLine(*rate)
        ),
        Arrival::Measured { gaps, persistence } => {
            writeln!(out, "process = \"measured\"\npersistence = {persistence:?}\ngaps = [")?;
            for gap in gaps {
                writeln!(
                    out,
                    "  {{ from_ns = {:?}, to_ns = {:?}, share = {:?} }},",
                    gap.from_ns, gap.to_ns, gap.share
                )?;
            }
            writeln!(out, "]")
        }
    }
}

struct RateLine(Rate);

impl Display for RateLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rate::Requests(per_s) => write!(f, "rate_requests_per_s = {per_s:?}"),
            Rate::Bytes(per_s) => write!(f, "rate_bytes_per_s = {per_s:?}"),
        }
    }
}

fn write_access(out: &mut String, access: &Access) -> fmt::Result {
    writeln!(out, "share = {:?}", access.share)?;
    writeln!(out, "size = [")?;
    for SizeRange { from, to, step, share } in &access.sizes {
        if from == to {
            writeln!(out, "  {{ bytes = {}, share = {share:?} }},", Size(*from))?;
        } else {
            let (from, to, step) = (Size(*from), Size(*to), Size(*step));
            writeln!(out, "  {{ from = {from}, to = {to}, step = {step}, share = {share:?} }},")?;
        }
    }
    writeln!(out, "]")?;
    if access.offset.0 > 0 {
        writeln!(out, "offset = {}", Size(access.offset))?;
    }
    writeln!(out, "working_set = {}", Size(access.working_set))?;
    writeln!(out, "alignment = {}\ncell = {}", Size(access.alignment), Size(access.cell))?;
    if access.neighbourhood.0 > 0 {
        writeln!(out, "neighbourhood = {}", Size(access.neighbourhood))?;
    }
    write_skew(out, access.skew)?;
    if access.walk_share > 0.0 {
        writeln!(out, "walk_share = {:?}", access.walk_share)?;
    }
    if let Some(runs) = access.runs {
        writeln!(
            out,
            "runs = {{ share = {:?}, mean_length = {:?}, streams = {} }}",
            runs.share, runs.mean_length, runs.streams
        )?;
    }
    if let Some(stride) = access.stride {
        writeln!(
            out,
            "stride = {{ share = {:?}, distance = {}, mean_length = {:?} }}",
            stride.share,
            Size(stride.distance),
            stride.mean_length
        )?;
    }
    if let Some(recent) = access.recent {
        let of = match recent.of {
            RecentOf::Reads => "reads",
            RecentOf::Writes => "writes",
        };
        writeln!(
            out,
            "recent = {{ share = {:?}, window = {}, of = \"{of}\" }}",
            recent.share, recent.window
        )?;
    }
    Ok(())
}

fn write_skew(out: &mut String, skew: Skew) -> fmt::Result {
    let tail = |drift: f64| {
        if drift > 0.0 { format!(", drift_cells_per_million = {drift:?}") } else { String::new() }
    };
    match skew {
        Skew::Uniform => writeln!(out, "skew = {{ kind = \"uniform\" }}"),
        Skew::Zipf { theta, drift } => {
            writeln!(out, "skew = {{ kind = \"zipf\", theta = {theta:?}{} }}", tail(drift))
        }
        Skew::HotCold { hot_space, hot_share, drift } => writeln!(
            out,
            "skew = {{ kind = \"hot-cold\", hot_space = {hot_space:?}, \
             hot_share = {hot_share:?}{} }}",
            tail(drift)
        ),
    }
}

fn write_variant(out: &mut String, variant: &Variant) -> fmt::Result {
    writeln!(out, "\n[[variant]]\nname = {}", quoted(&variant.name))?;
    for (key, factor) in [
        ("working_set", variant.working_set),
        ("rate", variant.rate),
        ("skew", variant.skew),
        ("recent", variant.recent),
        ("walk", variant.walk),
    ] {
        if factor != 1.0 {
            writeln!(out, "{key} = {factor:?}")?;
        }
    }
    if let Some(bytes) = variant.neighbourhood {
        writeln!(out, "neighbourhood = {}", Size(bytes))?;
    }
    Ok(())
}

/// A number of bytes, written in the largest unit that divides it.
struct Size(Bytes);

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0.0 > 0 && self.0.0.trailing_zeros() >= shift {
                return write!(f, "\"{} {unit}\"", self.0.0 >> shift);
            }
        }
        write!(f, "{}", self.0.0)
    }
}

fn list(strings: &[String]) -> String {
    let quoted: Vec<String> = strings.iter().map(|s| quoted(s)).collect();
    format!("[{}]", quoted.join(", "))
}

fn quoted(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
