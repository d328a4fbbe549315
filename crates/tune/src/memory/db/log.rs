//! Reads sled's files without sled: what a store holds, without changing a byte of it.
//!
//! sled mends its log as it opens it. The first damaged message of the newest part counts as the
//! end, and all that lies behind it is overwritten with zeros; damage in older parts is left out.
//! So an AutoDB is looked at here first, and one that has lost something is refused while all the
//! rest is still there for `db export`, which reads it with this module too.
//!
//! The log is the file `db`, in segments of 512 KiB. A segment begins with 20 bytes: a checksum,
//! its place in the order of all that was ever written (LSN), and the place up to which all was on
//! disk by then. Messages follow: a checksum, a kind, three numbers (length, number of the segment,
//! page) and a body. A body is a whole page, which is a node of the tree, or one change of a leaf.
//! Bodies above 128 KiB are files of their own in the folder `blobs`. Segments that are not needed
//! any more are written anew, and keep old messages until then.
//!
//! sled's notes on how far it had come (`snap.…`) say in their name up to which place. The rest of
//! them is not read, since the log says it too, and neither is `conf`.

mod node;
#[cfg(test)]
mod tests;

use node::{Bytes, Leaf, Link, Page};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// The size of a segment in bytes.
const SEGMENT: usize = 512 << 10;
/// The size of its header in bytes.
const SEGMENT_HEADER: usize = 20;
/// The size of the smallest message in bytes.
const MESSAGE_MIN: usize = 8;
/// No message begins in the last bytes of a segment.
const MESSAGE_HEADER_MAX: usize = 32;

// Kinds of messages.
const CAP: u8 = 2;
const BATCH: u8 = 3;
const FREE: u8 = 4;
const META: u8 = 6;
const META_FILE: u8 = 7;
const NODE: u8 = 8;
const NODE_FILE: u8 = 9;
const LINK: u8 = 10;
const LINK_FILE: u8 = 11;

/// Keys and values as they are stored.
pub(super) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a file in the folder `blobs` holds.
pub(super) enum Body {
    Found(Vec<u8>),
    /// The page has been written anew since, and the file removed.
    Gone,
    Damaged,
}

/// Why a log says nothing about what a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Senseless {
    /// A part of the tree is missing or contradicts another one.
    Torn,
    /// A page or a place has a number that no engine gives. The engine would make a table as long
    /// as the number.
    MadeUp,
}

/// What the store in a directory holds, as the engine will find it.
pub(super) fn intact(store: &Path) -> io::Result<Result<Contents, Senseless>> {
    let log = read(store)?;
    Ok(intact_of(&log, noted(store)?, &|number| file_body(store, number)))
}

/// What can be read in the files of a store, whatever has happened to it: the values of its leaves
/// as far as their messages are sound and, where a leaf is missing, every value that was once
/// there. So a key can have several values, and where a message is missing an older one or one that
/// was removed.
pub(super) fn saved(store: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let log = read(store)?;
    Ok(saved_of(&log, &|number| file_body(store, number)))
}

/// [`intact`] of the bytes of a log that the engine has read up to `noted`.
pub(super) fn intact_of(
    log: &[u8],
    noted: i64,
    body: &dyn Fn(i64) -> Body,
) -> Result<Contents, Senseless> {
    let segments = segments(log);
    // What was on disk when a segment was begun lies before it.
    if segments.iter().any(|(&base, segment)| segment.stable > base + SEGMENT as i64) {
        return Err(Senseless::MadeUp);
    }
    let tip = tip(&segments, noted, body);
    // Numbers are given in order, and each page has a message in the log.
    let last = (log.len() / MESSAGE_MIN) as u64;
    let mut pages = Pages::default();
    for (&base, segment) in &segments {
        let mut at = SEGMENT_HEADER;
        while let Some(message) = message(segment.bytes, at) {
            let place = base + at as i64;
            let is_cut = message.kind == BATCH && message.last_of_batch().is_none_or(|to| to > tip);
            if place > tip || is_cut {
                return pages.tree().ok_or(Senseless::Torn);
            }
            if message.kind == CAP || message.segment != base / SEGMENT as i64 {
                break;
            }
            if message.page > last && (FREE..=LINK_FILE).contains(&message.kind) {
                return Err(Senseless::MadeUp);
            }
            at += message.length;
            pages.apply(&message, body).ok_or(Senseless::Torn)?;
        }
    }
    pages.tree().ok_or(Senseless::Torn)
}

