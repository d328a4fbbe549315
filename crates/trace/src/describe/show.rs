//! A description as text for people.

use super::{Description, Quantiles, SequenceDescription};
use std::fmt;

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table(f);
        self.show_amounts(&mut table)?;
        self.show_places(&mut table)?;
        self.show_dispersion(&mut table)?;
        self.show_sample(&mut table)
    }
}

/// Writes lines of a name and a value, with the values below each other.
struct Table<'f, 'b>(&'f mut fmt::Formatter<'b>);

impl Table<'_, '_> {
    fn row(&mut self, name: &str, value: impl fmt::Display) -> fmt::Result {
        writeln!(self.0, "{name:<22} {value}")
    }
}

impl Description {
    /// Writes how many requests there are, of which kinds and sizes, and when.
    fn show_amounts(&self, table: &mut Table) -> fmt::Result {
        let Self { requests, reads, writes, trims, flushes, .. } = self;
        table.row(
            "requests",
            format_args!(
                "{requests} ({reads} reads, {writes} writes, {trims} trims, {flushes} flushes)"
            ),
        )?;
        table.row("read share", percent(self.read_share))?;
        table.row("tenants", self.tenants)?;
        table.row("duration", format_args!("{:.3} s", self.duration_ns as f64 / 1e9))?;
        table.row(
            "rate",
            format_args!(
                "{:.1} requests/s, {}/s, gap variation {:.2}",
                self.arrivals.requests_per_s,
                bytes(self.arrivals.bytes_per_s),
                self.arrivals.gap_variation
            ),
        )?;
        table.row("bytes read", bytes(self.read_bytes as f64))?;
        table.row("bytes written", bytes(self.write_bytes as f64))?;
        if self.trims > 0 {
            table.row("bytes trimmed", bytes(self.trim_bytes as f64))?;
        }
        table.row("4 KiB aligned", percent(self.aligned_4k_share))?;
        table.row("read sizes", quantiles(&self.read_size_bytes, bytes))?;
        table.row("write sizes", quantiles(&self.write_size_bytes, bytes))?;
        table.row("gaps", quantiles(&self.gap_ns, duration))
    }

    /// Writes which pages are touched, and in which order.
    fn show_places(&self, table: &mut Table) -> fmt::Result {
        let footprint = &self.footprint;
        table.row(
            "footprint",
            format_args!(
                "{} pages, {} (read {}, written {} pages; below {}; bitmaps {})",
                footprint.pages,
                bytes(footprint.bytes as f64),
                footprint.read_pages,
                footprint.write_pages,
                bytes(footprint.address_end_bytes as f64),
                bytes(footprint.bitmap_bytes as f64)
            ),
        )?;
        table.row("overwrite factor", format_args!("{:.2}", self.overwrite_factor))?;
        table.row("read order", sequence(&self.read_sequence))?;
        table.row("write order", sequence(&self.write_sequence))
    }

    /// Writes how bursty arrivals are, for each window length.
    fn show_dispersion(&self, table: &mut Table) -> fmt::Result {
        for at in &self.arrivals.dispersion {
            let name = format!("dispersion at {}", duration(at.window_ns as f64));
            table.row(&name, format_args!("{:.1} ({} windows)", at.index, at.windows))?;
        }
        Ok(())
    }

    /// Writes what is estimated from a sample of pages: popularity and reuse.
    fn show_sample(&self, table: &mut Table) -> fmt::Result {
        table.row(
            "skew",
            format_args!(
                "hottest 1 % of pages {}, 10 % {}, 20 % {} of references; Zipf {:.2}",
                percent(self.skew.top_1_share),
                percent(self.skew.top_10_share),
                percent(self.skew.top_20_share),
                self.skew.zipf_theta
            ),
        )?;
        table.row(
            "reuse",
            format_args!(
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
            // Every third power of two: 7, 63, 511 pages and so on.
            if bucket.to_pages.count_ones() % 3 == 0 {
                table.row(&format!("  within {} pages", bucket.to_pages), percent(within))?;
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
