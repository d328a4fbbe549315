//! The firmware: the main loop of a drive around the crate `ssdtune-ftl`, executed directly.
//!
//! The drive is that of §4.1 of the paper: page mapping with the whole table in DRAM, 1 TiB of
//! logical capacity and a quarter more of flash, 4 channels, 4 ways, 2 dies, pages of 16 KiB (Fig.
//! 1). A plane begins to collect greedily when fewer than 10 % of its blocks are free, and stops
//! when 15 % are.
//!
//! The paper says when collection runs and not how its thread shares the CPU. Here a collecting
//! plane collects one victim after every 16 pages (a sixteenth of a block) that the host writes to
//! it. The drive begins in steady state, with its planes spread evenly over the cycle between the
//! two limits, so that collection runs from the first group on.
//!
//! Left out: threads, and the time of flash operations. They end at once, so nothing is in flight
//! when the next request comes.

use serde::{Deserialize, Serialize};
use ssdtune_ftl::{Ftl, FtlError, InitialContent, NoLoad, Phys, Places, Start, TenantSpec};
use ssdtune_model::config::{Allocation, GcPolicy};
use ssdtune_model::{BlockAddr, DeviceConfig, Geometry, Lpn, PlaneId, Table, TenantId};
use ssdtune_trace::{Op, Request};
use std::hint::black_box;
use std::str::FromStr;

/// Share of free blocks below which a plane begins to collect, 0 to 1.
pub const COLLECT_BELOW: f64 = 0.10;
/// Share of free blocks at which a plane stops collecting, 0 to 1.
pub const COLLECT_UNTIL: f64 = 0.15;
/// Between two victims of a plane the host writes the pages of a block divided by this number.
const TURN_SHARE: u32 = 16;
/// Share of a plane's cycle in which it collects, 0 to 1. A victim frees about 46 of its 256 pages
/// in steady state and the host writes 16 meanwhile, so the plane gains 30 pages for each victim.
const COLLECTING_SHARE: f64 = 0.35;

/// The drive's only tenant.
const TENANT: TenantId = TenantId(0);

/// How much work the firmware did. All but the merges are numbers that a simulator also knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkCounts {
    /// Requests served.
    pub requests: u64,
    /// Pages looked up for host reads.
    pub pages_read: u64,
    /// Pages placed for host writes.
    pub pages_written: u64,
    /// Pages written in part, whose other sectors had to be read first.
    pub merges: u64,
    /// Pages trimmed.
    pub pages_trimmed: u64,
    /// Blocks collected.
    pub victims: u64,
    /// Pages moved out of collected blocks.
    pub pages_moved: u64,
}

impl WorkCounts {
    /// Names of the counts, in the order of [`WorkCounts::values`].
    pub const NAMES: [&str; 7] = [
        "requests",
        "pages_read",
        "pages_written",
        "merges",
        "pages_trimmed",
        "victims",
        "pages_moved",
    ];

    /// Names of the counts that a simulator also knows.
    pub const SIMULATED: [&str; 6] =
        ["requests", "pages_read", "pages_written", "pages_trimmed", "victims", "pages_moved"];

    /// All counts, in the order of [`WorkCounts::NAMES`].
    pub fn values(&self) -> [u64; 7] {
        [
            self.requests,
            self.pages_read,
            self.pages_written,
            self.merges,
            self.pages_trimmed,
            self.victims,
            self.pages_moved,
        ]
    }
}

/// The size of the firmware's drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveSize {
    /// 1 TiB, as in the paper.
    Paper,
    /// 8 GiB, to try things out.
    Small,
}

impl FromStr for DriveSize {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let sizes = [Self::Paper, Self::Small];
        let found = sizes.into_iter().find(|size| size.name() == name);
        found.ok_or_else(|| "write paper or small".to_owned())
    }
}

