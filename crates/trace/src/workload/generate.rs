//! The generator of requests: an endless, deterministic iterator.
//!
//! Each tenant has its own clock and random sub-streams. Tenants are merged by time; at equal times
//! the lower tenant comes first. So adding a tenant does not change the requests of the others. A
//! request costs about 50 ns for one tenant. Merging scans all tenants, so a hundred of them cost
//! more.

use super::address::{Place, Ring};
use super::arrival::Clock;
use super::check::{ModelError, check};
use super::dist::half_threshold;
use super::model::{Access, Model, Phase, PhaseLength, RecentOf, Tenant};
use super::seed::Seed;
use crate::{Op, Request, TenantId};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use ssdtune_model::{Nanos, Sectors};

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// An endless stream of the requests of a model, in order of time.
#[derive(Clone, Debug)]
pub struct Generator {
    streams: Vec<Stream>,
    heads: Vec<Request>,
}

impl Generator {
    /// A generator whose clock starts at zero.
    ///
    /// # Errors
    /// The model breaks a rule. The error lists all faults.
    pub fn new(model: &Model, seed: Seed) -> Result<Self, ModelError> {
        check(model)?;
        let mut streams: Vec<Stream> = model
            .tenants
            .iter()
            .enumerate()
            .map(|(index, tenant)| Stream::new(&model.name, index, tenant, seed))
            .collect();
        let heads = if streams.len() > 1 {
            streams.iter_mut().map(Stream::next_request).collect()
        } else {
            Vec::new()
        };
        Ok(Self { streams, heads })
    }

    /// The earliest next request of all tenants.
    fn merged(&mut self) -> Request {
        let mut first = 0;
        for (index, head) in self.heads.iter().enumerate().skip(1) {
            if head.at < self.heads[first].at {
                first = index;
            }
        }
        let next = self.streams[first].next_request();
        std::mem::replace(&mut self.heads[first], next)
    }
}

