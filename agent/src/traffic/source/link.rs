//! # A link: a rate that whoever sends keeps to
//!
//! A veth has no rate of its own, and the kernel's token bucket counts a train of frames as one. So the source has the bucket: it
//! fills at the link's rate of layer 1, and a frame leaves when its bytes are in it. What a full bucket does not hold is gone, as is
//! the time of an idle link. Frames leave one by one, or in trains where the source is behind.

use crate::traffic::lengths::Lengths;
use crate::traffic::strand::Strand;

/// What may leave at once after a pause, at layer 1.
const DEPTH_BYTES: f64 = 65_536.0;
/// What is handed over at once takes no longer on the link than a full frame of MTU 1500, unless it is one frame.
const TRAIN_BYTES: usize = 1538;
/// Most of a link's rate that is kept free for a flood's probes.
const GREATEST_RESERVE: f64 = 0.5;

/// The token bucket of one stream's link, or what a strand has of it: its share of rate and depth. Tokens are the link's time.
#[derive(Clone, Debug)]
pub(super) struct Link {
    strand: Strand,
    /// What each frame of the stream's cycle takes of it, in bytes.
    cycle_bytes: Vec<usize>,
    /// What a byte takes, in ns.
    byte_ns: f64,
    /// What a full bucket holds, in ns.
    depth_ns: f64,
    start_ns: u64,
    /// The link's time since the start that is used or gone, in ns.
    spent_ns: f64,
    /// Of it, what is gone.
    idle_ns: f64,
}

impl Link {
    /// A link of `rate_mbps` for frames of such lengths. Beside them `probe_fps` probes a second, as long as the longest, pass the
    /// bucket by: their rate is kept free.
    pub(super) fn new(rate_mbps: f64, lengths: &Lengths, probe_fps: f64, strand: Strand) -> Self {
        let rate_ns = 8000.0 / rate_mbps;
        let longest_ns = rate_ns * Lengths::at_layer_1(lengths.greatest()) as f64;
        let reserve = (probe_fps * longest_ns / 1e9).min(GREATEST_RESERVE);
        let byte_ns = rate_ns / strand.share(1.0 - reserve);
        // A strand's part of the bucket holds two of its frames at least, or the longest would not leave in time.
        let two_frames_ns = 2.0 * byte_ns * Lengths::at_layer_1(lengths.greatest()) as f64;
        let depth_ns = (rate_ns * DEPTH_BYTES).max(two_frames_ns);
        Self::of(byte_ns, depth_ns, lengths, strand)
    }

    /// One that is never short of time: frames go in trains as on any link.
    pub(super) fn unlimited(lengths: &Lengths, strand: Strand) -> Self {
        Self::of(0.0, f64::INFINITY, lengths, strand)
    }

    /// Where each byte takes n times as long of n strands, a bucket of the same time holds an n-th of the bytes.
    fn of(byte_ns: f64, depth_ns: f64, lengths: &Lengths, strand: Strand) -> Self {
        let cycle = lengths.cycle().iter();
        Self {
            strand,
            cycle_bytes: cycle
                .map(|&frame_bytes| Lengths::at_layer_1(frame_bytes))
                .collect(),
            byte_ns,
            depth_ns,
            start_ns: 0,
            spent_ns: 0.0,
            idle_ns: 0.0,
        }
    }

