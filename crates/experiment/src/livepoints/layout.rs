//! Where the start has put pages: which number each page has among those of its plane, on a drive
//! that was filled with all that the trace touches, in the order of addresses.
//!
//! Cost: one walk over what the trace touches, a few nanoseconds for each gap in it and for each
//! page asked for, and 4 B for each of these.

use super::{LivePoints, Run};
use ssdtune_sim::PastRoom;
use std::cell::Cell;
use std::ops::Range;

/// A page of the fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The place of its plane among the tenant's planes.
    pub position: u32,
    /// Pages that the plane had taken before.
    pub nth: u64,
    /// Pages of the fill before it.
    pub rank: u64,
    /// The sectors that the fill has written.
    pub sectors: u64,
}

/// What the start has put where.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Pages side by side that were asked for, in order.
    asked: Vec<Asked>,
    /// For each page asked for, in order, the pages that its plane had taken before.
    nth: Vec<u32>,
    /// Their sectors that the fill has written; empty if that are all of each.
    sectors: Vec<u64>,
    /// For each plane, the pages that it has taken.
    pub taken: Vec<u64>,
    /// All pages.
    pub total: u64,
}

/// Pages side by side that were asked for and that the fill has written.
#[derive(Clone, Debug)]
struct Asked {
    pages: Range<u64>,
    /// Pages of the fill before the first of them.
    rank: u64,
    /// The place of the first of them among all that were asked for.
    place: usize,
}

/// Numbers the pages of some windows.
pub fn layout<'a>(
    points: &LivePoints,
    runs: impl Iterator<Item = &'a Run>,
    room: &PastRoom,
) -> Layout {
    let wanted = joined(runs.map(Run::pages).collect());
    let mut fill = Fill::new(room);
    let grains = u64::from(points.options.page_bytes) / 4096;
    let mut next = 0;
    // Pages of several grains may be touched by two runs of grains.
    let mut begun: Option<Range<u64>> = None;
    for touched in points.touched() {
        let pages = touched.start / grains..touched.end.div_ceil(grains);
        match &mut begun {
            Some(last) if pages.start < last.end => last.end = pages.end,
            _ => {
                begun.replace(pages).into_iter().for_each(|last| fill.add(last, &wanted, &mut next))
            }
        }
    }
    begun.into_iter().for_each(|last| fill.add(last, &wanted, &mut next));
    let mut layout = fill.layout();
    if grains > 1 {
        layout.sectors = vec![0; layout.nth.len()];
        points.touched().flatten().for_each(|grain| layout.touch(grain / grains, grain % grains));
    }
    layout
}

/// Ranges in order; those that touch are one.
pub fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    ranges
}

/// A fill in the order of addresses, as far as it has come.
struct Fill {
    layout: Layout,
    /// Pages that every plane has taken, besides those of [`Layout::taken`].
    every: u64,
}

impl Fill {
    fn new(room: &PastRoom) -> Self {
        let layout = Layout {
            asked: Vec::new(),
            nth: Vec::new(),
            sectors: Vec::new(),
            taken: vec![0; room.planes as usize],
            total: 0,
        };
        Self { layout, every: 0 }
    }

    /// Writes pages side by side. `wanted` are the pages asked for, of which those from the `next`
    /// on end behind the pages written before.
    fn add(&mut self, pages: Range<u64>, wanted: &[Range<u64>], next: &mut usize) {
        let Self { layout, every } = self;
        let planes = layout.taken.len() as u64;
        // Nothing waits while the drive is filled, so placement by load leaves pages there, too.
        let first = pages.start;
        while let Some(range) = wanted.get(*next).filter(|range| range.start < pages.end) {
            let both = range.start.max(pages.start)..range.end.min(pages.end);
            if both.start < both.end {
                let before = both.start - pages.start;
                let (rank, place) = (layout.total + before, layout.nth.len());
                let numbers = (before..both.end - pages.start).map(|nth| {
                    (*every + layout.taken[((first + nth) % planes) as usize] + nth / planes) as u32
                });
                layout.nth.extend(numbers);
                layout.asked.push(Asked { pages: both, rank, place });
            }
            if range.end > pages.end {
                break;
            }
            *next += 1;
        }
        let count = pages.end - pages.start;
        *every += count / planes;
        for nth in 0..count % planes {
            layout.taken[((first + nth) % planes) as usize] += 1;
        }
        layout.total += count;
    }

    fn layout(mut self) -> Layout {
        self.layout.taken.iter_mut().for_each(|taken| *taken += self.every);
        self.layout
    }
}

