//! Reads the text form of a model: TOML, without unknown keys.
//!
//! An unknown key is a fault that names the most similar known key. All faults are listed, each
//! with its line. The documentation of [`workload`](super) describes the keys.

mod access;
mod table;

use super::check::{Fault, ModelError, check, phase_key, tenant_key};
use super::model::{Access, Arrival, GapRange, Model, Phase, PhaseLength, Rate, Tenant, Variant};
use table::{Context, Table};

/// Reads a model from TOML. `origin` is the name of the text in errors.
///
/// # Errors
/// The text is no TOML, has missing, unknown or wrong keys, or the model breaks a rule. The error
/// lists all faults.
pub fn parse(text: &str, origin: &str) -> Result<Model, ModelError> {
    let fail = |faults| ModelError { origin: Some(origin.to_owned()), faults };
    let document = toml_edit::Document::parse(text).map_err(|error| {
        let line = error.span().map(|span| table::line_of(text, span.start));
        let message = error.message().replace('\n', ", ");
        fail(vec![Fault { key: String::new(), line, message }])
    })?;
    let mut context = Context::new(text);
    let model = read_model(&mut context, document.as_table());
    let mut faults = std::mem::take(&mut context.faults);
    // The rules about values are checked only when the keys are right.
    if faults.is_empty()
        && let Err(error) = check(&model)
    {
        faults = error.faults;
        for fault in &mut faults {
            fault.line = context.line(&fault.key);
        }
    }
    faults.sort_by_key(|fault| fault.line.unwrap_or(0));
    if faults.is_empty() { Ok(model) } else { Err(fail(faults)) }
}

fn read_model(context: &mut Context<'_>, root: &dyn toml_edit::TableLike) -> Model {
    let mut table = Table::new(context, root, String::new());
    let name = table.string("name").unwrap_or_default();
    let aliases = table.strings("aliases");
    let description = table.optional_string("description").unwrap_or_default();
    let source = table.optional_string("source").unwrap_or_default();
    let guesses = table.strings("guesses");
    let requests = table.integer("requests").unwrap_or(1);
    let variants = table.tables("variant", read_variant);
    let tenants = if table.has("tenant") {
        let tenants = table.tables_counted("tenant", |table, index, count| {
            let name = table.string("name").unwrap_or_default();
            Tenant { name, phases: read_phases(table, &tenant_key(count, index)) }
        });
        table.finish();
        tenants
    } else {
        let phases = read_phases(&mut table, "");
        table.finish();
        vec![Tenant { name: name.clone(), phases }]
    };
    Model { name, aliases, description, source, guesses, requests, tenants, variants }
}

fn read_variant(table: &mut Table<'_, '_>) -> Variant {
    let mut factor = |key| table.optional_float(key).unwrap_or(1.0);
    let [working_set, rate, skew, recent, walk] =
        ["working_set", "rate", "skew", "recent", "walk"].map(&mut factor);
    let name = table.string("name").unwrap_or_default();
    let neighbourhood = table.optional_bytes("neighbourhood");
    Variant { name, working_set, rate, skew, recent, walk, neighbourhood }
}

/// What a stream states once for all its phases. A phase may state any of it anew.
#[derive(Clone, Default)]
struct Base {
    arrival: Option<Arrival>,
    read: Option<Access>,
    write: Option<Access>,
    trim: Option<Access>,
    flush_share: f64,
}

fn read_phases(table: &mut Table<'_, '_>, key: &str) -> Vec<Phase> {
    let base = read_base(table, Base::default());
    if !table.has("phase") {
        return vec![phase_from(table, base, None)];
    }
    table.tables_counted("phase", |table, index, count| {
        let requests = table.optional_integer("requests").map(PhaseLength::Requests);
        let seconds = table.optional_float("duration_s").map(PhaseLength::Seconds);
        if requests.is_some() && seconds.is_some() {
            table.fault("duration_s", "give `requests` or `duration_s`, not both");
        }
        let base = read_base(table, base.clone());
        // Faults name keys as `check` does, which leaves out the table of a single phase.
        table.alias(&phase_key(key, count, index));
        phase_from(table, base, requests.or(seconds))
    })
}

fn phase_from(table: &mut Table<'_, '_>, base: Base, length: Option<PhaseLength>) -> Phase {
    let arrival = base.arrival.unwrap_or_else(|| {
        table.fault("", "no [arrival]: say when requests come, such as process = \"poisson\"");
        Arrival::Poisson(Rate::Requests(1.0))
    });
    let Base { read, write, trim, flush_share, .. } = base;
    Phase { length, arrival, read, write, trim, flush_share }
}

fn read_base(table: &mut Table<'_, '_>, inherited: Base) -> Base {
    Base {
        arrival: table.table("arrival", read_arrival).or(inherited.arrival),
        read: table.table("read", access::read).or(inherited.read),
        write: table.table("write", access::read).or(inherited.write),
        trim: table.table("trim", access::read).or(inherited.trim),
        flush_share: table
            .table("flush", |table| table.float("share").unwrap_or(0.0))
            .unwrap_or(inherited.flush_share),
    }
}

const PROCESSES: [&str; 5] = ["fixed", "poisson", "hyperexponential", "bursty", "measured"];

fn read_arrival(table: &mut Table<'_, '_>) -> Arrival {
    let process = table.choice("process", &PROCESSES);
    match process.as_deref() {
        Some("fixed") => Arrival::Fixed(read_rate(table)),
        Some("hyperexponential") => Arrival::Hyperexponential {
            rate: read_rate(table),
            gap_variation: table.float("gap_variation").unwrap_or(1.0),
        },
        Some("bursty") => Arrival::Bursty {
            rate: read_rate(table),
            burst_share: table.float("burst_share").unwrap_or(0.5),
            burst_factor: table.float("burst_factor").unwrap_or(1.0),
            burst_s: table.float("burst_s").unwrap_or(1.0),
        },
        Some("measured") => Arrival::Measured {
            persistence: table.optional_float("persistence").unwrap_or(0.0),
            gaps: table.tables("gaps", |gap| GapRange {
                from_ns: gap.float("from_ns").unwrap_or(0.0),
                to_ns: gap.float("to_ns").unwrap_or(1.0),
                share: gap.float("share").unwrap_or(1.0),
            }),
        },
        _ => Arrival::Poisson(read_rate(table)),
    }
}

fn read_rate(table: &mut Table<'_, '_>) -> Rate {
    let requests = table.optional_float("rate_requests_per_s").map(Rate::Requests);
    let bytes = table.optional_float("rate_bytes_per_s").map(Rate::Bytes);
    match (requests, bytes) {
        (Some(rate), None) | (None, Some(rate)) => rate,
        _ => {
            table.fault("", "give either `rate_requests_per_s` or `rate_bytes_per_s`");
            Rate::Requests(1.0)
        }
    }
}
