//! The fields of a text line as bytes: numbers, decimal times, words.
//!
//! A line is read once, from left to right, without building strings or checking UTF-8. Numbers are
//! read eight digits at a time, so that a field of unknown length costs one branch that is hard to
//! predict, not one for each digit.

use crate::error::Problem;

/// What is wrong with a line, before the file and the line number are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) expected: &'static str,
    pub(crate) column: u32,
    pub(crate) problem: Problem,
}

impl Fault {
    #[cold]
    pub(crate) fn new(problem: Problem, expected: &'static str, column: usize) -> Self {
        Self { expected, column: u32::try_from(column).unwrap_or(u32::MAX), problem }
    }
}

/// A number, and the column, from 0, at which it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) value: u64,
    pub(crate) column: usize,
}

/// A cursor over the fields of one line.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
    len: usize,
}

/// Powers of ten, from 10^0.
const POW10: [u64; 9] = {
    let mut table = [1; 9];
    let mut i = 1;
    while i < 9 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// The number of digits at the beginning of the eight bytes of `word`. The addition may carry, but
/// only from a byte that is no digit, so it disturbs later bytes only.
#[inline(always)]
fn leading_digits(word: u64) -> usize {
    let digits = word ^ 0x3030_3030_3030_3030;
    let wrong = (digits.wrapping_add(0x0606_0606_0606_0606) | digits) & 0xf0f0_f0f0_f0f0_f0f0;
    (wrong.trailing_zeros() / 8) as usize
}

/// The value of the first `n` (1 to 8) bytes of `word`, which are digits. Digits are joined to
/// pairs, pairs to fours, fours to eight.
#[inline(always)]
fn digits_value(word: u64, n: usize) -> u64 {
    let digits = (word ^ 0x3030_3030_3030_3030) << (64 - 8 * n);
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// The number at the start of `bytes`, and how many digits it has, possibly 0; `None` if the number
/// exceeds 64 bits.
#[inline(always)]
pub(crate) fn scan_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut rest = bytes;
    let mut value = 0u64;
    while let Some(chunk) = rest.first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let n = leading_digits(word);
        if n == 0 {
            return Some((value, bytes.len() - rest.len()));
        }
        value = value.checked_mul(POW10[n])?.checked_add(digits_value(word, n))?;
        rest = &rest[n..];
        if n < 8 {
            return Some((value, bytes.len() - rest.len()));
        }
    }
    while let Some((&digit @ b'0'..=b'9', after)) = rest.split_first() {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        rest = after;
    }
    Some((value, bytes.len() - rest.len()))
}

/// A cursor over lines of the most common form: numbers with one blank between them. A step gives
/// `None` for any other form, and near the end of the text. It loads eight bytes at a time.
pub(crate) struct Plain<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Plain<'a> {
    #[inline(always)]
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    #[inline(always)]
    fn word(&self) -> Option<u64> {
        self.text.get(self.at..self.at + 8)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
    }

    /// A number of up to 23 digits that fits into 64 bits.
    #[inline(always)]
    fn digits(&mut self) -> Option<u64> {
        let word = self.word()?;
        let n = leading_digits(word);
        if n == 0 {
            return None;
        }
        self.at += n;
        let mut value = digits_value(word, n);
        if n < 8 {
            return Some(value);
        }
        for _ in 0..2 {
            let word = self.word()?;
            let n = leading_digits(word);
            if n == 0 {
                return Some(value);
            }
            self.at += n;
            value = value.checked_mul(POW10[n])?.checked_add(digits_value(word, n))?;
            if n < 8 {
                return Some(value);
            }
        }
        None
    }

    #[inline(always)]
    fn blank(&mut self) -> Option<()> {
        let blank = matches!(self.text.get(self.at), Some(b' ' | b'\t'));
        self.at += 1;
        blank.then_some(())
    }

    /// A number and the blank after it.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let value = self.digits()?;
        self.blank()?;
        Some(value)
    }

    /// A name of at most seven digits and the blank after it. Returns a word whose low bytes are
    /// the name, and the length of the name; the bytes above the name have no meaning.
    #[inline(always)]
    pub(crate) fn short_name(&mut self) -> Option<(u64, usize)> {
        let word = self.word()?;
        let n = leading_digits(word);
        self.at += n;
        if n == 0 || n == 8 {
            return None;
        }
        self.blank()?;
        Some((word, n))
    }

    /// A digit that ends the line, and the position of the next line.
    #[inline(always)]
    pub(crate) fn last_digit(&self) -> Option<(u8, usize)> {
        match *self.text.get(self.at..)? {
            [digit @ b'0'..=b'9', b'\n', ..] => Some((digit - b'0', self.at + 2)),
            [digit @ b'0'..=b'9', b'\r', b'\n', ..] => Some((digit - b'0', self.at + 3)),
            _ => None,
        }
    }
}

