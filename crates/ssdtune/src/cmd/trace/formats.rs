//! `ssdtune trace formats`: what can be read.

use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use serde_json::json;
use ssdtune_trace::Format;

pub(super) fn run(context: &Context) -> Outcome {
    let rows = Format::ALL.map(|format| format.info());
    if context.json() {
        let rows = rows.map(|row| {
            json!({
                "name": row.name,
                "description": row.description,
                "time_unit": row.time_unit.name(),
                "example": row.example,
            })
        });
        return context.document(&rows);
    }
    let mut table = table::new(&["format", "time", "fields", "example"]);
    for row in rows {
        table.add_row([row.name, row.time_unit.name(), row.description, row.example]);
    }
    context.line(table)?;
    context.line("\ngzip, zstd, xz and bzip2 are unpacked on the way, whatever the file is called.")
}
