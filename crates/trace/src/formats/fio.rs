//! I/O logs of fio (`write_iolog`), versions 2 and 3. The first line states the version.
//!
//! Version 2: `file action [offset length]`, without times. A `wait` action moves the clock by its
//! offset in microseconds, counted from the wait before it; waits below 100 are discarded. This is
//! what fio's manual says ("Trace file format v2"). The replay of fio itself takes the number as
//! milliseconds since its own start; that is not followed here.
//!
//! Version 3: `time file action [offset length]`, times in microseconds by default, no waits.
//!
//! Offsets and lengths are in bytes. A device is a file. The actions sync, datasync and syncfs are
//! flushes. The actions add, open, close and the like are ignored, and so is sync_file_range, which
//! does not flush the cache of the drive.

use crate::decode::{Context, LineParser, Parsed};
use crate::error::Problem;
use crate::request::Op;
use crate::text::{Fault, Field, Fields};

/// The shortest wait that counts, in microseconds.
const WAIT_MIN: u64 = 100;

#[derive(Default)]
pub(crate) struct Fio {
    unit_ns: u64,
    /// The version of the log; 0 before its first line.
    version: u8,
    /// The clock of a log of version 2, in nanoseconds.
    now_ns: u64,
}

impl Fio {
    pub(crate) fn new(unit_ns: u64) -> Self {
        Self { unit_ns, ..Self::default() }
    }

    fn header(&mut self, line: &[u8]) -> Parsed {
        self.version = match line.trim_ascii_end() {
            b"fio version 2 iolog" => 2,
            b"fio version 3 iolog" => 3,
            _ => {
                let expected = "`fio version 2 iolog` or `fio version 3 iolog`";
                return Err(Fault::new(Problem::BadHeader, expected, 0));
            }
        };
        Ok(None)
    }

    /// Moves the clock of a log of version 2.
    fn wait(&mut self, wait: Field) -> Parsed {
        if wait.value >= WAIT_MIN {
            let later =
                wait.value.checked_mul(self.unit_ns).and_then(|d| d.checked_add(self.now_ns));
            self.now_ns = later.ok_or_else(|| {
                Fault::new(Problem::Overflow, "a wait in microseconds", wait.column)
            })?;
        }
        Ok(None)
    }
}

impl LineParser for Fio {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        if self.version == 0 {
            return self.header(line);
        }
        let mut fields = Fields::new(line);
        let mut at = Field { value: self.now_ns, column: 0 };
        if self.version == 3 {
            at = fields.time(self.unit_ns, "the time in microseconds")?;
            fields.blank("a blank, then the file")?;
        }
        let device = fields.word("the file")?;
        fields.blank("a blank, then the action")?;
        let column = fields.column();
        let op = match fields.word("the action")? {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"syncfs" => {
                let nowhere = Field { value: 0, column };
                return context.request(at, Op::Flush, nowhere, nowhere, device);
            }
            b"wait" if self.version == 2 => {
                fields.skip_blanks();
                let wait = fields.number("the wait in microseconds")?;
                return self.wait(wait);
            }
            b"add" | b"open" | b"close" | b"unlink" | b"sync_file_range" => return Ok(None),
            _ => {
                let expected = match self.version {
                    2 => "read, write, trim, sync, datasync, wait, add, open or close",
                    _ => {
                        "read, write, trim, sync, datasync, add, open or close (no wait: lines \
                         have times)"
                    }
                };
                return Err(Fault::new(Problem::UnknownOp, expected, column));
            }
        };
        fields.skip_blanks();
        let offset = fields.number("the offset in bytes")?;
        fields.skip_blanks();
        let size = fields.number("the length in bytes")?;
        fields.end()?;
        context.byte_request(at, op, offset, size, device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Format;
    use crate::options::ReadOptions;

    /// The times of the requests of a log, or its first fault.
    fn times(log: &str) -> Result<Vec<u64>, Problem> {
        let mut context = Context::new(Format::Fio, &ReadOptions::default());
        let mut parser = Fio::new(1_000);
        let mut times = Vec::new();
        for line in log.lines() {
            if let Some(request) =
                parser.parse(line.as_bytes(), &mut context).map_err(|f| f.problem)?
            {
                times.push(request.at.0);
            }
        }
        Ok(times)
    }

    #[test]
    fn waits_add_up_and_short_ones_are_discarded() {
        let log = "fio version 2 iolog\n/f read 0 512\n/f wait 99 0\n/f wait 100 0\n/f read 0 512\n\
                   /f wait 2000000\n/f write 0 512\n/f sync 0 0\n";
        assert_eq!(times(log), Ok(vec![0, 100_000, 2_000_100_000, 2_000_100_000]));
        let endless = "fio version 2 iolog\n/f wait 18446744073709551615 0\n";
        assert_eq!(times(endless), Err(Problem::Overflow));
    }

    #[test]
    fn version_3_has_times_and_no_waits() {
        let log = "fio version 3 iolog\n0 /f add\n7 /f sync_file_range 0 0\n9 /f read 0 512\n";
        assert_eq!(times(log), Ok(vec![9_000]));
        assert_eq!(times("fio version 3 iolog\n5 /f wait 1000 0\n"), Err(Problem::UnknownOp));
    }
}
