//! A description as text for people.

use super::{Description, Quantiles, SequenceDescription};
use std::fmt;

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.duration_ns as f64 / 1e9;
        let mut row = |name: &str, value: String| writeln!(f, "{name:<22} {value}");
        row(
            "requests",
            format!(
                "{} ({} reads, {} writes, {} trims, {} flushes)",
                self.requests, self.reads, self.writes, self.trims, self.flushes
            ),
        )?;
        row("read share", percent(self.read_share))?;
        row("tenants", self.tenants.to_string())?;
        row("duration", format!("{seconds:.3} s"))?;
        row(
            "rate",
            format!(
                "{:.1} requests/s, {}/s, gap variation {:.2}",
                self.arrivals.requests_per_s,
                bytes(self.arrivals.bytes_per_s),
                self.arrivals.gap_variation
            ),
        )?;
        row("bytes read", bytes(self.read_bytes as f64))?;
        row("bytes written", bytes(self.write_bytes as f64))?;
        if self.trims > 0 {
            row("bytes trimmed", bytes(self.trim_bytes as f64))?;
        }
        row("4 KiB aligned", percent(self.aligned_4k_share))?;
        row("read sizes", sizes(&self.read_size_bytes))?;
        row("write sizes", sizes(&self.write_size_bytes))?;
        row("gaps", quantiles(&self.gap_ns, duration))?;
        let footprint = &self.footprint;
        row(
            "footprint",
            format!(
                "{} pages, {} (read {}, written {} pages; below {}; bitmaps {})",
                footprint.pages,
                bytes(footprint.bytes as f64),
                footprint.read_pages,
                footprint.write_pages,
                bytes(footprint.address_end_bytes as f64),
                bytes(footprint.bitmap_bytes as f64)
            ),
        )?;
        row("overwrite factor", format!("{:.2}", self.overwrite_factor))?;
        row("read order", sequence(&self.read_sequence))?;
        row("write order", sequence(&self.write_sequence))?;
        for at in &self.arrivals.dispersion {
            let name = format!("dispersion at {}", duration(at.window_ns as f64));
            row(&name, format!("{:.1} ({} windows)", at.index, at.windows))?;
        }
        row(
            "skew",
            format!(
                "hottest 1 % of pages {}, 10 % {}, 20 % {} of references; Zipf {:.2}",
                percent(self.skew.top_1_share),
                percent(self.skew.top_10_share),
                percent(self.skew.top_20_share),
                self.skew.zipf_theta
            ),
        )?;
        row(
            "reuse",
            format!(
                "{} first references; sampled {} pages at rate {:.4}, shares within {:.4}",
                percent(self.reuse.cold_share),
                self.reuse.sampled_pages,
                self.reuse.sample_rate,
                self.reuse.error_95
            ),
        )?;
        let mut within = 0.0;
        for bucket in &self.reuse.histogram {
            within += bucket.share;
            if bucket.to_pages.count_ones() % 3 == 0 {
                let name = format!("  within {} pages", bucket.to_pages);
                row(&name, percent(within))?;
            }
        }
        Ok(())
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn bytes(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" {
                format!("{value:.0} B")
            } else {
                format!("{value:.2} {unit}")
            };
        }
        value /= 1024.0;
    }
    format!("{value:.2} TiB")
}

fn duration(ns: f64) -> String {
    let mut value = ns;
    for unit in ["ns", "us", "ms"] {
        if value < 1000.0 {
            return format!("{value:.4} {unit}").replace(".0000", "");
        }
        value /= 1000.0;
    }
    format!("{value:.4} s").replace(".0000", "")
}

fn sizes(of: &Quantiles) -> String {
    quantiles(of, bytes)
}

fn quantiles(of: &Quantiles, show: impl Fn(f64) -> String) -> String {
    if of.count == 0 {
        return "none".into();
    }
    let at = |value: u64| show(value as f64);
    format!(
        "mean {}, median {}, p95 {}, p99 {}, max {}",
        show(of.mean),
        at(of.p50),
        at(of.p95),
        at(of.p99),
        at(of.max)
    )
}

fn sequence(of: &SequenceDescription) -> String {
    let mut text = format!(
        "sequential {} ({} within 32 requests, mean run {:.1}), strided {}",
        percent(of.sequential_share),
        percent(of.near_sequential_share),
        of.mean_run,
        percent(of.stride_share)
    );
    if let Some(stride) = of.strides.first() {
        text.push_str(&format!(", most often by {} B", stride.distance_bytes));
    }
    text
}
