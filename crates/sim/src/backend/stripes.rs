//! Programs of superblocks wait until one command can carry a page for each plane of a die.
//!
//! The pages of a stripe are given out one after the other, so a stripe is complete when its last
//! page comes. What must be read before a page is programmed is read meanwhile. A page does not
//! wait for its stripe if somebody waits for the page: a write without the data cache, one that a
//! flush waits for, a translation page, and the last pages of a victim.

use super::Backend;
use super::collect::Way;
use crate::base::Base;
use crate::flash::{Purpose, Striping};
use crate::id::TransactionId;
use crate::operation::Class;
use serde::{Deserialize, Serialize};
use ssdtune_model::BlockAddr;

/// Stripes that are not complete: one for each frontier that has written a part of one, so few.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Stripes(Vec<Stripe>);

/// The pages of a stripe that wait for the others.
#[derive(Serialize, Deserialize)]
struct Stripe {
    block: BlockAddr,
    /// The number of the stripe in its superblock.
    number: u32,
    programs: Vec<TransactionId>,
}

impl Stripes {
    /// Programs that wait.
    pub fn len(&self) -> usize {
        self.0.iter().map(|stripe| stripe.programs.len()).sum()
    }
}

impl Backend {
    /// Stages a transaction that has its place. A program may wait for the rest of its stripe.
    #[inline]
    pub(super) fn stage(&mut self, id: TransactionId) {
        match self.flash.striping().map(Striping::width) {
            Some(width) if width > 1 => self.stage_in_stripe(id, width),
            _ => self.flash.stage(id),
        }
    }

    fn stage_in_stripe(&mut self, id: TransactionId, width: u32) {
        let record = self.flash.transaction(id);
        if !matches!(record.class, Class::UserWrite | Class::GcWrite) {
            self.flash.stage(id);
            return;
        }
        let may_wait = match record.purpose {
            Purpose::Destage => record.flush.is_none(),
            Purpose::Move(job) => matches!(self.jobs[job].way, Way::Steps { next: Some(_) }),
            _ => false,
        };
        let (block, page) = (self.layout.block(record.phys), self.layout.page(record.phys).0);
        let number = page / width;
        let open = &mut self.stripes.0;
        let at = open.iter().position(|stripe| stripe.block == block && stripe.number == number);
        if may_wait && page % width + 1 < width {
            if let Some(rest) = self.flash.transaction_mut(id).rest.take() {
                self.flash.stage(rest);
            }
            match at {
                Some(at) => open[at].programs.push(id),
                None => open.push(Stripe { block, number, programs: vec![id] }),
            }
            return;
        }
        if let Some(at) = at {
            let stripe = open.swap_remove(at);
            stripe.programs.into_iter().for_each(|program| self.flash.stage(program));
        }
        self.flash.stage(id);
    }

    /// Stages all programs that wait for the rest of their stripes.
    pub(super) fn stage_open_stripes(&mut self) {
        for stripe in std::mem::take(&mut self.stripes.0) {
            stripe.programs.into_iter().for_each(|program| self.flash.stage(program));
        }
    }

    /// Programs what waits for the rest of its stripe, since somebody waits for it.
    pub fn program_open_stripes(&mut self, base: &mut Base) {
        if self.stripes.len() > 0 {
            self.stage_open_stripes();
            self.flash.schedule(base, &self.ftl);
        }
    }
}
