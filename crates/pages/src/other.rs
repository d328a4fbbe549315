//! Documents without a page of their own: every field, lists of objects as tables.

use crate::fields;
use crate::read::{self, cell};
use serde_json::Value;
use ssdtune_report::{Page, Table};

/// Rows of a table that are shown; further ones are counted.
pub(crate) const ROWS_MAX: usize = 200;

pub(crate) fn body(page: &mut Page, document: &Value) {
    match document {
        Value::Array(items) if items.iter().all(Value::is_object) => rows(page, items),
        Value::Object(_) => object(page, document, ""),
        other => _ = page.paragraph(&cell(other)),
    }
}

/// The fields of an object: plain ones in a table, then each list and each object.
fn object(page: &mut Page, value: &Value, name: &str) {
    let members = read::fields(value, "");
    let is_rows = |value: &Value| {
        value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object))
    };
    let mut table = Table::new(["field", "value"]);
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let mut is_empty = true;
    for (field, value) in &members {
        if !is_rows(value) && !value.is_object() && fields::is_shown(field, &names) {
            let name = fields::name(field, std::iter::once(*value));
            table.add_row([name, fields::value(field, value)]);
            is_empty = false;
        }
    }
    if !is_empty {
        page.table(&table);
    }
    for (field, value) in members {
        let own = fields::name(field, std::iter::once(value));
        let title = if name.is_empty() { own } else { format!("{name}, {own}") };
        if is_rows(value) {
            page.heading(&title);
            rows(page, read::each(value, ""));
        } else if value.is_object() {
            page.heading(&title);
            object(page, value, &title);
        }
    }
}

/// A table with a row for each object.
pub(crate) fn rows(page: &mut Page, items: &[Value]) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in items.iter().flat_map(|item| read::fields(item, "")) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let all = names.clone();
    names.retain(|name| fields::is_shown(name, &all));
    let values =
        |name: &'_ str| -> Vec<&Value> { items.iter().map(|item| read::at(item, name)).collect() };
    let headings = names.iter().map(|name| fields::name(name, values(name).into_iter()));
    let mut table = Table::new(headings);
    for item in items.iter().take(ROWS_MAX) {
        table.add_row(names.iter().map(|name| fields::value(name, read::at(item, name))));
    }
    page.table(&table);
    count_the_rest(page, items);
}

/// Says how many items are beyond the rows that a table shows.
pub(crate) fn count_the_rest(page: &mut Page, items: &[Value]) {
    if let Some(more) = items.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
        page.paragraph(&format!("{more} more rows are in the document."));
    }
}
