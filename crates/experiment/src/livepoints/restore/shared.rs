//! Tenants that share a drive, of which each may have had other planes since some request.
//!
//! A page lies where its tenant wrote when it was written last. So there are two times: before that
//! request all tenants had all planes, in their order; from then on each writes to its own. A plane
//! goes on with the blocks that it has open, and each tenant has open blocks of its own.

use super::super::layout::Filled;
use super::super::record::{NEVER, Record};
use super::super::spaces::Spaces;
use super::super::{LivePoints, LivePointsError, Window, Wrote};
use crate::error::PrepareError;
use crate::preparation::Start;
use crate::prepare::Binding;
use roaring::RoaringTreemap;
use ssdtune_model::{Lpn, Place, PlaneId};
use ssdtune_sim::{Past, PastPage, Simulator};
use ssdtune_trace::TenantId;
use std::collections::HashMap;

/// How tenants share a drive.
#[derive(Clone, Copy, Debug)]
pub struct SharedDrive<'a> {
    /// Their address spaces, as the pass saw them.
    pub spaces: Spaces,
    /// Where each of them writes from some request on; before it, all write everywhere.
    pub bindings: &'a [Binding],
    /// That request.
    pub since: u32,
    /// Pages that were used before that request, by their numbers in the joint space.
    pub early: &'a RoaringTreemap,
}

/// Tenants on a drive that is to be restored.
pub(super) struct Shared<'a> {
    drive: SharedDrive<'a>,
    /// Planes of the drive.
    planes: u32,
    /// For each tenant its planes, by their positions among those of all tenants.
    bound: Vec<Vec<u32>>,
    /// Reads give places to pages that were never written.
    is_empty: bool,
    /// For each tenant and plane the pages that the start has put there, and those that it has put
    /// there before for other tenants.
    filled: Vec<u64>,
    others: Vec<u64>,
}

/// How many pages of all that were written to flash each plane has taken for each tenant, before
/// and since tenants write to their own planes.
pub(super) struct Shares {
    before: Vec<u64>,
    since: Vec<u64>,
    /// The share of all writes that came before.
    split: f64,
}

impl Shares {
    /// Those of a drive whose tenant has had all planes from the beginning.
    pub fn of_one(before: Vec<u64>) -> Self {
        Self { before, since: Vec::new(), split: 1.0 }
    }

    /// How many a plane had taken when some share of all had been written.
    pub fn taken(&self, position: usize, share: f64) -> u64 {
        let before = match self.split {
            split if split >= 1.0 => self.before[position] as f64 * share,
            split if split > 0.0 => self.before[position] as f64 * (share / split).min(1.0),
            _ => 0.0,
        };
        let since = self.since.get(position).map_or(0.0, |&since| {
            let passed = (share - self.split) / (1.0 - self.split).max(1e-9);
            since as f64 * passed.clamp(0.0, 1.0)
        });
        before as u64 + since as u64
    }
}

impl<'a> Shared<'a> {
    /// Finds the planes of each tenant. `blank` is a new drive with these tenants.
    pub fn new(
        drive: SharedDrive<'a>,
        points: &LivePoints,
        blank: &mut Simulator,
        start: &Start,
    ) -> Result<Self, LivePointsError> {
        drive.spaces.check(blank.config(), start)?;
        let all = blank.past_planes(TenantId(0)).to_vec();
        let place: HashMap<PlaneId, u32> = all.iter().copied().zip(0..).collect();
        Binding::bind_all(drive.bindings, blank)?;
        let own = |tenant: usize| {
            let planes = blank.past_planes(TenantId::at(tenant)).iter();
            let first = (tenant * all.len()) as u32;
            planes.map(|plane| first + place[plane]).collect()
        };
        let bound = (0..drive.spaces.tenants()).map(own).collect();
        let (planes, is_empty) = (all.len() as u32, *start == Start::Empty);
        let (mut filled, others) = fill(points, &drive.spaces, all.len());
        if is_empty {
            filled.fill(0);
        }
        Ok(Self { drive, planes, bound, is_empty, filled, others })
    }

