//! Lines of bounded length on a byte stream.

use std::io::{self, BufRead, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// A message with its newline.
pub const LINE_MAX: usize = 65_536;

/// What a read gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its newline.
    Whole(Vec<u8>),
    /// Longer than LINE_MAX; passed over up to its end.
    TooLong,
    /// The peer is gone. A last line without a newline was cut short and is not given.
    End,
}

/// Reads the next line, holding LINE_MAX bytes at most.
pub fn read_line(input: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(Line::End);
        }
        let newline = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..newline.unwrap_or(available.len())];
        too_long |= line.len() + part.len() >= LINE_MAX;
        if too_long {
            line.clear();
        } else {
            line.extend_from_slice(part);
        }
        let used = newline.map_or(available.len(), |at| at + 1);
        input.consume(used);
        if newline.is_some() {
            return Ok(if too_long {
                Line::TooLong
            } else {
                Line::Whole(line)
            });
        }
    }
}

/// The writing end, shared by all that answer.
pub struct Output(Mutex<Box<dyn Write + Send>>);

impl Output {
    pub fn new(output: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(output)))
    }

    /// Writes one message. A peer that is gone is noticed by the reader, so that the error is not told here.
    pub fn send(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn lines(bytes: &[u8], capacity: usize) -> Vec<Line> {
        let mut input = BufReader::with_capacity(capacity, bytes);
        let mut lines = Vec::new();
        loop {
            match read_line(&mut input).unwrap() {
                Line::End => return lines,
                line => lines.push(line),
            }
        }
    }

    #[test]
    fn a_long_line_is_passed_over_and_the_next_one_read() {
        let mut bytes = vec![b'x'; LINE_MAX];
        bytes.extend_from_slice(b"\nnext\n");
        assert_eq!(
            lines(&bytes, 1000),
            [Line::TooLong, Line::Whole(b"next".to_vec())]
        );
    }

    #[test]
    fn the_longest_line_is_read() {
        let mut bytes = vec![b'x'; LINE_MAX - 1];
        bytes.push(b'\n');
        assert_eq!(lines(&bytes, 1000), [Line::Whole(vec![b'x'; LINE_MAX - 1])]);
    }

    #[test]
    fn a_line_cut_short_is_not_given() {
        assert_eq!(lines(b"one\ntw", 10), [Line::Whole(b"one".to_vec())]);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(
            texts in prop::collection::vec("[a-z]{0,20}", 0..20), capacity in 1..50_usize,
        ) {
            let bytes: String = texts.iter().map(|text| format!("{text}\n")).collect();
            let expected: Vec<Line> = texts.iter().map(|t| Line::Whole(t.clone().into_bytes())).collect();
            prop_assert_eq!(lines(bytes.as_bytes(), capacity), expected);
        }
    }
}
