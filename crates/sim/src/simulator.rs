//! The drive: its state, and the loop that takes one event after the other.
//!
//! Every part of the drive that serves one thing at a time is a server with a number: a stream of
//! arrivals, a direction of the link, the DRAM channel, a flash channel, a die. Each server has at
//! most one pending event. [`Core::step`] takes the next event and calls the file that knows its
//! server: `arrivals`, `host`, `dram`, `array`. This file handles the messages on the link, and
//! what follows when a flash operation has ended.
//!
//! Time is in nanoseconds. Left out: power states, bad blocks, thermal throttling.

mod setup;
mod switches;

use crate::ageing::Ageing;
use crate::arrivals::Inbox;
use crate::collect::Job;
use crate::data_cache::DataCache;
use crate::dram::DramChannel;
use crate::energy::Meter;
use crate::event::{EventQueue, ServerId};
use crate::flash::FlashArray;
use crate::host::{HostQueue, SataAdapter, TenantSpace};
use crate::pipe::Pipe;
use crate::stats::Stats;
use crate::timing::{DramTiming, FlashTiming, LinkTiming};
use crate::tx::{Class, NIL, Purpose, Req, Slab, Tx};
use crate::vocabulary::Completion;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{Ftl, Layout, Phys};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{Nanos, PlaneId};
use std::collections::VecDeque;
use switches::Switches;

/// Streams of arrivals that a drive can have.
pub(crate) const STREAMS_MAX: u32 = 64;

/// A message from the host to the drive.
#[derive(Serialize, Deserialize)]
pub(crate) enum DownMessage {
    /// The host has put an entry into this submission queue.
    Doorbell(u16),
    /// An entry of this submission queue.
    Entry(u16),
    /// The data of this write request.
    Data(u32),
}

/// A message from the drive to the host.
#[derive(Serialize, Deserialize)]
pub(crate) enum UpMessage {
    /// Asks for the next entry of this submission queue.
    Fetch(u16),
    /// Asks for the data of this write request.
    FetchData(u32),
    /// This request is complete. The number says how many entries of its queue had been fetched by
    /// then.
    Completion(u32, u64),
}

/// The whole drive. Lists "for each cache" have one entry if the tenants share the data cache, else
/// one for each tenant. Requests, transactions and jobs are named by their numbers in slabs; `NIL`
/// names none.
pub(crate) struct Core {
    pub(crate) events: EventQueue,
    pub(crate) link: LinkTiming,
    pub(crate) dram_timing: DramTiming,
    pub(crate) timing: FlashTiming,
    /// The direction of the link from the host to the drive.
    pub(crate) down: Pipe<DownMessage>,
    /// The direction of the link from the drive to the host.
    pub(crate) up: Pipe<UpMessage>,
    pub(crate) dram: DramChannel,
    pub(crate) dram_server: ServerId,
    pub(crate) sata: Option<SataAdapter>,
    /// Submission and completion queues: one for each tenant with NVMe, one in all with SATA.
    pub(crate) queues: Vec<HostQueue>,
    /// One for each stream of requests.
    pub(crate) inboxes: Vec<Inbox>,
    /// The caller wants to look at the drive at this time: nothing later may happen before.
    pub(crate) horizon: Nanos,
    /// The caller runs streams to their ends. Then every inbox that has a request also has the one
    /// behind it, or its stream has ended.
    pub(crate) sources_known: bool,
    pub(crate) reqs: Slab<Req>,
    pub(crate) txs: Slab<Tx>,
    pub(crate) jobs: Slab<Job>,
    pub(crate) flash: FlashArray,
    pub(crate) ftl: Ftl,
    pub(crate) layout: Layout,
    pub(crate) caches: Vec<DataCache>,
    /// For each cache, the slot of the page without an owner (`compat.read_fill_by_flash_owner`).
    pub(crate) ghosts: Vec<u32>,
    /// For each cache, the sectors that are on their way from it to flash.
    pub(crate) pressure: Vec<u32>,
    /// From this many sectors on, writes into a cache wait.
    pub(crate) pressure_limit: u32,
    /// For each cache, the write requests that wait because of `pressure`.
    pub(crate) blocked_writes: Vec<VecDeque<u32>>,
    /// For each tenant, the number of the present epoch of its cached writes, from 1 (see
    /// `data_cache`).
    pub(crate) epochs: Vec<u32>,
    /// When the present epoch ends at the earliest.
    pub(crate) epoch_ends: Nanos,
    /// For each plane, the transactions that wait until the plane has been collected.
    pub(crate) held: Vec<VecDeque<u32>>,
    /// For each tenant, its last flush request that is not complete.
    pub(crate) last_flush: Vec<u32>,
    pub(crate) tenants: Vec<TenantSpace>,
    /// For each tenant, what the data cache does for it.
    pub(crate) cache_modes: Vec<CacheMode>,
    /// For each tenant, the priority of its transactions; 0 is served first.
    pub(crate) priority: Vec<u8>,
    /// Number of priorities in use.
    pub(crate) priorities: u8,
    /// The priority of transactions that serve no request directly.
    pub(crate) internal_priority: u8,
    pub(crate) switches: Switches,
    /// Wear in time; `None` if nothing ages.
    pub(crate) ageing: Option<Ageing>,
    /// Sectors of a page.
    pub(crate) page_sectors: u32,
    /// The binary logarithm of `page_sectors`, if it is a whole number.
    pub(crate) page_shift: Option<u32>,
    /// Transactions that will be queued at the next scheduling.
    pub(crate) staged: Vec<u32>,
    /// Scratch list: channels that a scheduling has to try. Empty between two events.
    pub(crate) touched: Vec<u32>,
    /// While this is not 0, transactions are only staged; the caller schedules when it has staged
    /// all of them.
    pub(crate) scheduling_deferred: u32,
    /// Scratch list: pages of a victim. Empty between two events.
    pub(crate) victim_pages: Vec<Phys>,
    /// Empty lists, kept for reuse.
    pub(crate) spare_lists: Vec<Vec<u32>>,
    pub(crate) stats: Stats,
    pub(crate) energy: Meter,
    /// Completions that the caller has not taken yet; `None` if it does not want them.
    pub(crate) completions: Option<Vec<Completion>>,
    /// Number of the server that is the first flash channel.
    pub(crate) first_channel: u32,
    /// Number of the server that is the first die.
    pub(crate) first_die: u32,
}

