//! Where the writes of a run lie.
//!
//! Patterns are scale-free: drawn on a drive with fewer pages, each share of the span gets the same
//! share of the writes.

use super::zones::Zones;
use rand::RngExt;
use rand_pcg::Pcg64;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Where the writes of a run lie, and whether the places are shuffled over the span.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pattern {
    /// How often which part of the span is written.
    pub shape: Shape,
    /// Places that are written equally often are spread over the whole span, or shuffled (with
    /// sequential writes); else they lie beside each other.
    pub is_shuffled: bool,
}

/// How often which part of the span is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Shape {
    /// Each place once in each pass, in one order.
    Sequential,
    /// Every place with the same probability.
    Uniform,
    /// The n-th place with a probability proportional to n to the power of minus this.
    Zipf(f64),
    /// Parts, each with its share of the places and of the writes; all are uniform within.
    Parts(Vec<(f64, f64)>),
    /// Zones that are written as a whole, from their beginning to their end. Each write goes to one
    /// of those that are open; one that is full makes way for any other.
    WholeZones {
        /// How many are open at a time.
        open: u32,
        /// How many writes fill one.
        writes: u32,
    },
    /// Something that only its measurer knows.
    Unknown(String),
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

/// The word behind the name of a pattern that is spread over the span.
const SHUFFLED: &str = "-shuffle";

impl Pattern {
    /// A pattern by its name (`uniform`, `sequential`, `zipf`, `zones`, with `-shuffle` or
    /// `-noshuffle` behind it) and what else describes it: the exponent of a Zipf law, the shares
    /// of parts as in `s0.8 f0.2 s0.2 f0.8` (s: of the places, f: of the writes). Other names stand
    /// for patterns that cannot be replayed.
    ///
    /// # Errors
    /// What describes a known pattern is no number, or shares do not add up to 1.
    pub fn new(name: &str, details: &str) -> Result<Self, PatternError> {
        let is_shuffled = name.ends_with(SHUFFLED);
        let plain = name.strip_suffix("-noshuffle").or(name.strip_suffix(SHUFFLED));
        let exponent = || {
            let number = details.trim().parse::<f64>().ok().filter(|n| (0.0..=5.0).contains(n));
            let wrong = || format!("details are {details:?}: write the exponent of {name}, 0 to 5");
            number.ok_or_else(|| PatternError(wrong()))
        };
        let unknown = || Shape::Unknown(format!("{name} {details}").trim().to_owned());
        let shape = match plain.unwrap_or(name) {
            "sequential" => Shape::Sequential,
            "uniform" => Shape::Uniform,
            "zipf" => Shape::Zipf(exponent()?),
            "zones" => Shape::Parts(parts(details)?),
            "zns" => whole_zones(details).unwrap_or_else(unknown),
            _ => unknown(),
        };
        Ok(Self { shape, is_shuffled })
    }

    /// Its name without what describes it.
    pub fn kind(&self) -> &'static str {
        match (&self.shape, self.is_shuffled) {
            (Shape::Sequential, false) => "sequential",
            (Shape::Sequential, true) => "sequential-shuffle",
            (Shape::Uniform, _) => "uniform",
            (Shape::Zipf(_), _) => "zipf",
            (Shape::Parts(_), _) => "zones",
            (Shape::WholeZones { .. }, _) => "zns",
            (Shape::Unknown(_), _) => "unknown",
        }
    }
}

/// Zones that are written as a whole, as in `activeZones: 2 pagesPerZone: 4096`; `None` if it says
/// something else.
fn whole_zones(details: &str) -> Option<Shape> {
    let number = |value: &str| value.parse::<u32>().ok().filter(|n| (1..=1 << 24).contains(n));
    match details.split_whitespace().collect::<Vec<&str>>()[..] {
        ["activeZones:", open, "pagesPerZone:", writes] => {
            Some(Shape::WholeZones { open: number(open)?, writes: number(writes)? })
        }
        _ => None,
    }
}

