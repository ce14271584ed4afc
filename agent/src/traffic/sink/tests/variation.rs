//! IPDV and gaps, against their definitions.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::bench::*;
use super::*;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::sink::histogram::bucket_middle_ns;
use crate::traffic::sink::program::Armed;

const SECOND_NS: u64 = 1_000_000_000;

/// A probe that is so many seconds old.
fn aged(sequence: u32, seconds: u64) -> TestFrame {
    TestFrame {
        phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
        departure: Departure::at(now_ns() - seconds * SECOND_NS),
        ..frame(sequence)
    }
}

/// What was filed, each value as often as it was, in ascending order.
fn filed(buckets: &[u64]) -> Vec<u64> {
    (0..buckets.len())
        .flat_map(|bucket| vec![bucket_middle_ns(bucket); buckets[bucket] as usize])
        .collect()
}

/// IPDV in whole seconds, ascending; what the test's own run time adds is far less.
fn ipdv_seconds(sink: &Bench<'_>) -> Vec<i64> {
    let histograms = sink.memory.histograms().unwrap();
    let seconds = |ns: u64| (ns as f64 / SECOND_NS as f64).round() as i64;
    let negative = filed(&histograms.ipdv_negative.buckets);
    let positive = filed(&histograms.ipdv_positive.buckets);
    let mut all: Vec<i64> = negative.into_iter().map(|ns| -seconds(ns)).collect();
    all.extend(positive.into_iter().map(seconds));
    all.sort();
    all
}

fn armed_for_probes_at(interval: u32, sink: &Bench<'_>) {
    sink.memory.disarm().unwrap();
    sink.memory
        .arm(Armed {
            probe_interval: interval,
            ..ARMED
        })
        .unwrap();
}

#[test]
#[ignore = "needs root"]
fn a_slower_probe_has_a_positive_ipdv() {
    on_all_programs(|sink| {
        for (sequence, seconds) in [(0, 5), (1, 9), (2, 2)] {
            sink.receive(aged(sequence, seconds));
        }
        assert_eq!(ipdv_seconds(sink), [-7, 4]);
    });
}

#[test]
#[ignore = "needs root"]
fn a_lost_probe_leaves_no_pair_and_a_late_one_makes_both_of_its() {
    on_all_programs(|sink| {
        armed_for_probes_at(3, sink);
        for (sequence, seconds) in [(0, 5), (6, 9), (9, 8)] {
            sink.receive(aged(sequence, seconds));
        }
        assert_eq!(ipdv_seconds(sink), [-1]);
        sink.receive(aged(3, 20));
        assert_eq!(ipdv_seconds(sink), [-11, -1, 15]);
        sink.receive(aged(3, 40));
        assert_eq!(ipdv_seconds(sink).len(), 3, "a duplicate is no probe");
    });
}

#[test]
#[ignore = "needs root"]
fn extra_probes_are_paired_among_themselves() {
    on_all_programs(|sink| {
        armed_for_probes_at(3, sink);
        for (sequence, seconds) in [(0, 3), (1, 5)] {
            sink.receive(TestFrame {
                stream: STREAM | EXTRA_LANE,
                ..aged(sequence, seconds)
            });
        }
        sink.receive(aged(3, 50));
        assert_eq!(ipdv_seconds(sink), [2]);
    });
}

#[test]
#[ignore = "needs root"]
fn gaps_are_the_times_between_arrivals() {
    on_all_programs(|sink| {
        let arrived_ns: Vec<u64> = [0, 1, 1, 3, 2]
            .into_iter()
            .map(|sequence| {
                sink.receive(frame(sequence));
                sink.memory.state().unwrap().last_ns
            })
            .collect();
        sink.receive(probe(0));
        let mut gaps: Vec<u64> = arrived_ns.windows(2).map(|w| w[1] - w[0]).collect();
        gaps.sort();
        let found = filed(&sink.memory.histograms().unwrap().gap.buckets);
        assert_eq!(found.len(), gaps.len());
        for (found_ns, gap_ns) in found.into_iter().zip(gaps) {
            let error_ns = found_ns.abs_diff(gap_ns) as f64;
            assert!(
                error_ns <= 1.0 + 0.004 * gap_ns as f64,
                "{found_ns} for {gap_ns}"
            );
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// SinkProbes in any order with loss and duplicates; frames between them give no delay.
    #[test]
    #[ignore = "needs root"]
    fn ipdv_is_the_difference_of_neighbours(
        interval in 1..5u32,
        arrivals in prop::collection::vec((0..60u32, 0..60u64), 1..60),
    ) {
        let mut delays = BTreeMap::new();
        for (number, seconds) in &arrivals {
            delays.entry(*number).or_insert(*seconds as i64);
        }
        let mut expected: Vec<i64> = delays
            .iter()
            .filter_map(|(number, delay)| Some(delays.get(&(number + 1))? - delay))
            .collect();
        expected.sort();
        on_all_programs(|sink| {
            armed_for_probes_at(interval, sink);
            for &(number, seconds) in &arrivals {
                sink.receive(aged(number * interval, seconds));
                if interval > 1 {
                    sink.receive(frame(number * interval + 1));
                }
            }
            assert_eq!(ipdv_seconds(sink), expected);
        });
    }
}
