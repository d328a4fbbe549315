//! The drive: its parts, and the loop that takes one event after the other and hands what comes out
//! of one part to the next.
//!
//! | part | what it owns |
//! |---|---|
//! | [`Base`] | the events and the books |
//! | [`Host`] | streams, queues, the link, the requests |
//! | [`Controller`] | commands that it takes its time for |
//! | [`DataCache`] | cached pages, the DRAM, flushes |
//! | [`Backend`] | the FTL, what waits for it, collection, the flash |
//!
//! A request goes down: host, controller, data cache, back end. What has ended on flash comes up as
//! the answer of an event and is handed on here, so no part knows one above it, but for the host,
//! which is told of every end ([`Host::part_done`]).
//!
//! Time is in nanoseconds. Left out: power states, bad blocks, thermal throttling.

use crate::accounting::Books;
use crate::backend::{self, Backend};
use crate::base::Base;
use crate::controller::Controller;
use crate::data_cache::DataCache;
use crate::engine::{Server, ServerId, Servers};
use crate::flash::{Flash, PageOut, Purpose};
use crate::host::{Arrived, Host, Lookahead, Spaces, queue_count};
use crate::id::{ChannelId, DieId, TransactionId};
use crate::operation::Class;
use crate::stored::Part;
use crate::vocabulary::{Observe, SimError, Tenant};
use serde::Serialize;
use ssdtune_ftl::{Ftl, TenantSpec};
use ssdtune_model::{DeviceConfig, Lpn, Nanos, Place, TenantId};

/// The whole drive.
#[derive(Clone)]
pub(crate) struct Core {
    servers: Servers,
    pub base: Base,
    pub host: Host,
    /// `None` if it takes no time for anything.
    controller: Option<Controller>,
    pub cache: DataCache,
    pub backend: Backend,
}

/// What is stored of a drive.
pub(crate) type Stored = (Base, Host, Option<Controller>, DataCache, backend::Stored);

/// Why the loop over events stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// There is no event.
    Idle,
    /// All other events come later.
    Until,
    /// It took as many events as it was to take.
    Most,
}

/// What the data cache and the page table can be asked for ahead of a request.
struct Ahead<'a> {
    cache: &'a DataCache,
    ftl: &'a Ftl,
}

impl Lookahead for Ahead<'_> {
    #[inline]
    fn directory(&self, tenant: TenantId, lpn: Lpn) {
        self.ftl.prefetch_directory(tenant, lpn);
    }

    #[inline]
    fn entry(&self, tenant: TenantId, lpn: Lpn) {
        self.ftl.prefetch_entry(tenant, lpn);
    }

    #[inline]
    fn old_page(&self, tenant: TenantId, lpn: Lpn) {
        self.cache.prefetch(self.ftl, tenant, lpn);
    }
}

impl Core {
    /// An empty drive.
    pub fn new(
        config: &DeviceConfig,
        tenants: &[Tenant],
        observe: Observe,
    ) -> Result<Self, SimError> {
        let geometry = config.geometry();
        let queues = queue_count(config.host.interface, tenants.len());
        let servers = Servers::new(queues, geometry.channels);
        let (count, limit) = (u64::from(geometry.channels) + geometry.dies(), servers.limit());
        if count > u64::from(limit) {
            return Err(SimError::TooManyServers { servers: count, limit });
        }
        let specs: Vec<TenantSpec> = (tenants.iter())
            .map(|tenant| TenantSpec { places: tenant.places.clone(), writer: tenant.writer })
            .collect();
        let ftl = Ftl::new(config, &specs)?;
        let sizes = (0..tenants.len()).map(|tenant| ftl.tenant_sectors(TenantId::at(tenant)));
        let aligned = !config.compat.unaligned_tenants;
        let spaces = Spaces::new(sizes, geometry.sectors_per_page(), aligned);
        let books = Books::new(config, tenants.len(), observe);
        Ok(Self {
            base: Base::new(config, books, &servers),
            host: Host::new(config, spaces, &servers),
            controller: Controller::new(config, &servers),
            cache: DataCache::new(config, tenants, &servers),
            backend: Backend::new(config, tenants.len(), ftl, Flash::new(config, &servers)),
            servers,
        })
    }

