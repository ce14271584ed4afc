//! # When each frame is due

use crate::traffic::jitter::uniform;
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
    /// Whether each frame is due somewhere within its gap, and not at its beginning.
    is_jittered: bool,
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
            is_jittered: false,
        }
    }

    /// Of one frame somewhere within each gap, so that it keeps step with nothing.
    pub(super) fn jittered(start_ns: u64, fps: f64, streams: usize) -> Self {
        Self {
            is_jittered: true,
            ..Self::even(start_ns, fps, streams)
        }
    }

    /// When the frame `number` (from 0) of the stream at the place `stream` (from 0) is to depart: never, at a rate so low that
    /// the clock does not reach that time.
    #[inline]
    pub(super) fn due_ns(&self, stream: usize, number: u64) -> u64 {
        let mut gaps = self.gaps_before(number);
        if self.is_jittered {
            gaps += uniform(self.start_ns.wrapping_add(stream as u64), number);
        }
        let after_ns = gaps * self.gap_ns + stream as f64 * self.offset_ns;
        self.start_ns.saturating_add(after_ns as u64)
    }

    /// How far the time from the departure of a stream's frame `before` to that of `number` is from what was intended.
    #[inline]
    pub(super) fn gap_error_ns(&self, before: u64, number: u64, gap_ns: u64) -> u64 {
        let gaps = self.gaps_before(number) - self.gaps_before(before);
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

/// Which frames of a paced stream are probes: of as many as make an interval, one at a random place.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    interval: u64,
    seed: u64,
    next: u64,
}

impl Probing {
    /// So many that about `probe_fps` of `fps` are.
    pub(super) fn new(fps: f64, probe_fps: f64) -> Self {
        let interval = probe_interval(fps, probe_fps);
        Self {
            interval,
            seed: 0,
            next: 0,
        }
    }

    /// Starts with the frame 0; each seed gives other places.
    pub(super) fn begin(&mut self, seed: u64) {
        self.seed = seed;
        self.next = self.place_in(0);
    }

    /// Whether that frame is a probe; of frames before the last that was sent it cannot be asked.
    #[inline]
    pub(super) fn is_probe(&self, number: u64) -> bool {
        number == self.next
    }

    /// The next probe was sent.
    #[inline]
    pub(super) fn sent(&mut self) {
        self.next = self.place_in(self.next / self.interval + 1);
    }

    #[inline]
    fn place_in(&self, interval: u64) -> u64 {
        let place = uniform(self.seed, interval) * self.interval as f64;
        interval * self.interval + (place as u64).min(self.interval - 1)
    }
}

/// One frame in how many is a probe.
fn probe_interval(fps: f64, probe_fps: f64) -> u64 {
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
        let errors = [0, 990, 1000, 1500].map(|gap_ns| schedule.gap_error_ns(0, 1, gap_ns));
        assert_eq!(errors, [1000, 10, 0, 500]);
        assert_eq!(schedule.gap_error_ns(1, 5, 4_010), 10);
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
            assert!(schedule.gap_error_ns(number, number + 1, gap_ns) <= 1);
            due += gap_ns;
        }
    }

    #[test]
    fn probes_are_a_part_of_the_load() {
        assert_eq!(probe_interval(142_045.0, 1000.0), 142);
        assert_eq!(probe_interval(1000.0, 1000.0), 1);
        assert_eq!(probe_interval(400.0, 1000.0), 1);
    }

    /// The numbers of the probes among the first `frames`.
    fn probes(probing: &mut Probing, frames: u64) -> Vec<u64> {
        let mut found = Vec::new();
        for number in 0..frames {
            if probing.is_probe(number) {
                found.push(number);
                probing.sent();
            }
        }
        found
    }

    #[test]
    fn every_frame_of_a_slow_stream_is_a_probe() {
        let mut probing = Probing::new(400.0, 1000.0);
        probing.begin(7);
        assert_eq!(probes(&mut probing, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn a_phase_begun_again_has_other_probes() {
        let mut probing = Probing::new(100_000.0, 1000.0);
        let mut of = |seed| {
            probing.begin(seed);
            probes(&mut probing, 1000)
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn probes_of_a_flood_lie_anywhere_in_their_gaps() {
        let schedule = Schedule::jittered(5_000, 1000.0, 2);
        let places_ns = |stream: usize| -> Vec<u64> {
            let begin_ns = 5_000 + 500_000 * stream as u64;
            (0..1000)
                .map(|number| schedule.due_ns(stream, number) - begin_ns - 1_000_000 * number)
                .collect()
        };
        for stream in 0..2 {
            let mut tenths = [0; 10];
            for place_ns in places_ns(stream) {
                tenths[place_ns as usize / 100_000] += 1;
            }
            assert!(tenths.iter().all(|&count| count > 50), "{tenths:?}");
        }
        assert_ne!(places_ns(0), places_ns(1));
    }

    proptest! {
        #[test]
        fn each_interval_has_one_probe_and_all_places_occur(
            interval in 1_u64..50,
            seed in 0..u64::MAX,
        ) {
            let mut probing = Probing::new(interval as f64, 1.0);
            probing.begin(seed);
            let found = probes(&mut probing, 1000 * interval);
            let intervals: Vec<u64> = found.iter().map(|number| number / interval).collect();
            prop_assert_eq!(intervals, (0..1000).collect::<Vec<_>>());
            let places: std::collections::BTreeSet<u64> =
                found.iter().map(|number| number % interval).collect();
            prop_assert!(places.len() as u64 * 10 >= interval * 9);
        }

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
