//! # When each frame is due

use crate::traffic::lengths::Lengths;

/// Departures of n streams at one rate each, the streams a fraction 1/n of the gap apart.
///
/// Each due time is computed from the frame's number, so that no rounding adds up. The gap after a frame of a mix is as long
/// as its own bytes take at the rate.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    start_ns: u64,
    /// Of a mean frame.
    gap_ns: f64,
    offset_ns: f64,
    /// When each frame of a mix's cycle is due, in gaps after the cycle's beginning; empty where all frames are alike.
    cycle: Vec<f64>,
}

impl Schedule {
    /// `fps` is the rate of every single stream.
    pub(super) fn new(start_ns: u64, fps: f64, streams: usize, lengths: &Lengths) -> Self {
        let cycle = if lengths.is_mix() {
            lengths.offsets()
        } else {
            Vec::new()
        };
        Self {
            cycle,
            ..Self::even(start_ns, fps, streams)
        }
    }

    /// Of frames that are all one gap apart.
    pub(super) fn even(start_ns: u64, fps: f64, streams: usize) -> Self {
        let gap_ns = 1e9 / fps;
        Self {
            start_ns,
            gap_ns,
            offset_ns: gap_ns / streams.max(1) as f64,
            cycle: Vec::new(),
        }
    }

    /// When the frame `number` (from 0) of the stream at the place `stream` (from 0) is to depart: never, at a rate so low that
    /// the clock does not reach that time.
    #[inline]
    pub(super) fn due_ns(&self, stream: usize, number: u64) -> u64 {
        let after_ns = self.gaps_before(number) * self.gap_ns + stream as f64 * self.offset_ns;
        self.start_ns.saturating_add(after_ns as u64)
    }

    /// How far the time from the departure of a stream's last frame to that of `number` is from what was intended.
    #[inline]
    pub(super) fn gap_error_ns(&self, number: u64, gap_ns: u64) -> u64 {
        let gaps = if self.cycle.is_empty() {
            1.0
        } else {
            self.gaps_before(number) - self.gaps_before(number - 1)
        };
        (gap_ns as f64 - gaps * self.gap_ns).abs() as u64
    }

    #[inline]
    fn gaps_before(&self, number: u64) -> f64 {
        if self.cycle.is_empty() {
            return number as f64;
        }
        let place = number % self.cycle.len() as u64;
        (number - place) as f64 + self.cycle[place as usize]
    }
}

/// One frame in how many is a probe, so that about `probe_fps` of `fps` are.
pub(super) fn probe_interval(fps: f64, probe_fps: f64) -> u64 {
    (fps / probe_fps).round().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn streams_take_turns() {
        let schedule = Schedule::even(5_000, 1e6, 4);
        let due: Vec<u64> = (0..3)
            .flat_map(|number| (0..4).map(move |stream| (stream, number)))
            .map(|(stream, number)| schedule.due_ns(stream, number))
            .collect();
        let expected: Vec<u64> = (0..12).map(|slot| 5_000 + slot * 250).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn a_long_phase_keeps_its_rate() {
        // 64-byte frames at 1000 Mbit/s for an hour: 704 ns apart.
        let schedule = Schedule::even(0, 1e9 / 704.0, 1);
        let frames = 3_600_000_000_000 / 704;
        assert!(schedule.due_ns(0, frames).abs_diff(frames * 704) <= 1);
    }

    #[test]
    fn a_frame_that_no_clock_reaches_is_never_due() {
        let schedule = Schedule::even(5_000, 1.6e-20, 1);
        assert_eq!(schedule.due_ns(0, 0), 5_000);
        assert_eq!(schedule.due_ns(0, 1), u64::MAX);
    }

    #[test]
    fn a_gap_errs_both_ways() {
        let schedule = Schedule::even(0, 1e6, 4);
        let errors = [0, 990, 1000, 1500].map(|gap_ns| schedule.gap_error_ns(1, gap_ns));
        assert_eq!(errors, [1000, 10, 0, 500]);
    }

    #[test]
    fn a_mix_keeps_the_rate_of_the_link_at_every_frame() {
        // 1000 Mbit/s is 8 ns a byte, each frame with its 24 bytes of overhead.
        let cycle = [64, 590, 64, 1514];
        let lengths: Lengths = serde_json::from_value(serde_json::json!(cycle)).unwrap();
        let mean_bytes = (cycle.iter().sum::<usize>() + 4 * 24) as f64 / 4.0;
        let schedule = Schedule::new(0, 1e9 / (8.0 * mean_bytes), 1, &lengths);
        let mut due = 0;
        for number in 0..1_000_000_u64 {
            assert!(schedule.due_ns(0, number).abs_diff(due) <= 1, "{number}");
            let gap_ns = 8 * (cycle[number as usize % 4] + 24) as u64;
            assert!(schedule.gap_error_ns(number + 1, gap_ns) <= 1);
            due += gap_ns;
        }
    }

    #[test]
    fn probes_are_a_part_of_the_load() {
        assert_eq!(probe_interval(142_045.0, 1000.0), 142);
        assert_eq!(probe_interval(1000.0, 1000.0), 1);
        assert_eq!(probe_interval(400.0, 1000.0), 1);
    }

    proptest! {
        #[test]
        fn due_times_are_in_order_and_at_the_rate(
            start_ns in 0_u64..1 << 50,
            fps in 1.0..1e7,
            streams in 1_usize..=8,
            number in 0_u64..1 << 32,
        ) {
            let schedule = Schedule::even(start_ns, fps, streams);
            let gap_ns = 1e9 / fps;
            for stream in 0..streams {
                let due = schedule.due_ns(stream, number);
                let next = schedule.due_ns(stream, number + 1);
                prop_assert!(due >= start_ns);
                // The products are exact to 2^-53 of themselves.
                let error = 2.0 + number as f64 * gap_ns * 1e-15;
                prop_assert!(((next - due) as f64 - gap_ns).abs() <= error);
                if stream > 0 {
                    let offset = (due - schedule.due_ns(stream - 1, number)) as f64;
                    prop_assert!((offset - gap_ns / streams as f64).abs() <= error);
                }
            }
        }
    }
}
