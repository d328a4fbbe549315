//! The catalogue as a page of documentation: `docs/parameters.md`.

use super::{Effect, Parameter, SECTIONS};
use std::fmt::Write as _;

/// Writes the whole page.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Parameters\n\n\
         Every tunable of a drive, generated from the catalogue in `crates/model/src/catalogue/`; \
         write it anew with\n`ssdtune config params --markdown > docs/parameters.md`. Keys are \
         those of the TOML files; `key=value` on the command\nline takes them too, and the MQSim \
         tags as well. Commodity values are what drives on the market have, what-if\nvalues what a \
         search may try beyond them.\n",
    );
    for section in SECTIONS {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "\n## {}: {}\n", section.name, section.title);
        for row in section.rows {
            write_row(&mut page, row);
        }
    }
    page
}

fn write_row(page: &mut String, row: &Parameter) {
    let unit = match row.unit.sign() {
        "" => String::new(),
        sign => format!(" {sign}"),
    };
    let _ = writeln!(page, "### `{}`\n\n{}\n", row.key, row.meaning);
    let _ = writeln!(page, "- kind: {}; default: `{}`{unit}", row.kind, row.default_value());
    let _ = writeln!(page, "- legal: {}{unit}", row.legal);
    let _ = writeln!(page, "- commodity: {}; what-if: {}", row.commodity, row.what_if);
    let tags: Vec<String> = row.aliases().map(|tag| format!("`{tag}`")).collect();
    if !tags.is_empty() {
        let _ = writeln!(page, "- MQSim: {}", tags.join(", "));
    }
    match row.effect {
        Effect::Yes => {}
        Effect::Never(reason) => {
            let _ = writeln!(page, "- no effect: {reason}");
        }
        Effect::Unless(_) => {
            page.push_str("- no effect under some other settings; `config check` says when\n")
        }
    }
    page.push('\n');
}
