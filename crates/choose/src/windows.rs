//! What a drive did in windows of the requests.
//!
//! A window is as many requests as every other, in the order of the trace, so that the windows of
//! two drives that serve the same requests hold the same ones. How many there will be is not known
//! at the start: windows begin with 16 requests and are put together in pairs when there are twice
//! as many as asked for.
//!
//! Cost: a histogram (up to some 200 KB) for each window.

use crate::estimate::{Figure, Measured};
use hdrhistogram::Histogram;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_model::{Nanos, SECTOR_BYTES};
use ssdtune_sim::{Completion, FlashCommands, Look, Simulator};
use ssdtune_trace::Op;

/// Significant digits of latencies: 3 are 0.1 %.
const DIGITS: u8 = 3;
/// Fewer windows say nothing of how much a figure varies.
pub(crate) const WINDOWS_MIN: usize = 5;
/// Requests of a window at least; the last may have half as many. Bursts are often longer than a
/// few requests, so smaller windows depend on their neighbours, and intervals over them would be
/// too narrow. 16 is a choice, not a measurement.
const REQUESTS_MIN: u64 = 16;

/// Sums over requests.
#[derive(Clone, Debug)]
struct Sums {
    requests: u64,
    bytes: u64,
    written: u64,
    latency_ns: u128,
    latencies: Histogram<u64>,
    /// When the last of the requests was completed.
    end: Nanos,
    /// Time that passed, in seconds.
    seconds: f64,
    /// Pages programmed for the host, and for whatever reason.
    host_pages: f64,
    programmed: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            requests: 0,
            bytes: 0,
            written: 0,
            latency_ns: 0,
            // 3 is a legal number of digits.
            latencies: Histogram::new(DIGITS).expect("a histogram of three digits"),
            end: Nanos::ZERO,
            seconds: 0.0,
            host_pages: 0.0,
            programmed: 0.0,
        }
    }
}

impl Sums {
    fn add(&mut self, one: &Completion) {
        let latency = (one.completed - one.arrived).0;
        let bytes = u64::from(one.sectors) * SECTOR_BYTES;
        self.requests += 1;
        self.bytes += bytes;
        self.written += if one.op == Op::Write { bytes } else { 0 };
        self.latency_ns += u128::from(latency);
        // A histogram that grows by itself takes every value.
        let _ = self.latencies.record(latency.max(1));
        self.end = self.end.max(one.completed);
    }

    fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.written += other.written;
        self.latency_ns += other.latency_ns;
        // One that grows by itself has room for all values of the other.
        let _ = self.latencies.add(&other.latencies);
        self.end = self.end.max(other.end);
        self.seconds += other.seconds;
        self.host_pages += other.host_pages;
        self.programmed += other.programmed;
    }

    /// These sums without those of a part.
    fn without(&self, part: &Self) -> Self {
        let mut rest = self.clone();
        rest.requests -= part.requests;
        rest.bytes -= part.bytes;
        rest.written -= part.written;
        rest.latency_ns -= part.latency_ns;
        // Every value of a part is in the whole.
        let _ = rest.latencies.subtract(&part.latencies);
        rest.seconds -= part.seconds;
        rest.host_pages -= part.host_pages;
        rest.programmed -= part.programmed;
        rest
    }

    /// A figure; `None` where there is nothing to take it of. Endurance is in bytes of the host for
    /// each page programmed.
    fn figure(&self, figure: Figure) -> Option<f64> {
        let ratio = |over: f64, under: f64| (under > 0.0).then(|| over / under);
        match figure {
            Figure::Mean => ratio(self.latency_ns as f64, self.requests as f64),
            Figure::P99 => {
                (self.requests > 0).then(|| self.latencies.value_at_quantile(0.99) as f64)
            }
            Figure::Throughput => ratio(self.bytes as f64, self.seconds),
            Figure::WriteAmplification => ratio(self.programmed, self.host_pages),
            Figure::Endurance => ratio(self.written as f64, self.programmed),
        }
        .filter(|value| value.is_finite())
    }
}

