//! # What programs write: lines of bounded length, and the last of them

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};

/// Longer lines come in pieces.
const LINE_BYTES: u64 = 4096;
const TAIL_LINES: usize = 12;
const SHOWN_BYTES: usize = 200;

/// Hands on each line without its newline, how many bytes it was, and whether it is a whole one, until the stream ends
/// or nothing more is wanted.
pub(super) fn each_line(stream: impl Read, mut take: impl FnMut(&[u8], u64, bool) -> bool) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    let mut begins = true;
    loop {
        line.clear();
        let Ok(read @ 1..) = (&mut reader).take(LINE_BYTES).read_until(b'\n', &mut line) else {
            return;
        };
        let ends = line.last() == Some(&b'\n');
        let text = if ends { &line[..line.len() - 1] } else { &line };
        if !take(text, read as u64, begins && ends) {
            return;
        }
        begins = ends;
    }
}

/// A line as it is shown: its beginning, without control characters.
pub(super) fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN_BYTES)]);
    text.trim_end()
        .chars()
        .map(|char| if char.is_control() { '?' } else { char })
        .collect()
}

/// The last lines that were written.
#[derive(Debug, Default)]
pub(super) struct Tail(VecDeque<String>);

impl Tail {
    pub(super) fn add(&mut self, line: &[u8]) {
        if self.0.len() == TAIL_LINES {
            self.0.pop_front();
        }
        self.0.push_back(shown(line));
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &[u8]) -> Vec<(usize, bool)> {
        let mut found = Vec::new();
        let mut bytes = 0;
        each_line(content, |line, read, is_whole| {
            bytes += read;
            found.push((line.len(), is_whole));
            true
        });
        assert_eq!(bytes, content.len() as u64);
        found
    }

    #[test]
    fn lines_are_told_from_pieces() {
        assert_eq!(
            lines(b"1\n\n22\n3"),
            [(1, true), (0, true), (2, true), (1, false)]
        );
        let long = [vec![b'1'; 5000], b"\n7\n".to_vec()].concat();
        assert_eq!(lines(&long), [(4096, false), (904, false), (1, true)]);
    }

    #[test]
    fn the_last_lines_are_kept_as_they_can_be_shown() {
        let mut tail = Tail::default();
        for number in 0..20 {
            tail.add(format!("\x1b[2J{number}").as_bytes());
        }
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (TAIL_LINES, "?[2J8"));
    }
}
