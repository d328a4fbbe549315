//! FIU SRCMap and I/O-deduplication traces: `time pid process lba sectors R|W major minor md5`,
//! separated by blanks.
//!
//! Times are in nanoseconds, addresses and sizes in sectors of 512 bytes. A device is a pair of
//! numbers (`6,0`). The name of a process may hold blanks, so a line is split from both ends.

use crate::decode::{Context, LineParser, Parsed, read_write};
use crate::error::Problem;
use crate::text::{Fault, Fields};

pub(crate) struct Fiu {
    pub(crate) unit_ns: u64,
}

/// The column at which the last `n` words of `line` begin.
fn last_words(line: &[u8], n: usize) -> Option<usize> {
    let mut end = line.trim_ascii_end().len();
    for word in 0..n {
        end = line[..end].iter().rposition(|&b| b == b' ')? + 1;
        if word + 1 < n {
            end = line[..end].trim_ascii_end().len();
        }
    }
    Some(end)
}

impl LineParser for Fiu {
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let mut fields = Fields::new(line);
        let at = fields.time(self.unit_ns, "the time in ns")?;
        fields.blank("a blank, then the process number")?;
        fields.number("the process number")?;
        fields.blank("a blank, then the process name")?;
        let tail = last_words(line, 6).filter(|&tail| tail > fields.column());
        let Some(tail) = tail else {
            let expected = "process, address, size, operation, two device numbers and a hash";
            return Err(Fault::new(Problem::MissingField, expected, line.len()));
        };
        let mut fields = Fields::from(line, tail);
        let lba = fields.number("the address in sectors")?;
        fields.blank("a blank, then the size")?;
        let size = fields.number("the size in sectors")?;
        fields.blank("a blank, then the operation")?;
        let op_column = fields.column();
        let op = read_write(fields.word("R or W")?, op_column)?;
        fields.blank("a blank, then the major device number")?;
        let major = fields.number("the major device number")?.value;
        fields.blank("a blank, then the minor device number")?;
        let minor = fields.number("the minor device number")?.value;
        context.request(at, op, lba, size, format!("{major},{minor}").as_bytes())
    }
}