impl Layout {
    /// Looks up pages, most quickly those that stand near the last one.
    pub fn finder(&self) -> Finder<'_> {
        let none = Filled { position: 0, nth: 0, rank: 0, sectors: 0 };
        Finder { layout: self, near: Cell::new(0), last: Cell::new((u64::MAX - 1, 0, none)) }
    }

    /// The fill has written a grain of a page.
    fn touch(&mut self, page: u64, grain: u64) {
        if let Some(at) = self.finder().place(page) {
            self.sectors[at] |= 0xff << (8 * grain);
        }
    }
}

/// Looks up pages.
pub struct Finder<'a> {
    layout: &'a Layout,
    /// Where the last one stood.
    near: Cell<usize>,
    /// The last one that was found: its number, its place, and where it lies.
    last: Cell<(u64, usize, Filled)>,
}

impl Finder<'_> {
    /// A page that was asked for; `None` if the trace never touches it.
    pub fn find(&self, page: u64) -> Option<Filled> {
        let Layout { nth, sectors, taken, asked, .. } = self.layout;
        let planes = taken.len() as u32;
        let (before, at, last) = self.last.get();
        let (at, position, rank) = match asked.get(self.near.get()) {
            // Neighbours are looked up one after the other, as a rule.
            Some(own)
                if page == before + 1 && own.pages.contains(&page) && page > own.pages.start =>
            {
                let next = last.position + 1;
                (at + 1, if next == planes { 0 } else { next }, last.rank + 1)
            }
            _ => {
                let at = self.place(page)?;
                let Asked { pages, rank, .. } = &asked[self.near.get()];
                let rank = rank + (page - pages.start);
                (at, (page % u64::from(planes)) as u32, rank)
            }
        };
        let sectors = sectors.get(at).map_or(0xff, |&sectors| sectors);
        let filled = Filled { position, nth: nth[at].into(), rank, sectors };
        self.last.set((page, at, filled));
        Some(filled)
    }

    /// The place of a page among those that were asked for.
    fn place(&self, page: u64) -> Option<usize> {
        let asked = &self.layout.asked;
        let near = asked.get(self.near.get())?;
        let own = match near.pages.contains(&page) {
            true => near,
            false => {
                let after = asked.partition_point(|own| own.pages.start <= page);
                self.near.set(after.checked_sub(1)?);
                &asked[after - 1]
            }
        };
        own.pages.contains(&page).then(|| own.place + (page - own.pages.start) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::super::{About, Course, SampleOptions};
    use super::*;
    use roaring::RoaringTreemap;
    use ssdtune_model::scramble;
    use std::collections::BTreeMap;

    /// Page for page, as the fill writes them.
    #[test]
    fn pages_lie_where_a_fill_in_order_writes_them() {
        for page_bytes in [4_096, 16_384] {
            let grains = u64::from(page_bytes) / 4_096;
            let mut footprint = RoaringTreemap::new();
            for nth in 0..60 {
                let first = scramble(nth) % 4_000 + if nth % 7 == 0 { 1 << 32 } else { 0 };
                footprint.insert_range(first..first + scramble(nth + 1_000) % 90);
            }
            let options = SampleOptions { page_bytes, ..SampleOptions::default() };
            let (about, windows, course) = (About::default(), Vec::new(), Course::default());
            let points = LivePoints { about, options, requests: 0, windows, footprint, course };
            let room = PastRoom {
                planes: 24,
                mappings: None,
                mappings_per_page: 1_024,
                cached: 0,
                on_the_way: 0,
                page_sectors: page_bytes / 512,
                pages: 1 << 40,
                is_buffer: false,
            };
            let mut expected: BTreeMap<u64, Filled> = BTreeMap::new();
            let mut taken = vec![0; 24];
            for grain in &points.footprint {
                let (page, rank) = (grain / grains, expected.len() as u64);
                let filled = expected.entry(page).or_insert_with(|| {
                    let position = (page % 24) as u32;
                    let nth = taken[position as usize];
                    taken[position as usize] += 1;
                    Filled { position, nth, rank, sectors: 0 }
                });
                filled.sectors |= 0xff << (8 * (grain % grains));
            }
            let run = |nth: u64| {
                let first = scramble(nth) % 4_200 / grains;
                Run { first, pages: (scramble(nth + 500) % 60) as u32, record: Record::NONE }
            };
            let runs: Vec<Run> = (0..40).map(run).collect();
            let own = layout(&points, runs.iter(), &room);
            assert_eq!((own.total, &own.taken), (expected.len() as u64, &taken));
            let finder = own.finder();
            for page in runs.iter().flat_map(Run::pages) {
                assert_eq!(finder.find(page).as_ref(), expected.get(&page), "{page}");
            }
        }
    }
}
