//! Workloads drawn at random, to learn from what windows of real traces are like.
//!
//! A point of the grid has one size and one pattern for each direction. A design is a
//! [workload model](ssdtune_trace::workload) whose parameters are drawn: sizes side by side, heat,
//! runs in several streams, repeats, and phases that turn from writes to reads. A design is as long
//! as a window, and is measured as a window is. No trace has a part in it.
//!
//! Design `n` of a seed is always the same, whatever is drawn before it.

use super::window::WINDOW_REQUESTS;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Bytes, split_mix};
use ssdtune_trace::Request;
use ssdtune_trace::workload::{
    Access, Arrival, Generator, Model, Phase, PhaseLength, Rate, Recent, RecentOf, Runs, Seed,
    SeedSet, SizeRange, Skew, Tenant,
};
use std::fmt;
use std::str::FromStr;

/// Changes with anything that changes what is drawn, and which of it is measured.
const VERSION: &str = "designs 2";

/// The least unit of a size or place, in bytes.
const SECTOR: u64 = 512;
/// Working sets are multiples of this.
const MEBIBYTE: u64 = 1 << 20;
/// Designs begin below this. Beyond the end of a drive they are folded back.
const BEGIN_MAX: u64 = 1 << 38;

/// A design at a depth: what is measured. As a word it is `d17-q16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DesignPoint {
    /// The number of the design.
    pub design: u32,
    /// Requests outstanding.
    pub depth: u32,
}

impl fmt::Display for DesignPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "d{}-q{}", self.design, self.depth)
    }
}

impl FromStr for DesignPoint {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let parts = word.strip_prefix('d').and_then(|rest| rest.split_once("-q"));
        let numbers = parts.and_then(|(one, two)| Some((one.parse().ok()?, two.parse().ok()?)));
        match numbers {
            Some((design, depth)) if depth > 0 => Ok(Self { design, depth }),
            _ => Err(format!("{word} is no design at a depth, as d17-q16 is")),
        }
    }
}

impl Serialize for DesignPoint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DesignPoint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How many designs are measured, and at which depths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Designs {
    /// How many, at least 1.
    pub count: u32,
    /// Requests outstanding: each design is measured with each of these numbers.
    pub depths: Vec<u32>,
}

impl Designs {
    /// This many designs at each of these depths, however often one is given.
    pub fn new(count: u32, depths: &[u32]) -> Self {
        let mut depths = depths.to_vec();
        depths.sort_unstable();
        depths.dedup();
        Self { count, depths }
    }

    /// How many measurements that makes.
    pub fn measurements(&self) -> usize {
        self.count as usize * self.depths.len()
    }

    /// A design at each of the depths.
    pub(super) fn at_depths(&self, design: u32) -> Vec<DesignPoint> {
        self.depths.iter().map(|&depth| DesignPoint { design, depth }).collect()
    }

    /// All that decides which designs are measured, beside the drive and the seed.
    pub(super) fn words(&self) -> Vec<String> {
        let depths = self.depths.iter().map(|depth| format!("q{depth}"));
        [VERSION.to_owned(), format!("{} designs", self.count)].into_iter().chain(depths).collect()
    }
}

/// The requests of design `number` of a seed.
pub(super) fn requests(seed: u64, number: u32) -> Vec<Request> {
    let model = draw(seed, number);
    let stream = Seed { set: SeedSet::Training, index: mixed(seed, number) };
    let generator = Generator::new(&model, stream).expect("only legal models are drawn");
    generator.take(WINDOW_REQUESTS).collect()
}

/// A number that differs for all designs of all seeds.
fn mixed(seed: u64, number: u32) -> u64 {
    split_mix(split_mix(seed) ^ u64::from(number))
}

/// The model of a design.
fn draw(seed: u64, number: u32) -> Model {
    Draw(Pcg64::seed_from_u64(mixed(seed, number))).model()
}

/// Draws from the ranges of a design's parameters.
struct Draw(Pcg64);