/// Shares of places and writes, as in `s0.8 f0.2 s0.2 f0.8`.
fn parts(details: &str) -> Result<Vec<(f64, f64)>, PatternError> {
    let wrong = || {
        let text = format!(
            "details are {details:?}: write shares of the places and of the writes that add up to \
             1 each, as in s0.8 f0.2 s0.2 f0.8"
        );
        PatternError(text)
    };
    let words: Vec<&str> = details.split_whitespace().collect();
    let share = |word: &str, letter: char| {
        let number = word.strip_prefix(letter).and_then(|word| f64::from_str(word).ok());
        number.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)
    };
    let pairs = words.chunks(2).map(|pair| match pair {
        [size, writes] => Ok((share(size, 's')?, share(writes, 'f')?)),
        _ => Err(wrong()),
    });
    let parts = pairs.collect::<Result<Vec<(f64, f64)>, PatternError>>()?;
    let sums = parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let is_whole = |sum: f64| (sum - 1.0).abs() < 1e-6;
    if is_whole(sums.0) && is_whole(sums.1) { Ok(parts) } else { Err(wrong()) }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shape {
            Shape::Unknown(text) => return f.write_str(text),
            _ => f.write_str(self.kind())?,
        }
        match &self.shape {
            Shape::Zipf(exponent) => write!(f, " {exponent}")?,
            Shape::Parts(parts) => {
                parts.iter().try_for_each(|(size, writes)| write!(f, " s{size} f{writes}"))?;
            }
            Shape::WholeZones { open, writes } => write!(f, " of {writes} writes, {open} open")?,
            _ => {}
        }
        let said = self.is_shuffled && self.shape != Shape::Sequential;
        if said { f.write_str(" shuffled") } else { Ok(()) }
    }
}

/// The pages that a run writes, one after the other, on a drive where its span has `pages` pages.
pub(crate) struct Places {
    shape: Shape,
    pages: u64,
    /// Places of the span on the real drive.
    slots: f64,
    /// How many of the pages that are written most often are all written equally often.
    head: u64,
    /// Which page the n-th one is; empty if it is the n-th.
    order: Vec<u32>,
    next: u64,
    /// Zones that are written as a whole.
    zones: Option<Zones>,
    rng: Pcg64,
}

impl Places {
    /// `None` for a pattern that nobody can replay, and a span without a page.
    pub(crate) fn new(pattern: &Pattern, pages: u64, slots: u64, mut rng: Pcg64) -> Option<Self> {
        if matches!(pattern.shape, Shape::Unknown(_)) || pages == 0 {
            return None;
        }
        let is_spread = pattern.is_shuffled && pattern.shape != Shape::Uniform;
        let mut order: Vec<u32> =
            if is_spread { (0..u32::try_from(pages).ok()?).collect() } else { Vec::new() };
        for last in (1..order.len()).rev() {
            order.swap(last, rng.random_range(0..=last));
        }
        let zones = match pattern.shape {
            Shape::WholeZones { open, writes } => {
                Some(Zones::new(open, pages, slots / u64::from(writes))?)
            }
            _ => None,
        };
        let slots = slots.max(pages) as f64;
        Some(Self {
            shape: pattern.shape.clone(),
            pages,
            slots,
            head: 1,
            order,
            next: 0,
            zones,
            rng,
        })
    }

