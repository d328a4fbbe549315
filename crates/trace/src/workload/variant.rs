//! Variants of a model: the model with a guess halved or doubled.

use super::model::{Access, Arrival, Model, Rate, Skew, Variant};
use ssdtune_model::Bytes;

impl Model {
    /// The model with the variant called `name` applied; `None` if it has no such variant.
    pub fn variant(&self, name: &str) -> Option<Model> {
        let variant = self.variants.iter().find(|variant| variant.name == name)?.clone();
        let mut model = self.clone();
        model.variants.clear();
        // The random streams depend on the name of the model. A variant keeps the name, so that it
        // differs from the original by the guess and not by chance.
        model.description = format!("{} (variant {name})", model.description);
        for phase in model.tenants.iter_mut().flat_map(|tenant| &mut tenant.phases) {
            scale_arrival(&mut phase.arrival, variant.rate);
            for access in [&mut phase.read, &mut phase.write, &mut phase.trim].into_iter().flatten()
            {
                scale_access(access, &variant);
            }
        }
        Some(model)
    }
}

fn scale_arrival(arrival: &mut Arrival, factor: f64) {
    match arrival {
        Arrival::Fixed(rate)
        | Arrival::Poisson(rate)
        | Arrival::Hyperexponential { rate, .. }
        | Arrival::Bursty { rate, .. } => match rate {
            Rate::Requests(per_s) | Rate::Bytes(per_s) => *per_s *= factor,
        },
        Arrival::Measured { gaps, .. } => {
            for gap in gaps {
                gap.from_ns /= factor;
                gap.to_ns /= factor;
            }
        }
    }
}

fn scale_access(access: &mut Access, variant: &Variant) {
    if variant.working_set != 1.0 {
        // A working set stays a whole number of cells, and as large as the largest request.
        let least = access.largest().0.max(access.cell.0);
        let scaled = (access.working_set.0 as f64 * variant.working_set) as u64;
        let cells = scaled.max(least).div_ceil(access.cell.0);
        access.working_set = Bytes(cells * access.cell.0);
        let offset = (access.offset.0 as f64 * variant.working_set) as u64;
        access.offset = Bytes(offset / access.alignment.0 * access.alignment.0);
    }
    if let Skew::Zipf { theta, .. } = &mut access.skew {
        *theta *= variant.skew;
    }
    if let Some(neighbourhood) = variant.neighbourhood {
        access.neighbourhood = neighbourhood;
    }
    if let Some(recent) = &mut access.recent {
        recent.share = (recent.share * variant.recent).min(0.99);
    }
    access.walk_share = (access.walk_share * variant.walk).min(1.0);
}