impl Draw {
    /// True in this share of draws.
    fn chance(&mut self, share: f64) -> bool {
        self.0.random_bool(share)
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    /// A number whose logarithm is uniform.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        self.uniform(low.ln(), high.ln()).exp()
    }

    /// One or two phases. A fifth of the designs only reads, a fifth only writes.
    fn model(&mut self) -> Model {
        // Three in four designs begin and end at pages of 4 KiB.
        let grain = if self.chance(0.25) { SECTOR } else { 8 * SECTOR };
        let begin = self.begin();
        let mut accesses = self.accesses(grain, begin);
        let kind = self.uniform(0.0, 1.0);
        let writes = match kind {
            ..0.2 => 0.0,
            ..0.4 => 1.0,
            _ => self.uniform(0.02, 0.98),
        };
        let mut phases = vec![phase(writes, &accesses, None)];
        if self.chance(0.5) {
            let mut length = || Some(PhaseLength::Requests(self.log(4.0, 1_000.0) as u64));
            let lengths = [length(), length()];
            let is_mixed = kind >= 0.4;
            let high = if is_mixed { self.uniform(writes, 1.0) } else { writes };
            let low = if is_mixed { self.uniform(0.0, writes) } else { writes };
            let first = phase(high, &accesses, lengths[0]);
            // Phases of one kind of request only differ if their accesses do.
            if !is_mixed || self.chance(0.3) {
                accesses = self.accesses(grain, begin);
            }
            phases = vec![first, phase(low, &accesses, lengths[1])];
        }
        let description = "A workload drawn at random".to_owned();
        Model {
            name: "design".to_owned(),
            aliases: Vec::new(),
            description,
            source: String::new(),
            guesses: Vec::new(),
            requests: WINDOW_REQUESTS as u64,
            tenants: vec![Tenant { name: "design".to_owned(), phases }],
            variants: Vec::new(),
        }
    }

    /// Where a design begins: half of them at the beginning of the drive.
    fn begin(&mut self) -> u64 {
        let place = self.0.random_range(0..BEGIN_MAX / MEBIBYTE) * MEBIBYTE;
        if self.chance(0.5) { 0 } else { place }
    }

    /// The reads and the writes. In half of the designs they share their place.
    fn accesses(&mut self, grain: u64, begin: u64) -> [Access; 2] {
        let [mut reads, mut writes] = [self.access(grain), self.access(grain)];
        let apart = if self.chance(0.5) { reads.working_set.0 } else { 0 };
        (reads.offset, writes.offset) = (Bytes(begin), Bytes(begin + apart));
        [reads, writes]
    }

    fn access(&mut self, grain: u64) -> Access {
        let count = self.0.random_range(1..=4);
        let sizes: Vec<SizeRange> = (0..count).map(|_| self.size(grain)).collect();
        let largest = sizes.iter().map(|size| size.to.0).max().unwrap_or(grain);
        let room = self.log(MEBIBYTE as f64 * 2.0, MEBIBYTE as f64 * 131_072.0) as u64;
        let working_set = room.max(largest).next_multiple_of(MEBIBYTE);
        let theta = self.uniform(0.5, 1.3);
        let skew = match self.chance(0.5) {
            true => Skew::Zipf { theta, drift: 0.0 },
            false => Skew::Uniform,
        };
        let cell = grain.max(4096) << self.0.random_range(0..=4);
        Access {
            share: 1.0,
            sizes,
            offset: Bytes(0),
            working_set: Bytes(working_set),
            alignment: Bytes(grain),
            cell: Bytes(if self.chance(0.5) { grain } else { cell }),
            neighbourhood: Bytes(0),
            skew,
            walk_share: 0.0,
            runs: self.runs(),
            stride: None,
            recent: self.recent(),
        }
    }

