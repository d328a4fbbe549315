//! Tables that commands print line by line, as wide as the terminal.

use ssdtune_report::Table;

/// An empty table with a column for each heading. On a terminal its cells are wrapped.
pub(crate) fn new(headings: &[&str]) -> Table {
    let mut table = Table::new(headings.iter().copied());
    if let Some((width, _)) = terminal_size::terminal_size_of(std::io::stdout()) {
        table.wrap_at(width.0);
    }
    table
}
