//! # Pauses: when a source was not on its CPU
//!
//! A paced source looks at the clock all the time. Between two looks with no send and no sleep it does next to nothing, so a
//! long time there is one in which something else had the CPU: an interrupt, another thread, the machine below.

use schemars::JsonSchema;
use serde::Serialize;

/// Two looks are some ten ns apart; an interrupt takes a microsecond or two.
const LEAST_NS: u64 = 5_000;

/// What a source saw of them in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Pauses {
    /// The time between looks with no send and no sleep, in ns: pauses elsewhere are not seen.
    pub(super) watched_ns: u64,
    /// How many of these times were 5 µs or more.
    pub(super) count: u64,
    /// How long these were together, in ns.
    pub(super) paused_ns: u64,
    /// The longest, in ns; 0 where there was none.
    pub(super) longest_ns: u64,
}

/// Finds them.
#[derive(Debug, Default)]
pub(super) struct Watch {
    found: Pauses,
    /// The last look; None where something was done since.
    looked_ns: Option<u64>,
}

impl Watch {
    /// A look at the clock.
    #[inline]
    pub(super) fn look(&mut self, now: u64) {
        if let Some(before) = self.looked_ns.replace(now) {
            let between_ns = now - before;
            self.found.watched_ns += between_ns;
            if between_ns >= LEAST_NS {
                self.pause(between_ns);
            }
        }
    }

    /// The source sends or sleeps: the time to the next look is no pause.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.looked_ns = None;
    }

    pub(super) fn found(&self) -> Pauses {
        self.found
    }

    #[cold]
    fn pause(&mut self, between_ns: u64) {
        self.found.count += 1;
        self.found.paused_ns += between_ns;
        self.found.longest_ns = self.found.longest_ns.max(between_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_between_looks_are_pauses_unless_something_was_done() {
        let mut watch = Watch::default();
        for now in [1_000, 1_050, 6_049, 11_049, 11_100, 20_000] {
            watch.look(now);
        }
        watch.leave();
        watch.look(900_000);
        watch.look(900_040);
        let expected = Pauses {
            watched_ns: 19_040,
            count: 2,
            paused_ns: 13_900,
            longest_ns: 8_900,
        };
        assert_eq!(watch.found(), expected);
    }

    #[test]
    fn a_source_that_always_sends_watches_nothing() {
        let mut watch = Watch::default();
        for now in [0, 50_000, 100_000] {
            watch.look(now);
            watch.leave();
        }
        assert_eq!(watch.found(), Pauses::default());
    }
}
