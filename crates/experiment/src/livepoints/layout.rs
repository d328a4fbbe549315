//! Where the start has put pages: which number each page has among those of its plane, on a drive
//! that was filled with all that the trace touches, in the order of addresses.
//!
//! Cost: one walk over the footprint for each number of planes, some 5 ns a page, and 24 B for each
//! page asked for.

use super::{LivePoints, Run};
use ssdtune_sim::PastRoom;

/// A page of the fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The page.
    pub page: u64,
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
    /// The pages asked for, in order.
    pages: Vec<Filled>,
    /// How many of them come before each 2^`shift` pages of the drive.
    starts: Vec<u32>,
    shift: u32,
    /// For each plane, the pages that it has taken.
    pub taken: Vec<u64>,
    /// All pages.
    pub total: u64,
}

/// Numbers the pages of some windows.
pub fn layout<'a>(
    points: &LivePoints,
    runs: impl Iterator<Item = &'a Run>,
    room: &PastRoom,
) -> Layout {
    let mut asked: Vec<u64> = runs.flat_map(Run::pages).collect();
    asked.sort_unstable();
    asked.dedup();
    let grains = u64::from(points.options.page_bytes) / 4096;
    let planes = u64::from(room.planes);
    let mut taken = vec![0_u64; room.planes as usize];
    let (mut pages, mut next, mut total, mut last) = (Vec::<Filled>::new(), 0, 0, None);
    for grain in &points.footprint {
        let page = grain / grains;
        let sectors = 0xff << (8 * (grain % grains));
        if last == Some(page) {
            if let Some(filled) = pages.last_mut().filter(|filled| filled.page == page) {
                filled.sectors |= sectors;
            }
            continue;
        }
        last = Some(page);
        let position = (if room.is_static { page } else { total } % planes) as u32;
        let nth = &mut taken[position as usize];
        while asked.get(next).is_some_and(|&asked| asked < page) {
            next += 1;
        }
        if asked.get(next) == Some(&page) {
            pages.push(Filled { page, position, nth: *nth, rank: total, sectors });
        }
        *nth += 1;
        total += 1;
    }
    let last = pages.last().map_or(0, |filled| filled.page);
    let shift = (last / (pages.len() as u64 + 1)).checked_ilog2().map_or(0, |log| log + 1);
    let mut starts = Vec::with_capacity((last >> shift) as usize + 2);
    for (filled, nth) in pages.iter().zip(0_u32..) {
        starts.resize(((filled.page >> shift) as usize + 1).max(starts.len()), nth);
    }
    starts.push(pages.len() as u32);
    Layout { pages, starts, shift, taken, total }
}

impl Layout {
    /// A page that was asked for; `None` if the trace never touches it.
    pub fn find(&self, page: u64) -> Option<&Filled> {
        let part = usize::try_from(page >> self.shift).ok()?;
        let [from, to] = *self.starts.get(part..part + 2)? else { return None };
        let near = &self.pages[from as usize..to as usize];
        let at = near.binary_search_by_key(&page, |filled| filled.page).ok()?;
        Some(&near[at])
    }
}
