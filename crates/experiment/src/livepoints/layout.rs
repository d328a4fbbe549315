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
}

/// What the start has put where.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The pages asked for, in order.
    pages: Vec<Filled>,
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
    let (mut pages, mut next, mut total, mut last) = (Vec::new(), 0, 0, None);
    for grain in &points.footprint {
        let page = grain / grains;
        if last == Some(page) {
            continue;
        }
        last = Some(page);
        let position = (if room.is_static { page } else { total } % planes) as u32;
        let nth = &mut taken[position as usize];
        while asked.get(next).is_some_and(|&asked| asked < page) {
            next += 1;
        }
        if asked.get(next) == Some(&page) {
            pages.push(Filled { page, position, nth: *nth, rank: total });
        }
        *nth += 1;
        total += 1;
    }
    Layout { pages, taken, total }
}

impl Layout {
    /// A page that was asked for; `None` if the trace never touches it.
    pub fn find(&self, page: u64) -> Option<&Filled> {
        let at = self.pages.binary_search_by_key(&page, |filled| filled.page).ok()?;
        Some(&self.pages[at])
    }
}
