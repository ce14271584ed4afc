//! Which frames give a delay, and where it is filed.

use super::bench::*;
use super::*;
use crate::traffic::layout::PHASE_FLAG_PROBE;
use crate::traffic::sink::histogram::bucket_middle_ns;
use crate::traffic::sink::program::{Armed, PHASE_PROBE};
use crate::traffic::sink::wire::AnalysedPhase;

#[test]
#[ignore = "needs root"]
fn delays_are_taken_from_flagged_frames() {
    on_all_programs(|sink| {
        let flagged = PHASE_MEASURE as u8 | PHASE_FLAG_PROBE;
        sink.receive_all(0..5);
        assert_eq!(sink.delay_count(), 0);
        let sent = now_ns() - 1_000_000_000;
        sink.receive(TestFrame {
            phase: flagged,
            departure: Departure::at(sent),
            ..frame(5)
        });
        let delay_ns = sink.memory.state().unwrap().last_ns - sent;
        sink.receive(TestFrame {
            phase: flagged,
            ..frame(5)
        });

        let delays = sink.memory.histograms().unwrap().delay.buckets;
        let filed: Vec<usize> = (0..delays.len())
            .filter(|&bucket| delays[bucket] > 0)
            .collect();
        assert_eq!((filed.len(), sink.delay_count()), (1, 1));
        let error_ns = bucket_middle_ns(filed[0]).abs_diff(delay_ns);
        assert!(
            (error_ns as f64) < 0.004 * delay_ns as f64,
            "{delay_ns} ns is filed {error_ns} ns off"
        );
    });
}

#[test]
#[ignore = "needs root"]
fn without_gaps_only_probes_have_their_time_taken() {
    on_all_programs(|sink| {
        let gaps_filed = |gaps| {
            sink.memory.disarm().unwrap();
            sink.memory.arm(Armed { gaps, ..ARMED }).unwrap();
            for sequence in 0..200 {
                let flag = if sequence % 10 == 0 {
                    PHASE_FLAG_PROBE
                } else {
                    0
                };
                sink.receive(TestFrame {
                    phase: PHASE_MEASURE as u8 | flag,
                    ..frame(sequence)
                });
            }
            assert_eq!((sink.main().received, sink.delay_count()), (200, 20));
            let state = sink.memory.state().unwrap();
            assert_eq!((state.first_ns > 0, state.last_ns > 0), (gaps, gaps));
            sink.memory
                .histograms()
                .unwrap()
                .gap
                .buckets
                .iter()
                .sum::<u64>()
        };
        assert_eq!((gaps_filed(false), gaps_filed(true)), (0, 199));
    });
}

#[test]
#[ignore = "needs root"]
fn every_frame_of_the_probe_phase_gives_a_delay() {
    on_all_programs(|sink| {
        sink.memory
            .arm(Armed {
                phase: AnalysedPhase::Probe,
                ..ARMED
            })
            .unwrap();
        for sequence in 0..200 {
            sink.receive(TestFrame {
                phase: PHASE_PROBE as u8,
                ..frame(sequence)
            });
        }
        assert_eq!((sink.main().longest_run, sink.delay_count()), (200, 200));
    });
}

#[test]
#[ignore = "needs root"]
fn a_send_time_in_the_future_is_no_delay() {
    on_all_programs(|sink| {
        let phase = PHASE_MEASURE as u8 | PHASE_FLAG_PROBE;
        let departure = Departure::at(now_ns() + 1_000_000_000);
        sink.receive(TestFrame {
            phase,
            departure,
            ..frame(0)
        });
        assert_eq!(sink.memory.histograms().unwrap().delay.buckets[0], 1);
    });
}

#[test]
#[ignore = "needs root"]
fn a_source_with_a_clock_of_its_own_is_reckoned_by_it() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    const DELAY_NS: u64 = 2_000_000_000;
    on_all_programs(|sink| {
        for ahead_ns in [HOUR_NS, -HOUR_NS] {
            sink.memory.disarm().unwrap();
            sink.memory
                .arm(Armed {
                    clock_ahead_ns: ahead_ns,
                    ..ARMED
                })
                .unwrap();
            let sent_here = now_ns() - DELAY_NS;
            sink.receive(TestFrame {
                phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
                departure: Departure::at(sent_here.wrapping_sub(ahead_ns as u64)),
                ..frame(0)
            });
            let buckets = sink.memory.histograms().unwrap().delay.buckets;
            let bucket = buckets.iter().position(|&frames| frames > 0).unwrap();
            let filed_ns = bucket_middle_ns(bucket);
            assert!(filed_ns.abs_diff(DELAY_NS) < DELAY_NS / 10, "{filed_ns} ns");
        }
    });
}

/// The program's reading of each lateness, from none to the greatest that a frame tells.
#[test]
#[ignore = "needs root"]
fn a_late_frame_s_delay_counts_from_when_it_was_due_and_its_lateness_is_told() {
    const SINCE_DEPARTURE_NS: u64 = 2_000_000;
    on_all_programs(|sink| {
        for late_ns in [0, 1, 4095, 4096, 5_000, 1_000_000, 3_000_000_000] {
            sink.memory.disarm().unwrap();
            sink.memory.arm(ARMED).unwrap();
            let departed_ns = now_ns() - SINCE_DEPARTURE_NS;
            sink.receive(TestFrame {
                phase: PHASE_MEASURE as u8 | PHASE_FLAG_PROBE,
                departure: Departure {
                    departed_ns,
                    late_ns,
                },
                ..frame(0)
            });
            let arrived_ns = sink.memory.state().unwrap().last_ns;
            let histograms = sink.memory.histograms().unwrap();
            let since_departure_ns = arrived_ns - departed_ns;
            for (histogram, expected_ns) in [
                (histograms.since_departure, since_departure_ns),
                (histograms.lateness, late_ns),
                (histograms.delay, since_departure_ns + late_ns),
            ] {
                let buckets = histogram.buckets;
                let bucket = buckets.iter().position(|&frames| frames > 0).unwrap();
                let error_ns = bucket_middle_ns(bucket).abs_diff(expected_ns);
                assert!(
                    error_ns <= expected_ns / 200,
                    "{late_ns}: {error_ns} ns off"
                );
            }
        }
    });
}
