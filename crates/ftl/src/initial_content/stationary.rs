//! How many pages of a block are valid, and how old the block is, after uniform random writes have
//! gone on for a long time.
//!
//! Mean-field theory (Desnoyers, SYSTOR 2012; Van Houdt, SIGMETRICS 2013) of many blocks of n
//! pages, of which a share rho is valid. Between two collections, n - E(victim) pages are
//! overwritten; every valid page is equally likely. So blocks go from i to i - 1 valid pages at the
//! rate `i m_i / c`, where m_i is the share of blocks with i valid pages and `c = rho n / (n -
//! E(victim))`. In the steady state that rate equals the chance that a block ends with fewer than i
//! valid pages. Each policy is one rule for this chance. For policies that look at a block's age,
//! the blocks are followed along their age.
//!
//! Left out: pages that are invalidated while their block is still open, and that the number of
//! blocks is a whole number. Both vanish with many blocks. Cost: about n^2 steps, once for each
//! policy and each share of valid pages (below 1 ms for n = 256). Blocks of more than 1,024 pages,
//! as superblocks are, count as blocks of that many, except under the greedy policy, whose cost
//! grows with n alone: shares of valid pages hardly depend on n then.

use crate::gc::VictimRules;
use ssdtune_model::config::GcPolicy;

/// Blocks of about the same age. Ages are counted in blocks filled since, divided by the number of
/// all blocks.
#[derive(Clone, Debug)]
struct AgeClass {
    /// The share of all blocks that are as young as these or younger.
    up_to: f64,
    /// The largest age in the class. It is more than `up_to` if some blocks of this age have been
    /// collected already.
    age: f64,
    /// The smallest number of valid pages.
    first: u32,
    /// The share of the class with at most `first`, `first + 1`, ... valid pages.
    cumulative: Vec<f64>,
    /// Where in `cumulative` the search for a chance begins: for each of equal steps of the chance,
    /// a power of two of them, the place that its least chance has.
    guide: Vec<u32>,
}

/// The joint distribution of age and valid pages, as classes of growing age.
#[derive(Clone, Debug)]
pub(crate) struct Stationary {
    classes: Vec<AgeClass>,
    /// The pages of a block for each that the classes count.
    scale: f64,
}

/// The most pages of a block that are counted one by one.
const PAGES_MAX: u32 = 1_024;
/// Steps in which ages are followed.
const AGES: u32 = 128;
/// Steps of a bisection.
const HALVINGS: u32 = 48;

impl Stationary {
    /// The distribution over `blocks` blocks of which a share `rho` is valid, where 0 < rho < 1.
    pub fn new(rules: &VictimRules, blocks: u32, rho: f64) -> Self {
        let pages = match rules.policy {
            GcPolicy::Greedy | GcPolicy::RemainingLife => rules.pages_per_block,
            _ => rules.pages_per_block.min(PAGES_MAX),
        };
        let scale = f64::from(rules.pages_per_block) / f64::from(pages);
        let model = Model { pages: pages as usize, rho };
        let random_min = |min: u32| model.counts_to(|c| model.random(c, min as usize));
        let classes = match rules.policy {
            // Of uniform writes no policy knows when they die.
            GcPolicy::Greedy | GcPolicy::RemainingLife => Self::ageless(&model.greedy()),
            GcPolicy::Rga => {
                Self::ageless(&model.counts_to(|c| model.choices(c, rules.choices as i32)))
            }
            GcPolicy::Random | GcPolicy::RandomPlus => Self::ageless(&random_min(1)),
            GcPolicy::RandomPlusPlus => {
                let min = (f64::from(rules.invalid_min) / scale).ceil() as u32;
                Self::ageless(&random_min(min))
            }
            GcPolicy::Fifo => model.fifo(),
            GcPolicy::WindowedGreedy => {
                model.windowed((f64::from(rules.window) / f64::from(blocks)).min(1.0))
            }
            GcPolicy::CostBenefit => model.cost_benefit(),
        };
        Self { classes, scale }
    }

    /// A distribution in which the age says nothing about the valid pages.
    fn ageless(masses: &[f64]) -> Vec<AgeClass> {
        vec![AgeClass::new(1.0, masses)]
    }