    /// Starts with an empty bucket.
    pub(super) fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        (self.spent_ns, self.idle_ns) = (0.0, 0.0);
    }

    /// How many frames of `most` may leave now, of which the first has the strand's number `next`.
    #[inline]
    pub(super) fn allows(&mut self, now: u64, next: u64, most: usize) -> usize {
        let left_ns = self.left_ns(now);
        let (mut count, mut bytes) = (0, 0);
        while count < most {
            bytes += self.frame_bytes(next + count as u64);
            let is_train = count > 0;
            if bytes as f64 * self.byte_ns > left_ns || is_train && bytes > TRAIN_BYTES {
                break;
            }
            count += 1;
        }
        count
    }

    /// The `count` frames from the strand's number `first` on left.
    #[inline]
    pub(super) fn carried(&mut self, first: u64, count: usize) {
        for number in first..first + count as u64 {
            self.spent_ns += self.frame_bytes(number) as f64 * self.byte_ns;
        }
    }

    /// Frames of the mean length that the link had time for until `now`, beyond its bucket, and that did not come.
    pub(super) fn unsent(&mut self, now: u64) -> u64 {
        self.left_ns(now);
        let cycle_ns = self.cycle_bytes.iter().sum::<usize>() as f64 * self.byte_ns;
        let mean_ns = cycle_ns / self.cycle_bytes.len() as f64;
        if mean_ns > 0.0 {
            (self.idle_ns / mean_ns) as u64
        } else {
            0
        }
    }

    /// The link's time in the bucket; what does not fit is gone.
    #[inline]
    fn left_ns(&mut self, now: u64) -> f64 {
        let since_ns = now.saturating_sub(self.start_ns) as f64;
        let beyond_ns = since_ns - self.spent_ns - self.depth_ns;
        if beyond_ns > 0.0 {
            self.spent_ns += beyond_ns;
            self.idle_ns += beyond_ns;
        }
        since_ns - self.spent_ns
    }

    #[inline]
    fn frame_bytes(&self, own: u64) -> usize {
        let number = self.strand.number(own);
        self.cycle_bytes[(number % self.cycle_bytes.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::strand::Strands;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn lengths(given: Value) -> Lengths {
        serde_json::from_value(given).unwrap()
    }

    /// One that began at 1000 ns.
    fn link(rate_mbps: f64, given: Value) -> Link {
        let mut link = Link::new(rate_mbps, &lengths(given), 0.0, Strand::WHOLE);
        link.begin(1000);
        link
    }

    #[test]
    fn a_frame_leaves_when_the_link_has_had_time_for_it() {
        // 64 bytes take 704 ns of 1000 Mbit/s.
        let mut link = link(1000.0, json!(64));
        let allowed = [1000, 1703, 1704, 2407, 2408].map(|now| link.allows(now, 0, 8));
        assert_eq!(allowed, [0, 0, 1, 1, 2]);
        link.carried(0, 1);
        assert_eq!(link.allows(2407, 1, 8), 0);
        assert_eq!(link.allows(2408, 1, 8), 1);
    }

    #[test]
    fn frames_leave_in_short_trains() {
        for (given, train) in [
            (json!(64), 17),
            (json!(512), 2),
            (json!(1514), 1),
            (json!(9018), 1),
            (json!([64, 1514]), 1),
            (json!([64, 64, 64, 1514]), 3),
            (json!([64, 576, 576]), 4),
        ] {
            let mut link = link(1000.0, given);
            assert_eq!(link.allows(1000 + 500_000, 0, 64), train);
            assert_eq!(link.allows(1000 + 500_000, 0, 3), train.min(3));
        }
    }

    #[test]
    fn a_mix_takes_what_each_of_its_frames_does() {
        let mut link = link(1000.0, json!([64, 1000]));
        let both_ns = 704 + 8192;
        assert_eq!(link.allows(1000 + both_ns - 1, 0, 8), 1);
        assert_eq!(link.allows(1000 + both_ns, 0, 8), 2);
        assert_eq!(link.allows(1000 + 704, 1, 8), 0);
    }

    #[test]
    fn what_a_full_bucket_does_not_hold_is_unsent() {
        let mut link = link(1000.0, json!(64));
        // 65,536 bytes are 524,288 ns at 1000 Mbit/s.
        assert_eq!(link.unsent(1000 + 524_288), 0);
        assert_eq!(link.unsent(1000 + 524_288 + 7 * 704), 7);
        assert_eq!(link.unsent(1000 + 524_288 + 7 * 704), 7);
        link.begin(5000);
        assert_eq!(link.unsent(5000), 0);
    }

    #[test]
    fn room_is_left_for_the_probes_of_a_flood() {
        // 1000 probes a second of 1000 bytes at layer 1 are 8 of 10 Mbit/s: half is kept free at the most.
        for (probe_fps, share) in [(0.0, 1.0), (125.0, 0.9), (1000.0, 0.5)] {
            let mut link = Link::new(10.0, &lengths(json!(976)), probe_fps, Strand::WHOLE);
            link.begin(0);
            let frame_ns = (800_000.0 / share) as u64;
            assert_eq!(link.allows(frame_ns - 1, 0, 1), 0, "{probe_fps}");
            assert_eq!(link.allows(frame_ns + 1, 0, 1), 1, "{probe_fps}");
        }
    }

    #[test]
    fn an_unlimited_link_takes_whole_trains() {
        let mut link = Link::unlimited(&lengths(json!(64)), Strand::WHOLE);
        link.begin(1000);
        assert_eq!(link.allows(1000, 0, 64), 17);
        link.carried(0, 17);
        assert_eq!(link.allows(1000, 17, 64), 17);
        assert_eq!(link.unsent(u64::MAX), 0);
    }

    #[test]
    fn each_of_many_strands_has_room_for_the_longest_frames() {
        let strands: Strands = serde_json::from_value(json!(8)).unwrap();
        let given = lengths(json!(9018)).over(strands);
        let whole = Link::new(10_000.0, &given, 1000.0, Strand::WHOLE);
        let mut sent = 0;
        for strand in strands.each() {
            let mut link = Link::new(10_000.0, &given, 1000.0, strand);
            link.begin(0);
            // A look each 10 µs, in which the stream's link has time for more than a frame.
            let mut own = 0;
            for now in (0..10_000_000).step_by(10_000) {
                let count = link.allows(now, own, 8);
                link.carried(own, count);
                own += count as u64;
            }
            sent += own;
            assert_eq!(link.unsent(10_000_000), 0);
        }
        let room = 10_000_000.0 / (whole.byte_ns * 9042.0);
        assert!((sent as f64 - room).abs() <= 8.0, "{sent} of {room}");
    }

    #[test]
    fn a_lifted_link_has_each_strand_s_own_lengths() {
        let strands: Strands = serde_json::from_value(json!(2)).unwrap();
        let given = lengths(json!([64, 64, 64, 1514])).over(strands);
        for strand in strands.each() {
            let mut link = Link::unlimited(&given, strand);
            link.begin(0);
            assert_eq!(link.allows(1, 0, 32), 3);
        }
    }

    proptest! {
        /// However the senders are kept waiting, no window has more than the link's rate and one bucket.
        #[test]
        fn no_window_has_more_than_rate_and_bucket(
            rate_mbps in 1.0..100_000.0_f64,
            pauses_ns in prop::collection::vec(0_u64..2_000_000, 1..60),
            cycle in prop::collection::vec(64_usize..=1514, 1..5),
            strands in prop::sample::select(vec![1, 2, 4]),
        ) {
            let strands: Strands = serde_json::from_value(json!(strands)).unwrap();
            let given = lengths(json!(cycle)).over(strands);
            let mut links: Vec<_> = strands
                .each()
                .map(|strand| (strand, Link::new(rate_mbps, &given, 0.0, strand), 0))
                .collect();
            for (_, link, _) in &mut links {
                link.begin(1000);
            }
            let mut now = 1000;
            let mut sent: Vec<(u64, usize)> = Vec::new();
            for pause_ns in pauses_ns {
                now += pause_ns;
                for (strand, link, next) in &mut links {
                    for _ in 0..8 {
                        let count = link.allows(now, *next, 8);
                        link.carried(*next, count);
                        let numbers = (*next..*next + count as u64).map(|own| strand.number(own));
                        sent.extend(numbers.map(|number| {
                            let of_cycle = given.cycle()[number as usize % given.cycle().len()];
                            (now, Lengths::at_layer_1(of_cycle))
                        }));
                        *next += count as u64;
                    }
                }
            }
            let byte_ns = 8000.0 / rate_mbps;
            for first in 0..sent.len() {
                let mut bytes = 0;
                for &(at, frame_bytes) in &sent[first..] {
                    bytes += frame_bytes;
                    let allowed = (at - sent[first].0) as f64 / byte_ns + DEPTH_BYTES;
                    prop_assert!(bytes as f64 <= allowed + 1e-3, "{bytes} > {allowed}");
                }
            }
        }
    }
}