    /// A size, or a third of the time a range of sizes.
    fn size(&mut self, grain: u64) -> SizeRange {
        let most = MEBIBYTE as f64;
        let mut size = || (self.log(grain as f64, most) as u64 / grain).max(1) * grain;
        let (one, two) = (size(), size());
        let (from, to) = if self.chance(0.3) { (one.min(two), one.max(two)) } else { (one, one) };
        let share = self.log(0.05, 1.0);
        SizeRange { from: Bytes(from), to: Bytes(to), step: Bytes(grain), share }
    }

    /// Runs in seven of ten designs; in some nearly all requests are of one.
    fn runs(&mut self) -> Option<Runs> {
        if !self.chance(0.7) {
            return None;
        }
        let share = if self.chance(0.2) { 0.995 } else { self.uniform(0.05, 0.98) };
        let least = share / (1.0 - share) * 1.01;
        let mean_length = self.log(1.0, 300.0).max(least);
        let streams = self.log(1.0, 17.0) as u32;
        Some(Runs { share, mean_length, streams })
    }

    /// Repeats in four of ten designs.
    fn recent(&mut self) -> Option<Recent> {
        if !self.chance(0.4) {
            return None;
        }
        let of = if self.chance(0.5) { RecentOf::Reads } else { RecentOf::Writes };
        let share = self.uniform(0.05, 0.9);
        Some(Recent { share, window: 1 << self.0.random_range(0..=10), of })
    }
}

/// A phase of which this share is writes. Times do not matter: designs are measured at depths.
fn phase(writes: f64, accesses: &[Access; 2], length: Option<PhaseLength>) -> Phase {
    let share =
        |share: f64, access: &Access| (share > 0.0).then(|| Access { share, ..access.clone() });
    Phase {
        length,
        arrival: Arrival::Fixed(Rate::Requests(1_000.0)),
        read: share(1.0 - writes, &accesses[0]),
        write: share(writes, &accesses[1]),
        trim: None,
        flush_share: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::{Op, REQUEST_BYTES};

    #[test]
    fn words_are_read_as_written() {
        let point = DesignPoint { design: 17, depth: 16 };
        assert_eq!(point.to_string().parse(), Ok(point));
        for wrong in ["", "17-q16", "d17", "d17-q0", "d-q1", "d1-q1x"] {
            assert!(wrong.parse::<DesignPoint>().is_err(), "{wrong}");
        }
        let plan = Designs::new(2, &[16, 1, 16]);
        assert_eq!(plan.measurements(), 4);
        assert_eq!(plan.at_depths(3), [1, 16].map(|depth| DesignPoint { design: 3, depth }));
    }

    /// Every design is legal and as long as a window, and there are all kinds of them.
    #[test]
    fn designs_are_legal_and_of_all_kinds() {
        let (mut only_reads, mut only_writes, mut turns) = (0, 0, 0);
        for number in 0..300 {
            let requests = requests(5, number);
            assert_eq!(requests.len(), WINDOW_REQUESTS, "design {number} of seed 5");
            let writes = requests.iter().filter(|one| one.op == Op::Write).count();
            only_reads += usize::from(writes == 0);
            only_writes += usize::from(writes == WINDOW_REQUESTS);
            turns += usize::from(draw(5, number).tenants[0].phases.len() == 2);
        }
        assert!((30..=90).contains(&only_reads), "{only_reads} of 300");
        assert!((30..=90).contains(&only_writes), "{only_writes} of 300");
        assert!((110..=190).contains(&turns), "{turns} of 300");
    }

    /// What is drawn may only change together with [`VERSION`].
    #[test]
    fn designs_are_those_of_their_version() {
        let mut hasher = blake3::Hasher::new();
        for number in 0..20 {
            for request in requests(1, number) {
                let mut bytes = [0; REQUEST_BYTES];
                bytes[..8].copy_from_slice(&request.lba.0.to_le_bytes());
                bytes[8..12].copy_from_slice(&request.sectors.to_le_bytes());
                bytes[12] = request.op as u8;
                hasher.update(&bytes);
            }
        }
        let digest = hasher.finalize().to_hex();
        assert_eq!((VERSION, &digest[..16]), ("designs 2", "cc94ceb4a902437f"));
    }
}
