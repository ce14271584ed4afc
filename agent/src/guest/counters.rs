//! # Interfaces' counters as text
//!
//! What /proc/net/dev tells, see proc(5): for kernels whose link messages have no counters.

use std::collections::HashMap;
use std::fs;

use anyhow::Context;

use super::links::Frames;
use crate::error::Error;

const FILE: &str = "/proc/net/dev";
const HEADER_LINES: usize = 2;

/// By the interface's name.
pub(super) fn read() -> Result<HashMap<String, Frames>, Error> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    Ok(text.lines().skip(HEADER_LINES).filter_map(parse).collect())
}

/// A line `NAME: ` with eight numbers of what was received and eight of what was sent: bytes, packets, errors, drops and others.
fn parse(line: &str) -> Option<(String, Frames)> {
    let (name, numbers) = line.split_once(':')?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let [
        _,
        received,
        _,
        dropped_in,
        _,
        _,
        _,
        _,
        _,
        sent,
        _,
        dropped_out,
        ..,
    ] = numbers[..]
    else {
        return None;
    };
    let frames = Frames {
        received,
        sent,
        dropped_in,
        dropped_out,
    };
    Some((name.trim().to_owned(), frames))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_and_drops_of_both_ways_are_told_apart() {
        let line = "  eth0: 9000 90 1 2 0 0 0 0 6000 60 0 3 0 0 0 0";
        let frames = Frames {
            received: 90,
            sent: 60,
            dropped_in: 2,
            dropped_out: 3,
        };
        assert_eq!(parse(line), Some(("eth0".to_owned(), frames)));
    }

    #[test]
    fn this_kernel_tells_of_its_loopback() {
        assert!(read().unwrap().contains_key("lo"));
    }

    proptest! {
        #[test]
        fn half_a_line_tells_nothing(line in ".{0,80}", numbers in prop::collection::vec(any::<u64>(), 0..12)) {
            let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
            prop_assert_eq!(parse(&format!("eth0: {}", numbers.join(" "))), None);
            let _ = parse(&line);
        }
    }
}