/// [`saved`] of the bytes of a log.
pub(super) fn saved_of(log: &[u8], body: &dyn Fn(i64) -> Body) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut messages = Vec::new();
    for segment in log.chunks(SEGMENT) {
        let mut at = SEGMENT_HEADER;
        // Behind a damaged message, the next one is looked for byte by byte.
        while at < segment.len() {
            let Some(message) = message(segment, at) else {
                at += 1;
                continue;
            };
            let base = message.segment.saturating_mul(SEGMENT as i64);
            let length = message.length;
            messages.push((base.saturating_add(at as i64), message));
            at += length;
        }
    }
    messages.sort_by_key(|(place, _)| *place);
    let mut pages = Pages { every: Some(Vec::new()), ..Pages::default() };
    for (_, message) in &messages {
        // A page that makes no sense is left out.
        let _ = pages.apply(message, body);
    }
    pages.all()
}

fn read(store: &Path) -> io::Result<Vec<u8>> {
    match fs::read(store.join("db")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// The place up to which the engine has read the log before, which is the name of its notes.
fn noted(store: &Path) -> io::Result<i64> {
    let entries = match fs::read_dir(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut newest = 0;
    for entry in entries {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix("snap."));
        newest = newest.max(digits.map_or(0, |text| i64::from_str_radix(text, 16).unwrap_or(0)));
    }
    Ok(newest)
}

/// The file of a long body: a checksum, the kind, the body.
fn file_body(store: &Path, number: i64) -> Body {
    let bytes = match fs::read(store.join("blobs").join(number.to_string())) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Body::Gone,
        Err(_) => return Body::Damaged,
    };
    match bytes.split_first_chunk::<4>() {
        Some((sum, rest)) if !rest.is_empty() && crc32fast::hash(rest).to_le_bytes() == *sum => {
            Body::Found(rest[1..].to_vec())
        }
        _ => Body::Damaged,
    }
}

/// A segment whose header is sound.
struct Segment<'a> {
    /// The place up to which all was on disk when the segment was begun.
    stable: i64,
    bytes: &'a [u8],
}

/// The segments by their places.
fn segments(log: &[u8]) -> BTreeMap<i64, Segment<'_>> {
    let sound = |bytes: &'_ [u8]| -> Option<(i64, i64)> {
        let mut header = Bytes(bytes);
        let sum = u32::from_le_bytes(header.array()?);
        let place = i64::from_le_bytes(header.array()?) ^ i64::MAX;
        let stable = i64::from_le_bytes(header.array()?) ^ i64::MAX;
        let is_sound = !crc32fast::hash(&bytes[4..SEGMENT_HEADER]) == sum
            && place >= 0
            && place < i64::MAX - SEGMENT as i64
            && place % SEGMENT as i64 == 0;
        is_sound.then_some((place, stable))
    };
    log.chunks(SEGMENT)
        .filter_map(|bytes| sound(bytes).map(|(place, stable)| (place, Segment { stable, bytes })))
        .collect()
}

/// The last place that the engine will count as written. Up to the place that its notes or headers
/// call stable it takes the log on trust; behind that, segments must follow each other without a
/// gap, and the first message that is not whole is the end.
fn tip(segments: &BTreeMap<i64, Segment>, noted: i64, body: &dyn Fn(i64) -> Body) -> i64 {
    // What is noted is in the notes, whatever the log says.
    end(segments, noted, body).max(noted) - 1
}

/// Where the log ends behind what is noted.
fn end(segments: &BTreeMap<i64, Segment>, noted: i64, body: &dyn Fn(i64) -> Body) -> i64 {
    const SIZE: i64 = SEGMENT as i64;
    let stable = segments.values().map(|segment| segment.stable).fold(noted, i64::max).max(0);
    let first = stable / SIZE * SIZE;
    let mut end = 0;
    for (base, (&found, segment)) in (0..).map(|i| first + i * SIZE).zip(segments.range(first..)) {
        if base != found {
            break;
        }
        let mut at = SEGMENT_HEADER;
        loop {
            end = base + at as i64;
            if at > SEGMENT - MESSAGE_HEADER_MAX {
                break;
            }
            let Some(message) = message(segment.bytes, at) else { return end };
            let torn = message.segment != base / SIZE
                || message.is_file()
                    && matches!(message.file().map(body), None | Some(Body::Damaged));
            if torn {
                return end;
            }
            if message.kind == CAP {
                break;
            }
            at += message.length;
        }
    }
    end
}

/// A message whose checksum is right.
struct Message<'a> {
    kind: u8,
    segment: i64,
    page: u64,
    body: &'a [u8],
    /// The size of header and body in bytes.
    length: usize,
}