    /// The class of the block that is older than a share of all blocks.
    fn class(&self, older: f64) -> usize {
        let class = self.classes.partition_point(|class| class.up_to <= older);
        class.min(self.classes.len() - 1)
    }

    /// The age of the block that is older than a share of all blocks: blocks filled since, divided
    /// by the number of all blocks.
    pub fn age(&self, older: f64) -> f64 {
        let class = self.class(older);
        let (from, start) = class
            .checked_sub(1)
            .map_or((0.0, 0.0), |k| (self.classes[k].up_to, self.classes[k].age));
        let AgeClass { up_to, age, .. } = self.classes[class];
        start + (age - start) * ((older - from) / (up_to - from)).clamp(0.0, 1.0)
    }

    /// The number of valid pages of the block that is older than a share of all blocks. `chance`,
    /// between 0 and 1, is the random draw.
    pub fn valid(&self, older: f64, chance: f64) -> u32 {
        let class = &self.classes[self.class(older)];
        let counted = class.first + class.place(chance).min(class.cumulative.len() - 1) as u32;
        match self.scale {
            1.0 => counted,
            scale => (f64::from(counted) * scale).round() as u32,
        }
    }
}

impl AgeClass {
    /// A class of which no block has been collected. `masses` are the weights of 0, 1, ... valid
    /// pages, in any unit.
    fn new(up_to: f64, masses: &[f64]) -> Self {
        Self::aged(up_to, up_to, masses)
    }

    /// A class whose largest age is given.
    fn aged(up_to: f64, age: f64, masses: &[f64]) -> Self {
        let total: f64 = masses.iter().sum();
        let some = |mass: &f64| *mass > total * 1e-12;
        let first = masses.iter().position(some).unwrap_or(masses.len() - 1);
        let last = masses.iter().rposition(some).unwrap_or(first);
        let mut sum = 0.0;
        let cumulative = masses[first..=last].iter().map(|mass| {
            sum += mass / total;
            sum
        });
        let cumulative: Vec<f64> = cumulative.collect();
        let steps = cumulative.len().next_power_of_two();
        let place = |step: usize| {
            let least = step as f64 / steps as f64;
            cumulative.partition_point(|&up_to| up_to <= least) as u32
        };
        let guide = (0..steps).map(place).collect();
        Self { up_to, age, first: first as u32, cumulative, guide }
    }

    /// How many of the cumulative shares are at most `chance`, 0 to 1.
    fn place(&self, chance: f64) -> usize {
        let step = (chance * self.guide.len() as f64) as usize;
        let near = self.guide[step.min(self.guide.len() - 1)] as usize;
        near + self.cumulative[near..].iter().take_while(|&&up_to| up_to <= chance).count()
    }
}

/// Blocks of `pages` pages, of which a share `rho` is valid.
struct Model {
    pages: usize,
    rho: f64,
}

impl Model {
    /// The mean number of valid pages.
    fn valid(&self) -> f64 {
        self.rho * self.pages as f64
    }

