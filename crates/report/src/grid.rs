//! A grid of names, each in a cell with the colour of its name: which of a few alternatives is
//! taken at every pair of two conditions.
//!
//! There are fewer colours than there may be names. From the ninth name on the colours come again,
//! which is why every cell says its name.

use crate::canvas::{self, Area, Drawn, HEADER, LINE, MARGIN, Svg};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::collections::BTreeSet;

/// Height of a cell, in pixels.
const CELL: i32 = 28;
/// The part of a colour that is mixed with white, so that black text can be read on it.
const TINT: f64 = 0.45;

/// Names in rows and columns.
#[derive(Clone, Debug)]
pub struct NameGrid {
    title: String,
    axis: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
    grey: Option<String>,
}

impl NameGrid {
    /// A grid without rows. `axis` is what the columns are; it stands below their headings.
    pub fn new<C: Into<String>>(
        title: impl Into<String>,
        axis: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { title: title.into(), axis: axis.into(), columns, rows: Vec::new(), grey: None }
    }

    /// Draws the cells of this name in grey: the alternative that changes nothing.
    #[must_use]
    pub fn grey(self, name: impl Into<String>) -> Self {
        Self { grey: Some(name.into()), ..self }
    }

    /// Adds a row below the others, with one name for each column. Names beyond the last column
    /// are left out, and cells without a name stay white.
    pub fn add_row<N: Into<String>>(
        &mut self,
        heading: impl Into<String>,
        names: impl IntoIterator<Item = N>,
    ) -> &mut Self {
        let names = names.into_iter().take(self.columns.len()).map(Into::into).collect();
        self.rows.push((heading.into(), names));
        self
    }

    /// Draws the grid. Without cells it has its title and says so.
    pub fn to_svg(&self) -> Svg {
        let names = || self.rows.iter().flat_map(|(_, names)| names);
        let width = |text: &String| canvas::text_width(text) + MARGIN;
        let cell = names().chain(&self.columns).map(width).max().unwrap_or(0);
        let left = self.rows.iter().map(|(heading, _)| width(heading)).max().unwrap_or(0) + MARGIN;
        let columns = (cell * self.columns.len() as i32).max(width(&self.axis));
        let height = HEADER + CELL * self.rows.len().max(1) as i32 + 2 * LINE + MARGIN;
        let least = canvas::title_width(&self.title) + 2 * MARGIN;
        let size = ((left + columns + MARGIN).max(least) as u32, height as u32);
        canvas::picture(&self.title, size, |area| match names().next() {
            None => canvas::write(area, "no names", (MARGIN, HEADER), HPos::Left),
            Some(_) => self.draw(area, left, cell),
        })
    }

    fn draw(&self, area: &Area<'_>, left: i32, cell: i32) -> Drawn {
        let coloured: BTreeSet<&String> = (self.rows.iter().flat_map(|(_, names)| names))
            .filter(|name| Some(*name) != self.grey.as_ref())
            .collect();
        let middle = |column: usize| left + cell * column as i32 + cell / 2;
        for (row, (heading, names)) in self.rows.iter().enumerate() {
            let top = HEADER + CELL * row as i32;
            canvas::write(area, heading, (left - MARGIN / 2, top + CELL / 2), HPos::Right)?;
            for (column, name) in names.iter().enumerate() {
                let x = left + cell * column as i32;
                let fill = match coloured.iter().position(|one| *one == name) {
                    Some(number) => canvas::tint(canvas::colour(number), TINT),
                    None => canvas::GRID,
                };
                let corners = [(x, top), (x + cell - 1, top + CELL - 1)];
                area.draw(&Rectangle::new(corners, fill.filled()))?;
                canvas::write(area, name, (middle(column), top + CELL / 2), HPos::Center)?;
            }
        }
        let bottom = HEADER + CELL * self.rows.len() as i32 + LINE / 2;
        for (column, heading) in self.columns.iter().enumerate() {
            canvas::write(area, heading, (middle(column), bottom), HPos::Center)?;
        }
        let centre = left + cell * self.columns.len() as i32 / 2;
        canvas::write(area, &self.axis, (centre, bottom + LINE), HPos::Center)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fills of the cells, row by row.
    fn fills(svg: &Svg) -> Vec<String> {
        let cells = svg.as_str().lines().filter(|line| line.starts_with("<rect"));
        let fill = |line: &str| {
            let rest = line.split(" fill=\"").nth(1).expect("a rectangle has a fill");
            rest.split('"').next().expect("an end").to_owned()
        };
        // The first rectangle is the background.
        cells.skip(1).map(fill).collect()
    }

    #[test]
    fn a_cell_has_the_colour_of_its_name() {
        let mut grid = NameGrid::new("a & b", "load", ["1", "2", "3"]).grey("same");
        grid.add_row("low", ["same", "x", "y"]).add_row("high", ["y", "x", "same"]);
        let svg = grid.to_svg();
        let fills = fills(&svg);
        assert_eq!(fills.len(), 6);
        assert_eq!([&fills[0], &fills[1], &fills[2]], [&fills[5], &fills[4], &fills[3]]);
        let different: BTreeSet<&String> = fills.iter().collect();
        assert_eq!(different.len(), 3, "{fills:?}");
        assert_eq!(fills[0], "#E0E0E0");
        for text in ["a &amp; b", "load", "low", "high", "same"] {
            assert!(svg.as_str().contains(text), "{text} is not in {svg}");
        }
    }

    #[test]
    fn a_row_has_at_most_one_name_for_each_column() {
        let mut grid = NameGrid::new("t", "n", ["1", "2"]);
        grid.add_row("long", ["a", "b", "c"]).add_row("short", ["a"]);
        assert_eq!(fills(&grid.to_svg()).len(), 3);
    }

    #[test]
    fn many_names_can_be_drawn_and_none_is_said() {
        let names: Vec<String> = (0..20).map(|number| format!("name {number}")).collect();
        let mut grid = NameGrid::new("t", "n", &names);
        assert!(grid.to_svg().as_str().contains("no names"));
        grid.add_row("all", &names);
        let svg = grid.to_svg();
        assert!(names.iter().all(|name| svg.as_str().contains(name.as_str())));
        assert_eq!(fills(&svg).iter().collect::<BTreeSet<_>>().len(), 8);
    }
}
