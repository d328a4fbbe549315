//! The hand-written seeds of the fuzzed formats give the requests that they describe.

use ssdtune_trace::Op::{self, Flush, Read, Trim, Write};
use ssdtune_trace::{Format, ReadOptions, Request, open};

/// A request: its time in nanoseconds, operation, first sector, number of sectors, and tenant.
type Expected = (u64, Op, u64, u32, u16);

/// The format, the file and the requests of each seed.
const SEEDS: &[(&str, &str, &[Expected])] = &[
    (
        "csv",
        "seed",
        &[
            (0, Read, 2048, 8, 0),
            (1000, Write, 0, 16, 1),
            (2000, Trim, 0, 16, 1),
            (3000, Flush, 0, 0, 0),
        ],
    ),
    ("msr", "seed", &[(0, Write, 17_687_528, 4, 0), (21_500, Read, 23_154_984, 1, 1)]),
    ("systor17", "seed", &[(0, Write, 8_965_968_975, 8, 1), (2_002_000, Read, 397_399_216, 64, 0)]),
    ("spc", "seed", &[(0, Write, 20_941_264, 16, 0), (2_335_000, Read, 20_939_840, 16, 1)]),
    ("mqsim", "seed", &[(0, Write, 264_719_034, 16, 0), (315_000, Read, 197_570_570, 16, 1)]),
    ("disksim", "seed", &[(0, Write, 6_357_144, 8, 0), (390_000, Read, 6_307_768, 8, 0)]),
    ("heimdall", "seed", &[(0, Write, 391_848, 8, 0), (223_412_000, Read, 6_170_600, 72, 0)]),
    (
        "blkparse",
        "seed",
        &[
            (0, Read, 4_938_888, 256, 0),
            (99_973_579, Flush, 0, 0, 1),
            (199_973_579, Trim, 64, 64, 1),
        ],
    ),
    ("fio", "seed", &[(0, Write, 8, 16, 0), (3_000, Flush, 0, 0, 0), (13_000, Trim, 0, 8, 0)]),
    ("fio", "v2", &[(0, Write, 0, 8, 0), (1_000_000, Read, 8, 8, 0), (1_000_000, Flush, 0, 0, 0)]),
    ("alibaba", "seed", &[(0, Write, 17_173_304, 32, 0), (191_000, Read, 115_449_856, 256, 1)]),
    (
        "tencent",
        "seed",
        &[(0, Read, 13_896_880, 128, 1), (1_000_000_000, Write, 4_247_200, 128, 0)],
    ),
    ("fiu", "seed", &[(0, Write, 18_579_576, 8, 0), (4_980_861, Read, 508_516_672, 8, 0)]),
    ("diskmon", "seed", &[(0, Write, 3_271_215, 8, 0), (3_625_000, Read, 108_745_397, 8, 0)]),
    ("blkreplay", "seed", &[(0, Write, 80, 8, 0), (499_877_000, Read, 88, 16, 0)]),
    (
        "wiscsee",
        "seed",
        &[(0, Read, 584, 8, 0), (45_000, Write, 8, 1, 0), (100_000_000, Trim, 0, 8, 0)],
    ),
    (
        "vscsi",
        "v1",
        &[
            (0, Write, 1000, 8, 0),
            (1_000, Read, 1008, 8, 0),
            (3_000, Trim, 1024, 8, 0),
            (4_000, Flush, 0, 0, 0),
        ],
    ),
    ("vscsi", "v2", &[(0, Write, 1000, 8, 0), (1_000, Read, 1008, 8, 0)]),
    (
        "blktrace",
        "le",
        &[(0, Read, 0, 8, 0), (100, Write, 8, 8, 0), (200, Trim, 16, 8, 0), (300, Flush, 0, 0, 0)],
    ),
    ("blktrace", "be", &[(0, Read, 0, 8, 0), (100, Write, 8, 8, 0)]),
];

#[test]
fn seeds_mean_what_their_formats_say() {
    for (format, file, expected) in SEEDS {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus");
        let path = format!("{corpus}/trace-{format}/{file}");
        let options = ReadOptions {
            format: Some(Format::parse(format).expect("known")),
            ..ReadOptions::default()
        };
        let requests = open(path, &options).and_then(|mut trace| trace.read_all()).expect("reads");
        let row = |r: &Request| (r.at.0, r.op, r.lba.0, r.sectors, r.tenant.0);
        assert_eq!(requests.iter().map(row).collect::<Vec<_>>(), *expected, "{format}/{file}");
    }
}
