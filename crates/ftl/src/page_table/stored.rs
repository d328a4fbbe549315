//! How a page table is stored: leaves of 8 words of 64 bits, each 36 bits of place and 28 of mark.
//! That form is older than the one in memory, and snapshots have it.

use super::{CacheMark, EntryRef, LEAF_PAGES, Node, PHYS_BITS, PageTable, Phys};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

const PLACE_MASK: u64 = (1 << PHYS_BITS) - 1;
/// The stored place of a page that holds no data, whatever the drive held at the start.
const UNMAPPED: u64 = PLACE_MASK;

type Leaf = [u64; LEAF_PAGES as usize];

#[derive(Serialize)]
struct Borrowed<'a> {
    root: &'a [u32],
    nodes: Nodes<'a>,
    leaves: Leaves<'a>,
    statuses: &'a Option<Vec<[u32; LEAF_PAGES as usize]>>,
    mapped: u64,
}

/// Nodes as lists, since serde has no arrays of this size.
struct Nodes<'a>(&'a [Node]);

impl Serialize for Nodes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(|node| node.as_slice()))
    }
}

/// Leaves, one at a time.
struct Leaves<'a>(&'a PageTable);

impl Serialize for Leaves<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let word = |at: EntryRef| {
            let place = match self.0.phys(at) {
                Some(phys) => phys.0 + 1,
                None if self.0.is_untouched(at) => 0,
                None => UNMAPPED,
            };
            place | u64::from(self.0.mark(at).0) << PHYS_BITS
        };
        let leaf = |leaf| -> Leaf {
            std::array::from_fn(|index| word(EntryRef { leaf, index: index as u32 }))
        };
        to.collect_seq((0..self.0.leaves).map(leaf))
    }
}

impl Serialize for PageTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { root, nodes, statuses, mapped, chunks: _, leaves: _, leaf_log2: _ } = self;
        let (nodes, leaves) = (Nodes(nodes), Leaves(self));
        Borrowed { root, nodes, leaves, statuses, mapped: *mapped }.serialize(to)
    }
}

#[derive(Deserialize)]
struct Stored {
    root: Vec<u32>,
    nodes: Vec<Box<[u32]>>,
    leaves: Vec<Leaf>,
    statuses: Option<Vec<[u32; LEAF_PAGES as usize]>>,
    mapped: u64,
}

impl<'de> Deserialize<'de> for PageTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Stored { root, nodes, leaves, statuses, mapped } = Stored::deserialize(from)?;
        let mut table = Self::new(0, false);
        table.root = root;
        for node in nodes {
            let node: Result<Box<Node>, _> = node.try_into();
            table.nodes.push(*node.map_err(|_| D::Error::custom("a node of another size"))?);
        }
        for leaf in leaves {
            table.add_leaf();
            for (index, word) in leaf.into_iter().enumerate() {
                let at = EntryRef { leaf: table.leaves - 1, index: index as u32 };
                match word & PLACE_MASK {
                    0 => {}
                    UNMAPPED => table.set_initial(at, None),
                    place => table.move_to(at, Phys(place - 1)),
                }
                table.set_mark(at, CacheMark((word >> PHYS_BITS) as u32));
            }
        }
        (table.statuses, table.mapped) = (statuses, mapped);
        Ok(table)
    }
}