    /// The masses of 0 to n valid pages for the c at which their mean is right. `masses` gives them
    /// for a c, or `None` if the rule leaves nothing; their mean grows with c.
    fn counts_to(&self, masses: impl Fn(f64) -> Option<Vec<f64>>) -> Vec<f64> {
        let mean = |masses: &[f64]| -> f64 {
            masses.iter().enumerate().map(|(i, mass)| i as f64 * mass).sum()
        };
        // If victims hold no valid page, c is rho. If c grows without bound, the drive has no spare
        // pages.
        let (mut low, mut high) = (self.rho.ln(), (1e6f64).ln());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match masses(middle.exp()) {
                Some(masses) if mean(&masses) < self.valid() => low = middle,
                _ => high = middle,
            }
        }
        masses(low.exp()).unwrap_or_else(|| self.greedy())
    }

    /// The victim has the fewest valid pages. All blocks fall to a level j, and some of those at j
    /// are victims.
    fn greedy(&self) -> Vec<f64> {
        let mut masses = vec![0.0; self.pages + 1];
        let mut harmonic = 0.0;
        for j in (1..=self.pages).rev() {
            // Victims have j - share valid pages on average. So c = rho n / (n - j + share), and
            // all masses add up to 1.
            let sum = |share: f64| {
                let c = self.valid() / (self.pages as f64 - j as f64 + share);
                c * (harmonic + share / j as f64)
            };
            if j == 1 || sum(1.0) >= 1.0 {
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..HALVINGS {
                    let middle = f64::midpoint(low, high);
                    if sum(middle) < 1.0 { low = middle } else { high = middle }
                }
                let c = self.valid() / (self.pages as f64 - j as f64 + low);
                for (i, mass) in masses.iter_mut().enumerate().skip(j + 1) {
                    *mass = c / i as f64;
                }
                masses[j] = c * low / j as f64;
                break;
            }
            harmonic += 1.0 / j as f64;
        }
        // With much spare space, blocks without a valid page wait to be collected.
        masses[0] = (1.0 - masses.iter().sum::<f64>()).max(0.0);
        masses
    }

    /// The victim is the best of `d` random blocks that have an invalid page.
    fn choices(&self, c: f64, d: i32) -> Option<Vec<f64>> {
        let mut masses = vec![0.0; self.pages + 1];
        masses[self.pages] = c / self.pages as f64;
        // Shares among the blocks that can be drawn; `above` of them have more than i valid pages.
        // The best of d has fewer than i unless all d have at least i.
        let drawable = 1.0 - masses[self.pages];
        let mut above = 0.0;
        for i in (1..self.pages).rev() {
            let scale = c / (i as f64 * drawable);
            // y + scale y^d = above + scale. The left side is convex, so Newton's method from above
            // falls to the root.
            let mut y: f64 = 1.0;
            for _ in 0..50 {
                let power = y.powi(d - 1);
                let excess = y + scale * power * y - above - scale;
                let step = excess / (1.0 + scale * f64::from(d) * power);
                y -= step;
                if step.abs() < 1e-14 {
                    break;
                }
            }
            masses[i] = (y - above) * drawable;
            above = y;
        }
        masses[0] = (1.0 - above) * drawable;
        (drawable > 0.0).then_some(masses)
    }

    /// The victim is any block with at least `min` invalid pages.
    fn random(&self, c: f64, min: usize) -> Option<Vec<f64>> {
        let mut masses = vec![0.0; self.pages + 1];
        let most = self.pages.saturating_sub(min);
        let mut left = 1.0;
        for i in (most + 1..=self.pages).rev() {
            masses[i] = c / i as f64;
            left -= masses[i];
        }
        if left <= 0.0 {
            return None;
        }
        let drawable = left;
        for i in (1..=most).rev() {
            let below = left / (1.0 + c / (i as f64 * drawable));
            masses[i] = left - below;
            left = below;
        }
        masses[0] = left;
        Some(masses)
    }

    /// The victim is the oldest block. A page of age x is still valid with the chance exp(-x).
    fn fifo(&self) -> Vec<AgeClass> {
        let (mut low, mut high) = (1e-9, 1e3);
        for _ in 0..2 * HALVINGS {
            let end = f64::midpoint(low, high);
            if (1.0 - (-end).exp()) / end > self.rho { low = end } else { high = end }
        }
        self.by_age(low, 1.0)
    }

    /// Classes up to the age `end` of blocks from which none was collected. Together they are a
    /// `share` of all blocks.
    fn by_age(&self, end: f64, share: f64) -> Vec<AgeClass> {
        let class = |k: u32| {
            let age = end * (f64::from(k) + 0.5) / f64::from(AGES);
            let up_to = share * f64::from(k + 1) / f64::from(AGES);
            AgeClass::new(up_to, &binomial(self.pages, (-age).exp()))
        };
        (0..AGES).map(class).collect()
    }

    /// The victim is the best of the oldest blocks. Blocks reach the window untouched; inside it,
    /// the rule is greedy.
    fn windowed(&self, window: f64) -> Vec<AgeClass> {
        // For a c: the blocks that enter the window, the masses inside it, and the mean of the
        // victims' valid pages.
        let inside = |c: f64| {
            let entering = binomial(self.pages, (-(1.0 - window) / c).exp());
            let mut masses = vec![0.0; self.pages + 1];
            let (mut above, mut room, mut floor) = (0.0, window, 0.0);
            for i in (1..=self.pages).rev() {
                above += entering[i];
                let mass = c * above / i as f64;
                if mass >= room {
                    masses[i] = room;
                    floor = i as f64 - room / mass;
                    room = 0.0;
                    break;
                }
                masses[i] = mass;
                room -= mass;
            }
            masses[0] += room;
            let victim: f64 =
                (entering.iter().enumerate()).map(|(i, share)| share * floor.min(i as f64)).sum();
            (masses, victim)
        };
        let (mut low, mut high) = (self.rho.ln(), (1e6f64).ln());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            let (_, victim) = inside(middle.exp());
            // Slower ageing leaves more valid pages in the victims, and these demand slower ageing.
            let asked = self.valid() / (self.pages as f64 - victim).max(1e-9);
            if asked > middle.exp() { low = middle } else { high = middle }
        }
        let mut classes = self.by_age((1.0 - window) / low.exp(), 1.0 - window);
        classes.push(AgeClass::new(1.0, &inside(low.exp()).0));
        classes
    }

    /// The victim is the block with the largest (1 - u) age / (1 + u): it leaves when that exceeds
    /// a bound.
    fn cost_benefit(&self) -> Vec<AgeClass> {
        // Under FIFO all blocks live long, and with uniform writes no block gets much older than
        // there. So this range suffices. No block that is followed reaches a greater benefit than
        // that of an empty one at the last age.
        let most = f64::from(32 * AGES) * self.step();
        let (mut low, mut high) = (0.0, 1e3);
        let mut bound = high;
        for _ in 0..24 {
            bound = f64::midpoint(low, high);
            if bound < most && mean_of(&self.lives(bound)) > self.valid() {
                low = bound;
            } else {
                high = bound;
            }
        }
        let found = self.lives(bound);
        let total: f64 = found.iter().map(|masses| masses.iter().sum::<f64>()).sum();
        let mut up_to = 0.0;
        let class = |(nth, masses): (usize, &Vec<f64>)| {
            up_to += masses.iter().sum::<f64>() / total;
            AgeClass::aged(up_to, (nth + 1) as f64 / total, masses)
        };
        found.iter().enumerate().map(class).collect()
    }

    /// How much older a block gets from one class to the next.
    fn step(&self) -> f64 {
        2.0 * (1.0 - self.rho) / f64::from(AGES)
    }

    /// The masses of valid pages for each age, if blocks leave when their benefit exceeds a bound.
    fn lives(&self, bound: f64) -> Vec<Vec<f64>> {
        let step = self.step();
        let lost = 1.0 - (-step).exp();
        // A class stands for the middle of its step.
        let mut masses = binomial(self.pages, (-step / 2.0).exp());
        let mut lives = Vec::new();
        for age in (1..32 * AGES).map(|age| f64::from(age) + 0.5) {
            let mut next = vec![0.0; self.pages + 1];
            let mut left = 0.0;
            for (i, &mass) in masses.iter().enumerate().filter(|(_, mass)| **mass > 1e-10) {
                let mut chance = mass * (1.0 - lost).powi(i as i32);
                for gone in 0..=i {
                    let valid = i - gone;
                    let free = 1.0 - valid as f64 / self.pages as f64;
                    if free * age * step / (2.0 - free) < bound {
                        next[valid] += chance;
                        left += chance;
                    }
                    if gone < i {
                        chance *= lost / (1.0 - lost) * valid as f64 / (gone + 1) as f64;
                    }
                    if chance < 1e-13 && gone as f64 > i as f64 * lost {
                        break;
                    }
                }
            }
            if left < 1e-9 {
                break;
            }
            lives.push(std::mem::replace(&mut masses, next));
        }
        lives
    }
}

