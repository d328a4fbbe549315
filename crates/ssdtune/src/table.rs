//! Tables on standard output: as wide as the terminal, or as their cells where there is none.

use ssdtune_report::Table;

/// An empty table with one column for each heading.
pub(crate) fn new(headings: &[&str]) -> Table {
    let mut table = Table::new(headings.iter().copied());
    if let Some((width, _)) = terminal_size::terminal_size_of(std::io::stdout()) {
        table.wrap_at(width.0);
    }
    table
}
