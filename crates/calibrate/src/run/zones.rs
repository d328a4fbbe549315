//! Zones that are written as a whole, as a host writes a drive with zones.
//!
//! Assumed, since files do not tell it: each write goes to one of the open zones, all with the same
//! probability, and one that is full makes way for any zone that is not open, all with the same
//! probability, whenever it was written before.

use rand::RngExt;
use rand_pcg::Pcg64;

/// Zones of a span, some of them open.
pub(super) struct Zones {
    /// How many there are.
    count: u64,
    /// Pages of each.
    pages: u64,
    /// Those that are open, and how many of their pages are written.
    open: Vec<(u64, u64)>,
    /// Pages in a row that a write has.
    pub(super) row: u64,
    /// The open zone that is written, and how many pages of its row are left.
    at: (usize, u64),
}

impl Zones {
    /// `None` where not all open ones are different, or a zone has no page.
    pub(super) fn new(open: u32, pages: u64, count: u64) -> Option<Self> {
        let pages = pages.checked_div(count).filter(|pages| *pages > 0)?;
        if count <= u64::from(open) || open == 0 {
            return None;
        }
        // All are full at first.
        let open = vec![(u64::MAX, pages); open as usize];
        Some(Self { count, pages, open, row: 1, at: (0, 0) })
    }

    /// The next page.
    pub(super) fn next(&mut self, rng: &mut Pcg64) -> u64 {
        let (mut own, mut left) = self.at;
        if left == 0 {
            own = rng.random_range(0..self.open.len());
            left = self.row;
        }
        if self.open[own].1 == self.pages {
            let free = loop {
                let zone = rng.random_range(0..self.count);
                if self.open.iter().all(|open| open.0 != zone) {
                    break zone;
                }
            };
            self.open[own] = (free, 0);
        }
        self.at = (own, left - 1);
        let (zone, written) = &mut self.open[own];
        *written += 1;
        *zone * self.pages + *written - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::BTreeMap;

    #[test]
    fn a_zone_is_written_from_its_beginning_to_its_end_and_as_often_as_others() {
        let mut rng = Pcg64::seed_from_u64(1);
        let mut zones = Zones::new(3, 1005, 100).unwrap();
        zones.row = 4;
        let mut reached: BTreeMap<u64, u64> = BTreeMap::new();
        let mut full = vec![0_u32; 100];
        let mut rows = 0;
        let mut before = u64::MAX;
        for nth in 0..400_000 {
            let page = zones.next(&mut rng);
            let (zone, within) = (page / 10, page % 10);
            let due = reached.entry(zone).or_default();
            assert_eq!(within, *due, "in its order");
            *due += 1;
            if *due == 10 {
                reached.remove(&zone);
                full[zone as usize] += 1;
            }
            assert!(reached.len() <= 3, "no more than three are open");
            rows += u32::from(nth % 4 > 0 && before != u64::MAX && page != before + 1);
            before = page;
        }
        // A row is broken only where a zone ends in it: 10 pages are 2.5 rows.
        assert!(rows < 100_000 / 4, "{rows}");
        // 400 each, drawn at random: five standard deviations.
        assert!(full.iter().all(|&times| (300..500).contains(&times)), "{full:?}");
    }

    #[test]
    fn zones_need_pages_and_a_place_to_go() {
        assert!(Zones::new(3, 100, 3).is_none() && Zones::new(1, 100, 101).is_none());
        assert!(Zones::new(0, 100, 10).is_none() && Zones::new(1, 100, 0).is_none());
    }
}
