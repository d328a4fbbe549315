//! Text formats: the input is cut into lines, and each goes to the parser of its format.

use super::{Context, Decoder, LineParser};
use crate::error::{Malformed, Position, Problem, TraceError};
use crate::input::{Batch, Input};
use crate::text::Fault;
use memchr::{memchr, memchr_iter, memrchr};

/// Reading ends with an error after this much input without a single request.
const BARREN_BYTES: u64 = 64 << 20;

/// Hands the lines of the input to a parser.
pub(crate) struct TextDecoder<P> {
    parser: P,
    /// The number of lines read.
    line: u64,
    /// Whether a line has been accepted, so that no header can follow.
    started: bool,
    /// Whether the rest of an overlong line is being skipped.
    discarding: bool,
    /// The offset in the input up to which requests have been found.
    barren_since: u64,
}

impl<P: LineParser> TextDecoder<P> {
    pub(crate) fn new(parser: P) -> Self {
        Self { parser, line: 0, started: false, discarding: false, barren_since: 0 }
    }

    #[cold]
    fn bad_line(
        &mut self,
        line: &[u8],
        fault: Fault,
        input: &Input,
        context: &mut Context,
    ) -> Result<(), TraceError> {
        let ignorable = line.trim_ascii().is_empty() || line.starts_with(b"#");
        if ignorable || (!self.started && self.parser.is_header(line)) {
            return Ok(());
        }
        let binary = line.iter().any(|&b| b < 0x20 && b != b'\t' && b != b'\r');
        let (problem, column, found) = if binary {
            (Problem::NotText, 0, line)
        } else {
            let at = (fault.column as usize).min(line.len());
            (fault.problem, at + 1, &line[at..])
        };
        context.fault(Malformed {
            path: input.path().to_path_buf(),
            position: Position::Line(self.line),
            column,
            format: context.format.name(),
            expected: fault.expected,
            found: context.shown(found),
            problem,
        })
    }

    #[inline]
    fn lines(
        &mut self,
        input: &Input,
        upto: usize,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        let chunk = &input.available()[..upto];
        batch.mark(self.line + 1);
        if P::QUICK {
            return self.quick_lines(chunk, input, context, batch);
        }
        let mut start = 0;
        for end in memchr_iter(b'\n', chunk) {
            self.one(&chunk[start..end], input, context, batch)?;
            start = end + 1;
        }
        if start < chunk.len() {
            self.one(&chunk[start..], input, context, batch)?;
        }
        Ok(())
    }

    /// Does the work of [`lines`](Self::lines) for parsers with a quick path: plain lines are read
    /// without looking for their ends first.
    fn quick_lines(
        &mut self,
        mut rest: &[u8],
        input: &Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        loop {
            let before = batch.requests.len();
            while let Some((request, used)) = self.parser.quick(rest, context) {
                batch.requests.push(request);
                rest = &rest[used..];
            }
            let plain = batch.requests.len() - before;
            self.line += plain as u64;
            self.started |= plain > 0;
            if rest.is_empty() {
                return Ok(());
            }
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            self.one(&rest[..end], input, context, batch)?;
            rest = rest.get(end + 1..).unwrap_or(&[]);
        }
    }

    #[inline(always)]
    fn one(
        &mut self,
        line: &[u8],
        input: &Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<(), TraceError> {
        self.line += 1;
        let line = match line {
            [head @ .., b'\r'] => head,
            line => line,
        };
        match self.parser.parse(line, context) {
            Ok(Some(request)) => {
                batch.requests.push(request);
                self.started = true;
            }
            Ok(None) => {
                self.started = true;
                batch.mark(self.line + 1);
            }
            Err(fault) => {
                self.bad_line(line, fault, input, context)?;
                batch.mark(self.line + 1);
            }
        }
        Ok(())
    }

    /// Handles a line longer than the limit: in lenient mode it is skipped, otherwise it is an
    /// error.
    #[cold]
    fn endless(&mut self, input: &mut Input, context: &mut Context) -> Result<(), TraceError> {
        if !self.discarding {
            self.line += 1;
            self.discarding = true;
            context.fault(Malformed {
                path: input.path().to_path_buf(),
                position: Position::Line(self.line),
                column: 0,
                format: context.format.name(),
                expected: "the end of the line",
                found: context.shown(input.available()),
                problem: Problem::LineTooLong,
            })?;
        }
        input.consume(input.available().len());
        Ok(())
    }
}

impl<P: LineParser> Decoder for TextDecoder<P> {
    fn decode(
        &mut self,
        input: &mut Input,
        context: &mut Context,
        batch: &mut Batch,
    ) -> Result<bool, TraceError> {
        input.fill()?;
        if self.discarding
            && let Some(end) = memchr(b'\n', input.available())
        {
            input.consume(end + 1);
            self.discarding = false;
        }
        let available = input.available();
        if available.is_empty() {
            return Ok(false);
        }
        let upto = match memrchr(b'\n', available) {
            Some(last) => last + 1,
            None if input.at_end() && available.len() <= context.max_line_bytes => available.len(),
            None if available.len() >= context.max_line_bytes.min(input.capacity()) => 0,
            None => return Ok(!input.at_end()),
        };
        if upto == 0 || self.discarding {
            self.endless(input, context)?;
        } else {
            self.lines(input, upto, context, batch)?;
            input.consume(upto);
        }
        if !batch.requests.is_empty() || context.stats.deselected > 0 {
            self.barren_since = input.offset();
        } else if input.offset() - self.barren_since > BARREN_BYTES {
            return Err(TraceError::Empty {
                path: input.path().to_path_buf(),
                detail: format!(
                    " within {} MiB up to line {}, as {}; --format names another format",
                    BARREN_BYTES >> 20,
                    self.line,
                    context.format.name()
                ),
            });
        }
        Ok(true)
    }

    fn by_line(&self) -> bool {
        true
    }
}
