//! Tables for people: no frames; on a terminal, columns are wrapped to its width.

use comfy_table::{ContentArrangement, Table, presets};

/// An empty table with these headings.
pub(crate) fn new(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some((width, _)) = terminal_size::terminal_size_of(std::io::stdout()) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width.0);
    }
    table.set_header(headings.iter().copied());
    table
}
