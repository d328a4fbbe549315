//! `ssdtune trace formats`: the trace formats that can be read.

use crate::context::Context;
use crate::outcome::Outcome;
use serde_json::json;
use ssdtune_report::{Table, Text};
use ssdtune_trace::Format;

/// Lists the formats.
pub(super) fn run(context: &Context) -> Outcome {
    let rows = Format::ALL.map(|format| format.info());
    let document = rows.each_ref().map(|row| {
        json!({
            "name": row.name,
            "description": row.description,
            "time_unit": row.time_unit.name(),
            "example": row.example,
        })
    });
    let mut table = Table::new(["format", "time", "fields", "example"]);
    for row in rows {
        table.add_row([row.name, row.time_unit.name(), row.description, row.example]);
    }
    let mut text = Text::from(table);
    text.line("\ngzip, zstd, xz and bzip2 are unpacked on the way, whatever the file is called.");
    context.show(&document, text)
}