impl DriveSize {
    /// The word for the size on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Small => "small",
        }
    }

    /// The configuration of the drive. Its collection threshold is the share of free blocks at
    /// which collection stops; the main loop decides when it begins.
    pub fn config(self) -> DeviceConfig {
        let mut config = DeviceConfig { name: "firmware".to_owned(), ..DeviceConfig::default() };
        config.bus.channels = 4;
        config.bus.chips_per_channel = 4;
        config.flash.dies_per_chip = 2;
        config.flash.planes_per_die = 1;
        config.flash.page_bytes = 16_384;
        // 32 planes x 10,240 blocks x 256 pages x 16 KiB = 1.25 TiB.
        (config.flash.blocks_per_plane, config.flash.pages_per_block) = match self {
            Self::Paper => (10_240, 256),
            Self::Small => (320, 64),
        };
        config.mapping.ideal = true;
        config.mapping.allocation = Allocation::Static;
        // A quarter of the logical capacity is a fifth of the raw one.
        config.mapping.overprovisioning = 0.2;
        config.gc.policy = GcPolicy::Greedy;
        config.gc.threshold = COLLECT_UNTIL;
        config.gc.hard_threshold = COLLECT_BELOW / 2.0;
        config.wear.static_leveling = false;
        config
    }
}

/// A drive: the FTL, and what the main loop of the firmware keeps besides.
pub struct FirmwareDrive {
    ftl: Ftl,
    /// Whether each plane collects.
    collecting: Table<PlaneId, bool>,
    /// Pages that the host has written to each collecting plane since its last victim.
    written: Table<PlaneId, u32>,
    begin_below: u32,
    turn_pages: u32,
    page_sectors: u64,
    pages: u64,
    full_mask: u64,
    counts: WorkCounts,
    victim_pages: Vec<Phys>,
    /// The victims so far, in their order, while a rehearsal asks for them.
    victims: Option<Vec<BlockAddr>>,
}

impl FirmwareDrive {
    /// A drive in steady state; `seed` decides where its data lie.
    ///
    /// # Errors
    /// The FTL refuses the configuration.
    pub fn new(size: DriveSize, seed: u64) -> Result<Self, FtlError> {
        let config = size.config();
        let geometry: Geometry = config.geometry();
        let specs = [TenantSpec { places: Places::all(&geometry), writer: false }];
        let mut ftl = Ftl::new(&config, &specs)?;
        let planes = geometry.planes() as usize;
        let (free, collecting): (Vec<f64>, Vec<bool>) = (0..planes).map(phase).unzip();
        ftl.set_initial_content(&InitialContent {
            start: Start::Steady,
            occupancy: vec![1.0],
            footprints: Vec::new(),
            erases: 0,
            free,
            seed,
        })?;
        let page_sectors = u64::from(geometry.sectors_per_page());
        Ok(Self {
            collecting: collecting.into_iter().collect(),
            written: Table::of(0, planes),
            begin_below: (COLLECT_BELOW * f64::from(geometry.blocks_per_plane)) as u32,
            turn_pages: (geometry.pages_per_block / TURN_SHARE).max(1),
            page_sectors,
            pages: ftl.tenant_pages(TENANT),
            full_mask: (1 << page_sectors) - 1,
            counts: WorkCounts::default(),
            victim_pages: Vec::with_capacity(geometry.pages_per_block as usize),
            victims: None,
            ftl,
        })
    }

    /// How many sectors the host can address.
    pub fn sectors(&self) -> u64 {
        self.pages * self.page_sectors
    }

    /// Keeps victims from now on.
    pub fn remember_victims(&mut self) {
        self.victims = Some(Vec::new());
    }

    /// The victims since they are kept, in their order; from now on they are not kept.
    pub fn take_victims(&mut self) -> Vec<BlockAddr> {
        self.victims.take().unwrap_or_default()
    }

    /// Puts the given blocks, the page-table entries of the pages that requests name, and the open
    /// blocks of their planes into memory, as if the drive had been filled by writing. Otherwise
    /// they are computed when they are first looked at, a cost that no firmware has.
    pub fn store(&mut self, blocks: &[BlockAddr], requests: &[Request]) {
        for &block in blocks {
            self.ftl.store_block(block);
        }
        for request in requests {
            let (first, last) = self.span(request);
            for lpn in (first..=last).map(Lpn) {
                self.ftl.entry(TENANT, lpn);
            }
        }
        self.ftl.store_open_blocks();
    }

