//! When frames are to leave: one schedule for all streams, evenly spaced and interleaved.
//!
//! Departures of a stream are 1/fps apart (8000 (s + 24) / b ns in schlosser2011, section 3.3); streams are offset against each
//! other by an equal share of that gap. Times follow from the sequence number, so that no rounding adds up.

/// Departure times of `streams` streams at one rate, in ns of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    start_ns: u64,
    gap_ns: f64,
    offset_ns: f64,
}

impl Schedule {
    /// A schedule that begins at `start_ns`; `fps` (> 0) is each stream's rate.
    pub fn new(start_ns: u64, fps: f64, streams: usize) -> Self {
        let gap_ns = 1e9 / fps;
        Self {
            start_ns,
            gap_ns,
            offset_ns: gap_ns / streams as f64,
        }
    }

    /// When frame `sequence` of stream number `position` (from 0) is to leave.
    #[inline]
    pub fn departure_ns(&self, position: usize, sequence: u32) -> u64 {
        let since_start = f64::from(sequence) * self.gap_ns + position as f64 * self.offset_ns;
        self.start_ns + since_start as u64
    }

    /// How many frames of the stream, from `sequence` on, should have left by `now_ns`.
    #[inline]
    pub fn due(&self, position: usize, sequence: u32, now_ns: u64) -> u32 {
        let first = self.departure_ns(position, sequence);
        if now_ns < first {
            return 0;
        }
        let behind = ((now_ns - first) as f64 / self.gap_ns) as u32;
        behind.saturating_add(1)
    }
}

/// Every which frame of a stream is a probe, so that about `probe_fps` of `fps` a second are.
pub fn probe_interval(fps: f64, probe_fps: f64) -> u32 {
    (fps / probe_fps).round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_papers_gap() {
        let fps = 1e6 * 1000.0 / (8.0 * (64.0 + 24.0));
        let schedule = Schedule::new(0, fps, 1);
        assert_eq!(schedule.departure_ns(0, 1000), 704_000);
    }

    #[test]
    fn probes_are_a_share_and_never_less_than_every_frame() {
        assert_eq!(probe_interval(1_420_454.5, 1000.0), 1420);
        assert_eq!(probe_interval(820.0, 1000.0), 1);
        assert_eq!(probe_interval(1499.0, 1000.0), 1);
    }

    proptest! {
        #[test]
        fn departures_keep_the_rate_without_drift(fps in 1.0..2e6_f64, streams in 1..8_usize, sequence: u32) {
            let schedule = Schedule::new(1_000_000, fps, streams);
            let exact = 1_000_000.0 + f64::from(sequence) * 1e9 / fps;
            let error = schedule.departure_ns(0, sequence) as f64 - exact;
            prop_assert!(error.abs() <= 1.0 + exact * 1e-15);
        }

        #[test]
        fn streams_take_turns(fps in 1.0..2e6_f64, streams in 1..8_usize, sequence in 0..1_000_000_u32) {
            let schedule = Schedule::new(0, fps, streams);
            for position in 1..streams {
                prop_assert!(
                    schedule.departure_ns(position - 1, sequence) <= schedule.departure_ns(position, sequence)
                );
            }
            prop_assert!(
                schedule.departure_ns(streams - 1, sequence) <= schedule.departure_ns(0, sequence + 1)
            );
        }

        #[test]
        fn what_is_due_has_a_departure_in_the_past(
            fps in 1.0..2e6_f64, sequence in 0..1_000_000_u32, wait_ns in 0..10_000_000_u64,
        ) {
            let schedule = Schedule::new(0, fps, 1);
            let now = schedule.departure_ns(0, sequence) + wait_ns;
            let due = schedule.due(0, sequence, now);
            prop_assert!(due >= 1);
            prop_assert!(schedule.departure_ns(0, sequence + due - 1) <= now + 1);
            prop_assert!(schedule.departure_ns(0, sequence + due) + 1 >= now);
            prop_assert_eq!(schedule.due(0, sequence, schedule.departure_ns(0, sequence).saturating_sub(1)).min(1),
                u32::from(schedule.departure_ns(0, sequence) == 0));
        }
    }
}
