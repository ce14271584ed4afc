//! # Which messages of a flow came

/// How far back a message is told from a second copy of it.
const WINDOW: u64 = 1 << 16;
const WORD_BITS: u64 = u64::BITS as u64;

/// Sequences that came, counted.
#[derive(Debug)]
pub(super) struct Sequences {
    /// One above the highest.
    next: u64,
    /// Which of the last `WINDOW` came: a bit each, at its sequence modulo their number.
    came: Vec<u64>,
    /// Without duplicates.
    pub(super) received: u64,
    pub(super) duplicated: u64,
    /// RFC 4737 type-P-reordered: below the next expected sequence, and not a duplicate. What is too far below to tell counts here.
    pub(super) reordered: u64,
}

impl Sequences {
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            came: vec![0; (WINDOW / WORD_BITS) as usize],
            received: 0,
            duplicated: 0,
            reordered: 0,
        }
    }

    /// Counts an arrival; false where it is a duplicate.
    #[inline]
    pub(super) fn count(&mut self, sequence: u64) -> bool {
        if sequence >= self.next {
            self.forget(sequence - self.next + 1);
            self.next = sequence + 1;
        } else if self.next - sequence > WINDOW {
            self.received += 1;
            self.reordered += 1;
            return true;
        } else if self.has(sequence) {
            self.duplicated += 1;
            return false;
        } else {
            self.reordered += 1;
        }
        let (word, bit) = place(sequence);
        self.came[word] |= bit;
        self.received += 1;
        true
    }

    /// Messages that did not come, of `expected` or of all up to the highest that came.
    pub(super) fn lost(&self, expected: u64) -> u64 {
        expected.max(self.next).saturating_sub(self.received)
    }

    fn has(&self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        self.came[word] & bit != 0
    }

    /// Makes room for the next `count`.
    #[inline]
    fn forget(&mut self, count: u64) {
        if count >= WINDOW {
            self.came.fill(0);
            return;
        }
        for sequence in self.next..self.next + count {
            let (word, bit) = place(sequence);
            self.came[word] &= !bit;
        }
    }
}

#[inline]
fn place(sequence: u64) -> (usize, u64) {
    let at = sequence % WINDOW;
    ((at / WORD_BITS) as usize, 1 << (at % WORD_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn counted(arrivals: &[u64]) -> Sequences {
        let mut sequences = Sequences::new();
        for &sequence in arrivals {
            sequences.count(sequence);
        }
        sequences
    }

    #[test]
    fn a_gap_is_loss_until_it_is_filled() {
        let mut sequences = counted(&[0, 1, 4]);
        assert_eq!((sequences.lost(0), sequences.lost(7)), (2, 4));
        assert!(sequences.count(2));
        assert!(!sequences.count(2));
        let counts = (sequences.reordered, sequences.duplicated, sequences.lost(0));
        assert_eq!(counts, (1, 1, 1));
    }

    #[test]
    fn what_left_the_window_is_late_and_not_a_duplicate() {
        let mut sequences = counted(&[5, 6 + WINDOW]);
        assert!(sequences.count(5));
        assert_eq!((sequences.reordered, sequences.duplicated), (1, 0));
        // Where a bit of an earlier round stood.
        assert!(sequences.count(6));
        assert!(!sequences.count(6 + WINDOW));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_a_set(arrivals in prop::collection::vec(0_u64..300, 0..400)) {
            let sequences = counted(&arrivals);
            let distinct: BTreeSet<_> = arrivals.iter().copied().collect();
            prop_assert_eq!(sequences.received, distinct.len() as u64);
            prop_assert_eq!(sequences.received + sequences.duplicated, arrivals.len() as u64);
            let mut highest = None;
            let mut seen = BTreeSet::new();
            let late = arrivals.iter().filter(|&&sequence| {
                let is_late = highest > Some(sequence);
                highest = highest.max(Some(sequence));
                seen.insert(sequence) && is_late
            });
            prop_assert_eq!(late.count() as u64, sequences.reordered);
            let sent = distinct.last().map_or(0, |last| last + 1);
            prop_assert_eq!(sequences.lost(0), sent - distinct.len() as u64);
        }
    }
}