/// The message at an offset in a segment.
fn message(segment: &[u8], at: usize) -> Option<Message<'_>> {
    if at > SEGMENT - MESSAGE_HEADER_MAX {
        return None;
    }
    let bytes = segment.get(at..)?;
    let mut rest = Bytes(bytes);
    let sum = u32::from_le_bytes(rest.array()?);
    let kind = rest.byte()?;
    if !(1..=LINK_FILE).contains(&kind) {
        return None;
    }
    let size = usize::try_from(rest.number()?).ok()?;
    let segment = i64::try_from(rest.number()?).ok()?;
    let page = rest.number()?;
    let header = bytes.len() - rest.0.len();
    let body = rest.take(size)?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(body);
    hasher.update(&bytes[4..header]);
    let length = header + size;
    (!hasher.finalize() == sum).then_some(Message { kind, segment, page, body, length })
}

impl Message<'_> {
    fn is_file(&self) -> bool {
        matches!(self.kind, META_FILE | NODE_FILE | LINK_FILE)
    }

    /// The number of the file that holds the body.
    fn file(&self) -> Option<i64> {
        Bytes(self.body).array().map(i64::from_le_bytes)
    }

    /// The place of the last message of the batch that begins here.
    fn last_of_batch(&self) -> Option<i64> {
        self.file()
    }
}

/// Pages as messages leave them.
#[derive(Default)]
struct Pages {
    pages: BTreeMap<u64, Page>,
    /// The page that the tree begins with.
    root: Option<u64>,
    /// If wanted: every value ever met, in the order of writing.
    every: Option<Vec<(Vec<u8>, Vec<u8>)>>,
}

impl Pages {
    /// Does what a message says; `None` if it makes no sense.
    fn apply(&mut self, message: &Message, body: &dyn Fn(i64) -> Body) -> Option<()> {
        if !message.is_file() {
            return self.apply_body(message, message.body);
        }
        match body(message.file()?) {
            Body::Found(bytes) => self.apply_body(message, &bytes),
            Body::Gone => Some(()),
            Body::Damaged => None,
        }
    }

    fn apply_body(&mut self, message: &Message, body: &[u8]) -> Option<()> {
        match message.kind {
            // The very first message names no tree yet.
            META | META_FILE => self.root = node::root(body).or(self.root),
            NODE | NODE_FILE => {
                let page = Page::read(body)?;
                if let (Some(every), Page::Leaf(leaf)) = (&mut self.every, &page) {
                    every.extend(leaf.contents());
                }
                self.pages.insert(message.page, page);
            }
            LINK | LINK_FILE => {
                let link = Link::read(body)?;
                let leaf = match self.pages.get_mut(&message.page) {
                    Some(Page::Leaf(leaf)) => Some(leaf),
                    _ => None,
                };
                if let (Some(every), Link::Set(key, value)) = (&mut self.every, &link) {
                    // Without its page it is not known what the key begins with. Often nothing.
                    let prefix = leaf.as_ref().map_or(&[][..], |leaf| &leaf.prefix);
                    every.push(([prefix, key].concat(), value.to_vec()));
                }
                if let Some(leaf) = leaf {
                    leaf.apply(link);
                }
            }
            FREE => drop(self.pages.remove(&message.page)),
            _ => {}
        }
        Some(())
    }

    /// The values of all leaves, and all values ever met whose keys lie in none of them.
    fn all(mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let every = self.every.take().unwrap_or_default();
        let leaves = || {
            self.pages.values().filter_map(|page| match page {
                Page::Leaf(leaf) => Some(leaf),
                Page::Index { .. } => None,
            })
        };
        let high: BTreeMap<&[u8], &[u8]> =
            leaves().map(|leaf| (&leaf.low[..], &leaf.high[..])).collect();
        let is_in_a_leaf = |key: &[u8]| {
            let nearest = high.range(..=key).next_back();
            nearest.is_some_and(|(_, &high)| high.is_empty() || key < high)
        };
        let strays = every.into_iter().filter(|(key, _)| !is_in_a_leaf(key));
        let mut all: Vec<_> = strays.collect();
        all.extend(leaves().flat_map(Leaf::contents));
        all
    }

    /// What is in the tree: from the root to the first leaf, then from leaf to leaf. `None` if a
    /// leaf is missing. A store that was never completely made holds nothing.
    fn tree(&self) -> Option<Contents> {
        let mut contents = Contents::new();
        let Some(mut page) = self.root else { return Some(contents) };
        let mut low: &[u8] = &[];
        // No page is visited twice, so more steps than pages are a circle.
        for _ in 0..self.pages.len() {
            match self.pages.get(&page)? {
                Page::Index { first } => page = *first,
                Page::Leaf(leaf) => {
                    if leaf.low != low {
                        return None;
                    }
                    contents.extend(leaf.contents());
                    let Some(next) = leaf.next else { return Some(contents) };
                    (page, low) = (next, &leaf.high);
                }
            }
        }
        None
    }
}
