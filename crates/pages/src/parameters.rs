//! The parameters in which the drives of several simulations differ.

use crate::read::{self, NOTHING, cell};
use serde_json::Value;
use ssdtune_model::catalogue;
use ssdtune_report::{Page, Table};
use std::collections::BTreeSet;

/// Drives that have columns; of further ones only their differences count.
const COLUMNS_MAX: usize = 8;

/// Adds a table with a row for each parameter that is not the same everywhere. Documents that do
/// not hold their parameters say nothing.
pub(crate) fn add_differences(page: &mut Page, cells: &[(&str, &Value)]) {
    let known: Vec<&(&str, &Value)> =
        cells.iter().filter(|(_, cell)| read::at(cell, "parameters").is_object()).collect();
    if known.len() < 2 {
        return;
    }
    let first = known[0].1;
    // Each drive beside the first one: a sweep may have thousands.
    let mut keys: BTreeSet<&str> = BTreeSet::new();
    for (_, cell) in &known[1..] {
        for (one, other) in [(*cell, first), (first, *cell)] {
            let own = read::fields(one, "parameters").into_iter();
            keys.extend(
                own.filter(|(key, value)| of(other, key) != Some(value)).map(|(key, _)| key),
            );
        }
    }
    page.heading("Parameters in which the drives differ");
    if keys.is_empty() {
        page.paragraph("None.");
        return;
    }
    let shown = &known[..known.len().min(COLUMNS_MAX)];
    let names = shown.iter().map(|(name, _)| *name);
    let mut table = Table::new(["parameter"].into_iter().chain(names).chain(["unit", "meaning"]));
    for key in keys {
        let values = shown.iter().map(|(_, own)| of(own, key).map_or(NOTHING.to_owned(), in_full));
        let row = catalogue::find(key);
        let about = row.map_or([""; 2], |row| [row.unit.sign(), row.meaning]);
        table.add_row([key.to_owned()].into_iter().chain(values).chain(about.map(str::to_owned)));
    }
    table.align_right(1..=shown.len());
    page.table(&table);
    if let Some(more) = known.len().checked_sub(COLUMNS_MAX).filter(|more| *more > 0) {
        page.paragraph(&format!("Simulations without a column: {more}; the document has them."));
    }
}

/// A parameter of a cell's drive. Its key has dots in it, so that it is no path.
fn of<'a>(cell: &'a Value, key: &str) -> Option<&'a Value> {
    cell.get("parameters")?.get(key)
}

/// A value with all its digits.
fn in_full(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        other => cell(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_has_a_row() {
        let one = json!({"parameters": {"gc.threshold": 0.1, "bus.channels": 8}});
        let other = json!({"parameters": {"gc.threshold": 0.1002, "bus.channels": 8, "new": true}});
        let told = |cells: &[(&str, &Value)]| {
            let mut page = Page::new("");
            add_differences(&mut page, cells);
            page.to_html()
        };
        let html = told(&[("a", &one), ("b", &other), ("former", &json!({}))]);
        for text in ["<td>gc.threshold</td>", ">0.1<", ">0.1002<", "<td>new</td>", ">yes<", ">-<"] {
            assert!(html.contains(text), "{text} is not in {html}");
        }
        assert!(!html.contains("bus.channels") && !html.contains("former"), "{html}");
        assert!(told(&[("a", &one), ("b", &one)]).contains("None."));
        // What differs in a drive without a column is a row, too.
        let many = [[("a", &one); 8].as_slice(), &[("b", &other)]].concat();
        let html = told(&many);
        assert!(html.contains("<td>gc.threshold</td>") && html.contains("without a column: 1"));
        assert!(!told(&[("a", &one)]).contains("Parameters"));
    }
}