/// The windows of a run.
#[derive(Debug)]
pub(crate) struct Windows {
    /// The fewest windows that a long run is to have.
    least: usize,
    /// Requests of a window.
    size: u64,
    windows: Vec<Sums>,
    flash: FlashCommands,
    first_arrival: Option<Nanos>,
}

impl Windows {
    /// No windows yet; of a run with enough requests there will be from `least` to twice as many.
    pub(crate) fn new(least: usize) -> Self {
        let (windows, flash) = (Vec::new(), FlashCommands::default());
        Self { least: least.max(1), size: REQUESTS_MIN, windows, flash, first_arrival: None }
    }

    /// The window of a request, which is made if need be.
    fn of(&mut self, number: u64) -> &mut Sums {
        while number / self.size >= 2 * self.least as u64 {
            let pairs = self.windows.chunks(2).map(|pair| {
                let mut sum = pair[0].clone();
                pair[1..].iter().for_each(|other| sum.join(other));
                sum
            });
            self.windows = pairs.collect();
            self.size *= 2;
        }
        let at = (number / self.size) as usize;
        while self.windows.len() <= at {
            self.windows.push(Sums::default());
        }
        &mut self.windows[at]
    }

    /// Shares what was programmed since the last look among the windows of the requests that were
    /// completed since.
    fn share(&mut self, flash: FlashCommands, completions: &[Completion]) {
        let of = |flash: &FlashCommands| {
            let host = flash.pages_programmed_host;
            (host, host + flash.pages_programmed_moved + flash.pages_programmed_mapping)
        };
        let ((host, all), (host_before, all_before)) = (of(&flash), of(&self.flash));
        let (host, all) = ((host - host_before) as f64, (all - all_before) as f64);
        if all == 0.0 {
            return;
        }
        let last = (self.windows.len() as u64).saturating_sub(1) * self.size;
        let numbers: Vec<u64> = match completions {
            // Nothing was completed since: it is for those that are under way.
            [] => vec![last],
            _ => completions.iter().map(|one| one.number).collect(),
        };
        let each = 1.0 / numbers.len() as f64;
        for number in numbers {
            let window = self.of(number);
            window.host_pages += host * each;
            window.programmed += all * each;
        }
        self.flash = flash;
    }

    /// What was measured in all; `terabytes_written` is the endurance that the whole run's report
    /// states.
    pub(crate) fn measured(mut self, terabytes_written: Option<f64>) -> Measured {
        self.windows.retain(|window| window.requests > 0);
        if self.windows.last().is_some_and(|last| 2 * last.requests < self.size)
            && let Some(last) = self.windows.pop()
        {
            match self.windows.last_mut() {
                Some(before) => before.join(&last),
                None => self.windows.push(last),
            }
        }
        let mut before = self.first_arrival.unwrap_or(Nanos::ZERO);
        for window in &mut self.windows {
            window.seconds = window.end.0.saturating_sub(before.0) as f64 / 1e9;
            before = before.max(window.end);
        }
        let mut whole = Sums::default();
        self.windows.iter().for_each(|window| whole.join(window));
        let rests: Vec<Sums> = match self.windows.len() {
            0..WINDOWS_MIN => Vec::new(),
            _ => self.windows.iter().map(|window| whole.without(window)).collect(),
        };
        let figures = Figure::ALL.map(|figure| {
            let scale = match figure {
                Figure::Endurance => terabytes_written.zip(whole.figure(figure)),
                _ => Some((1.0, 1.0)),
            };
            let (tera, own) = scale.filter(|(_, own)| *own > 0.0)?;
            let value = whole.figure(figure)? * (tera / own);
            let parts = rests.iter().map(|rest| Some(rest.figure(figure)? * (tera / own)));
            let parts: Option<Vec<f64>> = parts.collect();
            Some((value, parts.unwrap_or_default()))
        });
        Measured { figures, windows: self.windows.len() }
    }
}

