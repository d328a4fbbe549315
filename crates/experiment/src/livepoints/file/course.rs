//! What was written by when, as bytes.

use super::super::course::WRITES;
use super::super::{Course, Mark, Written, Wrote};
use super::numbers::{Bytes, put, put_signed};
use super::{Damage, PAGES_END};

/// Bytes that a mark takes at least, and a write.
const MARK: usize = Mark::ALL + 2;
const WROTE: usize = 3;

/// Appends a course.
pub(super) fn put_course(out: &mut Vec<u8>, course: &Course) {
    put(out, course.marks.len() as u64);
    let mut last = Mark { request: 0, written: Written::default() };
    for mark in &course.marks {
        put(out, mark.request.wrapping_sub(last.request).into());
        for (written, before) in mark.written.iter().zip(last.written) {
            put(out, written.wrapping_sub(before));
        }
        last = *mark;
    }
    put(out, course.writes.len() as u64);
    let (mut request, mut end) = (0, 0);
    for wrote in &course.writes {
        put(out, wrote.request.wrapping_sub(request).into());
        put_signed(out, wrote.first.wrapping_sub(end) as i64);
        put(out, wrote.pages.into());
        (request, end) = (wrote.request, wrote.first + u64::from(wrote.pages));
    }
}

/// Reads the course of a trace with this many requests.
pub(super) fn course(bytes: &mut Bytes<'_>, requests: u64) -> Result<Course, Damage> {
    let marks = marks(bytes, requests)?;
    let count = bytes.count(WROTE)?;
    if count > WRITES {
        return Err("more writes than any program keeps");
    }
    let (mut last, mut end) = (0_u32, 0_u64);
    let writes = bytes.column(count, |bytes| {
        last = last.checked_add(bytes.small()?).ok_or("a time is too late")?;
        let (first, pages) = (end.wrapping_add_signed(bytes.signed()?), bytes.small()?);
        if u64::from(last) >= requests || first >= PAGES_END {
            return Err("a write is out of range");
        }
        end = first + u64::from(pages);
        Ok(Wrote { request: last, first, pages })
    })?;
    Ok(Course { marks, writes })
}

fn marks(bytes: &mut Bytes<'_>, requests: u64) -> Result<Vec<Mark>, Damage> {
    let count = bytes.count(MARK)?;
    let mut last = Mark { request: 0, written: Written::default() };
    let marks = bytes.column(count, |bytes| {
        let request = last.request.checked_add(bytes.small()?);
        last.request = request.ok_or("a time is too late")?;
        for written in &mut last.written {
            *written = written.checked_add(bytes.number()?).ok_or("too many pages")?;
        }
        Ok(last)
    })?;
    match marks.last() {
        Some(last) if u64::from(last.request) == requests => Ok(marks),
        _ => Err("it is not said how much was written up to the end"),
    }
}
