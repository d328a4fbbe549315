//! Programs wait until one command can carry a page for each plane of a die (superblocks), all
//! pages of a word line (`flash.one_shot`), or both: a stripe.
//!
//! The pages of a stripe are given out one after the other, so a stripe is complete when its last
//! page comes. What must be read before a page is programmed is read meanwhile. A page does not
//! wait for its stripe if somebody waits for the page: a write without the data cache, one that a
//! flush waits for, a translation page, and the last pages of a victim. It then takes a command
//! with those of its stripe that are there: a part of a word line takes the time of the whole, and
//! so does the rest later. (Drives fill it up with useless data, which costs space besides.) Pages
//! of blocks that are collected at once need not wait: they meet in the queue of their die, behind
//! the reads of the victim.
//!
//! Cached pages that wait hold room that other writes may wait for. Fewer of them wait than there
//! is room for; if there were more, the stripe that was begun first is programmed as it is.
//!
//! Cost: a page looks through the open stripes, one for each frontier that has written a part of
//! one. With superblocks these are few, else one for each plane.

use super::Backend;
use super::collect::Way;
use crate::base::Base;
use crate::flash::Purpose;
use crate::id::TransactionId;
use crate::operation::Class;
use serde::{Deserialize, Serialize};
use ssdtune_model::BlockAddr;

/// Stripes that are not complete, the one that was begun first at the front.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Stripes {
    open: Vec<Stripe>,
    /// Cached pages that wait.
    cached: usize,
}

/// The pages of a stripe that wait for the others.
#[derive(Clone, Serialize, Deserialize)]
struct Stripe {
    block: BlockAddr,
    /// The number of the stripe in its superblock, or of the word line in its block.
    number: u32,
    programs: Vec<TransactionId>,
}

impl Stripes {
    /// Programs that wait.
    pub fn len(&self) -> usize {
        self.open.iter().map(|stripe| stripe.programs.len()).sum()
    }
}

impl Backend {
    /// Stages a transaction that has its place. A program may wait for the rest of its stripe.
    #[inline]
    pub(super) fn stage(&mut self, id: TransactionId) {
        match self.rules.stripe {
            1 => self.flash.stage(id),
            width => self.stage_in_stripe(id, width),
        }
    }

    #[inline(never)]
    fn stage_in_stripe(&mut self, id: TransactionId, width: u32) {
        let record = self.flash.transaction(id);
        if !matches!(record.class, Class::UserWrite | Class::GcWrite) {
            self.flash.stage(id);
            return;
        }
        let width = if self.flash.is_in_slc_mode(id) { self.rules.slc_stripe } else { width };
        if width == 1 {
            self.flash.stage(id);
            return;
        }
        let record = self.flash.transaction(id);
        let is_cached = record.purpose == Purpose::Destage;
        let may_wait = match record.purpose {
            Purpose::Destage => record.flush.is_none(),
            Purpose::Move(job) => matches!(self.jobs[job].way, Way::Steps { next: Some(_) }),
            _ => false,
        };
        let (block, page) = (self.layout.block(record.phys), self.layout.page(record.phys).0);
        let number = page / width;
        let open = &mut self.stripes.open;
        let at = open.iter().position(|stripe| stripe.block == block && stripe.number == number);
        if may_wait && page % width + 1 < width {
            if let Some(rest) = self.flash.transaction_mut(id).rest.take() {
                self.flash.stage(rest);
            }
            match at {
                Some(at) => open[at].programs.push(id),
                None => open.push(Stripe { block, number, programs: vec![id] }),
            }
            self.stripes.cached += usize::from(is_cached);
            while self.stripes.cached > self.rules.waiting_max {
                self.stage_stripe(0);
            }
            return;
        }
        if let Some(at) = at {
            self.stage_stripe(at);
        }
        self.flash.stage(id);
    }

    /// Stages the programs of a stripe that is complete, or must be programmed as it is.
    fn stage_stripe(&mut self, at: usize) {
        for program in self.stripes.open.remove(at).programs {
            let is_cached = self.flash.transaction(program).purpose == Purpose::Destage;
            self.stripes.cached -= usize::from(is_cached);
            self.flash.stage(program);
        }
    }

    /// Stages all programs that wait for the rest of their stripes.
    pub(super) fn stage_open_stripes(&mut self) {
        self.stripes.cached = 0;
        for stripe in std::mem::take(&mut self.stripes.open) {
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
