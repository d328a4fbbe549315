//! MQSim's ASCII traces: `time device lba sectors type`, separated by blanks.
//!
//! Times are in nanoseconds, addresses and sizes in sectors of 512 bytes. Type 0 is a write, any
//! other type a read, as MQSim itself reads it. With another unit of time the times may have a
//! fraction.

use super::five_column::{self, FiveColumns};
use crate::decode::{Context, LineParser, Parsed};
use crate::request::{Op, Request};

pub(crate) struct Mqsim {
    pub(crate) unit_ns: u64,
}

impl LineParser for Mqsim {
    #[inline(always)]
    fn parse(&mut self, line: &[u8], context: &mut Context) -> Parsed {
        let row = FiveColumns::parse(line, self.unit_ns)?;
        let op = if row.kind.value == 0 { Op::Write } else { Op::Read };
        context.request(row.at, op, row.address, row.size, row.device)
    }

    const QUICK: bool = true;

    #[inline(always)]
    fn quick(&mut self, text: &[u8], context: &Context) -> Option<(Request, usize)> {
        five_column::quick(text, self.unit_ns, context, |kind| {
            Some(if kind == 0 { Op::Write } else { Op::Read })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Format;
    use crate::options::ReadOptions;
    use proptest::prelude::*;

    /// Numbers of all lengths, and fields that are no numbers.
    fn field() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => (0u32..64, any::<u64>()).prop_map(|(bits, n)| (n >> bits).to_string()),
            1 => "[0-9]{1,24}",
            1 => "[-+. a-z0-9]{0,9}",
        ]
    }

    proptest! {
        #[test]
        fn plain_lines_are_read_as_the_parser_of_all_lines_reads_them(
            fields in proptest::array::uniform4(field()),
            blanks in proptest::array::uniform4("( |\t|  ){1}"),
            device in "[0-9]{1,9}",
            kind in "[0-9]{1,2}",
            ending in "(\n|\r\n| \n)",
            unit_ns in 1u64..1000,
        ) {
            let [at, _, lba, sectors] = fields;
            let [a, b, c, d] = blanks;
            let line = format!("{at}{a}{device}{b}{lba}{c}{sectors}{d}{kind}");
            let text = format!("{line}{ending}next line");
            let mut context = Context::new(Format::Mqsim, &ReadOptions::default());
            let mut parser = Mqsim { unit_ns };
            let ends = ['\r', '\n'];
            let whole = format!("{line}{}", ending.trim_end_matches(ends));
            let parsed = parser.parse(whole.as_bytes(), &mut context);
            if let Some((request, used)) = parser.quick(text.as_bytes(), &context) {
                prop_assert_eq!(used, line.len() + ending.len());
                prop_assert_eq!(parsed.ok().flatten(), Some(request));
            }
        }
    }

    #[test]
    fn a_plain_line_takes_the_quick_way() {
        let mut context = Context::new(Format::Mqsim, &ReadOptions::default());
        let mut parser = Mqsim { unit_ns: 1 };
        let line = "18446744073709551615 4 264719034 16 0";
        let parsed = parser.parse(line.as_bytes(), &mut context).ok().flatten();
        for ending in ["\n", "\r\n"] {
            let text = format!("{line}{ending}938828000 3 197570570 16 0\n");
            let quick = parser.quick(text.as_bytes(), &context);
            assert_eq!(quick, parsed.map(|request| (request, line.len() + ending.len())));
        }
        for slow in
            ["18446744073709551616 4 0 16 0", "1 4 2 0 0", "1 9 2 8 0", "1 4 2 8 x", "1.5 4 2 8 0"]
        {
            assert_eq!(parser.quick(format!("{slow}\n1 4 2 8 0\n").as_bytes(), &context), None);
        }
    }
}
