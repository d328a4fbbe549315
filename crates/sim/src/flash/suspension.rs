//! Operations that give way to others: a program or an erase is halted, a read (or, behind an
//! erase, a program) goes first, and then the operation goes on for the time that was left.

use super::Flash;
use super::array::{DieState, Source, Suspended};
use crate::base::Base;
use crate::id::{DieId, UnitId};
use crate::operation::Class;
use ssdtune_model::Nanos;
use ssdtune_model::config::SuspensionSupport;

impl Flash {
    /// Whether a busy unit may be interrupted for a command. Only units of one die can be.
    pub(super) fn may_suspend(&self, base: &Base, unit: UnitId, first: Source) -> bool {
        let record = &self.array.units[unit];
        let die = &self.array.dies[record.first_die];
        if record.dies > 1
            || die.state != DieState::Busy
            || die.suspended.is_some()
            || die.loaded.is_some()
        {
            return false;
        }
        let left = die.ends.saturating_sub(base.now());
        let rules = &self.rules.suspend_rules;
        let (programs, erases) = match self.rules.suspension {
            SuspensionSupport::None => (false, false),
            SuspensionSupport::Program => (true, false),
            SuspensionSupport::Erase => (false, true),
            SuspensionSupport::ProgramErase => (true, true),
        };
        let is_read = matches!(first.0, Class::UserRead | Class::MappingRead);
        let interruptions = die.list.map_or(0, |list| self.transactions[list].suspensions);
        if u32::from(interruptions) >= rules.interruptions_max {
            return false;
        }
        match (die.class, first.0) {
            (Class::UserWrite | Class::MappingWrite | Class::GcWrite, _) => {
                programs && is_read && left >= rules.program_for_read
            }
            (Class::Erase, Class::UserWrite) => erases && left >= rules.erase_for_program,
            (Class::Erase, _) => erases && is_read && left >= rules.erase_for_read,
            _ => false,
        }
    }

    /// Puts the running operation of a die aside, if there is one. Returns how long that takes.
    // Always, though there is a second caller, which is rare.
    #[inline(always)]
    pub(super) fn suspend_for(&mut self, base: &mut Base, unit: UnitId, die: DieId) -> Nanos {
        let record = &mut self.array.dies[die];
        if record.state != DieState::Busy {
            return Nanos::ZERO;
        }
        base.events.cancel(record.server);
        let remaining = record.ends.saturating_sub(base.now());
        let class = record.class;
        record.suspended = Some(Suspended { list: record.list, class, remaining });
        if let Some(list) = record.list {
            let first = &mut self.transactions[list];
            first.suspensions = first.suspensions.saturating_add(1);
            base.books.count_flash(first.tenant, |flash| flash.count_suspension(class));
        }
        self.array.free_die(unit);
        let rules = &self.rules.suspend_rules;
        let halt = match class {
            Class::Erase => rules.suspend_erase,
            _ => rules.suspend_program,
        };
        self.timing.suspend_command + halt
    }
}