    /// Gives the tenants of a new drive their past, and the planes to which they write in a window.
    pub fn give(
        &self,
        drive: &mut Simulator,
        window: &Window,
        past: &Past,
    ) -> Result<(), PrepareError> {
        let spaces = &self.drive.spaces;
        let planes = self.planes as usize;
        let mut own: Vec<Past> = vec![Past::default(); spaces.tenants()];
        for (tenant, own) in own.iter_mut().enumerate() {
            let from = tenant * planes;
            own.taken = past.taken.get(from..from + planes).unwrap_or_default().to_vec();
            own.epoch_ends = past.epoch_ends;
        }
        for page in &past.pages {
            let (tenant, lpn) = spaces.place(page.lpn.0);
            let position = page.position % self.planes;
            own[tenant.index()].pages.push(PastPage { lpn, position, ..*page });
        }
        for lpn in &past.written {
            let (tenant, lpn) = spaces.place(lpn.0);
            own[tenant.index()].written.push(lpn);
        }
        for (tenant, own) in own.iter().enumerate() {
            drive.set_past(TenantId::at(tenant), own)?;
        }
        if window.start >= self.drive.since {
            Binding::bind_all(self.drive.bindings, drive)?;
        }
        // Translation pages were written last where their tenants write by now.
        for &(lpn, times) in &past.rewrites {
            let (tenant, lpn) = spaces.place(lpn.0);
            let rewrites = vec![(lpn, times)];
            let epoch_ends = past.epoch_ends;
            drive.set_past(tenant, &Past { rewrites, epoch_ends, ..Past::default() })?;
        }
        self.fill_caches(drive, past)
    }

    /// Fills the caches in the order of last use, which goes from tenant to tenant.
    fn fill_caches(&self, drive: &mut Simulator, past: &Past) -> Result<(), PrepareError> {
        let tenant_of = |lpn: Lpn| self.drive.spaces.place(lpn.0);
        let some = || Past { epoch_ends: past.epoch_ends, ..Past::default() };
        for together in past.mappings.chunk_by(|a, b| tenant_of(a.lpn).0 == tenant_of(b.lpn).0) {
            let mut own = some();
            own.mappings = together.to_vec();
            own.mappings.iter_mut().for_each(|one| one.lpn = tenant_of(one.lpn).1);
            drive.set_past(tenant_of(together[0].lpn).0, &own)?;
        }
        for together in past.cached.chunk_by(|a, b| tenant_of(a.lpn).0 == tenant_of(b.lpn).0) {
            let mut own = some();
            own.cached = together.to_vec();
            own.cached.iter_mut().for_each(|one| one.lpn = tenant_of(one.lpn).1);
            drive.set_past(tenant_of(together[0].lpn).0, &own)?;
        }
        let (other_mappings, other_cached) = (past.other_mappings, past.other_cached);
        drive.set_past(TenantId(0), &Past { other_mappings, other_cached, ..some() })?;
        Ok(())
    }

    /// For each tenant and plane, the pages that the start has put there.
    pub fn filled(&self) -> &[u64] {
        &self.filled
    }

    /// Where a page lies that a fill of all tenants has put somewhere; `None` if it has no place
    /// yet.
    pub fn place(&self, page: u64, filled: Filled, record: &Record) -> Option<Filled> {
        if self.is_empty && record.touch == NEVER {
            return None;
        }
        let is_early = match record.write {
            NEVER => !self.is_empty || self.drive.early.contains(page),
            write => write < self.drive.since,
        };
        let (tenant, lpn) = self.drive.spaces.place(page);
        let bound = &self.bound[tenant.index()];
        let spread = tenant.index() as u32 * self.planes + filled.position;
        let position = match is_early {
            true => spread,
            false => bound[(lpn.0 % bound.len() as u64) as usize],
        };
        let nth = filled.nth.saturating_sub(self.others[spread as usize]);
        // What was not touched yet is not there.
        let sectors = if self.is_empty { self.touched(record) } else { filled.sectors };
        Some(Filled { position, nth, sectors, ..filled })
    }