    /// The simulated time.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.base.now()
    }

    /// Takes one event after the other, `most` at most and none later than `until`.
    // The one loop: what handles an event is part of it, so that no event costs a call.
    #[inline(never)]
    pub fn run(&mut self, most: usize, until: Nanos) -> Stop {
        for _ in 0..most {
            match self.base.events.pop(until) {
                Some(server) => self.handle(server),
                None if self.base.events.next_at().is_some() => return Stop::Until,
                None => return Stop::Idle,
            }
        }
        Stop::Most
    }

    /// Does what follows from an event.
    #[inline(always)]
    fn handle(&mut self, server: ServerId) {
        let Self { servers, base, host, controller, cache, backend } = self;
        match servers.which(server) {
            Server::Die(die) => self.die_event(die),
            Server::Channel(channel) => self.channel_event(channel),
            Server::LinkDown => {
                let ahead = Ahead { cache, ftl: &backend.ftl };
                if let Some(arrived) = host.down_event(base, &ahead) {
                    self.serve(arrived);
                }
                self.host.next_message(&mut self.base);
            }
            Server::LinkUp => host.up_event(base, &Ahead { cache, ftl: &backend.ftl }),
            Server::Dram => cache.dram_event(base, host, backend),
            Server::SataIn => host.sata_in_event(base, &Ahead { cache, ftl: &backend.ftl }),
            Server::SataOut => host.sata_out_event(base, &Ahead { cache, ftl: &backend.ftl }),
            Server::HostCpu => host.cpu_event(base, &Ahead { cache, ftl: &backend.ftl }),
            Server::Controller => {
                let arrived = controller.as_mut().and_then(|controller| controller.event(base));
                if let Some(arrived) = arrived {
                    self.begin(arrived);
                }
            }
            Server::Pipeline => host.pipeline_event(base),
            Server::Rest => {
                if base.alarm_event() {
                    backend.fold_all(base);
                }
            }
            Server::Bell(queue) => host.bell_event(base, queue),
            Server::Stream(stream) => {
                let ahead = Ahead { cache, ftl: &backend.ftl };
                if let Some(arrived) = host.arrival_event(base, &ahead, stream) {
                    self.serve(arrived);
                }
            }
        }
    }

    /// Serves a request that has reached the drive.
    #[inline]
    fn serve(&mut self, arrived: Arrived) {
        match &mut self.controller {
            Some(controller) => {
                let request = &self.host.requests[arrived.request()];
                controller.take(&mut self.base, arrived, request);
            }
            None => self.begin(arrived),
        }
    }

    /// Begins to work on a request.
    #[inline]
    fn begin(&mut self, arrived: Arrived) {
        let Self { servers: _, base, host, controller: _, cache, backend } = self;
        match arrived {
            Arrived::Read(request) => cache.serve_read(base, host, backend, request),
            Arrived::Write(request) => cache.serve_write(base, host, backend, request),
            Arrived::Trim(request) => cache.serve_trim(base, host, backend, request),
            Arrived::Flush(request) => cache.serve_flush(base, host, backend, request),
        }
    }

    /// A channel has carried what it carried.
    #[inline]
    fn channel_event(&mut self, channel: ChannelId) {
        let Backend { flash, ftl, .. } = &mut self.backend;
        if let Some(page) = flash.channel_event(&mut self.base, ftl, channel) {
            self.page_read(page);
        }
    }

    /// The data of a page that was read have left their die.
    #[inline]
    fn page_read(&mut self, page: PageOut) {
        let Self { servers: _, base, host, controller, cache, backend } = self;
        let read = page.transaction;
        let record = backend.flash.transaction(read);
        match record.purpose {
            Purpose::Request(request) => {
                if let Some(controller) = controller {
                    let ready = controller.data_out(base.now(), record.sectors.into());
                    host.data_ready_at(request, ready);
                }
                cache.page_read(base, host, backend, read);
                backend.flash.remove(read);
                host.part_done(base, request);
            }
            Purpose::ReadAhead => {
                let sectors = record.sectors.into();
                let ready = controller.as_mut().map(|it| it.data_out(base.now(), sectors));
                cache.page_came(base, host, backend, read, ready);
            }
            Purpose::Merge(write) => {
                backend.flash.remove(read);
                backend.rest_read(base, write);
            }
            Purpose::MappingLoad => {
                let page = record.translation_page();
                backend.flash.remove(read);
                backend.mapping_read(base, host, page);
            }
            Purpose::MappingMerge(write) => {
                let page = record.translation_page();
                backend.flash.remove(read);
                if let Some(write) = write {
                    backend.rest_read(base, write);
                }
                backend.mapping_read(base, host, page);
            }
            Purpose::Move(_) => backend.move_read(base, read),
            Purpose::Destage | Purpose::MappingStore | Purpose::Erase(_) => {
                debug_assert!(false, "{:?} is no read", record.purpose);
            }
        }
        let Backend { flash, ftl, .. } = backend;
        flash.page_taken(base, ftl, page);
    }

    /// A die's array operation has ended.
    #[inline]
    fn die_event(&mut self, die: DieId) {
        let Some(first) = self.backend.die_event(&mut self.base, die) else { return };
        let mut at = Some(first);
        while let Some(id) = at {
            at = self.backend.flash.transaction(id).next;
            self.written_or_erased(id);
        }
        let Backend { flash, ftl, .. } = &mut self.backend;
        flash.die_done(&mut self.base, ftl, die);
    }

    /// A die has ended the program or the erase of a transaction.
    #[inline]
    fn written_or_erased(&mut self, id: TransactionId) {
        let Self { servers: _, base, host, controller: _, cache, backend } = self;
        match backend.flash.transaction(id).class {
            Class::Erase => backend.erased(base, host, id),
            Class::GcWrite => backend.move_written(base, id),
            Class::MappingWrite => backend.mapping_written(base, id),
            Class::UserWrite | Class::UserRead | Class::MappingRead | Class::GcRead => {
                let record = backend.flash.transaction(id);
                let (phys, flush) = (record.phys, record.flush);
                match record.purpose {
                    Purpose::Request(request) => host.part_done(base, request),
                    _ => cache.page_written(base, host, backend, id),
                }
                backend.ftl.program_done(phys);
                backend.flash.remove(id);
                if let Some(flush) = flush {
                    cache.flush_part_done(base, host, flush);
                }
                backend.after_program(base, phys);
            }
        }
    }

    /// Asserts what each part promises of itself, and that nothing is lost between them.
    pub fn check(&self) {
        let Self { servers: _, base, host, controller, cache, backend } = self;
        base.books.check();
        host.check(base);
        if let Some(controller) = controller {
            controller.check();
        }
        cache.check();
        backend.check(cache.transactions());
    }

    /// Pages in the data cache.
    pub fn cached_pages(&self) -> usize {
        self.cache.pages()
    }

    /// Its state, to be stored.
    pub fn state(&self) -> impl Serialize + '_ {
        let Self { servers: _, base, host, controller, cache, backend } = self;
        (base, host, controller, cache, backend.state())
    }

    /// Takes over a stored state.
    pub fn set_state(&mut self, (mut base, mut host, mut controller, mut cache, backend): Stored) {
        std::mem::swap(&mut self.base, &mut base);
        std::mem::swap(&mut self.host, &mut host);
        std::mem::swap(&mut self.controller, &mut controller);
        std::mem::swap(&mut self.cache, &mut cache);
        self.base.adopt(base);
        self.host.adopt(host);
        self.controller.adopt(controller);
        self.cache.adopt(cache);
        self.backend.set_state(backend);
    }
}
