//! Which of the transactions that wait for a die go together in a command: in different planes, and
//! with pages of one offset, or in programs of word lines with pages of one word line.

use super::array::{Source, Transactions};
use super::long_queues::LONG;
use super::{Flash, Transaction};
use crate::id::{DieId, TransactionId};
use crate::operation::{Class, Work};
use ssdtune_ftl::Ftl;
use ssdtune_model::PageId;

/// What a command has gathered so far.
#[derive(Clone, Default)]
pub(super) struct Batch {
    pub list: Option<TransactionId>,
    last: Option<TransactionId>,
    /// The places of its units in the die, one bit each.
    pub units: u64,
    pub count: u32,
}

impl Batch {
    fn add(&mut self, transactions: &mut Transactions, id: TransactionId) {
        match self.last {
            None => self.list = Some(id),
            Some(last) => transactions[last].next = Some(id),
        }
        self.last = Some(id);
        self.units |= 1u64 << transactions[id].plane;
        self.count += 1;
    }
}

impl Flash {
    /// Takes what fits into a command out of one queue of a die.
    pub(super) fn gather(
        &mut self,
        ftl: &Ftl,
        die: DieId,
        source: Source,
        page: PageId,
        batch: &mut Batch,
    ) {
        if self.timing.lines.pages > 1 && source.0.work() == Work::Program {
            self.gather_alike::<true>(ftl, die, source, page, batch);
        } else {
            self.gather_alike::<false>(ftl, die, source, page, batch);
        }
    }

    /// [`Self::gather`], for a program of word lines or for another command.
    fn gather_alike<const OF_LINES: bool>(
        &mut self,
        ftl: &Ftl,
        die: DieId,
        source: Source,
        page: PageId,
        batch: &mut Batch,
    ) {
        let mut at = self.array.first(die, source);
        let limit = match source.0 {
            Class::Erase if self.rules.single_plane_erases => 1,
            _ if OF_LINES => self.array.units_per_die * self.timing.lines.pages,
            _ => self.array.units_per_die,
        };
        let is_indexed = self.array.is_indexed(die, source);
        let mut walked = 0;
        while let Some(id) = at
            && batch.count < limit
            && (OF_LINES || self.array.has_other_planes(die, source, batch.units))
        {
            let is_long = is_indexed || walked >= LONG;
            if is_long
                && let Some(first) = batch.list
                && source.0 != Class::Erase
            {
                // What was walked over is there again and fits as little as before.
                self.array.index(&self.transactions, die, source);
                let in_chain = if OF_LINES { self.transactions[first].page } else { page };
                at = self.array.first_in_chain(die, source, in_chain);
                while let Some(id) = at
                    && batch.count < limit
                {
                    at = self.array.next_in_chain(id);
                    self.take_if_fits::<OF_LINES>(ftl, page, id, batch);
                }
                return;
            }
            walked += 1;
            at = self.transactions[id].next;
            self.take_if_fits::<OF_LINES>(ftl, page, id, batch);
        }
    }

    /// Whether a transaction can go with the others of a command, whose first one has a page of
    /// this offset.
    #[inline]
    fn fits(&self, ftl: &Ftl, batch: &Batch, page: PageId, id: TransactionId) -> bool {
        let record = &self.transactions[id];
        let is_erase = record.class == Class::Erase;
        batch.units & 1u64 << record.plane == 0
            && !record.blocked
            && (batch.count == 0 || record.page == page || is_erase)
            && (self.rules.joins_by_offset || self.goes_with(ftl, batch, record))
            && !(is_erase && self.is_being_read(ftl, id))
    }

    /// Takes a transaction out of its queue into a command, if it fits.
    #[inline]
    fn take_if_fits<const OF_LINES: bool>(
        &mut self,
        ftl: &Ftl,
        page: PageId,
        id: TransactionId,
        batch: &mut Batch,
    ) {
        let fits = match OF_LINES {
            true => self.fits_word_line(ftl, batch, id),
            false => self.fits(ftl, batch, page, id),
        };
        if fits {
            if OF_LINES {
                let plane = self.plane_of(&self.transactions[id]);
                self.taken[plane as usize] = Some(id);
            }
            self.array.dequeue(&mut self.transactions, id);
            batch.add(&mut self.transactions, id);
        }
    }

    /// Whether a transaction can go with the others of a program of word lines: all lie in word
    /// lines of one number, in one block of each plane.
    #[inline]
    fn fits_word_line(&self, ftl: &Ftl, batch: &Batch, id: TransactionId) -> bool {
        let record = &self.transactions[id];
        let Some(first) = batch.list else { return !record.blocked };
        let [line, lines] =
            [record, &self.transactions[first]].map(|one| self.timing.lines.line(one.page));
        if record.blocked || line != lines {
            return false;
        }
        let (plane, units) = (self.plane_of(record), self.rules.units_per_page);
        if batch.units >> (plane * units) & u64::MAX >> (64 - units) == 0 {
            return true;
        }
        // One of the plane stands for all that were taken of it.
        let layout = ftl.layout();
        self.taken[plane as usize].is_some_and(|other| {
            layout.block(self.transactions[other].phys) == layout.block(record.phys)
        })
    }

    /// Whether a transaction can go with the others of a command, whose first one may have any
    /// offset: its block is in the same mode. Where several mapping units share a page, it is of
    /// the same stripe; only that tells that they are in one page. What collection reads may have
    /// to be in the same plane.
    #[inline(never)]
    fn goes_with(&self, ftl: &Ftl, batch: &Batch, record: &Transaction) -> bool {
        let Some(first) = batch.list else { return true };
        let first = &self.transactions[first];
        let is_moved = first.class == Class::GcRead || record.class == Class::GcRead;
        if self.rules.single_plane_moves
            && is_moved
            && self.plane_of(first) != self.plane_of(record)
        {
            return false;
        }
        let [mode, other] = [record, first].map(|one| one.page.0 >= self.timing.lines.slc_from);
        let layout = ftl.layout();
        let is_of_stripe =
            || layout.block(first.phys) == layout.block(record.phys) && first.page == record.page;
        mode == other && (self.rules.units_per_page == 1 || is_of_stripe())
    }
}