    /// The work since the last call.
    pub fn take_counts(&mut self) -> WorkCounts {
        std::mem::take(&mut self.counts)
    }

    /// Serves a request. Returns `false` if the drive has no room for it.
    pub fn serve(&mut self, request: &Request) -> bool {
        self.counts.requests += 1;
        let (first, last) = self.span(request);
        match request.op {
            Op::Read => self.read(first, last),
            Op::Write => return self.write(request, first, last),
            Op::Trim => {
                for lpn in (first..=last).map(Lpn) {
                    self.ftl.trim(TENANT, lpn);
                }
                self.counts.pages_trimmed += last - first + 1;
            }
            Op::Flush => {}
        }
        true
    }

    /// First and last page that a request touches, held inside the drive.
    fn span(&self, request: &Request) -> (u64, u64) {
        let first = request.lba.0 / self.page_sectors;
        let last = (request.lba.0 + u64::from(request.sectors).max(1) - 1) / self.page_sectors;
        (first.min(self.pages - 1), last.min(self.pages - 1))
    }

    fn read(&mut self, first: u64, last: u64) {
        for lpn in (first..=last).map(Lpn) {
            let at = self.ftl.find(TENANT, lpn);
            black_box(at.and_then(|at| self.ftl.phys(at)));
        }
        self.counts.pages_read += last - first + 1;
    }

    fn write(&mut self, request: &Request, first: u64, last: u64) -> bool {
        let end = request.lba.0 + u64::from(request.sectors);
        for lpn in (first..=last).map(Lpn) {
            let base = lpn.0 * self.page_sectors;
            let from = request.lba.0.saturating_sub(base).min(self.page_sectors - 1);
            let to = (end - base.min(end)).clamp(from + 1, self.page_sectors);
            let mask = self.full_mask >> (self.page_sectors - (to - from)) << from;
            let at = self.ftl.entry(TENANT, lpn);
            let plane = self.ftl.plane_for_write(TENANT, lpn, &NoLoad);
            while self.ftl.must_hold(TENANT, lpn, plane) {
                if !self.collect_one(plane) {
                    return false;
                }
            }
            let plan = self.ftl.place_write(TENANT, lpn, at, plane, mask);
            self.counts.merges += u64::from(plan.merge.is_some());
            self.ftl.program_done(black_box(plan.placed.phys));
            self.after_write(plane, plan.placed.opened);
        }
        self.counts.pages_written += last - first + 1;
        true
    }

    /// Begins collection in a plane that ran low, and gives a collecting plane its turn.
    fn after_write(&mut self, plane: PlaneId, opened: bool) {
        if opened && self.ftl.free_blocks(plane) < self.begin_below {
            self.collecting[plane] = true;
        }
        if !self.collecting[plane] {
            return;
        }
        self.written[plane] += 1;
        if self.written[plane] >= self.turn_pages {
            self.written[plane] = 0;
            self.collecting[plane] = self.collect_one(plane);
        }
    }

    /// Collects one victim of a plane. Returns `false` if the plane has enough free blocks.
    fn collect_one(&mut self, plane: PlaneId) -> bool {
        let Some(victim) = self.ftl.next_victim(plane) else { return false };
        if let Some(victims) = &mut self.victims {
            victims.push(victim);
        }
        let mut pages = std::mem::take(&mut self.victim_pages);
        pages.extend(self.ftl.victim_pages(victim));
        for &from in &pages {
            if let Some(placed) = self.ftl.place_move(from) {
                self.ftl.commit_move(from, black_box(placed.phys));
            }
        }
        self.counts.victims += 1;
        self.counts.pages_moved += pages.len() as u64;
        pages.clear();
        self.victim_pages = pages;
        self.ftl.erase_done(victim);
        true
    }

    /// Checks the invariants of the FTL, for tests.
    ///
    /// # Panics
    /// An invariant is broken.
    #[cfg(test)]
    fn check(&self) {
        self.ftl.check();
    }

    /// Free blocks of each plane, for tests.
    #[cfg(test)]
    fn free_blocks(&self) -> Vec<u32> {
        self.collecting.names().map(|plane| self.ftl.free_blocks(plane)).collect()
    }
}