impl Iterator for Generator {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        Some(match self.streams.as_mut_slice() {
            [only] => only.next_request(),
            _ => self.merged(),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// The stream of one tenant.
#[derive(Clone, Debug)]
struct Stream {
    tenant: TenantId,
    phases: Vec<Stage>,
    current: usize,
    left: Left,
    now_ns: u64,
    fraction_ns: f64,
    rings: [Ring; 2],
    gap_rng: Pcg64,
    op_rng: Pcg64,
    op_bits: OpBits,
    size_rng: Pcg64,
    place_rng: Pcg64,
}

/// A phase prepared for drawing.
#[derive(Clone, Debug)]
struct Stage {
    length: Left,
    clock: Clock,
    ops: OpPicker,
    places: [Option<Place>; 3],
}

/// The rest of a phase.
#[derive(Clone, Copy, Debug)]
enum Left {
    Forever,
    Requests(u64),
    Nanos(f64),
}

#[derive(Clone, Debug)]
enum OpPicker {
    Only(usize),
    /// Thresholds below 2^32 at which the second, third and fourth operation begin.
    Mixed([u64; 3]),
}

/// Random numbers below 2^32, two from each draw.
#[derive(Clone, Copy, Debug, Default)]
struct OpBits {
    bits: u64,
    left: bool,
}

impl OpBits {
    #[inline]
    fn next(&mut self, rng: &mut Pcg64) -> u64 {
        if self.left {
            self.left = false;
            return self.bits >> 32;
        }
        *self = Self { bits: rng.next_u64(), left: true };
        self.bits & 0xffff_ffff
    }
}

impl OpPicker {
    fn new(shares: [f64; 4]) -> Self {
        let used: Vec<usize> = (0..4).filter(|&op| shares[op] > 0.0).collect();
        if let [only] = used.as_slice() {
            return Self::Only(*only);
        }
        let total: f64 = shares.iter().sum();
        // The threshold after the last operation in use is never reached, whatever rounding does to
        // the sums.
        let last = used.last().copied().unwrap_or(0);
        Self::Mixed(std::array::from_fn(|op| match op < last {
            true => half_threshold(shares[..=op].iter().sum::<f64>() / total),
            false => 1 << 32,
        }))
    }
}

impl Stage {
    fn new(phase: &Phase, gap_rng: &mut Pcg64, key: &dyn Fn() -> Pcg64) -> Self {
        let ops = OpPicker::new(phase.shares());
        let length = match phase.length {
            None => Left::Forever,
            Some(PhaseLength::Requests(n)) => Left::Requests(n),
            Some(PhaseLength::Seconds(s)) => Left::Nanos(s * 1e9),
        };
        // All accesses use the same key, so that reads and writes over one working set share their
        // hot cells.
        let places = phase.accesses().map(|access| access.map(|a| Place::new(a, &mut key())));
        Self { length, clock: Clock::new(phase, gap_rng), ops, places }
    }
}

impl Stream {
    fn new(model: &str, index: usize, tenant: &Tenant, seed: Seed) -> Self {
        let mut gap_rng = seed.stream(model, index, "gap");
        let key = || seed.stream(model, index, "scramble");
        let phases: Vec<Stage> =
            tenant.phases.iter().map(|phase| Stage::new(phase, &mut gap_rng, &key)).collect();
        Self {
            tenant: TenantId(index as u16),
            current: 0,
            left: phases[0].length,
            phases,
            now_ns: 0,
            fraction_ns: 0.0,
            rings: [RecentOf::Reads, RecentOf::Writes].map(|of| Ring::new(window_of(tenant, of))),
            gap_rng,
            op_bits: OpBits::default(),
            op_rng: seed.stream(model, index, "op"),
            size_rng: seed.stream(model, index, "size"),
            place_rng: seed.stream(model, index, "place"),
        }
    }

    #[inline]
    fn next_request(&mut self) -> Request {
        self.advance();
        let stage = &mut self.phases[self.current];
        let op = match &stage.ops {
            OpPicker::Only(op) => *op,
            OpPicker::Mixed(cuts) => {
                let draw = self.op_bits.next(&mut self.op_rng);
                cuts.iter().map(|&cut| usize::from(draw >= cut)).sum()
            }
        };
        let (lba, sectors) = match stage.places.get_mut(op).and_then(Option::as_mut) {
            Some(place) => place.next(&self.rings, &mut self.size_rng, &mut self.place_rng),
            None => (0, 0),
        };
        if op < 2 {
            self.rings[op].push((lba, sectors));
        }
        Request {
            at: Nanos(self.now_ns),
            lba: Sectors(lba),
            sectors,
            tenant: self.tenant,
            op: OPS[op],
        }
    }

    /// Moves the clock to the next arrival, and to the next phase if the current one has ended.
    #[inline]
    fn advance(&mut self) {
        let mut gap = self.phases[self.current].clock.gap_ns(&mut self.gap_rng);
        match &mut self.left {
            Left::Forever => {}
            Left::Requests(0) => {
                self.next_phase();
                if let Left::Requests(left) = &mut self.left {
                    *left = left.saturating_sub(1);
                }
            }
            Left::Requests(left) => *left -= 1,
            Left::Nanos(_) => gap = self.timed_gap(gap),
        }
        // The clock moves by whole nanoseconds and the fraction is carried over, so that rates stay
        // exact.
        self.fraction_ns += gap;
        let whole = self.fraction_ns as i64;
        self.fraction_ns -= whole as f64;
        self.now_ns = self.now_ns.saturating_add_signed(whole);
    }

    /// Ends a timed phase in the middle of a gap: the next phase draws a gap of its own from the
    /// boundary.
    #[cold]
    fn crossed(&mut self, left: f64) -> (f64, f64) {
        self.next_phase();
        (left, self.phases[self.current].clock.gap_ns(&mut self.gap_rng))
    }

    /// The time to the next arrival in a timed phase, across as many phases as it takes.
    fn timed_gap(&mut self, mut gap: f64) -> f64 {
        let mut waited = 0.0;
        loop {
            match &mut self.left {
                Left::Nanos(left) if gap > *left => {
                    let rest = *left;
                    let (skipped, fresh) = self.crossed(rest);
                    waited += skipped;
                    gap = fresh;
                }
                Left::Nanos(left) => {
                    *left -= gap;
                    return waited + gap;
                }
                Left::Requests(left) => {
                    *left = left.saturating_sub(1);
                    return waited + gap;
                }
                Left::Forever => return waited + gap,
            }
        }
    }

    fn next_phase(&mut self) {
        self.current = (self.current + 1) % self.phases.len();
        self.left = self.phases[self.current].length;
    }
}

/// The longest reach of repeats of `of` in all phases of a tenant; 0 if nothing repeats them.
fn window_of(tenant: &Tenant, of: RecentOf) -> u32 {
    let recents = tenant
        .phases
        .iter()
        .flat_map(Phase::accesses)
        .flatten()
        .filter_map(|access: &Access| access.recent);
    recents.filter(|recent| recent.of == of).map(|recent| recent.window).max().unwrap_or(0)
}