// Numbers of servers. Streams come first; channels and dies follow the last one here.
const SATA_IN: u32 = STREAMS_MAX;
const SATA_OUT: u32 = STREAMS_MAX + 1;
const LINK_DOWN: u32 = STREAMS_MAX + 2;
const LINK_UP: u32 = STREAMS_MAX + 3;
const DRAM: u32 = STREAMS_MAX + 4;
/// The server that hears the host give back places of the first completion queue; one for each
/// queue.
pub(crate) const FIRST_BELL: u32 = STREAMS_MAX + 5;

impl Core {
    /// The simulated time.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.events.now()
    }

    /// Takes the next event and does what follows from it. Returns `false` if there is none.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some(server) = self.events.pop() else { return false };
        match server.0 {
            id if id >= self.first_die => self.die_event(id - self.first_die),
            id if id >= self.first_channel => {
                self.channel_event((id - self.first_channel) as usize);
            }
            LINK_DOWN => self.down_event(),
            LINK_UP => self.up_event(),
            DRAM => self.dram_event(),
            SATA_IN => self.sata_in(),
            SATA_OUT => self.sata_out(),
            id if id >= FIRST_BELL => self.bell((id - FIRST_BELL) as usize),
            stream => self.arrival_event(stream as usize),
        }
        true
    }

    /// A message has reached the drive.
    fn down_event(&mut self) {
        let Some(message) = self.down.take() else { return };
        match message {
            DownMessage::Doorbell(queue) => self.doorbell(queue.into()),
            DownMessage::Entry(queue) => self.entry_arrived(queue.into()),
            DownMessage::Data(req) => self.data_fetched(req),
        }
        self.down.start_next(&mut self.events);
    }

    /// A message has reached the host.
    fn up_event(&mut self) {
        let Some(message) = self.up.take() else { return };
        match message {
            UpMessage::Fetch(queue) => {
                self.down.send(
                    &mut self.events,
                    self.link.submission_entry,
                    DownMessage::Entry(queue),
                );
            }
            UpMessage::FetchData(req) => {
                let takes = self.link.data(self.reqs[req].sectors);
                self.down.send(&mut self.events, takes, DownMessage::Data(req));
            }
            UpMessage::Completion(req, fetched) => {
                if self.sata.is_some() {
                    self.sata_completion(req, fetched);
                } else {
                    let queue = self.reqs[req].tenant as usize;
                    self.completed(queue, req, fetched);
                }
            }
        }
        self.up.start_next(&mut self.events);
    }

    /// The SATA adapter has passed a request on.
    fn sata_in(&mut self) {
        let Some(sata) = &mut self.sata else { return };
        let Some(req) = sata.submit.take() else { return };
        self.submit(0, req);
        if let Some(sata) = &mut self.sata {
            sata.submit.start_next(&mut self.events);
        }
    }

    /// The SATA adapter has passed a completion on.
    fn sata_out(&mut self) {
        let Some(sata) = &mut self.sata else { return };
        let Some((req, fetched)) = sata.complete.take() else { return };
        self.completed(0, req, fetched);
        if let Some(sata) = &mut self.sata {
            sata.complete.start_next(&mut self.events);
        }
    }

    /// The data of a page that was read have left their die.
    // Always, though there is a second caller: that one is rare, and the first one is on the
    // hottest path there is.
    #[inline(always)]
    pub(crate) fn read_done(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (purpose, link, request, address) =
            (record.purpose, record.link, record.request, record.address);
        match purpose {
            Purpose::Request => {
                let tenant = record.tenant as usize;
                if matches!(self.cache_modes[tenant], CacheMode::Read | CacheMode::ReadWrite) {
                    self.fill(tx);
                }
                self.drop_tx(tx);
                self.part_done(request);
            }
            Purpose::Merge => {
                self.txs[link].blocked = false;
                self.drop_tx(tx);
                self.unblocked(link);
            }
            Purpose::MappingLoad | Purpose::MappingMerge => {
                self.drop_tx(tx);
                if link != NIL {
                    self.txs[link].blocked = false;
                    self.unblocked(link);
                }
                self.mapping_read_done(address);
            }
            Purpose::Move => self.move_read(tx),
            Purpose::Destage | Purpose::MappingStore | Purpose::Erase => {
                debug_assert!(false, "{purpose:?} is no read");
            }
        }
    }

    /// A transaction that waited for another one may be issued now.
    fn unblocked(&mut self, tx: u32) {
        let channel = self.flash.units[self.txs[tx].unit as usize].channel;
        self.try_channel(channel);
    }

    /// A die has ended the program or the erase of a transaction.
    pub(crate) fn array_done(&mut self, tx: u32) {
        let record = &self.txs[tx];
        let (class, purpose, request, phys) =
            (record.class, record.purpose, record.request, record.phys);
        match class {
            Class::Erase => self.erased(tx),
            Class::GcWrite => self.move_written(tx),
            Class::MappingWrite => {
                let page = record.address;
                self.drop_tx(tx);
                self.ftl.mapping_written(page, phys);
                self.after_program(phys);
            }
            _ => {
                let flush = record.flush;
                let through = purpose == Purpose::Request && request != NIL;
                if through {
                    self.part_done(request);
                } else {
                    self.destaged(tx);
                }
                self.ftl.program_done(phys);
                self.drop_tx(tx);
                if flush != NIL {
                    self.flush_part_done(flush);
                }
                self.after_program(phys);
            }
        }
    }

    /// A program in a plane has ended. A block that could not be collected before may be a victim
    /// now.
    pub(crate) fn after_program(&mut self, phys: Phys) {
        let plane = self.layout.plane(phys);
        if !self.held[plane.index()].is_empty() {
            self.collect_for_held(plane);
        }
    }

    /// Forgets a transaction that is done.
    pub(crate) fn drop_tx(&mut self, tx: u32) {
        self.txs[tx].live = false;
        self.txs.remove(tx);
    }

    /// An empty list. Give it back with [`Core::give_list`].
    pub(crate) fn take_list(&mut self) -> Vec<u32> {
        self.spare_lists.pop().unwrap_or_default()
    }

    /// Keeps a list for reuse.
    pub(crate) fn give_list(&mut self, mut list: Vec<u32>) {
        list.clear();
        self.spare_lists.push(list);
    }

    /// Counts a request that has been completed.
    pub(crate) fn record(&mut self, req: u32) {
        let now = self.events.now();
        let record = &self.reqs[req];
        self.stats.complete(record, now);
        if let Some(completions) = &mut self.completions {
            completions.push(Completion {
                number: record.number,
                tenant: record.tenant,
                op: record.op,
                lba: record.lba,
                sectors: record.sectors,
                arrived: record.arrived,
                enqueued: record.enqueued,
                completed: now,
            });
        }
    }

    /// Nothing more will happen by itself: tries to collect the planes that hold writes back.
    /// Returns whether there are events now.
    pub(crate) fn collect_starved(&mut self) -> bool {
        for plane in 0..self.held.len() {
            if !self.held[plane].is_empty() {
                self.collect(PlaneId(plane as u32));
            }
        }
        self.events.next_at().is_some()
    }

    /// Planes whose host writes wait for free blocks.
    pub(crate) fn starved_planes(&self) -> impl Iterator<Item = PlaneId> + '_ {
        (self.held.iter().enumerate())
            .filter(|(_, held)| !held.is_empty())
            .map(|(plane, _)| PlaneId(plane as u32))
    }
}
