//! # Lines on a byte stream, bounded in length

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Mutex;

use crate::api::bounds::LONGEST_LINE_BYTES;

/// Longest line either side may send, its newline included.
pub const LINE_LIMIT_BYTES: usize = LONGEST_LINE_BYTES as usize;

/// What the reader found up to the next newline, or up to the end of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A whole line, without its newline.
    Whole(&'a [u8]),
    /// A line above the limit, skipped to its end.
    TooLong,
    /// The stream ended within a line.
    Truncated,
    /// The stream ended.
    End,
}

/// Reads lines and holds at most one of them, however long the sender makes it.
pub(super) struct LineReader<R> {
    input: BufReader<R>,
    line: Vec<u8>,
}

impl<R: Read> LineReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Line<'_>> {
        self.line.clear();
        let mut too_long = false;
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if available.is_empty() {
                return Ok(match (too_long, self.line.is_empty()) {
                    (true, _) => Line::TooLong,
                    (false, true) => Line::End,
                    (false, false) => Line::Truncated,
                });
            }
            let newline = available.iter().position(|&byte| byte == b'\n');
            let part = &available[..newline.unwrap_or(available.len())];
            too_long |= self.line.len() + part.len() >= LINE_LIMIT_BYTES;
            if !too_long {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(newline.is_some());
            self.input.consume(used);
            if newline.is_some() {
                return Ok(match too_long {
                    true => Line::TooLong,
                    false => Line::Whole(&self.line),
                });
            }
        }
    }
}

/// Writes whole lines; threads may share it.
pub(super) struct LineWriter<W>(Mutex<W>);

impl<W: Write> LineWriter<W> {
    pub(super) fn new(output: W) -> Self {
        Self(Mutex::new(output))
    }

    /// Writes `line`, which ends with its newline.
    pub(super) fn write(&self, line: &[u8]) -> io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(|poison| poison.into_inner());
        output.write_all(line)?;
        output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives its bytes in pieces of any size, as a pipe may.
    struct Pieces<'a> {
        bytes: &'a [u8],
        size: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.size.min(self.bytes.len()).min(buffer.len());
            let (now, later) = self.bytes.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.bytes = later;
            Ok(count)
        }
    }

    #[test]
    fn a_line_may_fill_the_limit_but_not_exceed_it() {
        let longest = vec![b'a'; LINE_LIMIT_BYTES - 1];
        let mut stream = longest.clone();
        stream.push(b'\n');
        stream.extend(vec![b'b'; LINE_LIMIT_BYTES]);
        stream.extend(b"\nnext\n");
        let mut reader = LineReader::new(&stream[..]);
        assert_eq!(reader.next().unwrap(), Line::Whole(&longest));
        assert_eq!(reader.next().unwrap(), Line::TooLong);
        assert_eq!(reader.next().unwrap(), Line::Whole(b"next"));
        assert_eq!(reader.next().unwrap(), Line::End);
    }

    #[test]
    fn the_end_within_a_line_is_told_once() {
        let mut reader = LineReader::new(&b"whole\nhalf"[..]);
        assert_eq!(reader.next().unwrap(), Line::Whole(b"whole"));
        assert_eq!(reader.next().unwrap(), Line::Truncated);
        assert_eq!(reader.next().unwrap(), Line::End);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_arrive(
            lines in prop::collection::vec("[^\n]{0,200}", 0..8),
            size in 1_usize..300,
        ) {
            let stream: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
            let mut reader = LineReader::new(Pieces { bytes: stream.as_bytes(), size });
            for line in &lines {
                prop_assert_eq!(reader.next().unwrap(), Line::Whole(line.as_bytes()));
            }
            prop_assert_eq!(reader.next().unwrap(), Line::End);
        }
    }
}
