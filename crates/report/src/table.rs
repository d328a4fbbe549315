//! Tables for people: columns without frames.
//!
//! Text goes out through [`Display`](std::fmt::Display); HTML is made by [`Page`](crate::Page).
//! Cells are text: whoever fills a table rounds the numbers and writes the units.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use std::fmt;
use std::ops::{Bound, RangeBounds};

/// Rows of text below a row of headings.
#[derive(Clone, Debug)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
    /// For each column whether its cells stand to the right.
    right: Vec<bool>,
    width: Option<u16>,
}

impl Table {
    /// An empty table with one column for each heading.
    pub fn new<H: Into<String>>(headings: impl IntoIterator<Item = H>) -> Self {
        let headings: Vec<String> = headings.into_iter().map(Into::into).collect();
        let right = vec![false; headings.len()];
        Self { headings, rows: Vec::new(), right, width: None }
    }

    /// Adds a row. Cells that are missing at its end stay empty.
    pub fn add_row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    /// Moves the cells of some columns to the right, as numbers should stand. Columns count from 0.
    pub fn align_right(&mut self, columns: impl RangeBounds<usize>) -> &mut Self {
        let from = match columns.start_bound() {
            Bound::Included(&first) => first,
            Bound::Excluded(&before) => before + 1,
            Bound::Unbounded => 0,
        };
        let end = match columns.end_bound() {
            Bound::Included(&last) => last + 1,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.right.len(),
        };
        let count = end.saturating_sub(from);
        self.right.iter_mut().skip(from).take(count).for_each(|right| *right = true);
        self
    }

    /// Wraps cells so that no line is longer than `columns` characters. Without it lines are as
    /// long as their cells.
    pub fn wrap_at(&mut self, columns: u16) -> &mut Self {
        self.width = Some(columns);
        self
    }

    /// The headings, from left to right.
    pub(crate) fn headings(&self) -> &[String] {
        &self.headings
    }

    /// The rows, from top to bottom.
    pub(crate) fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether the cells of a column stand to the right.
    pub(crate) fn is_right(&self, column: usize) -> bool {
        self.right.get(column).copied().unwrap_or(false)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        if let Some(width) = self.width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        table.set_header(&self.headings);
        for row in &self.rows {
            table.add_row(row);
        }
        for (column, right) in table.column_iter_mut().zip(&self.right) {
            if *right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        write!(out, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn columns_line_up_and_numbers_stand_to_the_right() {
        let mut table = Table::new(["name", "count", "note"]);
        table.add_row(["a", "7", "x"]).add_row(["long name", "12345", ""]).align_right(1..2);
        let lines: Vec<String> = table.to_string().lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [" name       count  note ", " a              7  x    ", " long name  12345       ",]
        );
    }

    #[test]
    fn a_narrow_table_wraps_its_cells() {
        let mut table = Table::new(["word", "meaning"]);
        table.add_row(["spare", "blocks that the host does not see"]).wrap_at(24);
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 24), "{text}");
        assert!(text.lines().count() > 2, "{text}");
    }

    #[test]
    fn columns_that_do_not_exist_are_passed_over() {
        let mut table = Table::new(["only"]);
        table.add_row(["1"]).align_right(0..=9).align_right(5..);
        assert!(table.is_right(0) && !table.is_right(1));
    }
}
