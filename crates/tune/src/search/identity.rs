//! The identity of a search: a digest of everything that decides its answer, except for prior
//! knowledge and for what only says when it ends: budget, patience and the change that counts as
//! none. So a search can be given more of them later. It then decides as if it had been given them
//! from the start, because it begins anew and finds its evaluations in AutoDB.
//!
//! Every structure is destructured with all its fields, so that code with a new field does not
//! compile until somebody decides how the field enters the digest. Every bit of a number counts.
//! Names enter in the form that files use. `Debug` text is not used, because it changes when a type
//! is renamed.

use super::settings::{OrderUse, Settings};
use crate::limits::{Limits, Prices};
use crate::memory::{Digest, Digester, canonical};
use crate::space::{Label, Space};
use crate::task::{MaxHarm, Task};
use crate::workload::Workload;
use ssdtune_model::Constraints;
use ssdtune_model::catalogue::Value;

/// The digest of everything that decides the answer of a search, except for prior knowledge and
/// for when it ends.
pub fn identity(task: &Task, settings: &Settings, order: OrderUse, evaluator: &str) -> Digest {
    let Task { base, space, limits, target: _, others: _, weights, max_harm } = task;
    let mut digester = Digester::new("ssdtune search 3");
    digester.text("baseline", &canonical(base));
    add_space(&mut digester, space);
    add_limits(&mut digester, limits);
    add_settings(&mut digester, settings);
    let order = match order {
        OrderUse::Follow => "follow",
        OrderUse::KeptTogether => "kept-together",
        OrderUse::Ignore => "ignore",
    };
    digester
        .text("order", order)
        .real("alpha", weights.alpha)
        .real("beta", weights.beta)
        .text("evaluator", evaluator);
    task.workloads().for_each(|workload| add_workload(&mut digester, workload));
    if let Some(MaxHarm { share, validation }) = max_harm {
        digester.real("harm", *share).number("validation", validation.len() as u64);
        validation.iter().for_each(|workload| add_workload(&mut digester, workload));
    }
    digester.finish()
}

/// Adds a space. Its name counts too, because reports show it.
fn add_space(digester: &mut Digester, space: &Space) {
    digester.text("space", &space.name).number("axes", space.axes().len() as u64);
    for axis in space.axes() {
        digester.text("axis", axis.key()).number("values", axis.count() as u64);
        for label in axis.labels() {
            match label {
                Label::Value(value) => add_value(digester, value),
                Label::Name(name) => _ = digester.text("alternative", &name),
            }
        }
        // What stands behind a name may be changed in its file.
        for one in axis.choice().iter().flat_map(|choice| choice.alternatives()) {
            digester.number("settings", one.settings().len() as u64);
            for (row, value) in one.settings() {
                digester.text("setting", row.key);
                add_value(digester, *value);
            }
            digester.number("allowed", one.at_most().len() as u64);
            for (row, most) in one.at_most() {
                digester.text("at most", row.key).real("most", *most);
            }
        }
    }
}

fn add_value(digester: &mut Digester, value: Value) {
    match value {
        Value::Int(value) => digester.number("value", value),
        Value::Real(value) => digester.real("value", value),
        Value::Bool(value) => digester.number("switch", value.into()),
        Value::Name(value) => digester.text("name", value),
    };
}

fn add_limits(digester: &mut Digester, limits: &Limits) {
    let Limits { constraints, prices, max_price, inequalities } = limits;
    let Constraints {
        capacity,
        usable_capacity,
        capacity_tolerance,
        interface,
        flash_type,
        power_budget_watts,
        dram_budget,
        max_chips,
        min_overprovisioning,
    } = constraints;
    // An absent limit adds no field, and every field has a name, so no two lists of limits meet.
    let number = |digester: &mut Digester, name, value: Option<u64>| {
        value.map(|value| digester.number(name, value));
    };
    let real = |digester: &mut Digester, name, value: Option<f64>| {
        value.map(|value| digester.real(name, value));
    };
    number(digester, "capacity", capacity.map(|bytes| bytes.0));
    number(digester, "usable capacity", usable_capacity.map(|bytes| bytes.0));
    digester.real("capacity tolerance", *capacity_tolerance);
    interface.map(|interface| digester.text("interface", interface.name()));
    flash_type.map(|flash| digester.text("flash type", flash.name()));
    real(digester, "power budget", *power_budget_watts);
    number(digester, "DRAM budget", dram_budget.map(|bytes| bytes.0));
    number(digester, "chips", *max_chips);
    real(digester, "over-provisioning", *min_overprovisioning);
    if let Some(prices) = prices {
        add_prices(digester, prices);
    }
    real(digester, "price limit", *max_price);
    for inequality in inequalities {
        digester.text("inequality", inequality.text());
    }
}

