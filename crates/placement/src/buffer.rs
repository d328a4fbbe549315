//! A write buffer in front of the translation layer: a page that is rewritten while it is in the
//! buffer costs no flash write, so policies and references see only what leaves it.
//!
//! The page that was written least recently leaves first (LRU), since a page that was just
//! rewritten is the likeliest to be rewritten again, and a buffer in order of arrival would write
//! it out all the same. What is left at the end leaves in the same order.
//!
//! A page keeps what its last write said of it (application, shape of the request); it
//! leaves when a later write needs its place. Cost: a look-up in a hash table and in a tree of the
//! buffer's pages for each page, and 32 B for each write that leaves.

use crate::load::{Buffered, Load, WriteRequest};
use std::collections::{BTreeMap, HashMap};

/// A page in the buffer: the page, and the number of the request that wrote it last.
#[derive(Clone, Copy)]
struct Held {
    page: u32,
    request: usize,
}

/// The buffer, and what has left it.
struct Buffer<'a> {
    requests: &'a [WriteRequest],
    /// The pages in order of their last writes.
    held: BTreeMap<u64, Held>,
    /// When each page was last written, in pages.
    written: HashMap<u32, u64>,
    left: Vec<WriteRequest>,
    /// The request of the page that left last, unless the next page must not be joined to it.
    joined: Option<usize>,
}

/// Puts a write buffer of some pages in front of the drive; none if there are 0.
pub(crate) fn behind(load: Load, pages: u32) -> Load {
    if pages == 0 {
        return load;
    }
    let (writes, buffered) = Buffered::pass(&load.writes, pages);
    Load { writes, buffered: Some(buffered), ..load }
}

impl Buffered {
    /// Sends writes through a buffer of at least one page: those that leave it, and what it did.
    fn pass(requests: &[WriteRequest], pages: u32) -> (Vec<WriteRequest>, Self) {
        let mut buffer = Buffer {
            requests,
            held: BTreeMap::new(),
            written: HashMap::new(),
            left: Vec::new(),
            joined: None,
        };
        let (mut now, mut half, mut entered_before) = (0, 0, 0);
        for (number, request) in requests.iter().enumerate() {
            if number == requests.len() / 2 {
                (half, entered_before) = (buffer.left.len(), now);
                buffer.joined = None;
            }
            for page in request.page..request.page + request.count {
                if let Some(before) = buffer.written.insert(page, now) {
                    buffer.held.remove(&before);
                } else if buffer.held.len() == pages as usize {
                    buffer.push_out(request.at_ns);
                }
                buffer.held.insert(now, Held { page, request: number });
                now += 1;
            }
        }
        while !buffer.held.is_empty() {
            buffer.push_out(requests[requests.len() - 1].at_ns);
        }
        let leaving: u64 = buffer.left.iter().map(|write| u64::from(write.count)).sum();
        let (absorbed_pages, measured_pages) = (now - leaving, now - entered_before);
        (buffer.left, Self { pages, host_pages: now, absorbed_pages, measured_pages, half })
    }
}

impl Buffer<'_> {
    /// Writes out the page that was written least recently. Neighbours of one request that leave
    /// one after the other stay one request.
    fn push_out(&mut self, at_ns: u64) {
        let Some((_, Held { page, request })) = self.held.pop_first() else { return };
        self.written.remove(&page);
        match self.left.last_mut() {
            Some(last) if self.joined == Some(request) && last.page + last.count == page => {
                last.count += 1;
            }
            _ => {
                let write = &self.requests[request];
                self.left.push(WriteRequest { at_ns, page, count: 1, ..*write });
            }
        }
        self.joined = Some(request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::HostRequest;

    fn write(at_ns: u64, page: u32, count: u32) -> WriteRequest {
        let host = HostRequest { page, count, ..HostRequest::default() };
        WriteRequest { at_ns, page, count, application: page as u16, host }
    }

    #[test]
    fn pages_leave_in_the_order_of_their_last_writes() {
        // Three pages of room. Page 0 is rewritten while it is inside.
        let requests =
            [write(0, 0, 1), write(1, 5, 2), write(2, 0, 1), write(3, 8, 1), write(4, 9, 1)];
        let (left, buffered) = Buffered::pass(&requests, 3);
        // 8 pushes out 5, and 9 pushes out 6: still one request. At the end 0, 8 and 9 leave. The
        // second half begins with the third request, before any page has left.
        let expected = [write(3, 5, 2), write(4, 0, 1), write(4, 8, 1), write(4, 9, 1)];
        assert_eq!(left, expected);
        let expected =
            Buffered { pages: 3, host_pages: 6, absorbed_pages: 1, measured_pages: 3, half: 0 };
        assert_eq!(buffered, expected);
    }

    #[test]
    fn the_halves_are_those_of_the_host() {
        // One page of room: a page leaves when another comes. Requests 0 and 1 are the first half.
        let requests = [write(0, 1, 2), write(1, 2, 1), write(2, 3, 1), write(3, 3, 1)];
        let (left, buffered) = Buffered::pass(&requests, 1);
        let pages: Vec<(u64, u32)> = left.iter().map(|write| (write.at_ns, write.page)).collect();
        assert_eq!(pages, [(0, 1), (2, 2), (3, 3)]);
        // Page 1 left the request of pages 1 and 2, and still knows that a page follows.
        assert_eq!(left[0].host, requests[0].host);
        assert_eq!((buffered.half, buffered.measured_pages, buffered.absorbed_pages), (1, 2, 2));
        // What is larger than all writes absorbs every rewrite.
        let (left, buffered) = Buffered::pass(&requests, 100);
        let pages: Vec<u32> = left.iter().map(|write| write.page).collect();
        assert_eq!((pages, buffered.absorbed_pages), (vec![1, 2, 3], 2));
    }
}