    /// Sectors of a page that were touched.
    fn touched(&self, record: &Record) -> u64 {
        let each = self.drive.spaces.page_sectors() / 8;
        let ones = (1_u64 << each) - 1;
        (0..8).filter(|bit| record.eighths >> bit & 1 == 1).map(|bit| ones << (bit * each)).sum()
    }

    /// Lets planes have taken the pages that reads have put there, which nobody has counted.
    pub fn count_reads(&self, pages: &[PastPage], taken: &mut [u64]) {
        for page in pages.iter().filter(|_| self.is_empty) {
            let taken = &mut taken[page.position as usize];
            *taken = page.nth.saturating_add(1).max(*taken);
        }
    }

    /// How many of the pages that were written to flash before a window each plane has taken for
    /// each tenant. Some of the writes stand for all. `share` tells what share was written before a
    /// request.
    pub fn shares(
        &self,
        points: &LivePoints,
        window: &Window,
        written: u64,
        share: impl Fn(u32) -> f64,
    ) -> Shares {
        let split = share(self.drive.since.min(window.start));
        let writes = &points.course.writes;
        let writes = &writes[..writes.partition_point(|wrote| wrote.request < window.start)];
        let own = writes.partition_point(|wrote| wrote.request < self.drive.since);
        let tenants = self.bound.len();
        let all: Vec<Vec<u32>> = (0..tenants as u32)
            .map(|tenant| (tenant * self.planes..(tenant + 1) * self.planes).collect())
            .collect();
        let pages: u64 = writes.iter().map(|wrote| u64::from(wrote.pages)).sum();
        let each = written as f64 / pages.max(1) as f64;
        let of = |writes: &[Wrote], order: &[Vec<u32>]| {
            let mut counts: Vec<Vec<u64>> = order.iter().map(|own| vec![0; own.len()]).collect();
            for wrote in writes {
                let (tenant, lpn) = self.drive.spaces.place(wrote.first);
                count(&mut counts[tenant.index()], lpn, wrote.pages.into());
            }
            let mut taken = vec![0; tenants * self.planes as usize];
            for (counts, order) in counts.iter().zip(order) {
                for (&count, &position) in counts.iter().zip(order) {
                    taken[position as usize] = (count as f64 * each) as u64;
                }
            }
            taken
        };
        Shares { before: of(&writes[..own], &all), since: of(&writes[own..], &self.bound), split }
    }
}

/// Counts pages that follow each other over planes that take turns.
fn count(counts: &mut [u64], first: Lpn, pages: u64) {
    let planes = counts.len() as u64;
    let (turns, rest) = (pages / planes, pages % planes);
    if turns > 0 {
        counts.iter_mut().for_each(|count| *count += turns);
    }
    (0..rest).for_each(|nth| counts[((first.0 + nth) % planes) as usize] += 1);
}

/// For each tenant and plane, the pages that a fill of what all tenants touch puts there, and those
/// that it has put there before for other tenants.
fn fill(points: &LivePoints, spaces: &Spaces, planes: usize) -> (Vec<u64>, Vec<u64>) {
    let grains = u64::from(points.options.page_bytes) / 4096;
    let mut filled = vec![0; planes * spaces.tenants()];
    // Pages of several grains may be touched by two runs of grains.
    let mut done = 0;
    for touched in points.touched() {
        let (mut from, end) = (done.max(touched.start / grains), touched.end.div_ceil(grains));
        done = done.max(end);
        while from < end {
            let (tenant, lpn) = spaces.place(from);
            let until = end.min(from - lpn.0 + spaces.each());
            let own = &mut filled[tenant.index() * planes..][..planes];
            count(own, lpn, until - from);
            from = until;
        }
    }
    let mut others = vec![0; filled.len()];
    for at in planes..filled.len() {
        others[at] = others[at - planes] + filled[at - planes];
    }
    (filled, others)
}