fn add_prices(digester: &mut Digester, prices: &Prices) {
    let Prices {
        base,
        per_flash_gib,
        per_cell_gib,
        per_dram_gib,
        dram_modules,
        per_channel,
        per_channel_gts,
        per_chip,
        per_die,
        per_lane,
        per_link_gbps,
    } = prices;
    let all = [
        base,
        per_flash_gib,
        per_dram_gib,
        per_channel,
        per_channel_gts,
        per_chip,
        per_die,
        per_lane,
        per_link_gbps,
    ];
    all.into_iter().chain(per_cell_gib).for_each(|price| _ = digester.real("price", *price));
    dram_modules.iter().for_each(|size| _ = digester.number("module", size.0));
}

fn add_settings(digester: &mut Digester, settings: &Settings) {
    let Settings {
        algorithm,
        seed,
        budget: _,
        batch,
        top,
        manhattan_max,
        descent_max,
        step_max,
        exploration,
        convergence: _,
        patience: _,
        prefix,
        aims,
    } = settings;
    digester
        .text("algorithm", algorithm.name())
        .number("seed", *seed)
        .number("batch", *batch as u64)
        .number("top", *top as u64)
        .number("distance", (*manhattan_max).into())
        .number("descent", *descent_max as u64)
        .number("steps", *step_max as u64)
        .real("exploration", *exploration)
        .real("prefix", *prefix)
        // Searches once discarded hopeless proposals on demand. Those begun then without go on.
        .number("discards hopeless proposals", 0);
    aims.iter().for_each(|aim| _ = digester.text("aim", aim.name()));
}