impl Observer for Windows {
    fn wants_completions(&self) -> bool {
        true
    }

    fn begin(&mut self, drive: &mut Simulator) -> Result<(), ObserverError> {
        self.flash = drive.flash();
        Ok(())
    }

    fn look(
        &mut self,
        drive: &mut Simulator,
        completions: &[Completion],
        _: Look,
    ) -> Result<(), ObserverError> {
        for one in completions.iter().filter(|one| matches!(one.op, Op::Read | Op::Write)) {
            let first = self.first_arrival.get_or_insert(one.arrived);
            *first = (*first).min(one.arrived);
            self.of(one.number).add(one);
        }
        self.share(drive.flash(), completions);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Sectors, TenantId};

    fn completion(number: u64, latency: u64) -> Completion {
        let arrived = Nanos(1_000 * number);
        Completion {
            number,
            tenant: TenantId(0),
            op: Op::Read,
            lba: Sectors(0),
            sectors: 8,
            arrived,
            enqueued: arrived,
            completed: arrived + Nanos(latency),
        }
    }

    /// Windows in whatever order requests are completed, against sums over the same requests.
    #[test]
    fn windows_hold_the_same_requests_however_they_are_completed() {
        let latency = |number: u64| 100 + number * 7_919 % 1_000;
        let all = 1_050_u64;
        let mut windows = Windows::new(20);
        // Every other one first.
        for number in (0..all).step_by(2).chain((1..all).step_by(2)) {
            windows.of(number).add(&completion(number, latency(number)));
        }
        windows.first_arrival = Some(Nanos::ZERO);
        assert_eq!(windows.size, 32);
        for (at, window) in windows.windows.iter().enumerate() {
            let own = 32 * at as u64..(32 * (at as u64 + 1)).min(all);
            let sum: u64 = own.clone().map(latency).sum();
            assert_eq!((window.requests, window.latency_ns), (own.count() as u64, sum.into()));
        }
        let measured = windows.measured(None);
        // The last 26 are more than half a window.
        assert_eq!(measured.windows, 33);
        let (mean, parts) = measured.figures[0].clone().unwrap();
        let exact = (0..all).map(latency).sum::<u64>() as f64 / all as f64;
        assert!((mean - exact).abs() < 1e-9, "{mean} {exact}");
        let first: u64 = (32..all).map(latency).sum();
        assert!((parts[0] - first as f64 / (all - 32) as f64).abs() < 1e-9);
        let bytes = 4096.0 * all as f64;
        let end = (0..all).map(|number| 1_000 * number + latency(number)).max().unwrap();
        let (rate, _) = measured.figures[2].clone().unwrap();
        assert!((rate / (bytes / (end as f64 / 1e9)) - 1.0).abs() < 1e-12);
        assert_eq!(measured.figures[3], None);
    }

    /// A last window of half as many requests counts as one.
    #[test]
    fn five_windows_are_the_fewest_with_intervals() {
        let parts = |requests: u64| {
            let mut windows = Windows::new(20);
            (0..requests).for_each(|number| windows.of(number).add(&completion(number, 50)));
            let measured = windows.measured(None);
            (measured.windows, measured.figures[0].clone().unwrap().1.len())
        };
        assert_eq!([parts(71), parts(72), parts(640)], [(4, 0), (5, 5), (40, 40)]);
    }

    #[test]
    fn a_few_requests_have_figures_and_no_intervals() {
        let mut windows = Windows::new(20);
        (0..4).for_each(|number| windows.of(number).add(&completion(number, 50)));
        let (mean, parts) = windows.measured(None).figures[0].clone().unwrap();
        assert_eq!((mean, parts.len()), (50.0, 0));
        assert_eq!(Windows::new(20).measured(None).figures[0], None);
    }
}