/// The mean number of valid pages.
fn mean_of(lives: &[Vec<f64>]) -> f64 {
    let (mut pages, mut blocks) = (0.0, 0.0);
    for masses in lives {
        for (i, mass) in masses.iter().enumerate() {
            pages += i as f64 * mass;
            blocks += mass;
        }
    }
    pages / blocks
}

/// The chances of 0 to n successes in n trials with chance p.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut masses = vec![0.0; n + 1];
    if p >= 1.0 {
        masses[n] = 1.0;
        return masses;
    }
    // From the mode outwards, so that nothing underflows where most of the mass is.
    let mode = ((n as f64 + 1.0) * p).floor().min(n as f64) as usize;
    masses[mode] = 1.0;
    let odds = p / (1.0 - p);
    for i in mode + 1..=n {
        masses[i] = masses[i - 1] * odds * (n - i + 1) as f64 / i as f64;
    }
    for i in (0..mode).rev() {
        masses[i] = masses[i + 1] / odds * (i + 1) as f64 / (n - i) as f64;
    }
    let total: f64 = masses.iter().sum();
    masses.iter_mut().for_each(|mass| *mass /= total);
    masses
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::config::GcPolicy;

    fn mean(stationary: &Stationary) -> f64 {
        let draws = 40_000;
        let golden = 0.618_033_988_749_895;
        let drawn = |k: u32| {
            let age = (f64::from(k) + 0.5) / f64::from(draws);
            f64::from(stationary.valid(age, (f64::from(k) * golden).fract()))
        };
        (0..draws).map(drawn).sum::<f64>() / f64::from(draws)
    }

    #[test]
    fn the_guide_leads_to_the_place_of_every_chance() {
        let mut masses = vec![1e-9; 300];
        masses.extend([0.5, 0.0, 3.0, 0.1]);
        for masses in [&masses[..], &masses[..301], &[1.0]] {
            let class = AgeClass::new(1.0, masses);
            let shares = class.cumulative.iter().flat_map(|&at| [at, at.next_up(), at.next_down()]);
            let even = (0..=10_000).map(|step| f64::from(step) / 10_000.0);
            for chance in shares.chain(even) {
                let place = class.cumulative.partition_point(|&up_to| up_to <= chance);
                assert_eq!(class.place(chance), place, "{chance}");
            }
        }
    }

    #[test]
    fn the_best_of_some_leaves_each_level_as_often_as_it_is_reached() {
        let model = Model { pages: 32, rho: 0.8 };
        let (c, draws) = (2.5, 7);
        let masses = model.choices(c, draws).expect("blocks to draw");
        let drawable = 1.0 - masses[32];
        let mut above = 0.0;
        for (i, mass) in masses.iter().enumerate().take(32).skip(1).rev() {
            above += mass / drawable;
            // Blocks leave a level with an overwritten page; a victim below it replaces them.
            let (leaving, below) = (i as f64 * mass / c, 1.0 - above.powi(draws));
            assert!((leaving - below).abs() < 1e-9, "level {i}: {leaving}, {below}");
        }
    }

    #[test]
    fn pages_die_evenly_in_blocks_that_nothing_collects() {
        let model = Model { pages: 64, rho: 0.7 };
        let lives = model.lives(1e3);
        let step = model.step();
        for (nth, masses) in lives.iter().enumerate().take(200) {
            let valid = mean_of(std::slice::from_ref(masses));
            let left = 64.0 * (-step * (nth as f64 + 0.5)).exp();
            assert!((valid - left).abs() < 1e-6, "step {nth}: {valid}, {left}");
        }
    }

    #[test]
    fn every_policy_has_the_right_share_of_valid_pages() {
        for &policy in GcPolicy::ALL {
            for rho in [0.3, 0.6, 0.8, 0.9, 0.95] {
                // The last is a superblock of a whole drive.
                for pages in [32u32, 256, 1_500, 278_400] {
                    let rules = VictimRules {
                        policy,
                        choices: 10,
                        window: 125,
                        invalid_min: pages / 20,
                        pages_per_block: pages,
                    };
                    let share = mean(&Stationary::new(&rules, 1000, rho)) / f64::from(pages);
                    assert!((share - rho).abs() < 0.006, "{policy} {rho} {pages}: {share}");
                }
            }
        }
    }
}