fn add_workload(digester: &mut Digester, workload: &Workload) {
    let Workload { name, depth, traces } = workload;
    digester
        .text("workload", name)
        .number("depth", (*depth).into())
        .number("traces", traces.len() as u64);
    for trace in traces {
        let length = trace.requests().len() as u64;
        digester.digest("trace", trace.digest()).number("length", length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aim::Aim;
    use crate::grade::Weights;
    use crate::limits::Inequality;
    use crate::search::Algorithm;
    use crate::workload::Trace;
    use ssdtune_model::{Bytes, Nanos, Sectors, presets};
    use ssdtune_trace::{Op, Request, TenantId};
    use std::collections::BTreeSet;

    fn workload(name: &str, lba: u64) -> Workload {
        let (at, lba, tenant) = (Nanos::ZERO, Sectors(lba), TenantId(0));
        let request = Request { at, lba, sectors: 8, tenant, op: Op::Read };
        Workload { name: name.to_owned(), depth: 4, traces: vec![Trace::new(name, vec![request])] }
    }

    fn task() -> Task {
        Task {
            base: presets::load("intel-750").unwrap().check().unwrap(),
            space: Space::autoblox(),
            limits: Limits::default(),
            target: workload("target", 0),
            others: vec![workload("other", 8)],
            weights: Weights::default(),
            max_harm: None,
        }
    }

    /// A space with one choice, whose only alternative has these settings.
    fn space_with(settings: &str) -> Space {
        Space::parse(&format!("[choice.flash]\none = {{ {settings} }}")).unwrap()
    }

    #[test]
    fn what_is_bought_decides_a_search() {
        let changes: [fn(&mut Task); 6] = [
            |task| task.limits.constraints.usable_capacity = Some(Bytes(1 << 30)),
            |task| {
                let per_cell_gib = [0.0, 0.0, 1.0, 0.0];
                task.limits.prices = Some(Prices { per_cell_gib, ..Prices::default() });
            },
            |task| {
                let dram_modules = vec![Bytes(1 << 30)];
                task.limits.prices = Some(Prices { dram_modules, ..Prices::default() });
            },
            |task| task.space = space_with("flash.pe_cycles_limit = 1000"),
            |task| task.space = space_with("flash.pe_cycles_limit = 2000"),
            |task| {
                task.space =
                    space_with("flash.pe_cycles_limit = 1000, at_most = { bus.rate_mts = 400 }");
            },
        ];
        let of = |task: &Task| identity(task, &Settings::default(), OrderUse::Follow, "simulator");
        let mut found = BTreeSet::from([of(&task()).to_string()]);
        for (number, change) in changes.into_iter().enumerate() {
            let mut changed = task();
            change(&mut changed);
            assert!(found.insert(of(&changed).to_string()), "change {number} goes unnoticed");
        }
    }

    /// Changes everything that decides a search, one thing at a time. Each change must give another
    /// identity.
    #[test]
    fn whatever_decides_a_search_decides_its_identity() {
        let mut found = BTreeSet::new();
        let mut count = 0;
        let mut add = |digest: Digest| {
            found.insert(digest.to_string());
            count += 1;
            assert_eq!(found.len(), count, "change {count} goes unnoticed");
        };
        let (task, plain) = (task(), Settings::default());
        let of = |task: &Task, settings: &Settings| {
            identity(task, settings, OrderUse::Follow, "simulator")
        };
        add(of(&task, &plain));
        add(identity(&task, &plain, OrderUse::Ignore, "simulator"));
        add(identity(&task, &plain, OrderUse::KeptTogether, "simulator"));
        add(identity(&task, &plain, OrderUse::Follow, "another"));
        let settings: [fn(&mut Settings); 11] = [
            |settings| settings.algorithm = Algorithm::Random,
            |settings| settings.seed += 1,
            |settings| settings.batch += 1,
            |settings| settings.top += 1,
            |settings| settings.manhattan_max += 1,
            |settings| settings.descent_max += 1,
            |settings| settings.step_max += 1,
            |settings| settings.exploration += 1.0,
            |settings| settings.prefix /= 2.0,
            |settings| settings.aims = vec![Aim::Latency, Aim::Price],
            |settings| settings.aims = vec![Aim::Price, Aim::Latency],
        ];
        for change in settings {
            let mut changed = plain.clone();
            change(&mut changed);
            add(of(&task, &changed));
        }
        let longer = Settings { budget: 1e3, patience: 99, convergence: 0.5, ..plain.clone() };
        assert_eq!(of(&task, &longer), of(&task, &plain), "when it ends is no part of it");
        let tasks: [fn(&mut Task); 18] = [
            |task| task.base = presets::load("z-ssd").unwrap().check().unwrap(),
            |task| task.space = Space::what_if(),
            |task| task.limits.constraints.capacity = Some(Bytes(1 << 30)),
            |task| task.limits.constraints.dram_budget = Some(Bytes(1 << 30)),
            |task| task.limits.constraints.capacity_tolerance += 0.1,
            |task| task.limits.constraints.interface = Some(task.base.host.interface),
            |task| task.limits.constraints.flash_type = Some(task.base.flash.technology),
            |task| task.limits.constraints.power_budget_watts = Some(8.0),
            |task| task.limits.constraints.max_chips = Some(8),
            |task| task.limits.constraints.min_overprovisioning = Some(0.1),
            |task| task.limits.prices = Some(Prices { per_die: 2.0, ..Prices::default() }),
            |task| task.limits.max_price = Some(100.0),
            |task| task.limits.inequalities = vec![Inequality::parse("chips <= 80").unwrap()],
            |task| task.weights.alpha = 0.25,
            |task| task.weights.beta = 0.25,
            |task| task.others.push(workload("third", 16)),
            |task| task.max_harm = Some(MaxHarm { share: 0.1, validation: Vec::new() }),
            |task| {
                let validation = vec![workload("other", 24)];
                task.max_harm = Some(MaxHarm { share: 0.1, validation });
            },
        ];
        for change in tasks {
            let mut changed = task.clone();
            change(&mut changed);
            add(of(&changed, &plain));
        }
        let mut swapped = task.clone();
        std::mem::swap(&mut swapped.target, &mut swapped.others[0]);
        add(of(&swapped, &plain));
    }
}