    /// Levels the pages that are written most often, as many as it takes (but 1 % of the span at
    /// most), so that a page is written once in `writes` at most. A page of a small drive stands
    /// for many places of the real one, which a buffer that knows them apart would all have to
    /// write.
    pub(crate) fn at_most_once_in(mut self, writes: u64) -> Self {
        let Shape::Zipf(exponent) = self.shape else { return self };
        let is_rare = |head: u64| self.share(exponent, head) * writes as f64 <= head as f64;
        // Shares rise more slowly than pages.
        let (mut low, mut high) = (0, (self.pages / 100).max(1));
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            if is_rare(middle) { high = middle } else { low = middle }
        }
        self.head = high;
        self
    }

    /// How many pages in a row a write has.
    pub(crate) fn in_rows_of(mut self, pages: u64) -> Self {
        self.zones.iter_mut().for_each(|zones| zones.row = pages);
        self
    }

    /// The share of the writes that the first pages get, by a Zipf law.
    fn share(&self, exponent: f64, pages: u64) -> f64 {
        let place = 1.0 + pages as f64 * self.slots / self.pages as f64;
        let rest = 1.0 - exponent;
        match rest.abs() < 1e-9 {
            true => (place.ln() / self.slots.ln()).min(1.0),
            false => ((place.powf(rest) - 1.0) / (self.slots.powf(rest) - 1.0)).min(1.0),
        }
    }

    /// The next page, from 0 on.
    pub(crate) fn next_page(&mut self) -> u64 {
        let last = self.pages - 1;
        let nth = match &self.shape {
            Shape::WholeZones { .. } => {
                self.zones.as_mut().map_or(0, |zones| zones.next(&mut self.rng))
            }
            Shape::Sequential | Shape::Unknown(_) => {
                let here = self.next;
                self.next = (here + 1) % self.pages;
                here
            }
            Shape::Uniform => self.rng.random_range(0..self.pages),
            Shape::Zipf(exponent) => self.rank(*exponent),
            Shape::Parts(parts) => {
                let (mut draw, mut from) = (self.rng.random::<f64>(), 0.0);
                let mut own = (0.0, 1.0);
                for &(size, writes) in parts {
                    own = (from, size);
                    if draw < writes {
                        break;
                    }
                    (draw, from) = (draw - writes, from + size);
                }
                let within = own.0 + own.1 * self.rng.random::<f64>();
                (within * self.pages as f64) as u64
            }
        };
        let nth = if nth < self.head && self.head > 1 {
            self.rng.random_range(0..self.head)
        } else {
            nth.min(last)
        };
        self.order.get(nth as usize).map_or(nth, |&page| u64::from(page))
    }

    /// A page by a Zipf law over the places of the real drive, taken as continuous.
    fn rank(&mut self, exponent: f64) -> u64 {
        let (draw, slots, rest) = (self.rng.random::<f64>(), self.slots, 1.0 - exponent);
        let place = match rest.abs() < 1e-9 {
            true => slots.powf(draw),
            false => ((slots.powf(rest) - 1.0) * draw + 1.0).powf(1.0 / rest),
        };
        ((place - 1.0) * self.pages as f64 / slots) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const PAGES: u64 = 10_000;
    const DRAWS: u32 = 400_000;

    /// How often each page is written.
    fn counts(name: &str, details: &str) -> Vec<u32> {
        let pattern = Pattern::new(name, details).unwrap();
        let rng = Pcg64::seed_from_u64(1);
        let mut places = Places::new(&pattern, PAGES, 1 << 28, rng).unwrap();
        let mut counts = vec![0; PAGES as usize];
        (0..DRAWS).for_each(|_| counts[places.next_page() as usize] += 1);
        counts
    }

    /// The share of the writes that the first pages get.
    fn share(counts: &[u32], of: f64) -> f64 {
        let first = (of * counts.len() as f64) as usize;
        f64::from(counts[..first].iter().sum::<u32>()) / f64::from(DRAWS)
    }

    #[test]
    fn shares_of_the_span_get_their_share_of_the_writes() {
        // The closed form of a Zipf law without head: f to the power of 1 - exponent.
        let zipf = counts("zipf-noshuffle", "0.8");
        for (part, expected) in [(0.01, 0.01_f64.powf(0.2)), (0.1, 0.1_f64.powf(0.2))] {
            assert!((share(&zipf, part) - expected).abs() < 0.02, "{}", share(&zipf, part));
        }
        let one = share(&counts("zipf", "1.0"), 0.1);
        let expected = 1.0 - 10_f64.ln() / ((1_u64 << 28) as f64).ln();
        assert!((one - expected).abs() < 0.01, "{one} {expected}");
        let parts = counts("zones-noshuffle", "s0.2 f0.8 s0.8 f0.2");
        assert!((share(&parts, 0.2) - 0.8).abs() < 0.01);
        let uniform = share(&counts("uniform", ""), 0.3);
        assert!((uniform - 0.3).abs() < 0.01);
        let order = counts("sequential-shuffle", "");
        assert!(order.iter().all(|&count| u64::from(count) == u64::from(DRAWS) / PAGES));
    }

    #[test]
    fn pages_are_written_no_more_often_than_asked() {
        for exponent in ["0.8", "1.0"] {
            let pattern = Pattern::new("zipf-noshuffle", exponent).unwrap();
            let places = || {
                let rng = Pcg64::seed_from_u64(1);
                Places::new(&pattern, PAGES, 1 << 28, rng).unwrap()
            };
            let mut level = places().at_most_once_in(100);
            let mut own = vec![0_u32; PAGES as usize];
            (0..DRAWS).for_each(|_| own[level.next_page() as usize] += 1);
            let all = counts("zipf-noshuffle", exponent);
            let most = |counts: &[u32]| counts.iter().copied().max().unwrap();
            // 4,000 writes are expected of each; five standard deviations more.
            assert!(most(&all) > 10_000 && most(&own) < 4_320, "{} {}", most(&all), most(&own));
            // Behind the head nothing changes.
            let behind = level.head as f64 / PAGES as f64;
            assert!(behind < 0.2, "{behind}");
            assert!((share(&own, behind) - share(&all, behind)).abs() < 0.005);
            assert!((share(&own, 0.5) - share(&all, 0.5)).abs() < 0.005);
        }
        let uniform = Pattern::new("uniform", "").unwrap();
        let rng = Pcg64::seed_from_u64(1);
        let uniform = Places::new(&uniform, PAGES, 1 << 28, rng).unwrap();
        assert_eq!(uniform.at_most_once_in(1 << 40).head, 1);
    }

    #[test]
    fn shuffling_spreads_what_is_written_often() {
        let spread = counts("zipf-shuffle", "0.8");
        assert!(share(&spread, 0.1) < 0.3, "{}", share(&spread, 0.1));
        let most = |counts: &[u32]| counts.iter().max().map_or(0.0, |&most| f64::from(most));
        let ratio = most(&spread) / most(&counts("zipf-noshuffle", "0.8"));
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn what_is_no_pattern_is_said_and_what_is_not_known_is_no_place() {
        for (name, details, problem) in [
            ("zipf-shuffle", "x", "write the exponent of zipf-shuffle"),
            ("zones", "s0.5 f0.5 s0.4 f0.5", "add up to 1"),
            ("zones", "s0.5", "add up to 1"),
            ("zones", "f0.5 s0.5", "add up to 1"),
        ] {
            let error = Pattern::new(name, details).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        let unknown = Pattern::new("fiozipf-shuffle", "0.8").unwrap();
        assert_eq!(unknown.to_string(), "fiozipf-shuffle 0.8");
        assert!(Places::new(&unknown, 10, 10, Pcg64::seed_from_u64(1)).is_none());
        for details in ["activeZones: 2", "activeZones: 0 pagesPerZone: 4", ""] {
            let zones = Pattern::new("zns-noshuffle", details).unwrap();
            assert_eq!(zones.kind(), "unknown");
        }
        let zones = Pattern::new("zns-noshuffle", "activeZones: 2 pagesPerZone: 4096").unwrap();
        assert_eq!(zones.to_string(), "zns of 4096 writes, 2 open");
        let zipf = Pattern::new("zipf-shuffle", "0.800000").unwrap();
        assert_eq!(zipf.to_string(), "zipf 0.8 shuffled");
    }
}
