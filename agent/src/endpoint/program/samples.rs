//! # What a client tells of its iterations
//!
//! A line that is a decimal number is a sample in ns, one that is `failed` an iteration without; all other lines are
//! counted, and the first of them kept.

use super::output::shown;

const FAILED: &[u8] = b"failed";

#[derive(Debug, Default)]
pub(super) struct Samples {
    most: usize,
    /// Of each iteration; null where it failed.
    pub(super) ns: Vec<Option<u64>>,
    /// Samples beyond those that were asked for.
    pub(super) excess: u64,
    /// Lines that are no samples.
    pub(super) garbage: u64,
    pub(super) first_garbage: Option<String>,
}

impl Samples {
    /// Takes up to `most` samples.
    pub(super) fn of(most: usize) -> Self {
        Self {
            most,
            // Touched before the run: the reader shares a CPU with what is timed.
            ns: Vec::with_capacity(most),
            ..Self::default()
        }
    }

    /// Takes a line without its newline; one that is not whole is none.
    pub(super) fn take(&mut self, line: &[u8], is_whole: bool) {
        let line = line.trim_ascii();
        match sample(line).filter(|_| is_whole) {
            Some(_) if self.ns.len() == self.most => self.excess += 1,
            Some(ns) => self.ns.push(ns),
            None if is_whole && line.is_empty() => {}
            None => {
                self.garbage += 1;
                self.first_garbage.get_or_insert_with(|| shown(line));
            }
        }
    }
}

/// Some(None) is an iteration that failed.
fn sample(line: &[u8]) -> Option<Option<u64>> {
    if line == FAILED {
        return Some(None);
    }
    let is_number = !line.is_empty() && line.iter().all(u8::is_ascii_digit);
    let ns: i64 = std::str::from_utf8(line)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()?;
    Some(Some(ns.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_and_failures_are_samples_and_the_rest_is_counted() {
        let mut samples = Samples::of(3);
        for line in [
            "12",
            " 7 \r",
            "failed",
            "",
            "-1",
            "1.5",
            "0x1",
            "99999999999999999999",
            "8",
        ] {
            samples.take(line.as_bytes(), true);
        }
        samples.take(b"34", false);
        assert_eq!(samples.ns, [Some(12), Some(7), None]);
        assert_eq!((samples.excess, samples.garbage), (1, 5));
        assert_eq!(samples.first_garbage.as_deref(), Some("-1"));
    }

    proptest! {
        #[test]
        fn every_number_is_read_and_nothing_else(ns in 0..=i64::MAX, other in "[^0-9]{1,20}") {
            let mut samples = Samples::of(2);
            samples.take(ns.to_string().as_bytes(), true);
            samples.take(format!("{other}{ns}x").as_bytes(), true);
            prop_assert_eq!(samples.ns, [Some(ns.unsigned_abs())]);
            prop_assert_eq!(samples.garbage, 1);
        }

        #[test]
        fn any_bytes_are_taken(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
            let mut samples = Samples::of(5);
            for line in &lines {
                samples.take(line, true);
            }
            prop_assert!(samples.ns.len() <= 5);
            prop_assert!(samples.ns.len() as u64 + samples.excess + samples.garbage <= lines.len() as u64);
        }
    }
}