/// Where in its cycle a plane begins: its share of free blocks, and whether it collects. Planes
/// that are neighbours in the striping order are far apart in the cycle.
fn phase(plane: usize) -> (f64, bool) {
    let width = COLLECT_UNTIL - COLLECT_BELOW;
    let at = ((plane as f64 + 0.5) * 0.618_033_988_749_895).fract();
    let falling = 1.0 - COLLECTING_SHARE;
    if at < falling {
        (COLLECT_UNTIL - width * at / falling, false)
    } else {
        (COLLECT_BELOW + width * (at - falling) / COLLECTING_SHARE, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::firmware::workloads::Workload;
    use ssdtune_model::{Nanos, Sectors};

    fn request(op: Op, lba: u64, sectors: u32) -> Request {
        Request { at: Nanos(0), lba: Sectors(lba), sectors, tenant: TenantId(0), op }
    }

    #[test]
    fn the_paper_s_drive_has_a_tebibyte_and_a_quarter_more() {
        let geometry = DriveSize::Paper.config().geometry();
        assert_eq!(geometry.pages() * 16_384, 5 << 38, "1.25 TiB");
        let drive = FirmwareDrive::new(DriveSize::Paper, 0).unwrap();
        assert_eq!(drive.pages * 16_384, 1 << 40);
        for free in drive.free_blocks() {
            assert!((1_023..=1_536).contains(&free), "{free} of 10,240 blocks");
        }
    }

    #[test]
    fn pages_and_merges_are_counted() {
        let mut drive = FirmwareDrive::new(DriveSize::Small, 1).unwrap();
        // 32 sectors a page: three sectors across a border touch two pages, each in part.
        assert!(drive.serve(&request(Op::Write, 31, 3)));
        assert!(drive.serve(&request(Op::Write, 64, 32)));
        assert!(drive.serve(&request(Op::Read, 0, 96)));
        assert!(drive.serve(&request(Op::Trim, 0, 32)));
        let expected = WorkCounts {
            requests: 4,
            pages_read: 3,
            pages_written: 3,
            merges: 2,
            pages_trimmed: 1,
            ..WorkCounts::default()
        };
        let counts = drive.take_counts();
        assert_eq!(WorkCounts { victims: 0, pages_moved: 0, ..counts }, expected);
        drive.check();
    }

    #[test]
    fn collection_keeps_every_plane_between_its_marks() {
        let mut drive = FirmwareDrive::new(DriveSize::Small, 2).unwrap();
        let rw = Workload::of("RW").unwrap().requests(60, 0).unwrap();
        let mut collected = 0;
        for requests in rw.chunks(1_000) {
            for request in requests {
                // The model's addresses exceed the small drive.
                let lba = Sectors(request.lba.0 % (8 << 21));
                assert!(drive.serve(&Request { lba, ..*request }));
            }
            collected += drive.take_counts().victims;
            for free in drive.free_blocks() {
                assert!((30..=50).contains(&free), "{free} of 320 blocks are free");
            }
        }
        assert!(collected > 100, "{collected} victims");
        drive.check();
    }

    #[test]
    fn a_stored_drive_does_what_a_defined_one_does() {
        let requests = Workload::of("LB").unwrap().requests(8, 0).unwrap();
        let small =
            |request: &Request| Request { lba: Sectors(request.lba.0 % (8 << 21)), ..*request };
        let requests: Vec<Request> = requests.iter().map(small).collect();
        let serve = |drive: &mut FirmwareDrive| {
            drive.remember_victims();
            assert!(requests.iter().all(|request| drive.serve(request)));
            drive.check();
            (drive.take_counts(), drive.take_victims())
        };
        let (counts, victims) = serve(&mut FirmwareDrive::new(DriveSize::Small, 3).unwrap());
        assert!(victims.len() > 10);
        let mut stored = FirmwareDrive::new(DriveSize::Small, 3).unwrap();
        stored.store(&victims, &requests);
        stored.check();
        assert_eq!(serve(&mut stored), (counts, victims));
    }
}
