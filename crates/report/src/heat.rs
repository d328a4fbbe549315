//! Shares in rows and columns, each a cell that is the darker the greater the share.
//!
//! The greatest of all is the darkest, so that small shares differ, too. Every cell says its share
//! in percent, so that nobody has to compare shades.

use crate::canvas::{self, Area, Drawn, HEADER, LINE, MARGIN, Svg};
use crate::percent::percent;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

/// Height of a cell, in pixels.
const CELL: i32 = 24;
/// Width of a cell, in pixels, at least.
const CELL_WIDTH: i32 = 54;
/// The colour of the greatest share; black text can be read on it.
const FULL: RGBColor = RGBColor(0x3a, 0x9b, 0xdc);

/// Shares, 0 to 1, in rows and columns.
#[derive(Clone, Debug)]
pub struct HeatMap {
    title: String,
    axis: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<f64>)>,
}

impl HeatMap {
    /// A map without rows. `axis` is what the columns are; it stands below their headings.
    pub fn new<C: Into<String>>(
        title: impl Into<String>,
        axis: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title: title.into(), axis: axis.into(), columns, rows: Vec::new() }
    }

    /// Adds a row below the others. Shares beyond the last column are left out, and those below 0
    /// are as white as 0.
    pub fn add_row(
        &mut self,
        heading: impl Into<String>,
        shares: impl IntoIterator<Item = f64>,
    ) -> &mut Self {
        let shares = shares.into_iter().take(self.columns.len()).collect();
        self.rows.push((heading.into(), shares));
        self
    }

    /// Draws the map. Without cells it has its title and says so.
    pub fn to_svg(&self) -> Svg {
        let shares = || self.rows.iter().flat_map(|(_, shares)| shares.iter().copied());
        let most = shares().filter(|share| share.is_finite()).fold(0.0, f64::max);
        let left = self.rows.iter().map(|(heading, _)| canvas::text_width(heading)).max();
        let left = left.unwrap_or(0) + 2 * MARGIN;
        let wide = self.cell_width();
        let columns =
            (wide * self.columns.len() as i32).max(canvas::text_width(&self.axis_says(most)));
        let height = HEADER + CELL * self.rows.len().max(1) as i32 + 2 * LINE + MARGIN;
        let least = canvas::title_width(&self.title) + 2 * MARGIN;
        let size = ((left + columns + MARGIN).max(least) as u32, height as u32);
        let svg = canvas::picture(&self.title, size, |area| match shares().next() {
            None => canvas::write(area, "no values", (MARGIN, HEADER), HPos::Left),
            Some(_) => self.draw(area, left, most),
        });
        let least = shares().filter(|share| share.is_finite()).fold(most, f64::min);
        match shares().count() {
            0 => svg.described("No values"),
            cells => svg.described(&format!(
                "Cells: {cells}, from {} to {}",
                percent(least),
                percent(most)
            )),
        }
    }

    /// What the columns are, and what the darkest shade stands for.
    fn axis_says(&self, most: f64) -> String {
        format!("{}; darkest: {}", self.axis, percent(most))
    }

    /// Room for the longest of all shares.
    fn cell_width(&self) -> i32 {
        let shares = self.rows.iter().flat_map(|(_, shares)| shares);
        let longest = shares.map(|share| canvas::text_width(&percent(*share))).max().unwrap_or(0);
        CELL_WIDTH.max(longest)
    }

    fn draw(&self, area: &Area<'_>, left: i32, most: f64) -> Drawn {
        let wide = self.cell_width();
        let middle = |column: usize| left + wide * column as i32 + wide / 2;
        for (row, (heading, shares)) in self.rows.iter().enumerate() {
            let top = HEADER + CELL * row as i32;
            canvas::write(area, heading, (left - MARGIN / 2, top + CELL / 2), HPos::Right)?;
            for (column, share) in shares.iter().enumerate() {
                let x = left + wide * column as i32;
                // Not a number has no shade.
                let fill = canvas::tint(FULL, (share / most).clamp(0.0, 1.0).max(0.0));
                let corners = [(x, top), (x + wide - 1, top + CELL - 1)];
                area.draw(&Rectangle::new(corners, fill.filled()))?;
                canvas::write(
                    area,
                    &percent(*share),
                    (middle(column), top + CELL / 2),
                    HPos::Center,
                )?;
            }
        }
        let bottom = HEADER + CELL * self.rows.len() as i32 + LINE / 2;
        for (column, heading) in self.columns.iter().enumerate() {
            canvas::write(area, heading, (middle(column), bottom), HPos::Center)?;
        }
        let centre = left + wide * self.columns.len() as i32 / 2;
        let says = self.axis_says(most);
        canvas::write(area, &says, (centre.max(left), bottom + LINE), HPos::Center)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_greatest_share_is_the_darkest_and_small_ones_keep_their_digits() {
        let mut map = HeatMap::new("busy", "channel", ["0", "1"]);
        map.add_row("a", [2e-5, 1e-5]);
        let svg = map.to_svg().inline();
        let darkest = "fill=\"#3A9BDC\"";
        assert_eq!(svg.matches(darkest).count(), 1, "{svg}");
        for text in ["0.002 %", "0.001 %", "Cells: 2, from 0.001 % to 0.002 %"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
    }

    #[test]
    fn every_share_is_a_cell_that_says_it() {
        let mut map = HeatMap::new("busy", "channel", ["0", "1"]);
        assert!(map.to_svg().as_str().contains("no values"));
        map.add_row("a & b", [0.5, 1.0]).add_row("c", [0.0, 0.25, 0.75]);
        let svg = map.to_svg();
        for text in ["50.0 %", "100.0 %", "0.0 %", "25.0 %", "a &amp; b", "channel"] {
            assert!(svg.as_str().contains(text), "{text} is not in {svg}");
        }
        assert!(!svg.as_str().contains("75.0 %"), "there is no third column");
        // The background, and four cells.
        assert_eq!(svg.as_str().matches("<rect").count(), 5);
    }

    proptest! {
        #[test]
        fn any_numbers_can_be_drawn(values in prop::collection::vec(any::<f64>(), 0..6)) {
            let mut map = HeatMap::new("any", "x", ["a", "b", "c"]);
            map.add_row("one", values.clone()).add_row("two", values);
            prop_assert!(map.to_svg().as_str().trim_end().ends_with("</svg>"));
        }
    }
}