impl<'a> Fields<'a> {
    #[inline(always)]
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { rest: line, len: line.len() }
    }

    /// A cursor at `column`, which must not exceed the length of `line`.
    #[inline(always)]
    pub(crate) fn from(line: &'a [u8], column: usize) -> Self {
        Self { rest: &line[column..], len: line.len() }
    }

    /// The column, from 0, of the next byte.
    #[inline(always)]
    pub(crate) fn column(&self) -> usize {
        self.len - self.rest.len()
    }

    #[cold]
    fn not_a_number(&self, expected: &'static str) -> Fault {
        let problem = match self.rest {
            [] => Problem::MissingField,
            [b'-', b'0'..=b'9' | b'.', ..] => Problem::Negative,
            [b'0'..=b'9', ..] => Problem::Overflow,
            _ => Problem::NotANumber,
        };
        Fault::new(problem, expected, self.column())
    }

    /// Reads an unsigned integer.
    #[inline(always)]
    pub(crate) fn number(&mut self, expected: &'static str) -> Result<Field, Fault> {
        let column = self.column();
        match scan_u64(self.rest) {
            Some((value, digits)) if digits > 0 => {
                self.rest = &self.rest[digits..];
                Ok(Field { value, column })
            }
            _ => Err(self.not_a_number(expected)),
        }
    }

    /// Reads a decimal number of units of `unit_ns` and converts it to nanoseconds. Fractions of a
    /// nanosecond are dropped.
    #[inline(always)]
    pub(crate) fn time(&mut self, unit_ns: u64, expected: &'static str) -> Result<Field, Fault> {
        let before = *self;
        let column = self.column();
        let whole = match self.rest.first() {
            Some(b'.') => 0,
            _ => self.number(expected)?.value,
        };
        let mut value = whole.checked_mul(unit_ns);
        if let Some((b'.', after)) = self.rest.split_first() {
            self.rest = after;
            value = value.and_then(|ns| ns.checked_add(self.fraction(unit_ns)));
        }
        if matches!(self.rest.first(), Some(b'e' | b'E')) {
            return before.scientific_time(self, unit_ns, expected);
        }
        match value {
            Some(value) => Ok(Field { value, column }),
            None => Err(Fault::new(Problem::Overflow, expected, column)),
        }
    }

    /// Reads digits as a fraction of `unit_ns`, in nanoseconds. Digits after the ninth do not
    /// count: no unit is longer than 1e9 ns.
    #[inline(always)]
    fn fraction(&mut self, unit_ns: u64) -> u64 {
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let used = digits.min(9);
        let value = self.rest[..used].iter().fold(0, |v, b| v * 10 + u64::from(b - b'0'));
        self.rest = &self.rest[digits..];
        let scale = match used {
            9 => 1_000_000_000,
            used => POW10[used],
        };
        // 999,999,999 x 1e9 fits 64 bits.
        value * unit_ns / scale
    }

    /// Reads a time such as `4.4e-05`. Scripts print times below 1e-4 in this form.
    #[cold]
    fn scientific_time(
        &self,
        after_mantissa: &mut Self,
        unit_ns: u64,
        expected: &'static str,
    ) -> Result<Field, Fault> {
        let mut end = after_mantissa.column() + 1 - self.column();
        if matches!(self.rest.get(end), Some(b'+' | b'-')) {
            end += 1;
        }
        end +=
            self.rest[end.min(self.rest.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        let column = self.column();
        let seconds = self
            .rest
            .get(..end)
            .and_then(|token| std::str::from_utf8(token).ok())
            .and_then(|token| token.parse::<f64>().ok())
            .ok_or(Fault::new(Problem::NotANumber, expected, column))?;
        let ns = seconds * unit_ns as f64;
        if !(0.0..1.8e19).contains(&ns) {
            return Err(Fault::new(Problem::Overflow, expected, column));
        }
        after_mantissa.rest = &self.rest[end..];
        Ok(Field { value: ns as u64, column })
    }

    /// Skips the separator `byte`.
    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8, expected: &'static str) -> Result<(), Fault> {
        match self.rest.split_first() {
            Some((&b, rest)) if b == byte => {
                self.rest = rest;
                Ok(())
            }
            None => Err(Fault::new(Problem::MissingField, expected, self.column())),
            Some(_) => Err(self.not_a_number(expected)),
        }
    }

    /// Skips blanks (spaces or tabs), at least one.
    #[inline(always)]
    pub(crate) fn blank(&mut self, expected: &'static str) -> Result<(), Fault> {
        match self.rest {
            [b' ' | b'\t', rest @ ..] => {
                self.rest = rest;
                self.skip_blanks();
                Ok(())
            }
            [] => Err(Fault::new(Problem::MissingField, expected, self.column())),
            _ => Err(self.not_a_number(expected)),
        }
    }

    /// Skips blanks, if any.
    #[inline(always)]
    pub(crate) fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// The bytes up to the next `stop`, possibly none. Skips the `stop`.
    #[inline(always)]
    pub(crate) fn until(&mut self, stop: u8, expected: &'static str) -> Result<&'a [u8], Fault> {
        match self.rest.iter().position(|&b| b == stop) {
            Some(n) => {
                let token = &self.rest[..n];
                self.rest = &self.rest[n + 1..];
                Ok(token)
            }
            None => Err(Fault::new(Problem::MissingField, expected, self.column())),
        }
    }

    /// The bytes up to the next blank or the end of the line, at least one.
    #[inline(always)]
    pub(crate) fn word(&mut self, expected: &'static str) -> Result<&'a [u8], Fault> {
        let n = self.rest.iter().position(|&b| b == b' ' || b == b'\t').unwrap_or(self.rest.len());
        if n == 0 {
            return Err(Fault::new(Problem::MissingField, expected, self.column()));
        }
        let token = &self.rest[..n];
        self.rest = &self.rest[n..];
        Ok(token)
    }

    /// The bytes that have not been read.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Checks that only blanks are left.
    #[inline(always)]
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        if self.rest.is_empty() {
            return Ok(());
        }
        self.skip_blanks();
        match self.rest {
            [] => Ok(()),
            _ => Err(Fault::new(Problem::ExtraField, "the end of the line", self.column())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: &str, unit_ns: u64) -> Result<u64, Problem> {
        Fields::new(text.as_bytes()).time(unit_ns, "t").map(|f| f.value).map_err(|f| f.problem)
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        assert_eq!(time("1455591804.310701000", 1_000_000_000), Ok(1_455_591_804_310_701_000));
        assert_eq!(time("1200487.4621539998", 1_000_000_000), Ok(1_200_487_462_153_999));
        assert_eq!(time("5265.313", 1_000_000), Ok(5_265_313_000));
        assert_eq!(time("17", 1), Ok(17));
        assert_eq!(time(".5", 1_000), Ok(500));
        assert_eq!(time("4.5e-05", 1_000_000_000), Ok(45_000));
        assert_eq!(time("128166385295514663", 100), Ok(12_816_638_529_551_466_300));
    }

    #[test]
    fn times_that_are_none_say_why() {
        assert_eq!(time("-1.5", 1_000), Err(Problem::Negative));
        assert_eq!(time("18446744073709551615", 2), Err(Problem::Overflow));
        assert_eq!(time("99999999999999999999", 1), Err(Problem::Overflow));
        assert_eq!(time("1e", 1), Err(Problem::NotANumber));
        assert_eq!(time("1e400", 1), Err(Problem::Overflow));
        assert_eq!(time("", 1), Err(Problem::MissingField));
        assert_eq!(time("x", 1), Err(Problem::NotANumber));
    }

    proptest! {
        #[test]
        fn numbers_agree_with_the_standard_library(
            value: u64,
            zeros in 0usize..12,
            tail in "[ ,;\\x3a\\x2f\\xff]?.{0,9}",
        ) {
            let tail = tail.trim_start_matches(|c: char| c.is_ascii_digit());
            let text = format!("{}{value}{tail}", "0".repeat(zeros));
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let expected = text[..digits].parse::<u64>().ok().map(|v| (v, digits));
            prop_assert_eq!(scan_u64(text.as_bytes()), expected);
        }

        #[test]
        fn any_bytes_scan_like_a_digit_loop(
            bytes in proptest::collection::vec(any::<u8>(), 0..30),
        ) {
            let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
            let text = std::str::from_utf8(&bytes[..digits]).expect("digits");
            let number = text.parse().ok().map(|v| (v, digits));
            let expected = if digits == 0 { Some((0, 0)) } else { number };
            prop_assert_eq!(scan_u64(&bytes), expected);
        }
    }
}
